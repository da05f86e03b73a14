// How often a warp has to rescale: eight rows share a warp, tile after tile comes, and some row's max grows or none does.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o vote steps/31_flash_mma_warp_rows/exercises/vote.cu common/*.c

#include "exit.h"
#include "program.h"
#include "random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

constexpr int ROWS = 8;        // of a warp; four lanes share a row
constexpr int TILE = 64;       // keys
constexpr int MOST = 1 << 20;  // keys in all
constexpr double BOUND = 1e-4;

struct result {
    float sum[ROWS];  // of each row exp(score − the largest score of the row)
    int rescaled;     // how many tiles made the warp rescale
};

// [kernel]
__global__ void softmax_sums(const float *S,          // [warps, ROWS, keys]
                             struct result *results,  // [warps]
                             int keys)
{
    const int lane = threadIdx.x;
    const float *row = &S[((size_t)blockIdx.x * ROWS + lane / 4) * keys];
    float m = -INFINITY, sum = 0;  // the sum stands for O, of which a lane has D / 4 elements in each row
    int rescaled = 0;
    for (int tile = 0; tile < keys; tile += TILE) {
        float largest = -INFINITY;
        for (int key = lane % 4; key < TILE; key += 4)
            if (tile + key < keys)
                largest = fmaxf(largest, row[tile + key]);
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 1));
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 2));
        const float m_new = fmaxf(m, largest), factor = expf(m - m_new);
        m = m_new;
        // [vote]
        if (__any_sync(0xffffffff, factor != 1)) {
            sum *= factor;
            rescaled++;
        }
        // [end vote]
        for (int key = lane % 4; key < TILE; key += 4)
            if (tile + key < keys)
                sum += expf(row[tile + key] - m);
    }
    sum += __shfl_xor_sync(0xffffffff, sum, 1);
    sum += __shfl_xor_sync(0xffffffff, sum, 2);
    if (lane % 4 == 0)
        results[blockIdx.x].sum[lane / 4] = sum;
    if (lane == 0)
        results[blockIdx.x].rescaled = rescaled;
}

// [main]
// Of a warp, by definition: in how many tiles the largest score so far of one of its rows grows.
static int tiles_that_grow(const float *S, int keys)
{
    float m[ROWS];
    for (int row = 0; row < ROWS; row++)
        m[row] = -INFINITY;
    int grown = 0;
    for (int tile = 0; tile < keys; tile += TILE) {
        bool any = false;
        for (int row = 0; row < ROWS; row++)
            for (int key = tile; key < tile + TILE && key < keys; key++)
                if (S[(size_t)row * keys + key] > m[row]) {
                    m[row] = S[(size_t)row * keys + key];
                    any = true;
                }
        grown += any;
    }
    return grown;
}

static double sum_of(const float *row, int keys)
{
    float m = -INFINITY;
    for (int key = 0; key < keys; key++)
        m = fmaxf(m, row[key]);
    double sum = 0;
    for (int key = 0; key < keys; key++)
        sum += exp((double)row[key] - m);
    return sum;
}

static int check(const float *S, const struct result *results, int warps, int keys)
{
    long votes = 0;
    for (int warp = 0; warp < warps; warp++) {
        const float *scores = &S[(size_t)warp * ROWS * keys];
        for (int row = 0; row < ROWS; row++) {
            const double wanted = sum_of(&scores[(size_t)row * keys], keys), got = results[warp].sum[row];
            if (!(fabs(got - wanted) <= BOUND * wanted)) {
                printf("WRONG: the sum of row %d of warp %d is %g, should be %g\n", row, warp, got, wanted);
                return EXIT_WRONG;
            }
        }
        const int wanted = tiles_that_grow(scores, keys), got = results[warp].rescaled;
        if (got != wanted) {
            printf("WRONG: warp %d rescaled %d times, should be %d\n", warp, got, wanted);
            return EXIT_WRONG;
        }
        votes += got;
    }
    const int tiles = (keys - 1) / TILE + 1;
    printf("right: of %d tiles, a warp rescaled %.1f times on average\n", tiles, (double)votes / warps);
    return EXIT_RIGHT;
}

int main(int argc, char **argv)
{
    struct number numbers[] = {
        {"keys", "scores in a row", 2048, 1, MOST}, {"warps", "of eight rows each", 4, 1, 64}, {}};
    const struct program program = program_begin(argc, argv, "How often a warp rescales its sums.", numbers);
    const int keys = numbers[0].value, warps = numbers[1].value;
    const size_t count = (size_t)warps * ROWS * keys, bytes = count * sizeof(float);
    float *host = (float *)malloc(bytes), *S;
    for (size_t i = 0; i < count; i++)
        host[i] = (float)(random_bits(program.seed, 0, i) % (1 << 20)) * 0x1p-17f;
    struct result *results, *said = (struct result *)malloc(warps * sizeof *said);
    CUDA(cudaMalloc(&S, bytes));
    CUDA(cudaMalloc(&results, warps * sizeof *results));
    CUDA(cudaMemcpy(S, host, bytes, cudaMemcpyHostToDevice));
    CUDA(cudaMemset(results, 0xff, warps * sizeof *results));  // what is never stored stays a NaN

    softmax_sums<<<warps, 32>>>(S, results, keys);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(said, results, warps * sizeof *said, cudaMemcpyDeviceToHost));
    CUDA(cudaFree(S));
    CUDA(cudaFree(results));

    program_output(&program, said, warps * sizeof *said);
    const int status = check(host, said, warps, keys);
    free(host);
    free(said);
    return program_end(&program, status);
}
