// The sum of n numbers: the threads of a block add up their sums in shared memory, and each block adds one to the total.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o block_sum steps/01_block_sum/block_sum.cu common/*.c
//   ./learn run 01

#include "sum.h"

constexpr int THREADS = 256;         // of a block
constexpr int SHARE = 16 * THREADS;  // elements that a block adds up

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

// [kernel]
__global__ void sum_by_tree(const float *x,  // [n]
                            float *total,    // [1], 0 at first
                            int n)
{
    const float sum = sum_share(x, n);

    // [store] Shared memory belongs to the block: what one of its threads stores there, the others can read.
    __shared__ float partial[THREADS];
    partial[threadIdx.x] = sum;
    __syncthreads();  // all sums are stored before any thread reads another's

    // [tree] Half of the threads add the other half's sums to their own, then a quarter, until one sum is left.
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();  // this round's sums are stored before the next round reads them
    }

    // [total] Other blocks add to the total, too, so reading, adding and writing must be one step: an atomic.
    if (threadIdx.x == 0)
        atomicAdd(total, partial[0]);
}

// [launch]
int launch(const struct sum_args *args, cudaStream_t stream)
{
    const float *x = (const float *)args->x;
    float *total = (float *)args->total;
    cudaMemsetAsync(total, 0, sizeof *total, stream);
    sum_by_tree<<<ceil_div(args->n, SHARE), THREADS, 0, stream>>>(x, total, args->n);
    return cudaGetLastError();
}

// [main]
static const struct variant variants[] = {
    {"tree", "in shared memory, halving the number of sums in each round"},
    {},
};

int main(int argc, char **argv)
{
    const struct sum_step step = {
        .name = "01_block_sum",
        .dtypes = {FP32},
        .arch = "75",
        .variants = variants,
        .launch = launch,
    };
    return sum_main(argc, argv, &step);
}
