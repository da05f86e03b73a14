// Who may meet whom, where: warps in one barrier and lanes in one shuffle, vote or reduction at different lines; tests of
// an mbarrier's phase that is known to be over; barriers in two halves; values of absent lanes that are dropped.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda_awbarrier_primitives.h>
#include "right.h"

namespace cg = cooperative_groups;

// ---- barriers ----

__global__ void two_roles(int *out)  // in barrier 0, with a number of threads and without
{
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t < 32) {
        s[t] = t;
        asm volatile("bar.sync 0;" ::: "memory");
        out[t] = s[t + 32];
        asm volatile("bar.sync 0, 64;" ::: "memory");
    } else {
        s[t] = 100 + t;
        asm volatile("bar.sync 0;" ::: "memory");
        out[t] = s[t - 32];
        asm volatile("barrier.cta.sync 0, 64;" ::: "memory");
    }
}

__global__ void two_branches_of_a_warp(
    int *out)  // barrier without .aligned, and cooperative groups' are met lane by lane
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = t;
    if (t % 2)
        asm volatile("barrier.sync 4, 64;" ::: "memory");
    else
        asm volatile("barrier.sync 4, 64;" ::: "memory");
    int v = s[63 - t];
    auto block = cg::this_thread_block();
    if (t % 4 < 2)
        block.sync();
    else
        block.sync();
    s[t] = v;
    block.sync();
    out[t] = s[t ^ 5];
}

__noinline__ __device__ void all_meet() { __syncthreads(); }

__global__ void left_early(int *out)  // who has left before is not waited for
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = t;
    all_meet();
    if (t % 3 == 0)
        return;
    int v = s[63 - t];
    all_meet();
    out[t] = v;
}

__global__ void halves(int *out)  // the block's barrier in two: what is done between them concerns nobody else
{
    __shared__ int s[64];
    int t = threadIdx.x, sum = 0;
    auto block = cg::this_thread_block();
    for (int i = 0; i < 3; i++) {
        s[t] = 10 * t + i;
        auto token = block.barrier_arrive();
        int own = t * t;
        block.barrier_wait(std::move(token));
        sum += s[63 - t] + own;
        block.sync();
    }
    out[t] = sum;
}

__global__ void halves_of_the_grid(int *data, int *out)
{
    auto grid = cg::this_grid();
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x, sum = 0;
    for (int phase = 0; phase < 3; phase++) {
        data[i] = i + phase;
        auto token = grid.barrier_arrive();
        int own = i * phase;
        grid.barrier_wait(std::move(token));
        sum += data[n - 1 - i] + own;
        grid.sync();
    }
    out[i] = sum;
}

// ---- lanes of a warp ----

__device__ int neighbour(int v)
{
    int r;
    asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, 0xffffffff;" : "=r"(r) : "r"(v));
    return r;
}

__global__ void at_two_lines(int *out)
{
    int t = threadIdx.x, v = 3 * t, sum = 0;
    bool odd = t & 1;
    if (odd)
        sum += __shfl_xor_sync(0xffffffff, v + 1000, 1);
    else
        sum += neighbour(v);
    if (odd)
        sum += __shfl_down_sync(0xffffffff, v, 2);  // each by as much as it likes
    else
        sum += __shfl_down_sync(0xffffffff, v, 1);
    if (t < 10)
        sum += __ballot_sync(0xffffffff, t < 4) & 15;
    else
        sum += __ballot_sync(0xffffffff, t > 28) & 15;
    if (odd)
        sum += __any_sync(0xffffffff, t == 7);
    else
        sum += __any_sync(0xffffffff, 0);
    if (odd)
        sum += __popc(__match_any_sync(0xffffffff, t / 4));
    else
        sum += __popc(__match_any_sync(0xffffffff, t / 4));
    if (t < 16)
        sum += __reduce_add_sync(0xffffffff, t);
    else
        sum += __reduce_add_sync(0xffffffff, -t);
    out[t] = sum;
}

__global__ void ordered_at_two_lines(int *out)
{
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = t;
    if (t < 16) {
        __syncwarp();
        out[t] = s[t + 16];
    } else {
        asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
        out[t] = s[t - 16];
    }
}

// ---- mbarriers ----

__global__ void known_to_be_over(int *out)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ __mbarrier_t plain;
    int t = threadIdx.x, sum = 0;
    if (t == 0) {
        init(&bar, blockDim.x);
        __mbarrier_init(&plain, blockDim.x);
    }
    __syncthreads();
    sum += __mbarrier_test_wait_parity(&plain, 1);  // the phase before the first
    __syncthreads();
    auto token = __mbarrier_arrive(&plain);
    __syncthreads();
    sum += 10 * __mbarrier_test_wait(&plain, token);
    sum += 10 * __mbarrier_test_wait_parity(&plain, 0);
    sum += 100 * __mbarrier_try_wait_parity(&plain, 0, 0);
    auto state = bar.arrive();
    if (t % 32 == 0)
        bar.wait_parity(0);
    __syncwarp();
    sum += 1000 * __mbarrier_test_wait((__mbarrier_t *)cuda::device::barrier_native_handle(bar), state);
    out[t] = sum;
}

struct adds_up {  // called by the last to arrive, before anybody goes on
    const int *s;
    int *sum;
    __device__ void operator()() const
    {
        for (int i = 0; i < 64; i++)
            *sum += s[i];
    }
};

