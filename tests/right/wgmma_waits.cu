// Products of warpgroups and the waits for them, in the forms that kernels have: chains, several groups in flight, accumulators in
// turns, in structs, in rows of arrays, in functions that are given them by reference, and one fence for many products.

#include <cuda_fp16.h>
#include "../hopper.h"
#include "../wgmma.h"
#include "right.h"

#define N 64
#define K 64  // of a tile: 128 bytes
#define TILE (64 * K)
#define TILES 6

// Two rings of tiles in global memory are laid out in shared memory before the products begin.
struct tiles {
    half A[TILES][TILE], B[TILES][TILE];
};

static __device__ tiles *laid_out(const half *A, const half *B)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    tiles *t = (tiles *)memory;
    for (int i = threadIdx.x; i < TILES * TILE / 8; i += blockDim.x) {
        int chunk = i / 8 * 8 + (i % 8 ^ i / 8 % 8);
        ((uint4 *)t->A)[chunk] = ((const uint4 *)A)[i];
        ((uint4 *)t->B)[chunk] = ((const uint4 *)B)[i];
    }
    FENCE_ASYNC_SHARED();
    __syncthreads();
    return t;
}

#define MULTIPLY(D, A, B, MORE) \
    WGMMA_SS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, 1, 0, 0", D, descriptor_128(A), descriptor_128(B), MORE)

template <bool NEW = false> static __device__ __forceinline__ void multiply_tile(float (&d)[32], const half *A,
                                                                                 const half *B)
{
#pragma unroll
    for (int k = 0; k < K; k += 16)
        MULTIPLY(d, A + k, B + k, !NEW || k > 0);
}

static __device__ __forceinline__ void add_to(float *out, const float (&d)[32])
{
#pragma unroll
    for (int i = 0; i < 32; i++)
        out[row_of(i) * N + column_of(i)] += d[i];
}

