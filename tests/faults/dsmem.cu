// Shared memory of other blocks of a cluster, touched as it must not be; tests/right/dsmem.cu has the right ways. The first
// argument picks the kernel; a comment `expect NAME: KIND` marks a line that the report on it must name.
#include "../hopper.h"
#include <cuda_pipeline.h>
#include <string.h>

const int THREADS = 64;

__device__ unsigned long long kept;
__device__ int flag, box;

static __device__ __forceinline__ unsigned cluster_rank()
{
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

#define ARRIVE() asm volatile("barrier.cluster.arrive;" ::: "memory")
#define WAIT() asm volatile("barrier.cluster.wait;" ::: "memory")
#define CLUSTER_SYNC() asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory")
#define MAP(THERE, P, RANK) asm volatile("mapa.u64 %0, %1, %2;" : "=l"(THERE) : "l"(P), "r"(RANK))
#define MAP_SHARED(THERE, P, RANK) \
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(THERE) : "r"(in_shared(P)), "r"(RANK))

// ---- places ----

__global__ void __cluster_dims__(2) a_third_block(int *out)
{
    __shared__ int array[THREADS];
    int *there;
    array[threadIdx.x] = 1;
    CLUSTER_SYNC();
    MAP(there, array, 2);
    out[threadIdx.x] = there[0];  // expect a_third_block: invalid rank, in 2
    CLUSTER_SYNC();
}

__global__ void __cluster_dims__(2) of_a_third_block(int *out)
{
    __shared__ int array[THREADS];
    CLUSTER_SYNC();
    int *there = (int *)__cluster_map_shared_rank(array, cluster_rank() + 1);
    *there = 1;  // expect of_a_third_block: invalid rank, in 2
    CLUSTER_SYNC();
}

__global__ void __cluster_dims__(2) added_to_a_third_block(int *out)
{
    __shared__ int array[THREADS];
    unsigned there;
    CLUSTER_SYNC();
    MAP_SHARED(there, array, 17);
    asm volatile("red.shared::cluster.add.u32 [%0], 1;" ::"r"(there) : "memory");  // expect added_to_a_third_block: invalid rank, in 17
    CLUSTER_SYNC();
}

__global__ void __cluster_dims__(2) the_thousandth_block(int *out)
{
    __shared__ int array[THREADS];
    int *there;
    CLUSTER_SYNC();
    MAP(there, array, 1000);  // expect the_thousandth_block: invalid rank, in 1000
    *there = 1;
    CLUSTER_SYNC();
}

__global__ void the_only_block(int *out)
{
    __shared__ int array[THREADS];
    int *there;
    MAP(there, array, 1);  // expect the_only_block: invalid rank, in one
    *there = 1;
}

__global__ void __cluster_dims__(2) maps_global_memory(int *out)
{
    int *there;
    CLUSTER_SYNC();
    MAP(there, out, 1);  // expect maps_global_memory: wrong memory space, in place
    *there = 1;
    CLUSTER_SYNC();
}

__global__ void __cluster_dims__(2) behind_the_end(int *out)
{
    __shared__ int array[THREADS];
    int *there;
    array[threadIdx.x] = 1;
    CLUSTER_SYNC();
    MAP(there, array, cluster_rank() ^ 1);
    out[blockIdx.x * THREADS + threadIdx.x] = there[threadIdx.x + 1];  // expect behind_the_end: out of bounds, in rank
    CLUSTER_SYNC();
}

__global__ void __cluster_dims__(2) before_the_start(int *out)
{
    __shared__ int array[THREADS];
    unsigned there;
    CLUSTER_SYNC();
    MAP_SHARED(there, array, cluster_rank() ^ 1);
    asm volatile("st.shared::cluster.u32 [%0 + -4], 1;" ::"r"(there) : "memory");  // expect before_the_start: out of bounds, in rank
    CLUSTER_SYNC();
}

