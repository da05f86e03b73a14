// What attention by wgmma with a causal mask, shared heads and other numbers of keys is made of beside its products, as step 48 derives it: the
// rows of a piece of work and the keys that they see, the mask, and the sums of the weights.
#ifndef HOPPER_CAUSAL_H
#define HOPPER_CAUSAL_H

#include "attention.h"
#include "hopper_attention.h"
#include "tensor_map.h"

// [range] log2 of the largest weight. A half has at most 65504, and loses bits below 2^-14; a bfloat16 has a float's range.
template <typename T> constexpr float P_LARGEST = 15;
template <> constexpr float P_LARGEST<__nv_bfloat16> = 0;

// [problem] As in step 48.
struct problem {
    int heads, heads_per_kv, n, n_kv, offset;  // row i sees the keys 0 … i + offset
    int group, pieces, blocks;                 // heads whose longest pieces come first; pieces of work of all heads
    float scale, at_max, rise;  // log2 of the weight of the max; how far a score may exceed a max that stays
};

// [piece] Which rows a piece of work is, the longest of a group of heads first; beyond the last, row −1.
struct piece {
    int head, row;
};

__device__ __forceinline__ struct piece piece_of(const struct problem *problem, int work, int block_rows)
{
    if (work >= problem->pieces)
        return {0, -1};
    const int tiles = (problem->n + block_rows - 1) / block_rows, whole = problem->group * tiles;
    const int first_head = work / whole * problem->group, heads = min(problem->group, problem->heads - first_head);
    return {first_head + work % whole % heads, (tiles - 1 - work % whole / heads) * block_rows};
}

// [keys] How many keys the last of the rows before row `end` sees, and 1 where it sees none: every piece has a tile.
__host__ __device__ __forceinline__ int keys_before(const struct problem *problem, int end)
{
    return max(1, min(problem->n_kv, min(end, problem->n) + problem->offset));
}

// [mask] Scores become −∞ where the row does not see the key, as in step 48.
template <int TILE>
__device__ __forceinline__ void mask(float s[TILE / MMA_N][4], const struct problem *problem, int first, int tile,
                                     int lane)
{
    for (int i = 0; i < 2; i++) {
        const int row = first + lane / 4 + i * 8, pair = tile + lane % 4 * 2;   // the lane's first key
        const int last = min(problem->n_kv - 1, row + problem->offset) - pair;  // that the row sees, counted from there
        for (int x = 0; x < TILE / MMA_N; x++)
            for (int j = 0; j < 2; j++)
                if (x * MMA_N + j > last)
                    s[x][2 * i + j] = -INFINITY;
    }
}

// [pack_weights] The weights become P, packed in pairs. No product may have it in use.
template <int TILE, typename T>
__device__ __forceinline__ void pack_weights(uint32_t p[TILE / WGMMA_K][4], const float s[TILE / MMA_N][4], T)
{
    for (int x = 0; x < TILE / MMA_N; x++)
        for (int i = 0; i < 2; i++)
            p[x / 2][x % 2 * 2 + i] = pack(s[x][2 * i], s[x][2 * i + 1], T());
}

// [finish_sums] 1 by the sum of each row's weights, of which four lanes have parts, and 0 for a row without keys; and lse as in step 48.
__device__ __forceinline__ void finish_sums(float inverse[2], float *lse, const float m[2], const float l[2], int head,
                                            int first, const struct problem *problem, int lane)
{
    for (int i = 0; i < 2; i++) {
        float sum = l[i] + __shfl_xor_sync(0xffffffff, l[i], 1);
        sum += __shfl_xor_sync(0xffffffff, sum, 2);
        inverse[i] = sum > 0 ? __fdividef(1, sum) : 0;
        const int row = first + lane / 4 + i * 8;
        if (lse && row < problem->n && lane % 4 == 0)
            lse[(size_t)head * problem->n + row] = (log2f(sum) - (problem->at_max - m[i])) * (1 / LOG2_E);
    }
}

// [maps] The maps of Q, K, V and O of args, which are packed: boxes of a warpgroup's rows of Q, of `tile` rows of K and V, and of a warp's rows
// of O. Returns a cudaError_t.
static inline int attention_maps(CUtensorMap maps[4], const struct attention_args *args, int tile)
{
    const int kv[] = {args->batch * args->kv_heads, args->kv_seqlen},
              queries[] = {args->batch * args->heads, args->seqlen};
    const int *const sizes[] = {queries, kv, kv, queries};
    const void *const tensors[] = {args->Q, args->K, args->V, args->O};
    const int box_rows[] = {WGMMA_M, tile, tile, MMA_M};
    int status = cudaSuccess;
    for (int i = 0; i < 4 && status == cudaSuccess; i++)
        status = tensor_map_3d(&maps[i], args->dtype, tensors[i], sizes[i][0], sizes[i][1], args->head_dim, box_rows[i],
                               PANEL, CU_TENSOR_MAP_SWIZZLE_128B);
    return status;
}

#endif
