// z = a x + b for an array of numbers, by a grid of four blocks, however long the array is.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o few_blocks steps/00_first_kernel/exercises/few_blocks.cu common/*.c

#include "exit.h"
#include "program.h"
#include "random.h"

#include <stdio.h>
#include <stdlib.h>

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
    // [elements]
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += BLOCKS * THREADS)
        z[i] = a * x[i] + b;
    // [end elements]
}

// [main]
// Whole numbers, so that nothing is rounded.
static float number(uint64_t seed, int i) { return (float)(random_bits(seed, 0, i) % 100000); }

static int check(uint64_t seed, const float *z, int n)
{
    for (int i = 0; i < n; i++) {
        const float wanted = A * number(seed, i) + B;
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
    struct number numbers[] = {{"n", "elements", 5003, 1, MOST}, {}};
    const struct program program = program_begin(argc, argv, "z = a x + b, checked element by element.", numbers);
    const int n = numbers[0].value;

    const size_t bytes = n * sizeof(float);
    float *host = (float *)malloc(bytes), *x, *z;
    for (int i = 0; i < n; i++)
        host[i] = number(program.seed, i);
    CUDA(cudaMalloc(&x, bytes));
    CUDA(cudaMalloc(&z, bytes));
    CUDA(cudaMemcpy(x, host, bytes, cudaMemcpyHostToDevice));
    CUDA(cudaMemset(z, 0xff, bytes));  // what is never stored stays a NaN

    axpb<<<BLOCKS, THREADS>>>(A, x, B, z, n);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());

    CUDA(cudaMemcpy(host, z, bytes, cudaMemcpyDeviceToHost));
    CUDA(cudaFree(x));
    CUDA(cudaFree(z));
    program_output(&program, host, bytes);
    const int status = check(program.seed, host, n);
    free(host);
    return program_end(&program, status);
}
