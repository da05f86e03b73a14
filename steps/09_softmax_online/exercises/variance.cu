// The variance of each row in one pass over it, by one block, whose threads merge counts, means and sums of squares.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o variance steps/09_softmax_online/exercises/variance.cu common/*.c

#include "exit.h"
#include "program.h"
#include "random.h"
#include "step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

constexpr int WARP = 32;                    // threads of a warp
constexpr unsigned ALL_LANES = 0xffffffff;  // of a warp take part in a shuffle
constexpr int THREADS = 256;                // of a block, which shares a row
constexpr int WARPS = THREADS / WARP;       // of a block
constexpr int MOST = 1 << 15;               // rows, and columns

// [part] What some of a row's elements come to: how many they are, their mean, and the sum of (x − mean)². Of no elements
// all three are 0.
struct part {
    float n, mean, squares;
};

// [merge] Two parts as one. Either or both may be of no elements.
__device__ part merge(part a, part b)
{
    // [merged]
    const float n = a.n + b.n, difference = b.mean - a.mean;
    if (n == 0)
        return a;
    return {n, a.mean + difference * (b.n / n), a.squares + b.squares + difference * difference * (a.n * b.n / n)};
    // [end merged]
}

// [merge_lanes] The parts of 2, 4, … 32 neighbouring lanes as one, which all of them get.
__device__ part merge_lanes(part mine, int lanes)
{
    for (int offset = lanes / 2; offset > 0; offset /= 2) {
        const part other = {__shfl_xor_sync(ALL_LANES, mine.n, offset), __shfl_xor_sync(ALL_LANES, mine.mean, offset),
                            __shfl_xor_sync(ALL_LANES, mine.squares, offset)};
        mine = merge(mine, other);
    }
    return mine;
}

// [merge_threads] The parts of a block's threads as one: each warp merges its parts, then every warp merges those.
__device__ part merge_threads(part mine,
                              part *partial)  // [WARPS], shared
{
    mine = merge_lanes(mine, WARP);
    if (threadIdx.x % WARP == 0)
        partial[threadIdx.x / WARP] = mine;
    __syncthreads();  // the parts of all warps are there
    mine = partial[threadIdx.x % WARPS];
    return merge_lanes(mine, WARPS);
}

// [kernel] Each thread takes every THREADSth column of the block's row.
__global__ void variance_of_rows(const float *X,   // [rows, cols]
                                 float *variance,  // [rows]
                                 int cols)
{
    __shared__ part partial[WARPS];
    const float *x = X + (size_t)blockIdx.x * cols;  // [cols]

    part mine = {0, 0, 0};
    for (int col = threadIdx.x; col < cols; col += THREADS)
        mine = merge(mine, {1, x[col], 0});
    const part all = merge_threads(mine, partial);
    if (threadIdx.x == 0)
        variance[blockIdx.x] = all.squares / all.n;
}

// [check] Against two passes in double precision. Each merge on a thread's way to the row's part may round the mean once,
// and that error counts once for each deviation.
static int check(const float *X,         // [rows, cols]
                 const float *variance,  // [rows]
                 int rows, int cols)
{
    const double rounding = ldexp(1, -24) * (cols / THREADS + 16);
    double largest = 0;
    for (int row = 0; row < rows; row++) {
        const float *x = X + (size_t)row * cols;
        double sum = 0, squares = 0;
        for (int col = 0; col < cols; col++)
            sum += x[col];
        const double mean = sum / cols;
        for (int col = 0; col < cols; col++)
            squares += (x[col] - mean) * (x[col] - mean);
        const double right = squares / cols, error = fabs(variance[row] - right);
        if (!(error <= rounding * (right + fabs(mean) * sqrt(right)))) {
            printf("WRONG: the variance of row %d is %.9g, should be %.9g\n", row, variance[row], right);
            return EXIT_WRONG;
        }
        largest = fmax(largest, right > 0 ? error / right : 0);
    }
    printf("right: the largest error is %.1e of a variance\n", largest);
    return EXIT_RIGHT;
}

// [main]
int main(int argc, char **argv)
{
    struct number numbers[] = {{"rows", "rows of X", 64, 1, MOST},
                               {"cols", "columns of X", 1024, 1, MOST},
                               {"mean", "of X's normal numbers, whose deviation is 1", 1, 0, 1000000},
                               {}};
    const struct program program = program_begin(
        argc, argv, "The variance of each row of X, checked against a reference.", numbers);
    const int rows = numbers[0].value, cols = numbers[1].value;
    const size_t X_bytes = sizeof(float) * rows * cols, variance_bytes = sizeof(float) * rows;
    float *X = (float *)malloc(X_bytes), *variance = (float *)malloc(variance_bytes), *device_X, *device_variance;
    if (!X || !variance)
        stop(EXIT_USAGE, "the host has no memory for %d rows of %d columns", rows, cols);
    random_normal(X, (size_t)rows * cols, program.seed, 0, numbers[2].value, 1);

    CUDA(cudaMalloc((void **)&device_X, X_bytes));
    CUDA(cudaMalloc((void **)&device_variance, variance_bytes));
    CUDA(cudaMemcpy(device_X, X, X_bytes, cudaMemcpyHostToDevice));
    CUDA(cudaMemset(device_variance, 0xff, variance_bytes));  // what is not written stays NaN
    variance_of_rows<<<rows, THREADS>>>(device_X, device_variance, cols);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpy(variance, device_variance, variance_bytes, cudaMemcpyDeviceToHost));

    program_output(&program, variance, variance_bytes);
    const int status = check(X, variance, rows, cols);
    CUDA(cudaFree(device_X));
    CUDA(cudaFree(device_variance));
    free(X);
    free(variance);
    return program_end(&program, status);
}
