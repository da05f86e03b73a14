// The barrier of a cluster: what was done before an arrival is there behind the wait, in the other blocks, too.
#include "right.h"
#include <cuda/ptx>

#define ARRIVE() asm volatile("barrier.cluster.arrive;" ::: "memory")
#define ARRIVE_ALIGNED() asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory")
#define ARRIVE_RELAXED() asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory")
#define WAIT() asm volatile("barrier.cluster.wait;" ::: "memory")
#define WAIT_ALIGNED() asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory")

const int BLOCKS = 8, THREADS = 96, N = BLOCKS * THREADS;

// The same thread of the next block of the cluster.
template <int CLUSTER> __device__ int beside(int i)
{
    int wide = CLUSTER * THREADS;
    return i / wide * wide + (i + THREADS) % wide;
}

__device__ void wait_for(unsigned mbarrier)
{
    for (unsigned done = 0; !done;)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;"
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(mbarrier)
                     : "memory");
}

// Arrival and wait one behind the other; each round reads what another block has written, and is not overtaken.
__global__ void __cluster_dims__(4) rounds(int *a, int *out)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    for (int round = 0; round < 5; round++) {
        a[i] = i + round;
        ARRIVE_ALIGNED();
        WAIT_ALIGNED();
        out[i] += a[beside<4>(i)];
        ARRIVE();
        WAIT();
    }
}

// The same by the functions of cuda::ptx, and by intrinsics.
__global__ void __cluster_dims__(2) by_functions(int *a, int *out)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    a[i] = i;
    cuda::ptx::barrier_cluster_arrive(cuda::ptx::sem_release);
    cuda::ptx::barrier_cluster_wait(cuda::ptx::sem_acquire);
    out[i] = a[beside<2>(i)];
    cuda::ptx::barrier_cluster_arrive();
    cuda::ptx::barrier_cluster_wait();
    a[i]++;
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
    out[i] += a[beside<2>(i)] - beside<2>(i) - 1;
    cuda::ptx::barrier_cluster_arrive(cuda::ptx::sem_relaxed);
    cuda::ptx::barrier_cluster_wait();
    __cluster_barrier_arrive_relaxed();
    __cluster_barrier_wait();
}

// Work between the two halves is not ordered, and need not be: it is of another array.
__global__ void __cluster_dims__(2) between(int *a, int *b, int *out)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    a[i] = i;
    ARRIVE();
    b[i] = 2 * i;
    WAIT();
    out[i] = a[beside<2>(i)];
    ARRIVE();
    out[i]++;
    WAIT();
    out[i] += b[beside<2>(i)];
}

// One warp of each block has written what the others read, which arrive before it.
__global__ void __cluster_dims__(2) one_warp(int *a, int *out)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (threadIdx.x >= 32)
        ARRIVE();
    if (threadIdx.x < 32) {
        for (int j = 0; j < THREADS; j += 32)
            a[i + j] = i + j;
        ARRIVE();
    }
    WAIT();
    out[i] = a[beside<2>(i)];
}

// What the block's own barrier has ordered before an arrival is ordered with the other block's waits, too; and what one warp
// has waited for its block knows by __syncthreads().
__global__ void __cluster_dims__(2) by_blocks(int *a, int *out)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    a[i] = i;
    __syncthreads();
    ARRIVE();
    if (threadIdx.x < 32)
        WAIT();
    __syncthreads();
    out[i] = a[beside<2>(i)];
    if (threadIdx.x >= 32)
        WAIT();
}

// What a warp did that has left since one other warp knows by its wait, and the rest by __syncthreads().
__global__ void __cluster_dims__(2) who_has_left(int *a, int *out)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    out[i] = i;
    if (threadIdx.x < 32)
        a[i] = i;
    ARRIVE();
    if (threadIdx.x < 64)
        WAIT();
    if (threadIdx.x < 32)
        return;
    __syncthreads();
    if (threadIdx.x >= 64)
        out[i] = a[i - 64];
    if (threadIdx.x >= 64)
        WAIT();
}

