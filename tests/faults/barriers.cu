// Threads of a block that wait for each other in different places. The first argument picks the kernel; `expect NAME:
// KIND` marks the lines where they wait, all of which the report must name.

#include <cuda_runtime.h>
#include <string.h>

__global__ void warp_and_block(float *out)
{
    if (threadIdx.x < 16)
        __syncwarp();  // expect warp_and_block: barrier deadlock
    else
        __syncthreads();  // expect warp_and_block: barrier deadlock
    out[threadIdx.x] = 1;
}

__global__ void shuffle_and_block(float *out)
{
    float v = threadIdx.x;
    if (threadIdx.x < 16)
        v = __shfl_xor_sync(0xffffffff, v, 16);  // expect shuffle_and_block: barrier deadlock
    else
        __syncthreads();  // expect shuffle_and_block: barrier deadlock
    out[threadIdx.x] = v;
}

__global__ void two_branches(float *out)
{
    if (threadIdx.x % 2 == 0) {
        out[threadIdx.x] = 1;
        __syncthreads();  // expect two_branches: divergent barrier
    } else {
        __syncthreads();  // expect two_branches: divergent barrier
        out[threadIdx.x] = 2;
    }
}

__global__ void two_warps(float *out)
{
    if (threadIdx.x < 32) {
        out[threadIdx.x] = 1;
        __syncthreads();  // expect two_warps: divergent barrier
    } else {
        __syncthreads();  // expect two_warps: divergent barrier
        out[threadIdx.x] = 2;
    }
}

__global__ void trip_counts(float *out)
{
    int trips = threadIdx.x < 32 ? 1 : 2;
    for (int i = 0; i < trips; i++)
        __syncthreads();  // expect trip_counts: divergent barrier
    out[threadIdx.x] = 1;
    __syncthreads();  // expect trip_counts: divergent barrier
}

static int is(const char *argument, const char *name) { return strcmp(argument, name) == 0; }

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    float *out;
    cudaMalloc(&out, 64 * sizeof(float));
    if (is(name, "warp_and_block"))
        warp_and_block<<<1, 32>>>(out);
    if (is(name, "shuffle_and_block"))
        shuffle_and_block<<<1, 32>>>(out);
    if (is(name, "two_branches"))
        two_branches<<<1, 64>>>(out);
    if (is(name, "two_warps"))
        two_warps<<<1, 64>>>(out);
    if (is(name, "trip_counts"))
        trip_counts<<<1, 64>>>(out);
    return cudaDeviceSynchronize();
}