__global__ void __launch_bounds__(128) one_chain(const half *A, const half *B, float *out)
{
    tiles *t = laid_out(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    for (int i = 0; i < TILES; i++)
        multiply_tile(d, t->A[i], t->B[i]);
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    stay(d);
    add_to(out, d);
}

__global__ void __launch_bounds__(128)
    waits_for_each(const half *A, const half *B, float *out)  // and one fence is enough
{
    tiles *t = laid_out(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    for (int i = 0; i < TILES; i++) {
        multiply_tile(d, t->A[i], t->B[i]);
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
    }
    stay(d);
    add_to(out, d);
}

__global__ void __launch_bounds__(128) three_groups(const half *A, const half *B, float *out)
{
    tiles *t = laid_out(A, B);
    float d[32] = {};
    for (int i = 0; i < TILES; i++) {
        stay(d);
        WGMMA_FENCE();
        multiply_tile(d, t->A[i], t->B[i]);
        WGMMA_COMMIT();
        WGMMA_WAIT(2);
        stay(d);
    }
    WGMMA_WAIT(0);
    stay(d);
    add_to(out, d);
}

// Two accumulators, of even tiles and of odd ones: wait_group 1 is enough to use the one while the other is in flight.
__global__ void __launch_bounds__(128) in_turns(const half *A, const half *B, float *out)
{
    tiles *t = laid_out(A, B);
    float even[32], odd[32];
    for (int i = 0; i < 32; i++)
        even[i] = odd[i] = 0;
    WGMMA_FENCE();
    multiply_tile<true>(even, t->A[0], t->B[0]);
    WGMMA_COMMIT();
#pragma unroll
    for (int i = 1; i < TILES; i += 2) {
        stay(odd);
        WGMMA_FENCE();
        multiply_tile<true>(odd, t->A[i], t->B[i]);
        WGMMA_COMMIT();
        WGMMA_WAIT(1);
        stay(even);
        add_to(out, even);
        if (i + 1 < TILES) {
            stay(even);
            WGMMA_FENCE();
            multiply_tile<true>(even, t->A[i + 1], t->B[i + 1]);
            WGMMA_COMMIT();
            WGMMA_WAIT(1);
        } else {
            WGMMA_WAIT(0);
        }
        stay(odd);
        add_to(out, odd);
    }
}

// A group that is empty counts as one, and one wait may cover several groups.
__global__ void __launch_bounds__(128) empty_groups(const half *A, const half *B, float *out)
{
    tiles *t = laid_out(A, B);
    float d[32] = {}, e[32] = {};
    stay(d);
    stay(e);
    WGMMA_FENCE();
    WGMMA_COMMIT();
    multiply_tile(d, t->A[0], t->B[0]);
    multiply_tile(d, t->A[1], t->B[1]);
    WGMMA_COMMIT();
    WGMMA_COMMIT();
    WGMMA_FENCE();
    multiply_tile(e, t->A[2], t->B[2]);
    WGMMA_COMMIT();
    WGMMA_WAIT(2);
    stay(d);
    add_to(out, d);
    WGMMA_WAIT(0);
    stay(e);
    WGMMA_FENCE();
    multiply_tile(e, t->A[3], t->B[3]);
    WGMMA_COMMIT();
    multiply_tile(e, t->A[4], t->B[4]);
    multiply_tile(e, t->A[5], t->B[5]);
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    stay(e);
    add_to(out, e);
    WGMMA_WAIT(0);
}

struct accumulators {
    float d[2][32];

    __device__ __forceinline__ void begin()
    {
        for (int i = 0; i < 64; i++)
            d[i / 32][i % 32] = 0;
    }
    __device__ __forceinline__ void multiply(int which, const half *A, const half *B) { multiply_tile(d[which], A, B); }
    template <int LEFT> __device__ __forceinline__ void wait()
    {
        WGMMA_WAIT(LEFT);
        stay(d[0]);
        stay(d[1]);
    }
    __device__ __forceinline__ float total(int i) const { return d[0][i] + d[1][i]; }
};

__global__ void __launch_bounds__(128) in_a_struct(const half *A, const half *B, float *out)
{
    tiles *t = laid_out(A, B);
    accumulators sum;
    sum.begin();
    stay(sum.d[0]);
    stay(sum.d[1]);
    WGMMA_FENCE();
#pragma unroll
    for (int i = 0; i < TILES; i++)
        sum.multiply(i % 2, t->A[i], t->B[i]);
    WGMMA_COMMIT();
    sum.wait<0>();
#pragma unroll
    for (int i = 0; i < 32; i++)
        out[row_of(i) * N + column_of(i)] += sum.total(i);
}

// Halves of D: rows of an array of two, each of 32 columns, by products of the same A.
__global__ void __launch_bounds__(128) in_rows(const half *A, const half *B, float *out)
{
    tiles *t = laid_out(A, B);
    float d[2][16];
#pragma unroll
    for (int tile = 0; tile < TILES; tile++) {
        WGMMA_FENCE();
#pragma unroll
        for (int k = 0; k < K; k += 16)
#pragma unroll
            for (int part = 0; part < 2; part++)
                WGMMA_SS("m64n32k16.f32.f16.f16", 16, "+f", ", 1, 1, 0, 0", d[part], descriptor_128(t->A[tile] + k),
                         descriptor_128(t->B[tile] + part * 32 * K + k), tile + k);
        WGMMA_COMMIT();
    }
    WGMMA_WAIT(0);
    stay(d[0]);
    stay(d[1]);
#pragma unroll
    for (int i = 0; i < 32; i++)
        out[row_of(i % 16) * N + i / 16 * 32 + column_of(i % 16)] += d[i / 16][i % 16];
}

// One function a tensor-core atom, as libraries have it: each register a reference, and the sign and scale as operands of the text.
struct atom {
    template <int SCALE_A, int SCALE_B>
    static __device__ __forceinline__ void fma(uint64_t a, uint64_t b, float &d0, float &d1, float &d2, float &d3,
                                               float &d4, float &d5, float &d6, float &d7, int scale_d)
    {
        asm volatile("{\n"
                     ".reg .pred p;\n"
                     "setp.ne.b32 p, %10, 0;\n"
                     "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16\n"
                     "{%0, %1, %2, %3, %4, %5, %6, %7},\n"
                     " %8, %9, p, %11, %12, %13, %14;\n"
                     "}\n"
                     : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3), "+f"(d4), "+f"(d5), "+f"(d6), "+f"(d7)
                     : "l"(a), "l"(b), "r"(scale_d), "n"(SCALE_A), "n"(SCALE_B), "n"(0), "n"(0));
    }
};

static __device__ __forceinline__ void fence_operand(float &x) { asm volatile("" : "+f"(x)::"memory"); }

template <typename FRAGMENT> static __device__ __forceinline__ void fma_of(FRAGMENT &d, uint64_t a, uint64_t b,
                                                                           int scale_d, int part)
{
    atom::fma<1, 1>(a, b, d[part][0], d[part][1], d[part][2], d[part][3], d[part][4], d[part][5], d[part][6],
                    d[part][7], scale_d);
}

__global__ void __launch_bounds__(128)
    by_reference(const half *A, const half *B, float *out)  // and fences of registers in flight
{
    tiles *t = laid_out(A, B);
    float d[4][8];
    int scale = 0;
#pragma unroll 1
    for (int tile = 0; tile < TILES; tile++) {
        for (int i = 0; i < 32; i++)
            fence_operand(d[i / 8][i % 8]);
        asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
#pragma unroll
        for (int k = 0; k < K; k += 16) {
#pragma unroll
            for (int part = 0; part < 4; part++)
                fma_of(d, descriptor_128(t->A[tile] + k), descriptor_128(t->B[tile] + part * 16 * K + k), scale, part);
            scale = 1;
        }
        asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(1) : "memory");
        for (int i = 0; i < 32; i++)
            fence_operand(d[i / 8][i % 8]);
    }
    asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(0) : "memory");
    for (int i = 0; i < 32; i++)
        fence_operand(d[i / 8][i % 8]);
