// Accumulators of products that are touched before the wait that covers them, that no fence has handed over, and products that
// nobody waits for. The first argument picks the kernel; a comment `expect NAME: KIND` marks a line that the report on it must
// name. tests/right/wgmma_waits.cu has the right ways.

#include "wgmma_operands.h"

__global__ void no_wait(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect no_wait: accumulator in flight
    WGMMA_COMMIT();
    for (int i = 0; i < 32; i++)
        out[threadIdx.x * 32 + i] = d[i];  // expect no_wait: accumulator in flight
}

__global__ void no_commit(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect no_commit: accumulator in flight, in committed
    WGMMA_WAIT(0);      // perhaps no_commit: accumulator in flight
    for (int i = 0; i < 32; i++)
        out[threadIdx.x * 32 + i] = d[i];  // expect no_commit: accumulator in flight, in committed
}

__global__ void wait_before_commit(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect wait_before_commit: accumulator in flight
    WGMMA_WAIT(0);      // perhaps wait_before_commit: accumulator in flight
    WGMMA_COMMIT();
    float sum = 0;
    for (int i = 31; i >= 0; i--)
        sum += d[i];  // expect wait_before_commit: accumulator in flight
    out[threadIdx.x] = sum;
}

__global__ void one_is_left(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect one_is_left: accumulator in flight
    WGMMA_COMMIT();
    WGMMA_WAIT(1);             // perhaps one_is_left: accumulator in flight
    out[threadIdx.x] = d[31];  // expect one_is_left: accumulator in flight
    WGMMA_WAIT(0);
}

__global__ void second_pass(const half *in, float *out)  // of a loop waits too late
{
    OPERANDS(A, B);
    float d[32] = {}, sum = 0;
    for (int i = 0; i < 3; i++) {
        WGMMA_FENCE();
        MULTIPLY(d, A + i * 16, B + i * 16);  // expect second_pass: accumulator in flight
        WGMMA_COMMIT();
        if (i != 1)
            WGMMA_WAIT(0);
        sum += d[0];  // expect second_pass: accumulator in flight
        WGMMA_WAIT(0);
    }
    out[threadIdx.x] = sum;
}

__global__ void third_warp(const half *in, float *out)  // does not wait
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect third_warp: accumulator in flight
    WGMMA_COMMIT();
    if (threadIdx.x / 32 != 2)
        WGMMA_WAIT(0);
    out[threadIdx.x] = d[7];  // expect third_warp: accumulator in flight
    WGMMA_WAIT(0);
}

__global__ void last_warp_commits_nothing(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect last_warp_commits_nothing: accumulator in flight, in committed
    if (threadIdx.x < 96)
        WGMMA_COMMIT();
    WGMMA_WAIT(0);            // perhaps last_warp_commits_nothing: accumulator in flight
    out[threadIdx.x] = d[7];  // expect last_warp_commits_nothing: accumulator in flight, in committed
}

__global__ void second_warpgroup(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect second_warpgroup: accumulator in flight
    WGMMA_COMMIT();
    if (threadIdx.x < 128)
        WGMMA_WAIT(0);
    __syncthreads();                        // the first has waited, and the second's products are its own
    out[threadIdx.x] = d[threadIdx.x % 4];  // expect second_warpgroup: accumulator in flight
    WGMMA_WAIT(0);
}

static __device__ __forceinline__ void clear(float (&d)[32])
{
    for (int i = 0; i < 32; i++)
        d[i] = 0;  // expect cleared: accumulator in flight
}

__global__ void cleared(const half *in, float *out)  // for the next tile, while the products of this one are in flight
{
    OPERANDS(A, B);
    float d[32], sum = 0;
    for (int i = 0; i < 32; i++)
        d[i] = 0;
    for (int tile = 0; tile < 2; tile++) {
        WGMMA_FENCE();
        MULTIPLY(d, A, B);  // expect cleared: accumulator in flight
        WGMMA_COMMIT();
        if (tile == 0)
            WGMMA_WAIT(0);
        clear(d);
        WGMMA_WAIT(0);
        sum += d[0];
    }
    out[threadIdx.x] = sum;
}

