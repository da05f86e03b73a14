// Cooperative groups of every kind within a block: run-time and static tiles, tiles of tiles, coalesced groups, parts that
// a value decides on, shuffles of large values, votes, matches, reductions and scans.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include "right.h"

namespace cg = cooperative_groups;

struct large {  // as much as a shuffle takes
    int words[8];
};

template <class Group> __device__ int rotated(const Group &group, int value)  // what the next thread brings
{
    return group.shfl(value, (group.thread_rank() + 1) % group.num_threads());
}

__device__ int sum_through(cg::thread_group group, int *place)  // the thread of rank 0 finds the others' sum
{
    group.sync();
    if (group.thread_rank() == 0)
        *place = 0;
    group.sync();
    atomicAdd(place, (int)group.thread_rank());
    group.sync();
    return *place;
}

__global__ void of_any_kind(int *out)
{
    __shared__ int whole, parts[8];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_group part = cg::tiled_partition(block, 16), half = cg::tiled_partition(part, 4);
    int i = block.thread_rank(), n = block.size();
    bool right = sum_through(block, &whole) == n * (n - 1) / 2 && sum_through(part, &parts[i / 16]) == 120;
    right = right && part.size() == 16 && part.thread_rank() == i % 16 && half.size() == 4 &&
            half.thread_rank() == i % 4;
    right = right && block.group_index().x == blockIdx.x && block.dim_threads().y == blockDim.y &&
            block.thread_index().y == threadIdx.y && cg::thread_rank(block) == i && cg::group_size(block) == n;
    auto token = block.barrier_arrive();
    block.barrier_wait(std::move(token));
    out[i] = right && cg::this_thread().size() == 1;
}

__global__ void tiles(int *out)
{
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto quarter = cg::tiled_partition<8>(warp);
    cg::thread_block_tile<8> any_eight = quarter;
    int i = threadIdx.x, all;
    bool right = warp.meta_group_rank() == i / 32 && warp.meta_group_size() == blockDim.x / 32;
    right = right && quarter.meta_group_rank() == i % 32 / 8 && any_eight.meta_group_size() == 4;
    right = right && quarter.num_threads() == 8 && any_eight.thread_rank() == i % 8;

    right = right && rotated(quarter, i) == i / 8 * 8 + (i + 1) % 8;
    right = right && quarter.shfl_up(i, 3) == (i % 8 < 3 ? i : i - 3);
    right = right && quarter.shfl_down(i, 3) == (i % 8 > 4 ? i : i + 3);
    right = right && quarter.shfl_xor(i, 5) == (i ^ 5);
    large big;
    for (int k = 0; k < 8; k++)
        big.words[k] = 100 * i + k;
    big = quarter.shfl_xor(big, 1);
    for (int k = 0; k < 8; k++)
        right = right && big.words[k] == 100 * (i ^ 1) + k;
    float4 four = warp.shfl(make_float4(i, 1, 2, i), 9);
    char small = warp.shfl_down((char)(i % 32), 1);
    right = right && four.x == i / 32 * 32 + 9 && four.w == four.x && small == (i % 32 == 31 ? 31 : i % 32 + 1);

    right = right && quarter.any(i % 8 == 7) && !quarter.any(i % 8 == 8) && quarter.all(i >= 0) && !quarter.all(i % 2);
    right = right && quarter.ballot(i % 8 < 3) == 7 && quarter.match_any(i % 2) == (i % 2 ? 0xaa : 0x55);
    right = right && quarter.match_all(i / 8, all) == 0xff && all && quarter.match_all(i, all) == 0 && !all;
    out[i] = right;
}

__global__ void coalesced(int *out)
{
    int i = threadIdx.x, all;
    out[i] = 1;
    if (i % 3 == 1) {  // 1, 4, … 31: 11 lanes
        cg::coalesced_group here = cg::coalesced_threads();
        int rank = here.thread_rank();
        bool right = here.size() == 11 && rank == i / 3 && here.meta_group_size() == 1;
        right = right && rotated(here, i) == (i == 31 ? 1 : i + 3);
        right = right && here.shfl_up(i, 2) == (rank < 2 ? i : i - 6) && here.shfl_down(i, 2) == (rank > 8 ? i : i + 6);
        right = right && here.ballot(rank < 5) == 31 && here.any(rank == 10) && here.all(i % 3);
        right = right && here.match_any(rank == 3) == (rank == 3 ? 8 : 0x7ff - 8) && here.match_all(7, all) == 0x7ff &&
                all;

        cg::coalesced_group four = cg::tiled_partition(here, 4);  // ranks 0 to 3, 4 to 7, 8 to 10
        right = right && four.meta_group_rank() == rank / 4 && four.meta_group_size() == 3;
        right = right && four.size() == (rank < 8 ? 4 : 3) && four.thread_rank() == rank % 4;

        cg::coalesced_group part = cg::binary_partition(here, rank < 4);
        right = right && part.size() == (rank < 4 ? 4 : 7) && part.meta_group_rank() == (rank < 4) &&
                part.meta_group_size() == 2;
        here.sync();
        right = right && cg::reduce(part, 1, cg::plus<int>()) == part.size();
        out[i] = right;
    }
}

