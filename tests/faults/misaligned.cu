// Vector accesses at addresses that are not multiples of their size. The first argument picks the kernel; `expect NAME:
// KIND` marks the line that the report must name.

#include <cuda_runtime.h>
#include <string.h>

__global__ void global_load(float *data)
{
    float4 v = *(float4 *)(data + 1 + 4 * threadIdx.x);  // expect global_load: misaligned access
    data[threadIdx.x] = v.x + v.y + v.z + v.w;
}

__global__ void global_store(float *data)
{
    *(float2 *)(data + 3) = make_float2(1, 2);  // expect global_store: misaligned access
}

__global__ void shared_load(float *data)
{
    __shared__ __align__(16) float tile[64];
    int t = threadIdx.x;
    tile[t] = tile[t + 32] = t;
    __syncthreads();
    float4 v = *(float4 *)&tile[t];  // expect shared_load: misaligned access
    data[t] = v.x + v.y + v.z + v.w;
}

__global__ void shared_store(float *data)
{
    __shared__ __align__(16) float tile[64];
    int t = threadIdx.x;
    tile[t] = tile[t + 32] = t;
    __syncthreads();
    if (t == 0)
        *(double *)&tile[1] = 1;  // expect shared_store: misaligned access
    __syncthreads();
    data[t] = tile[t];
}

__global__ void odd_short(float *data)
{
    unsigned char *bytes = (unsigned char *)data;
    *(short *)(bytes + 1 + 2 * threadIdx.x) = 1;  // expect odd_short: misaligned access
}

static int is(const char *argument, const char *name) { return strcmp(argument, name) == 0; }

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    float *data;
    cudaMalloc(&data, 256 * sizeof(float));
    cudaMemset(data, 0, 256 * sizeof(float));
    if (is(name, "global_load"))
        global_load<<<1, 32>>>(data);
    if (is(name, "global_store"))
        global_store<<<1, 32>>>(data);
    if (is(name, "shared_load"))
        shared_load<<<1, 32>>>(data);
    if (is(name, "shared_store"))
        shared_store<<<1, 32>>>(data);
    if (is(name, "odd_short"))
        odd_short<<<1, 32>>>(data);
    return cudaDeviceSynchronize();
}
