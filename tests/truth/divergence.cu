// Requests of warps whose lanes part: each launch stands between cudaProfilerStart and cudaProfilerStop, and its comment
// says how many requests it makes as it is written.

#include <cuda_profiler_api.h>

__global__ void one_lane_a_turn(const float *in, float *out)  // shared_ld_requests 32, global_ld_requests 2
{
    __shared__ float s[32];
    s[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    float x = 0;
    for (int i = 0; i < 32; i++)
        if ((int)threadIdx.x == i)
            x += s[i];
    out[threadIdx.x] = x + in[31 - threadIdx.x];
}

__global__ void two_branches(const float *in, float *out)  // shared_ld_requests 0, global_ld_requests 2
{
    float x = 1;
    if (threadIdx.x % 2)
        x += in[threadIdx.x];
    else
        x -= in[63 - threadIdx.x] * 3;
    out[threadIdx.x] = x;
}

int main(void)
{
    float *in, *out;
    cudaMalloc(&in, 64 * sizeof(float));
    cudaMalloc(&out, 64 * sizeof(float));
    cudaMemset(in, 0, 64 * sizeof(float));
    cudaProfilerStart();
    one_lane_a_turn<<<1, 32>>>(in, out);
    cudaProfilerStop();
    cudaProfilerStart();
    two_branches<<<1, 32>>>(in, out);
    cudaProfilerStop();
    return cudaDeviceSynchronize();
}
