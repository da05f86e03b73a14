// Shuffles that take a value from a lane that takes no part, and a kernel that uses it. The first argument picks the
// kernel; `expect NAME: KIND` marks the shuffle. tests/right/meeting.cu has values of that kind that are dropped.

#include <cuda_runtime.h>
#include <string.h>

__global__ void sum_of_48(int *in, int *out)
{
    int v = in[threadIdx.x];
    for (int by = 16; by; by /= 2)
        v += __shfl_down_sync(0xffffffff, v, by);  // expect sum_of_48: divergent collective, in exist
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, v);  // perhaps sum_of_48: divergent collective
}

__global__ void maximum_of_48(int *in, int *out)
{
    float v = in[threadIdx.x];
    for (int by = 16; by; by /= 2)
        v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, by));  // expect maximum_of_48: divergent collective
    if (threadIdx.x % 32 == 0)
        out[threadIdx.x] = v;  // perhaps maximum_of_48: divergent collective
}

__global__ void least_of_48(int *in, int *out)
{
    unsigned v = in[threadIdx.x];
    for (int by = 16; by; by /= 2)
        v = min(v, __shfl_down_sync(0xffffffff, v, by));  // expect least_of_48: divergent collective
    if (threadIdx.x % 32 == 0)
        out[threadIdx.x] = v;  // perhaps least_of_48: divergent collective
}

__global__ void maximum_of_sums(int *in, int *out)
{
    int v = in[threadIdx.x];
    for (int by = 16; by; by /= 2)
        v += __shfl_down_sync(0xffffffff, v, by);  // expect maximum_of_sums: divergent collective
    if (threadIdx.x % 32 == 0)
        atomicMax(out, v);  // perhaps maximum_of_sums: divergent collective
}

__global__ void others_have_left(int *in, int *out)
{
    int t = threadIdx.x, v = in[t];
    if (t >= 20)
        return;
    for (int by = 16; by; by /= 2)
        v += __shfl_down_sync(0xffffffff, v, by);  // expect others_have_left: divergent collective, in left
    if (t == 0)
        *out = v;  // perhaps others_have_left: divergent collective
}

__global__ void others_are_elsewhere(int *in, int *out)
{
    int t = threadIdx.x, v = in[t];
    if (t < 16)
        v += __shfl_down_sync(0xffffffff, v, 8);  // expect others_are_elsewhere: divergent collective
    out[t] = v;                                   // perhaps others_are_elsewhere: divergent collective
}

__global__ void decides(int *in, int *out)
{
    int t = threadIdx.x, v = __shfl_down_sync(0x00ffffff, in[t], 8);  // expect decides: divergent collective, in mask
    if (t < 24 && v > 0)
        out[t] = 1;  // perhaps decides: divergent collective
}

__global__ void chooses_a_place(int *in, int *out)
{
    __shared__ int s[64];
    int t = threadIdx.x, from = __shfl_xor_sync(0xffffffff, t, 31);  // expect chooses_a_place: divergent collective
    s[t] = in[t];
    __syncthreads();
    out[t] = s[from];  // perhaps chooses_a_place: divergent collective
}

__global__ void in_the_last_block(int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 48 * 20 + 11)
        return;
    int v = in[i % 48];
    for (int by = 16; by; by /= 2)
        v += __shfl_xor_sync(0xffffffff, v, by);  // expect in_the_last_block: divergent collective
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, v);  // perhaps in_the_last_block: divergent collective
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int *in, *out, numbers[48];
    for (int i = 0; i < 48; i++)
        numbers[i] = i + 1;
    cudaMalloc(&in, sizeof numbers);
    cudaMalloc(&out, sizeof numbers);
    cudaMemcpy(in, numbers, sizeof numbers, cudaMemcpyHostToDevice);
    cudaMemset(out, 0, sizeof numbers);
    struct {
        const char *name;
        void (*kernel)(int *, int *);
        int blocks, threads;
    } kernels[] = {
#define KERNEL(NAME, BLOCKS, THREADS) {#NAME, NAME, BLOCKS, THREADS}
        KERNEL(sum_of_48, 1, 48),
        KERNEL(maximum_of_48, 1, 48),
        KERNEL(least_of_48, 1, 48),
        KERNEL(maximum_of_sums, 1, 40),
        KERNEL(others_have_left, 1, 32),
        KERNEL(others_are_elsewhere, 1, 32),
        KERNEL(decides, 1, 24),
        KERNEL(chooses_a_place, 1, 48),
        KERNEL(in_the_last_block, 31, 32),
    };
    for (auto k : kernels)
        if (strcmp(name, k.name) == 0)
            k.kernel<<<k.blocks, k.threads>>>(in, out);
    return cudaDeviceSynchronize();
}
