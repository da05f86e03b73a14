// The barrier of a cluster, left out, at the wrong place, or not met by all. The first argument picks the kernel; `expect NAME:
// KIND` marks the lines that the report must name. tests/right/cluster_barriers.cu has them whole.
#include <cuda_runtime.h>
#include <string.h>

#define ARRIVE() asm volatile("barrier.cluster.arrive;" ::: "memory")
#define ARRIVE_ALIGNED() asm volatile("barrier.cluster.arrive.aligned;" ::: "memory")
#define ARRIVE_RELAXED() asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory")
#define WAIT() asm volatile("barrier.cluster.wait;" ::: "memory")
#define WAIT_ALIGNED() asm volatile("barrier.cluster.wait.aligned;" ::: "memory")

const int BLOCKS = 4, THREADS = 64, N = BLOCKS * THREADS;

__device__ int here() { return blockIdx.x * THREADS + threadIdx.x; }
__device__ int beside() { return (blockIdx.x ^ 1) * THREADS + threadIdx.x; }

__global__ void __cluster_dims__(2) no_barrier(int *a, int *out)
{
    a[here()] = 1;  // expect no_barrier: race in global memory
    __syncthreads();
    out[here()] = a[beside()];  // expect no_barrier: race in global memory
}

__global__ void __cluster_dims__(2) relaxed(int *a, int *out)
{
    a[here()] = 1;  // expect relaxed: race in global memory
    ARRIVE_RELAXED();
    WAIT();
    out[here()] = a[beside()];  // expect relaxed: race in global memory
}

__global__ void __cluster_dims__(2) fence_before_the_store(int *a, int *out)
{
    __threadfence();
    a[here()] = 1;  // expect fence_before_the_store: race in global memory
    ARRIVE_RELAXED();
    WAIT();
    out[here()] = a[beside()];  // expect fence_before_the_store: race in global memory
}

__global__ void __cluster_dims__(2) store_behind_arrival(int *a, int *out)
{
    ARRIVE();
    a[here()] = 1;  // expect store_behind_arrival: race in global memory
    WAIT();
    out[here()] = a[beside()];  // expect store_behind_arrival: race in global memory
}

__global__ void __cluster_dims__(2) load_before_wait(int *a, int *out)
{
    a[here()] = 1;  // expect load_before_wait: race in global memory
    ARRIVE();
    out[here()] = a[beside()];  // expect load_before_wait: race in global memory
    WAIT();
}

__global__ void __cluster_dims__(2) barrier_of_the_block_between(int *a, int *out)  // between the two halves
{
    ARRIVE();
    a[here()] = 1;  // expect barrier_of_the_block_between: race in global memory
    __syncthreads();
    WAIT();
    out[here()] = a[beside()];  // expect barrier_of_the_block_between: race in global memory
}

__global__ void __cluster_dims__(2) one_warp_waits(int *a, int *out)
{
    a[here()] = 1;  // expect one_warp_waits: race in global memory
    ARRIVE();
    if (threadIdx.x < 32)
        WAIT();
    out[here()] = a[beside()];  // expect one_warp_waits: race in global memory
    if (threadIdx.x >= 32)
        WAIT();
}

__global__ void __cluster_dims__(2) one_barrier_a_round(int *a, int *out)
{
    for (int round = 0; round < 3; round++) {
        a[here()] = round;  // expect one_barrier_a_round: race in global memory
        ARRIVE_ALIGNED();
        WAIT_ALIGNED();
        out[here()] += a[beside()];  // expect one_barrier_a_round: race in global memory
    }
}

__global__ void __cluster_dims__(2) of_another_cluster(int *a, int *out)
{
    a[here()] = 1;  // expect of_another_cluster: race in global memory
    ARRIVE();
    WAIT();
    out[here()] = a[(here() + 2 * THREADS) % N];  // expect of_another_cluster: race in global memory
}

__global__ void __cluster_dims__(2) who_leaves_is_not_met(int *a, int *out)
{
    if (threadIdx.x == 0)
        a[here()] = 1;  // expect who_leaves_is_not_met: race in global memory
    if (threadIdx.x == 0)
        return;
    ARRIVE();
    WAIT();
    out[here()] = a[(blockIdx.x ^ 1) * THREADS];  // expect who_leaves_is_not_met: race in global memory
}

__global__ void __cluster_dims__(2) arrives_twice(int *a, int *out)
{
    ARRIVE();
    ARRIVE();  // expect arrives_twice: invalid barrier
    WAIT();
    out[here()] = a[here()];
}

__global__ void __cluster_dims__(2) waits_alone(int *a, int *out)
{
    WAIT();  // expect waits_alone: invalid barrier
    out[here()] = a[here()];
}

__global__ void __cluster_dims__(2) waits_twice(int *a, int *out)
{
    ARRIVE();
    WAIT();
    WAIT();  // expect waits_twice: invalid barrier
    out[here()] = a[here()];
}

__global__ void __cluster_dims__(2) one_block_waits(int *a, int *out)  // one of the two meets alone
{
    if (blockIdx.x % 2) {
        ARRIVE();
        WAIT();  // expect one_block_waits: barrier deadlock
    } else if (threadIdx.x < 32) {
        asm volatile("bar.sync 1, 64;" ::: "memory");  // expect one_block_waits: barrier deadlock
    } else {
        ARRIVE();
        WAIT();  // expect one_block_waits: barrier deadlock
    }
    out[here()] = a[here()];
}