__global__ void completion(int *out)
{
    using summing = cuda::barrier<cuda::thread_scope_block, adds_up>;
    __shared__ int s[64], sum;
    __shared__ alignas(summing) char memory[sizeof(summing)];
    __shared__ alignas(8) char plain[sizeof(cuda::barrier<cuda::thread_scope_block>)];
    auto *bar = reinterpret_cast<summing *>(memory);
    auto *other = reinterpret_cast<cuda::barrier<cuda::thread_scope_block> *>(plain);
    int t = threadIdx.x, all = 0;
    if (t == 0) {
        sum = 0;
        init(bar, 64, adds_up{s, &sum});
        init(other, 64);
    }
    __syncthreads();
    for (int i = 0; i < 3; i++) {
        s[t] = t * i;
        bar->arrive_and_wait();
        all += sum;
        auto token = other->arrive();
        while (!other->try_wait_for(std::move(token), cuda::std::chrono::nanoseconds(100)))
            ;
    }
    if (t >= 48) {
        other->arrive_and_drop();
    } else {
        for (int i = 0; i < 3; i++)
            other->arrive_and_wait();
        while (!other->try_wait_parity_for(true, cuda::std::chrono::microseconds(1)))
            ;
    }
    out[t] = all;
}

// ---- absent lanes ----

__global__ void dropped(int *out, int n)  // lanes 0 to n - 1 have come; the sum of the first alone counts
{
    __shared__ int s[32];
    int t = threadIdx.x;
    if (t >= n)
        return;
    unsigned mask = (1u << n) - 1;
    int v = t + 1;
    for (int by = 16; by; by /= 2) {
        int other = __shfl_down_sync(mask, v, by);
        if (t + by < n)
            v += other;
    }
    int w = t + 1;
    if (t < 16)
        for (int by = 8; by; by /= 2)
            w += __shfl_down_sync(0xffff, w, by);
    s[t] = __shfl_down_sync(mask, t, 1);
    __syncwarp(mask);
    if (t < n - 1)
        out[t] = s[t];
    else
        out[t] = -1;
    if (t == 0)
        out[0] = 1000 * v + w;
}

__global__ void last_of_many_blocks(const int *in, int *out, int n)  // each block's eight sums are added by eight lanes
{
    __shared__ int sums[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    int v = i < n ? in[i] : 0;
    for (int by = 16; by; by /= 2)
        v += __shfl_down_sync(0xffffffff, v, by);
    if (lane == 0)
        sums[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x >= 8)
        return;
    v = sums[lane];
    for (int by = 4; by; by /= 2)
        v += __shfl_down_sync(0xff, v, by);
    if (lane == 0)
        atomicAdd(out, v);
}

int main()
{
    int *out = to_device<int>(NULL, 128), *r;
    two_roles<<<1, 64>>>(out);
    r = to_host(out, 64);
    for (int t = 0; t < 64; t++)
        SAME(r[t], t < 32 ? 132 + t : t - 32);
    two_branches_of_a_warp<<<1, 64>>>(out);
    r = to_host(out, 64);
    for (int t = 0; t < 64; t++)
        SAME(r[t], 63 - (t ^ 5));
    left_early<<<1, 64>>>(out);
    r = to_host(out, 64);
    for (int t = 0; t < 64; t++)
        if (t % 3)
            SAME(r[t], 63 - t);
    halves<<<1, 64>>>(out);
    r = to_host(out, 64);
    for (int t = 0; t < 64; t++)
        SAME(r[t], 30 * (63 - t) + 3 + 3 * t * t);
    int *data = to_device<int>(NULL, 128);
    void *arguments[] = {&data, &out};
    CHECK(cudaLaunchCooperativeKernel((const void *)halves_of_the_grid, dim3(4), dim3(32), arguments, 0, 0));
    r = to_host(out, 128);
    for (int i = 0; i < 128; i++)
        SAME(r[i], 3 * (127 - i) + 3 + 3 * i);

    at_two_lines<<<1, 32>>>(out);
    r = to_host(out, 32);
    for (int t = 0; t < 32; t++) {
        int by = t & 1 ? 2 : 1, from = t + by < 32 ? t + by : t;
        int sum = 3 * (t ^ 1) + (t & 1 ? 0 : 1000) + 3 * from + 15 + 1 + 4;
        SAME(r[t], sum + 15 * 16 / 2 - (31 * 32 / 2 - 15 * 16 / 2));
    }
    ordered_at_two_lines<<<1, 32>>>(out);
    r = to_host(out, 32);
    for (int t = 0; t < 32; t++)
        SAME(r[t], t ^ 16);

    known_to_be_over<<<1, 64>>>(out);
    r = to_host(out, 64);
    for (int t = 0; t < 64; t++)
        SAME(r[t], 1121);

    completion<<<1, 64>>>(out);
    r = to_host(out, 64);
    for (int t = 0; t < 64; t++)
        SAME(r[t], 2016 + 3 * 2016);

    dropped<<<1, 32>>>(out, 21);
    r = to_host(out, 21);
    SAME(r[0], 1000 * 231 + 136);
    for (int t = 1; t < 21; t++)
        SAME(r[t], t < 20 ? t + 1 : -1);
    static int ones[10000];
    for (int &one : ones)
        one = 1;
    int *in = to_device(ones, 10000);
    CHECK(cudaMemset(out, 0, sizeof(int)));
    last_of_many_blocks<<<40, 256>>>(in, out, 10000);
    SAME(*to_host(out, 1), 10000);
    return 0;
}