#pragma unroll
    for (int i = 0; i < 32; i++)
        out[row_of(i % 8) * N + i / 8 * 16 + column_of(i % 8)] += d[i / 8][i % 8];
}

// Accumulators that are scaled between products: each time behind the wait, and before a fence.
__global__ void __launch_bounds__(128) rescaled(const half *A, const half *B, float *out)
{
    tiles *t = laid_out(A, B);
    float d[32] = {};
#pragma unroll
    for (int i = 0; i < TILES; i++) {
        for (int j = 0; j < 32; j++)
            d[j] *= -1;
        stay(d);
        WGMMA_FENCE();
        if (i % 2)
            multiply_tile(d, t->A[i], t->B[i]);
        else
#pragma unroll
            for (int k = 0; k < K; k += 16)
                WGMMA_SS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, -1, 0, 0", d, descriptor_128(t->A[i] + k),
                         descriptor_128(t->B[i] + k), 1);
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        stay(d);
    }
    add_to(out, d);
}

// What A has in registers may be written as soon as the product is waited for; registers of another product before.
__global__ void __launch_bounds__(128) registers_in_turns(const half *A, const half *B, float *out)
{
    tiles *t = laid_out(A, B);
    float d[32] = {};
    unsigned a[2][4];
    auto load = [&](unsigned(&to)[4], int step) {
#pragma unroll
        for (int i = 0; i < 4; i++)
            to[i] = *(
                const unsigned *)&A[step / 4 * TILE + (threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i % 2 * 8) * K +
                                    step % 4 * 16 + i / 2 * 8 + threadIdx.x % 4 * 2];
    };
    load(a[0], 0);
#pragma unroll
    for (int step = 0; step < TILES * 4; step++) {
        stay(d);
        WGMMA_FENCE();
        WGMMA_RS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, 1, 0", d, a[step % 2],
                 descriptor_128(t->B[step / 4] + step % 4 * 16), 1);
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        stay(d);
        if (step + 1 < TILES * 4)
            load(a[(step + 1) % 2], step + 1);
    }
    add_to(out, d);
}

// Nobody but the first of two warpgroups multiplies, and its product is waited for while the other does something else.
__global__ void __launch_bounds__(256) beside_others(const half *A, const half *B, float *out)
{
    tiles *t = laid_out(A, B);
    if (threadIdx.x < 128) {
        float d[32] = {};
        WGMMA_FENCE();
        for (int i = 0; i < TILES; i++)
            multiply_tile(d, t->A[i], t->B[i]);
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        stay(d);
        add_to(out, d);
    } else {
        float sum = 0;
        for (int i = threadIdx.x - 128; i < TILE; i += 128)
            sum += __half2float(t->A[0][i]) + __half2float(t->B[0][i]);  // read, as the products do
        if (sum == 0.5f)
            __trap();
    }
}

// A warpgroup that is done with its tile, by its own wait, writes the next into it.
__global__ void __launch_bounds__(128) refilled_by_threads(const half *A, const half *B, float *out)
{
    tiles *t = laid_out(A, B);
    float d[32] = {};
    for (int i = 0; i < TILES; i++) {
        WGMMA_FENCE();
        multiply_tile(d, t->A[0], t->B[0]);
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        stay(d);
        __syncthreads();
        if (i + 1 < TILES)
            for (int j = threadIdx.x; j < TILE / 8; j += 128) {
                ((uint4 *)t->A[0])[j] = ((uint4 *)t->A[i + 1])[j];
                ((uint4 *)t->B[0])[j] = ((uint4 *)t->B[i + 1])[j];
            }
        FENCE_ASYNC_SHARED();
        __syncthreads();
    }
    add_to(out, d);
}

