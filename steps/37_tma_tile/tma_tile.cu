// Y = a X, where one thread of a block moves whole boxes of a matrix to shared memory and back, by tensor maps.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o tma_tile steps/37_tma_tile/tma_tile.cu common/*.c
//   ./learn run 37

#include "scale.h"

#include "exit.h"
#include "ptx/bulk.h"
#include "ptx/mbarrier.h"
#include "ptx/tensor.h"
#include "tensor_map.h"

constexpr int THREADS = 128;
constexpr int VECTOR = 4;  // elements in 16 bytes, which every swizzle keeps together
constexpr int ROWS = 32;   // of a box
constexpr int STAGES = 2;  // tiles of X that are on their way
constexpr int SHARE = 4;   // tiles that one block moves

// [buffers] Boxes with so many columns. The pattern of a swizzle begins anew at multiples of 1,024 bytes.
template <int COLS>
struct buffers {
    alignas(1024) float4 X[STAGES][ROWS * COLS / VECTOR];
    alignas(1024) float4 Y[2][ROWS * COLS / VECTOR];  // the engine reads one while the threads write the other
    uint64_t full[STAGES];  // barriers: a phase is over when all bytes of a tile of X are there
};

// [load_tile] One thread sets the barrier to expect the bytes of a box, and the engine begins to move them.
template <int COLS>
__device__ void load_tile(float4 *smem, const CUtensorMap *X_map, int tile, int tiles_in_row, uint64_t *full)
{
    // [load]
    mbarrier_arrive_expect_tx(full, ROWS * COLS * sizeof(float));  // also those that lie outside of X
    tensor_load_2d(smem, X_map, tile / tiles_in_row * ROWS, tile % tiles_in_row * COLS, full);
    // [end load]
}

// [kernel]
template <int COLS>
__global__ void __launch_bounds__(THREADS) tma_tile(const __grid_constant__ CUtensorMap X_map,  // of X [rows, cols]
                                                    const __grid_constant__ CUtensorMap Y_map,  // of Y [rows, cols]
                                                    int tiles, int tiles_in_row, float a)
{
    extern __shared__ __align__(1024) float4 memory[];
    struct buffers<COLS> *smem = (struct buffers<COLS> *)memory;
    const bool issuer = threadIdx.x == 0;

    // [barriers] A phase is over when the issuer has arrived and all bytes that it expects are there.
    if (issuer) {
        for (int stage = 0; stage < STAGES; stage++)
            mbarrier_init(&smem->full[stage], 1);
        fence_mbarrier_init();
    }
    __syncthreads();  // the barriers are made before any thread waits at them

    // [ahead] The first tiles of this block are on their way.
    const int first = blockIdx.x * SHARE, end = min(first + SHARE, tiles);
    if (issuer)
        for (int i = 0; i < STAGES && first + i < end; i++)
            load_tile<COLS>(smem->X[i], &X_map, first + i, tiles_in_row, &smem->full[i]);

    int stage = 0, parity = 0, out = 0;
    for (int tile = first; tile < end; tile++) {
        // [wait]
        mbarrier_wait_parity(&smem->full[stage], parity);  // the tile of X is there
        // [scale] Y is swizzled as X is: an element has the same place in both.
        for (int i = threadIdx.x; i < ROWS * COLS / VECTOR; i += THREADS) {
            const float4 x = smem->X[stage][i];
            smem->Y[out][i] = make_float4(a * x.x, a * x.y, a * x.z, a * x.w);
        }
        // [hand_over]
        fence_proxy_async_shared();  // the engine may read what this thread has written
        if (issuer)
            bulk_wait_group_read<0>();  // the engine has read the other tile of Y, which the next pass writes
        __syncthreads();                // every thread has read this tile of X and written this one of Y
        // [issue] The tile of Y leaves, and another one of X takes the place of the one that was read.
        if (issuer) {
            // [store]
            tensor_store_2d(&Y_map, tile / tiles_in_row * ROWS, tile % tiles_in_row * COLS, smem->Y[out]);
            bulk_commit_group();
            // [end store]
            // [next_box]
            if (tile + STAGES < end)
                load_tile<COLS>(smem->X[stage], &X_map, tile + STAGES, tiles_in_row, &smem->full[stage]);
            // [end next_box]
        }
        // [advance] After the last stage comes the first, whose barrier is in its next phase.
        out = 1 - out;
        // [next]
        stage = stage + 1 < STAGES ? stage + 1 : 0;
        if (stage == 0)
            parity = 1 - parity;
        // [end next]
    }
    // [finish]
    if (issuer)
        bulk_wait_group_read<0>();  // shared memory remains this block's until the engine has read it
}

