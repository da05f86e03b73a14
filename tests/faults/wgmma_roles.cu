// Warpgroups with roles: registers that are given to the wrong ones or not at all, named barriers with the wrong number or count. The first
// argument picks the kernel; a comment `expect NAME: KIND` marks a line that the report on it must name. tests/right/wgmma_rings.cu
// has the right ways.

#include "wgmma_operands.h"

#define THREE_WARPGROUPS __launch_bounds__(384, 1)  // 168 registers a thread, 504 for the three

static __device__ __forceinline__ void multiply(const half *in, float *out)
{
    __shared__ alignas(1024) half A[TILE], B[TILE];
    for (int i = threadIdx.x % 128; i < TILE; i += 128)
        if (threadIdx.x / 128 == 1)
            A[i] = B[i] = in[i];
    FENCE_ASYNC_SHARED();
    NAMED_SYNC(7, 256);  // perhaps more_than_there_is: register deadlock
    float d[32] = {};
    stay(d);
    WGMMA_FENCE();
    MULTIPLY(d, A, B);
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    stay(d);
    write_sums(out, d);
}

__global__ void THREE_WARPGROUPS more_than_there_is(const half *in, float *out)  // 40 + 2 * 240 = 520
{
    if (threadIdx.x < 128) {
        SETMAXNREG_DEC(40);
    } else {
        SETMAXNREG_INC(240);  // expect more_than_there_is: register deadlock
        multiply(in, out);
    }
}

__global__ void THREE_WARPGROUPS nobody_gives(const half *in, float *out)
{
    if (threadIdx.x >= 128) {
        SETMAXNREG_INC(232);  // expect nobody_gives: register deadlock
        multiply(in, out);
    }
}

__global__ void THREE_WARPGROUPS three_consumers(const half *in, float *out)  // each takes what two could have
{
    SETMAXNREG_INC(240);  // expect three_consumers: register deadlock
    multiply(in, out);
}

__global__ void __launch_bounds__(640, 1) five_warpgroups(const half *in, float *out)  // of 96: 480, and not 24 + 4 * 120
{
    if (threadIdx.x < 128)
        SETMAXNREG_DEC(24);
    else
        SETMAXNREG_INC(120);  // expect five_warpgroups: register deadlock
    out[threadIdx.x] = 0;
}

__global__ void THREE_WARPGROUPS producer_has_left(const half *in, float *out)  // with what it should have given
{
    if (threadIdx.x < 128)
        return;
    SETMAXNREG_INC(232);  // expect producer_has_left: register deadlock
    multiply(in, out);
}

__global__ void THREE_WARPGROUPS given_too_little(const half *in, float *out)  // 48 + 2 * 232 = 512
{
    if (threadIdx.x / 128 == 0)
        SETMAXNREG_DEC(48);
    else
        SETMAXNREG_INC(232);  // expect given_too_little: register deadlock
    out[threadIdx.x] = 0;
}

__global__ void THREE_WARPGROUPS one_warp_gives(const half *in, float *out)
{
    if (threadIdx.x < 32)
        SETMAXNREG_DEC(40);  // perhaps one_warp_gives: divergent collective
    __syncwarp();
    if (threadIdx.x >= 128) {
        SETMAXNREG_INC(232);  // perhaps one_warp_gives: divergent collective
        multiply(in, out);
    }
}

__global__ void THREE_WARPGROUPS three_warps_take(const half *in, float *out)
{
    if (threadIdx.x < 128)
        SETMAXNREG_DEC(40);
    else if (threadIdx.x / 32 != 5)
        SETMAXNREG_INC(232);  // expect three_warps_take: divergent collective
    out[threadIdx.x] = 0;
}

__global__ void THREE_WARPGROUPS a_warp_takes_none(const half *in, float *out)  // and is at the product before the others
{
    __shared__ alignas(1024) half A[TILE], B[TILE];
    float d[32] = {};
    if (threadIdx.x < 128) {
        SETMAXNREG_DEC(40);
        NAMED_SYNC(1, 384);  // perhaps a_warp_takes_none: divergent collective
        return;
    }
    if (threadIdx.x / 32 != 5)
        SETMAXNREG_INC(232);  // expect a_warp_takes_none: divergent collective
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect a_warp_takes_none: divergent collective
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    NAMED_SYNC(1, 384);  // perhaps a_warp_takes_none: divergent collective
    write_sums(out, d);
}

__global__ void THREE_WARPGROUPS warps_disagree(const half *in, float *out)  // of one warpgroup
{
    if (threadIdx.x < 64)
        SETMAXNREG_DEC(40);  // expect warps_disagree: divergent collective
    else if (threadIdx.x < 128)
        SETMAXNREG_DEC(24);  // expect warps_disagree: divergent collective
    else
        SETMAXNREG_INC(232);  // perhaps warps_disagree: divergent collective
    out[threadIdx.x] = 0;
}

__global__ void THREE_WARPGROUPS gives_more_than_it_has(const half *in, float *out)
{
    if (threadIdx.x < 128) {
        SETMAXNREG_DEC(40);
        SETMAXNREG_DEC(56);  // expect gives_more_than_it_has: invalid register count
    } else {
        SETMAXNREG_INC(232);
    }
    out[threadIdx.x] = 0;
}

