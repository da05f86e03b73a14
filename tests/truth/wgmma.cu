// Products of a warpgroup of several shapes, types and layouts: what a GPU's counters say of what they read of shared memory, and
// the emulator's must.
//
//   nvcc -std=c++20 -gencode=arch=compute_90a,code=sm_90a wgmma.cu -o wgmma && ./wgmma
//
// {bf16, tf32, e4m3, s8} x columns of B x swizzle in bytes x A in registers x A or B along its rows (MN-major). Each launch is one
// warpgroup and one product. The launches come in a fixed order, so that counters can be joined to the printed lines by
// position. --list prints without running.

#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../wgmma.h"

struct launch {
    int n, swizzle;  // the latter in bytes: 0, 32, 64, 128
    int registers, a_mn, b_mn;
};

static void check(cudaError_t error)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "wgmma: %s\n", cudaGetErrorString(error));
    exit(1);
}

// One core matrix behind the other, or rows as wide as the swizzle.
static __device__ uint64_t tile(const void *start, int swizzle, bool mn)
{
    const enum swizzle bits = swizzle == 128 ? SWIZZLE_128 : swizzle == 64 ? SWIZZLE_64 : swizzle ? SWIZZLE_32 : PLAIN;
    if (!swizzle)
        return descriptor(start, 128, 256, bits);
    return descriptor(start, mn ? 16 * swizzle : 16, 8 * swizzle, bits);
}

struct operands {
    alignas(1024) unsigned char A[8192], B[32768];
};

template <typename T, int COUNT> static __device__ void keep(unsigned *out, const T (&d)[COUNT])
{
    T sum = 0;
    for (int i = 0; i < COUNT; i++)
        sum += d[i];
    out[threadIdx.x] = sum == 0;
}

#define FROM_SHARED(NAME, T, SHAPE, REGISTERS, CONSTRAINT, TAIL) \
    __global__ void __launch_bounds__(128) NAME(unsigned *out, struct launch l) \
    { \
        __shared__ operands shared; \
        T d[REGISTERS] = {}; \
        stay(d); \
        WGMMA_FENCE(); \
        WGMMA_SS(SHAPE, REGISTERS, CONSTRAINT, TAIL, d, tile(shared.A, l.swizzle, l.a_mn), \
                 tile(shared.B, l.swizzle, l.b_mn), 0); \
        WGMMA_COMMIT(); \
        WGMMA_WAIT(0); \
        stay(d); \
        keep(out, d); \
    }

#define FROM_REGISTERS(NAME, T, SHAPE, REGISTERS, CONSTRAINT, TAIL) \
    __global__ void __launch_bounds__(128) NAME(unsigned *out, struct launch l) \
    { \
        __shared__ operands shared; \
        T d[REGISTERS] = {}; \
        stay(d); \
        unsigned a[4] = {threadIdx.x, threadIdx.x, threadIdx.x, threadIdx.x}; \
        WGMMA_FENCE(); \
        WGMMA_RS(SHAPE, REGISTERS, CONSTRAINT, TAIL, d, a, tile(shared.B, l.swizzle, l.b_mn), 0); \
        WGMMA_COMMIT(); \
        WGMMA_WAIT(0); \
        stay(d); \
        keep(out, d); \
    }

FROM_SHARED(wgmma_bf16_8, float, "m64n8k16.f32.bf16.bf16", 4, "+f", ", 1, 1, 0, 0")
FROM_SHARED(wgmma_bf16_64, float, "m64n64k16.f32.bf16.bf16", 32, "+f", ", 1, 1, 0, 0")
FROM_SHARED(wgmma_bf16_256, float, "m64n256k16.f32.bf16.bf16", 128, "+f", ", 1, 1, 0, 0")
FROM_SHARED(wgmma_bf16_64_a_mn, float, "m64n64k16.f32.bf16.bf16", 32, "+f", ", 1, 1, 1, 0")
FROM_SHARED(wgmma_bf16_64_b_mn, float, "m64n64k16.f32.bf16.bf16", 32, "+f", ", 1, 1, 0, 1")
FROM_SHARED(wgmma_bf16_256_b_mn, float, "m64n256k16.f32.bf16.bf16", 128, "+f", ", 1, 1, 0, 1")
FROM_SHARED(wgmma_tf32_64, float, "m64n64k8.f32.tf32.tf32", 32, "+f", ", 1, 1")
FROM_SHARED(wgmma_e4m3_64, float, "m64n64k32.f32.e4m3.e4m3", 32, "+f", ", 1, 1")
FROM_SHARED(wgmma_s8_64, int, "m64n64k32.s32.s8.s8", 32, "+r", "")
FROM_REGISTERS(wgmma_bf16_64_a_r, float, "m64n64k16.f32.bf16.bf16", 32, "+f", ", 1, 1, 0")
FROM_REGISTERS(wgmma_bf16_256_a_r, float, "m64n256k16.f32.bf16.bf16", 128, "+f", ", 1, 1, 0")

#define NAMED(KERNEL) #KERNEL, KERNEL
static const struct kernel {
    const char *name;
    void (*run)(unsigned *out, struct launch l);
    struct launch launch;
} kernels[] = {
    {NAMED(wgmma_bf16_8), {8, 0, 0, 0, 0}},         {NAMED(wgmma_bf16_64), {64, 0, 0, 0, 0}},
    {NAMED(wgmma_bf16_256), {256, 0, 0, 0, 0}},     {NAMED(wgmma_bf16_64_a_mn), {64, 0, 0, 1, 0}},
    {NAMED(wgmma_bf16_64_b_mn), {64, 0, 0, 0, 1}},  {NAMED(wgmma_bf16_256_b_mn), {256, 0, 0, 0, 1}},
    {NAMED(wgmma_tf32_64), {64, 0, 0, 0, 0}},       {NAMED(wgmma_e4m3_64), {64, 0, 0, 0, 0}},
    {NAMED(wgmma_s8_64), {64, 0, 0, 0, 0}},         {NAMED(wgmma_bf16_64_a_r), {64, 0, 1, 0, 0}},
    {NAMED(wgmma_bf16_256_a_r), {256, 0, 1, 0, 0}},
};

static unsigned *out;  // NULL: only list

static void run(const struct kernel *k, struct launch l)
{
    printf("%s n=%d swizzle=%d registers=%d a_mn=%d b_mn=%d\n", k->name, l.n, l.swizzle, l.registers, l.a_mn, l.b_mn);
    if (!out)
        return;
    check(cudaProfilerStart());
    k->run<<<1, 128>>>(out, l);
    check(cudaGetLastError());
    check(cudaDeviceSynchronize());
    check(cudaProfilerStop());
}

int main(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "--list"))
        check(cudaMalloc(&out, 128 * sizeof *out));
    for (const struct kernel &k : kernels)
        for (int swizzle : {0, 32, 64, 128}) {
            struct launch l = k.launch;
            l.swizzle = swizzle;
            run(&k, l);
        }
    return 0;
}
