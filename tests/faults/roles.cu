// Warps of a block that do different things. The first argument picks the kernel; `expect NAME: KIND` marks the lines that
// the report must name. What two_syncthreads does is noted.

#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <string.h>

namespace cg = cooperative_groups;

__device__ void meet(int barrier) { asm volatile("bar.sync %0, 64;" ::"r"(barrier) : "memory"); }
__device__ void arrive(int barrier) { asm volatile("bar.arrive %0, 64;" ::"r"(barrier) : "memory"); }

__global__ void refilled_too_early(int *out)
{
    __shared__ int slot[32];
    int t = threadIdx.x, lane = t % 32, sum = 0;
    for (int i = 0; i < 3; i++) {
        if (t < 32) {
            slot[lane] = i;  // expect refilled_too_early: race in shared memory
            arrive(1);
        } else {
            meet(1);
            sum += slot[31 - lane];  // expect refilled_too_early: race in shared memory
        }
    }
    out[t] = sum;
}

__global__ void written_behind_the_arrival(int *out)
{
    __shared__ int slot[32];
    int t = threadIdx.x;
    if (t < 32) {
        arrive(1);
        slot[t] = t;  // expect written_behind_the_arrival: race in shared memory
    } else {
        meet(1);
        out[t] = slot[t - 32];  // expect written_behind_the_arrival: race in shared memory
    }
}

__global__ void arrives_at_two_lines(int *out)
{
    int t = threadIdx.x;
    if (t < 16)
        asm volatile("bar.arrive 1, 64;" ::: "memory");  // expect arrives_at_two_lines: divergent barrier
    else if (t < 32)
        asm volatile("bar.arrive 1, 64;" ::: "memory");  // expect arrives_at_two_lines: divergent barrier
    else
        meet(1);
    out[t] = 1;
}

__global__ void left_before(int *out)  // who has left is not synchronised with
{
    __shared__ int s[96];
    int t = threadIdx.x;
    s[t] = t;  // expect left_before: race in shared memory
    if (t >= 64)
        return;
    meet(2);
    out[t] = s[95 - t];  // expect left_before: race in shared memory
}

__global__ void between_the_halves(int *out)
{
    __shared__ int s[96];
    auto block = cg::this_thread_block();
    int t = threadIdx.x;
    auto token = block.barrier_arrive();
    s[t] = 3 * t;  // expect between_the_halves: race in shared memory
    block.barrier_wait(std::move(token));
    out[t] = s[95 - t];  // expect between_the_halves: race in shared memory
}

__global__ void read_between_the_halves(int *out)
{
    __shared__ int s[96];
    auto block = cg::this_thread_block();
    int t = threadIdx.x;
    s[t] = t;
    block.sync();
    auto token = block.barrier_arrive();
    int v = s[95 - t];  // expect read_between_the_halves: race in shared memory
    block.barrier_wait(std::move(token));
    s[t] = v;  // expect read_between_the_halves: race in shared memory
    block.sync();
    out[t] = s[t];
}

__global__ void between_the_grids_halves(int *out)
{
    auto grid = cg::this_grid();
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    auto token = grid.barrier_arrive();
    out[i] = i;  // expect between_the_grids_halves: race in global memory
    grid.barrier_wait(std::move(token));
    out[i + n] = out[n - 1 - i];  // expect between_the_grids_halves: race in global memory
}

__global__ void counts_differ(int *out)
{
    int t = threadIdx.x;
    if (t < 32)
        asm volatile("bar.arrive 1, 96;" ::: "memory");
    else
        asm volatile("bar.sync 1, 64;" ::: "memory");  // expect counts_differ: invalid barrier
    out[t] = 1;
}

__global__ void polls_for_ever(int *out)  // for one that waits in a barrier
{
    int t = threadIdx.x;
    if (t < 32)
        meet(1);
    else
        while (atomicAdd(&out[100], 0) == 0)  // expect polls_for_ever: endless kernel, in number
            ;                                 // perhaps polls_for_ever: endless kernel
    atomicAdd(&out[100], 1);
}

__global__ void another_tile(int *out)
{
    __shared__ cg::block_tile_memory<128> memory;
    __shared__ int s[128];
    auto tile = cg::tiled_partition<64>(cg::this_thread_block(memory));
    int t = threadIdx.x;
    s[t] = t;  // expect another_tile: race in shared memory
    tile.sync();
    out[t] = s[127 - t];  // expect another_tile: race in shared memory
}

__global__ void half_a_tile(int *out)
{
    __shared__ cg::block_tile_memory<128> memory;
    auto tile = cg::tiled_partition<64>(cg::this_thread_block(memory));
    if (threadIdx.x < 32)
        tile.sync();  // expect half_a_tile: barrier deadlock, in tile
    out[threadIdx.x] = 1;
}

__global__ void two_syncthreads(int *out)
{
    if (threadIdx.x < 32) {
        out[threadIdx.x] = 1;
        __syncthreads();  // noted
    } else {
        __syncthreads();  // noted
        out[threadIdx.x] = 2;
    }
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int *out;
    cudaMalloc(&out, 512 * sizeof(int));
    cudaMemset(out, 0, 512 * sizeof(int));
    struct {
        const char *name;
        void (*kernel)(int *);
        int threads;
    } kernels[] = {
#define KERNEL(NAME, THREADS) {#NAME, NAME, THREADS}
        KERNEL(refilled_too_early, 64),
        KERNEL(written_behind_the_arrival, 64),
        KERNEL(arrives_at_two_lines, 64),
        KERNEL(left_before, 96),
        KERNEL(between_the_halves, 96),
        KERNEL(read_between_the_halves, 96),
        KERNEL(counts_differ, 96),
        KERNEL(polls_for_ever, 64),
        KERNEL(another_tile, 128),
        KERNEL(half_a_tile, 128),
        KERNEL(two_syncthreads, 96),
    };
    for (auto k : kernels)
        if (strcmp(name, k.name) == 0)
            k.kernel<<<1, k.threads>>>(out);
    void *arguments[] = {&out};
    if (strcmp(name, "between_the_grids_halves") == 0)
        cudaLaunchCooperativeKernel((const void *)between_the_grids_halves, dim3(4), dim3(32), arguments, 0, 0);
    return cudaDeviceSynchronize();
}
