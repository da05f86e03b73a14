// A tile in shared memory, each word of which is read once, with as many bank conflicts as the command line says.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o wavefronts steps/machine/exercises/wavefronts.cu common/*.c

#include "exit.h"
#include "output.h"

#include <cuda_profiler_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

constexpr int WORDS = 1024;  // of the tile, and threads of the block
constexpr int MOST = 32;     // words of one bank that a warp reads

// [kernel]
__global__ void read(const int *in,  // [WORDS]
                     int *out,       // [WORDS]
                     int ways)
{
    __shared__ int tile[WORDS];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();  // the tile is whole before any thread reads it

    // exercise: begin word
    const int word = threadIdx.x * ways % WORDS + threadIdx.x * ways / WORDS;
    // exercise: end word
    out[threadIdx.x] = tile[word];
}

// [main]
static int read_ways(const char *text)
{
    char *end = NULL;
    const long ways = text ? strtol(text, &end, 10) : 0;
    if (!text || *end || ways < 1 || ways > MOST || MOST % ways)
        stop(EXIT_USAGE, "--ways %s: not 1, 2, 4, 8, 16 or 32", text ? text : "");
    return (int)ways;
}

// Word w of the tile holds w: each must have been read once.
static int check(const int *out)
{
    int times[WORDS] = {};
    for (int i = 0; i < WORDS; i++)
        if (out[i] >= 0 && out[i] < WORDS)
            times[out[i]]++;
    for (int word = 0; word < WORDS; word++)
        if (times[word] != 1) {
            printf("WRONG: the reads of word %d are %d, should be 1\n", word, times[word]);
            return EXIT_WRONG;
        }
    printf("right: each of the %d words is read once\n", WORDS);
    return EXIT_RIGHT;
}

int main(int argc, char **argv)
{
    int ways = 4;
    bool profile = false;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--ways"))
            ways = read_ways(argv[++i]);
        else if (!strcmp(argv[i], "--profile"))
            profile = true;
        else
            stop(EXIT_USAGE, "'%s' is no option. There are --ways NUMBER and --profile", argv[i]);

    int host[WORDS], *in, *out;
    for (int i = 0; i < WORDS; i++)
        host[i] = i;
    CUDA(cudaMalloc(&in, sizeof host));
    CUDA(cudaMalloc(&out, sizeof host));
    CUDA(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
    CUDA(cudaMemset(out, 0xff, sizeof host));  // what is never stored is no word of the tile

    if (profile)
        CUDA(cudaProfilerStart());
    read<<<1, WORDS>>>(in, out, ways);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
    if (profile)
        CUDA(cudaProfilerStop());

    CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    CUDA(cudaFree(in));
    CUDA(cudaFree(out));
    output_exchange(host, sizeof host);  // so that ./learn grade can check it in another process
    return check(host);
}
