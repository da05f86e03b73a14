// Softmax of each row in one pass for the maximum and the sum together, and one for the quotients. By one block.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o softmax_online steps/09_softmax_online/softmax_online.cu common/*.c
//   ./learn run 09

#include "softmax.h"

constexpr int WARP = 32;                    // threads of a warp
constexpr unsigned ALL_LANES = 0xffffffff;  // of a warp take part in a shuffle
constexpr int THREADS = 256;                // of a block, which shares a row
constexpr int WARPS = THREADS / WARP;       // of a block

// [reduce_lanes] The largest value of 2, 4, … 32 neighbouring lanes, or their sum; all of them get the result.
template <bool largest>
__device__ float reduce_lanes(float value, int lanes)
{
    for (int offset = lanes / 2; offset > 0; offset /= 2) {
        const float other = __shfl_xor_sync(ALL_LANES, value, offset);
        value = largest ? fmaxf(value, other) : value + other;
    }
    return value;
}

// [part] What some of a row's elements come to: the largest, and the sum of exp(x − m). Of no elements: −∞ and 0.
struct part {
    float m, l;
};

// [weight] exp(x − m), where m is at least x. If m is −∞, so is x, and −∞ − −∞ would be NaN: such an x weighs 0.
__device__ float weight(float x, float m) { return expf(x - (m == -INFINITY ? 0 : m)); }

// [merge] Two parts as one.
__device__ part merge(part a, part b)
{
    // [merged]
    const float m = fmaxf(a.m, b.m);
    return {m, a.l * weight(a.m, m) + b.l * weight(b.m, m)};
    // [end merged]
}

// [add] merge(a, {x, 1}). The larger of a.m and x is the new m, and weighs 1: only the smaller needs an exponential.
__device__ part add(part a, float x)
{
    const float m = fmaxf(a.m, x);
    const float smaller = weight(fminf(a.m, x), m);
    return {m, x > a.m ? a.l * smaller + 1 : a.l + smaller};
}

// [merge_lanes] The parts of 2, 4, … 32 neighbouring lanes as one: the largest m first, then one weight for each l.
__device__ part merge_lanes(part mine, int lanes)
{
    // [lanes]
    const float m = reduce_lanes<true>(mine.m, lanes);
    return {m, reduce_lanes<false>(mine.l * weight(mine.m, m), lanes)};
    // [end lanes]
}

// [merge_threads] The parts of a block's threads as one: each warp merges its parts, then every warp merges those.
__device__ part merge_threads(part mine,
                              part *partial)  // [WARPS], shared
{
    mine = merge_lanes(mine, WARP);
    if (threadIdx.x % WARP == 0)
        partial[threadIdx.x / WARP] = mine;
    // [barrier]
    __syncthreads();  // the parts of all warps are there
    // [end barrier]
    mine = partial[threadIdx.x % WARPS];
    return merge_lanes(mine, WARPS);
}

// [kernel]
template <bool one_exponential>
__global__ void softmax_online(const float *X,  // [rows, cols]
                               float *Y,        // [rows, cols]
                               int cols)
{
    __shared__ part partial[WARPS];

    // [index] Each thread takes every THREADSth column of the block's row.
    const int row = blockIdx.x;
    const int first = threadIdx.x, step = THREADS;
    const float *x = X + (size_t)row * cols;  // [cols]
    float *y = Y + (size_t)row * cols;        // [cols]

    // [online] First pass.
    part mine = {-INFINITY, 0};
    for (int col = first; col < cols; col += step)
        mine = one_exponential ? add(mine, x[col]) : merge(mine, {x[col], 1});
    const part all = merge_threads(mine, partial);

    // [write] Second pass.
    for (int col = first; col < cols; col += step)
        y[col] = weight(x[col], all.m) / all.l;
}

// [launch]
enum { MERGED, ONE_EXPONENTIAL };

int launch(const struct softmax_args *args, cudaStream_t stream)
{
    if (!softmax_is_plain(args, FP32))
        return cudaErrorInvalidValue;
    const float *X = (const float *)args->X;
    float *Y = (float *)args->Y;
    const int rows = args->rows, cols = args->cols;
    if (args->variant == MERGED)
        softmax_online<false><<<rows, THREADS, 0, stream>>>(X, Y, cols);
    else
        softmax_online<true><<<rows, THREADS, 0, stream>>>(X, Y, cols);
    return cudaGetLastError();
}

// [main]
static const struct variant variants[] = {
    {"merged", "each element is a part of its own, merged with the part so far: two exponentials"},
    {"one_exponential", "of an element and the part so far, the one with the larger maximum keeps its weight of 1"},
    {},
};

int main(int argc, char **argv)
{
    const struct softmax_step step = {
        .name = "09_softmax_online",
        .dtypes = {FP32},
        .arch = "75",
        .variants = variants,
        .launch = launch,
    };
    return softmax_main(argc, argv, &step);
}
