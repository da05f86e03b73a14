// Accumulators and fragments of A in all kinds of variables: vectors, std::array, members, references, lambdas' captures, arrays whose
// scope has ended while a product reads them, arrays that functions return.

#include <cuda_fp16.h>
#include <cuda/std/array>
#include "../hopper.h"
#include "../wgmma.h"
#include "right.h"

#define N 64
#define K 64
#define TILE (64 * K)
#define TILES 4

static __device__ half *laid_out(const half *from)  // TILES tiles of A, and as many of B
{
    extern __shared__ __align__(1024) unsigned char memory[];
    for (int i = threadIdx.x; i < 2 * TILES * TILE / 8; i += blockDim.x)
        ((uint4 *)memory)[i / 8 * 8 + (i % 8 ^ i / 8 % 8)] = ((const uint4 *)from)[i];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    return (half *)memory;
}

#define SHAPE "m64n16k16.f32.f16.f16"

// D [64, 16] of 16 columns of B, from A in shared memory and in registers.
template <typename D> static __device__ __forceinline__ void multiply(D &d, const half *A, const half *B, int more = 1)
{
    WGMMA_SS(SHAPE, 8, "+f", ", 1, 1, 0, 0", d, descriptor_128(A), descriptor_128(B), more);
}

template <typename D, typename F> static __device__ __forceinline__ void multiply_fragment(D &d, const F &a,
                                                                                           const half *B)
{
    WGMMA_RS(SHAPE, 8, "+f", ", 1, 1, 0", d, a, descriptor_128(B), 1);
}

static __device__ __forceinline__ unsigned fragment(const half *in, int tile, int k,
                                                    int i)  // register i of A's fragment
{
    return *(const unsigned *)&in[tile * TILE + (threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i % 2 * 8) * K + k +
                                  i / 2 * 8 + threadIdx.x % 4 * 2];
}

// Each kernel multiplies A's tiles by the first 16 columns of B's, and adds up over the tiles.
static __device__ __forceinline__ void put(float *out, int i, float x) { out[row_of(i) * 16 + column_of(i)] = x; }

__global__ void __launch_bounds__(128) in_vectors(const half *in, float *out)
{
    half *A = laid_out(in), *B = A + TILES * TILE;
    float2 d[2][2];
    for (int t = 0; t < TILES; t++) {
        WGMMA_FENCE();
        for (int k = 0; k < K; k += 16)
            asm volatile("{ .reg .pred p; setp.ne.b32 p, %10, 0; wgmma.mma_async.sync.aligned." SHAPE
                         " {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, p, 1, 1, 0, 0; }"
                         : "+f"(d[0][0].x), "+f"(d[0][0].y), "+f"(d[0][1].x), "+f"(d[0][1].y), "+f"(d[1][0].x),
                           "+f"(d[1][0].y), "+f"(d[1][1].x), "+f"(d[1][1].y)
                         : "l"(descriptor_128(A + t * TILE + k)), "l"(descriptor_128(B + t * TILE + k)), "r"(t + k)
                         : "memory");
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
    }
    for (int i = 0; i < 8; i++) {
        float2 pair = d[i / 4][i / 2 % 2];
        put(out, i, i % 2 ? pair.y : pair.x);
    }
}

__global__ void __launch_bounds__(128) in_scalars(const half *in, float *out)
{
    half *A = laid_out(in), *B = A + TILES * TILE;
    float d0 = 0, d1 = 0, d2 = 0, d3 = 0, d4 = 0, d5 = 0, d6 = 0, d7 = 0;
    WGMMA_FENCE();
#pragma unroll
    for (int i = 0; i < TILES * K; i += 16)
        asm volatile("wgmma.mma_async.sync.aligned." SHAPE " {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, 1, 1, 1, 0, 0;"
                     : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3), "+f"(d4), "+f"(d5), "+f"(d6), "+f"(d7)
                     : "l"(descriptor_128(A + i / K * TILE + i % K)), "l"(descriptor_128(B + i / K * TILE + i % K))
                     : "memory");
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    const float d[] = {d0, d1, d2, d3, d4, d5, d6, d7};
    for (int i = 0; i < 8; i++)
        put(out, i, d[i]);
}

__global__ void __launch_bounds__(128) in_an_array_object(const half *in, float *out)
{
    half *A = laid_out(in), *B = A + TILES * TILE;
    cuda::std::array<cuda::std::array<float, 8>, 2> d{};
    for (auto &row : d)
        for (float &x : row)
            asm volatile("" : "+f"(x)::"memory");
    WGMMA_FENCE();
#pragma unroll
    for (int i = 0; i < TILES * K; i += 16)
        multiply(d[i / 16 % 2], A + i / K * TILE + i % K, B + i / K * TILE + i % K);
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    auto copy = d;
    for (int i = 0; i < 8; i++)
        put(out, i, copy[0][i] + copy[1][i]);
}

