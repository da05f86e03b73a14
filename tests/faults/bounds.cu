// Accesses beyond what was allocated or declared. The first argument picks the kernel; `expect NAME: KIND` marks the
// line that the report must name.

#include <cuda_runtime.h>
#include <string.h>

enum { N = 98 };  // not a multiple of a float4, nor of a block

__global__ void read_by_one(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N)
        out[i] = in[i + 1];  // expect read_by_one: out of bounds
}

__global__ void write_by_one(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= N)
        out[i] = 1;  // expect write_by_one: out of bounds
}

__global__ void negative_index(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N)
        out[i] = in[i - 1];  // expect negative_index: out of bounds
}

__global__ void negative_write(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N)
        out[i - 1] = 1;  // expect negative_write: out of bounds
}

__global__ void half_a_vector(const float *in, float *out)
{
    int i = threadIdx.x;
    if (i <= N / 4)
        ((float4 *)out)[i] = make_float4(1, 1, 1, 1);  // expect half_a_vector: out of bounds
}

__global__ void atomic_past(const float *in, float *out)
{
    atomicAdd(&out[N], 1);  // expect atomic_past: out of bounds
}

__global__ void shared_read_past(const float *in, float *out)
{
    __shared__ float tile[32], next[32];
    int t = threadIdx.x;
    tile[t] = next[t] = t;
    __syncthreads();
    out[t] = tile[t + 1] + next[t];  // expect shared_read_past: out of bounds
}

__global__ void shared_write_past(const float *in, float *out)
{
    __shared__ float tile[32], next[32];
    int t = threadIdx.x;
    next[t] = t;
    __syncthreads();
    tile[t + 1] = t;  // expect shared_write_past: out of bounds
    __syncthreads();
    out[t] = tile[t] + next[t];
}

__global__ void shared_negative(const float *in, float *out)
{
    __shared__ float before[32], tile[32];
    int t = threadIdx.x;
    before[t] = tile[t] = t;
    __syncthreads();
    out[t] = tile[t - 1] + before[t];  // expect shared_negative: out of bounds
}

__global__ void last_row(const float *in, float *out)
{
    __shared__ float tile[4][8];
    int t = threadIdx.x;
    tile[t / 8][t % 8] = t;
    __syncthreads();
    out[t] = tile[t / 8 + 1][t % 8];  // expect last_row: out of bounds
}

__global__ void shared_atomic(const float *in, float *out)
{
    __shared__ int bins[16];
    int t = threadIdx.x;
    if (t < 16)
        bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[t], 1);  // expect shared_atomic: out of bounds
    __syncthreads();
    if (t < 16)
        out[t] = bins[t];
}

__global__ void dynamic_past(const float *in, float *out)
{
    extern __shared__ float stage[];
    stage[threadIdx.x + 1] = 1;  // expect dynamic_past: out of bounds
    out[threadIdx.x] = 1;
}

__global__ void dynamic_forgotten(const float *in, float *out)
{
    extern __shared__ float stage[];
    stage[threadIdx.x] = 1;  // expect dynamic_forgotten: out of bounds
    out[threadIdx.x] = 1;
}

__global__ void copied_bytes(const float *in, float *out)
{
    memcpy(out, in + 50, 64 * sizeof(float));  // expect copied_bytes: out of bounds
}

static int is(const char *argument, const char *name) { return strcmp(argument, name) == 0; }

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    float *in, *out;
    cudaMalloc(&in, N * sizeof(float));
    cudaMalloc(&out, N * sizeof(float));
    cudaMemset(in, 0, N * sizeof(float));
    if (is(name, "read_by_one"))
        read_by_one<<<4, 32>>>(in, out);
    if (is(name, "write_by_one"))
        write_by_one<<<4, 32>>>(in, out);
    if (is(name, "negative_index"))
        negative_index<<<4, 32>>>(in, out);
    if (is(name, "negative_write"))
        negative_write<<<4, 32>>>(in, out);
    if (is(name, "half_a_vector"))
        half_a_vector<<<1, 32>>>(in, out);
    if (is(name, "atomic_past"))
        atomic_past<<<1, 32>>>(in, out);
    if (is(name, "shared_read_past"))
        shared_read_past<<<1, 32>>>(in, out);
    if (is(name, "shared_write_past"))
        shared_write_past<<<1, 32>>>(in, out);
    if (is(name, "shared_negative"))
        shared_negative<<<1, 32>>>(in, out);
    if (is(name, "last_row"))
        last_row<<<1, 32>>>(in, out);
    if (is(name, "shared_atomic"))
        shared_atomic<<<1, 32>>>(in, out);
    if (is(name, "dynamic_past"))
        dynamic_past<<<1, 32, 32 * sizeof(float)>>>(in, out);
    if (is(name, "dynamic_forgotten"))
        dynamic_forgotten<<<1, 32>>>(in, out);
    if (is(name, "copied_bytes"))
        copied_bytes<<<1, 1>>>(in, out);
    return cudaDeviceSynchronize();
}
