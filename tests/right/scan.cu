// Prefix sums: Hillis-Steele with two buffers, Blelloch with padded indices, by warp shuffles, and over many blocks.

#include "right.h"

__global__ void hillis_steele(const float *in, float *out, int n)
{
    extern __shared__ float buffers[];  // two of blockDim.x
    int t = threadIdx.x, from = 0, to = 1;
    buffers[t] = t < n ? in[t] : 0;
    __syncthreads();
    for (int offset = 1; offset < blockDim.x; offset *= 2) {
        int swap = from;
        from = to;
        to = swap;
        float v = buffers[to * blockDim.x + t];
        if (t >= offset)
            v += buffers[to * blockDim.x + t - offset];
        buffers[from * blockDim.x + t] = v;
        __syncthreads();
    }
    if (t < n)
        out[t] = buffers[from * blockDim.x + t];
}

__global__ void in_place(const float *in, float *out, int n)
{
    __shared__ float tile[256];
    int t = threadIdx.x;
    tile[t] = t < n ? in[t] : 0;
    for (int offset = 1; offset < 256; offset *= 2) {
        __syncthreads();
        float v = t >= offset ? tile[t - offset] : 0;
        __syncthreads();
        tile[t] += v;
    }
    if (t < n)
        out[t] = tile[t];
}

#define PADDED(i) ((i) + ((i) >> 5))

__global__ void blelloch(const float *in, float *out, int n)  // exclusive, two elements a thread
{
    extern __shared__ float tile[];
    int t = threadIdx.x, width = 2 * blockDim.x, offset = 1;
    tile[PADDED(t)] = t < n ? in[t] : 0;
    tile[PADDED(t + blockDim.x)] = t + blockDim.x < n ? in[t + blockDim.x] : 0;
    for (int d = width >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) {
            int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
            tile[PADDED(b)] += tile[PADDED(a)];
        }
        offset *= 2;
    }
    if (t == 0)
        tile[PADDED(width - 1)] = 0;
    for (int d = 1; d < width; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
            float left = tile[PADDED(a)];
            tile[PADDED(a)] = tile[PADDED(b)];
            tile[PADDED(b)] += left;
        }
    }
    __syncthreads();
    if (t < n)
        out[t] = tile[PADDED(t)];
    if (t + blockDim.x < n)
        out[t + blockDim.x] = tile[PADDED(t + blockDim.x)];
}

__device__ float warp_scan(float v)
{
    int lane = threadIdx.x & 31;
    for (int offset = 1; offset < 32; offset <<= 1) {
        float below = __shfl_up_sync(0xffffffff, v, offset);
        if (lane >= offset)
            v += below;
    }
    return v;
}

// Scans each block, and leaves the block's sum for the next kernel.
__global__ void by_warps(const float *in, float *out, float *sums, int n)
{
    __shared__ float of_warp[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float v = warp_scan(i < n ? in[i] : 0);
    if (lane == 31)
        of_warp[warp] = v;
    __syncthreads();
    if (warp == 0) {
        float s = lane < blockDim.x >> 5 ? of_warp[lane] : 0;
        of_warp[lane] = warp_scan(s);
    }
    __syncthreads();
    if (warp > 0)
        v += of_warp[warp - 1];
    if (i < n)
        out[i] = v;
    if (threadIdx.x == blockDim.x - 1 && sums)
        sums[blockIdx.x] = v;
}

__global__ void add_sums(float *out, const float *sums, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && blockIdx.x > 0)
        out[i] += sums[blockIdx.x - 1];
}

static void expect_scan(const float *in, float *out, int n, int exclusive)
{
    float *got = to_host(out, n);
    double sum = 0;
    for (int i = 0; i < n; i++) {
        SAME(got[i], exclusive ? sum : sum + in[i]);
        sum += in[i];
    }
    free(got);
}

int main(void)
{
    enum { N = 1000 };
    float *host = numbers(N, 4), *in = to_device(host, N), *out = to_device<float>(NULL, N);
    float *sums = to_device<float>(NULL, 8);

    hillis_steele<<<1, 256, 2 * 256 * sizeof(float)>>>(in, out, 200);
    expect_scan(host, out, 200, 0);
    in_place<<<1, 256>>>(in, out, 251);
    expect_scan(host, out, 251, 0);
    blelloch<<<1, 128, PADDED(256) * sizeof(float)>>>(in, out, 255);
    expect_scan(host, out, 255, 1);

    int blocks = (N + 127) / 128;
    by_warps<<<blocks, 128>>>(in, out, sums, N);
    by_warps<<<1, 32>>>(sums, sums, NULL, blocks);
    add_sums<<<blocks, 128>>>(out, sums, N);
    expect_scan(host, out, N, 0);
    return 0;
}
