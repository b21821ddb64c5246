/* C = A * B in double precision, the sums in plain order. */
#include <stdlib.h>

void matmul_reference(const float *a, const float *b, float *c)
{
    double *row = malloc(N * sizeof(double));
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++)
            row[j] = 0.0;
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++)
                row[j] += (double)a[(long)i * N + k] * b[(long)k * N + j];
        for (int j = 0; j < N; j++)
            c[(long)i * N + j] = (float)row[j];
    }
    free(row);
}
