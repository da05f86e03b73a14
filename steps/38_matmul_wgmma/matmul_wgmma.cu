// C = A B by wgmma: a warpgroup multiplies tiles where tensor copies have left them, in shared memory.
//
//   nvcc -O3 -std=c++20 -gencode=arch=compute_90a,code=sm_90a -Icommon -o matmul_wgmma steps/38_matmul_wgmma/matmul_wgmma.cu common/*.c
//   ./learn run 38

#include "matmul.h"

#include "ptx/mbarrier.h"
#include "ptx/pair.h"
#include "ptx/row.h"
#include "ptx/tensor.h"
#include "ptx/wgmma.h"
#include "tensor_map.h"

constexpr int THREADS = 128;               // a warpgroup
constexpr int TILE_M = 128, TILE_N = 192;  // rows and columns of C that one block computes
constexpr int TILE_K = 64;                 // columns of A, rows of B in the tiles that it does so from
constexpr int WGMMA_M = 64, WGMMA_K = 16;  // rows and columns of A in one wgmma
constexpr int MMA_M = 16, MMA_N = 8;       // rows and columns of C in a tile of a warp's sums
constexpr int ROWS = TILE_M / WGMMA_M, COLS = TILE_N / MMA_N;

// [tiles] Each tile is cut into panels, W elements wide, because a box of a swizzle has rows of no more bytes than the swizzle. The
// pattern of a swizzle begins anew at multiples of 1,024 bytes.
template <class T, int W>
struct tiles {
    alignas(1024) T A[TILE_K / W][TILE_M][W];  // [panel][row][i]
    alignas(1024) T B[TILE_N / W][TILE_K][W];  // [panel][i][col]
};

template <class T, int W>
struct buffers {
    struct tiles<T, W> tiles;
    uint64_t full;  // barrier: a phase is over when all bytes of both tiles are there
};

// [load_tiles] One thread sets the barrier to expect the bytes of the tiles, and the engine begins to move them, a panel at a time.
template <class T, int W>
__device__ __forceinline__ void load_tiles(struct tiles<T, W> *smem, uint64_t *full, const CUtensorMap *A_map,
                                           const CUtensorMap *B_map, int row, int col, int i)
{
    mbarrier_arrive_expect_tx(full, sizeof(struct tiles<T, W>));  // also those that lie outside of A and B
    for (int panel = 0; panel < TILE_K / W; panel++)
        tensor_load_2d(smem->A[panel], A_map, row, i + panel * W, full);
    for (int panel = 0; panel < TILE_N / W; panel++)
        tensor_load_2d(smem->B[panel], B_map, i, col + panel * W, full);
}

// [swizzle] Of panels W elements wide.
template <int W>
constexpr enum wgmma_swizzle SWIZZLE = W == 64   ? WGMMA_SWIZZLE_128B
                                       : W == 32 ? WGMMA_SWIZZLE_64B
                                       : W == 16 ? WGMMA_SWIZZLE_32B
                                                 : WGMMA_SWIZZLE_NONE;

// [A_slice] 64 rows from `row` on of columns i to i + 15 of A's tile, K-major. The stride offset leads to the next 8 rows. The
// leading offset leads to the next 8 columns where they are in another panel; with a swizzle they are in the same, and the field
// means nothing.
template <class T, int W>
__device__ __forceinline__ uint64_t A_slice(const T A[][TILE_M][W], int row, int i)
{
    // [describe_A]
    return wgmma_descriptor(&A[i / W][row][i % W], sizeof(A[0]), 8 * sizeof(A[0][0]), SWIZZLE<W>);
    // [end describe_A]
}

// [B_slice] Rows i to i + 15 of B's tile, all columns, MN-major. With a swizzle, the leading offset leads to the next panel and the
// stride offset to the next 8 rows; without one, it is the other way round.
template <class T, int W>
__device__ __forceinline__ uint64_t B_slice(const T B[][TILE_K][W], int i)
{
    // [describe_B]
    constexpr unsigned panel = sizeof(B[0]), rows = 8 * sizeof(B[0][0]);
    constexpr bool swizzled = SWIZZLE<W> != WGMMA_SWIZZLE_NONE;
    return wgmma_descriptor(B[0][i], swizzled ? panel : rows, swizzled ? rows : panel, SWIZZLE<W>);
    // [end describe_B]
}

// [multiply_tiles] The warpgroup issues all products of two tiles, as one group. Each is added to the sums of the one before it.
template <class T, int W>
__device__ __forceinline__ void multiply_tiles(float sum[ROWS][COLS][4], const struct tiles<T, W> *smem)
{
    // [products]
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < TILE_K; i += WGMMA_K)
        for (int y = 0; y < ROWS; y++)
            wgmma_m64n192k16(sum[y], A_slice<T, W>(smem->A, y * WGMMA_M, i), B_slice<T, W>(smem->B, i), T());
    wgmma_commit_group();
    // [end products]
}

