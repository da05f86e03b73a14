// C = A B by clusters of blocks that need the same tile of A or of B: each loads a share of it, for all of them.
//
//   nvcc -O3 -std=c++20 -gencode=arch=compute_90a,code=sm_90a -Icommon -o matmul_multicast steps/41_matmul_multicast/matmul_multicast.cu common/*.c
//   ./learn run 41

#include "matmul.h"

#include "ptx/cluster.h"
#include "ptx/mbarrier.h"
#include "ptx/pair.h"
#include "ptx/row.h"
#include "ptx/setmaxnreg.h"
#include "ptx/tensor.h"
#include "ptx/wgmma.h"
#include "tensor_map.h"

constexpr int WARPS = 4, WARPGROUP = 32 * WARPS;  // threads of a warpgroup
constexpr int CONSUMERS = 2, STAGES = 4;  // warpgroups that multiply, 64 rows of C each; pairs of tiles in the ring
constexpr int PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = 232;  // of each of their threads
constexpr int TILE_M = 128, TILE_N = 256;                         // rows and columns of C that one block computes
constexpr int TILE_K = 64;                 // columns of A, rows of B in the tiles that it does so from
constexpr int PANEL = 64;                  // columns of a panel of B's tile, 128 bytes
constexpr int WGMMA_M = 64, WGMMA_K = 16;  // rows and columns of A in one wgmma
constexpr int MMA_M = 16, MMA_N = 8;       // rows and columns of C in a tile of a warp's sums
constexpr int COLS = TILE_N / MMA_N;

// [tiles] A row of a panel is as wide as the swizzle, 128 bytes: A's tile is one panel, B's is four. The pattern of the swizzle
// begins anew at multiples of 1,024 bytes.
template <class T>
struct tiles {
    alignas(1024) T A[TILE_M][TILE_K];                 // [row][i]
    alignas(1024) T B[TILE_N / PANEL][TILE_K][PANEL];  // [panel][i][col]
};

// [ring] Two barriers for each stage. A phase of `full` is over when all bytes of the stage's tiles are there, a phase of
// `empty` when the products of all consumers' warps, of all blocks of the cluster, have read those at this place.
template <class T>
struct buffers {
    struct tiles<T> tiles[STAGES];
    uint64_t full[STAGES], empty[STAGES];
};

// [next_stage] After the last stage comes the first, whose barriers are in their next phase.
template <int STAGES>
__device__ __forceinline__ void next_stage(int *stage, int *parity)
{
    *stage = *stage + 1 < STAGES ? *stage + 1 : 0;
    if (*stage == 0)
        *parity = 1 - *parity;
}

// [load_tiles] One thread sets its block's barrier to expect the bytes of both tiles, and the engine begins to move this block's share: a
// half or a quarter of the tile that all blocks of the cluster need, for all of them, and the other tile for itself.
template <class T, int CLUSTER_M, int CLUSTER_N>
__device__ __forceinline__ void load_tiles(struct tiles<T> *smem, uint64_t *full, const CUtensorMap *A_map,
                                           const CUtensorMap *B_map, int row, int col, int i)
{
    mbarrier_arrive_expect_tx(full, sizeof(struct tiles<T>));  // of both tiles, also where they lie outside of A and B
    // [share]
    const int rank = cluster_rank(), all = (1 << CLUSTER_M * CLUSTER_N) - 1;
    const int first_row = rank % CLUSTER_N * (TILE_M / CLUSTER_N),
              first_panel = rank % CLUSTER_M * (TILE_N / PANEL / CLUSTER_M);
    if (CLUSTER_N > 1)
        tensor_load_2d_multicast(smem->A[first_row], A_map, row + first_row, i, full, all);
    else
        tensor_load_2d(smem->A, A_map, row, i, full);
    for (int panel = first_panel; panel < first_panel + TILE_N / PANEL / CLUSTER_M; panel++)
        if (CLUSTER_M > 1)
            tensor_load_2d_multicast(smem->B[panel], B_map, i, col + panel * PANEL, full, all);
        else
            tensor_load_2d(smem->B[panel], B_map, i, col + panel * PANEL, full);
    // [end share]
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
template <class T>
__device__ __forceinline__ void multiply_tiles(float sum[COLS][4], const struct tiles<T> *smem, int row)
{
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < TILE_K; i += WGMMA_K)
        wgmma_m64n256k16(sum, A_slice(smem->A, row, i), B_slice(smem->B, i), T());
    wgmma_commit_group();
}