// A fence of each thread, the barrier, and a flag that one of them sets: another cluster sees what all have written.
__global__ void __cluster_dims__(2) fence_and_flag(int *a, int *flag, int *out)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (blockIdx.x < 2)
        a[i] = i;
    __threadfence();
    ARRIVE();
    WAIT();
    if (blockIdx.x == 0 && threadIdx.x == 0)
        atomicExch(flag, 1);
    if (blockIdx.x < 2)
        return;
    while (!atomicAdd(flag, 0))
        ;
    __threadfence();
    out[i] = a[i % (2 * THREADS)];
}

// Who has left is not waited for: neither who never arrives, nor who does not wait.
__global__ void __cluster_dims__(2) some_leave(int *a, int *out)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    out[i] = i;
    if (threadIdx.x < 5 || (blockIdx.x % 2 && threadIdx.x >= 64))
        return;
    a[i] = i;
    ARRIVE();
    WAIT();
    if (threadIdx.x < 40)
        return;
    ARRIVE();
    if (threadIdx.x >= 64)
        return;
    WAIT();
    out[i] = a[beside<2>(i)];
}

// A whole block leaves; those of the other go on alone.
__global__ void __cluster_dims__(2) one_leaves(int *a, int *out)
{
    int i = blockIdx.x * THREADS + threadIdx.x, last = blockIdx.x * THREADS + THREADS - 1;
    a[i] = i;
    if (blockIdx.x % 2 == 0) {
        for (int round = 0; round < 3; round++) {
            ARRIVE();
            WAIT();
        }
        out[i] = a[last - threadIdx.x];
    } else {
        out[i] = a[i];
    }
}

// A relaxed arrival hands on what a fence before it has released.
__global__ void __cluster_dims__(2) fenced(int *a, int *out)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    a[i] = i;
    __threadfence();
    ARRIVE_RELAXED();
    WAIT();
    out[i] = a[beside<2>(i)];
}

// And it orders nothing where nothing has to be ordered.
__global__ void __cluster_dims__(2) relaxed(int *out)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    ARRIVE_RELAXED();
    out[i] = i;
    WAIT();
}

// fence.mbarrier_init and a relaxed arrival hand on that an mbarrier has been initialised, in the own block and in the other.
__global__ void __cluster_dims__(2) initialised(int *a, int *out)
{
    __shared__ unsigned long long own, both;
    int i = blockIdx.x * THREADS + threadIdx.x;
    unsigned mine = (unsigned)__cvta_generic_to_shared(&own), far = (unsigned)__cvta_generic_to_shared(&both);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(mine), "r"(THREADS) : "memory");
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(far), "r"(2 * THREADS) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    ARRIVE_RELAXED();
    WAIT();
    a[i] = i;
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(mine) : "memory");
    for (int rank = 0; rank < 2; rank++)
        asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;"
                     "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there]; }" ::"r"(far),
                     "r"(rank)
                     : "memory");
    wait_for(mine);
    out[i] = a[i / THREADS * THREADS + THREADS - 1 - threadIdx.x];
    wait_for(far);
    out[i] += a[beside<2>(i)];
    ARRIVE();
    WAIT();
}

// What one block has learnt from another at its wait it hands on at its next arrival.
__global__ void __cluster_dims__(4) handed_on(int *a, int *out)
{
    int i = blockIdx.x * THREADS + threadIdx.x, rank = blockIdx.x % 4;
    for (int turn = 0; turn < 4; turn++) {
        if (rank == turn)
            a[blockIdx.x / 4 * THREADS + threadIdx.x] += i;
        ARRIVE();
        WAIT();
    }
    out[i] = a[blockIdx.x / 4 * THREADS + threadIdx.x];
}

// Without a cluster, a block is one of its own.
__global__ void alone(int *a, int *out)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    a[i] = i;
    ARRIVE_ALIGNED();
    WAIT_ALIGNED();
    out[i] = a[blockIdx.x * THREADS + THREADS - 1 - threadIdx.x];
}