// [rest] The columns behind a row's last whole vector: a tensor store writes 16 bytes at a time, and would write beyond the row.
__global__ void scale_rest(const float *X,  // [rows, cols]
                           float *Y,        // [rows, cols]
                           int rows, int cols, int X_pitch, int Y_pitch, float a)
{
    const int row = blockIdx.x * THREADS + threadIdx.x;
    for (int col = cols / VECTOR * VECTOR; row < rows && col < cols; col++)
        Y[(size_t)row * Y_pitch + col] = a * X[(size_t)row * X_pitch + col];
}

// [modes] Of each variant: the swizzle, and a box's columns, whose bytes it permits.
static const struct mode {
    CUtensorMapSwizzle swizzle;
    int cols;
    void (*kernel)(CUtensorMap, CUtensorMap, int, int, float);
    int shared_bytes;
} modes[] = {
    {CU_TENSOR_MAP_SWIZZLE_NONE, 32, tma_tile<32>, sizeof(struct buffers<32>)},
    {CU_TENSOR_MAP_SWIZZLE_32B, 8, tma_tile<8>, sizeof(struct buffers<8>)},
    {CU_TENSOR_MAP_SWIZZLE_64B, 16, tma_tile<16>, sizeof(struct buffers<16>)},
    {CU_TENSOR_MAP_SWIZZLE_128B, 32, tma_tile<32>, sizeof(struct buffers<32>)},
};

static const struct variant variants[] = {
    {"unswizzled", "rows of 128 bytes, as they are", sizeof(struct buffers<32>)},
    {"swizzle_32", "rows of 32 bytes, whose 2 vectors change places", sizeof(struct buffers<8>)},
    {"swizzle_64", "rows of 64 bytes, whose 4 vectors change places", sizeof(struct buffers<16>)},
    {"swizzle_128", "rows of 128 bytes, whose 8 vectors change places", sizeof(struct buffers<32>)},
    {},
};

// [prepare] The maps of X and Y, made once before any launch, are of their whole vectors.
int prepare(const struct scale_args *args)
{
    if (!scale_is_aligned(args, FP32, 16))
        return cudaErrorInvalidValue;
    const struct mode mode = modes[args->variant];
    const int cols = args->cols / VECTOR * VECTOR;
    CUtensorMap *maps = (CUtensorMap *)args->prepared;
    if (cols == 0)
        return cudaSuccess;
    const int status = tensor_map_2d(&maps[0], FP32, args->X, args->rows, cols, args->X_pitch, ROWS, mode.cols,
                                     mode.swizzle);
    if (status != cudaSuccess)
        return status;
    return tensor_map_2d(&maps[1], FP32, args->Y, args->rows, cols, args->Y_pitch, ROWS, mode.cols, mode.swizzle);
}

// [launch]
int launch(const struct scale_args *args, cudaStream_t stream)
{
    const struct mode mode = modes[args->variant];
    const CUtensorMap *maps = (const CUtensorMap *)args->prepared;
    const int tiles_in_row = (args->cols / VECTOR * VECTOR + mode.cols - 1) / mode.cols;
    const int tiles = ceil_div(args->rows, ROWS) * tiles_in_row;
    if (tiles > 0)
        mode.kernel<<<ceil_div(tiles, SHARE), THREADS, mode.shared_bytes, stream>>>(maps[0], maps[1], tiles,
                                                                                    tiles_in_row, args->a);
    if (args->cols % VECTOR > 0)
        scale_rest<<<ceil_div(args->rows, THREADS), THREADS, 0, stream>>>(
            (const float *)args->X, (float *)args->Y, args->rows, args->cols, args->X_pitch, args->Y_pitch, args->a);
    return cudaGetLastError();
}

// [show] For --layout: what is loaded swizzled and stored unswizzled is shared memory as it is.
static int show_box(int variant, const float *X, float *Y)
{
    const struct mode mode = modes[variant];
    CUtensorMap X_map, Y_map;
    CUDA((cudaError_t)tensor_map_2d(&X_map, FP32, X, ROWS, mode.cols, mode.cols, ROWS, mode.cols, mode.swizzle));
    CUDA((cudaError_t)tensor_map_2d(&Y_map, FP32, Y, ROWS, mode.cols, mode.cols, ROWS, mode.cols, modes[0].swizzle));
    mode.kernel<<<1, THREADS, mode.shared_bytes>>>(X_map, Y_map, 1, 1, 1);
    CUDA(cudaGetLastError());
    return mode.cols;
}

// [main]
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
        .show_box = show_box,
    };
    return scale_main(argc, argv, &step);
}