// [store_sums] Lane l holds two neighbours in row l / 4 of each tile of 16 × 8, and two in row l / 4 + 8. Four lanes share a row: of four
// tiles, each of them gets the whole row of one.
template <class T>
__device__ __forceinline__ void store_sums(T *C, const float sum[COLS][4], int row, int col, int m, int n, int C_pitch)
{
    const int warp = threadIdx.x / 32 % WARPS, lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 2; i++)
        for (int x = 0; x < COLS; x += 4) {
            uint32_t pairs[4];
            for (int tile = 0; tile < 4; tile++)
                pairs[tile] = pack(sum[x + tile][2 * i], sum[x + tile][2 * i + 1], T());
            gather_row(pairs);
            store_row(C, pairs, row + warp * MMA_M + i * 8 + lane / 4, col + (x + lane % 4) * MMA_N, m, n, C_pitch);
        }
}

// [kernel] A cluster has CLUSTER_M blocks one above the other, which need the same tiles of B, or CLUSTER_N side by side, which need the
// same of A.
template <class T, int CLUSTER_M, int CLUSTER_N>
__global__ void __cluster_dims__(CLUSTER_M, CLUSTER_N, 1) __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1)
    matmul_multicast(const __grid_constant__ CUtensorMap A_map,  // of A [m, k]
                     const __grid_constant__ CUtensorMap B_map,  // of B [k, n]
                     T *C,                                       // [m, n]
                     int m, int n, int k, int C_pitch)
{
    extern __shared__ __align__(1024) uint4 memory[];
    struct buffers<T> *smem = (struct buffers<T> *)memory;
    // [index] The first row and column of the block's tile of C.
    const int row = blockIdx.x * TILE_M, col = blockIdx.y * TILE_N;
    const int warpgroup = threadIdx.x / WARPGROUP, lane = threadIdx.x % 32;

    // [barriers]
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; stage++) {
            // [counts]
            mbarrier_init(&smem->full[stage], 1);
            mbarrier_init(&smem->empty[stage], CLUSTER_M * CLUSTER_N * CONSUMERS * WARPS);
            // [end counts]
        }
        fence_mbarrier_init();
    }
    // [begin]
    __syncwarp();  // the lanes of the first warp arrive together
    cluster_arrive_relaxed();
    cluster_wait();  // the barriers of all blocks are made before any thread waits or arrives at them, or a copy comes

    // [roles]
    int stage = 0, parity = 0;
    if (warpgroup == CONSUMERS) {
        // [give] The last warpgroup is the producer. Each of its threads keeps so many registers.
        setmaxnreg_dec<PRODUCER_REGISTERS>();
        // [produce] One thread of it copies all tiles, each as soon as its stage is empty.
        if (threadIdx.x == CONSUMERS * WARPGROUP) {
            for (int i = 0; i < k; i += TILE_K) {
                // The products of all blocks have read the tiles that were here before. There were none in the first round: it
                // waits for the phase before a barrier's first, which counts as over.
                mbarrier_wait_parity(&smem->empty[stage], 1 - parity);
                load_tiles<T, CLUSTER_M, CLUSTER_N>(&smem->tiles[stage], &smem->full[stage], &A_map, &B_map, row, col,
                                                    i);
                next_stage<STAGES>(&stage, &parity);
            }
            // [last] Its block stays until the last products of all blocks have read their tiles, and their warps have arrived here.
            for (int i = 0; i < STAGES; i++) {
                mbarrier_wait_parity(&smem->empty[stage], 1 - parity);
                next_stage<STAGES>(&stage, &parity);
            }
        }
    } else {
        // [take] The others are consumers. They wait until each of their threads has so many registers.
        setmaxnreg_inc<CONSUMER_REGISTERS>();
        // [multiply] Each of them multiplies 64 rows of A's tiles.
        float sum[COLS][4] = {};
        for (int i = 0; i < k; i += TILE_K) {
            // [consume]
            mbarrier_wait_parity(&smem->full[stage], parity);  // this stage's tiles are there
            multiply_tiles(sum, &smem->tiles[stage], warpgroup * WGMMA_M);
            wgmma_wait_group<0>(sum);
            // [release] This warp's products have read the tiles. A lane for each block of the cluster arrives at its barrier.
            if (lane < CLUSTER_M * CLUSTER_N)
                mbarrier_arrive_cluster(map_to_rank(&smem->empty[stage], lane));
            // [end release]
            next_stage<STAGES>(&stage, &parity);
        }
        // [store]
        store_sums(C, sum, row + warpgroup * WGMMA_M, col, m, n, C_pitch);
    }
}

