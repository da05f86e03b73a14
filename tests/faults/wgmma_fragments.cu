// A in registers: written while a product that reads it is in flight, or behind the fence that hands it over. The first argument
// picks the kernel; a comment `expect NAME: KIND` marks a line that the report on it must name. tests/right/wgmma_flash.cu and
// wgmma_waits.cu have the right ways.

#include "wgmma_operands.h"

static __device__ __forceinline__ unsigned packed(float x, float y)
{
    half2 pair = __floats2half2_rn(x, y);
    return *(unsigned *)&pair;
}

__global__ void packed_again(const half *in, float *out)  // for the next step, before the product of this one is waited for
{
    OPERANDS(A, B);
    float d[32] = {};
    unsigned p[4];
    for (int i = 0; i < 4; i++)
        p[i] = packed(i, threadIdx.x);
    for (int step = 0; step < 2; step++) {
        WGMMA_FENCE();
        MULTIPLY_RS(d, p, B);  // expect packed_again: operand register in flight
        WGMMA_COMMIT();
        for (int i = 0; i < 4; i++)
            p[i] = packed(step, i);  // expect packed_again: operand register in flight
        WGMMA_WAIT(0);
    }
    write_sums(out, d);
}

__global__ void one_buffer_for_two(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    unsigned p[2][4] = {};
    for (int step = 0; step < 4; step++) {
        for (int i = 0; i < 4; i++)
            p[0][i] = packed(step, i);  // expect one_buffer_for_two: operand register in flight
        WGMMA_FENCE();
        MULTIPLY_RS(d, p[0], B);  // expect one_buffer_for_two: operand register in flight
        WGMMA_COMMIT();
        WGMMA_WAIT(1);  // perhaps one_buffer_for_two: operand register in flight
    }
    WGMMA_WAIT(0);  // perhaps one_buffer_for_two: operand register in flight
    write_sums(out, d);
}

__global__ void loaded_by_ldmatrix(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    unsigned p[4] = {};
    unsigned row = in_shared(A) + threadIdx.x % 16 * 128;
    WGMMA_FENCE();
    MULTIPLY_RS(d, p, B);  // expect loaded_by_ldmatrix: operand register in flight
    WGMMA_COMMIT();
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(p[0]), "=r"(p[1]), "=r"(p[2]), "=r"(p[3]) : "r"(row) : "memory");  // expect loaded_by_ldmatrix: operand register in flight
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void one_is_left(const half *in, float *out)  // which is the one that reads these
{
    OPERANDS(A, B);
    float d[32] = {}, e[32] = {};
    unsigned p[4] = {}, q[4] = {};
    WGMMA_FENCE();
    MULTIPLY_RS(d, p, B);
    WGMMA_COMMIT();
    MULTIPLY_RS(e, q, B);  // expect one_is_left: operand register in flight
    WGMMA_COMMIT();
    WGMMA_WAIT(1);              // perhaps one_is_left: operand register in flight
    q[3] = packed(d[0], d[1]);  // expect one_is_left: operand register in flight
    WGMMA_WAIT(0);              // perhaps one_is_left: operand register in flight
    out[threadIdx.x] = e[0] + q[3];
}

__global__ void one_lane(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    unsigned p[4] = {};
    WGMMA_FENCE();
    MULTIPLY_RS(d, p, B);  // expect one_lane: operand register in flight
    WGMMA_COMMIT();
    if (threadIdx.x == 93)
        p[2] ^= 0x80008000;  // expect one_lane: operand register in flight
    WGMMA_WAIT(0);
    write_sums(out, d);
    out[0] = p[2];
}

struct fragment {
    half2 pairs[4];

    __device__ __forceinline__ void pack(const float (&S)[32], int k)
    {
        for (int i = 0; i < 4; i++)
            pairs[i] = __floats2half2_rn(S[k * 8 + 2 * i], S[k * 8 + 2 * i + 1]);  // expect under_the_product: operand register in flight
    }
};

__global__ void under_the_product(const half *in, float *out)  // P of the next keys, while PV of these is in flight
{
    OPERANDS(A, B);
    float S[32] = {}, O[32] = {};
    fragment P[4] = {};
    for (int j = 0; j < 2; j++) {
        WGMMA_FENCE();
        MULTIPLY(S, A, B);
        WGMMA_COMMIT();
        for (int k = 0; k < 4; k++)
            MULTIPLY_RS(O, (unsigned *)P[k].pairs, B + k * 16);  // expect under_the_product: operand register in flight
        WGMMA_COMMIT();
        WGMMA_WAIT(1);  // perhaps under_the_product: operand register in flight
        for (int k = 0; k < 4; k++)
            P[k].pack(S, k);
        WGMMA_WAIT(0);  // perhaps under_the_product: operand register in flight
    }
    write_sums(out, O);
}

__global__ void no_commit(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    unsigned p[4] = {};
    WGMMA_FENCE();
    MULTIPLY_RS(d, p, B);  // expect no_commit: operand register in flight
    WGMMA_WAIT(0);         // perhaps no_commit: operand register in flight
    p[0] = threadIdx.x;    // expect no_commit: operand register in flight
    WGMMA_COMMIT();
    WGMMA_WAIT(0);  // perhaps no_commit: operand register in flight
    out[threadIdx.x] = p[0] + d[0];
}

