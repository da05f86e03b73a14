// CUB's temporary storage, used again with no barrier in between. The first argument picks the kernel; a comment
// `expect NAME: KIND` marks a line that the report on it must name. tests/right/cub.cu has the right ways.

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <string.h>

__global__ void reduced_again(int *out)
{
    using reduction = cub::BlockReduce<int, 128>;
    __shared__ reduction::TempStorage temp;
    int first = reduction(temp).Sum(threadIdx.x);  // expect reduced_again: race in shared memory
    int second = reduction(temp).Sum(1);           // expect reduced_again: race in shared memory
    if (threadIdx.x == 0)
        *out = first + second;
}

__global__ void scanned_again(int *out)
{
    using scan = cub::BlockScan<int, 128>;
    __shared__ scan::TempStorage temp;
    int first, second;
    scan(temp).InclusiveSum(threadIdx.x, first);  // expect scanned_again: race in shared memory
    scan(temp).InclusiveSum(1, second);           // expect scanned_again: race in shared memory
    out[threadIdx.x] = first + second;
}

int main(int argc, char **argv)
{
    int *out;
    cudaMalloc(&out, 128 * sizeof(int));
    if (argc > 1 && strcmp(argv[1], "reduced_again") == 0)
        reduced_again<<<1, 128>>>(out);
    else
        scanned_again<<<1, 128>>>(out);
    return cudaDeviceSynchronize();
}
