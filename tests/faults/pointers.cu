// Pointers used on the wrong side. The first argument picks the fault; `expect NAME: KIND` marks the line that the
// report must name.

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float host_table[32];
__device__ float device_table[32];

__global__ void read_heap(const float *in, float *out)
{
    out[threadIdx.x] = in[threadIdx.x];  // expect read_heap: host pointer in a kernel
}

__global__ void write_heap(float *out)
{
    out[threadIdx.x] = 1;  // expect write_heap: host pointer in a kernel
}

__global__ void read_stack(const float *in, float *out)
{
    out[threadIdx.x] = in[threadIdx.x];  // expect read_stack: host pointer in a kernel
}

__global__ void read_global_variable(const float *in, float *out)
{
    out[threadIdx.x] = in[threadIdx.x];  // expect read_global_variable: host pointer in a kernel
}

__global__ void read_null(const float *in, float *out)
{
    out[threadIdx.x] = in[threadIdx.x];  // expect read_null: invalid address
}

__global__ void write_null(float *out)
{
    out[threadIdx.x] = 1;  // expect write_null: invalid address
}

__global__ void fill(float *out)
{
    out[threadIdx.x] = device_table[threadIdx.x];
}

static int is(const char *argument, const char *name) { return strcmp(argument, name) == 0; }

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    float on_stack[32] = {0};
    float *heap = (float *)calloc(32, sizeof(float)), *out;
    cudaMalloc(&out, 32 * sizeof(float));
    fill<<<1, 32>>>(out);
    cudaDeviceSynchronize();

    if (is(name, "read_heap"))
        read_heap<<<1, 32>>>(heap, out);
    if (is(name, "write_heap"))
        write_heap<<<1, 32>>>(heap);
    if (is(name, "read_stack"))
        read_stack<<<1, 32>>>(on_stack, out);
    if (is(name, "read_global_variable"))
        read_global_variable<<<1, 32>>>(host_table, out);
    if (is(name, "read_null"))
        read_null<<<1, 32>>>(NULL, out);
    if (is(name, "write_null"))
        write_null<<<1, 32>>>(NULL);
    if (is(name, "host_reads"))
        printf("%g\n", out[3]);  // expect host_reads: device pointer on the host
    if (is(name, "host_writes"))
        out[3] = 1;  // expect host_writes: device pointer on the host
    if (is(name, "host_memcpy"))
        memcpy(heap, out, 32 * sizeof(float));  // expect host_memcpy: device pointer on the host
    if (is(name, "host_memset"))
        memset(out, 0, 32 * sizeof(float));  // expect host_memset: device pointer on the host
    if (is(name, "device_variable"))
        printf("%g\n", device_table[3]);  // expect device_variable: device pointer on the host
    return cudaDeviceSynchronize();
}
