// setmaxnreg: what a block gives from one warpgroup to another is what it began with, sooner or later.
#include "right.h"

template <int N> __device__ void take() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N)); }
template <int N> __device__ void give() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N)); }

__global__ void __launch_bounds__(384, 1) producer_and_consumers(int *out)  // 24 + 2 * 240 of 504
{
    if (threadIdx.x < 128)
        give<24>();
    else
        take<240>();
    atomicAdd(out, 1);
}

__global__ void __launch_bounds__(384, 1) the_last_gives(int *out)
{
    if (threadIdx.x >= 256)
        give<24>();
    else
        take<240>();
    atomicAdd(out, 1);
}

__global__ void __launch_bounds__(640, 1) four_consumers(int *out)  // 24 + 4 * 112 of 480
{
    if (threadIdx.x < 128)
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    else
        asm volatile("setmaxnreg.inc.sync.aligned.u32 112;");
    atomicAdd(out, 1);
}

__global__ void __launch_bounds__(384, 1) to_and_fro(int *out)
{
    for (int turn = 0; turn < 3; turn++) {
        if (threadIdx.x < 128)
            give<24>();
        else
            take<240>();
        __syncthreads();
        if (threadIdx.x < 128)
            take<168>();
        else
            give<168>();
        __syncthreads();
    }
    atomicAdd(out, 1);
}

// What is asked for is less than ptxas allows: a thread begins with 128, and `take` changes nothing.
__global__ void __launch_bounds__(384, 1) with_some_to_spare(int *out)
{
    if (threadIdx.x < 128)
        give<40>();
    else
        take<128>();
    atomicAdd(out, 1);
}

__global__ void __launch_bounds__(384, 1) fewer_warps_than_it_may_have(int *out)  // 24 + 256 of 2 * 168
{
    if (threadIdx.x < 128)
        give<24>();
    else
        take<256>();
    atomicAdd(out, 1);
}

__global__ void __launch_bounds__(256, 2) two_blocks_of_an_sm(int *out)  // 24 + 232 of 256
{
    if (threadIdx.x < 128)
        give<24>();
    else
        take<232>();
    atomicAdd(out, 1);
}

__global__ void __launch_bounds__(288, 1) and_one_warp(int *out)  // which keeps what it has; 96 + 240 of 336
{
    if (threadIdx.x < 128)
        give<96>();
    else if (threadIdx.x < 256)
        take<240>();
    atomicAdd(out, 1);
}

template <int MOST> __global__ void __maxnreg__(MOST) of_maxnreg(int *out)  // 24 + 176 + 184 of 384
{
    if (threadIdx.x < 128)
        give<24>();
    else if (threadIdx.x < 256)
        take<176>();
    else
        take<184>();
    atomicAdd(out, 1);
}

int main()
{
    int *out;
    CHECK(cudaMalloc(&out, sizeof *out));
    CHECK(cudaMemset(out, 0, sizeof *out));
    producer_and_consumers<<<5, 384>>>(out);
    the_last_gives<<<5, 384>>>(out);
    four_consumers<<<5, 640>>>(out);
    to_and_fro<<<5, 384>>>(out);
    with_some_to_spare<<<5, 384>>>(out);
    fewer_warps_than_it_may_have<<<5, 256>>>(out);
    two_blocks_of_an_sm<<<5, 256>>>(out);
    and_one_warp<<<5, 288>>>(out);
    of_maxnreg<125><<<5, 384>>>(out);
    SAME(to_host(out, 1)[0], 5 * (4 * 384 + 640 + 2 * 256 + 288 + 384));
    return 0;
}