struct part {
    float d[8];
    int tiles;

    __device__ __forceinline__ void begin()
    {
        tiles = 0;
        for (float &x : d)
            x = 0;
    }
    __device__ __forceinline__ part &operator+=(const half *const (&operands)[2])
    {
#pragma unroll
        for (int k = 0; k < K; k += 16)
            multiply(d, operands[0] + k, operands[1] + k);
        tiles++;  // a member beside those in flight
        return *this;
    }
};

static __device__ __forceinline__ part finished(part p) { return p; }

namespace names
{
struct zero {
};
struct one {
};
template <typename, typename B, typename> struct order {
    B second;
};
template <typename O, typename B> static __device__ __forceinline__ int halves(O, B) { return 2; }
}  // namespace names

__global__ void __launch_bounds__(128) in_a_member(const half *in, float *out)
{
    half *A = laid_out(in), *B = A + TILES * TILE;
    using namespace names;
    order<zero, one, zero> of_types = order<zero, one, zero>{};
    part p;
    p.begin();
    WGMMA_FENCE();
    for (int t = 0; t < TILES; t++) {
        const half *operands[2] = {A + t * TILE, B + t * TILE};
        p += operands;
        WGMMA_COMMIT();
        WGMMA_WAIT(1);
    }
    WGMMA_WAIT(0);
    part q = finished(p);
    for (int i = 0; i < 8 && q.tiles == TILES / 2 * halves(of_types, one{}); i++)
        put(out, i, q.d[i]);
}

__global__ void __launch_bounds__(128) by_a_lambda(const half *in, float *out)
{
    half *A = laid_out(in), *B = A + TILES * TILE;
    float d[8] = {};
    auto &same = d;
    auto step = [&](int t, int k) { multiply(same, A + t * TILE + k, B + t * TILE + k); };
    auto all = [&, step] {
        for (int t = 0; t < TILES; t++)
#pragma unroll
            for (int k = 0; k < K; k += 16)
                step(t, k);
    };
    WGMMA_FENCE();
    all();
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    for (int i = 0; i < 8; i++)
        put(out, i, same[i]);
}

// The fragment's scope is one pass of the loop, and the product that reads it is waited for in the next.
__global__ void __launch_bounds__(128) scope_of_a_fragment(const half *in, float *out)
{
    half *A = laid_out(in), *B = A + TILES * TILE;
    float d[8] = {};
    for (int i = 0; i < TILES * K; i += 16) {
        WGMMA_WAIT(0);
        stay(d);
        unsigned a[4];
#pragma unroll
        for (int j = 0; j < 4; j++)
            a[j] = fragment(in, i / K, i % K, j);
        WGMMA_FENCE();
        multiply_fragment(d, a, B + i / K * TILE + i % K);
        WGMMA_COMMIT();
    }
    WGMMA_WAIT(0);
    stay(d);
    for (int i = 0; i < 8; i++)
        put(out, i, d[i]);
}

// The fragment is a function's own, which has returned when the product is waited for; what comes next has variables, too.
template <typename D> static __device__ __forceinline__ void pack_and_multiply(D &d, const half *in, const half *B,
                                                                               int i)
{
    unsigned a[4];
#pragma unroll
    for (int j = 0; j < 4; j++)
        a[j] = fragment(in, i / K, i % K, j);
    WGMMA_FENCE();
    multiply_fragment(d, a, B + i / K * TILE + i % K);
    WGMMA_COMMIT();
}

static __device__ __forceinline__ float sum_of_many(const half *from)
{
    float many[16], sum = 0;
#pragma unroll
    for (int i = 0; i < 16; i++)
        many[i] = __half2float(from[threadIdx.x + i]);
#pragma unroll
    for (int i = 0; i < 16; i++)
        sum += many[i] * many[15 - i];
    return sum;
}

__global__ void __launch_bounds__(128) fragment_of_a_function(const half *in, float *out)
{
    half *A = laid_out(in), *B = A + TILES * TILE;
    float d[8] = {}, beside = 0;
#pragma unroll 1
    for (int i = 0; i < TILES * K; i += 16) {
        pack_and_multiply(d, in, B, i);
        beside += sum_of_many(in + i);
        WGMMA_WAIT(0);
        stay(d);
    }
    for (int i = 0; i < 8; i++)
        put(out, i, beside == 0.25f ? 0 : d[i]);
}

