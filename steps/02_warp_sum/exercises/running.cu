// Running sums: each lane of a warp ends with the sum of its own number and of those of the lanes before it.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o running steps/02_warp_sum/exercises/running.cu common/*.c

#include "exit.h"
#include "output.h"
#include "step.h"

#include <cuda_profiler_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

constexpr int THREADS = 256;                // of a block
constexpr int WARP = 32;                    // threads
constexpr unsigned ALL_LANES = 0xffffffff;  // of a warp take part in a shuffle: a bit for each
constexpr int MOST = 1 << 22;

// [running]
__device__ float running_sum(float sum)
{
    const int lane = threadIdx.x % WARP;
    // exercise: begin running
    for (int offset = 1; offset < WARP; offset *= 2) {
        const float before = __shfl_up_sync(ALL_LANES, sum, offset);
        if (lane >= offset)
            sum += before;
    }
    // exercise: end running
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
static int read_size(const char *option, const char *text)
{
    char *end = NULL;
    const long size = text ? strtol(text, &end, 10) : 0;
    if (!text || *end || size < 1 || size > MOST)
        stop(EXIT_USAGE, "%s %s: not a whole number from 1 to %d", option, text ? text : "", MOST);
    return (int)size;
}

// Whole numbers without 0, so that no sum is rounded and each number that is left out shows.
static float number(int i) { return (float)(i % 7 < 3 ? i % 7 - 5 : i % 7 + 2); }

static int check(const float *sums, int n)
{
    float wanted = 0;
    for (int i = 0; i < n; i++) {
        wanted = i % WARP ? wanted + number(i) : number(i);
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
    int n = 5003;
    bool profile = false;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "-n"))
            n = read_size("-n", argv[++i]);
        else if (!strcmp(argv[i], "--profile"))
            profile = true;
        else
            stop(EXIT_USAGE, "'%s' is no option. There are -n ELEMENTS and --profile", argv[i]);

    const size_t bytes = n * sizeof(float);
    float *host = (float *)malloc(bytes), *x, *sums;
    for (int i = 0; i < n; i++)
        host[i] = number(i);
    CUDA(cudaMalloc(&x, bytes));
    CUDA(cudaMalloc(&sums, bytes));
    CUDA(cudaMemcpy(x, host, bytes, cudaMemcpyHostToDevice));
    CUDA(cudaMemset(sums, 0xff, bytes));  // what is never stored stays a NaN

    if (profile)
        CUDA(cudaProfilerStart());
    running_sums<<<ceil_div(n, THREADS), THREADS>>>(x, sums, n);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
    if (profile)
        CUDA(cudaProfilerStop());

    CUDA(cudaMemcpy(host, sums, bytes, cudaMemcpyDeviceToHost));
    CUDA(cudaFree(x));
    CUDA(cudaFree(sums));
    output_exchange(host, bytes);  // so that ./learn grade can check it in another process
    const int status = check(host, n);
    free(host);
    return status;
}
