// C = A B by wgmma on a ring of stages: while a warpgroup multiplies the tiles of one stage, copies fill the others.
//
//   nvcc -O3 -std=c++20 -gencode=arch=compute_90a,code=sm_90a -Icommon -o matmul_ring steps/39_matmul_ring/matmul_ring.cu common/*.c
//   ./learn run 39

#include "matmul.h"

#include "ptx/mbarrier.h"
#include "ptx/pair.h"
#include "ptx/row.h"
#include "ptx/tensor.h"
#include "ptx/wgmma.h"
#include "tensor_map.h"

constexpr int WARPS = 4, THREADS = 32 * WARPS;  // a warpgroup
constexpr int TILE_M = 128, TILE_N = 192;       // rows and columns of C that one block computes
constexpr int TILE_K = 64;                      // columns of A, rows of B in the tiles that it does so from
constexpr int PANEL = 64;                       // columns of a panel of B's tile, 128 bytes
constexpr int WGMMA_M = 64, WGMMA_K = 16;       // rows and columns of A in one wgmma
constexpr int MMA_M = 16, MMA_N = 8;            // rows and columns of C in a tile of a warp's sums
constexpr int ROWS = TILE_M / WGMMA_M, COLS = TILE_N / MMA_N;

// [tiles] A row of a panel is as wide as the swizzle, 128 bytes: A's tile is one panel, B's is three. The pattern of the swizzle
// begins anew at multiples of 1,024 bytes.
template <class T>
struct tiles {
    alignas(1024) T A[TILE_M][TILE_K];                 // [row][i]
    alignas(1024) T B[TILE_N / PANEL][TILE_K][PANEL];  // [panel][i][col]
};

// [ring] Two barriers for each stage. A phase of `full` is over when all bytes of the stage's tiles are there, a phase of
// `empty` when the products of all warps have read them.
template <class T, int STAGES>
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

// [load_tiles] One thread sets the barrier to expect the bytes of the tiles, and the engine begins to move them, a panel at a time.
template <class T>
__device__ __forceinline__ void load_tiles(struct tiles<T> *smem, uint64_t *full, const CUtensorMap *A_map,
                                           const CUtensorMap *B_map, int row, int col, int i)
{
    mbarrier_arrive_expect_tx(full, sizeof(struct tiles<T>));  // also those that lie outside of A and B
    tensor_load_2d(smem->A, A_map, row, i, full);
    for (int panel = 0; panel < TILE_N / PANEL; panel++)
        tensor_load_2d(smem->B[panel], B_map, i, col + panel * PANEL, full);
}

// [A_slice] 64 rows from `row` on of columns i to i + 15 of A's tile, K-major. The stride offset leads to the next 8 rows;
// the leading offset means nothing.
template <class T>
__device__ __forceinline__ uint64_t A_slice(const T A[TILE_M][TILE_K], int row, int i)
{
    return wgmma_descriptor(&A[row][i], 0, 8 * sizeof(A[0]), WGMMA_SWIZZLE_128B);
}

// [B_slice] Rows i to i + 15 of B's tile, all columns, MN-major. The leading offset leads to the next panel, the stride
// offset to the next 8 rows.
template <class T>
__device__ __forceinline__ uint64_t B_slice(const T B[][TILE_K][PANEL], int i)
{
    return wgmma_descriptor(B[0][i], sizeof(B[0]), 8 * sizeof(B[0][0]), WGMMA_SWIZZLE_128B);
}

// [multiply_tiles] The warpgroup issues all products of two tiles, as one group. Each is added to the sums of the one before it.
template <class T>
__device__ __forceinline__ void multiply_tiles(float sum[ROWS][COLS][4], const struct tiles<T> *smem)
{
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < TILE_K; i += WGMMA_K)
        for (int y = 0; y < ROWS; y++)
            wgmma_m64n192k16(sum[y], A_slice(smem->A, y * WGMMA_M, i), B_slice(smem->B, i), T());
    wgmma_commit_group();
}

// [store_sums] Lane l holds two neighbours in row l / 4 of each tile of 16 × 8, and two in row l / 4 + 8. Four lanes share a
// row: of four tiles, each of them gets the whole row of one.
template <class T>
__device__ __forceinline__ void store_sums(T *C, const float sum[ROWS][COLS][4], int row, int col, int m, int n,
                                           int C_pitch)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (int y = 0; y < ROWS; y++)
        for (int i = 0; i < 2; i++)
            for (int x = 0; x < COLS; x += 4) {
                uint32_t pairs[4];
                for (int tile = 0; tile < 4; tile++)
                    pairs[tile] = pack(sum[y][x + tile][2 * i], sum[y][x + tile][2 * i + 1], T());
                gather_row(pairs);
                store_row(C, pairs, row + y * WGMMA_M + warp * MMA_M + i * 8 + lane / 4, col + (x + lane % 4) * MMA_N,
                          m, n, C_pitch);
            }
}

