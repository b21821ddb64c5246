/* Transpose of an N x N matrix of floats; limited by memory and by cache sets that a power-of-two stride shares.
 *
 * Tiles of TI x TJ are walked in one order, the elements of a tile in MI x MJ blocks in another. BUFFER = 1 gathers
 * a tile into a small array first, so that both sides are read and written in whole lines.
 */
#ifndef TI          /* rows of a tile of the input */
#define TI N
#endif
#ifndef TJ          /* columns of a tile of the input */
#define TJ N
#endif
#ifndef MI          /* rows of a block within a tile */
#define MI 1
#endif
#ifndef BUFFER
#define BUFFER 0
#endif
#ifndef WRITE_FIRST /* innermost loop along the output's rows (1) or along the input's (0) */
#define WRITE_FIRST 0
#endif
#ifndef PREFETCH    /* rows of tiles ahead that are prefetched, 0 for none */
#define PREFETCH 0
#endif
#ifndef THREADS
#define THREADS 1
#endif

#define DO_PRAGMA(text) _Pragma(#text)
#define UNROLLED(count) DO_PRAGMA(GCC unroll count)

static void tile(const float *restrict in, float *restrict out)
{
#if BUFFER
    float local[TJ][TI + 16];
    for (int i = 0; i < TI; i++)
        for (int j = 0; j < TJ; j++)
            local[j][i] = in[(long)i * N + j];
    for (int j = 0; j < TJ; j++)
        for (int i = 0; i < TI; i++)
            out[(long)j * N + i] = local[j][i];
#elif WRITE_FIRST
    for (int ib = 0; ib < TI; ib += MI)
        for (int j = 0; j < TJ; j++)
            UNROLLED(16) for (int i = ib; i < ib + MI; i++)
                out[(long)j * N + i] = in[(long)i * N + j];
#else
    for (int ib = 0; ib < TI; ib += MI)
        UNROLLED(16) for (int i = ib; i < ib + MI; i++)
            for (int j = 0; j < TJ; j++)
                out[(long)j * N + i] = in[(long)i * N + j];
#endif
}

void transpose(const float *restrict in, float *restrict out)
{
#if THREADS > 1
#pragma omp parallel for num_threads(THREADS)
#endif
    for (int i = 0; i < N; i += TI)
        for (int j = 0; j < N; j += TJ) {
#if PREFETCH
            for (int k = 0; k < TI && i + PREFETCH * TI < N; k++)
                __builtin_prefetch(in + (long)(i + PREFETCH * TI + k) * N + j, 0, 1);
#endif
            tile(in + (long)i * N + j, out + (long)j * N + i);
        }
}
