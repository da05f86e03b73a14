// A race in a block that begins behind one whose clock has come as far as the argument says.
#include <stdio.h>
#include <stdlib.h>

extern "C" void set_clock(unsigned now);

__global__ void often(unsigned now) { set_clock(now); }

__global__ void race(int *out)
{
    __shared__ int n;
    if (threadIdx.x % 32 == 0)
        n = threadIdx.x;  // here
    __syncthreads();
    out[threadIdx.x] = n;
}

int main(int argc, char **argv)
{
    int *out;
    cudaMalloc(&out, 64 * sizeof *out);
    often<<<1, 1>>>(argc > 1 ? strtoul(argv[1], NULL, 0) : 1);
    race<<<1, 64>>>(out);
    return cudaDeviceSynchronize();
}
