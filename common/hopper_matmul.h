// What a matmul by tensor copies and wgmma is made of, as steps 38 to 43 derive it: a ring of pairs of tiles that one thread copies, the
// products that read them, and the panels by which C leaves.
#ifndef HOPPER_MATMUL_H
#define HOPPER_MATMUL_H

#include "ptx/bulk.h"
#include "ptx/cluster.h"
#include "ptx/mbarrier.h"
#include "ptx/pair.h"
#include "ptx/stmatrix.h"
#include "ptx/tensor.h"
#include "ptx/wgmma.h"

constexpr int WARPS = 4, WARPGROUP = 32 * WARPS;  // threads of a warpgroup
constexpr int TILE_K = 64;                        // columns of A, rows of B in the tiles of one step
constexpr int PANEL = 64;                         // columns of a panel of B's tile or of C, 128 bytes
constexpr int WGMMA_M = 64, WGMMA_K = 16;         // rows and columns of A in one wgmma
constexpr int MMA_M = 16, MMA_N = 8;              // rows and columns of C in a tile of a warp's sums
constexpr int OUT = 2;                            // panels of C that a warp has on their way out
constexpr int VECTOR = 8;                         // elements in 16 bytes

// [sizes] A block has CONSUMERS warpgroups that multiply, 64 rows of C each, and one that copies.
template <int CONSUMERS> constexpr int THREADS = (CONSUMERS + 1) * WARPGROUP;
template <int CONSUMERS> constexpr int TILE_M = CONSUMERS * WGMMA_M;

// [tiles] A row of a panel is as wide as the swizzle, 128 bytes: A's tile is one panel, B's has several. The pattern of the swizzle
// begins anew at multiples of 1,024 bytes.
template <class T, int CONSUMERS, int TILE_N>
struct tiles {
    alignas(1024) T A[TILE_M<CONSUMERS>][TILE_K];      // [row][i]
    alignas(1024) T B[TILE_N / PANEL][TILE_K][PANEL];  // [panel][i][col]
};

// [out] What a warp has of C, 16 rows of it, leaves panel by panel.
template <class T>
struct out {
    alignas(1024) T C[OUT][MMA_M][PANEL];  // [panel][row][col]
};

// [buffers] Two barriers for each stage. A phase of `full` is over when all bytes of the stage's tiles are there, a phase of
// `empty` when the products of all consumers' warps, of all blocks of the cluster, have read those at this place.
template <class T, int CONSUMERS, int TILE_N, int STAGES, int CLUSTER_K>
struct buffers {
    struct tiles<T, CONSUMERS, TILE_N> tiles[STAGES];
    union {
        struct out<T> out[CONSUMERS * WARPS];
        float4 sums[CLUSTER_K == 2 ? TILE_N / MMA_N / 2 : 1]
                   [CONSUMERS * WARPGROUP];  // [x][thread], from the other block
    };
    uint64_t full[STAGES], empty[STAGES], sent;
};

// [next_stage] After the last stage comes the first, whose barriers are in their next phase.
template <int STAGES>
__device__ __forceinline__ void next_stage(int *stage, int *parity)
{
    *stage = *stage + 1 < STAGES ? *stage + 1 : 0;
    if (*stage == 0)
        *parity = 1 - *parity;
}

// [stage_before] The stage that was `back` steps before, 0 or 1.
template <int STAGES>
__device__ __forceinline__ int stage_before(int stage, int back)
{
    return stage < back ? STAGES - 1 : stage - back;
}

// [release_stage] The products of a warp have read a stage's tiles: a lane arrives at `empty`, of that stage, in each of the blocks that
// multiply by the same tile of B.
template <int CLUSTER_M>
__device__ __forceinline__ void release_stage(uint64_t *empty)
{
    const int lane = threadIdx.x % 32;
    if (CLUSTER_M == 1 && lane == 0)
        mbarrier_arrive(empty);
    else if (CLUSTER_M > 1 && lane < CLUSTER_M)
        mbarrier_arrive_cluster(map_to_rank(empty, lane));
}

