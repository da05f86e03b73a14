// What blocks and warps reduce, scan, load and store with CUB.
#include "right.h"
#include <cub/block/block_load.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

struct pair {
    double value;
    int at;
};
struct larger {
    __device__ pair operator()(const pair &a, const pair &b) const { return a.value < b.value ? b : a; }
};
struct maximum {
    __device__ int operator()(int a, int b) const { return a < b ? b : a; }
};
struct times {  // does not commute
    __device__ uint2 operator()(uint2 a, uint2 b) const { return make_uint2(a.x * b.x, a.y * b.x + b.y); }
};

template <int THREADS> __global__ void reductions(int *out)
{
    using ints = cub::BlockReduce<int, THREADS>;
    using pairs = cub::BlockReduce<pair, THREADS, cub::BLOCK_REDUCE_RAKING>;
    __shared__ union {
        typename ints::TempStorage sum;
        typename pairs::TempStorage pair;
    } temp;
    int t = threadIdx.x, items[3] = {t, 2 * t, 1};
    int sum = ints(temp.sum).Sum(t);
    __syncthreads();
    int of_items = ints(temp.sum).Sum(items);
    __syncthreads();
    int some = ints(temp.sum).Sum(t, THREADS - 5);
    __syncthreads();
    int most = ints(temp.sum).Reduce(t * 37 % THREADS, maximum());
    __syncthreads();
    pair best = pairs(temp.pair).Reduce(pair{(t * 29 + 11) % THREADS * 0.5, t}, larger());
    if (t == 0) {
        out[0] = sum;
        out[1] = of_items;
        out[2] = some;
        out[3] = most;
        out[4] = (best.at * 29 + 11) % THREADS;
    }
}

struct running {  // what the blocks before this one summed up to
    int total;
    __device__ int operator()(int of_block)
    {
        int before = total;
        total += of_block;
        return before;
    }
};

template <int THREADS> __global__ void scans(int *out, uint2 *products)
{
    using ints = cub::BlockScan<int, THREADS>;
    using maps = cub::BlockScan<uint2, THREADS, cub::BLOCK_SCAN_WARP_SCANS>;
    __shared__ typename ints::TempStorage temp;
    __shared__ typename maps::TempStorage map;
    int t = threadIdx.x, inclusive, exclusive, total, items[2] = {t, 1}, before[2], carried;
    ints(temp).InclusiveSum(t, inclusive);
    __syncthreads();
    ints(temp).ExclusiveSum(t, exclusive, total);
    __syncthreads();
    ints(temp).ExclusiveSum(items, before);
    out[t] = inclusive == t * (t + 1) / 2 && exclusive == inclusive - t && total == THREADS * (THREADS - 1) / 2 &&
             before[0] == exclusive + t && before[1] == inclusive + t;
    running prefix{100};
    for (int i = 0; i < 2; i++) {
        __syncthreads();
        ints(temp).ExclusiveSum(1, carried, prefix);
    }
    out[t] += carried == 100 + THREADS + t;
    uint2 mine = make_uint2(3 + t % 2, t), all;
    maps(map).InclusiveScan(mine, all, times());
    products[t] = all;
}

__global__ void warps(int *out)
{
    using eight = cub::WarpReduce<int, 8>;
    using sums = cub::WarpScan<int>;
    __shared__ eight::TempStorage of_eight[8];
    __shared__ sums::TempStorage of_warp[2];
    int t = threadIdx.x, inclusive, exclusive, total;
    int sum = eight(of_eight[t / 8]).Sum(t);
    sums(of_warp[t / 32]).InclusiveSum(t, inclusive, total);
    sums(of_warp[t / 32]).ExclusiveSum(1, exclusive);
    int lane = t % 32, first = t - lane, wanted = 0;
    for (int i = first; i <= t; i++)
        wanted += i;
    out[t] = (t % 8 || sum == 8 * t + 28) && inclusive == wanted && exclusive == lane && total == 32 * first + 496;
}

__global__ void copies(const float *in, float *out, int n)
{
    using load = cub::BlockLoad<float, 64, 4, cub::BLOCK_LOAD_TRANSPOSE>;
    using store = cub::BlockStore<float, 64, 4, cub::BLOCK_STORE_TRANSPOSE>;
    __shared__ union {
        load::TempStorage load;
        store::TempStorage store;
    } temp;
    float items[4];
    load(temp.load).Load(in, items, n, -1.0f);
    __syncthreads();
    for (int i = 0; i < 4; i++)
        items[i] += threadIdx.x;
    store(temp.store).Store(out, items, n);
}

template <int THREADS> static void check_block(int *out)
{
    reductions<THREADS><<<1, THREADS>>>(out);
    int want[] = {THREADS * (THREADS - 1) / 2, 3 * THREADS * (THREADS - 1) / 2 + THREADS,
                  (THREADS - 5) * (THREADS - 6) / 2, THREADS - 1, THREADS - 1};
    for (int i = 0; i < 5; i++)
        SAME(to_host(out, 5)[i], want[i]);
    uint2 *products = to_device<uint2>(NULL, THREADS);
    scans<THREADS><<<1, THREADS>>>(out, products);
    unsigned x = 1, y = 0;
    for (int t = 0; t < THREADS; t++) {
        unsigned factor = 3 + t % 2;
        x *= factor;
        y = y * factor + t;
        SAME(to_host(out, THREADS)[t], 2);
        SAME(to_host(products, THREADS)[t].x, x);
        SAME(to_host(products, THREADS)[t].y, y);
    }
}

int main()
{
    int *out = to_device<int>(NULL, 256);
    check_block<128>(out);
    check_block<32>(out);
    check_block<75>(out);
    warps<<<1, 64>>>(out);
    for (int t = 0; t < 64; t++)
        SAME(to_host(out, 64)[t], 1);
    float values[256];
    for (int i = 0; i < 256; i++)
        values[i] = 2 * i;
    float *in = to_device(values, 250), *to = to_device<float>(NULL, 256);
    copies<<<1, 64>>>(in, to, 250);
    for (int i = 0; i < 250; i++)
        SAME(to_host(to, 250)[i], 2 * i + i / 4);
    return 0;
}
