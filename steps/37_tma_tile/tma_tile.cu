// Y = a X, where one thread of a block moves whole boxes of a matrix to shared memory and back, by tensor maps.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o tma_tile steps/37_tma_tile/tma_tile.cu common/*.c
//   ./learn run 37

#include "scale.h"

#include "exit.h"
#include "layout.h"
#include "ptx/bulk.h"
#include "ptx/mbarrier.h"
#include "ptx/tensor.h"
#include "tensor_map.h"

constexpr int THREADS = 256;
constexpr int VECTOR = 4;      // elements in 16 bytes, which stay together in every swizzle
constexpr int ROWS = 128;      // of a box
constexpr int STAGES = 4;      // tiles of X
constexpr int OUT_STAGES = 2;  // one is read by the engine while the other is written
constexpr int BLOCKS = 1;      // on one SM

// [buffers] Boxes of so many columns. What is swizzled begins at a multiple of 1,024 bytes, so that the pattern begins with a box.
template <int COLS>
struct buffers {
    alignas(1024) float4 X[STAGES][ROWS * COLS / VECTOR];
    alignas(1024) float4 Y[OUT_STAGES][ROWS * COLS / VECTOR];
    uint64_t full[STAGES];  // barriers: a phase is over when all bytes of a tile of X are there
};

// [load_tile] One thread: the barrier expects the box's bytes, those outside of the matrix too, and the engine begins to move them.
template <int COLS>
__device__ void load_tile(float4 *smem, const CUtensorMap *X_map, size_t tile, int tiles_in_row, uint64_t *full)
{
    mbarrier_arrive_expect_tx(full, ROWS * COLS * sizeof(float));
    tensor_load_2d(smem, X_map, tile / tiles_in_row * ROWS, tile % tiles_in_row * COLS, full);
}

// [kernel]
template <int COLS>
__global__ void __launch_bounds__(THREADS) tma_tile(const __grid_constant__ CUtensorMap X_map,  // of X [rows, cols]
                                                    const __grid_constant__ CUtensorMap Y_map,  // of Y [rows, cols]
                                                    size_t tiles, int tiles_in_row, float a)
{
    extern __shared__ __align__(1024) float4 memory[];
    struct buffers<COLS> *smem = (struct buffers<COLS> *)memory;
    const bool issuer = threadIdx.x == 0;

    // [barriers] One arrival ends a phase, the issuer's, together with the bytes that it expects.
    if (issuer) {
        prefetch_tensormap(&X_map);
        prefetch_tensormap(&Y_map);
        for (int stage = 0; stage < STAGES; stage++)
            mbarrier_init(&smem->full[stage], 1);
        fence_mbarrier_init();
    }
    __syncthreads();  // the barriers are made before any thread waits at them

    // [ahead] The first tiles of this block are on their way.
    if (issuer)
        for (int stage = 0; stage < STAGES && blockIdx.x + (size_t)stage * gridDim.x < tiles; stage++)
            load_tile<COLS>(smem->X[stage], &X_map, blockIdx.x + (size_t)stage * gridDim.x, tiles_in_row,
                            &smem->full[stage]);

    int stage = 0, parity = 0, out = 0;
    for (size_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        // [wait]
        mbarrier_wait_parity(&smem->full[stage], parity);  // the tile of X is there
        // [scale] Y is swizzled as X is: what lies at a place of the one belongs to the same place of the other.
        for (int i = threadIdx.x; i < ROWS * COLS / VECTOR; i += THREADS) {
            const float4 x = smem->X[stage][i];
            smem->Y[out][i] = make_float4(a * x.x, a * x.y, a * x.z, a * x.w);
        }

        // [hand_over] The other tile of Y was stored in the last pass, and is written in the next.
        fence_proxy_async_shared();  // the engine may read what this thread has written
        if (issuer)
            bulk_wait_group_read<0>();  // the engine has read the other tile of Y
        __syncthreads();                // every thread has read this tile of X and written this one of Y

        // [issue] The tile of Y leaves, and the next tile of X takes the place of the one that was read.
        if (issuer) {
            tensor_store_2d(&Y_map, tile / tiles_in_row * ROWS, tile % tiles_in_row * COLS, smem->Y[out]);
            bulk_commit_group();
            const size_t next = tile + (size_t)STAGES * gridDim.x;
            if (next < tiles)
                load_tile<COLS>(smem->X[stage], &X_map, next, tiles_in_row, &smem->full[stage]);
        }
        // [advance]
        out = (out + 1) % OUT_STAGES;
        stage = (stage + 1) % STAGES;
        if (stage == 0)
            parity ^= 1;  // each barrier is in its next phase
    }
    // [finish]
    if (issuer)
        bulk_wait_group_read<0>();  // shared memory is this block's until the engine has read it
}

