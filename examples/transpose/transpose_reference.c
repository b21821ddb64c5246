/* The transpose, element by element. */
void transpose_reference(const float *in, float *out)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            out[(long)j * N + i] = in[(long)i * N + j];
}