// [kernel]
template <class T, int STAGES>
__global__ void __launch_bounds__(THREADS) matmul_ring(const __grid_constant__ CUtensorMap A_map,  // of A [m, k]
                                                       const __grid_constant__ CUtensorMap B_map,  // of B [k, n]
                                                       T *C,                                       // [m, n]
                                                       int m, int n, int k, int C_pitch)
{
    extern __shared__ __align__(1024) uint4 memory[];
    struct buffers<T, STAGES> *smem = (struct buffers<T, STAGES> *)memory;
    // [index] The first row and column of the block's tile of C. Blocks that run together share tiles of B, in L2.
    const int row = blockIdx.x * TILE_M, col = blockIdx.y * TILE_N;
    const bool issuer = threadIdx.x == 0;

    // [barriers]
    if (issuer) {
        for (int stage = 0; stage < STAGES; stage++) {
            mbarrier_init(&smem->full[stage], 1);
            mbarrier_init(&smem->empty[stage], WARPS);
        }
        fence_mbarrier_init();
    }
    __syncthreads();  // the barriers are made before any thread waits at them

    // [ahead] The first tiles of this block are on their way.
    if (issuer)
        for (int stage = 0; stage < STAGES && stage * TILE_K < k; stage++)
            load_tiles(&smem->tiles[stage], &smem->full[stage], &A_map, &B_map, row, col, stage * TILE_K);
    // [end ahead]

    float sum[ROWS][COLS][4] = {};
    int stage = 0, parity = 0;
    for (int i = 0; i < k; i += TILE_K) {
        // [multiply]
        mbarrier_wait_parity(&smem->full[stage], parity);  // this stage's tiles are there
        multiply_tiles(sum, &smem->tiles[stage]);
        wgmma_wait_group<0>(sum);
        // [release]
        if (threadIdx.x % 32 == 0)
            mbarrier_arrive(&smem->empty[stage]);  // this warp's products have read the tiles
        // [refill]
        if (issuer && i + STAGES * TILE_K < k) {
            mbarrier_wait_parity(&smem->empty[stage], parity);  // the products of all warps have read the tiles
            load_tiles(&smem->tiles[stage], &smem->full[stage], &A_map, &B_map, row, col, i + STAGES * TILE_K);
        }
        // [next]
        next_stage<STAGES>(&stage, &parity);
    }
    // [store]
    __syncwarp();  // the issuer's warp is together again: all its lanes exchange sums
    store_sums(C, sum, row, col, m, n, C_pitch);
}

// [launch] Bytes of shared memory of a block.
template <int STAGES> constexpr int BYTES = sizeof(struct buffers<half, STAGES>);

template <class T, int STAGES>
static int start(const struct matmul_args *args, cudaStream_t stream)
{
    const auto kernel = matmul_ring<T, STAGES>;
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES<STAGES>);
    if (status != cudaSuccess)
        return status;
    const CUtensorMap *maps = (const CUtensorMap *)args->prepared;
    const dim3 blocks(ceil_div(args->m, TILE_M), ceil_div(args->n, TILE_N));
    kernel<<<blocks, THREADS, BYTES<STAGES>, stream>>>(maps[0], maps[1], (T *)args->C, args->m, args->n, args->k,
                                                       args->C_pitch);
    return cudaGetLastError();
}

template <class T>
static int launch_of(const struct matmul_args *args, cudaStream_t stream)
{
    switch (args->variant) {
    case 0: return start<T, 1>(args, stream);
    case 1: return start<T, 5>(args, stream);
    default: return start<T, 2>(args, stream);
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
    const int status = tensor_map_2d(&maps[0], args->dtype, args->A, args->m, args->k, args->A_pitch, TILE_M, TILE_K,
                                     CU_TENSOR_MAP_SWIZZLE_128B);
    if (status != cudaSuccess)
        return status;
    return tensor_map_2d(&maps[1], args->dtype, args->B, args->k, args->n, args->B_pitch, TILE_K, PANEL,
                         CU_TENSOR_MAP_SWIZZLE_128B);
}

// [main]
static const struct variant variants[] = {
    {"one_stage", "the barriers of a ring that has but one stage: no copy runs ahead", BYTES<1>},
    {"five_stages", "copies run four pairs of tiles ahead, and shared memory holds one block on each SM", BYTES<5>},
    {"two_stages", "copies run one pair of tiles ahead, and shared memory holds two blocks on each SM", BYTES<2>},
    {},
};

int main(int argc, char **argv)
{
    const struct matmul_step step = {
        .name = "39_matmul_ring",
        .dtypes = {FP16, BF16},
        .arch = "90a",
        .row_bytes = 16,
        .variants = variants,
        .prepare = prepare,
        .launch = launch,
    };
    return matmul_main(argc, argv, &step);
}
