// Global memory read before a thread, a copy or a memset wrote it. The first argument picks the kernel; `expect NAME: KIND`
// marks the line that the report must name.
#include <stdlib.h>
#include <string.h>

__global__ void never_written(const int *a, int *out)
{
    out[threadIdx.x] = a[threadIdx.x];  // expect never_written: uninitialised global memory
}

__global__ void copied_in_part(const int *a, int *out)
{
    out[threadIdx.x] = a[threadIdx.x];  // expect copied_in_part: uninitialised global memory
}

__global__ void bytes_not_elements(const int *a, int *out)  // the copy forgot sizeof(int)
{
    out[threadIdx.x] = a[threadIdx.x];  // expect bytes_not_elements: uninitialised global memory
}

__global__ void memset_in_part(int *a, int *out)
{
    a[threadIdx.x] += 1;  // expect memset_in_part: uninitialised global memory
}

__global__ void counters_not_cleared(int *a, int *out)
{
    atomicAdd(&a[threadIdx.x % 4], 1);  // expect counters_not_cleared: uninitialised global memory
}

__global__ void maximum_without_a_start(int *a, int *out)
{
    atomicMax(&a[0], (int)threadIdx.x);  // expect maximum_without_a_start: uninitialised global memory
}

__global__ void lock_not_cleared(int *a, int *out)
{
    if (atomicCAS(&a[0], 0, 1) == 0)  // expect lock_not_cleared: uninitialised global memory
        out[0] = 1;
}

__global__ void sum_into_output(const int *a, int *out)
{
    out[threadIdx.x] += 2;  // expect sum_into_output: uninitialised global memory
}

__global__ void first_half(int *a)
{
    a[threadIdx.x] = threadIdx.x;
}

__global__ void second_half(int *a)
{
    a[32 + threadIdx.x] = threadIdx.x;
}

__global__ void neighbour_of_later(const int *a, int *out)  // reads what only the kernel after it writes
{
    out[threadIdx.x] = a[threadIdx.x + 1];  // expect neighbour_of_later: uninitialised global memory
}

__global__ void odd_elements(int *a, int *out)
{
    if (threadIdx.x % 2 == 0)
        a[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = a[threadIdx.x];  // expect odd_elements: uninitialised global memory
}

__global__ void last_component(float4 *a, int *out)
{
    a[threadIdx.x].x = a[threadIdx.x].y = a[threadIdx.x].z = 1;
    __syncthreads();
    float4 v = a[31 - threadIdx.x];  // expect last_component: uninitialised global memory
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}

struct named {
    int key;
    double weight;
};  // four bytes of padding, which nobody misses

__global__ void member(const named *a, int *out)  // a member that was not set: no padding
{
    out[threadIdx.x] = a[threadIdx.x].weight > 0;  // expect member: uninitialised global memory
}

__global__ void set_keys(named *a)
{
    a[threadIdx.x].key = threadIdx.x;
}

__global__ void freed_and_allocated_again(const int *a, int *out)  // what was there is gone
{
    out[threadIdx.x] = a[threadIdx.x];  // expect freed_and_allocated_again: uninitialised global memory
}

__global__ void other_buffer(const int *a, int *out)  // two buffers: the copy went to the first
{
    out[threadIdx.x] = a[threadIdx.x];  // expect other_buffer: uninitialised global memory
}

__global__ void padded_rows(const int *a, int *out, int pitch)  // rows copied at their width, read at the pitch
{
    out[threadIdx.x] = a[threadIdx.x / 16 * pitch + threadIdx.x % 16];  // expect padded_rows: uninitialised global memory
}

__global__ void beyond_the_count(const int *a, int *out, int n)  // <= for <
{
    int sum = 0;
    for (int i = 0; i <= n; i++)
        sum += a[i];  // expect beyond_the_count: uninitialised global memory
    out[0] = sum;
}

__global__ void through_a_vector_load(const int4 *a, int *out)
{
    int4 v = a[threadIdx.x];  // expect through_a_vector_load: uninitialised global memory
    out[threadIdx.x] = v.x + v.w;
}

#define CASE(kernel) \
    if (strcmp(name, #kernel) == 0) \
    kernel
#define SETUP(kernel) if (strcmp(name, #kernel) == 0)

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int host[256] = {0}, *a, *b, *out;
    cudaMalloc(&a, sizeof host);
    cudaMalloc(&b, sizeof host);
    cudaMalloc(&out, sizeof host);
    CASE(never_written)<<<1, 32>>>(a, out);
    SETUP(copied_in_part)
    cudaMemcpy(a, host, 31 * sizeof(int), cudaMemcpyHostToDevice);
    CASE(copied_in_part)<<<1, 32>>>(a, out);
    SETUP(bytes_not_elements)
    cudaMemcpy(a, host, 32, cudaMemcpyHostToDevice);
    CASE(bytes_not_elements)<<<1, 32>>>(a, out);
    SETUP(memset_in_part)
    cudaMemset(a, 0, 32);
    CASE(memset_in_part)<<<1, 32>>>(a, out);
    CASE(counters_not_cleared)<<<1, 32>>>(a, out);
    CASE(maximum_without_a_start)<<<1, 32>>>(a, out);
    CASE(lock_not_cleared)<<<1, 1>>>(a, out);
    CASE(sum_into_output)<<<1, 32>>>(a, out);
    SETUP(neighbour_of_later)
    first_half<<<1, 32>>>(a);
    CASE(neighbour_of_later)<<<1, 32>>>(a, out);
    SETUP(neighbour_of_later)
    second_half<<<1, 32>>>(a);
    CASE(odd_elements)<<<1, 32>>>(a, out);
    CASE(last_component)<<<1, 32>>>((float4 *)a, out);
    SETUP(member)
    set_keys<<<1, 16>>>((named *)a);
    CASE(member)<<<1, 16>>>((named *)a, out);
    SETUP(freed_and_allocated_again)
    {
        cudaMemset(a, 0, sizeof host);
        cudaFree(a);
        cudaMalloc(&a, sizeof host);
    }
    CASE(freed_and_allocated_again)<<<1, 32>>>(a, out);
    SETUP(other_buffer)
    cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice);
    CASE(other_buffer)<<<1, 32>>>(b, out);
    SETUP(padded_rows)
    cudaMemcpy2D(a, 64, host, 48, 48, 4, cudaMemcpyHostToDevice);
    CASE(padded_rows)<<<1, 64>>>(a, out, 16);
    SETUP(beyond_the_count)
    cudaMemcpy(a, host, 100 * sizeof(int), cudaMemcpyHostToDevice);
    CASE(beyond_the_count)<<<1, 1>>>(a, out, 100);
    SETUP(through_a_vector_load)
    cudaMemset(a, 0, 31 * 16 + 12);
    CASE(through_a_vector_load)<<<1, 32>>>((int4 *)a, out);
    return cudaDeviceSynchronize();
}
