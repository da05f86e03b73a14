// A tile, whose size its type says, where any group is taken.
#include <cooperative_groups.h>
#include "right.h"
namespace cg = cooperative_groups;

__device__ int sum_of_ranks(cg::thread_group group, int *place)
{
    int value = (int)group.thread_rank();
    for (unsigned half = (unsigned)group.size() / 2; half > 0; half /= 2) {
        place[group.thread_rank()] = value;
        group.sync();
        if (group.thread_rank() < half)
            value += place[group.thread_rank() + half];
        group.sync();
    }
    return value;
}

__global__ void sums(int *out)
{
    __shared__ int place[64];
    cg::thread_block block = cg::this_thread_block();
    int all = sum_of_ranks(block, place);
    block.sync();
    cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
    int part = sum_of_ranks(tile, place + block.thread_rank() / 16 * 16);
    if (tile.thread_rank() == 0)
        out[block.thread_rank() / 16] = part;
    if (block.thread_rank() == 0)
        out[4] = all;
}

int main()
{
    int *out = to_device<int>(NULL, 5), got[5];
    sums<<<1, 64>>>(out);
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 4; i++)
        SAME(got[i], 120);
    SAME(got[4], 2016);
    finish();
    return 0;
}
