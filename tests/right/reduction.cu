// Sums in every usual way: trees in shared memory, shuffles, __syncwarp with volatile, partial masks, atomics; votes.

#include "right.h"

__global__ void tree(const float *in, float *out, int n)
{
    __shared__ float sums[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    sums[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (t < half)
            sums[t] += sums[t + half];
        __syncthreads();
    }
    if (t == 0)
        atomicAdd(out, sums[0]);
}

__global__ void interleaved(const float *in, float *out, int n)
{
    extern __shared__ float sums[];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    sums[t] = i < n ? in[i] : 0;
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        __syncthreads();
        unsigned j = 2 * s * t;
        if (j + s < blockDim.x)
            sums[j] += sums[j + s];
    }
    if (t == 0)
        atomicAdd(out, sums[0]);
}

// The last warp alone, without block barriers: reads, then writes, each step fenced by __syncwarp.
__device__ void last_warp(volatile float *sums, int t)
{
    float v = sums[t];
    for (int half = 32; half > 0; half >>= 1) {
        v += sums[t + half];
        __syncwarp();
        sums[t] = v;
        __syncwarp();
    }
}

template <int THREADS> __global__ void unrolled(const float *in, float *out, int n)
{
    __shared__ float sums[THREADS];
    int t = threadIdx.x;
    float v = 0;
    for (int i = blockIdx.x * THREADS + t; i < n; i += gridDim.x * THREADS)
        v += in[i];
    sums[t] = v;
    __syncthreads();
    if (THREADS >= 256) {
        if (t < 128)
            sums[t] += sums[t + 128];
        __syncthreads();
    }
    if (THREADS >= 128) {
        if (t < 64)
            sums[t] += sums[t + 64];
        __syncthreads();
    }
    if (t < 32)
        last_warp(sums, t);
    if (t == 0)
        atomicAdd(out, sums[0]);
}

__inline__ __device__ float warp_sum(float v)
{
    for (int offset = warpSize / 2; offset > 0; offset /= 2)
        v += __shfl_down_sync(0xffffffff, v, offset);
    return v;
}

__global__ void shuffles(const float *in, float *out, int n)
{
    static __shared__ float of_warp[32];
    int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = warp_sum(i < n ? in[i] : 0);
    if (lane == 0)
        of_warp[warp] = v;
    __syncthreads();
    if (warp == 0) {
        v = lane < blockDim.x / warpSize ? of_warp[lane] : 0;
        v = warp_sum(v);
        if (lane == 0)
            atomicAdd(out, v);
    }
}

__global__ void butterflies(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? in[i] : 0;
    for (int x = 1; x < 32; x <<= 1)
        v += __shfl_xor_sync(~0u, v, x);
    if (i % 32 == 7)
        atomicAdd(out, v);
}

// Only the lanes with work come: a mask agreed on beforehand by a vote.
__global__ void partial_masks(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    unsigned mask = __ballot_sync(0xffffffff, i < n);
    if (i < n) {
        float v = in[i];
        int lanes = __popc(mask);
        for (int offset = 16; offset > 0; offset /= 2) {
            float other = __shfl_down_sync(mask, v, offset);
            if (lane + offset < lanes)
                v += other;
        }
        __syncwarp(mask);
        if (lane == __ffs(mask) - 1)
            atomicAdd(out, v);
    }
}

__global__ void quarters(const float *in, float *out, int n)
{
    __shared__ float tile[8][4];
    int i = threadIdx.x, lane = i % 8;
    unsigned mask = 0xffu << (i / 8 * 8);
    tile[lane][i / 8] = i < n ? in[i] : 0;
    __syncwarp(mask);
    float v = tile[7 - lane][i / 8];
    for (int offset = 4; offset; offset /= 2)
        v += __shfl_down_sync(mask, v, offset, 8);
    if (lane == 0)
        atomicAdd(&out[i / 8], v);
}

__global__ void votes(int *out)
{
    int lane = threadIdx.x;
    unsigned low = __ballot_sync(0xffffffff, lane < 5);
    int all = __all_sync(0xffffffff, lane < 32), any = __any_sync(0xffffffff, lane == 40);
    unsigned odd = 0;
    if (lane & 1)
        odd = __ballot_sync(0xaaaaaaaa, lane > 15);
    int number = __popc(low & ((1u << lane) - 1));
    int up = __shfl_up_sync(0xffffffff, lane, 3);
    out[lane] = low == 31 && all && !any && (!(lane & 1) || odd == 0xaaaa0000) && number == min(lane, 5) &&
                up == (lane < 3 ? lane : lane - 3) && __brev(1u) == 0x80000000 && __clz(1) == 31;
}

__global__ void block_votes(int *out)
{
    int t = threadIdx.x;
    int count = __syncthreads_count(t % 3 == 0), all = __syncthreads_and(t < 64), any = __syncthreads_or(t == 63);
    out[t] = count == 22 && all && any;
}

static void expect_sum(const float *host, float *out, int n)
{
    double want = 0;
    for (int i = 0; i < n; i++)
        want += host[i];
    float *got = to_host(out, 1);
    SAME(*got, want);
    free(got);
    CHECK(cudaMemset(out, 0, sizeof(float)));
}

int main(void)
{
    enum { N = 1000 };
    float *host = numbers(N, 3), *in = to_device(host, N), zero[4] = {0}, *out = to_device(zero, 4);

    tree<<<(N + 255) / 256, 256>>>(in, out, N);
    expect_sum(host, out, N);
    interleaved<<<(N + 127) / 128, 128, 128 * sizeof(float)>>>(in, out, N);
    expect_sum(host, out, N);
    unrolled<256><<<2, 256>>>(in, out, N);
    expect_sum(host, out, N);
    unrolled<64><<<3, 64>>>(in, out, N);
    expect_sum(host, out, N);
    shuffles<<<(N + 255) / 256, 256>>>(in, out, N);
    expect_sum(host, out, N);
    butterflies<<<(N + 63) / 64, 64>>>(in, out, N);
    expect_sum(host, out, N);
    partial_masks<<<(N + 95) / 96, 96>>>(in, out, N);
    expect_sum(host, out, N);

    quarters<<<1, 32>>>(in, out, 32);
    float *sums = to_host(out, 4);
    for (int q = 0; q < 4; q++) {
        double want = 0;
        for (int i = 0; i < 8; i++)
            want += host[8 * q + i];
        SAME(sums[q], want);
    }

    int *flags = to_device<int>(NULL, 64);
    votes<<<1, 32>>>(flags);
    int *said = to_host(flags, 32);
    for (int i = 0; i < 32; i++)
        SAME(said[i], 1);
    block_votes<<<1, 64>>>(flags);
    said = to_host(flags, 64);
    for (int i = 0; i < 64; i++)
        SAME(said[i], 1);
    return 0;
}