__global__ void __cluster_dims__(2) added_behind_the_end(int *out)
{
    extern __shared__ int counts[];
    int *there;
    CLUSTER_SYNC();
    MAP(there, counts, cluster_rank() ^ 1);
    atomicAdd(there + 16, 1);  // expect added_behind_the_end: out of bounds, in rank
    CLUSTER_SYNC();
}

__global__ void __cluster_dims__(2) odd(int *out)
{
    __shared__ int array[THREADS];
    int *there;
    CLUSTER_SYNC();
    MAP(there, array, cluster_rank() ^ 1);
    *(int2 *)(there + 1) = make_int2(1, 2);  // expect odd: misaligned access, in rank
    CLUSTER_SYNC();
}

__global__ void __cluster_dims__(2) never_written(int *out)
{
    __shared__ int array[THREADS];
    int *there;
    if (cluster_rank() == 0)
        array[threadIdx.x] = 1;
    CLUSTER_SYNC();
    MAP(there, array, 1);
    out[blockIdx.x * THREADS + threadIdx.x] = there[threadIdx.x];  // expect never_written: uninitialised shared memory, in cluster
    CLUSTER_SYNC();
}

// Each cluster has memory of its own there.
__global__ void __cluster_dims__(2) of_another_cluster(int *out)
{
    __shared__ int array[THREADS];
    unsigned long long there = 0;
    array[threadIdx.x] = 1;
    CLUSTER_SYNC();
    MAP(there, array, 1);
    if (blockIdx.x == 0 && threadIdx.x == 0)
        atomicExch(&kept, there);
    while (blockIdx.x == 2 && (there = atomicAdd(&kept, 0)) == 0)
        ;
    if (blockIdx.x == 2)
        out[threadIdx.x] = *(int *)there;  // expect of_another_cluster: another block's shared memory, in cluster
    CLUSTER_SYNC();
}

// ---- instructions of the own block's alone ----

__global__ void __cluster_dims__(2) loaded_as_own(int *out)
{
    __shared__ int array[THREADS];
    unsigned there;
    int v;
    array[threadIdx.x] = 1;
    CLUSTER_SYNC();
    MAP_SHARED(there, array, cluster_rank() ^ 1);
    asm volatile("ld.shared.s32 %0, [%1];" : "=r"(v) : "r"(there));  // expect loaded_as_own: wrong memory space, in rank
    out[blockIdx.x * THREADS + threadIdx.x] = v;
    CLUSTER_SYNC();
}

__global__ void __cluster_dims__(2) added_as_own(int *out)
{
    __shared__ int array[THREADS];
    unsigned there;
    array[threadIdx.x] = 1;
    CLUSTER_SYNC();
    MAP_SHARED(there, array, cluster_rank() ^ 1);
    asm volatile("red.shared::cta.add.u32 [%0], 1;" ::"r"(there) : "memory");  // expect added_as_own: wrong memory space, in rank
    CLUSTER_SYNC();
}

__global__ void __cluster_dims__(2) pairs_of_halves(int *out)
{
    __shared__ int array[THREADS];
    unsigned there;
    array[threadIdx.x] = 0x3c003c00;
    CLUSTER_SYNC();
    MAP_SHARED(there, array + threadIdx.x, cluster_rank() ^ 1);
    asm volatile("red.shared::cluster.add.noftz.f16x2 [%0], %1;" ::"r"(there), "r"(0x3c003c00) : "memory");  // expect pairs_of_halves: wrong memory space, in rank
    CLUSTER_SYNC();
}

__global__ void __cluster_dims__(2) pairs_of_halves_by_pointer(int *out)
{
    __shared__ int array[THREADS];
    array[threadIdx.x] = 0x3c003c00;
    CLUSTER_SYNC();
    int *there = (int *)__cluster_map_shared_rank(array, cluster_rank() ^ 1);
    asm volatile("red.add.noftz.bf16x2 [%0], %1;" ::"l"(there + threadIdx.x), "r"(0x3c003c00) : "memory");  // expect pairs_of_halves_by_pointer: wrong memory space, in rank
    CLUSTER_SYNC();
}

