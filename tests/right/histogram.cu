// Atomics: histograms in shared and global memory, every atomic operation, a lock-free maximum, a ticket.

#include "right.h"

enum { N = 3000, BINS = 40 };

__global__ void shared_bins(const unsigned char *in, int *out, int n)
{
    __shared__ int bins[BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        bins[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(&bins[in[i]], 1);
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        atomicAdd(&out[b], bins[b]);
}

__global__ void global_bins(const unsigned char *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&out[in[i]], 1);
}

// One set of bins a warp, summed at the end.
__global__ void bins_per_warp(const unsigned char *in, int *out, int n)
{
    __shared__ int bins[4][BINS];
    int t = threadIdx.x;
    for (int b = t; b < 4 * BINS; b += blockDim.x)
        (&bins[0][0])[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(&bins[t / 32][in[i]], 1);
    __syncthreads();
    if (t < BINS)
        atomicAdd(&out[t], bins[0][t] + bins[1][t] + bins[2][t] + bins[3][t]);
}

struct totals {
    int add, sub, min, max, exch, cas;
    unsigned and_, or_, xor_, inc, dec, tickets;
    unsigned long long wide;
    float real;
    double real_wide;
};

__global__ void every_operation(struct totals *s)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&s->add, i);
    atomicSub(&s->sub, 2);
    atomicMin(&s->min, 10 - i);
    atomicMax(&s->max, 3 * i);
    atomicExch(&s->exch, 77);
    atomicAnd(&s->and_, ~(1u << i % 32));
    atomicOr(&s->or_, 1u << i % 7);
    atomicXor(&s->xor_, 1u << i % 5);
    atomicInc(&s->inc, 9);
    atomicDec(&s->dec, 6);
    atomicAdd(&s->wide, 1ull << 33);
    atomicAdd(&s->real, 0.5f);
    atomicAdd(&s->real_wide, 0.25);
    int seen = s->cas, assumed;  // a plain read is only a first guess
    do {
        assumed = seen;
        seen = atomicCAS(&s->cas, assumed, max(assumed, i * i));
    } while (seen != assumed);
    atomicInc(&s->tickets, 0xffffffff);
}

// The last block to finish adds up what the others left.
__device__ unsigned blocks_done;

__global__ void last_block(const float *in, volatile float *partial, float *out, int n)
{
    __shared__ float sums[64];
    __shared__ int am_last;
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    sums[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int half = 32; half; half /= 2) {
        if (t < half)
            sums[t] += sums[t + half];
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = sums[0];
        __threadfence();
        am_last = atomicAdd(&blocks_done, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (am_last && t == 0) {
        float sum = 0;
        for (int b = 0; b < gridDim.x; b++)
            sum += partial[b];
        *out = sum;
        blocks_done = 0;
    }
}

int main(void)
{
    unsigned char *host = (unsigned char *)malloc(N);
    int want[BINS] = {0}, zeros[BINS] = {0};
    for (int i = 0; i < N; i++) {
        host[i] = (i * 7919u >> 3) % BINS;
        want[host[i]]++;
    }
    unsigned char *in = to_device(host, N);
    int *out = to_device(zeros, BINS);
    for (int way = 0; way < 3; way++) {
        if (way == 0)
            shared_bins<<<5, 128>>>(in, out, N);
        if (way == 1)
            global_bins<<<(N + 255) / 256, 256>>>(in, out, N);
        if (way == 2)
            bins_per_warp<<<5, 128>>>(in, out, N);
        int *got = to_host(out, BINS);
        for (int b = 0; b < BINS; b++)
            SAME(got[b], want[b]);
        CHECK(cudaMemset(out, 0, sizeof zeros));
    }

    const int THREADS = 4 * 64;
    struct totals start = {0, 0, 1000, 0, 5, 0, ~0u, 0, 0, 0, 0, 0, 0, 0, 0};
    struct totals *totals = to_device(&start, 1);
    every_operation<<<4, 64>>>(totals);
    struct totals *s = to_host(totals, 1);
    SAME(s->add, THREADS * (THREADS - 1) / 2);
    SAME(s->sub, -2 * THREADS);
    SAME(s->min, 10 - (THREADS - 1));
    SAME(s->max, 3 * (THREADS - 1));
    SAME(s->exch, 77);
    SAME(s->and_, 0);
    SAME(s->or_, 127);
    unsigned xor_ = 0;
    for (int i = 0; i < THREADS; i++)
        xor_ ^= 1u << i % 5;
    SAME(s->xor_, xor_);
    SAME(s->inc, THREADS % 10);
    SAME(s->dec, (7 - THREADS % 7) % 7);
    SAME(s->wide, THREADS * 8589934592.0);
    SAME(s->real, THREADS * 0.5);
    SAME(s->real_wide, THREADS * 0.25);
    SAME(s->cas, (THREADS - 1) * (THREADS - 1));
    SAME(s->tickets, THREADS);

    float *x = numbers(1000, 6), *x_gmem = to_device(x, 1000), *partial = to_device<float>(NULL, 16);
    float *sum = to_device<float>(NULL, 1);
    double total = 0;
    for (int i = 0; i < 1000; i++)
        total += x[i];
    for (int again = 0; again < 2; again++) {
        last_block<<<16, 64>>>(x_gmem, partial, sum, 1000);
        SAME(*to_host(sum, 1), total);
    }
    return 0;
}
