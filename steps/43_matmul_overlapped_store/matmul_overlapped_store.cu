// C = A B by clusters that walk through tiles of C: each tile leaves through shared memory, while the next one is multiplied.
//
//   nvcc -O3 -std=c++20 -gencode=arch=compute_90a,code=sm_90a -Icommon -o matmul_overlapped_store steps/43_matmul_overlapped_store/matmul_overlapped_store.cu common/*.c
//   ./learn run 43

#include "matmul.h"

#include "ptx/bulk.h"
#include "ptx/cluster.h"
#include "ptx/mbarrier.h"
#include "ptx/pair.h"
#include "ptx/setmaxnreg.h"
#include "ptx/stmatrix.h"
#include "ptx/tensor.h"
#include "ptx/wgmma.h"
#include "tensor_map.h"

constexpr int WARPS = 4, WARPGROUP = 32 * WARPS;  // threads of a warpgroup
constexpr int CONSUMERS = 2, STAGES = 4;  // warpgroups that multiply, 64 rows of C each; pairs of tiles in the ring
constexpr int THREADS = (CONSUMERS + 1) * WARPGROUP;
constexpr int PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = 232;  // of each of their threads
constexpr int CLUSTER_M = 2;               // blocks of a cluster, one above the other: they need the same tiles of B
constexpr int GROUP = 8;                   // rows of clusters' tiles that are computed column by column
constexpr int TILE_M = 128, TILE_N = 256;  // rows and columns of C that one block computes
constexpr int TILE_K = 64;                 // columns of A, rows of B in the tiles that it does so from
constexpr int PANEL = 64;                  // columns of a panel of B's tile or of C, 128 bytes
constexpr int WGMMA_M = 64, WGMMA_K = 16;  // rows and columns of A in one wgmma
constexpr int MMA_M = 16, MMA_N = 8;       // rows and columns of C in a tile of a warp's sums
constexpr int COLS = TILE_N / MMA_N;
constexpr int OUT = 2;  // panels of C that a warp has on their way out: it writes one while the engine reads the other
constexpr int VECTOR = 8;  // elements in 16 bytes

// [tiles] A row of a panel is as wide as the swizzle, 128 bytes: A's tile is one panel, B's is four. The pattern of the swizzle
// begins anew at multiples of 1,024 bytes.
template <class T>
struct tiles {
    alignas(1024) T A[TILE_M][TILE_K];                 // [row][i]
    alignas(1024) T B[TILE_N / PANEL][TILE_K][PANEL];  // [panel][i][col]
};

// [out] What a warp has of C, 16 rows of it, leaves panel by panel.
template <class T>
struct out {
    alignas(1024) T C[OUT][MMA_M][PANEL];  // [panel][row][col]
};

