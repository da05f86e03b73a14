// z = a x + b for a list of numbers, by a grid of four blocks, however long the list is.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o few_blocks steps/00_first_kernel/exercises/few_blocks.cu common/*.c

#include "exit.h"
#include "output.h"

#include <cuda_profiler_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

constexpr int BLOCKS = 4;     // of the grid
constexpr int THREADS = 256;  // of a block
constexpr int MOST = 1 << 22;
constexpr float A = 2, B = -3;

// [kernel]
__global__ void axpb(float a,
                     const float *x,  // [n]
                     float b,
                     float *z,  // [n]
                     int n)
{
    // exercise: begin elements
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += BLOCKS * THREADS)
        z[i] = a * x[i] + b;
    // exercise: end elements
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

// Element i of x is i, so that one in the wrong place shows, and nothing is rounded.
static int check(const float *z, int n)
{
    for (int i = 0; i < n; i++) {
        const float wanted = A * (float)i + B;
        if (z[i] != wanted) {
            printf("WRONG: element %d is %g, should be %g\n", i, z[i], wanted);
            return EXIT_WRONG;
        }
    }
    printf("right: each of the %d elements\n", n);
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
    float *host = (float *)malloc(bytes), *x, *z;
    for (int i = 0; i < n; i++)
        host[i] = (float)i;
    CUDA(cudaMalloc(&x, bytes));
    CUDA(cudaMalloc(&z, bytes));
    CUDA(cudaMemcpy(x, host, bytes, cudaMemcpyHostToDevice));
    CUDA(cudaMemset(z, 0xff, bytes));  // what is never stored stays a NaN

    if (profile)
        CUDA(cudaProfilerStart());
    axpb<<<BLOCKS, THREADS>>>(A, x, B, z, n);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
    if (profile)
        CUDA(cudaProfilerStop());

    CUDA(cudaMemcpy(host, z, bytes, cudaMemcpyDeviceToHost));
    CUDA(cudaFree(x));
    CUDA(cudaFree(z));
    output_exchange(host, bytes);  // so that ./learn grade can check it in another process
    const int status = check(host, n);
    free(host);
    return status;
}
