// A tile of two warps.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void sums(int *out)
{
    __shared__ cg::block_tile_memory<128> scratch;  // expect: block_tile_memory
    auto block = cg::this_thread_block(scratch);
    auto tile = cg::tiled_partition<64>(block);
    out[threadIdx.x] = tile.thread_rank();
}

int main(void)
{
    int *out;
    cudaMalloc(&out, 128 * sizeof *out);
    sums<<<1, 128>>>(out);
    return cudaDeviceSynchronize();
}
