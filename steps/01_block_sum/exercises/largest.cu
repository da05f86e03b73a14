// The largest of n numbers: each block reduces its share in shared memory, and a second launch reduces what the blocks found.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o largest steps/01_block_sum/exercises/largest.cu common/*.c

#include "exit.h"
#include "program.h"
#include "random.h"
#include "step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

constexpr int THREADS = 256;         // of a block
constexpr int SHARE = 16 * THREADS;  // elements that a block reduces
constexpr int MOST = 1 << 20;

// [kernel]
__global__ void largest(const float *x,  // [n]
                        float *out,      // [blocks]
                        int n)
{
    const int begin = blockIdx.x * SHARE;
    const int end = min(begin + SHARE, n);

    // [share]
    float most = -INFINITY;
    for (int i = begin + threadIdx.x; i < end; i += THREADS)
        most = fmaxf(most, x[i]);
    // [end share]

    __shared__ float partial[THREADS];
    partial[threadIdx.x] = most;
    __syncthreads();  // all are stored before any thread reads another's

    // [tree]
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            partial[threadIdx.x] = fmaxf(partial[threadIdx.x], partial[threadIdx.x + half]);
        __syncthreads();  // this round's numbers are stored before the next round reads them
    }
    // [end tree]

    if (threadIdx.x == 0)
        out[blockIdx.x] = partial[0];
}

// [main]
// What the device finds of the host's numbers.
static float find(const float *host, int n)
{
    const int blocks = ceil_div(n, SHARE);
    float *x, *of_blocks, *one, found;
    CUDA(cudaMalloc(&x, n * sizeof(float)));
    CUDA(cudaMalloc(&of_blocks, blocks * sizeof(float)));
    CUDA(cudaMalloc(&one, sizeof(float)));
    CUDA(cudaMemcpy(x, host, n * sizeof(float), cudaMemcpyHostToDevice));
    largest<<<blocks, THREADS>>>(x, of_blocks, n);
    CUDA(cudaGetLastError());
    largest<<<1, THREADS>>>(of_blocks, one, blocks);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(&found, one, sizeof found, cudaMemcpyDeviceToHost));
    CUDA(cudaFree(x));
    CUDA(cudaFree(of_blocks));
    CUDA(cudaFree(one));
    return found;
}

int main(int argc, char **argv)
{
    struct number numbers[] = {{"n", "elements", 5003, 1, MOST}, {}};
    const struct program program = program_begin(
        argc, argv, "The largest of n negative numbers, four times, at another place each time.", numbers);
    const int n = numbers[0].value;

    // All numbers are negative and none is whole, and the largest stands in one of four places.
    const float most = -1.5f - (float)(random_bits(program.seed, 0, 0) % 1000);
    const int places[] = {0, n / 3, n / 2, n - 1};
    float *host = (float *)malloc(n * sizeof(float));
    int status = EXIT_RIGHT;
    for (int place : places) {
        for (int i = 0; i < n; i++)
            host[i] = most - 1 - (float)(random_bits(program.seed, 1, i) % 1000);
        host[place] = most;
        float found = find(host, n);
        program_output(&program, &found, sizeof found);
        if (status == EXIT_RIGHT && found != most) {
            printf("WRONG: the largest of %d numbers, element %d, is %g, should be %g\n", n, place, found, most);
            status = EXIT_WRONG;
        }
    }
    free(host);
    if (status == EXIT_RIGHT)
        printf("right: the largest of %d numbers, in four places\n", n);
    return program_end(&program, status);
}
