// Races in global memory between the blocks of one launch.
#include <stdio.h>
#include <string.h>

__device__ unsigned finished;
__device__ int total;

__global__ void increment(int *out)
{
    *out += 1;  // expect increment: race in global memory
}

__global__ void neighbour(int *out)
{
    int next = out[(blockIdx.x + 1) % gridDim.x];  // expect neighbour: race in global memory
    out[blockIdx.x] = next;                        // expect neighbour: race in global memory
}

__global__ void one_place(int *out)
{
    out[0] = blockIdx.x;  // expect one_place: race in global memory
}

__global__ void last_block_without_fence(int *out)
{
    out[blockIdx.x] = 1;  // expect last_block_without_fence: race in global memory
    if (atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1)
        for (unsigned i = 0; i < gridDim.x; i++)
            out[gridDim.x] += out[i];  // expect last_block_without_fence: race in global memory
}

__global__ void plain_write_beside_atomic(int *out)
{
    if (blockIdx.x == 0)
        *out = 5;  // expect plain_write_beside_atomic: race in global memory
    else
        atomicAdd(out, 1);  // expect plain_write_beside_atomic: race in global memory
}

__global__ void device_variable(int *out)
{
    total += 1;  // expect device_variable: race in global memory
}

static int is(const char *argument, const char *name) { return strcmp(argument, name) == 0; }

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int *out;
    cudaMalloc(&out, 9 * sizeof(int));
    cudaMemset(out, 0, 9 * sizeof(int));
    if (is(name, "increment"))
        increment<<<8, 1>>>(out);
    if (is(name, "neighbour"))
        neighbour<<<8, 1>>>(out);
    if (is(name, "one_place"))
        one_place<<<8, 1>>>(out);
    if (is(name, "last_block_without_fence"))
        last_block_without_fence<<<8, 1>>>(out);
    if (is(name, "plain_write_beside_atomic"))
        plain_write_beside_atomic<<<8, 1>>>(out);
    if (is(name, "device_variable"))
        device_variable<<<8, 1>>>(out);
    return cudaDeviceSynchronize();
}
