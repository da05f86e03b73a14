// Layer normalisation of rows that stay in registers: each element is read once and written once, four at a time.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o layer_norm steps/10_softmax_held/exercises/layer_norm.cu common/*.c

#include "exit.h"
#include "program.h"
#include "random.h"
#include "step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

constexpr int WARP = 32;                     // threads of a warp
constexpr unsigned ALL_LANES = 0xffffffff;   // of a warp take part in a shuffle
constexpr int THREADS = 256;                 // of a block, which shares a row
constexpr int WARPS = THREADS / WARP;        // of a block
constexpr int VECTORS = 8;                   // of 4 columns, that a thread holds
constexpr int MOST = 4 * VECTORS * THREADS;  // columns that a block holds, and rows
constexpr float EPSILON = 1e-5f;             // added to the variance, so that a row of equal elements divides by no 0

// [sum] Of a block's threads: each warp sums its values, then every warp sums those. All threads get the result.
__device__ float sum(float value,
                     float *partial)  // [WARPS], shared
{
    for (int offset = WARP / 2; offset > 0; offset /= 2)
        value += __shfl_xor_sync(ALL_LANES, value, offset);
    if (threadIdx.x % WARP == 0)
        partial[threadIdx.x / WARP] = value;
    __syncthreads();  // the sums of all warps are there
    value = partial[threadIdx.x % WARPS];
    for (int offset = WARPS / 2; offset > 0; offset /= 2)
        value += __shfl_xor_sync(ALL_LANES, value, offset);
    __syncthreads();  // every warp has read them before the array is used again
    return value;
}

// [vector] Four neighbouring elements of a row: 16 bytes, one load or one store.
__device__ float sum_of(float4 x) { return (x.x + x.y) + (x.z + x.w); }

__device__ float4 square(float4 x) { return {x.x * x.x, x.y * x.y, x.z * x.z, x.w * x.w}; }

__device__ float4 subtract(float4 x, float y) { return {x.x - y, x.y - y, x.z - y, x.w - y}; }

__device__ float4 scale(float4 x, float factor) { return {x.x * factor, x.y * factor, x.z * factor, x.w * factor}; }

// [kernel] Each thread takes every THREADSth vector of the block's row.
__global__ void __launch_bounds__(THREADS) layer_norm(const float *X,  // [rows, cols]
                                                      float *Y,        // [rows, cols]
                                                      int cols)
{
    __shared__ float partial[WARPS];
    const int first = threadIdx.x, vectors = cols / 4;
    const float4 *x4 = (const float4 *)(X + (size_t)blockIdx.x * cols);  // [vectors]
    float4 *y4 = (float4 *)(Y + (size_t)blockIdx.x * cols);              // [vectors]

    // [body]
    float4 p[VECTORS];  // x, then x − mean
    float mine = 0;
    for (int i = 0; i < VECTORS; i++) {
        p[i] = first + i * THREADS < vectors ? x4[first + i * THREADS] : float4{0, 0, 0, 0};
        mine += sum_of(p[i]);
    }
    const float mean = sum(mine, partial) / cols;

    mine = 0;
    for (int i = 0; i < VECTORS; i++) {
        p[i] = subtract(p[i], mean);
        if (first + i * THREADS < vectors)
            mine += sum_of(square(p[i]));
    }
    const float factor = rsqrtf(sum(mine, partial) / cols + EPSILON);

    for (int i = 0; i < VECTORS; i++)
        if (first + i * THREADS < vectors)
            y4[first + i * THREADS] = scale(p[i], factor);
    // [end body]
}

// [check] Against two passes in double precision. The mean is a sum that a thread rounds once for each of its elements,
// and its error counts in units of the standard deviation.
static int check(const float *X,  // [rows, cols]
                 const float *Y,  // [rows, cols]
                 int rows, int cols)
{
    const double rounding = ldexp(1, -24) * (cols / THREADS + 16);
    double largest = 0;
    for (int row = 0; row < rows; row++) {
        const float *x = X + (size_t)row * cols, *y = Y + (size_t)row * cols;
        double total = 0, squares = 0;
        for (int col = 0; col < cols; col++)
            total += x[col];
        const double mean = total / cols;
        for (int col = 0; col < cols; col++)
            squares += (x[col] - mean) * (x[col] - mean);
        const double deviation = sqrt(squares / cols + EPSILON);
        for (int col = 0; col < cols; col++) {
            const double right = (x[col] - mean) / deviation, error = fabs(y[col] - right);
            if (!(error <= rounding * (1 + fabs(right)) * (1 + fabs(mean) / deviation))) {
                printf("WRONG: row %d, column %d is %.9g, should be %.9g\n", row, col, y[col], right);
                return EXIT_WRONG;
            }
            largest = fmax(largest, error);
        }
    }
    printf("right: the largest error is %.1e\n", largest);
    return EXIT_RIGHT;
}

// [main]
int main(int argc, char **argv)
{
    struct number numbers[] = {{"rows", "rows of X", 64, 1, MOST},
                               {"cols", "columns of X, a multiple of 4", 1024, 1, MOST},
                               {"mean", "of X's normal numbers, whose deviation is 1", 1, 0, 1000000},
                               {}};
    const struct program program = program_begin(
        argc, argv, "Each row of Y is that row of X with mean 0 and variance 1, checked against a reference.", numbers);
    const int rows = numbers[0].value, cols = numbers[1].value;
    if (cols % 4)
        stop(EXIT_USAGE, "--cols %d: a multiple of 4 is wanted", cols);
    const size_t bytes = sizeof(float) * rows * cols;
    float *X = (float *)malloc(bytes), *Y = (float *)malloc(bytes), *device_X, *device_Y;
    if (!X || !Y)
        stop(EXIT_USAGE, "the host has no memory for %d rows of %d columns", rows, cols);
    random_normal(X, (size_t)rows * cols, program.seed, 0, numbers[2].value, 1);

    CUDA(cudaMalloc((void **)&device_X, bytes));
    CUDA(cudaMalloc((void **)&device_Y, bytes));
    CUDA(cudaMemcpy(device_X, X, bytes, cudaMemcpyHostToDevice));
    CUDA(cudaMemset(device_Y, 0xff, bytes));  // what is not written stays NaN
    layer_norm<<<rows, THREADS>>>(device_X, device_Y, cols);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpy(Y, device_Y, bytes, cudaMemcpyDeviceToHost));

    program_output(&program, Y, bytes);
    const int status = check(X, Y, rows, cols);
    CUDA(cudaFree(device_X));
    CUDA(cudaFree(device_Y));
    free(X);
    free(Y);
    return program_end(&program, status);
}