// [ring] Two barriers for each stage. A phase of `full` is over when all bytes of the stage's tiles are there, a phase of
// `empty` when the products of all consumers' warps, of all blocks of the cluster, have read those at this place.
template <class T>
struct buffers {
    struct tiles<T> tiles[STAGES];
    struct out<T> out[CONSUMERS * WARPS];
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

// [load_tiles] One thread sets its block's barrier to expect the bytes of both tiles, and the engine begins to move this block's share: its
// tile of A for itself, and half of the tile of B for both blocks.
template <class T>
__device__ __forceinline__ void load_tiles(struct tiles<T> *smem, uint64_t *full, const CUtensorMap *A_map,
                                           const CUtensorMap *B_map, int row, int col, int i)
{
    mbarrier_arrive_expect_tx(full, sizeof(struct tiles<T>));  // of both tiles, also where they lie outside of A and B
    const int rank = cluster_rank(), all = (1 << CLUSTER_M) - 1;
    const int first_panel = rank * (TILE_N / PANEL / CLUSTER_M);
    tensor_load_2d(smem->A, A_map, row, i, full);
    for (int panel = first_panel; panel < first_panel + TILE_N / PANEL / CLUSTER_M; panel++)
        tensor_load_2d_multicast(smem->B[panel], B_map, i, col + panel * PANEL, full, all);
}

// [grid] The rows and columns of tiles of C that whole clusters compute, CLUSTER_M * TILE_M × TILE_N.
__host__ __device__ constexpr int tile_rows(int m) { return (m + CLUSTER_M * TILE_M - 1) / (CLUSTER_M * TILE_M); }
__host__ __device__ constexpr int tile_cols(int n) { return (n + TILE_N - 1) / TILE_N; }

// [place] The first row and column of what this block computes of its cluster's tile. Tiles are counted group by group: each has `group`
// rows of tiles, the last one what is left, and in it they are counted column by column.
__device__ __forceinline__ void place_of(int tile, int group, int m, int n, int *row, int *col)
{
    const int whole = group * tile_cols(n), first = tile / whole * group, rows = min(group, tile_rows(m) - first);
    *row = ((first + tile % whole % rows) * CLUSTER_M + cluster_rank()) * TILE_M;
    *col = tile % whole / rows * TILE_N;
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

// [stage_panel] A warp writes its 16 rows of a panel to shared memory, 16 columns at a time: matrices 0 and 1 of stmatrix are the
// upper and the lower 8 rows of the first 8 columns, 2 and 3 those of the others. Vectors of 16 bytes change places within a row,
// as the copy expects.
template <class T>
__device__ __forceinline__ void stage_panel(T smem[MMA_M][PANEL], const float sum[][4])
{
    const int lane = threadIdx.x % 32, row = lane % MMA_M, right = lane / MMA_M;
#pragma unroll
    for (int x = 0; x < PANEL / MMA_N; x += 2) {
        // [pairs]
        const uint32_t pairs[4] = {pack(sum[x][0], sum[x][1], T()), pack(sum[x][2], sum[x][3], T()),
                                   pack(sum[x + 1][0], sum[x + 1][1], T()), pack(sum[x + 1][2], sum[x + 1][3], T())};
        // [vector]
        stmatrix_x4(&smem[row][((x + right) ^ row % 8) * VECTOR], pairs);
    }
}

// [store_panel] Lane 0 lets the engine store the panel's whole vectors, as one group: it stores 16 bytes at a time, and would write beyond
// the end of a row. Of what is behind the last whole vector, each lane stores a row by itself.
template <class T>
__device__ __forceinline__ void store_panel(const CUtensorMap *C_map, T *C, const T smem[MMA_M][PANEL], int row,
                                            int col, int m, int n, int C_pitch)
{
    const int lane = threadIdx.x % 32, whole = n / VECTOR * VECTOR;
    // [engine]
    if (lane == 0 && col < whole)
        tensor_store_2d(C_map, row, col, smem);
    if (lane == 0)
        bulk_commit_group();
    // [rest]
    if (lane < MMA_M && row + lane < m && whole - col >= 0 && whole - col < PANEL)
        for (int i = whole; i < n; i++)
            C[(size_t)(row + lane) * C_pitch + i] = smem[lane][(i - col) ^ lane % 8 * VECTOR];
}

// [kernel]
template <class T>
__global__ void __cluster_dims__(CLUSTER_M, 1, 1) __launch_bounds__(THREADS, 1)
    matmul_overlapped_store(const __grid_constant__ CUtensorMap A_map,  // of A [m, k]
                            const __grid_constant__ CUtensorMap B_map,  // of B [k, n]
                            const __grid_constant__ CUtensorMap C_map,  // of C [m, n]
                            T *C,                                       // [m, n]
                            int m, int n, int k, int C_pitch,
                            int group,        // the rows of tiles in a group
                            bool overlapped)  // whether a tile's stores may go on under the next one's products
{
    extern __shared__ __align__(1024) uint4 memory[];
    struct buffers<T> *smem = (struct buffers<T> *)memory;
    const int warpgroup = threadIdx.x / WARPGROUP, lane = threadIdx.x % 32;

    // [barriers]
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; stage++) {
            // [counts]
            mbarrier_init(&smem->full[stage], 1);
            mbarrier_init(&smem->empty[stage], CLUSTER_M * CONSUMERS * WARPS);
            // [end counts]
        }
        fence_mbarrier_init();
    }
    // [begin]
    __syncwarp();  // the lanes of the first warp arrive together
    cluster_arrive_relaxed();
    cluster_wait();  // the barriers of all blocks are made before any thread waits or arrives at them, or a copy comes

