// cuda::atomic and cuda::atomic_ref: what C++'s atomic objects do, with the orders that make a message safe.
#include <cuda/atomic>
#include <cuda/std/atomic>
#include "right.h"

constexpr int BLOCKS = 4, THREADS = 64, N = BLOCKS * THREADS;

template <typename T> using on_device = cuda::atomic_ref<T, cuda::thread_scope_device>;

struct results {
    int sum, least, most, bits, swapped, flips, failed, turns;
    unsigned short small;
    signed char tiny;
    unsigned long long wide;
    float f, f_least, f_most;
    double d;
    int *pointer;
    int cells[8];
    __align__(8) struct two {
        int count, sum;
    } together;
};

__global__ void operations(results *r)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    on_device<int> sum(r->sum), bits(r->bits);
    sum.fetch_add(i, cuda::memory_order_relaxed);
    sum++, ++sum, sum -= 2, sum += 1;
    on_device<int>(r->least).fetch_min(-i, cuda::std::memory_order_relaxed);
    on_device<int>(r->most).fetch_max(i);
    bits.fetch_or(1 << i % 32), bits ^= 0, bits.fetch_and(~0);
    on_device<unsigned short>(r->small).fetch_add(3);
    on_device<signed char>(r->tiny).fetch_min((signed char)(i % 100 - 50));
    on_device<unsigned long long>(r->wide).fetch_add(1ull << 32, cuda::memory_order_acq_rel);
    on_device<float>(r->f).fetch_add(0.5f);
    on_device<float>(r->f) -= 0.25f;
    on_device<float>(r->f_least).fetch_min(-0.5f * i);
    on_device<float>(r->f_most).fetch_max(0.5f * i);
    on_device<double>(r->d).fetch_add(1.5);
    on_device<int *>(r->pointer).fetch_add(2);
    on_device<int *>(r->pointer).fetch_sub(1);
    on_device<results::two> together(r->together);  // a struct changes as a whole
    results::two seen = together.load(cuda::memory_order_relaxed), wanted;
    do {
        wanted = {seen.count + 1, seen.sum + i};
    } while (!together.compare_exchange_weak(seen, wanted, cuda::memory_order_relaxed, cuda::memory_order_relaxed));
    int expected = -1;
    if (on_device<int>(r->swapped).compare_exchange_strong(expected, i))
        on_device<int>(r->flips)++;
    else if (expected < 0 || expected >= N)
        on_device<int>(r->failed)++;
}

// Blocks pass a turn on, and what the one before has written with it.
__global__ void turns(int *cell, cuda::atomic<int, cuda::thread_scope_device> *turn, int *log)
{
    if (threadIdx.x == 0) {
        while (turn->load(cuda::memory_order_acquire) != (int)blockIdx.x) {
        }
        log[blockIdx.x] = *cell;
        *cell += blockIdx.x + 1;
        turn->store(blockIdx.x + 1, cuda::memory_order_release);
    }
}

__global__ void fences(int *cell, int *flag, int *out)
{
    on_device<int> f(*flag);
    if (threadIdx.x == 0) {
        if (blockIdx.x == 1) {
            *cell = 42;
            cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
            f.store(1, cuda::memory_order_relaxed);
            f.notify_all();
        } else {
            f.wait(0, cuda::memory_order_relaxed);
            cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
            *out = *cell;
        }
    }
}

__device__ cuda::atomic<unsigned, cuda::thread_scope_device> drawn;

// A lock in shared memory, a counter that is a variable, and an object of the block.
__global__ void in_block(int *out)
{
    __shared__ cuda::atomic<int, cuda::thread_scope_block> lock, arrived;
    __shared__ int counter;
    if (threadIdx.x == 0) {
        lock = 0;
        arrived.store(0);
        counter = 0;
    }
    __syncthreads();
    bool done = false;
    while (!done) {
        int expected = 0;
        if (lock.compare_exchange_strong(expected, 1, cuda::memory_order_acquire, cuda::memory_order_relaxed)) {
            counter = counter + 1;
            lock.store(0, cuda::memory_order_release);
            done = true;
        }
    }
    arrived.fetch_add(1, cuda::memory_order_release);
    drawn.fetch_add(1, cuda::memory_order_relaxed);
    if (threadIdx.x == 0) {
        while (arrived.load(cuda::memory_order_acquire) != (int)blockDim.x) {
        }
        out[blockIdx.x] = counter;
    }
}

// The host and a kernel, by the default scope.
__global__ void of_system(cuda::std::atomic<int> *a, cuda::std::atomic_flag *flag, int *first)
{
    a->fetch_add(1);
    if (!flag->test_and_set())
        cuda::atomic_ref<int>(*first).store(7);
}

int main()
{
    results zero = {};
    zero.swapped = -1;
    results *r = to_device(&zero, 1);
    operations<<<BLOCKS, THREADS>>>(r);
    results *h = to_host(r, 1);
    SAME(h->sum, N * (N - 1) / 2 + N), SAME(h->least, -(N - 1)), SAME(h->most, N - 1), SAME(h->bits, -1);
    SAME(h->small, 3 * N), SAME(h->tiny, -50), SAME((double)(h->wide >> 32), N);
    SAME(h->f, 0.25 * N), SAME(h->f_least, -0.5 * (N - 1)), SAME(h->f_most, 0.5 * (N - 1)), SAME(h->d, 1.5 * N);
    SAME((double)(size_t)h->pointer, 4 * N);
    SAME(h->together.count, N), SAME(h->together.sum, N * (N - 1) / 2);
    SAME(h->flips, 1), SAME(h->failed, 0), SAME(h->swapped >= 0 && h->swapped < N, 1);

    int nothing[BLOCKS] = {};
    int *cell = to_device(nothing, 1), *flag = to_device(nothing, 1), *log = to_device(nothing, BLOCKS);
    auto *turn = (cuda::atomic<int, cuda::thread_scope_device> *)to_device(nothing, 1);
    turns<<<BLOCKS, 32>>>(cell, turn, log);
    int *seen = to_host(log, BLOCKS);
    for (int i = 0; i < BLOCKS; i++)
        SAME(seen[i], i * (i + 1) / 2);

    int *cell2 = to_device(nothing, 1);
    fences<<<2, 32>>>(cell2, flag, log);
    SAME(*to_host(log, 1), 42);

    in_block<<<BLOCKS, THREADS>>>(log);
    int *counts = to_host(log, BLOCKS);
    for (int i = 0; i < BLOCKS; i++)
        SAME(counts[i], THREADS);
    unsigned all;
    CHECK(cudaMemcpyFromSymbol(&all, drawn, sizeof all));
    SAME(all, N);

    struct shared {
        cuda::std::atomic<int> count;
        cuda::std::atomic_flag flag;
        int first;
    } *both;
    CHECK(cudaMallocManaged(&both, sizeof *both));
    both->count.store(5);
    both->flag.clear();
    both->first = 0;
    of_system<<<2, 32>>>(&both->count, &both->flag, &both->first);
    finish();
    SAME(both->count.fetch_sub(1), 69), SAME(both->count.load(), 68), SAME(both->flag.test(), 1), SAME(both->first, 7);
    int expected = 68;
    SAME(both->count.compare_exchange_strong(expected, 1), 1), SAME(both->count, 1);
    expected = 2;
    SAME(both->count.compare_exchange_strong(expected, 3), 0), SAME(expected, 1);
    return 0;
}
