// One thread waits for what nobody writes, or those of many blocks do; or many threads take their time, and end.

#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>

__global__ void waits(volatile int *flag)
{
    while (*flag == 0)  // here
        ;
}

__global__ void takes_time(volatile int *out)
{
    for (int i = 0; i < 300000; i++)
        out[blockIdx.x] = i;
}

int main(int argc, char **argv)
{
    int *memory;
    if (cudaMalloc(&memory, 400) || cudaMemset(memory, 0, 400))
        return 3;
    if (argc > 1 && strcmp(argv[1], "many") == 0)
        waits<<<6000, 32>>>(memory);
    else if (argc > 1)
        takes_time<<<100, 1>>>(memory);
    else
        waits<<<1, 1>>>(memory);
    puts("done");
    return cudaDeviceSynchronize();
}