// As many threads as a cluster may have.
__global__ void __cluster_dims__(8) __launch_bounds__(1024) large(int *a, int *out)
{
    int i = blockIdx.x * 1024 + threadIdx.x;
    for (int round = 0; round < 3; round++) {
        a[i] = i + round;
        ARRIVE();
        WAIT();
        int seen = a[(i + 1024 * 3 + 17) % (8 * 1024)];
        ARRIVE();
        WAIT();
        out[i] = seen;
    }
}

static int is_beside(int i, int cluster)
{
    int wide = cluster * THREADS;
    return i / wide * wide + (i + THREADS) % wide;
}

int main()
{
    int *a = to_device<int>(NULL, 8 * 1024), *b = to_device<int>(NULL, N), *out = to_device<int>(NULL, 8 * 1024), *r;
    CHECK(cudaMemset(out, 0, N * sizeof(int)));
    rounds<<<BLOCKS, THREADS>>>(a, out);
    r = to_host(out, N);
    for (int i = 0; i < N; i++)
        SAME(r[i], 5 * is_beside(i, 4) + 10);
    between<<<BLOCKS, THREADS>>>(a, b, out);
    r = to_host(out, N);
    for (int i = 0; i < N; i++)
        SAME(r[i], 3 * is_beside(i, 2) + 1);
    void (*const copies[])(int *, int *) = {by_functions, one_warp, by_blocks, fenced};
    for (int k = 0; k < 4; k++) {
        copies[k]<<<BLOCKS, THREADS>>>(a, out);
        r = to_host(out, N);
        for (int i = 0; i < N; i++)
            SAME(r[i], is_beside(i, 2));
    }
    some_leave<<<BLOCKS, THREADS>>>(a, out);
    r = to_host(out, N);
    for (int i = 0; i < N; i++) {
        int t = i % THREADS;
        SAME(r[i], t >= 40 && t < 64 ? is_beside(i, 2) : i);
    }
    who_has_left<<<BLOCKS, THREADS>>>(a, out);
    r = to_host(out, N);
    for (int i = 0; i < N; i++)
        SAME(r[i], i % THREADS >= 64 ? i - 64 : i);
    CHECK(cudaMemset(b, 0, sizeof(int)));
    fence_and_flag<<<BLOCKS, THREADS>>>(a, b, out);
    r = to_host(out, N);
    for (int i = 2 * THREADS; i < N; i++)
        SAME(r[i], i % (2 * THREADS));
    one_leaves<<<BLOCKS, THREADS>>>(a, out);
    r = to_host(out, N);
    for (int i = 0; i < N; i++)
        SAME(r[i], i / THREADS % 2 ? i : i / THREADS * THREADS + THREADS - 1 - i % THREADS);
    initialised<<<BLOCKS, THREADS>>>(a, out);
    r = to_host(out, N);
    for (int i = 0; i < N; i++)
        SAME(r[i], is_beside(i, 2) + i / THREADS * THREADS + THREADS - 1 - i % THREADS);
    relaxed<<<BLOCKS, THREADS>>>(out);
    r = to_host(out, N);
    for (int i = 0; i < N; i++)
        SAME(r[i], i);
    CHECK(cudaMemset(a, 0, N * sizeof(int)));
    handed_on<<<BLOCKS, THREADS>>>(a, out);
    r = to_host(out, N);
    for (int i = 0; i < N; i++)
        SAME(r[i], 4 * (i / (4 * THREADS) * 4 * THREADS + i % THREADS) + 6 * THREADS);
    alone<<<BLOCKS, THREADS>>>(a, out);
    r = to_host(out, N);
    for (int i = 0; i < N; i++)
        SAME(r[i], i / THREADS * THREADS + THREADS - 1 - i % THREADS);
    large<<<8, 1024>>>(a, out);
    r = to_host(out, 8 * 1024);
    for (int i = 0; i < 8 * 1024; i++)
        SAME(r[i], (i + 1024 * 3 + 17) % (8 * 1024) + 2);
    return 0;
}
