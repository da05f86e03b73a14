// setmaxnreg: registers that a block has not, numbers that go the wrong way, warps that do not come; and what is noted.
#include "named.h"

template <int N> __device__ void take() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N)); }
template <int N> __device__ void give() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N)); }

// 480 for five warpgroups, and 24 + 4 * 120 = 504 are asked for: three get theirs.
__global__ void __launch_bounds__(640, 1) four_consumers(int *out)
{
    if (threadIdx.x < 128)
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    else
        asm volatile("setmaxnreg.inc.sync.aligned.u32 120;");  // expect four_consumers: register deadlock
    out[threadIdx.x] = 1;
}

// The consumer waits for registers, the producer for the consumer.
__global__ void __launch_bounds__(256, 2) producer_keeps_all(int *out)
{
    if (threadIdx.x >= 128)
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");  // expect producer_keeps_all: register deadlock
    asm volatile("bar.sync 1, 256;");                          // expect producer_keeps_all: register deadlock
    out[threadIdx.x] = 1;
}

__global__ void __launch_bounds__(384, 1) producer_leaves(int *out)
{
    if (threadIdx.x < 128)
        return;
    if (threadIdx.x < 256)
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");  // expect producer_leaves: register deadlock
    out[threadIdx.x] = 1;
}

__global__ void __maxnreg__(125) of_maxnreg(int *out)
{
    if (threadIdx.x < 128)
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    else
        asm volatile("setmaxnreg.inc.sync.aligned.u32 184;");  // expect of_maxnreg: register deadlock
    out[threadIdx.x] = 1;
}

// The ninth warp keeps what it has.
__global__ void __launch_bounds__(288, 1) an_odd_warp(int *out)
{
    if (threadIdx.x < 128)
        asm volatile("setmaxnreg.dec.sync.aligned.u32 104;");
    else if (threadIdx.x < 256)
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");  // expect an_odd_warp: register deadlock
    out[threadIdx.x] = 1;
}

__global__ void __launch_bounds__(384, 1) gives_more_than_it_has(int *out)
{
    if (out[0])
        take<240>();
    asm volatile("setmaxnreg.dec.sync.aligned.u32 200;");  // expect gives_more_than_it_has: invalid register count
    out[threadIdx.x] = 1;
}

__global__ void __launch_bounds__(384, 1) takes_less_than_it_has(int *out)
{
    if (threadIdx.x < 128)
        asm volatile("setmaxnreg.inc.sync.aligned.u32 40;");  // expect takes_less_than_it_has: invalid register count
    else
        take<232>();
    out[threadIdx.x] = 1;
}

__global__ void __launch_bounds__(384, 1) takes_less_than_before(int *out)
{
    if (out[0])
        take<168>();
    give<120>();
    asm volatile("setmaxnreg.inc.sync.aligned.u32 96;");  // expect takes_less_than_before: invalid register count
    out[threadIdx.x] = 1;
}

__global__ void __launch_bounds__(384, 1) gives_up_again(int *out)
{
    if (out[0])
        take<168>();
    give<40>();
    asm volatile("setmaxnreg.dec.sync.aligned.u32 48;");  // expect gives_up_again: invalid register count
    out[threadIdx.x] = 1;
}

__global__ void __launch_bounds__(128, 1) one_warp(int *out)
{
    if (threadIdx.x < 32)
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");  // expect one_warp: divergent collective
    out[threadIdx.x] = 1;
}

__global__ void __launch_bounds__(128, 1) two_numbers(int *out)
{
    if (threadIdx.x < 64)
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");  // expect two_numbers: divergent collective
    else
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");  // expect two_numbers: divergent collective
    out[threadIdx.x] = 1;
}

__global__ void __launch_bounds__(160, 1) no_warpgroup(int *out)
{
    if (threadIdx.x >= 128)
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");  // expect no_warpgroup: divergent collective
    out[threadIdx.x] = 1;
}

// ptxas ignores it: it cannot tell with how many registers a thread begins.
__global__ void __launch_bounds__(256) one_number(int *out)
{
    if (threadIdx.x < 128)
        asm volatile("setmaxnreg.inc.sync.aligned.u32 256;");  // noted
    out[threadIdx.x] = 1;
}

int main(int argc, char **argv)
{
    const struct named kernels[] = {
        KERNEL(four_consumers, 640),
        KERNEL(producer_keeps_all, 256),
        KERNEL(producer_leaves, 384),
        KERNEL(of_maxnreg, 384),
        KERNEL(an_odd_warp, 288),
        KERNEL(gives_more_than_it_has, 384),
        KERNEL(takes_less_than_it_has, 384),
        KERNEL(takes_less_than_before, 384),
        KERNEL(gives_up_again, 384),
        KERNEL(one_warp, 128),
        KERNEL(two_numbers, 128),
        KERNEL(no_warpgroup, 160),
        KERNEL(one_number, 256),
    };
    return run_named(argc, argv, kernels, sizeof kernels / sizeof *kernels);
}