// Sums in f16 are, packed as they are, fragments of A; here as pairs, whose bits are given to the instruction.
__global__ void __launch_bounds__(128) sums_as_fragments(const half *A, const half *B, float *out)
{
    tiles *t = laid_out(A, B);
    float d[32] = {};
    half2 pairs[4] = {};
    // The first 16 of k of each tile of A, by a product with the unit matrix, which takes the place of a tile that nobody needs.
    unsigned char *unit = (unsigned char *)t + sizeof(tiles);
    for (int i = threadIdx.x; i < 16 * 16; i += 128)
        *(half *)(unit + i / 16 % 8 * 16 + i / 16 / 8 * 256 + i % 16 / 8 * 128 + i % 8 * 2) = __float2half(i / 16 ==
                                                                                                           i % 16);
    FENCE_ASYNC_SHARED();
    __syncthreads();
    for (int tile = 0; tile < TILES; tile++)
#pragma unroll
        for (int k = 0; k < K; k += 16) {
            WGMMA_FENCE();
            WGMMA_SS("m64n16k16.f16.f16.f16", 4, "+r", ", 1, 1, 0, 0", (unsigned *)pairs,
                     descriptor_128(t->A[tile] + k), descriptor(unit, 128, 256, PLAIN), 0);
            WGMMA_COMMIT();
            WGMMA_WAIT(0);
            stay(*(unsigned(*)[4])pairs);
            stay(d);
            WGMMA_FENCE();
            WGMMA_RS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, 1, 0", d, (unsigned *)pairs,
                     descriptor_128(t->B[tile] + k), 1);
            WGMMA_COMMIT();
            WGMMA_WAIT(0);
            stay(d);
        }
    add_to(out, d);
}

// The first warpgroup has left when the second multiplies, one product after the other in a loop that is not unrolled.
__global__ void __launch_bounds__(256) after_others(const half *A, const half *B, float *out)
{
    tiles *t = laid_out(A, B);
    if (threadIdx.x < 128)
        return;
    float d[32] = {};
    stay(d);
#pragma unroll 1
    for (int i = 0; i < TILES * K / 16; i++) {
        WGMMA_FENCE();
        MULTIPLY(d, t->A[i / 4] + i % 4 * 16, t->B[i / 4] + i % 4 * 16, 1);
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        stay(d);
    }
    add_to(out, d);
}

// The second warpgroup's warps wait at different times, with barriers of a warp and reads of the tile between.
__global__ void __launch_bounds__(256) each_warp_in_its_time(const half *A, const half *B, float *out)
{
    tiles *t = laid_out(A, B);
    float d[32] = {}, beside = 0;
    int group = threadIdx.x / 128;
    stay(d);
    WGMMA_FENCE();
    for (int i = 0; i < TILES; i += 2)
        multiply_tile(d, t->A[i + group], t->B[i + group]);
    WGMMA_COMMIT();
    for (int i = 0; i < (int)threadIdx.x / 32; i++) {
        beside += __half2float(t->A[i % TILES][threadIdx.x]);
        __syncwarp();
    }
    WGMMA_WAIT(0);
    stay(d);
    if (beside == 0.5f)
        __trap();
    for (int i = 0; i < 2; i++) {
        if (group == i)
            add_to(out, d);
        __syncthreads();
    }
}

int main(void)
{
    const float *a = numbers(TILES * TILE, 1), *b = numbers(TILES * TILE, 2);
    half *A_host = (half *)malloc(TILES * TILE * sizeof(half)), *B_host = (half *)malloc(TILES * TILE * sizeof(half));
    float *want = (float *)calloc(64 * N, sizeof(float)), *out = to_device<float>(NULL, 64 * N);
    for (int i = 0; i < TILES * TILE; i++) {
        A_host[i] = __float2half(a[i]);
        B_host[i] = __float2half(b[i]);
    }
    for (int i = 0; i < 64 * N; i++)
        for (int t = 0; t < TILES; t++)
            for (int k = 0; k < K; k++)
                want[i] += a[(t * 64 + i / N) * K + k] * b[(t * 64 + i % N) * K + k];
    const half *A = to_device(A_host, TILES * TILE), *B = to_device(B_host, TILES * TILE);
    const int bytes = sizeof(tiles) + 512;
    struct {
        void (*kernel)(const half *, const half *, float *);
        int threads;
    } forms[] = {
        {one_chain, 128},
        {waits_for_each, 128},
        {three_groups, 128},
        {in_turns, 128},
        {empty_groups, 128},
        {in_a_struct, 128},
        {in_rows, 128},
        {by_reference, 128},
        {rescaled, 128},
        {registers_in_turns, 128},
        {beside_others, 256},
        {refilled_by_threads, 128},
        {sums_as_fragments, 128},
        {after_others, 256},
        {each_warp_in_its_time, 256},
    };
    for (auto form : forms) {
        CHECK(cudaFuncSetAttribute(form.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
        CHECK(cudaMemset(out, 0, 64 * N * sizeof *out));
        form.kernel<<<1, form.threads, bytes>>>(A, B, out);
        float *got = to_host(out, 64 * N);
        for (int i = 0; i < 64 * N; i++)
            SAME(got[i], want[i]);
        free(got);
    }
    return 0;
}
