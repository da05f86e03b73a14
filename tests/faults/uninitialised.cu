// Shared memory read before anything wrote it. The first argument picks the kernel; `expect NAME: KIND` marks the line
// that the report must name.

#include <cuda_runtime.h>
#include <string.h>

__global__ void static_memory(float *out)
{
    __shared__ float tile[32];
    out[threadIdx.x] = tile[threadIdx.x];  // expect static_memory: uninitialised shared memory
}

__global__ void dynamic_memory(float *out)
{
    extern __shared__ float stage[];
    out[threadIdx.x] = stage[threadIdx.x];  // expect dynamic_memory: uninitialised shared memory
}

__global__ void lost_tail(float *out)
{
    __shared__ float tile[32];
    int t = threadIdx.x;
    if (t < 31)
        tile[t] = t;
    __syncthreads();
    out[t] = tile[t];  // expect lost_tail: uninitialised shared memory
}

__global__ void one_component(float *out)
{
    __shared__ float4 wide[32];
    int t = threadIdx.x;
    wide[t].x = wide[t].y = wide[t].w = t;
    __syncthreads();
    float4 v = wide[t];  // expect one_component: uninitialised shared memory
    out[t] = v.x + v.y + v.z + v.w;
}

__global__ void other_block(float *out)
{
    __shared__ float tile[32];
    int t = threadIdx.x;
    if (blockIdx.x == 0)
        tile[t] = t;
    __syncthreads();
    out[blockIdx.x * 32 + t] = tile[t];  // expect other_block: uninitialised shared memory
}

__global__ void first_sum(float *out)
{
    __shared__ float sum;
    if (threadIdx.x == 0)
        sum += 1;  // expect first_sum: uninitialised shared memory
    __syncthreads();
    out[threadIdx.x] = sum;
}

__global__ void first_atomic(float *out)
{
    __shared__ int count;
    atomicAdd(&count, 1);  // expect first_atomic: uninitialised shared memory
    __syncthreads();
    out[threadIdx.x] = count;
}

// One thread copies, for so long that others come in between, something of which a part has been written.
__global__ void beside_a_copy(float *out)
{
    __shared__ struct {
        int words[1024];
    } from, to;
    __shared__ float unwritten;
    if (threadIdx.x == 0) {
        from.words[0] = 1;
        for (int i = 0; i < 2200; i++) {
            to = from;
            __threadfence_block();
        }
    } else {
        out[threadIdx.x] = unwritten;  // expect beside_a_copy: uninitialised shared memory
    }
}

__global__ void and_another_fault(float *out)  // which ends the launch before its end
{
    __shared__ float tile[32];
    float unwritten = tile[threadIdx.x];  // expect and_another_fault: uninitialised shared memory
    out[64 + threadIdx.x] = unwritten;
}

static int is(const char *argument, const char *name) { return strcmp(argument, name) == 0; }

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    float *out;
    cudaMalloc(&out, 64 * sizeof(float));
    if (is(name, "static_memory"))
        static_memory<<<1, 32>>>(out);
    if (is(name, "dynamic_memory"))
        dynamic_memory<<<1, 32, 32 * sizeof(float)>>>(out);
    if (is(name, "lost_tail"))
        lost_tail<<<1, 32>>>(out);
    if (is(name, "one_component"))
        one_component<<<1, 32>>>(out);
    if (is(name, "other_block"))
        other_block<<<2, 32>>>(out);
    if (is(name, "first_sum"))
        first_sum<<<1, 32>>>(out);
    if (is(name, "first_atomic"))
        first_atomic<<<1, 32>>>(out);
    if (is(name, "beside_a_copy"))
        beside_a_copy<<<1, 32>>>(out);
    if (is(name, "and_another_fault"))
        and_another_fault<<<1, 32>>>(out);
    return cudaDeviceSynchronize();
}