// [launch]
template <class T, int CLUSTER_M, int CLUSTER_N>
static int start(const struct matmul_args *args, cudaStream_t stream)
{
    const auto kernel = matmul_multicast<T, CLUSTER_M, CLUSTER_N>;
    constexpr int bytes = sizeof(struct buffers<T>);
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (status != cudaSuccess)
        return status;
    const CUtensorMap *maps = (const CUtensorMap *)args->prepared;
    // Whole clusters: where the tiles of C are not, some blocks compute nothing that is stored.
    const dim3 blocks(ceil_div(args->m, CLUSTER_M * TILE_M) * CLUSTER_M,
                      ceil_div(args->n, CLUSTER_N * TILE_N) * CLUSTER_N);
    kernel<<<blocks, (CONSUMERS + 1) * WARPGROUP, bytes, stream>>>(maps[0], maps[1], (T *)args->C, args->m, args->n,
                                                                   args->k, args->C_pitch);
    return cudaGetLastError();
}

template <class T>
static int launch_of(const struct matmul_args *args, cudaStream_t stream)
{
    switch (args->variant) {
    case 0: return start<T, 1, 1>(args, stream);
    case 1: return start<T, 4, 1>(args, stream);
    case 2: return start<T, 2, 1>(args, stream);
    default: return start<T, 1, 2>(args, stream);
    }
}

int launch(const struct matmul_args *args, cudaStream_t stream)
{
    return args->dtype == BF16 ? launch_of<__nv_bfloat16>(args, stream) : launch_of<half>(args, stream);
}

// [prepare] The maps of A and B, made once before any launch.
int prepare(const struct matmul_args *args)
{
    if (!matmul_is_aligned(args, args->dtype, 16))
        return cudaErrorInvalidValue;
    CUtensorMap *maps = (CUtensorMap *)args->prepared;
    const int status = tensor_map_2d(&maps[0], args->dtype, args->A, args->m, args->k, args->A_pitch,
                                     args->variant == 3 ? TILE_M / 2 : TILE_M, TILE_K, CU_TENSOR_MAP_SWIZZLE_128B);
    if (status != cudaSuccess)
        return status;
    return tensor_map_2d(&maps[1], args->dtype, args->B, args->k, args->n, args->B_pitch, TILE_K, PANEL,
                         CU_TENSOR_MAP_SWIZZLE_128B);
}

// [main]
static const struct variant variants[] = {
    {"alone", "each block loads all of its tiles itself", sizeof(struct buffers<half>)},
    {"four_share_b", "four blocks with the same columns share the tiles of B", sizeof(struct buffers<half>)},
    {"share_b", "two blocks with the same columns share the tiles of B, 32 KiB", sizeof(struct buffers<half>)},
    {"share_a", "two blocks with the same rows share the tiles of A, 16 KiB", sizeof(struct buffers<half>)},
    {},
};

int main(int argc, char **argv)
{
    const struct matmul_step step = {
        .name = "41_matmul_multicast",
        .dtypes = {FP16, BF16},
        .arch = "90a",
        .row_bytes = 16,
        .variants = variants,
        .prepare = prepare,
        .launch = launch,
    };
    return matmul_main(argc, argv, &step);
}
