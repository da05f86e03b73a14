// Softmax of each row in three passes over it: the maximum, the sum, the quotients. By one thread, or by one block.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o softmax_naive steps/08_softmax_naive/softmax_naive.cu common/*.c
//   ./learn run 08

#include "softmax.h"

constexpr int THREADS = 256;    // of a block that shares a row
constexpr int BLOCK_ROWS = 64;  // rows of a block whose threads have one each: small, so that all SMs have some

// [reduce] The largest value of a block's threads, or their sum, halving the number of values in each round.
template <bool largest>
__device__ float reduce(float value,
                        float *partial)  // [THREADS], shared
{
    partial[threadIdx.x] = value;
    __syncthreads();  // all values are there
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            const float other = partial[threadIdx.x + half];
            partial[threadIdx.x] = largest ? fmaxf(partial[threadIdx.x], other) : partial[threadIdx.x] + other;
        }
        __syncthreads();  // this round's results are there before the next round reads them
    }
    const float result = partial[0];
    __syncthreads();  // every thread has the result before the array is used again
    return result;
}

// [kernel]
template <bool block_per_row>
__global__ void softmax_naive(const float *X,  // [rows, cols]
                              float *Y,        // [rows, cols]
                              int rows, int cols)
{
    __shared__ float partial[block_per_row ? THREADS : 1];

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
