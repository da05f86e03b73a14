// The sum of n numbers: the 32 threads of a warp add up their sums from register to register, without shared memory.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o warp_sum steps/02_warp_sum/warp_sum.cu common/*.c
//   ./learn run 02

#include "sum.h"

constexpr int THREADS = 256;         // of a block
constexpr int SHARE = 16 * THREADS;  // elements that a block adds up
constexpr int WARP = 32;             // threads
constexpr int WARPS = THREADS / WARP;
constexpr unsigned ALL_LANES = 0xffffffff;  // of a warp take part in a shuffle: a bit for each

// [share] Each thread adds up every THREADSth element of the block's share.
__device__ float sum_share(const float *x,  // [n]
                           int n)
{
    const int begin = blockIdx.x * SHARE;
    const int end = min(begin + SHARE, n);
    float sum = 0;
    for (int i = begin + threadIdx.x; i < end; i += THREADS)
        sum += x[i];
    return sum;
}

// [sum_warp] Each lane adds the sum of the lane 16 further on to its own, then of that 8 further on, … Lane 0 ends with all.
__device__ float sum_warp(float sum)
{
    // [warp]
    for (int offset = WARP / 2; offset > 0; offset /= 2)
        sum += __shfl_down_sync(ALL_LANES, sum, offset);
    // [end warp]
    return sum;
}

// [block] Each warp's sum goes through shared memory to the first warp, and the block's sum to the total.
__device__ void add_block(float sum,
                          float *total)  // [1]
{
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    __shared__ float partial[WARPS];
    sum = sum_warp(sum);
    if (lane == 0)
        partial[warp] = sum;
    __syncthreads();  // the sums of all warps are stored before the first warp reads them
    // [first_warp]
    if (warp == 0)
        sum = sum_warp(lane < WARPS ? partial[lane] : 0);
    // [end first_warp]
    if (threadIdx.x == 0)
        atomicAdd(total, sum);
}

// [atomics] For comparison: no thread works with another, each adds its sum to the total.
__global__ void sum_by_atomics(const float *x,  // [n]
                               float *total,    // [1], 0 at first
                               int n)
{
    atomicAdd(total, sum_share(x, n));
}

// [shuffle]
__global__ void sum_by_shuffles(const float *x,  // [n]
                                float *total,    // [1], 0 at first
                                int n)
{
    // [to_total]
    add_block(sum_share(x, n), total);
    // [end to_total]
}

// [tuned] A block lives longer, and each of its threads has four loads of 16 bytes under way at once.
constexpr int LONG_SHARE = 4 * SHARE;       // elements that a block adds up
constexpr int LOADS = SHARE / THREADS / 4;  // of four elements each

__global__ void sum_tuned(const float *x,  // [n]
                          float *total,    // [1], 0 at first
                          int n)
{
    int begin = blockIdx.x * LONG_SHARE;
    const int end = min(begin + LONG_SHARE, n);
    float sum = 0;
    for (; end - begin >= SHARE; begin += SHARE) {
        const float4 *x4 = (const float4 *)(x + begin);  // [SHARE / 4]
        float4 loaded[LOADS];
        for (int i = 0; i < LOADS; i++)
            loaded[i] = x4[i * THREADS + threadIdx.x];
        for (int i = 0; i < LOADS; i++)
            sum += (loaded[i].x + loaded[i].y) + (loaded[i].z + loaded[i].w);
    }
    for (int i = begin + threadIdx.x; i < end; i += THREADS)
        sum += x[i];
    add_block(sum, total);
}

// [launch]
enum { ATOMICS, SHUFFLE, TUNED };

int launch(const struct sum_args *args, cudaStream_t stream)
{
    const float *x = (const float *)args->x;
    float *total = (float *)args->total;
    const int n = args->n;
    cudaMemsetAsync(total, 0, sizeof *total, stream);
    if (args->variant == ATOMICS)
        sum_by_atomics<<<ceil_div(n, SHARE), THREADS, 0, stream>>>(x, total, n);
    else if (args->variant == SHUFFLE)
        sum_by_shuffles<<<ceil_div(n, SHARE), THREADS, 0, stream>>>(x, total, n);
    else
        sum_tuned<<<ceil_div(n, LONG_SHARE), THREADS, 0, stream>>>(x, total, n);
    return cudaGetLastError();
}

// [main]
static const struct variant variants[] = {
    {"atomics", "every thread adds its own sum to the total: 256 atomics for each block"},
    {"shuffle", "a warp's lanes add up by shuffles, and the eight warps of a block through shared memory"},
    {"tuned", "each thread has four loads of 16 bytes under way, and a block adds up four times as much"},
    {},
};

int main(int argc, char **argv)
{
    const struct sum_step step = {
        .name = "02_warp_sum",
        .dtypes = {FP32},
        .arch = "75",
        .variants = variants,
        .launch = launch,
    };
    return sum_main(argc, argv, &step);
}