static __device__ __forceinline__ void rescale(float (&O)[32], float scale)
{
#pragma unroll
    for (int i = 0; i < 32; i++)
        O[i] *= scale;  // expect rescaled: accumulator in flight
}

__global__ void rescaled(const half *in, float *out)  // while PV is in flight: one wait covers QK alone
{
    OPERANDS(A, B);
    float S[32] = {}, O[32] = {};
    for (int i = 0; i < 2; i++) {
        WGMMA_FENCE();
        MULTIPLY(S, A, B);
        WGMMA_COMMIT();
        MULTIPLY(O, B, A);  // expect rescaled: accumulator in flight
        WGMMA_COMMIT();
        WGMMA_WAIT(1);  // perhaps rescaled: accumulator in flight
        float most = fmaxf(S[0], S[31]);
        rescale(O, most > 1 ? 0.5f : 1);
        WGMMA_WAIT(0);  // perhaps rescaled: accumulator in flight
    }
    write_sums(out, O);
}

__global__ void order_of_the_groups(const half *in, float *out)  // the one that is waited for is the other
{
    OPERANDS(A, B);
    float S[32] = {}, O[32] = {};
    WGMMA_FENCE();
    MULTIPLY(O, B, A);
    WGMMA_COMMIT();
    MULTIPLY(S, A, B);  // expect order_of_the_groups: accumulator in flight
    WGMMA_COMMIT();
    WGMMA_WAIT(1);      // perhaps order_of_the_groups: accumulator in flight
    float most = S[0];  // expect order_of_the_groups: accumulator in flight
    for (int i = 1; i < 32; i++)
        most = fmaxf(most, S[i]);
    WGMMA_WAIT(0);  // perhaps order_of_the_groups: accumulator in flight
    out[threadIdx.x] = most * O[0];
}

__global__ void in_turns(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[2][32] = {}, sum = 0;
    for (int i = 0; i < 4; i++) {
        WGMMA_FENCE();
        if (i % 2)
            MULTIPLY(d[1], A, B);
        else
            MULTIPLY(d[0], A, B);  // expect in_turns: accumulator in flight
        WGMMA_COMMIT();
        WGMMA_WAIT(1);  // perhaps in_turns: accumulator in flight
        if (i > 0)
            sum += d[i == 2 ? 0 : (i + 1) % 2][5];  // expect in_turns: accumulator in flight
    }
    WGMMA_WAIT(0);  // perhaps in_turns: accumulator in flight
    out[threadIdx.x] = sum;
}

struct accumulators {
    float d[32];
};

__global__ void copied_as_a_struct(const half *in, float *out)
{
    OPERANDS(A, B);
    accumulators sum = {};
    WGMMA_FENCE();
    MULTIPLY(sum.d, A, B);  // expect copied_as_a_struct: accumulator in flight
    WGMMA_COMMIT();
    accumulators copy = sum;  // expect copied_as_a_struct: accumulator in flight
    WGMMA_WAIT(0);
    write_sums(out, copy.d);
}

__global__ void packed_for_the_epilogue(const half *in, float *out)
{
    OPERANDS(A, B);
    __shared__ alignas(16) half2 result[128 * 16];
    float d[32] = {};
    WGMMA_FENCE();
    for (int k = 0; k < 64; k += 16)
        MULTIPLY(d, A + k, B + k);  // expect packed_for_the_epilogue: accumulator in flight
    WGMMA_COMMIT();
    for (int i = 0; i < 16; i++)
        result[threadIdx.x * 16 + i] = __floats2half2_rn(d[2 * i], d[2 * i + 1]);  // expect packed_for_the_epilogue: accumulator in flight
    WGMMA_WAIT(0);
    __syncthreads();
    out[threadIdx.x] = __low2float(result[threadIdx.x]);
}