    // [roles] All walk through the same tiles, and the ring goes on from one tile to the next.
    const int tiles = tile_rows(m) * tile_cols(n), clusters = gridDim.x / CLUSTER_M;
    int stage = 0, parity = 0, row, col;
    if (warpgroup == CONSUMERS) {
        // [give] The last warpgroup is the producer. Each of its threads keeps so many registers.
        setmaxnreg_dec<PRODUCER_REGISTERS>();
        // [produce] One thread of it copies all tiles, each as soon as its stage is empty.
        if (threadIdx.x == CONSUMERS * WARPGROUP) {
            for (int tile = blockIdx.x / CLUSTER_M; tile < tiles; tile += clusters) {
                place_of(tile, group, m, n, &row, &col);
                for (int i = 0; i < k; i += TILE_K) {
                    // The products of all blocks have read the tiles that were here before. There were none in the first round:
                    // it waits for the phase before a barrier's first, which counts as over.
                    mbarrier_wait_parity(&smem->empty[stage], 1 - parity);
                    load_tiles(&smem->tiles[stage], &smem->full[stage], &A_map, &B_map, row, col, i);
                    next_stage<STAGES>(&stage, &parity);
                }
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
        const int warp = threadIdx.x / 32;
        for (int tile = blockIdx.x / CLUSTER_M; tile < tiles; tile += clusters) {
            place_of(tile, group, m, n, &row, &col);
            // [multiply] Each of them multiplies 64 rows of A's tiles.
            float sum[COLS][4] = {};
            for (int i = 0; i < k; i += TILE_K) {
                // [consume]
                mbarrier_wait_parity(&smem->full[stage], parity);  // this stage's tiles are there
                multiply_tiles(sum, &smem->tiles[stage], warpgroup * WGMMA_M);
                wgmma_wait_group<0>(sum);
                if (lane < CLUSTER_M)  // this warp's products have read the tiles: a lane arrives for each block
                    mbarrier_arrive_cluster(map_to_rank(&smem->empty[stage], lane));
                next_stage<STAGES>(&stage, &parity);
            }
#pragma unroll
            for (int panel = 0; panel < TILE_N / PANEL; panel++) {
                // [panel] It leaves through the warp's two panels, which are used alternately.
                T(*out)[PANEL] = smem->out[warp].C[panel % OUT];
                // [stage]
                bulk_wait_group_read<OUT - 1>();
                __syncwarp();  // the engine has read the panel that was here before
                stage_panel(out, &sum[panel * PANEL / MMA_N]);
                fence_proxy_async_shared();
                __syncwarp();  // all lanes have written
                // [end stage]
                // [store]
                store_panel(&C_map, C, out, row + warp * MMA_M, col + panel * PANEL, m, n, C_pitch);
                if (!overlapped)
                    bulk_wait_group_read<0>();
            }
        }
        // [leave]
        bulk_wait_group_read<0>();  // the engine has read the last panels: the block may leave
    }
}

// [prepared] What is made once before any launch: the maps of A and B, and the number of clusters that the GPU runs at once.
struct prepared {
    CUtensorMap A_map, B_map, C_map;
    int clusters;
};

// [clusters] Asks how many clusters of the kernel the GPU runs at once.
template <class T>
static int count_clusters(int *clusters)
{
    const auto kernel = matmul_overlapped_store<T>;
    constexpr int bytes = sizeof(struct buffers<T>);
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (status != cudaSuccess)
        return status;
    cudaLaunchAttribute size = {.id = cudaLaunchAttributeClusterDimension, .val = {.clusterDim = {CLUSTER_M, 1, 1}}};
    const cudaLaunchConfig_t config = {CLUSTER_M, THREADS, bytes, nullptr, &size, 1};  // 1: of `size`
    return cudaOccupancyMaxActiveClusters(clusters, kernel, &config);
}

// [launch]
template <class T>
static int start(const struct matmul_args *args, cudaStream_t stream)
{
    const struct prepared *prepared = (const struct prepared *)args->prepared;
    const int clusters = min(prepared->clusters, tile_rows(args->m) * tile_cols(args->n));
    matmul_overlapped_store<T><<<clusters * CLUSTER_M, THREADS, sizeof(struct buffers<T>), stream>>>(
        prepared->A_map, prepared->B_map, prepared->C_map, (T *)args->C, args->m, args->n, args->k, args->C_pitch,
        min(GROUP, tile_rows(args->m)), args->variant != 0);
    return cudaGetLastError();
}

int launch(const struct matmul_args *args, cudaStream_t stream)
{
    return args->dtype == BF16 ? start<__nv_bfloat16>(args, stream) : start<half>(args, stream);
}

// [prepare]
int prepare(const struct matmul_args *args)
{
    if (!matmul_is_aligned(args, args->dtype, 16))
        return cudaErrorInvalidValue;
    struct prepared *prepared = (struct prepared *)args->prepared;
    int status = tensor_map_2d(&prepared->A_map, args->dtype, args->A, args->m, args->k, args->A_pitch, TILE_M, TILE_K,
                               CU_TENSOR_MAP_SWIZZLE_128B);
    if (status == cudaSuccess)
        status = tensor_map_2d(&prepared->B_map, args->dtype, args->B, args->k, args->n, args->B_pitch, TILE_K, PANEL,
                               CU_TENSOR_MAP_SWIZZLE_128B);
    if (status == cudaSuccess)
        status = tensor_map_2d(&prepared->C_map, args->dtype, args->C, args->m, max(VECTOR, args->n / VECTOR * VECTOR),
                               args->C_pitch, MMA_M, PANEL, CU_TENSOR_MAP_SWIZZLE_128B);
    if (status == cudaSuccess)
        status = args->dtype == BF16 ? count_clusters<__nv_bfloat16>(&prepared->clusters)
                                     : count_clusters<half>(&prepared->clusters);
    return status;
}

// [main]
static const struct variant variants[] = {
    {"waited", "a warp waits until the engine has read its rows of C", sizeof(struct buffers<half>)},
    {"overlapped", "the engine reads them while the warp computes its next tile", sizeof(struct buffers<half>)},
    {},
};

int main(int argc, char **argv)
{
    const struct matmul_step step = {
        .name = "43_matmul_overlapped_store",
        .dtypes = {FP16, BF16},
        .arch = "90a",
        .row_bytes = 16,
        .variants = variants,
        .prepare = prepare,
        .launch = launch,
    };
    return matmul_main(argc, argv, &step);
}
