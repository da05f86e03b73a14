// A tile in shared memory, each word of which is read once, with as many bank conflicts as the command line says.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o wavefronts steps/machine/exercises/wavefronts.cu common/*.c

#include "exit.h"
#include "program.h"
#include "random.h"

#include <stdio.h>

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

    // [word]
    const int word = threadIdx.x * ways % WORDS + threadIdx.x * ways / WORDS;
    // [end word]
    out[threadIdx.x] = tile[word];
}

// [main]
// Word w of the tile holds w with some bits flipped: each must have been read once.
static int check(const int *out, int flipped)
{
    int times[WORDS] = {};
    for (int i = 0; i < WORDS; i++)
        if (out[i] >= 0 && out[i] < WORDS)
            times[out[i] ^ flipped]++;
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
    struct number numbers[] = {{"ways", "words of one bank that a warp reads: 1, 2, 4, 8, 16 or 32", 4, 1, MOST}, {}};
    const struct program program = program_begin(argc, argv, "A tile whose words are read once each.", numbers);
    const int ways = numbers[0].value, flipped = (int)(random_bits(program.seed, 0, 0) % WORDS);
    if (MOST % ways)
        stop(EXIT_USAGE, "--ways %d: 1, 2, 4, 8, 16 and 32 are accepted", ways);

    int host[WORDS], *in, *out;
    for (int i = 0; i < WORDS; i++)
        host[i] = i ^ flipped;
    CUDA(cudaMalloc(&in, sizeof host));
    CUDA(cudaMalloc(&out, sizeof host));
    CUDA(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
    CUDA(cudaMemset(out, 0xff, sizeof host));  // what is never stored is no word of the tile

    read<<<1, WORDS>>>(in, out, ways);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());

    CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    CUDA(cudaFree(in));
    CUDA(cudaFree(out));
    program_output(&program, host, sizeof host);
    return program_end(&program, check(host, flipped));
}