__global__ void __cluster_dims__(2) matrix(int *out)
{
    __shared__ alignas(16) int array[THREADS];
    int *there, v;
    array[threadIdx.x] = 1;
    CLUSTER_SYNC();
    MAP(there, array, cluster_rank() ^ 1);
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.b16 {%0}, [%1];"  // perhaps matrix: wrong memory space, in rank
                 : "=r"(v)
                 : "l"(there + threadIdx.x % 8 * 4));  // expect matrix: wrong memory space, in rank
    out[blockIdx.x * THREADS + threadIdx.x] = v;
    CLUSTER_SYNC();
}

__global__ void __cluster_dims__(2) copied_there(int *in)
{
    __shared__ int array[THREADS];
    int *there;
    CLUSTER_SYNC();
    MAP(there, array, cluster_rank() ^ 1);
    __pipeline_memcpy_async(there + threadIdx.x, in + threadIdx.x, 4);  // expect copied_there: wrong memory space, in rank
    __pipeline_commit();
    __pipeline_wait_prior(0);
    CLUSTER_SYNC();
}

// ---- order ----

__global__ void __cluster_dims__(2) no_first_barrier(int *out)
{
    __shared__ int array[THREADS];
    int *there;
    array[threadIdx.x] = threadIdx.x;  // expect no_first_barrier: race in shared memory, in cluster
    __syncthreads();
    MAP(there, array, cluster_rank() ^ 1);
    out[blockIdx.x * THREADS + threadIdx.x] = there[threadIdx.x];  // expect no_first_barrier: race in shared memory, in cluster
    CLUSTER_SYNC();
}

__global__ void __cluster_dims__(2) refilled_too_early(int *out)
{
    __shared__ int array[THREADS];
    int *there;
    MAP(there, array, cluster_rank() ^ 1);
    for (int round = 0; round < 2; round++) {
        array[threadIdx.x] = round;  // expect refilled_too_early: race in shared memory, in cluster
        CLUSTER_SYNC();
        out[blockIdx.x * THREADS + threadIdx.x] = there[threadIdx.x];  // expect refilled_too_early: race in shared memory, in cluster
        __syncthreads();
    }
    CLUSTER_SYNC();
}

__global__ void __cluster_dims__(4) both_store(int *out)
{
    __shared__ int sum;
    int *there;
    CLUSTER_SYNC();
    MAP(there, &sum, 3);
    if (threadIdx.x == 0)
        *there = cluster_rank();  // expect both_store: race in shared memory, in rank
    CLUSTER_SYNC();
}

__global__ void __cluster_dims__(2) not_atomic_there(int *out)
{
    __shared__ int sum;
    int *there;
    sum = 0;
    CLUSTER_SYNC();
    MAP(there, &sum, 0);
    atomicAdd(there, 1);  // expect not_atomic_there: race in shared memory, in atomic
    if (cluster_rank() == 0 && threadIdx.x == 0)
        sum += 1;  // expect not_atomic_there: race in shared memory, in atomic
    CLUSTER_SYNC();
}

// The first block has added to it by then, too.
__global__ void __cluster_dims__(2) counted_from_the_start(int *out)
{
    __shared__ int sum;
    int *there;
    if (threadIdx.x == 0)
        sum = 0;  // expect counted_from_the_start: race in shared memory, in atomic
    __syncthreads();
    MAP(there, &sum, 0);
    atomicAdd(there, 1);  // expect counted_from_the_start: race in shared memory, in atomic
    CLUSTER_SYNC();
}

__global__ void __cluster_dims__(2) between_the_halves(int *out)
{
    __shared__ int array[THREADS];
    int *there;
    MAP(there, array, cluster_rank() ^ 1);
    CLUSTER_SYNC();
    ARRIVE();
    array[threadIdx.x] = threadIdx.x;  // expect between_the_halves: race in shared memory, in cluster
    WAIT();
    out[blockIdx.x * THREADS + threadIdx.x] = there[threadIdx.x];  // expect between_the_halves: race in shared memory, in cluster
    CLUSTER_SYNC();
}

