/* 2D convolution of an image with an F x F filter; the image is padded: (H + F - 1) x (W + F - 1).
 *
 * REGISTERS = 0 is the plain loop nest over pixels and filter taps.
 * REGISTERS = 1 keeps a tile of TY rows x NV vectors of output in registers and walks the filter for all of them;
 * BX columns are done before the next rows, so that the rows of the image stay in the cache.
 */
#ifndef REGISTERS
#define REGISTERS 0
#endif
#ifndef VW          /* floats in a vector */
#define VW 8
#endif
#ifndef NV          /* vectors of output in a row of the tile */
#define NV 1
#endif
#ifndef TY          /* rows of the tile */
#define TY 1
#endif
#ifndef BX          /* columns of a block */
#define BX 256
#endif
#ifndef ROWS_FIRST  /* walk the filter along its rows (1) or down its columns (0) */
#define ROWS_FIRST 1
#endif
#ifndef UNROLL      /* taps of the inner filter loop in one body */
#define UNROLL 1
#endif
#ifndef SCHEDULE
#define SCHEDULE static
#endif
#ifndef THREADS
#define THREADS 1
#endif

#define IN_W (W + F - 1)

#if REGISTERS

#define DO_PRAGMA(text) _Pragma(#text)
#define UNROLLED(count) DO_PRAGMA(GCC unroll count)

typedef float loose __attribute__((vector_size(VW * 4), aligned(4)));

static inline void tile(const float *restrict image, const float *restrict filter, float *restrict out)
{
    loose sum[TY][NV] = {{{0}}};
#if ROWS_FIRST
    for (int i = 0; i < F; i++)
        UNROLLED(UNROLL) for (int j = 0; j < F; j++)
#else
    for (int j = 0; j < F; j++)
        UNROLLED(UNROLL) for (int i = 0; i < F; i++)
#endif
            UNROLLED(16) for (int y = 0; y < TY; y++)
                UNROLLED(16) for (int v = 0; v < NV; v++)
                    sum[y][v] += filter[i * F + j] * *(const loose *)(image + (long)(y + i) * IN_W + v * VW + j);
    UNROLLED(16) for (int y = 0; y < TY; y++)
        UNROLLED(16) for (int v = 0; v < NV; v++)
            *(loose *)(out + (long)y * W + v * VW) = sum[y][v];
}

void convolution(const float *restrict image, const float *restrict filter, float *restrict out)
{
    for (int block = 0; block < W; block += BX)
#if THREADS > 1
#pragma omp parallel for num_threads(THREADS) schedule(SCHEDULE)
#endif
        for (int y = 0; y < H; y += TY)
            for (int x = block; x < block + BX; x += NV * VW)
                tile(image + (long)y * IN_W + x, filter, out + (long)y * W + x);
}

#else

void convolution(const float *restrict image, const float *restrict filter, float *restrict out)
{
#if THREADS > 1
#pragma omp parallel for num_threads(THREADS) schedule(SCHEDULE)
#endif
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            float sum = 0.0f;
            for (int i = 0; i < F; i++)
                for (int j = 0; j < F; j++)
                    sum += filter[i * F + j] * image[(long)(y + i) * IN_W + x + j];
            out[(long)y * W + x] = sum;
        }
}

#endif