__global__ void THREE_WARPGROUPS takes_less_than_it_has(const half *in, float *out)
{
    if (threadIdx.x < 128) {
        SETMAXNREG_DEC(40);
    } else {
        SETMAXNREG_INC(232);
        SETMAXNREG_INC(160);  // expect takes_less_than_it_has: invalid register count
    }
    out[threadIdx.x] = 0;
}

// Turns of two warpgroups: each waits for its own barrier, and arrives at the other's.
#define TURNS(MINE, OTHERS, COUNT) \
    float d[32] = {}; \
    int group = threadIdx.x / 128; \
    for (int i = 0; i < 2; i++) { \
        NAMED_SYNC(MINE, COUNT); \
        stay(d); \
        WGMMA_FENCE(); \
        MULTIPLY(d, A, B); \
        WGMMA_COMMIT(); \
        WGMMA_WAIT(0); \
        NAMED_ARRIVE(OTHERS, COUNT); \
    } \
    write_sums(out, d)

__global__ void nobody_has_the_first_turn(const half *in, float *out)
{
    OPERANDS(A, B);
    TURNS(1 + group, 2 - group, 256);  // expect nobody_has_the_first_turn: barrier deadlock
}

__global__ void count_of_one_warpgroup(const half *in, float *out)  // so that nobody waits for the other, and the tile is free too early
{
    OPERANDS(A, B);
    float d[32] = {};
    for (int i = 0; i < 2; i++) {
        stay(d);
        WGMMA_FENCE();
        MULTIPLY(d, A, B);  // expect count_of_one_warpgroup: race in shared memory
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        NAMED_SYNC(1 + threadIdx.x / 128, 128);
        if (threadIdx.x >= 128)
            A[threadIdx.x] = in[i];  // expect count_of_one_warpgroup: race in shared memory
        FENCE_ASYNC_SHARED();
        NAMED_SYNC(3, 256);
    }
    write_sums(out, d);
}

__global__ void number_of_another_pair(const half *in, float *out)  // both warpgroups' warps meet in it, and it is over too early
{
    __shared__ float sums[2][128];
    OPERANDS(A, B);
    float d[32] = {};
    int group = threadIdx.x / 128;
    stay(d);
    WGMMA_FENCE();
    MULTIPLY(d, A, B);
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    stay(d);
    if (threadIdx.x % 64 >= 32)
        sums[group][threadIdx.x % 128] = d[0];  // expect number_of_another_pair: race in shared memory
    NAMED_SYNC(4 + threadIdx.x / 64 % 2, 128);  // the halves of the two, where the two halves are meant
    if (threadIdx.x % 64 < 32)
        out[threadIdx.x] = sums[group][(threadIdx.x + 96) % 128];  // expect number_of_another_pair: race in shared memory
}

__global__ void producer_takes_no_part(const half *in, float *out)  // in the epilogue's barrier, whose count has it
{
    OPERANDS(A, B);
    if (threadIdx.x >= 256)
        return;
    float d[32] = {};
    stay(d);
    WGMMA_FENCE();
    MULTIPLY(d, A, B);
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    stay(d);
    NAMED_SYNC(2, 384);  // expect producer_takes_no_part: barrier deadlock
    write_sums(out, d);
}

__global__ void barrier_sixteen(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    int group = threadIdx.x / 128;
    for (int i = 0; i < 2; i++) {
        NAMED_SYNC(15 + group, 128);  // expect barrier_sixteen: invalid barrier
        stay(d);
        WGMMA_FENCE();
        MULTIPLY(d, A, B);
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
    }
    write_sums(out, d);
}

__global__ void count_of_warps(const half *in, float *out)  // where threads are meant
{
    OPERANDS(A, B);
    float d[32] = {};
    stay(d);
    WGMMA_FENCE();
    MULTIPLY(d, A, B);
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    NAMED_SYNC(1, 8);  // expect count_of_warps: invalid barrier
    write_sums(out, d);
}

int main(int argc, char **argv)
{
    const struct faulty kernels[] = {
        KERNEL(more_than_there_is, 384),
        KERNEL(nobody_gives, 384),
        KERNEL(three_consumers, 384),
        KERNEL(five_warpgroups, 640),
        KERNEL(producer_has_left, 384),
        KERNEL(given_too_little, 384),
        KERNEL(one_warp_gives, 384),
        KERNEL(three_warps_take, 384),
        KERNEL(a_warp_takes_none, 384),
        KERNEL(warps_disagree, 384),
        KERNEL(gives_more_than_it_has, 384),
        KERNEL(takes_less_than_it_has, 384),
        KERNEL(nobody_has_the_first_turn, 256),
        KERNEL(count_of_one_warpgroup, 256),
        KERNEL(number_of_another_pair, 256),
        KERNEL(producer_takes_no_part, 384),
        KERNEL(barrier_sixteen, 256),
        KERNEL(count_of_warps, 256),
    };
    return run_named(argc, argv, kernels, sizeof kernels / sizeof *kernels);
}