static __device__ __forceinline__ void load(unsigned (&p)[4], const half *from)
{
    for (int i = 0; i < 4; i++)
        p[i] = ((const unsigned *)from)[threadIdx.x * 4 + i];  // expect prefetched: operand register in flight
}

__global__ void prefetched(const half *in, float *out)  // from global memory, in the third step
{
    OPERANDS(A, B);
    float d[32] = {};
    unsigned p[4];
    load(p, in);
    for (int step = 0; step < 4; step++) {
        WGMMA_FENCE();
        MULTIPLY_RS(d, p, B);  // expect prefetched: operand register in flight
        WGMMA_COMMIT();
        if (step < 2)
            WGMMA_WAIT(0);
        load(p, in + (step + 1) * 1024);
        WGMMA_WAIT(0);
    }
    write_sums(out, d);
}

__global__ void fourth_warp_waits_later(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    unsigned p[4] = {};
    WGMMA_FENCE();
    MULTIPLY_RS(d, p, B);  // expect fourth_warp_waits_later: operand register in flight
    WGMMA_COMMIT();
    if (threadIdx.x < 96)
        WGMMA_WAIT(0);
    __syncthreads();
    p[1] = threadIdx.x;  // expect fourth_warp_waits_later: operand register in flight
    WGMMA_WAIT(0);
    out[threadIdx.x] = d[0] + p[1];
}

__global__ void packed_behind_the_fence(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    unsigned p[4];
    WGMMA_FENCE();
    for (int i = 0; i < 4; i++)
        p[i] = packed(threadIdx.x, i);  // expect packed_behind_the_fence: missing wgmma.fence
    MULTIPLY_RS(d, p, B);               // expect packed_behind_the_fence: missing wgmma.fence
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void second_step_packs(const half *in, float *out)  // and has no fence of its own
{
    OPERANDS(A, B);
    float d[32] = {};
    unsigned p[4] = {};
    WGMMA_FENCE();
    for (int step = 0; step < 2; step++) {
        if (step == 1)
            p[3] = packed(d[0], d[1]);  // expect second_step_packs: missing wgmma.fence
        MULTIPLY_RS(d, p, B);           // expect second_step_packs: missing wgmma.fence
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
    }
    write_sums(out, d);
}

__global__ void loaded_behind_the_fence(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    unsigned p[4] = {}, row = in_shared(A) + threadIdx.x % 16 * 128;
    WGMMA_FENCE();
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(p[0]), "=r"(p[1]), "=r"(p[2]), "=r"(p[3]) : "r"(row) : "memory");  // expect loaded_behind_the_fence: missing wgmma.fence
    MULTIPLY_RS(d, p, B);                                                                                                                                     // expect loaded_behind_the_fence: missing wgmma.fence
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void fence_before_the_softmax(const half *in, float *out)  // and P is packed by it
{
    OPERANDS(A, B);
    float S[32] = {}, O[32] = {};
    fragment P[4];
    WGMMA_FENCE();
    MULTIPLY(S, A, B);
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    WGMMA_FENCE();
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 4; i++)
            P[k].pairs[i] = __floats2half2_rn(__expf(S[k * 8 + 2 * i]), __expf(S[k * 8 + 2 * i + 1]));  // expect fence_before_the_softmax: missing wgmma.fence
    for (int k = 0; k < 4; k++)
        MULTIPLY_RS(O, (unsigned *)P[k].pairs, B + k * 16);  // expect fence_before_the_softmax: missing wgmma.fence
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, O);
}

__global__ void mask_of_one_warp(const half *in, float *out)  // is put on behind the fence
{
    OPERANDS(A, B);
    float d[32] = {};
    unsigned p[4] = {};
    WGMMA_FENCE();
    if (threadIdx.x / 32 == 3)
        p[1] = 0;          // expect mask_of_one_warp: missing wgmma.fence
    MULTIPLY_RS(d, p, B);  // expect mask_of_one_warp: missing wgmma.fence
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

int main(int argc, char **argv)
{
    const struct faulty kernels[] = {
        KERNEL(packed_again, 128),
        KERNEL(one_buffer_for_two, 128),
        KERNEL(loaded_by_ldmatrix, 128),
        KERNEL(one_is_left, 128),
        KERNEL(one_lane, 128),
        KERNEL(under_the_product, 128),
        KERNEL(no_commit, 128),
        KERNEL(prefetched, 128),
        KERNEL(fourth_warp_waits_later, 128),
        KERNEL(packed_behind_the_fence, 128),
        KERNEL(second_step_packs, 128),
        KERNEL(loaded_behind_the_fence, 128),
        KERNEL(fence_before_the_softmax, 128),
        KERNEL(mask_of_one_warp, 128),
    };
    return run_named(argc, argv, kernels, sizeof kernels / sizeof *kernels);
}