__global__ void __cluster_dims__(4) each_elsewhere(int *a, int *out)
{
    switch (blockIdx.x) {
    case 0:
        ARRIVE();
        WAIT();  // expect each_elsewhere: barrier deadlock
        break;
    case 1:
        if (threadIdx.x == 0)
            asm volatile("barrier.sync 2, 64;" ::: "memory");  // expect each_elsewhere: barrier deadlock
        break;
    case 2:
        if (threadIdx.x < 32) {
            ARRIVE_ALIGNED();
            WAIT_ALIGNED();  // expect each_elsewhere: barrier deadlock
        }
        break;
    default: asm volatile("bar.sync 3, 96;" ::: "memory");  // expect each_elsewhere: barrier deadlock
    }
    out[here()] = a[here()];
}

__global__ void __cluster_dims__(2) two_branches(int *a, int *out)
{
    if (threadIdx.x % 2) {
        out[here()] = a[here()];
        ARRIVE_ALIGNED();  // expect two_branches: divergent barrier
    } else {
        ARRIVE_ALIGNED();  // expect two_branches: divergent barrier
    }
    WAIT_ALIGNED();
}

__device__ void meet_aligned()
{
    ARRIVE_ALIGNED();  // expect two_calls: divergent barrier
    WAIT_ALIGNED();
}

__global__ void __cluster_dims__(2) two_calls(int *a, int *out)  // of one function
{
    if (threadIdx.x == 0) {
        out[here()] = a[here()];
        meet_aligned();
    } else {
        meet_aligned();
    }
}

__global__ void __cluster_dims__(2) two_waits(int *a, int *out)  // .aligned on one side only
{
    ARRIVE();
    if (threadIdx.x < 5) {
        WAIT();  // expect two_waits: divergent barrier
        out[here()] = a[here()];
    } else {
        WAIT_ALIGNED();  // expect two_waits: divergent barrier
    }
}

__global__ void __cluster_dims__(2) a_late_lane(int *a, int *out)  // which waits for what its warp does behind the arrival
{
    for (int turn = 0; turn < 2; turn++) {
        if (turn == (threadIdx.x == 0))
            ARRIVE_ALIGNED();  // expect a_late_lane: divergent barrier
        if (turn == 0)
            __syncwarp();  // expect a_late_lane: divergent barrier
    }
    WAIT_ALIGNED();  // expect a_late_lane: divergent barrier
    out[here()] = a[here()];
}

__global__ void __cluster_dims__(2) leaves_a_loop(int *a, int *out)
{
    for (int i = 0; i <= threadIdx.x % 4; i++) {
        out[here()] = i;
        ARRIVE_ALIGNED();
        WAIT_ALIGNED();  // expect leaves_a_loop: divergent barrier, in left
    }
}

#define IN_SHARED(X) ((unsigned)__cvta_generic_to_shared(&(X)))
#define INIT(X, COUNT) \
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(IN_SHARED(X)), "n"(COUNT) : "memory")
#define PUBLISH() asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")
#define ARRIVE_AT(X) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(IN_SHARED(X)) : "memory")

__global__ void __cluster_dims__(2) published_is_the_mbarrier_alone(int *a, int *out)
{
    __shared__ unsigned long long bar;
    if (threadIdx.x == 0) {
        INIT(bar, THREADS);
        a[here()] = 1;  // expect published_is_the_mbarrier_alone: race in global memory
        PUBLISH();
    }
    ARRIVE_RELAXED();
    WAIT();
    ARRIVE_AT(bar);
    out[here()] = a[(blockIdx.x ^ 1) * THREADS];  // expect published_is_the_mbarrier_alone: race in global memory
}

__global__ void __cluster_dims__(2) initialised_behind_the_arrival(int *a, int *out)
{
    __shared__ unsigned long long bar;
    ARRIVE();
    if (threadIdx.x == 0)
        INIT(bar, THREADS);  // expect initialised_behind_the_arrival: race in shared memory
    WAIT();
    ARRIVE_AT(bar);  // expect initialised_behind_the_arrival: race in shared memory
    out[here()] = a[here()];
}

// No fault today, but noted: the fence of the mbarrier's initialisation is missing.
__global__ void __cluster_dims__(2) not_published(int *a, int *out)
{
    __shared__ unsigned long long bar;
    if (threadIdx.x == 0)
        INIT(bar, THREADS);  // noted not_published
    ARRIVE_RELAXED();
    WAIT();
    ARRIVE_AT(bar);  // noted not_published
    out[here()] = a[here()];
}

#define RUN(NAME) \
    if (!strcmp(name, #NAME)) \
    NAME<<<BLOCKS, THREADS>>>(a, out)

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int *a, *out;
    cudaMalloc(&a, N * sizeof(int));
    cudaMalloc(&out, N * sizeof(int));
    cudaMemset(a, 0, N * sizeof(int));
    cudaMemset(out, 0, N * sizeof(int));
    RUN(no_barrier);
    RUN(relaxed);
    RUN(fence_before_the_store);
    RUN(store_behind_arrival);
    RUN(load_before_wait);
    RUN(barrier_of_the_block_between);
    RUN(one_warp_waits);
    RUN(one_barrier_a_round);
    RUN(of_another_cluster);
    RUN(who_leaves_is_not_met);
    RUN(arrives_twice);
    RUN(waits_alone);
    RUN(waits_twice);
    RUN(one_block_waits);
    RUN(each_elsewhere);
    RUN(two_branches);
    RUN(two_calls);
    RUN(two_waits);
    RUN(a_late_lane);
    RUN(leaves_a_loop);
    RUN(published_is_the_mbarrier_alone);
    RUN(initialised_behind_the_arrival);
    RUN(not_published);
    return cudaDeviceSynchronize();
}