// [modes] A row of a box is as wide as the swizzle's span; where nothing is swizzled, as wide as the widest.
enum { UNSWIZZLED, SWIZZLE_32, SWIZZLE_64, SWIZZLE_128 };
static const CUtensorMapSwizzle swizzle_of[] = {CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_32B,
                                                CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_SWIZZLE_128B};
static const int cols_of[] = {32, 8, 16, 32};

// [prepare] The maps are made once, before the launches.
int prepare(const struct scale_args *args)
{
    if (!scale_is_aligned(args, FP32, 16))
        return cudaErrorInvalidValue;
    CUtensorMap *maps = (CUtensorMap *)args->prepared;
    const int status = tensor_map_2d(&maps[0], FP32, args->X, args->rows, args->cols, args->X_pitch, ROWS,
                                     cols_of[args->variant], swizzle_of[args->variant]);
    if (status != cudaSuccess)
        return status;
    return tensor_map_2d(&maps[1], FP32, args->Y, args->rows, args->cols, args->Y_pitch, ROWS, cols_of[args->variant],
                         swizzle_of[args->variant]);
}

// [launch] One block on each SM, or fewer where there are fewer tiles.
template <int COLS>
static int start(const struct scale_args *args, cudaStream_t stream)
{
    const auto kernel = tma_tile<COLS>;
    constexpr int BYTES = sizeof(struct buffers<COLS>);
    const CUtensorMap *maps = (const CUtensorMap *)args->prepared;
    const int tiles_in_row = ceil_div(args->cols, COLS);
    const size_t tiles = (size_t)ceil_div(args->rows, ROWS) * tiles_in_row;
    int device = 0, sms = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES);
    if (status != cudaSuccess)
        return status;
    const int blocks = (int)min((size_t)(BLOCKS * sms), tiles);
    kernel<<<blocks, THREADS, BYTES, stream>>>(maps[0], maps[1], tiles, tiles_in_row, args->a);
    return cudaGetLastError();
}

int launch(const struct scale_args *args, cudaStream_t stream)
{
    switch (args->variant) {
    case SWIZZLE_32: return start<8>(args, stream);
    case SWIZZLE_64: return start<16>(args, stream);
    default: return start<32>(args, stream);
    }
}

// [show] One thread loads a box, and copies it as it lies in shared memory.
__global__ void show(const __grid_constant__ CUtensorMap map, float *out, int count, int bytes)
{
    extern __shared__ __align__(1024) float4 memory[];
    __shared__ uint64_t full;
    const float *box = (const float *)memory;
    mbarrier_init(&full, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect_tx(&full, bytes);
    tensor_load_2d(memory, &map, 0, 0, &full);
    mbarrier_wait_parity(&full, 0);
    for (int i = 0; i < count; i++)
        out[i] = box[i];
}

// [layout] A matrix of a single box, whose elements are their own numbers, so that each says where it was before.
static float box_host[ROWS * 32];
static int box_cols;

static size_t offset(int row, int vector)
{
    int place = 0;
    while (place < ROWS * box_cols && box_host[place] != row * box_cols + vector * VECTOR)
        place++;
    return place * sizeof(float);
}

static void print_layout(int variant)
{
    box_cols = cols_of[variant];
    const int count = ROWS * box_cols;
    for (int i = 0; i < count; i++)
        box_host[i] = i;
    float *matrix, *out;
    CUtensorMap map;
    CUDA(cudaMalloc(&matrix, sizeof box_host));
    CUDA(cudaMalloc(&out, sizeof box_host));
    CUDA(cudaMemcpy(matrix, box_host, sizeof box_host, cudaMemcpyHostToDevice));
    CUDA((cudaError_t)tensor_map_2d(&map, FP32, matrix, ROWS, box_cols, box_cols, ROWS, box_cols, swizzle_of[variant]));
    show<<<1, 1, sizeof box_host>>>(map, out, count, count * sizeof(float));
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(box_host, out, count * sizeof(float), cudaMemcpyDeviceToHost));
    CUDA(cudaFree(matrix));
    CUDA(cudaFree(out));
    layout_print("a box", box_cols / VECTOR, offset);
}

// [main]
static const struct variant variants[] = {
    {"unswizzled", "rows of 128 bytes, one below the other", sizeof(struct buffers<32>)},
    {"swizzle_32", "rows of 32 bytes, whose two vectors change places", sizeof(struct buffers<8>)},
    {"swizzle_64", "rows of 64 bytes, whose four vectors change places", sizeof(struct buffers<16>)},
    {"swizzle_128", "rows of 128 bytes, whose eight vectors change places", sizeof(struct buffers<32>)},
    {},
};

int main(int argc, char **argv)
{
    const struct scale_step step = {
        .name = "37_tma_tile",
        .dtypes = {FP32},
        .arch = "90",
        .row_bytes = 16,
        .variants = variants,
        .prepare = prepare,
        .launch = launch,
        .print_layout = print_layout,
    };
    return scale_main(argc, argv, &step);
}