// [store_sums] Lane l holds two neighbours in row l / 4 of each tile of 16 × 8, and two in row l / 4 + 8. Four lanes share a row: of four
// tiles, each of them gets the whole row of one.
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
template <class T, int W>
__global__ void __launch_bounds__(THREADS) matmul_wgmma(const __grid_constant__ CUtensorMap A_map,  // of A [m, k]
                                                        const __grid_constant__ CUtensorMap B_map,  // of B [k, n]
                                                        T *C,                                       // [m, n]
                                                        int m, int n, int k, int C_pitch)
{
    extern __shared__ __align__(1024) uint4 memory[];
    struct buffers<T, W> *smem = (struct buffers<T, W> *)memory;
    // [index] The first row and column of the block's tile of C. Blocks that run together share tiles of B, in L2.
    const int row = blockIdx.x * TILE_M, col = blockIdx.y * TILE_N;
    const bool issuer = threadIdx.x == 0;

    // [barrier] A phase is over when the issuer has arrived and all bytes that it expects are there.
    if (issuer) {
        mbarrier_init(&smem->full, 1);
        fence_mbarrier_init();
    }
    __syncthreads();  // the barrier is made before any thread waits at it

    float sum[ROWS][COLS][4] = {};
    int parity = 0;
    for (int i = 0; i < k; i += TILE_K) {
        // [load]
        if (issuer)
            load_tiles(&smem->tiles, &smem->full, &A_map, &B_map, row, col, i);
        mbarrier_wait_parity(&smem->full, parity);  // both tiles are there
        parity = 1 - parity;
        // [multiply]
        multiply_tiles(sum, &smem->tiles);
        // [wait]
        wgmma_wait_group<0>(sum);
        // [end wait]
        __syncthreads();  // the products of all warps have read the tiles before the next ones take their place
    }
    // [store]
    store_sums(C, sum, row, col, m, n, C_pitch);
}

// [launch]
template <class T, int W>
static int start(const struct matmul_args *args, cudaStream_t stream)
{
    const CUtensorMap *maps = (const CUtensorMap *)args->prepared;
    const dim3 blocks(ceil_div(args->m, TILE_M), ceil_div(args->n, TILE_N));
    matmul_wgmma<T, W><<<blocks, THREADS, sizeof(struct buffers<T, W>), stream>>>(
        maps[0], maps[1], (T *)args->C, args->m, args->n, args->k, args->C_pitch);
    return cudaGetLastError();
}

template <class T>
static int launch_of(const struct matmul_args *args, cudaStream_t stream)
{
    switch (args->variant) {
    case 0: return start<T, 8>(args, stream);
    case 1: return start<T, 16>(args, stream);
    case 2: return start<T, 32>(args, stream);
    default: return start<T, 64>(args, stream);
    }
}

int launch(const struct matmul_args *args, cudaStream_t stream)
{
    return args->dtype == BF16 ? launch_of<__nv_bfloat16>(args, stream) : launch_of<half>(args, stream);
}

// [prepare] The maps of A and B, made once before any launch. A box is a panel: its rows are as wide as the variant's swizzle.
int prepare(const struct matmul_args *args)
{
    if (!matmul_is_aligned(args, args->dtype, 16))
        return cudaErrorInvalidValue;
    static const CUtensorMapSwizzle swizzles[] = {CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_32B,
                                                  CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_SWIZZLE_128B};
    const CUtensorMapSwizzle swizzle = swizzles[args->variant];
    const int width = 8 << args->variant;
    CUtensorMap *maps = (CUtensorMap *)args->prepared;
    const int status = tensor_map_2d(&maps[0], args->dtype, args->A, args->m, args->k, args->A_pitch, TILE_M, width,
                                     swizzle);
    if (status != cudaSuccess)
        return status;
    return tensor_map_2d(&maps[1], args->dtype, args->B, args->k, args->n, args->B_pitch, TILE_K, width, swizzle);
}

// [main]
static const struct variant variants[] = {
    {"unswizzled", "panels 16 bytes wide: 8 × 8 elements, a core matrix, are 128 bytes in a row",
     sizeof(struct buffers<half, 8>)},
    {"swizzle_32", "panels 32 bytes wide, whose 2 vectors change places", sizeof(struct buffers<half, 16>)},
    {"swizzle_64", "panels 64 bytes wide, whose 4 vectors change places", sizeof(struct buffers<half, 32>)},
    {"swizzle_128", "panels 128 bytes wide, whose 8 vectors change places", sizeof(struct buffers<half, 64>)},
    {},
};

int main(int argc, char **argv)
{
    const struct matmul_step step = {
        .name = "38_matmul_wgmma",
        .dtypes = {FP16, BF16},
        .arch = "90a",
        .row_bytes = 16,
        .variants = variants,
        .prepare = prepare,
        .launch = launch,
    };
    return matmul_main(argc, argv, &step);
}
