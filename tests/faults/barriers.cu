// Threads of a block that wait for each other in different places. The first argument picks the kernel; `expect NAME:
// KIND` marks the lines where they wait, all of which the report must name.

#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <string.h>

namespace cg = cooperative_groups;

__global__ void warp_and_block(float *out)
{
    if (threadIdx.x < 16)
        __syncwarp();  // expect warp_and_block: barrier deadlock
    else
        __syncthreads();  // expect warp_and_block: barrier deadlock
    out[threadIdx.x] = 1;
}

__global__ void shuffle_and_block(float *out)
{
    float v = threadIdx.x;
    if (threadIdx.x < 16)
        v = __shfl_xor_sync(0xffffffff, v, 16);  // expect shuffle_and_block: barrier deadlock
    else
        __syncthreads();  // expect shuffle_and_block: barrier deadlock
    out[threadIdx.x] = v;
}

__global__ void two_branches(float *out)
{
    if (threadIdx.x % 2 == 0) {
        out[threadIdx.x] = 1;
        __syncthreads();  // expect two_branches: divergent barrier
    } else {
        __syncthreads();  // expect two_branches: divergent barrier
        out[threadIdx.x] = 2;
    }
}

__global__ void two_instructions(float *out)
{
    if (threadIdx.x % 2 == 0) {
        out[threadIdx.x] = 1;
        asm volatile("bar.sync 0;" ::: "memory");  // expect two_instructions: divergent barrier
    } else {
        asm volatile("bar.sync 0;" ::: "memory");  // expect two_instructions: divergent barrier
        out[threadIdx.x] = 2;
    }
}

__global__ void two_named(float *out)  // .aligned on one side only
{
    if (threadIdx.x % 32 < 16) {
        out[threadIdx.x] = 1;
        asm volatile("barrier.sync 3, 64;" ::: "memory");  // expect two_named: divergent barrier
    } else {
        asm volatile("bar.sync 3, 64;" ::: "memory");  // expect two_named: divergent barrier
        out[threadIdx.x] = 2;
    }
}

__device__ void meet() { __syncthreads(); }  // expect two_calls: divergent barrier

__global__ void two_calls(float *out)
{
    if (threadIdx.x % 2 == 0) {
        out[threadIdx.x] = 1;
        meet();
    } else {
        meet();
        out[threadIdx.x] = 2;
    }
}

__global__ void trip_counts(float *out)
{
    int trips = threadIdx.x % 32 == 0 ? 1 : 2;
    for (int i = 0; i < trips; i++)
        __syncthreads();  // expect trip_counts: divergent barrier
    out[threadIdx.x] = 1;
    __syncthreads();  // expect trip_counts: divergent barrier
}

__global__ void leaves_a_loop(float *out)
{
    for (int i = 0; i <= threadIdx.x % 4; i++) {
        out[threadIdx.x] = i;
        __syncthreads();  // expect leaves_a_loop: divergent barrier, in left
    }
}

__global__ void leaves_another_loop(float *out)
{
    for (int i = 0;; i++) {
        out[threadIdx.x] = i;
        asm volatile("bar.sync 1, 64;" ::: "memory");  // expect leaves_another_loop: divergent barrier, in left
        if (i == threadIdx.x % 2)
            return;
    }
}

__global__ void arrives_twice(float *out)
{
    auto block = cg::this_thread_block();
    auto token = block.barrier_arrive();
    auto other = block.barrier_arrive();  // expect arrives_twice: invalid barrier
    block.barrier_wait(std::move(token));
    block.barrier_wait(std::move(other));
    out[threadIdx.x] = 1;
}

__global__ void half_a_warp(float *out)
{
    asm volatile("bar.sync 1, %0;" ::"r"(blockDim.x - 16) : "memory");  // expect half_a_warp: invalid barrier, in half_a_warp
    out[threadIdx.x] = 1;
}

__device__ void wait_for_producers(int n) { asm volatile("bar.sync 5, %0;" ::"r"(n) : "memory"); }  // expect in_a_helper: barrier deadlock, in number

__global__ void in_a_helper(float *out)
{
    wait_for_producers(96);  // in_a_helper calls
    out[threadIdx.x] = 1;
}

static int is(const char *argument, const char *name) { return strcmp(argument, name) == 0; }

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    float *out;
    cudaMalloc(&out, 64 * sizeof(float));
    if (is(name, "warp_and_block"))
        warp_and_block<<<1, 32>>>(out);
    if (is(name, "shuffle_and_block"))
        shuffle_and_block<<<1, 32>>>(out);
    if (is(name, "two_branches"))
        two_branches<<<1, 64>>>(out);
    if (is(name, "two_instructions"))
        two_instructions<<<1, 64>>>(out);
    if (is(name, "two_named"))
        two_named<<<1, 64>>>(out);
    if (is(name, "two_calls"))
        two_calls<<<1, 64>>>(out);
    if (is(name, "leaves_a_loop"))
        leaves_a_loop<<<1, 64>>>(out);
    if (is(name, "leaves_another_loop"))
        leaves_another_loop<<<1, 64>>>(out);
    if (is(name, "arrives_twice"))
        arrives_twice<<<1, 64>>>(out);
    if (is(name, "half_a_warp"))
        half_a_warp<<<1, 64>>>(out);
    if (is(name, "in_a_helper"))
        in_a_helper<<<1, 64>>>(out);
    if (is(name, "trip_counts"))
        trip_counts<<<1, 64>>>(out);
    return cudaDeviceSynchronize();
}
