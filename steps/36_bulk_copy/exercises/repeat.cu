// Y is one tile again and again: it is written to shared memory once, and one thread of each block stores it to many places.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o repeat steps/36_bulk_copy/exercises/repeat.cu common/*.c

#include "exit.h"
#include "program.h"
#include "ptx/bulk.h"
#include "random.h"

#include <stdio.h>
#include <stdlib.h>

constexpr int THREADS = 128;
constexpr int BLOCKS = 4;
constexpr int TILE = 256;  // vectors of 16 bytes
constexpr int ELEMENTS = TILE * 4;
constexpr int MOST = 4096;  // tiles

// [kernel]
__global__ void repeat(const float4 *pattern,  // [TILE]
                       float4 *Y,              // [tiles, TILE]
                       int tiles)
{
    __shared__ alignas(16) float4 smem[TILE];
    // [store]
    for (int i = threadIdx.x; i < TILE; i += THREADS)
        smem[i] = pattern[i];
    fence_proxy_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x)
            bulk_store(&Y[(size_t)tile * TILE], smem, sizeof smem);
        bulk_commit_group();
        bulk_wait_group_read<0>();
    }
    // [end store]
}

// [main]
static float element(uint64_t seed, int i) { return (float)(random_bits(seed, 0, (uint64_t)i) % 1000); }

static int check(uint64_t seed, const float *Y, int tiles)
{
    for (int i = 0; i < tiles * ELEMENTS; i++)
        if (Y[i] != element(seed, i % ELEMENTS)) {
            printf("WRONG: element %d of tile %d is %g, should be %g\n", i % ELEMENTS, i / ELEMENTS, Y[i],
                   element(seed, i % ELEMENTS));
            return EXIT_WRONG;
        }
    printf("right: %d tiles are the pattern\n", tiles);
    return EXIT_RIGHT;
}

int main(int argc, char **argv)
{
    struct number numbers[] = {{"tiles", "tiles of Y", 11, 1, MOST}, {}};
    const struct program program = program_begin(argc, argv, "One tile many times, checked element by element.",
                                                 numbers);
    const int tiles = numbers[0].value;

    float host_pattern[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++)
        host_pattern[i] = element(program.seed, i);
    const size_t bytes = (size_t)tiles * sizeof host_pattern;
    float *host = (float *)malloc(bytes);
    float4 *pattern, *Y;
    CUDA(cudaMalloc(&pattern, sizeof host_pattern));
    CUDA(cudaMalloc(&Y, bytes));
    CUDA(cudaMemcpy(pattern, host_pattern, sizeof host_pattern, cudaMemcpyHostToDevice));
    CUDA(cudaMemset(Y, 0xff, bytes));  // what is never stored stays a NaN

    repeat<<<BLOCKS, THREADS>>>(pattern, Y, tiles);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(host, Y, bytes, cudaMemcpyDeviceToHost));
    CUDA(cudaFree(pattern));
    CUDA(cudaFree(Y));

    program_output(&program, host, bytes);
    const int status = check(program.seed, host, tiles);
    free(host);
    return program_end(&program, status);
}
