// Of a header's names those that the emulator does not offer: including it is no fault, using them is.

#include <cub/cub.cuh>
#include <cuda_fp8.h>

__global__ void sum(int *out)
{
    int cub = 1, DeviceReduce = 2;
    out[0] = cub + DeviceReduce;
}

int main(void)
{
    size_t bytes;
    int *in = NULL, *out = NULL;
    return cub::DeviceReduce::Sum(NULL, bytes, in, out, 1);  // expect: cub/cub.cuh
}
