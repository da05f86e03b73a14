// What the programs of faulty products share: operands of 64 lines by 64 of k in fp16, in rows of 128 bytes with their swizzle, which
// threads or bulk copies have filled, and a main that runs the kernel named by its argument. A kernel is given `in`, 16 such tiles in
// global memory, and `out`.
#pragma once

#include <cuda_fp16.h>
#include <string.h>
#include "../hopper.h"
#include "../wgmma.h"

#define TILE (64 * 64)
#define BYTES (TILE * 2)

// D += A B of 16 of k, from two tiles.
#define MULTIPLY(D, A, B) \
    WGMMA_SS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, 1, 0, 0", D, descriptor_128(A), descriptor_128(B), 1)
#define MULTIPLY_RS(D, A, B) WGMMA_RS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, 1, 0", D, A, descriptor_128(B), 1)

static __device__ __forceinline__ void fill(half *to, const half *from)
{
    for (int i = threadIdx.x; i < TILE / 8; i += blockDim.x)
        ((uint4 *)to)[i / 8 * 8 + (i % 8 ^ i / 8 % 8)] = ((const uint4 *)from)[i];
}

#define OPERANDS(A, B) \
    __shared__ alignas(1024) half A[TILE], B[TILE]; \
    fill(A, in); \
    fill(B, in + TILE); \
    FENCE_ASYNC_SHARED(); \
    __syncthreads()

static __device__ __forceinline__ void write_sums(float *out, const float (&d)[32])
{
    for (int i = 0; i < 32; i++)
        out[threadIdx.x * 32 + i] = d[i];
}

struct faulty {
    const char *name;
    void (*kernel)(const half *, float *);
    int threads, bytes;  // of a block, and of its dynamic shared memory
};

#define KERNEL(NAME, THREADS) {#NAME, NAME, THREADS, 0}

static inline int run_named(int argc, char **argv, const struct faulty *kernels, int count)
{
    static half numbers[16 * TILE];
    for (int i = 0; i < 16 * TILE; i++)
        numbers[i] = __float2half((float)(i % 13 - 6));
    half *in;
    float *out;
    cudaMalloc(&in, sizeof numbers);
    cudaMemcpy(in, numbers, sizeof numbers, cudaMemcpyHostToDevice);
    cudaMalloc(&out, 1024 * 64 * sizeof *out);
    for (int i = 0; i < count; i++)
        if (argc > 1 && strcmp(argv[1], kernels[i].name) == 0) {
            cudaFuncSetAttribute(kernels[i].kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kernels[i].bytes);
            kernels[i].kernel<<<1, kernels[i].threads, kernels[i].bytes>>>(in, out);
        }
    return cudaDeviceSynchronize();
}