// Two fragments in turns: one is filled while the product of the other is in flight.
__global__ void __launch_bounds__(128) two_fragments(const half *in, float *out)
{
    half *A = laid_out(in), *B = A + TILES * TILE;
    float d[8] = {};
    half2 a[2][4];
    auto load = [&](half2(&to)[4], int i) {
#pragma unroll
        for (int j = 0; j < 4; j++) {
            unsigned bits = fragment(in, i / K, i % K, j);
            to[j] = *(half2 *)&bits;
        }
    };
    load(a[0], 0);
#pragma unroll
    for (int i = 0; i < TILES * K; i += 16) {
        stay(d);
        WGMMA_FENCE();
        multiply_fragment(d, reinterpret_cast<const unsigned(&)[4]>(a[i / 16 % 2]), B + i / K * TILE + i % K);
        WGMMA_COMMIT();
        WGMMA_WAIT(1);
        stay(d);
        if (i + 16 < TILES * K)
            load(a[1 - i / 16 % 2], i + 16);
    }
    WGMMA_WAIT(0);
    stay(d);
    for (int i = 0; i < 8; i++)
        put(out, i, d[i]);
}

// Accumulators of one tile in the scope of one pass: each time others, where there were others before.
__global__ void __launch_bounds__(128) scope_of_the_sums(const half *in, float *out)
{
    half *A = laid_out(in), *B = A + TILES * TILE;
    float total[8] = {};
    for (int t = 0; t < TILES; t++) {
        float d[8];
        for (int i = 0; i < 8; i++)
            d[i] = total[i];
        stay(d);
        WGMMA_FENCE();
#pragma unroll
        for (int k = 0; k < K; k += 16)
            multiply(d, A + t * TILE + k, B + t * TILE + k);
        WGMMA_COMMIT();
        {
            float other[8];
            for (int i = 0; i < 8; i++)
                other[i] = i * t;
            stay(other);
        }
        WGMMA_WAIT(0);
        stay(d);
        for (int i = 0; i < 8; i++)
            total[i] = d[i];
    }
    for (int i = 0; i < 8; i++)
        put(out, i, total[i]);
}

// What an inner scope adds up is thrown away, and its end comes before the wait: what lies there later is not written to.
__global__ void __launch_bounds__(128) sums_thrown_away(const half *in, float *out)
{
    half *A = laid_out(in), *B = A + TILES * TILE;
    float total[8] = {};
    {
        float unused[8] = {};
        stay(unused);
        WGMMA_FENCE();
        multiply(unused, A, B);
        WGMMA_COMMIT();
    }
    float other[8];
    for (int i = 0; i < 8; i++)
        other[i] = (float)(i * (int)threadIdx.x);
    stay(other);
    stay(total);
    WGMMA_FENCE();
    for (int i = 0; i < TILES * K; i += 16)
        multiply(total, A + i / K * TILE + i % K, B + i / K * TILE + i % K);
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    stay(total);
    for (int i = 0; i < 8; i++)
        put(out, i, total[i] + other[i] - (float)(i * (int)threadIdx.x));
}

// As many accumulators as there are registers to index by constants alone; a row of them is handed on as a part of a whole.
__global__ void __launch_bounds__(128) parts_of_a_whole(const half *in, float *out)
{
    half *A = laid_out(in), *B = A + TILES * TILE;
    float whole[32] = {};
    stay(whole);
    WGMMA_FENCE();
#pragma unroll
    for (int i = 0; i < TILES * K; i += 16)
        multiply(*reinterpret_cast<float(*)[8]>(whole + i / 16 % 4 * 8), A + i / K * TILE + i % K,
                 B + i / K * TILE + i % K);
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    stay(whole);
    for (int i = 0; i < 8; i++)
        put(out, i, whole[i] + whole[8 + i] + whole[16 + i] + whole[24 + i]);
}

int main(void)
{
    const int count = 2 * TILES * TILE;
    const float *x = numbers(count, 9);
    half *host = (half *)malloc(count * sizeof *host);
    float *want = (float *)calloc(64 * 16, sizeof *want), *out = to_device<float>(NULL, 64 * 16);
    for (int i = 0; i < count; i++)
        host[i] = __float2half(x[i]);
    for (int i = 0; i < 64 * 16; i++)
        for (int t = 0; t < TILES; t++)
            for (int k = 0; k < K; k++)
                want[i] += x[t * TILE + i / 16 * K + k] * x[(TILES + t) * TILE + i % 16 * K + k];
    const half *in = to_device(host, count);
    void (*const kernels[])(const half *,
                            float *) = {in_vectors,        in_scalars,          in_an_array_object,     in_a_member,
                                        by_a_lambda,       scope_of_a_fragment, fragment_of_a_function, two_fragments,
                                        scope_of_the_sums, parts_of_a_whole,    sums_thrown_away};
    for (auto kernel : kernels) {
        CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, count * (int)sizeof(half)));
        CHECK(cudaMemset(out, 0xff, 64 * 16 * sizeof *out));
        kernel<<<1, 128, count * sizeof(half)>>>(in, out);
        float *got = to_host(out, 64 * 16);
        for (int i = 0; i < 64 * 16; i++)
            SAME(got[i], want[i]);
        free(got);
    }
    return 0;
}