// [load_tiles] One thread sets its block's barrier to expect the bytes of both tiles, also where they lie outside of A and B, and the engine
// begins to move them: of A's tile the first A_rows rows, as the map's box has them, and every CLUSTER_M-th panel of B's tile for all
// blocks that multiply by it.
template <int CLUSTER_M, class T, int CONSUMERS, int TILE_N>
__device__ __forceinline__ void load_tiles(struct tiles<T, CONSUMERS, TILE_N> *smem, uint64_t *full,
                                           const CUtensorMap *A_map, const CUtensorMap *B_map, int A_rows, int row,
                                           int col, int i)
{
    constexpr int PANELS = TILE_N / PANEL, ALL = (1 << CLUSTER_M) - 1;
    mbarrier_arrive_expect_tx(full, A_rows * sizeof(smem->A[0]) + sizeof(smem->B));
    tensor_load_2d(smem->A, A_map, row, i, full);
#pragma unroll
    for (int x = 0; x < PANELS; x += CLUSTER_M) {
        const int panel = x + (CLUSTER_M == 1 ? 0 : cluster_rank());
        if (CLUSTER_M == 1)
            tensor_load_2d(smem->B[panel], B_map, i, col + panel * PANEL, full);
        else if (PANELS % CLUSTER_M == 0 || panel < PANELS)
            tensor_load_2d_multicast(smem->B[panel], B_map, i, col + panel * PANEL, full, ALL);
    }
}

// [A_slice] 64 rows from `row` on of columns i to i + 15 of A's tile, K-major. The stride offset leads to the next 8 rows; the leading
// offset means nothing.
template <class T>
__device__ __forceinline__ uint64_t A_slice(const T A[][TILE_K], int row, int i)
{
    return wgmma_descriptor(&A[row][i], 0, 8 * sizeof(A[0]), WGMMA_SWIZZLE_128B);
}

// [B_slice] Rows i to i + 15 of B's tile, all columns, MN-major. The leading offset leads to the next panel, the stride offset to the next
// 8 rows.
template <class T>
__device__ __forceinline__ uint64_t B_slice(const T B[][TILE_K][PANEL], int i)
{
    return wgmma_descriptor(B[0][i], sizeof(B[0]), 8 * sizeof(B[0][0]), WGMMA_SWIZZLE_128B);
}

// [multiply_tiles] A consumer issues the products of its rows of A, as one group. Each is added to the sums of the one before it.
template <class T, int CONSUMERS, int TILE_N>
__device__ __forceinline__ void multiply_tiles(float (&sum)[TILE_N / MMA_N][4],
                                               const struct tiles<T, CONSUMERS, TILE_N> *smem, int row)
{
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < TILE_K; i += WGMMA_K)
        wgmma_plain(sum, A_slice(smem->A, row, i), B_slice(smem->B, i), T());
    wgmma_commit_group();
}

// [store_panel] A warp writes its 16 rows of a panel, packed in pairs, to shared memory, once the engine has read what was there before. Lane
// 0 lets it store the panel's whole vectors: it stores 16 bytes at a time, and would write beyond the end of a row. Of what is
// behind the last whole vector, each lane stores a row by itself.
template <class T>
__device__ __forceinline__ void store_panel(T smem[MMA_M][PANEL], const uint32_t *pairs, const CUtensorMap *C_map, T *C,
                                            int row, int col, int m, int n, int C_pitch)
{
    const int lane = threadIdx.x % 32, whole = n / VECTOR * VECTOR;
    bulk_wait_group_read<OUT - 1>();
    __syncwarp();  // the engine has read the panel that was here before
#pragma unroll
    for (int x = 0; x < PANEL / MMA_N; x += 2)
        stmatrix_x4(&smem[lane % MMA_M][((x + lane / MMA_M) ^ lane % 8) * VECTOR], &pairs[2 * x]);
    fence_proxy_async_shared();
    __syncwarp();  // all lanes have written
    if (lane == 0 && col < whole)
        tensor_store_2d(C_map, row, col, smem);
    if (lane == 0)
        bulk_commit_group();
    if (lane < MMA_M && row + lane < m && whole - col >= 0 && whole - col < PANEL)
        for (int i = whole; i < n; i++)
            C[(size_t)(row + lane) * C_pitch + i] = smem[lane][(i - col) ^ lane % 8 * VECTOR];
}

// [store_half] Each lane stores the half of its sums whose number is given, 0 or 1, pair by pair. row and col are the first of the warp's.
template <class T, int COLS>
__device__ __forceinline__ void store_half(T *C, const float (&sum)[COLS][4], int half, int row, int col, int m, int n,
                                           int C_pitch)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int x = 0; x < COLS; x++)
        if (x / (COLS / 2) == half)
            for (int i = 0; i < 2; i++)
                store_pair(C, &sum[x][2 * i], row + lane / 4 + 8 * i, col + x * MMA_N + lane % 4 * 2, m, n, C_pitch);
}

#endif
