/* Heat on a chip: STEPS explicit time steps of a 5-point stencil on an H x W grid whose edges are mirrored.
 *
 *     t' = t + A * (power + (n + s - 2 t) * RY + (e + w - 2 t) * RX + (AMBIENT - t) * RZ)
 *
 * TILED = 0 sweeps the whole grid once for every step.
 * TILED = 1 takes TH x TW tiles with a halo of DEPTH cells and does DEPTH steps on each before it goes on: fewer
 * trips to memory, more work in the halo.
 */
#ifndef TILED
#define TILED 0
#endif
#ifndef TH          /* rows of a tile */
#define TH 32
#endif
#ifndef TW          /* columns of a tile */
#define TW 128
#endif
#ifndef DEPTH       /* time steps done on a tile at once */
#define DEPTH 1
#endif
#ifndef WIDTH       /* floats in a vector that the compiler is asked for, 0 to let it choose */
#define WIDTH 0
#endif
#ifndef SCHEDULE
#define SCHEDULE static
#endif
#ifndef THREADS
#define THREADS 1
#endif

#include <stdlib.h>
#include <string.h>

#define A 0.05f
#define RX 0.8f
#define RY 0.6f
#define RZ 0.01f
#define AMBIENT 0.5f

#define DO_PRAGMA(text) _Pragma(#text)
#define SIMD_OF(width) DO_PRAGMA(omp simd simdlen(width))
#if WIDTH
#define SIMD SIMD_OF(WIDTH)
#else
#define SIMD DO_PRAGMA(omp simd)
#endif

static inline int clamp(int i, int n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static inline float next(float t, float n, float s, float w, float e, float power)
{
    return t + A * (power + (n + s - 2.0f * t) * RY + (e + w - 2.0f * t) * RX + (AMBIENT - t) * RZ);
}

#if TILED

#define HALF_H (TH + 2 * DEPTH)
#define HALF_W (TW + 2 * DEPTH)

/* One step on the cells of a tile that are `in` or more from its rim; outside the grid its mirror image is kept. */
static void step(int in, float (*restrict from)[HALF_W], float (*restrict to)[HALF_W], float (*restrict heat)[HALF_W])
{
    for (int y = in; y < HALF_H - in; y++)
        SIMD for (int x = in; x < HALF_W - in; x++)
            to[y][x] = next(from[y][x], from[y - 1][x], from[y + 1][x], from[y][x - 1], from[y][x + 1], heat[y][x]);
}

/* Cells beyond the edge of the grid take the value of the edge. */
static void mirror(int y0, int x0, float (*restrict t)[HALF_W])
{
    int top = y0 < 0 ? -y0 : 0, bottom = y0 + HALF_H > H ? H - y0 : HALF_H;
    int left = x0 < 0 ? -x0 : 0, right = x0 + HALF_W > W ? W - x0 : HALF_W;
    for (int y = top; y < bottom; y++) {
        for (int x = 0; x < left; x++)
            t[y][x] = t[y][left];
        for (int x = right; x < HALF_W; x++)
            t[y][x] = t[y][right - 1];
    }
    for (int y = 0; y < top; y++)
        memcpy(t[y], t[top], sizeof t[y]);
    for (int y = bottom; y < HALF_H; y++)
        memcpy(t[y], t[bottom - 1], sizeof t[y]);
}

static void tile(int ty, int tx, const float *restrict from, const float *restrict power, float *restrict to)
{
    static _Thread_local float one[HALF_H][HALF_W], two[HALF_H][HALF_W], heat[HALF_H][HALF_W];
    int y0 = ty - DEPTH, x0 = tx - DEPTH;
    int left = clamp(x0, W), right = clamp(x0 + HALF_W - 1, W);
    for (int y = 0; y < HALF_H; y++) {
        long row = (long)clamp(y0 + y, H) * W;
        memcpy(one[y] + (left - x0), from + row + left, (right - left + 1) * sizeof(float));
        memcpy(heat[y] + (left - x0), power + row + left, (right - left + 1) * sizeof(float));
    }
    mirror(y0, x0, heat);
    float (*now)[HALF_W] = one, (*later)[HALF_W] = two;
    for (int s = 1; s <= DEPTH; s++) {
        mirror(y0, x0, now);
        step(s, now, later, heat);
        float (*swap)[HALF_W] = now;
        now = later;
        later = swap;
    }
    for (int y = 0; y < TH; y++)
        memcpy(to + (long)(ty + y) * W + tx, now[y + DEPTH] + DEPTH, TW * sizeof(float));
}

static void advance(const float *restrict from, const float *restrict power, float *restrict to)
{
#if THREADS > 1
#pragma omp parallel for collapse(2) num_threads(THREADS) schedule(SCHEDULE)
#endif
    for (int y = 0; y < H; y += TH)
        for (int x = 0; x < W; x += TW)
            tile(y, x, from, power, to);
}

#else

static void advance(const float *restrict from, const float *restrict power, float *restrict to)
{
#if THREADS > 1
#pragma omp parallel for num_threads(THREADS) schedule(SCHEDULE)
#endif
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            long row = (long)y * W;
            to[row + x] = next(from[row + x], from[(long)clamp(y - 1, H) * W + x], from[(long)clamp(y + 1, H) * W + x],
                               from[row + clamp(x - 1, W)], from[row + clamp(x + 1, W)], power[row + x]);
        }
}

#endif

void hotspot(const float *restrict start, const float *restrict power, float *restrict out)
{
    float *other = malloc((long)H * W * sizeof(float));
    const float *from = start;
    int sweeps = STEPS / DEPTH;
    for (int s = 0; s < sweeps; s++) {
        float *to = (sweeps - s) % 2 ? out : other;
        advance(from, power, to);
        from = to;
    }
    free(other);
}
