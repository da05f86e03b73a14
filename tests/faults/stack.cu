// A thread that needs more stack than there is. `expect NAME: KIND` marks the lines that the report may name.

#include <cuda_runtime.h>

__device__ __noinline__ int deeper(int depth)  // expect overflow: stack overflow
{                                              // expect overflow: stack overflow
    volatile int room[256];                    // expect overflow: stack overflow
    room[depth % 256] = depth;                 // expect overflow: stack overflow
    if (depth == 0)                            // expect overflow: stack overflow
        return 0;
    return deeper(depth - 1) + room[depth % 256];  // expect overflow: stack overflow
}

__global__ void overflow(int *out, int depth)
{
    out[threadIdx.x] = deeper(depth);
}

int main(void)
{
    int *out;
    cudaMalloc(&out, 32 * sizeof(int));
    overflow<<<1, 32>>>(out, 1000);
    return cudaDeviceSynchronize();
}
