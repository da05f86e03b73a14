// Products that the four warps of a warpgroup do not issue as one: another descriptor, another order, another instruction, or none.
// The first argument picks the kernel; a comment `expect NAME: KIND` marks a line that the report on it must name.

#include "wgmma_operands.h"

__global__ void rows_of_each_warp(const half *in, float *out)  // a descriptor is of all 64 rows, not of the warp's 16
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A + threadIdx.x / 32 * 16 * 64, B);  // expect rows_of_each_warp: divergent collective
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void lane_seven(const half *in, float *out)  // has another tile of B
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, threadIdx.x == 71 ? A : B);  // expect lane_seven: divergent collective
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void stages_of_two_warps(const half *in, float *out)  // are one apart in the third pass
{
    OPERANDS(A, B);
    float d[32] = {};
    int stage = 0;
    WGMMA_FENCE();
    for (int i = 0; i < 4; i++) {
        MULTIPLY(d, A + stage * 16, B);  // expect stages_of_two_warps: divergent collective
        stage = (i == 1 && threadIdx.x / 32 == 1) ? 0 : stage + 1;
    }
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void scale_of_one_warp(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    WGMMA_SS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, 1, 0, 0", d, descriptor_128(A), descriptor_128(B), threadIdx.x >= 32);  // expect scale_of_one_warp: divergent collective
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void fourth_warp_is_absent(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    if (threadIdx.x < 96) {
        WGMMA_FENCE();
        MULTIPLY(d, A, B);  // expect fourth_warp_is_absent: barrier deadlock
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
    }
    __syncthreads();  // perhaps fourth_warp_is_absent: barrier deadlock
    write_sums(out, d);
}

__global__ void half_a_warpgroup(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect half_a_warpgroup: divergent collective
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void behind_a_producer_warp(const half *in, float *out)  // a warpgroup begins at a warp that is a multiple of four
{
    OPERANDS(A, B);
    if (threadIdx.x < 32)
        return;
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect behind_a_producer_warp: divergent collective
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    out[threadIdx.x] = d[0];
}

__global__ void order_of_two(const half *in, float *out)  // in the third warp it is the other way round
{
    OPERANDS(A, B);
    float d[32] = {}, e[32] = {};
    WGMMA_FENCE();
    for (int i = 0; i < 2; i++)
        if (i == (threadIdx.x / 32 == 2))
            MULTIPLY(d, A, B);  // expect order_of_two: divergent collective
        else
            MULTIPLY(e, A + 16, B + 16);  // expect order_of_two: divergent collective
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
    write_sums(out, e);
}

__global__ void elected_thread_multiplies(const half *in, float *out)  // as if it were a bulk copy
{
    OPERANDS(A, B);
    float d[32] = {};
    if (threadIdx.x == 0) {
        WGMMA_FENCE();      // perhaps elected_thread_multiplies: barrier deadlock
        MULTIPLY(d, A, B);  // perhaps elected_thread_multiplies: barrier deadlock
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
    }
    __syncthreads();  // perhaps elected_thread_multiplies: barrier deadlock
    out[threadIdx.x] = d[0];
}

__global__ void one_lane_skips(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    if (threadIdx.x != 45)
        MULTIPLY(d, A, B);  // expect one_lane_skips: divergent collective
    WGMMA_COMMIT();         // perhaps one_lane_skips: divergent collective
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void one_step_fewer(const half *in, float *out)  // of the first warp
{
    OPERANDS(A, B);
    float d[32] = {};
    int steps = threadIdx.x < 32 ? 3 : 4;
    WGMMA_FENCE();
    for (int i = 0; i < steps; i++)
        MULTIPLY(d, A + i * 16, B + i * 16);  // expect one_step_fewer: divergent collective
    WGMMA_COMMIT();                           // perhaps one_step_fewer: divergent collective
    WGMMA_WAIT(0);
    write_sums(out, d);  // perhaps one_step_fewer: divergent collective
}

__global__ void signs_differ(const half *in, float *out)  // so do the instructions
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    if (threadIdx.x < 64)
        MULTIPLY(d, A, B);  // expect signs_differ: divergent collective
    else
        WGMMA_SS("m64n64k16.f32.f16.f16", 32, "+f", ", -1, 1, 0, 0", d, descriptor_128(A), descriptor_128(B), 1);  // expect signs_differ: divergent collective
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void in_two_branches(const half *in, float *out)  // the same, at two places of the program
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    if (threadIdx.x / 32 % 2)
        MULTIPLY(d, A, B);  // expect in_two_branches: divergent collective
    else
        MULTIPLY(d, A, B);  // expect in_two_branches: divergent collective
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void shapes_differ(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    if (threadIdx.x < 32)
        WGMMA_SS("m64n32k16.f32.f16.f16", 16, "+f", ", 1, 1, 0, 0", d, descriptor_128(A), descriptor_128(B), 1);  // expect shapes_differ: divergent collective
    else
        MULTIPLY(d, A, B);  // expect shapes_differ: divergent collective
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void second_warpgroup_lacks_a_warp(const half *in, float *out)  // it has left
{
    OPERANDS(A, B);
    float d[32] = {};
    if (threadIdx.x / 32 == 6)
        return;
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect second_warpgroup_lacks_a_warp: divergent collective
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void rows_beyond_the_edge(const half *in, float *out)  // are skipped by the warps that have them
{
    OPERANDS(A, B);
    float d[32] = {};
    int rows = 40;
    if ((int)threadIdx.x / 32 * 16 < rows) {
        WGMMA_FENCE();
        MULTIPLY(d, A, B);  // expect rows_beyond_the_edge: divergent collective
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        write_sums(out, d);
    }
}

int main(int argc, char **argv)
{
    const struct faulty kernels[] = {
        KERNEL(rows_of_each_warp, 128),
        KERNEL(lane_seven, 128),
        KERNEL(stages_of_two_warps, 128),
        KERNEL(scale_of_one_warp, 128),
        KERNEL(fourth_warp_is_absent, 128),
        KERNEL(half_a_warpgroup, 64),
        KERNEL(behind_a_producer_warp, 160),
        KERNEL(order_of_two, 128),
        KERNEL(elected_thread_multiplies, 128),
        KERNEL(one_lane_skips, 128),
        KERNEL(one_step_fewer, 128),
        KERNEL(signs_differ, 128),
        KERNEL(in_two_branches, 128),
        KERNEL(shapes_differ, 128),
        KERNEL(second_warpgroup_lacks_a_warp, 256),
        KERNEL(rows_beyond_the_edge, 128),
    };
    return run_named(argc, argv, kernels, sizeof kernels / sizeof *kernels);
}
