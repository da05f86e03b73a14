// Softmax of each row in three passes over it: the maximum, the sum, the quotients. By one thread, or by one block.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o softmax_naive steps/08_softmax_naive/softmax_naive.cu common/*.c
//   ./learn run 08

#include "softmax.h"

constexpr int WARP = 32;                    // threads of a warp
constexpr unsigned ALL_LANES = 0xffffffff;  // of a warp take part in a shuffle
constexpr int THREADS = 256;                // of a block that shares a row
constexpr int WARPS = THREADS / WARP;       // of such a block
constexpr int BLOCK_ROWS = 64;  // rows of a block whose threads have one each: small, so that all SMs have some

// [reduce_lanes] The largest value of 2, 4, … 32 neighbouring lanes, or their sum; all of them get the result.
template <bool largest>
__device__ float reduce_lanes(float value, int lanes)
{
    for (int offset = lanes / 2; offset > 0; offset /= 2) {
        const float other = __shfl_xor_sync(ALL_LANES, value, offset);
        value = largest ? fmaxf(value, other) : value + other;
    }
    return value;
}

// [reduce] The same of a block's threads: each warp reduces its values to one, then every warp reduces those.
template <bool largest>
__device__ float reduce(float value,
                        float *partial)  // [WARPS], shared
{
    value = reduce_lanes<largest>(value, WARP);
    if (threadIdx.x % WARP == 0)
        partial[threadIdx.x / WARP] = value;
    __syncthreads();  // the results of all warps are there
    const float result = reduce_lanes<largest>(partial[threadIdx.x % WARPS], WARPS);
    // [barrier]
    __syncthreads();  // every warp has read them before the array is used again
    // [end barrier]
    return result;
}

// [kernel]
template <bool block_per_row>
__global__ void softmax_naive(const float *X,  // [rows, cols]
                              float *Y,        // [rows, cols]
                              int rows, int cols)
{
    // [partial]
    __shared__ float partial[block_per_row ? WARPS : 1];
    // [end partial]

    // [index] Each thread takes all columns of its own row, or every THREADSth column of the block's.
    const int row = block_per_row ? blockIdx.x : blockIdx.x * BLOCK_ROWS + threadIdx.x;
    const int first = block_per_row ? threadIdx.x : 0, step = block_per_row ? THREADS : 1;
    const int end = row < rows ? cols : 0;
    const float *x = X + (size_t)row * cols;  // [cols]
    float *y = Y + (size_t)row * cols;        // [cols]

    // [max] First pass.
    float m = -INFINITY;
    for (int col = first; col < end; col += step)
        m = fmaxf(m, x[col]);
    if (block_per_row)
        m = reduce<true>(m, partial);

    // [sum] Second pass.
    float l = 0;
    for (int col = first; col < end; col += step)
        l += expf(x[col] - m);
    if (block_per_row)
        l = reduce<false>(l, partial);

    // [write] Third pass.
    for (int col = first; col < end; col += step)
        y[col] = expf(x[col] - m) / l;
}

// [launch]
enum { THREAD_PER_ROW, BLOCK_PER_ROW };

int launch(const struct softmax_args *args, cudaStream_t stream)
{
    if (!softmax_is_plain(args, FP32))
        return cudaErrorInvalidValue;
    const float *X = (const float *)args->X;
    float *Y = (float *)args->Y;
    const int rows = args->rows, cols = args->cols;
    if (args->variant == THREAD_PER_ROW)
        softmax_naive<false><<<ceil_div(rows, BLOCK_ROWS), BLOCK_ROWS, 0, stream>>>(X, Y, rows, cols);
    else
        softmax_naive<true><<<rows, THREADS, 0, stream>>>(X, Y, rows, cols);
    return cudaGetLastError();
}

// [main]
static const struct variant variants[] = {
    {"thread_per_row", "one thread for each row: the lanes of a warp are in 32 rows, far apart"},
    {"block_per_row", "256 threads share a row: the lanes of a warp are neighbours in it"},
    {},
};

int main(int argc, char **argv)
{
    const struct softmax_step step = {
        .name = "08_softmax_naive",
        .dtypes = {FP32},
        .arch = "75",
        .variants = variants,
        .launch = launch,
    };
    return softmax_main(argc, argv, &step);
}
