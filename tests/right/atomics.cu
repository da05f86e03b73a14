// Atomic operations on 16 bits and on vectors, and of every scope.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <string.h>
#include "right.h"

struct sums {
    __half half;
    __nv_bfloat16 bfloat;
    __half2 halves;
    __nv_bfloat162 bfloats;
    unsigned short counts[2];
    float2 two;
    float4 four;
    int scopes[6];
    unsigned long long wide[3];
    float number[3];
};

__device__ void increment(unsigned short *count)  // by comparing and swapping its 16 bits
{
    unsigned short seen = *count, before;
    do {
        before = seen;
        seen = atomicCAS(count, before, (unsigned short)(before + 1));
    } while (seen != before);
}

__global__ void add(sums *s, int *old)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&s->half, __float2half(0.5f));
    atomicAdd(&s->bfloat, __float2bfloat16(2));
    atomicAdd(&s->halves, __floats2half2_rn(1, -2));
    atomicAdd(&s->bfloats, __floats2bfloat162_rn(0.25f, 1));
    increment(&s->counts[1]);
#if __CUDA_ARCH__ >= 900
    atomicAdd(&s->two, make_float2(1, 2));
    atomicAdd(&s->four, make_float4(1, 2, 3, 4));
#endif
    old[i] = atomicAdd_system(&s->scopes[0], 1);
    atomicMax_system(&s->scopes[1], i);
    atomicOr_system(&s->scopes[2], 1 << i % 16);
    atomicAdd_system(&s->wide[0], 1ull << 32);
    atomicMin_system(&s->wide[1], 1000ull - i);
    atomicAdd_system(&s->number[0], 1.0f);
    if (blockIdx.x == 0) {
        atomicSub_block(&s->scopes[3], 1);
        atomicXor_block(&s->scopes[4], 1 << threadIdx.x);
        atomicInc_block((unsigned *)&s->scopes[5], 10);
        atomicAdd_block(&s->number[1], 2.0f);
        atomicCAS_block(&s->wide[2], 0ull, 7ull);
        atomicExch_block(&s->number[2], 3.0f);
    }
}

int main()
{
    const int N = 128;
    sums zero;
    memset((void *)&zero, 0, sizeof zero);
    zero.wide[1] = ~0ull;
    sums *s = to_device(&zero, 1);
    int *old = to_device<int>(NULL, N), seen[N] = {0};
    add<<<4, N / 4>>>(s, old);
    sums *r = to_host(s, 1);
    SAME(__half2float(r->half), 64);
    SAME(__bfloat162float(r->bfloat), 256);
    SAME(__low2float(r->halves), N);
    SAME(__high2float(r->halves), -2 * N);
    SAME(__low2float(r->bfloats), 32);
    SAME(__high2float(r->bfloats), N);
    SAME(r->counts[0], 0);
    SAME(r->counts[1], N);
    SAME(r->two.y, 2 * r->two.x);
    SAME(r->four.w, 4 * r->two.x);
    SAME(r->two.x == N || r->two.x == 0, 1);
    SAME(r->scopes[0], N);
    SAME(r->scopes[1], N - 1);
    SAME(r->scopes[2], 0xffff);
    SAME(r->scopes[3], -32);
    SAME(r->scopes[4], -1);
    SAME(r->scopes[5], 32 % 11);
    SAME(r->wide[0] >> 32, N);
    SAME(r->wide[1], 1001 - N);
    SAME(r->wide[2], 7);
    SAME(r->number[0], N);
    SAME(r->number[1], 64);
    SAME(r->number[2], 3);
    int *o = to_host(old, N);
    for (int i = 0; i < N; i++)
        seen[o[i]]++;
    for (int i = 0; i < N; i++)
        SAME(seen[i], 1);
    return 0;
}
