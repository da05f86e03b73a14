// Matches, warp reductions, active masks, and cooperative groups over a block and tiles of a warp.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include "right.h"

namespace cg = cooperative_groups;

__global__ void intrinsics(int *out)
{
    int lane = threadIdx.x, all;
    out[lane] = __match_any_sync(0xffffffff, lane / 4) == 0xfu << lane / 4 * 4;
    out[32 + lane] = __match_all_sync(0xffffffff, 7, &all) == 0xffffffff && all;
    out[64 + lane] = __match_all_sync(0xffffffff, lane == 3, &all) == 0 && !all;
    out[96 + lane] = __reduce_add_sync(0xffffffff, lane) == 496 && __reduce_min_sync(0xffffffff, lane - 5) == -5 &&
                     __reduce_max_sync(0xffffffff, (unsigned)lane) == 31 &&
                     __reduce_or_sync(0xffffffff, 1u << lane) == 0xffffffff;
}

__global__ void together(int *out)  // the odd lanes elect one of them, whoever is there
{
    out[threadIdx.x] = 0;
    if (threadIdx.x % 2) {
        cg::coalesced_group here = cg::coalesced_threads();
        out[threadIdx.x] = here.thread_rank() == 0 ? 1 : 2;
    }
}

template <int SIZE> __global__ void tile_sums(const int *in, int *out)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<SIZE> tile = cg::tiled_partition<SIZE>(block);
    int i = block.group_index().x * block.size() + block.thread_rank(), sum = in[i];
    for (int by = tile.size() / 2; by > 0; by /= 2)
        sum += tile.shfl_down(sum, by);
    sum = tile.shfl(sum, 0);
    out[i] = sum == cg::reduce(tile, in[i], cg::plus<int>()) && tile.any(tile.thread_rank() == 0) ? sum : -1;
}

__global__ void block_sum(const int *in, int *out)
{
    __shared__ int part[4];
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    int sum = cg::reduce(warp, in[block.thread_rank()], cg::plus<int>());
    if (warp.thread_rank() == 0)
        part[warp.meta_group_rank()] = sum;
    cg::sync(block);
    if (block.thread_rank() == 0)
        *out = part[0] + part[1] + part[2] + part[3];
}

int main()
{
    const int N = 128;
    int numbers[N], total = 0;
    for (int i = 0; i < N; i++)
        total += numbers[i] = i * i % 17;
    int *in = to_device(numbers, N), *out = to_device<int>(NULL, N);

    intrinsics<<<1, 32>>>(out);
    int *r = to_host(out, N);
    for (int i = 0; i < N; i++)
        SAME(r[i], 1);

    together<<<1, 32>>>(out);
    r = to_host(out, 32);
    int leaders = 0;
    for (int i = 0; i < 32; i++) {
        leaders += r[i] == 1;
        SAME(r[i] != 0, i % 2);
    }
    SAME(leaders >= 1, 1);

    tile_sums<8><<<2, N / 2>>>(in, out);
    r = to_host(out, N);
    for (int i = 0; i < N; i++) {
        int sum = 0;
        for (int j = 0; j < 8; j++)
            sum += numbers[i / 8 * 8 + j];
        SAME(r[i], sum);
    }
    tile_sums<32><<<1, N>>>(in, out);
    SAME(*to_host(out, 1) >= 0, 1);
    block_sum<<<1, N>>>(in, out);
    SAME(*to_host(out, 1), total);
    return 0;
}
