// Softmax of rows that stay on chip: each element is read once and written once, four at a time.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o softmax_held steps/10_softmax_held/softmax_held.cu common/*.c
//   ./learn run 10

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

// [vector] Four neighbouring elements of a row: 16 bytes, one load or one store. Those of NONE weigh 0.
constexpr float4 NONE = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};

__device__ float largest_of(float4 x) { return fmaxf(fmaxf(x.x, x.y), fmaxf(x.z, x.w)); }

__device__ float sum_of(float4 x) { return (x.x + x.y) + (x.z + x.w); }

__device__ float4 weight(float4 x, float m) { return {weight(x.x, m), weight(x.y, m), weight(x.z, m), weight(x.w, m)}; }

__device__ float4 scale(float4 x, float factor) { return {x.x * factor, x.y * factor, x.z * factor, x.w * factor}; }

// [add] A part and a vector as one: five exponentials.
__device__ part add(part a, float4 x)
{
    const float m = fmaxf(a.m, largest_of(x));
    return {m, a.l * weight(a.m, m) + sum_of(weight(x, m))};
}

// [merge_lanes] The parts of 2, 4, … 32 neighbouring lanes as one: the largest m first, then one weight for each l.
__device__ part merge_lanes(part mine, int lanes)
{
    const float m = reduce_lanes<true>(mine.m, lanes);
    return {m, reduce_lanes<false>(mine.l * weight(mine.m, m), lanes)};
}

// [merge_threads] The parts of a block's threads as one: each warp merges its parts, then every warp merges those.
__device__ part merge_threads(part mine,
                              part *partial)  // [WARPS], shared
{
    mine = merge_lanes(mine, WARP);
    if (threadIdx.x % WARP == 0)
        partial[threadIdx.x / WARP] = mine;
    __syncthreads();  // the parts of all warps are there
    mine = partial[threadIdx.x % WARPS];
    return merge_lanes(mine, WARPS);
}

// [kernel] Each thread holds VECTORS vectors of its row in registers. What is beyond that is read twice.
template <int VECTORS>
__global__ void __launch_bounds__(THREADS) softmax_held(const float *X,  // [rows, X_pitch]
                                                        float *Y,        // [rows, Y_pitch]
                                                        int cols, int X_pitch, int Y_pitch)
{
    __shared__ part partial[WARPS];
    float4 p[VECTORS ? VECTORS : 1];  // x, then exp(x − m) with the thread's own m

    // [index] Each thread takes every THREADSth vector of the block's row.
    const int row = blockIdx.x;
    const int first = threadIdx.x, step = THREADS;
    const int vectors = cols / 4, rest = first + VECTORS * step, tail = 4 * vectors + first;
    const float *x = X + (size_t)row * X_pitch;  // [cols]
    float *y = Y + (size_t)row * Y_pitch;        // [cols]
    const float4 *x4 = (const float4 *)x;        // [vectors]
    float4 *y4 = (float4 *)y;                    // [vectors]

    // [rest] What the registers do not hold: up to three elements behind the last vector, and the end of a long row.
    part mine = {-INFINITY, 0};
    if (tail < cols)
        mine = {x[tail], 1};
    // [rest_vectors]
#pragma unroll 4
    for (int i = rest; i < vectors; i += step)
        mine = add(mine, x4[i]);

    // [loads] All loads are under way before the first value is needed.
    float m = mine.m;
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        // [hold]
        p[i] = first + i * step < vectors ? x4[first + i * step] : NONE;
        m = fmaxf(m, largest_of(p[i]));
        // [end hold]
    }

    // [exponentials] The thread's own m is known: each element that is held costs one exponential.
    float l = mine.l * weight(mine.m, m);
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        // [online]
        p[i] = weight(p[i], m);
        l += sum_of(p[i]);
        // [end online]
    }
    const part all = merge_threads({m, l}, partial);

    // [factor] One factor takes a thread's exponentials from its own m to the row's, and multiplies by 1 / l.
    const float inverse = 1 / all.l, factor = weight(m, all.m) * inverse;
    // [write]
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
        if (first + i * step < vectors)
            y4[first + i * step] = scale(p[i], factor);
    for (int i = rest; i < vectors; i += step)
        y4[i] = scale(weight(x4[i], all.m), inverse);
    // [tail]
    if (tail < cols)
        y[tail] = weight(x[tail], all.m) * inverse;
    // [end tail]
}

// [launch]
enum { WIDE, HELD };

template <int VECTORS>
static cudaError_t launch_held(const struct softmax_args *args, cudaStream_t stream)
{
    softmax_held<VECTORS><<<args->rows, THREADS, 0, stream>>>((const float *)args->X, (float *)args->Y, args->cols,
                                                              args->X_pitch, args->Y_pitch);
    return cudaGetLastError();
}

int launch(const struct softmax_args *args, cudaStream_t stream)
{
    if (!softmax_is_aligned(args, FP32, 16))
        return cudaErrorInvalidValue;
    if (args->variant == WIDE)
        return launch_held<0>(args, stream);
    return launch_held<8>(args, stream);
}

// [main]
static const struct variant variants[] = {
    {"wide", "16 bytes a load and a store, every element read twice"},
    {"held", "the row stays in registers from its one load to its one store"},
    {},
};

int main(int argc, char **argv)
{
    const struct softmax_step step = {
        .name = "10_softmax_held",
        .dtypes = {FP32},
        .arch = "75",
        .row_bytes = 16,
        .variants = variants,
        .launch = launch,
    };
    return softmax_main(argc, argv, &step);
}
