// The log2-sum-exp2 of rows of scores, a tile at a time: the max of a row's tiles so far is trusted where it will do.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o trust steps/49_flash_capstone/exercises/trust.cu common/*.c

#include "exit.h"
#include "program.h"
#include "random.h"
#include "step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

constexpr int WARP = 32;                    // threads of a warp
constexpr unsigned ALL_LANES = 0xffffffff;  // of a warp take part in a shuffle or a vote
constexpr int SCORES = 4;                   // of a tile, that a lane holds
constexpr int TILE = SCORES * WARP;         // scores of a tile
constexpr int MOST_ROWS = 4096, MOST_COLS = 1 << 20;
constexpr float MOST = 2048;  // that a lane's sum of a tile may be, where the weight of the max is 1

// [largest] The largest score of a tile, in all lanes: five shuffles.
__device__ float largest_of(const float s[SCORES])
{
    float largest = fmaxf(fmaxf(s[0], s[1]), fmaxf(s[2], s[3]));
    for (int offset = WARP / 2; offset > 0; offset /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(ALL_LANES, largest, offset));
    return largest;
}

// [weights] The sum of a lane's weights of a tile: 2^(score − m).
__device__ float sum_of_weights(const float s[SCORES], float m)
{
    return (exp2f(s[0] - m) + exp2f(s[1] - m)) + (exp2f(s[2] - m) + exp2f(s[3] - m));
}

// [kernel] A warp has a row. Each lane adds up its own weights, and the warp adds these sums at the end.
__global__ void __launch_bounds__(WARP) log_sum(const float *X,  // [rows, cols]
                                                float *Y,        // [rows]
                                                int cols)
{
    const float4 *x4 = (const float4 *)(X + (size_t)blockIdx.x * cols);  // [cols / SCORES]
    float m = -INFINITY, l = 0;  // the max that weights refer to, the same in all lanes; a lane's sum of weights
    for (int tile = 0; tile < cols; tile += TILE) {
        const float4 x = x4[tile / SCORES + threadIdx.x];
        const float s[SCORES] = {x.x, x.y, x.z, x.w};
        // [trust]
        float sum = sum_of_weights(s, m);
        if (!__all_sync(ALL_LANES, sum <= MOST)) {
            const float m_new = fmaxf(m, largest_of(s));
            l *= exp2f(m - m_new);
            m = m_new;
            sum = sum_of_weights(s, m);
        }
        l += sum;
        // [end trust]
    }
    for (int offset = WARP / 2; offset > 0; offset /= 2)
        l += __shfl_xor_sync(ALL_LANES, l, offset);
    if (threadIdx.x == 0)
        Y[blockIdx.x] = m + log2f(l);
}

// [check] Against double precision. A lane rounds its sum once for each of its tiles, and each difference once.
static int check(const float *X,  // [rows, cols]
                 const float *Y,  // [rows]
                 int rows, int cols)
{
    double largest_error = 0;
    for (int row = 0; row < rows; row++) {
        const float *x = X + (size_t)row * cols;
        double largest = -INFINITY, sum = 0;
        for (int col = 0; col < cols; col++)
            largest = fmax(largest, x[col]);
        for (int col = 0; col < cols; col++)
            sum += exp2(x[col] - largest);
        const double right = largest + log2(sum), error = fabs(Y[row] - right);
        if (!(error <= ldexp(1, -24) * (1.5 * cols / TILE + 32 + 2 * fabs(right)))) {
            printf("WRONG: row %d is %.9g, should be %.9g\n", row, Y[row], right);
            return EXIT_WRONG;
        }
        largest_error = fmax(largest_error, error);
    }
    printf("right: the largest error is %.1e\n", largest_error);
    return EXIT_RIGHT;
}

// [main]
int main(int argc, char **argv)
{
    struct number numbers[] = {
        {"rows", "rows of X", 64, 1, MOST_ROWS},
        {"cols", "columns of X, a multiple of 128", 4096, 1, MOST_COLS},
        {"rise", "by how much the scores of a row's middle tile are larger than normal ones", 0, 0, 10000},
        {}};
    const struct program program = program_begin(
        argc, argv, "Y is log2 of the sum of 2^x for each row of X, checked against a reference.", numbers);
    const int rows = numbers[0].value, cols = numbers[1].value, rise = numbers[2].value;
    if (cols % TILE)
        stop(EXIT_USAGE, "--cols %d: a multiple of %d is wanted", cols, TILE);
    const size_t bytes = sizeof(float) * rows * cols;
    float *X = (float *)malloc(bytes), *Y = (float *)malloc(sizeof(float) * rows), *device_X, *device_Y;
    if (!X || !Y)
        stop(EXIT_USAGE, "the host has no memory for %d rows of %d columns", rows, cols);
    random_normal(X, (size_t)rows * cols, program.seed, 0, 0, 1);
    for (int row = 0; row < rows; row++)
        for (int col = 0; col < TILE; col++)
            X[(size_t)row * cols + cols / TILE / 2 * TILE + col] += rise;

    CUDA(cudaMalloc((void **)&device_X, bytes));
    CUDA(cudaMalloc((void **)&device_Y, sizeof(float) * rows));
    CUDA(cudaMemcpy(device_X, X, bytes, cudaMemcpyHostToDevice));
    CUDA(cudaMemset(device_Y, 0xff, sizeof(float) * rows));  // what is not written stays NaN
    log_sum<<<rows, WARP>>>(device_X, device_Y, cols);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpy(Y, device_Y, sizeof(float) * rows, cudaMemcpyDeviceToHost));

    program_output(&program, Y, sizeof(float) * rows);
    const int status = check(X, Y, rows, cols);
    CUDA(cudaFree(device_X));
    CUDA(cudaFree(device_Y));
    free(X);
    free(Y);
    return program_end(&program, status);
}