__global__ void labels(int *out)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int i = threadIdx.x;
    cg::coalesced_group same = cg::labeled_partition(warp, (i + 2) % 5);  // 2 comes first, then 3, 4, 0, 1
    bool right = same.size() == (i % 5 < 2 ? 7 : 6) && same.thread_rank() == i / 5;
    right = right && same.meta_group_rank() == i % 5 && same.meta_group_size() == 5;
    right = right && cg::binary_partition(warp, i % 2).size() == 16;
    out[i] = right && cg::reduce(same, i % 5, cg::less<int>()) == i % 5;
}

struct apart {  // tells in which order it is applied
    __device__ unsigned operator()(unsigned a, unsigned b) const { return 3 * a + b; }
};

// What an H200 gives.
__global__ void orders(unsigned *out)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    unsigned i = threadIdx.x, v = i % 8 * (i % 8) + 7;
    if (i < 8) {
        auto eight = cg::tiled_partition<8>(warp);
        out[i] = cg::reduce(eight, v, apart());
        out[8 + i] = cg::inclusive_scan(eight, v, apart());
        cg::coalesced_group here = cg::coalesced_threads();
        out[16 + i] = cg::reduce(here, v, apart());
        out[24 + i] = cg::exclusive_scan(here, v, apart());
    }
}

template <class Group> __device__ bool sums(const Group &group, int value)
{
    int n = group.num_threads(), rank = group.thread_rank(), before = 0, all = 0, most = 0, least = 1 << 30, bits = 0;
    for (int k = 0; k < n; k++) {
        int v = group.shfl(value, k);
        before += k < rank ? v : 0;
        all += v;
        most = max(most, v);
        least = min(least, v);
        bits ^= v;
    }
    bool right = cg::reduce(group, value, cg::plus<int>()) == all &&
                 cg::reduce(group, value, cg::greater<int>()) == most;
    right = right && cg::reduce(group, value, cg::less<int>()) == least;
    right = right && cg::reduce(group, value, cg::bit_xor<int>()) == bits;
    right = right && cg::reduce(group, value & 3, cg::bit_or<int>()) <= 3;
    right = right && cg::reduce(group, value | 4, cg::bit_and<int>()) >= 4;
    right = right && cg::reduce(group, (float)value, cg::plus<float>()) == all;
    right = right && cg::reduce(group, value, [](int a, int b) { return a > b ? a : b; }) == most;
    right = right && cg::inclusive_scan(group, value) == before + value && cg::exclusive_scan(group, value) == before;
    right = right && cg::inclusive_scan(group, (double)value, cg::plus<double>()) == before + value;
    right = right && cg::exclusive_scan(group, value, cg::greater<int>()) <= most;
    return right;
}

__global__ void reductions(int *out)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int i = threadIdx.x, value = i * i % 37;
    bool right = sums(warp, value) && sums(cg::tiled_partition<4>(warp), value);
    if (i % 7 < 4)
        right = right && sums(cg::coalesced_threads(), value);
    out[i] = right;
}

__global__ void elected(int *out, int *calls)
{
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    cg::invoke_one(tile, [&](int by) { atomicAdd(calls, by); }, 10);
    out[threadIdx.x] = cg::invoke_one_broadcast(tile, [&] { return atomicAdd(calls + 1, 1); }) >= 0;
    if (threadIdx.x < 5)
        cg::invoke_one(cg::coalesced_threads(), [&] { atomicAdd(calls, 1); });
}

static void expect_ones(int *out, int n)
{
    int *r = to_host(out, n);
    for (int i = 0; i < n; i++)
        SAME(r[i], 1);
    free(r);
}

int main()
{
    const int N = 128;
    int *out = to_device<int>(NULL, N), zeros[2] = {0, 0}, *calls = to_device(zeros, 2);
    of_any_kind<<<1, dim3(16, 8)>>>(out);
    expect_ones(out, N);
    tiles<<<1, N>>>(out);
    expect_ones(out, N);
    coalesced<<<1, 32>>>(out);
    expect_ones(out, 32);
    labels<<<1, 32>>>(out);
    expect_ones(out, 32);
    reductions<<<1, 32>>>(out);
    expect_ones(out, 32);
    orders<<<1, 32>>>((unsigned *)out);
    const int ORDERS[] = {896,  1024, 1184, 1376, 1600, 1856, 2144, 2464, 7, 31, 130, 208, 895, 1279, 1834, 2464,
                          2464, 2464, 2464, 2464, 2464, 2464, 2464, 2464, 0, 7,  31,  130, 208, 895,  1279, 1834};
    int *r = to_host(out, 32);
    for (int i = 0; i < 32; i++)
        SAME(r[i], ORDERS[i]);
    elected<<<1, 64>>>(out, calls);
    expect_ones(out, 64);
    SAME(to_host(calls, 2)[0], 41);
    SAME(to_host(calls, 2)[1], 4);
    return 0;
}
