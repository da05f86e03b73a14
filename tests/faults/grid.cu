// The grid's barrier: asked for where it is none, missed, and missing. The first argument picks the fault.
#include <cooperative_groups.h>
#include <string.h>

namespace cg = cooperative_groups;

__global__ void ordinary_launch(int *out)
{
    out[blockIdx.x] = 1;
    cg::this_grid().sync();  // expect ordinary_launch: grid barrier in an ordinary launch
}

__global__ void a_block_leaves(int *out)
{
    if (blockIdx.x == 2)
        return;
    cg::this_grid().sync();  // expect a_block_leaves: barrier deadlock, in ended
    out[blockIdx.x] = 1;
}

__global__ void once_too_often(int *out)
{
    for (int i = 0; i < 2 + (blockIdx.x == 0); i++)
        cg::this_grid().sync();  // expect once_too_often: barrier deadlock
}

__global__ void two_barriers(int *out)
{
    if (threadIdx.x < 32)
        cg::this_grid().sync();  // expect two_barriers: barrier deadlock
    else
        __syncthreads();  // expect two_barriers: barrier deadlock
}

__global__ void no_barrier(int *out)
{
    out[blockIdx.x] = blockIdx.x;                  // expect no_barrier: race in global memory
    int next = out[(blockIdx.x + 1) % gridDim.x];  // expect no_barrier: race in global memory
    cg::this_grid().sync();
    out[blockIdx.x] = next;
}

__global__ void one_too_few(int *out)
{
    cg::grid_group grid = cg::this_grid();
    for (int round = 0; round < 3; round++) {
        int next = out[(blockIdx.x + 1) % gridDim.x];  // expect one_too_few: race in global memory
        grid.sync();
        out[blockIdx.x] = next;  // expect one_too_few: race in global memory
    }
}

static int launch(void (*kernel)(int *), const char *name, const char *wanted, int *out)
{
    void *arguments[] = {&out};
    if (strcmp(name, wanted) == 0)
        cudaLaunchCooperativeKernel((void *)kernel, dim3(8), dim3(64), arguments, 0, 0);
    return 0;
}

__global__ void odd_parts(int *out)
{
    cg::thread_group part = cg::tiled_partition(cg::this_thread_block(), 12);  // expect odd_parts: invalid partition
    out[threadIdx.x] = part.size();
}

__global__ void divided_tile(int *out)
{
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    if (tile.thread_rank() < 8)
        out[threadIdx.x] = tile.shfl(3, 0);  // expect divided_tile: divergent collective
    else
        tile.sync();  // expect divided_tile: divergent collective
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int *out;
    cudaMalloc(&out, 64 * sizeof(int));
    cudaMemset(out, 0, 64 * sizeof(int));
    if (strcmp(name, "ordinary_launch") == 0)
        ordinary_launch<<<2, 32>>>(out);
    if (strcmp(name, "odd_parts") == 0)
        odd_parts<<<1, 64>>>(out);
    if (strcmp(name, "divided_tile") == 0)
        divided_tile<<<1, 32>>>(out);
    launch(a_block_leaves, name, "a_block_leaves", out);
    launch(once_too_often, name, "once_too_often", out);
    launch(two_barriers, name, "two_barriers", out);
    launch(no_barrier, name, "no_barrier", out);
    launch(one_too_few, name, "one_too_few", out);
    return cudaDeviceSynchronize();
}
