/* The same time steps, in double precision between two whole grids. */
#include <stdlib.h>

static int inside(int i, int n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

void hotspot_reference(const float *start, const float *power, float *out)
{
    double *from = malloc((long)H * W * sizeof(double)), *to = malloc((long)H * W * sizeof(double));
    for (long i = 0; i < (long)H * W; i++)
        from[i] = start[i];
    for (int s = 0; s < STEPS; s++) {
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                long row = (long)y * W;
                double t = from[row + x];
                double vertical = from[(long)inside(y - 1, H) * W + x] + from[(long)inside(y + 1, H) * W + x] - 2 * t;
                double horizontal = from[row + inside(x - 1, W)] + from[row + inside(x + 1, W)] - 2 * t;
                to[row + x] = t + 0.05 * (power[row + x] + vertical * 0.6 + horizontal * 0.8 + (0.5 - t) * 0.01);
            }
        double *swap = from;
        from = to;
        to = swap;
    }
    for (long i = 0; i < (long)H * W; i++)
        out[i] = (float)from[i];
    free(from);
    free(to);
}
