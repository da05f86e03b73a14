// The weights of a tile of scores in the registers of a warpgroup, with few rescalings and cheap maxima, or trusting an old max, as step 49
// wants them.
#ifndef HOPPER_SOFTMAX_H
#define HOPPER_SOFTMAX_H

#include <limits.h>

#include "hopper_causal.h"

#include "ptx/ex2.h"
#include "ptx/ldmatrix.h"
#include "ptx/mma.h"

// [largest] The largest of a lane's scores in row i. As integers, floats from 0 on are in order, and negative ones below them in the wrong
// order. Where all that counts is whether a score exceeds a max of at least 0, integers serve, and one instruction compares three.
template <int TILE>
__device__ __forceinline__ float largest_of(const float s[TILE / MMA_N][4], int i, bool as_integers)
{
    if (!as_integers) {
        float largest = -INFINITY;
        for (int x = 0; x < TILE / MMA_N; x++)
            largest = fmaxf(largest, fmaxf(s[x][2 * i], s[x][2 * i + 1]));
        return largest;
    }
    int two[2] = {INT_MIN, INT_MIN};  // two chains are done sooner than one
    for (int x = 0; x < TILE / MMA_N; x++)
        two[x % 2] = __vimax3_s32(two[x % 2], __float_as_int(s[x][2 * i]), __float_as_int(s[x][2 * i + 1]));
    return __int_as_float(max(two[0], two[1]));
}

// [weights] S becomes its weights. A max stays until a score exceeds it by more than `rise`. What was summed up shrinks by `factor`.
template <int TILE>
__device__ __forceinline__ void weights(float s[TILE / MMA_N][4], float m[2], float l[2], float factor[2],
                                        const struct problem *problem, bool as_integers)
{
    float largest[2];
    for (int i = 0; i < 2; i++)
        largest[i] = largest_of<TILE>(s, i, as_integers);
    for (int i = 0; i < 2; i++) {
        largest[i] = fmaxf(largest[i], __shfl_xor_sync(0xffffffff, largest[i], 1));
        largest[i] = fmaxf(largest[i], __shfl_xor_sync(0xffffffff, largest[i], 2));
        const float higher = fmaxf(m[i], largest[i] * problem->scale);
        const float m_new = higher - m[i] > problem->rise ? higher : m[i];
        factor[i] = ex2(m[i] - m_new);
        m[i] = m_new;
        l[i] *= factor[i];
        for (int x = 0; x < TILE / MMA_N; x++)
            for (int j = 2 * i; j < 2 * i + 2; j++)
                s[x][j] = ex2(fmaf(s[x][j], problem->scale, problem->at_max - m_new));
    }
    for (int i = 0; i < 2; i++)
        for (int x = 0; x < TILE / MMA_N; x++)
            l[i] += s[x][2 * i] + s[x][2 * i + 1];
}

// [trusting_weights] The same without a max: the old one stays. False, for the whole warp, where a lane's sum says that a weight may have
// been too large for P; then S is lost, and l as it was.
template <int TILE, typename T>
__device__ __forceinline__ bool trusting_weights(float s[TILE / MMA_N][4], const float m[2], float l[2],
                                                 const struct problem *problem, T)
{
    float sum[2] = {};
    for (int i = 0; i < 2; i++)
        for (int x = 0; x < TILE / MMA_N; x++)
            for (int j = 2 * i; j < 2 * i + 2; j++)
                s[x][j] = ex2(fmaf(s[x][j], problem->scale, problem->at_max - m[i]));
    for (int i = 0; i < 2; i++)
        for (int x = 0; x < TILE / MMA_N; x++)
            sum[i] += s[x][2 * i] + s[x][2 * i + 1];
    const float most = ldexpf(1, P_LARGEST<T>);
    if (!__all_sync(0xffffffff, sum[0] <= most && sum[1] <= most))
        return false;
    l[0] += sum[0], l[1] += sum[1];
    return true;
}

// [scores_again] The scores of a warp's 16 rows once more, by its own mma: wgmma would need the other three warps.
template <int D, int TILE, typename T>
__device__ __forceinline__ void scores_again(float s[TILE / MMA_N][4], const T Q[D / PANEL][WGMMA_M][PANEL],
                                             const T K[D / PANEL][TILE][PANEL], int warp_row, int lane)
{
    for (int x = 0; x < TILE / MMA_N; x++)
        for (int i = 0; i < 4; i++)
            s[x][i] = 0;
#pragma unroll 1
    for (int d = 0; d < D; d += WGMMA_K) {
        uint32_t a[4], b[4];
        const int vector = d % PANEL / VECTOR, row = lane % MMA_M;
        ldmatrix_x4(a, &Q[d / PANEL][warp_row + row][((vector + lane / MMA_M) ^ row % 8) * VECTOR]);
#pragma unroll
        for (int x = 0; x < TILE / MMA_N; x += 2) {
            const int key = x * MMA_N + lane / 16 * 8 + lane % 8;
            ldmatrix_x4(b, &K[d / PANEL][key][((vector + lane / 8 % 2) ^ key % 8) * VECTOR]);
            mma_m16n8k16(s[x], a, b, T());
            mma_m16n8k16(s[x + 1], a, b + 2, T());
        }
    }
}

#endif
