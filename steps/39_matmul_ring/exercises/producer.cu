// The sum of many tiles, element by element: one thread of a warp of its own copies them to a ring, and four warps add them up.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o producer steps/39_matmul_ring/exercises/producer.cu common/*.c

#include "exit.h"
#include "program.h"
#include "ptx/bulk.h"
#include "ptx/mbarrier.h"
#include "random.h"

#include <stdio.h>
#include <stdlib.h>

constexpr int WARPS = 4, CONSUMERS = 32 * WARPS;  // the threads that add; a fifth warp copies
constexpr int THREADS = CONSUMERS + 32;
constexpr int TILE = CONSUMERS;  // vectors of 16 bytes, one for each of the threads that add
constexpr int ELEMENTS = TILE * 4;
constexpr int STAGES = 3;
constexpr int MOST = 4096;  // tiles

// [kernel]
__global__ void add_tiles(const float4 *X,  // [tiles, TILE]
                          float4 *sums,     // [TILE]
                          int tiles)
{
    __shared__ alignas(16) float4 smem[STAGES][TILE];
    __shared__ uint64_t full[STAGES];   // a phase is over when all bytes of a tile are there
    __shared__ uint64_t empty[STAGES];  // a phase is over when one thread of each warp that adds has arrived
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; stage++) {
            mbarrier_init(&full[stage], 1);
            mbarrier_init(&empty[stage], WARPS);
        }
        fence_mbarrier_init();
    }
    __syncthreads();  // the barriers are made before any thread waits at them

    float4 sum = make_float4(0, 0, 0, 0);
    int stage = 0, parity = 0;
    for (int tile = 0; tile < tiles; tile++) {
        if (threadIdx.x == CONSUMERS) {
            // [produce]
            mbarrier_wait_parity(&empty[stage], 1 - parity);
            mbarrier_arrive_expect_tx(&full[stage], sizeof smem[stage]);
            bulk_load(smem[stage], &X[(size_t)tile * TILE], sizeof smem[stage], &full[stage]);
            // [end produce]
        }
        if (threadIdx.x < CONSUMERS) {
            // [consume]
            mbarrier_wait_parity(&full[stage], parity);
            const float4 x = smem[stage][threadIdx.x];
            __syncwarp();
            if (threadIdx.x % 32 == 0)
                mbarrier_arrive(&empty[stage]);
            // [end consume]
            sum = make_float4(sum.x + x.x, sum.y + x.y, sum.z + x.z, sum.w + x.w);
        }
        stage = stage + 1 < STAGES ? stage + 1 : 0;
        if (stage == 0)
            parity = 1 - parity;
    }
    if (threadIdx.x < CONSUMERS)
        sums[threadIdx.x] = sum;
}

// [main]
static float element(uint64_t seed, int tile, int i)
{
    return (float)(random_bits(seed, 0, (uint64_t)tile * ELEMENTS + i) % 1000);
}

static int check(uint64_t seed, const float *sums, int tiles)
{
    for (int i = 0; i < ELEMENTS; i++) {
        float wanted = 0;
        for (int tile = 0; tile < tiles; tile++)
            wanted += element(seed, tile, i);
        if (sums[i] != wanted) {
            printf("WRONG: sum %d is %g, should be %g\n", i, sums[i], wanted);
            return EXIT_WRONG;
        }
    }
    printf("right: %d sums of %d elements are exact\n", ELEMENTS, tiles);
    return EXIT_RIGHT;
}

int main(int argc, char **argv)
{
    struct number numbers[] = {{"tiles", "tiles of X", 11, 1, MOST}, {}};
    const struct program program = program_begin(argc, argv, "The sum of many tiles, checked element by element.",
                                                 numbers);
    const int tiles = numbers[0].value;

    const size_t tile_bytes = ELEMENTS * sizeof(float), bytes = tiles * tile_bytes;
    float *host = (float *)malloc(bytes), host_sums[ELEMENTS];
    for (int tile = 0; tile < tiles; tile++)
        for (int i = 0; i < ELEMENTS; i++)
            host[tile * ELEMENTS + i] = element(program.seed, tile, i);
    float4 *X, *sums;
    CUDA(cudaMalloc(&X, bytes));
    CUDA(cudaMalloc(&sums, tile_bytes));
    CUDA(cudaMemcpy(X, host, bytes, cudaMemcpyHostToDevice));
    CUDA(cudaMemset(sums, 0xff, tile_bytes));  // what is never stored stays a NaN

    add_tiles<<<1, THREADS>>>(X, sums, tiles);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(host_sums, sums, tile_bytes, cudaMemcpyDeviceToHost));
    CUDA(cudaFree(X));
    CUDA(cudaFree(sums));

    program_output(&program, host_sums, tile_bytes);
    const int status = check(program.seed, host_sums, tiles);
    free(host);
    return program_end(&program, status);
}