// The owner's copy has not landed.
__global__ void __cluster_dims__(2) copy_in_flight(int *in)
{
    __shared__ int array[THREADS];
    int *there;
    MAP(there, array, cluster_rank() ^ 1);
    __pipeline_memcpy_async(&array[threadIdx.x], in + threadIdx.x, 4);  // expect copy_in_flight: copy still in flight
    __pipeline_commit();
    CLUSTER_SYNC();
    int v = there[threadIdx.x];  // expect copy_in_flight: copy still in flight
    __pipeline_wait_prior(0);
    CLUSTER_SYNC();
    in[(2 + blockIdx.x) * THREADS + threadIdx.x] = v;
}

__global__ void __cluster_dims__(2) overwrites_a_copy(int *in)
{
    __shared__ int array[THREADS];
    int *there;
    MAP(there, array, cluster_rank() ^ 1);
    __pipeline_memcpy_async(&array[threadIdx.x], in + threadIdx.x, 4);  // expect overwrites_a_copy: target overwritten in flight
    __pipeline_commit();
    CLUSTER_SYNC();
    there[threadIdx.x] = 1;  // expect overwrites_a_copy: target overwritten in flight
    __pipeline_wait_prior(0);
    CLUSTER_SYNC();
}

// What one block stored, a bulk copy of the other reads.
__global__ void __cluster_dims__(2) stored_without_a_fence(int *out)
{
    __shared__ alignas(128) int array[THREADS];
    int *there;
    CLUSTER_SYNC();
    MAP(there, array, 0);
    if (cluster_rank() == 1)
        there[threadIdx.x] = threadIdx.x;  // expect stored_without_a_fence: missing proxy fence
    CLUSTER_SYNC();
    if (cluster_rank() == 0 && threadIdx.x == 0) {
        BULK_STORE(out, array, (unsigned)sizeof array);  // expect stored_without_a_fence: missing proxy fence
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void __cluster_dims__(2) fence_of_global_memory(int *out)
{
    __shared__ alignas(128) int array[THREADS];
    int *there;
    CLUSTER_SYNC();
    MAP(there, array, 0);
    if (cluster_rank() == 1)
        there[threadIdx.x] = threadIdx.x;  // expect fence_of_global_memory: missing proxy fence
    FENCE_ASYNC_GLOBAL();
    CLUSTER_SYNC();
    if (cluster_rank() == 0 && threadIdx.x == 0) {
        BULK_STORE(out, array, (unsigned)sizeof array);  // expect fence_of_global_memory: missing proxy fence
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

// ---- scopes ----

#define RELEASE(SCOPE, SPACE, P) asm volatile("st.release." SCOPE SPACE ".u32 [%0], 1;" ::"r"(P) : "memory")
#define ACQUIRE(SEEN, SCOPE, SPACE, P) \
    asm volatile("ld.acquire." SCOPE SPACE ".u32 %0, [%1];" : "=r"(SEEN) : "r"(P) : "memory")

__global__ void __cluster_dims__(2) released_to_the_block(int *out)
{
    __shared__ int data, ready;
    unsigned there;
    int *box_there, seen = 0;
    ready = 0;
    CLUSTER_SYNC();
    MAP(box_there, &data, 1);
    MAP_SHARED(there, &ready, 1);
    if (cluster_rank() == 0) {
        *box_there = 1;                             // perhaps released_to_the_block: race in shared memory, in scope
        RELEASE("cta", ".shared::cluster", there);  // perhaps released_to_the_block: race in shared memory, in scope
    } else {
        while (!seen)
            ACQUIRE(seen, "cluster", ".shared::cta", in_shared(&ready));  // perhaps released_to_the_block: race in shared memory, in scope
        *out = data;                                                      // perhaps released_to_the_block: race in shared memory, in scope
    }
    CLUSTER_SYNC();
}

__global__ void __cluster_dims__(2) fence_of_the_block(int *out)
{
    __shared__ int data, ready;
    int *there, *ready_there;
    ready = 0;
    CLUSTER_SYNC();
    MAP(there, &data, 1);
    MAP(ready_there, &ready, 1);
    if (cluster_rank() == 0) {
        *there = 1;  // expect fence_of_the_block: race in shared memory, in __threadfence_cluster
        __threadfence_block();
        atomicExch(ready_there, 1);
    } else {
        while (atomicAdd(&ready, 0) == 0)
            ;
        __threadfence_cluster();
        *out = data;  // expect fence_of_the_block: race in shared memory, in __threadfence_cluster
    }
    CLUSTER_SYNC();
}

__global__ void __cluster_dims__(2) fence_of_the_cluster(int *out)  // between two of them
{
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        box = 1;  // expect fence_of_the_cluster: race in global memory, in clusters
        __threadfence_cluster();
        atomicExch(&flag, 1);
    } else if (blockIdx.x == 2 && threadIdx.x == 0) {
        while (atomicAdd(&flag, 0) == 0)
            ;
        __threadfence();
        *out = box;  // expect fence_of_the_cluster: race in global memory, in clusters
    }
}

__global__ void __cluster_dims__(2) counted_in_the_cluster(int *out)  // by two of them
{
    if (threadIdx.x == 0)
        asm volatile("red.relaxed.cluster.global.add.u32 [%0], 1;" ::"l"(out) : "memory");  // expect counted_in_the_cluster: race in global memory, in clusters
}

// ---- before the other block has begun, and when it has left ----

__global__ void __cluster_dims__(2) stores_too_early(int *out)
{
    __shared__ int array[THREADS];
    int *there;
    MAP(there, array, cluster_rank() ^ 1);
    there[threadIdx.x] = 1;  // expect stores_too_early: block has not begun, in rank
    CLUSTER_SYNC();
    out[blockIdx.x * THREADS + threadIdx.x] = array[threadIdx.x];
}

__global__ void __cluster_dims__(2) adds_too_early(int *out)
{
    __shared__ int sum;
    int *there;
    MAP(there, &sum, 0);
    if (cluster_rank() == 1 && threadIdx.x < 32)
        atomicExch(there, 1);  // expect adds_too_early: block has not begun, in rank
    CLUSTER_SYNC();
    if (cluster_rank() == 0)
        out[blockIdx.x * THREADS + threadIdx.x] = sum;
}

// The second block waits for the first to begin, and not the other way round.
__global__ void __cluster_dims__(2) one_way(int *out)
{
    __shared__ int array[THREADS];
    int *there;
    MAP(there, array, cluster_rank() ^ 1);
    if (cluster_rank() == 0) {
        there[threadIdx.x] = 1;  // expect one_way: block has not begun, in rank
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0)
            atomicExch(&flag, 1);
    } else {
        if (threadIdx.x == 0)
            while (atomicAdd(&flag, 0) == 0)
                ;
        __syncthreads();
        there[threadIdx.x] = 2;
    }
    CLUSTER_SYNC();
    out[blockIdx.x * THREADS + threadIdx.x] = array[threadIdx.x];
}

__global__ void __cluster_dims__(2) reads_to_the_end(int *out)
{
    __shared__ int array[THREADS];
    int *there;
    array[threadIdx.x] = threadIdx.x;
    CLUSTER_SYNC();  // perhaps reads_to_the_end: block has left
    MAP(there, array, cluster_rank() ^ 1);
    out[blockIdx.x * THREADS + threadIdx.x] = there[threadIdx.x];  // expect reads_to_the_end: block has left, in rank
}

__global__ void __cluster_dims__(4) stores_at_the_end(int *out)
{
    __shared__ int array[THREADS];
    int *there;
    CLUSTER_SYNC();  // perhaps stores_at_the_end: block has left
    MAP(there, array, (cluster_rank() + 1) % 4);
    there[threadIdx.x] = threadIdx.x;  // expect stores_at_the_end: block has left, in rank
}

// The second block stays, and waits for nobody.
__global__ void __cluster_dims__(2) adds_when_it_has_left(int *out)
{
    __shared__ int sum;
    int *there;
    sum = 0;
    CLUSTER_SYNC();  // perhaps adds_when_it_has_left: block has left
    MAP(there, &sum, 0);
    if (cluster_rank() == 1)
        atomicAdd(there, 1);  // expect adds_when_it_has_left: block has left, in rank
    else
        out[blockIdx.x * THREADS + threadIdx.x] = sum;  // perhaps adds_when_it_has_left: block has left, in rank
}

// It arrives before it has read.
__global__ void __cluster_dims__(2) arrives_too_early(int *out)
{
    __shared__ int array[THREADS];
    int *there;
    array[threadIdx.x] = threadIdx.x;
    CLUSTER_SYNC();
    MAP(there, array, cluster_rank() ^ 1);
    ARRIVE();
    out[blockIdx.x * THREADS + threadIdx.x] = there[threadIdx.x];  // expect arrives_too_early: block has left, in rank
    WAIT();                                                        // perhaps arrives_too_early: block has left
}

#define CASE(NAME) \
    if (strcmp(argc > 1 ? argv[1] : "", #NAME) == 0) \
    NAME

int main(int argc, char **argv)
{
    int *out;
    cudaMalloc(&out, 4096);
    cudaMemset(out, 0, 4096);
    CASE(a_third_block)<<<2, THREADS>>>(out);
    CASE(of_a_third_block)<<<2, THREADS>>>(out);
    CASE(added_to_a_third_block)<<<2, THREADS>>>(out);
    CASE(the_thousandth_block)<<<2, THREADS>>>(out);
    CASE(the_only_block)<<<2, THREADS>>>(out);
    CASE(maps_global_memory)<<<2, THREADS>>>(out);
    CASE(behind_the_end)<<<2, THREADS>>>(out);
    CASE(before_the_start)<<<2, THREADS>>>(out);
    CASE(added_behind_the_end)<<<2, THREADS, 64>>>(out);
    CASE(odd)<<<2, THREADS>>>(out);
    CASE(never_written)<<<2, THREADS>>>(out);
    CASE(of_another_cluster)<<<4, THREADS>>>(out);
    CASE(loaded_as_own)<<<2, THREADS>>>(out);
    CASE(added_as_own)<<<2, THREADS>>>(out);
    CASE(pairs_of_halves)<<<2, THREADS>>>(out);
    CASE(pairs_of_halves_by_pointer)<<<2, THREADS>>>(out);
    CASE(matrix)<<<2, THREADS>>>(out);
    CASE(copied_there)<<<2, THREADS>>>(out);
    CASE(no_first_barrier)<<<2, THREADS>>>(out);
    CASE(refilled_too_early)<<<2, THREADS>>>(out);
    CASE(both_store)<<<4, THREADS>>>(out);
    CASE(not_atomic_there)<<<2, THREADS>>>(out);
    CASE(counted_from_the_start)<<<2, THREADS>>>(out);
    CASE(between_the_halves)<<<2, THREADS>>>(out);
    CASE(copy_in_flight)<<<2, THREADS>>>(out);
    CASE(overwrites_a_copy)<<<2, THREADS>>>(out);
    CASE(stored_without_a_fence)<<<2, THREADS>>>(out);
    CASE(fence_of_global_memory)<<<2, THREADS>>>(out);
    CASE(released_to_the_block)<<<2, 1>>>(out);
    CASE(fence_of_the_block)<<<2, 1>>>(out);
    CASE(fence_of_the_cluster)<<<4, THREADS>>>(out);
    CASE(counted_in_the_cluster)<<<4, THREADS>>>(out);
    CASE(stores_too_early)<<<2, THREADS>>>(out);
    CASE(adds_too_early)<<<2, THREADS>>>(out);
    CASE(one_way)<<<2, THREADS>>>(out);
    CASE(reads_to_the_end)<<<2, THREADS>>>(out);
    CASE(stores_at_the_end)<<<4, THREADS>>>(out);
    CASE(adds_when_it_has_left)<<<2, THREADS>>>(out);
    CASE(arrives_too_early)<<<2, THREADS>>>(out);
    return cudaDeviceSynchronize();
}
