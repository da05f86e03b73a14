// Merges what attention to two parts of the keys gave: O and the log-sum-exp of each part become those of all keys.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o merge steps/33_flash_mma_gqa/exercises/merge.cu common/*.c

#include "exit.h"
#include "program.h"
#include "random.h"
#include "step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

constexpr int D = 32;       // columns of V and of O; a warp has a row
constexpr int WARPS = 4;    // of a block
constexpr int MOST = 4096;  // queries, or keys of a part
constexpr double BOUND = 1e-5;

// [kernel]
__global__ void merge(const float *O_first,     // [n, D]
                      const float *lse_first,   // [n]
                      const float *O_second,    // [n, D]
                      const float *lse_second,  // [n]
                      float *O,                 // [n, D]
                      float *lse,               // [n]
                      int n)
{
    const int row = blockIdx.x * WARPS + threadIdx.y, col = threadIdx.x;
    if (row < n) {
        // [merge]
        const float first = lse_first[row], second = lse_second[row], max = fmaxf(first, second);
        const float reference = max == -INFINITY ? 0 : max;  // −∞ less −∞ would be no number
        const float weight_first = expf(first - reference), weight_second = expf(second - reference);
        const float sum = weight_first + weight_second, inverse = sum > 0 ? 1 / sum : 0;
        O[row * D + col] = (weight_first * O_first[row * D + col] + weight_second * O_second[row * D + col]) * inverse;
        if (col == 0)
            lse[row] = reference + logf(sum);
        // [end merge]
    }
}

// [main]
enum { SCORES, VALUES };

// What exp() takes, and in most rows more, or less.
static double score(uint64_t seed, int row, int key)
{
    return random_bits(seed, SCORES, (uint64_t)row * 2 * MOST + key) % 4001 * 1e-3 - 2 + (row % 3 - 1) * 300;
}

static double value(uint64_t seed, int key, int col)
{
    return random_bits(seed, VALUES, key * D + col) % 2001 * 1e-3 - 1;
}

// Attention of one row to the keys from `first` to before `end`, of which there may be none.
static void attend(uint64_t seed, int row, int first, int end, double O[D], double *lse)
{
    double max = -INFINITY, sum = 0;
    for (int key = first; key < end; key++)
        max = fmax(max, score(seed, row, key));
    for (int col = 0; col < D; col++)
        O[col] = 0;
    for (int key = first; key < end; key++) {
        const double weight = exp(score(seed, row, key) - max);
        sum += weight;
        for (int col = 0; col < D; col++)
            O[col] += weight * value(seed, key, col);
    }
    for (int col = 0; col < D && sum > 0; col++)
        O[col] /= sum;
    *lse = max + log(sum);
}

// A part on the device: O and behind it the log-sum-exp, to be freed with cudaFree. Row i sees the keys before i + seen.
static float *part(uint64_t seed, int n, int first, int end, int seen)
{
    const size_t bytes = (size_t)n * (D + 1) * sizeof(float);
    float *host = (float *)malloc(bytes), *device;
    for (int row = 0; row < n; row++) {
        double O[D], lse;
        attend(seed, row, first, row + seen < end ? row + seen : end, O, &lse);
        for (int col = 0; col < D; col++)
            host[row * D + col] = (float)O[col];
        host[n * D + row] = (float)lse;
    }
    CUDA(cudaMalloc(&device, bytes));
    CUDA(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
    free(host);
    return device;
}

static bool near(double got, double wanted)
{
    return got == wanted || fabs(got - wanted) <= BOUND * fmax(1, fabs(wanted));
}

static int check(uint64_t seed, const float *got, int n, int keys)
{
    for (int row = 0; row < n; row++) {
        double O[D], lse;
        attend(seed, row, 0, row + 1 + keys - n < keys ? row + 1 + keys - n : keys, O, &lse);
        for (int col = 0; col < D; col++)
            if (!near(got[row * D + col], O[col])) {
                printf("WRONG: O[%d][%d] is %g, should be %g\n", row, col, got[row * D + col], O[col]);
                return EXIT_WRONG;
            }
        if (!near(got[n * D + row], lse)) {
            printf("WRONG: the log-sum-exp of row %d is %g, should be %g\n", row, got[n * D + row], lse);
            return EXIT_WRONG;
        }
    }
    printf("right: O[%d,%d] and the log-sum-exp are those of all %d keys\n", n, D, keys);
    return EXIT_RIGHT;
}

int main(int argc, char **argv)
{
    struct number numbers[] = {{"n", "queries", 50, 1, MOST},
                               {"first", "keys of the first part", 40, 1, MOST},
                               {"second", "keys of the second part", 25, 1, MOST},
                               {}};
    const struct program program = program_begin(argc, argv, "Attention to two parts of the keys, merged and checked.",
                                                 numbers);
    const int n = numbers[0].value, keys_first = numbers[1].value, keys = keys_first + numbers[2].value;

    const size_t bytes = (size_t)n * (D + 1) * sizeof(float);
    float *first = part(program.seed, n, 0, keys_first, 1 + keys - n);
    float *second = part(program.seed, n, keys_first, keys, 1 + keys - n);
    float *O, *host = (float *)malloc(bytes);
    CUDA(cudaMalloc(&O, bytes));
    CUDA(cudaMemset(O, 0xff, bytes));  // what is never stored stays a NaN

    merge<<<ceil_div(n, WARPS), dim3(D, WARPS)>>>(first, first + n * D, second, second + n * D, O, O + n * D, n);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(host, O, bytes, cudaMemcpyDeviceToHost));
    CUDA(cudaFree(first));
    CUDA(cudaFree(second));
    CUDA(cudaFree(O));

    program_output(&program, host, bytes);
    const int status = check(program.seed, host, n, keys);
    free(host);
    return program_end(&program, status);
}
