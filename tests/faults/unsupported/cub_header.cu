// A header that the emulator does not offer: including it is no fault, using it is.

#include <cub/cub.cuh>
#include <cuda_fp8.h>

__global__ void sum(int *out)
{
    int cub = 1;
    out[0] = cub + cub::LaneId();  // expect: cub/cub.cuh
}

int main(void) { return 0; }
