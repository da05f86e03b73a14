// Running sums: each lane of a warp ends with the sum of its own number and of those of the lanes before it.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o running steps/02_warp_sum/exercises/running.cu common/*.c

#include "exit.h"
#include "program.h"
#include "random.h"
#include "step.h"

#include <stdio.h>
#include <stdlib.h>

constexpr int THREADS = 256;                // of a block
constexpr int WARP = 32;                    // threads
constexpr unsigned ALL_LANES = 0xffffffff;  // of a warp take part in a shuffle: a bit for each
constexpr int MOST = 1 << 22;

// [running_sum]
__device__ float running_sum(float sum)
{
    const int lane = threadIdx.x % WARP;
    // [running]
    for (int offset = 1; offset < WARP; offset *= 2) {
        const float before = __shfl_up_sync(ALL_LANES, sum, offset);
        if (lane >= offset)
            sum += before;
    }
    // [end running]
    return sum;
}

// [kernel] Every 32 elements of x are a warp's, and their running sums begin anew.
__global__ void running_sums(const float *x,  // [n]
                             float *sums,     // [n]
                             int n)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    const float sum = running_sum(i < n ? x[i] : 0);
    if (i < n)
        sums[i] = sum;
}

// [main]
// Multiples of 1 / parts without 0, so that no sum is rounded and each number that is left out shows.
static float number(uint64_t seed, int parts, int i)
{
    const uint64_t bits = random_bits(seed, 0, i);
    return (float)(1 + bits / 2 % 8) / parts * (bits % 2 ? 1 : -1);
}

static int check(uint64_t seed, int parts, const float *sums, int n)
{
    float wanted = 0;
    for (int i = 0; i < n; i++) {
        wanted = number(seed, parts, i) + (i % WARP ? wanted : 0);
        if (sums[i] != wanted) {
            printf("WRONG: element %d, of lane %d, is %g, should be %g\n", i, i % WARP, sums[i], wanted);
            return EXIT_WRONG;
        }
    }
    printf("right: each of the %d sums\n", n);
    return EXIT_RIGHT;
}

int main(int argc, char **argv)
{
    struct number numbers[] = {
        {"n", "elements", 5003, 1, MOST}, {"shift", "the numbers are multiples of 1 / 2^N", 2, 0, 8}, {}};
    const struct program program = program_begin(argc, argv,
                                                 "The running sums of each 32 elements, checked one by one.", numbers);
    const int n = numbers[0].value, parts = 1 << numbers[1].value;

    const size_t bytes = n * sizeof(float);
    float *host = (float *)malloc(bytes), *x, *sums;
    for (int i = 0; i < n; i++)
        host[i] = number(program.seed, parts, i);
    CUDA(cudaMalloc(&x, bytes));
    CUDA(cudaMalloc(&sums, bytes));
    CUDA(cudaMemcpy(x, host, bytes, cudaMemcpyHostToDevice));
    CUDA(cudaMemset(sums, 0xff, bytes));  // what is never stored stays a NaN

    running_sums<<<ceil_div(n, THREADS), THREADS>>>(x, sums, n);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());

    CUDA(cudaMemcpy(host, sums, bytes, cudaMemcpyDeviceToHost));
    CUDA(cudaFree(x));
    CUDA(cudaFree(sums));
    program_output(&program, host, bytes);
    const int status = check(program.seed, parts, host, n);
    free(host);
    return program_end(&program, status);
}
