/* C = A * B for square row-major matrices of N x N floats.
 *
 * BLOCKED = 0 is what a good programmer writes first: the plain i-k-j loop nest, which the compiler vectorises.
 * BLOCKED = 1 cuts the columns of B into stripes of NC and the sum into blocks of KC, packs each KC x NC block of
 * B so that it is read in order, and keeps MR x NV vectors of C in registers. Threads share out the stripes.
 */
#ifndef BLOCKED
#define BLOCKED 0
#endif
#ifndef VW          /* floats in a vector */
#define VW 8
#endif
#ifndef NV          /* vectors of C in a row of the register tile */
#define NV 2
#endif
#ifndef MR          /* rows of the register tile */
#define MR 4
#endif
#ifndef NC          /* columns of a stripe */
#define NC 128
#endif
#ifndef KC          /* depth of a block */
#define KC 256
#endif
#ifndef UNROLL      /* steps of k in the innermost loop body */
#define UNROLL 1
#endif
#ifndef PREFETCH    /* packed rows ahead that are prefetched, 0 for none */
#define PREFETCH 0
#endif
#ifndef THREADS
#define THREADS 1
#endif

#if BLOCKED

#include <string.h>

#define NR (NV * VW)
#define DO_PRAGMA(text) _Pragma(#text)
#define UNROLLED(count) DO_PRAGMA(GCC unroll count)

typedef float vector __attribute__((vector_size(VW * 4)));
typedef float loose __attribute__((vector_size(VW * 4), aligned(4)));

/* Copy a KC x NC block of B, one panel of NR columns after the other. */
static void pack(const float *restrict b, float *restrict panel)
{
    for (int j = 0; j < NC; j += NR)
        for (int k = 0; k < KC; k++, panel += NR)
            memcpy(panel, b + (long)k * N + j, NR * sizeof(float));
}

/* Add the product of MR rows of A and one packed panel to MR x NR elements of C. */
static inline void tile(const float *restrict a, const float *restrict panel, float *restrict c)
{
    vector sum[MR][NV];
    UNROLLED(16) for (int i = 0; i < MR; i++)
        UNROLLED(16) for (int j = 0; j < NV; j++)
            sum[i][j] = *(const loose *)(c + (long)i * N + j * VW);
    UNROLLED(UNROLL) for (int k = 0; k < KC; k++) {
        const float *row = panel + (long)k * NR;
#if PREFETCH
        __builtin_prefetch(row + PREFETCH * NR, 0, 3);
#endif
        UNROLLED(16) for (int i = 0; i < MR; i++)
            UNROLLED(16) for (int j = 0; j < NV; j++)
                sum[i][j] += a[(long)i * N + k] * *(const vector *)(row + j * VW);
    }
    UNROLLED(16) for (int i = 0; i < MR; i++)
        UNROLLED(16) for (int j = 0; j < NV; j++)
            *(loose *)(c + (long)i * N + j * VW) = sum[i][j];
}

void matmul(const float *restrict a, const float *restrict b, float *restrict c)
{
#pragma omp parallel for num_threads(THREADS) schedule(static, 1)
    for (int jc = 0; jc < N; jc += NC) {
        static _Thread_local float packed[KC * NC] __attribute__((aligned(64)));
        for (int i = 0; i < N; i++)
            memset(c + (long)i * N + jc, 0, NC * sizeof(float));
        for (int kc = 0; kc < N; kc += KC) {
            pack(b + (long)kc * N + jc, packed);
            for (int i = 0; i < N; i += MR)
                for (int j = 0; j < NC; j += NR)
                    tile(a + (long)i * N + kc, packed + (long)j * KC, c + (long)i * N + jc + j);
        }
    }
}

#else

void matmul(const float *restrict a, const float *restrict b, float *restrict c)
{
#if THREADS > 1
#pragma omp parallel for num_threads(THREADS)
#endif
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++)
            c[(long)i * N + j] = 0.0f;
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++)
                c[(long)i * N + j] += a[(long)i * N + k] * b[(long)k * N + j];
    }
}

#endif
