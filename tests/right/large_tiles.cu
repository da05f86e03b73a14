// Groups of several warps: barriers, shuffles, votes, reductions and scans of 64 to 512 threads, and parts of them.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include "right.h"

namespace cg = cooperative_groups;

struct result {
    int other, sum, greatest, third, inclusive, exclusive, votes, in_warp, halves, once, number;
};

template <unsigned Size> __global__ void together(result *out, int *calls)
{
    __shared__ cg::block_tile_memory<512> memory;
    __shared__ int s[512];
    auto tile = cg::tiled_partition<Size>(cg::this_thread_block(memory));
    int t = threadIdx.x;
    s[t] = t;
    tile.sync();
    result r;
    r.other = s[t / Size * Size + Size - 1 - t % Size];
    r.sum = cg::reduce(tile, t, cg::plus<int>());
    r.greatest = cg::reduce(tile, t, cg::greater<int>());
    r.third = tile.shfl(t, 3);
    r.inclusive = cg::inclusive_scan(tile, t % 5);
    r.exclusive = cg::exclusive_scan(tile, t % 5);
    r.votes = 2 * tile.any(t == 70) + tile.all(t < 512);
    auto warp = cg::tiled_partition<32>(tile);
    r.in_warp = 100 * warp.meta_group_rank() + warp.thread_rank();
    r.halves = (int)(2 * cg::reduce(tile, 0.5f, cg::plus<float>()));
    r.once = cg::invoke_one_broadcast(tile, [&] { return atomicAdd(calls, 1) * 0 + 7; });
    r.number = 100 * tile.meta_group_size() + tile.meta_group_rank();
    out[t] = r;
}

template <unsigned Size> __global__ void some_alone(int *out)  // one group at a time, in its own branch
{
    __shared__ cg::block_tile_memory<512> memory;
    auto tile = cg::tiled_partition<Size>(cg::this_thread_block(memory));
    int t = threadIdx.x;
    if (tile.meta_group_rank() % 2 == 0)
        out[t] = cg::reduce(tile, 1, cg::plus<int>());
    else
        out[t] = -1;
}

template <unsigned Size> static void check()
{
    result *out = to_device<result>(NULL, 512);
    int *calls = to_device<int>(NULL, 512), one_call;
    CHECK(cudaMemset(calls, 0, sizeof(int)));
    together<Size><<<1, 512>>>(out, calls);
    const result *all = to_host(out, 512);
    one_call = *to_host(calls, 1);
    SAME(one_call, 512 / Size);
    for (int t = 0; t < 512; t++) {
        int first = t / Size * Size, last = first + Size - 1, before = 0;
        for (int i = first; i < t; i++)
            before += i % 5;
        SAME(all[t].other, first + last - t);
        SAME(all[t].sum, (first + last) * (int)Size / 2);
        SAME(all[t].greatest, last);
        SAME(all[t].third, first + 3);
        SAME(all[t].inclusive, before + t % 5);
        SAME(all[t].exclusive, before);
        SAME(all[t].votes, (first <= 70 && 70 <= last ? 2 : 0) + 1);
        SAME(all[t].in_warp, 100 * ((t - first) / 32) + t % 32);
        SAME(all[t].halves, Size);
        SAME(all[t].once, 7);
        SAME(all[t].number, 100 * (512 / Size) + t / Size);
    }
    some_alone<Size><<<1, 512>>>(calls);
    const int *counts = to_host(calls, 512);
    for (int t = 0; t < 512; t++)
        SAME(counts[t], t / Size % 2 ? -1 : (int)Size);
}

int main()
{
    check<64>();
    check<128>();
    check<256>();
    check<512>();
    return 0;
}