__global__ void tail_of_a_pipeline(const half *in, float *out)  // the loop leaves one group, and nobody waits for it
{
    OPERANDS(A, B);
    float d[32] = {};
    for (int k = 0; k < 64; k += 16) {
        stay(d);
        WGMMA_FENCE();
        MULTIPLY(d, A + k, B + k);  // expect tail_of_a_pipeline: accumulator in flight
        WGMMA_COMMIT();
        WGMMA_WAIT(1);  // perhaps tail_of_a_pipeline: accumulator in flight
    }
    stay(d);
    for (int i = 0; i < 32; i++)
        out[threadIdx.x * 32 + i] = d[i];  // expect tail_of_a_pipeline: accumulator in flight
}

__global__ void only_where_k_is_large(const half *in, float *out)  // a wait for every fourth product, and there are five
{
    OPERANDS(A, B);
    float d[32] = {};
    int steps = 5;
    WGMMA_FENCE();
    for (int i = 0; i < steps; i++) {
        MULTIPLY(d, A + i % 4 * 16, B + i % 4 * 16);  // expect only_where_k_is_large: accumulator in flight
        WGMMA_COMMIT();
        if (i % 4 == 3)
            WGMMA_WAIT(0);
    }
    out[threadIdx.x] = d[0] + d[1];  // expect only_where_k_is_large: accumulator in flight
    WGMMA_WAIT(0);
}

__global__ void sums_in_f16(const half *in, float *out)
{
    OPERANDS(A, B);
    unsigned d[16] = {};
    WGMMA_FENCE();
    WGMMA_SS("m64n64k16.f16.f16.f16", 16, "+r", ", 1, 1, 0, 0", d, descriptor_128(A), descriptor_128(B), 1);  // expect sums_in_f16: accumulator in flight
    WGMMA_COMMIT();
    half2 pair = *(half2 *)&d[15];  // expect sums_in_f16: accumulator in flight
    WGMMA_WAIT(0);
    out[threadIdx.x] = __low2float(pair);
}

