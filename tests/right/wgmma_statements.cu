// Products of warpgroups in statements of other forms: several instructions in one, accumulators in any order or only written, a product
// that a predicate leaves out, and registers of A that no variable holds.

#include <cuda_fp16.h>
#include "../wgmma.h"
#include "right.h"

#define N 8
#define K 64
#define D4(D) "+f"((D)[0]), "+f"((D)[1]), "+f"((D)[2]), "+f"((D)[3])
#define MULTIPLY "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "

// A is [64, K] and B [N, K], both with a swizzle of 128 bytes.
static __device__ __forceinline__ void load(half *to, const half *from, int rows)
{
    for (int i = threadIdx.x; i < rows * K / 8; i += blockDim.x)
        ((uint4 *)to)[i / 8 * 8 + (i % 8 ^ i / 8 % 8)] = ((const uint4 *)from)[i];
}

static __device__ __forceinline__ void keep(float *out, const float *d)
{
    for (int i = 0; i < 4; i++)
        out[row_of(i) * N + column_of(i)] = d[i];
}

#define OPERANDS \
    __shared__ alignas(1024) half As[64 * K], Bs[N * K]; \
    load(As, A, 64); \
    load(Bs, B, N); \
    FENCE_ASYNC_SHARED(); \
    __syncthreads(); \
    uint64_t a = descriptor_128(As), b = descriptor_128(Bs)

__global__ void all_in_one(const half *A, const half *B, float *out)
{
    float d[4] = {};
    OPERANDS;
    asm volatile("wgmma.fence.sync.aligned;\n\t" MULTIPLY "{%0, %1, %2, %3}, %4, %8, 1, 1, 1, 0, 0;\n\t" MULTIPLY
                 "{%0, %1, %2, %3}, %5, %9, 1, 1, 1, 0, 0;\n\t" MULTIPLY
                 "{%0, %1, %2, %3}, %6, %10, 1, 1, 1, 0, 0;\n\t" MULTIPLY
                 "{%0, %1, %2, %3}, %7, %11, 1, 1, 1, 0, 0;\n\t"
                 "wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;"
                 : D4(d)
                 : "l"(a), "l"(a + 2), "l"(a + 4), "l"(a + 6), "l"(b), "l"(b + 2), "l"(b + 4), "l"(b + 6)
                 : "memory");
    keep(out, d);
}

__global__ void in_another_order(const half *A, const half *B, float *out)  // of the operands, not of the registers
{
    float d[4] = {};
    OPERANDS;
    WGMMA_FENCE();
    for (int k = 0; k < 8; k += 2)
        asm volatile(MULTIPLY "{%3, %2, %1, %0}, %4, %5, 1, 1, 1, 0, 0;"
                     : "+f"(d[3]), "+f"(d[2]), "+f"(d[1]), "+f"(d[0])
                     : "l"(a + k), "l"(b + k)
                     : "memory");
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    stay(d);
    keep(out, d);
}

__global__ void only_written(const half *A, const half *B, float *out)
{
    float d[4];
    OPERANDS;
    WGMMA_FENCE();
    asm volatile(MULTIPLY "{%0, %1, %2, %3}, %4, %5, 0, 1, 1, 0, 0;"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                 : "l"(a), "l"(b)
                 : "memory");
    for (int k = 2; k < 8; k += 2)
        asm volatile(MULTIPLY "{%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;" : D4(d) : "l"(a + k), "l"(b + k) : "memory");
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    stay(d);
    keep(out, d);
}

__global__ void left_out(const half *A, const half *B, float *out)
{
    float d[4] = {};
    OPERANDS;
    WGMMA_FENCE();
    for (int k = 0; k < 16; k++)
        asm volatile("{ .reg .pred p, q; setp.eq.b32 p, %6, 0; setp.eq.b32 q, %7, 0; @p " MULTIPLY
                     "{%0, %1, %2, %3}, %4, %5, !q, 1, 1, 0, 0; }"
                     : D4(d)
                     : "l"(a + k), "l"(b + k), "r"(k % 2 + k / 8), "r"(k)
                     : "memory");
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    stay(d);
    keep(out, d);
}

__global__ void values_as_a(const half *A, const half *B, float *out)
{
    float d[4] = {};
    OPERANDS;
    int row = row_of(0), column = threadIdx.x % 4 * 2;
    auto at = [&](int r, int k) { return *(const unsigned *)(A + (row + r) * K + k + column); };
    for (int k = 0; k < K; k += 16)
        asm volatile("wgmma.fence.sync.aligned; " MULTIPLY "{%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1, 0;"
                     : D4(d)
                     : "r"(at(0, k)), "r"(at(8, k)), "r"(at(0, k + 8)), "r"(at(8, k + 8)), "l"(b + k / 8)
                     : "memory");
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    stay(d);
    keep(out, d);
}

int main(void)
{
    static half a[64 * K], b[N * K];
    static float want[64 * N];
    float *out = to_device<float>(NULL, 64 * N);
    for (int i = 0; i < 64 * K; i++)
        a[i] = __float2half((float)(i * 7 % 11 - 5));
    for (int i = 0; i < N * K; i++)
        b[i] = __float2half((float)(i * 5 % 13 - 6));
    for (int i = 0; i < 64 * N; i++)
        for (int k = 0; k < K; k++)
            want[i] += __half2float(a[i / N * K + k]) * __half2float(b[i % N * K + k]);
    const half *A = to_device(a, 64 * K), *B = to_device(b, N * K);
    for (auto kernel : {all_in_one, in_another_order, only_written, left_out, values_as_a}) {
        CHECK(cudaMemset(out, 0, 64 * N * sizeof *out));
        kernel<<<1, 128>>>(A, B, out);
        float *got = to_host(out, 64 * N);
        for (int i = 0; i < 64 * N; i++)
            SAME(got[i], want[i]);
        free(got);
    }
    return 0;
}
