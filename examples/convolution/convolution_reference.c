/* The convolution, summed in double precision. */
void convolution_reference(const float *image, const float *filter, float *out)
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            double sum = 0.0;
            for (int i = 0; i < F; i++)
                for (int j = 0; j < F; j++)
                    sum += (double)filter[i * F + j] * image[(long)(y + i) * (W + F - 1) + x + j];
            out[(long)y * W + x] = (float)sum;
        }
}