__global__ void sums_as_fragments(const half *in, float *out)  // of the next product, which reads what the first has not written
{
    OPERANDS(A, B);
    unsigned p[4] = {};
    float d[32] = {};
    WGMMA_FENCE();
    WGMMA_SS("m64n16k16.f16.f16.f16", 4, "+r", ", 1, 1, 0, 0", p, descriptor_128(A), descriptor_128(B), 0);  // expect sums_as_fragments: accumulator in flight
    WGMMA_COMMIT();
    WGMMA_FENCE();
    MULTIPLY_RS(d, p, B);  // expect sums_as_fragments: accumulator in flight
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void written_by_ptx(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect written_by_ptx: accumulator in flight
    WGMMA_COMMIT();
    asm volatile("mov.b32 %0, 0f3F800000;" : "=f"(d[3]));  // expect written_by_ptx: accumulator in flight
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void read_by_ptx(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {}, x;
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect read_by_ptx: accumulator in flight
    WGMMA_COMMIT();
    asm volatile("add.f32 %0, %1, %1;" : "=f"(x) : "f"(d[30]));  // expect read_by_ptx: accumulator in flight
    WGMMA_WAIT(0);
    out[threadIdx.x] = x;
}

__global__ void shuffled(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect shuffled: accumulator in flight
    WGMMA_COMMIT();
    float most = fmaxf(1, __shfl_xor_sync(~0u, d[16], 1));  // expect shuffled: accumulator in flight
    WGMMA_WAIT(0);
    out[threadIdx.x] = most;
}

__global__ void one_lane_looks(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect one_lane_looks: accumulator in flight
    WGMMA_COMMIT();
    if (threadIdx.x == 77)
        printf("%f\n", d[0]);  // expect one_lane_looks: accumulator in flight
    WGMMA_WAIT(0);
    write_sums(out, d);
}

static __device__ __forceinline__ float total(const float *d, int count)
{
    float sum = 0;
    for (int i = 0; i < count; i++)
        sum += d[i];  // expect total_by_a_pointer: accumulator in flight
    return sum;
}

__global__ void total_by_a_pointer(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[2][16] = {};
    WGMMA_FENCE();
    WGMMA_SS("m64n32k16.f32.f16.f16", 16, "+f", ", 1, 1, 0, 0", d[0], descriptor_128(A), descriptor_128(B), 1);
    WGMMA_COMMIT();
    WGMMA_SS("m64n32k16.f32.f16.f16", 16, "+f", ", 1, 1, 0, 0", d[1], descriptor_128(A), descriptor_128(B + 32 * 64), 1);  // expect total_by_a_pointer: accumulator in flight
    WGMMA_COMMIT();
    WGMMA_WAIT(1);  // perhaps total_by_a_pointer: accumulator in flight
    out[threadIdx.x] = total(d[0], 16) + total(d[1], 16);
    WGMMA_WAIT(0);  // perhaps total_by_a_pointer: accumulator in flight
}

__global__ void no_fence(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};   // perhaps no_fence: missing wgmma.fence
    MULTIPLY(d, A, B);  // expect no_fence: missing wgmma.fence
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void no_fence_and_nothing_written(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32];
    WGMMA_SS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, 1, 0, 0", d, descriptor_128(A), descriptor_128(B), 0);  // expect no_fence_and_nothing_written: missing wgmma.fence
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void zeros_behind_the_fence(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32];
    WGMMA_FENCE();
    for (int i = 0; i < 32; i++)
        d[i] = 0;       // expect zeros_behind_the_fence: missing wgmma.fence
    MULTIPLY(d, A, B);  // expect zeros_behind_the_fence: missing wgmma.fence
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void scaled_between(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    for (int i = 0; i < 3; i++) {
        MULTIPLY(d, A, B);  // expect scaled_between: missing wgmma.fence
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        for (int j = 0; j < 32; j++)
            d[j] *= 0.5f;  // expect scaled_between: missing wgmma.fence
    }
    write_sums(out, d);
}

__global__ void first_warp_has_none(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};  // perhaps first_warp_has_none: missing wgmma.fence
    if (threadIdx.x >= 32)
        WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect first_warp_has_none: missing wgmma.fence
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void second_tile(const half *in, float *out)  // begins with zeros again, and no fence
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    for (int tile = 0; tile < 2; tile++) {
        for (int k = 0; k < 64; k += 16)
            MULTIPLY(d, A + k, B + k);  // expect second_tile: missing wgmma.fence
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        write_sums(out, d);
        memset(d, 0, sizeof d);  // expect second_tile: missing wgmma.fence
    }
}

__global__ void bias_of_one_lane(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    if (threadIdx.x == 100)
        d[17] = 1;      // expect bias_of_one_lane: missing wgmma.fence
    MULTIPLY(d, A, B);  // expect bias_of_one_lane: missing wgmma.fence
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void fence_of_one_warpgroup(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};  // perhaps fence_of_one_warpgroup: missing wgmma.fence
    if (threadIdx.x < 128)
        WGMMA_FENCE();
    __syncthreads();
    MULTIPLY(d, A, B);  // expect fence_of_one_warpgroup: missing wgmma.fence
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void fence_of_memory_instead(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32];
    for (int i = 0; i < 32; i++)
        d[i] = 0;  // perhaps fence_of_memory_instead: missing wgmma.fence
    FENCE_ASYNC_SHARED();
    MULTIPLY(d, A, B);  // expect fence_of_memory_instead: missing wgmma.fence
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void other_accumulators(const half *in, float *out)  // are written between the fence and their product
{
    OPERANDS(A, B);
    float d[32] = {}, e[32];
    WGMMA_FENCE();
    MULTIPLY(d, A, B);
    WGMMA_COMMIT();
    for (int i = 0; i < 32; i++)
        e[i] = i;       // expect other_accumulators: missing wgmma.fence
    MULTIPLY(e, B, A);  // expect other_accumulators: missing wgmma.fence
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
    write_sums(out, e);
}

__global__ void loaded_by_ptx(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(d[9]) : "l"(in) : "memory");  // expect loaded_by_ptx: missing wgmma.fence
    MULTIPLY(d, A, B);                                                          // expect loaded_by_ptx: missing wgmma.fence
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void leaves_in_flight(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect leaves_in_flight: product unfinished
    WGMMA_COMMIT();
}

__global__ void leaves_uncommitted(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect leaves_uncommitted: product unfinished
    WGMMA_WAIT(0);
}

__global__ void second_warp_leaves(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect second_warp_leaves: product unfinished
    WGMMA_COMMIT();
    if (threadIdx.x / 32 == 1)
        return;
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void warpgroup_without_an_output(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect warpgroup_without_an_output: product unfinished
    WGMMA_COMMIT();
    if (threadIdx.x >= 128)
        return;
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void one_product_too_many(const half *in, float *out)  // is begun ahead, and never used
{
    OPERANDS(A, B);
    float d[2][32] = {};
    WGMMA_FENCE();
    MULTIPLY(d[0], A, B);
    WGMMA_COMMIT();
    for (int i = 0; i < 2; i++) {
        MULTIPLY(d[1], A, B);  // expect one_product_too_many: product unfinished
        WGMMA_COMMIT();
        WGMMA_WAIT(1);
    }
    write_sums(out, d[0]);
}

__global__ void committed_but_the_last(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {}, e[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, B);
    WGMMA_COMMIT();
    MULTIPLY(e, A, B);  // expect committed_but_the_last: product unfinished
    WGMMA_WAIT(0);
    write_sums(out, d);
}

int main(int argc, char **argv)
{
    const struct faulty kernels[] = {
        KERNEL(no_wait, 128),
        KERNEL(no_commit, 128),
        KERNEL(wait_before_commit, 128),
        KERNEL(one_is_left, 128),
        KERNEL(second_pass, 128),
        KERNEL(third_warp, 128),
        KERNEL(last_warp_commits_nothing, 128),
        KERNEL(second_warpgroup, 256),
        KERNEL(cleared, 128),
        KERNEL(rescaled, 128),
        KERNEL(order_of_the_groups, 128),
        KERNEL(in_turns, 128),
        KERNEL(copied_as_a_struct, 128),
        KERNEL(packed_for_the_epilogue, 128),
        KERNEL(tail_of_a_pipeline, 128),
        KERNEL(only_where_k_is_large, 128),
        KERNEL(sums_in_f16, 128),
        KERNEL(sums_as_fragments, 128),
        KERNEL(written_by_ptx, 128),
        KERNEL(read_by_ptx, 128),
        KERNEL(shuffled, 128),
        KERNEL(one_lane_looks, 128),
        KERNEL(total_by_a_pointer, 128),
        KERNEL(no_fence, 128),
        KERNEL(no_fence_and_nothing_written, 128),
        KERNEL(zeros_behind_the_fence, 128),
        KERNEL(scaled_between, 128),
        KERNEL(first_warp_has_none, 128),
        KERNEL(second_tile, 128),
        KERNEL(bias_of_one_lane, 128),
        KERNEL(fence_of_one_warpgroup, 256),
        KERNEL(fence_of_memory_instead, 128),
        KERNEL(other_accumulators, 128),
        KERNEL(loaded_by_ptx, 128),
        KERNEL(leaves_in_flight, 128),
        KERNEL(leaves_uncommitted, 128),
        KERNEL(second_warp_leaves, 128),
        KERNEL(warpgroup_without_an_output, 256),
        KERNEL(one_product_too_many, 128),
        KERNEL(committed_but_the_last, 128),
    };
    return run_named(argc, argv, kernels, sizeof kernels / sizeof *kernels);
}
