// Stores, reductions and copies into another block of the cluster that are not waited for, come too early, or go to the wrong place.
#include "cluster_kernels.h"

#define SET_UP_PAIR(BAR) \
    __shared__ uint64_t BAR; \
    unsigned rank = cluster_rank(), other = rank ^ 1, i = threadIdx.x; \
    CLUSTER_SET_UP(BAR, 1); \
    if (i == 0) \
        MBARRIER_ARRIVE_EXPECT(&BAR, 128); \
    __syncwarp();

#define ST_ASYNC_PAIR(ADDRESS, VALUE, BAR) \
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %1}, [%2];" ::"r"(ADDRESS), \
                 "r"(VALUE), "r"(BAR) \
                 : "memory")
#define ST_ASYNC_GENERIC(ADDRESS, VALUE, BAR) \
    asm volatile("st.async.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"l"(ADDRESS), "r"(VALUE), "l"(BAR) : "memory")

// ---- nobody waits, or for something else ----

__global__ void reduction_not_waited_for(const float *in, float *out)
{
    __shared__ unsigned sum[32];
    sum[threadIdx.x] = 1;
    SET_UP_PAIR(bar);
    RED_ASYNC("add.u32", mapped(&sum[i], other), 5, mapped(&bar, other));  // expect reduction_not_waited_for: copy still in flight, in store
    CLUSTER_SYNC();
    out[blockIdx.x * 32 + i] = sum[i];  // expect reduction_not_waited_for: copy still in flight
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    CLUSTER_SYNC();
}

__global__ void copy_not_waited_for(const float *in, float *out)
{
    __shared__ alignas(128) float row[32], got[32];
    row[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    SET_UP_PAIR(bar);
    if (i == 0)
        BULK_SEND(mapped(got, other), row, 128, mapped(&bar, other));  // expect copy_not_waited_for: copy still in flight
    CLUSTER_SYNC();
    out[blockIdx.x * 32 + i] = got[i];  // expect copy_not_waited_for: copy still in flight
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    CLUSTER_SYNC();
}

__global__ void added_copy_not_waited_for(const float *in, float *out)
{
    __shared__ alignas(128) unsigned row[32], sum[32];
    row[threadIdx.x] = sum[threadIdx.x] = threadIdx.x;
    FENCE_ASYNC();
    SET_UP_PAIR(bar);
    if (i == 0)
        BULK_SEND_ADD(mapped(sum, other), row, 128, mapped(&bar, other));  // expect added_copy_not_waited_for: copy still in flight
    CLUSTER_SYNC();
    out[blockIdx.x * 32 + i] = sum[i];  // expect added_copy_not_waited_for: copy still in flight
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    CLUSTER_SYNC();
}

__global__ void waits_for_the_other_parity(const float *in, float *out)
{
    __shared__ unsigned got[32];
    SET_UP_PAIR(bar);
    ST_ASYNC(mapped(&got[i], other), i, mapped(&bar, other));  // expect waits_for_the_other_parity: copy still in flight, in store
    CLUSTER_SYNC();
    CLUSTER_MBARRIER_WAIT(&bar, 1);     // expect waits_for_the_other_parity: copy still in flight
    out[blockIdx.x * 32 + i] = got[i];  // expect waits_for_the_other_parity: copy still in flight
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    CLUSTER_SYNC();
}

__global__ void half_is_expected(const float *in, float *out)
{
    __shared__ unsigned got[2][32];
    SET_UP_PAIR(bar);
    ST_ASYNC(mapped(&got[0][i], other), i, mapped(&bar, other));
    CLUSTER_SYNC();
    ST_ASYNC(mapped(&got[1][i], other), i, mapped(&bar, other));  // expect half_is_expected: copy still in flight
    CLUSTER_MBARRIER_WAIT(&bar, 0);                               // expect half_is_expected: copy still in flight
    out[blockIdx.x * 32 + i] = got[0][i] + got[1][i];             // expect half_is_expected: copy still in flight
    CLUSTER_SYNC();
}

__global__ void only_one_thread_waits(const float *in, float *out)
{
    __shared__ unsigned got[32];
    __shared__ int waited;
    if (threadIdx.x == 0)
        waited = 0;
    SET_UP_PAIR(bar);
    ST_ASYNC(mapped(&got[i], other), i, mapped(&bar, other));  // expect only_one_thread_waits: race in shared memory
    if (i == 0) {
        CLUSTER_MBARRIER_WAIT(&bar, 0);
        atomicExch(&waited, 1);  // which orders nothing
    }
    while (!atomicAdd(&waited, 0))
        ;
    out[blockIdx.x * 32 + i] = got[i];  // expect only_one_thread_waits: race in shared memory
    CLUSTER_SYNC();
}

// ---- too early ----

__global__ void stored_again_too_early(const float *in, float *out)
{
    __shared__ unsigned got[32];
    SET_UP_PAIR(bar);
    ST_ASYNC(mapped(&got[i], other), i, mapped(&bar, other));  // perhaps stored_again_too_early: race in shared memory
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * 32 + i] = got[31 - i];  // perhaps stored_again_too_early: race in shared memory
    if (i == 0)
        MBARRIER_ARRIVE_EXPECT(&bar, 128);
    __syncwarp();
    ST_ASYNC(mapped(&got[i], other), i + 1, mapped(&bar, other));  // expect stored_again_too_early: race in shared memory
    CLUSTER_MBARRIER_WAIT(&bar, 1);
    CLUSTER_SYNC();
}

__global__ void copied_again_too_early(const float *in, float *out)
{
    __shared__ alignas(128) float row[2][32], got[32];
    for (int round = 0; round < 2; round++)
        row[round][threadIdx.x] = in[32 * round + threadIdx.x];
    FENCE_ASYNC_SHARED();
    SET_UP_PAIR(bar);
    for (int round = 0; round < 2; round++) {
        if (rank == 0 && i == 0)
            BULK_SEND(mapped(got, other), row[round], 128, mapped(&bar, other));  // expect copied_again_too_early: race in shared memory
        if (rank == 1) {
            CLUSTER_MBARRIER_WAIT(&bar, round);
            out[i] = got[i];  // expect copied_again_too_early: race in shared memory
            if (i == 0 && round == 0)
                MBARRIER_ARRIVE_EXPECT(&bar, 128);
        }
    }
    CLUSTER_SYNC();
}

__global__ void stored_over_what_is_read(const float *in, float *out)  // no barrier between the reads and the store
{
    __shared__ float table[32];
    table[threadIdx.x] = in[threadIdx.x];
    SET_UP_PAIR(bar);
    out[blockIdx.x * 32 + i] = table[31 - i];                                              // expect stored_over_what_is_read: copy still in flight
    ST_ASYNC(mapped(&table[i], other), __float_as_uint(in[32 + i]), mapped(&bar, other));  // expect stored_over_what_is_read: copy still in flight
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    CLUSTER_SYNC();
}

__global__ void a_plain_store_beside_reductions(const float *in, float *out)
{
    __shared__ unsigned sum;
    if (threadIdx.x == 0)
        sum = 0;
    SET_UP_PAIR(bar);
    RED_ASYNC("add.u32", mapped(&sum, other), i, mapped(&bar, other));  // expect a_plain_store_beside_reductions: race in shared memory
    if (i == 0)
        sum = 100;  // expect a_plain_store_beside_reductions: race in shared memory
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * 32 + i] = sum;
    CLUSTER_SYNC();
}

__global__ void source_is_written_again(const float *in, float *out)
{
    __shared__ alignas(128) float row[32], got[32];
    row[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    SET_UP_PAIR(bar);
    if (i == 0)
        BULK_SEND(mapped(got, other), row, 128, mapped(&bar, other));  // expect source_is_written_again: source overwritten in flight
    __syncwarp();
    row[i] = 0;  // expect source_is_written_again: source overwritten in flight
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * 32 + i] = got[i];
    CLUSTER_SYNC();
}

// ---- proxies ----

__global__ void source_without_a_fence(const float *in, float *out)
{
    __shared__ alignas(128) float row[32], got[32];
    row[threadIdx.x] = in[threadIdx.x];  // expect source_without_a_fence: missing proxy fence
    SET_UP_PAIR(bar);
    if (i == 0)
        BULK_SEND(mapped(got, other), row, 128, mapped(&bar, other));  // expect source_without_a_fence: missing proxy fence
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * 32 + i] = got[i];
    CLUSTER_SYNC();
}

__global__ void stored_and_copied_without_a_fence(const float *in, float *out)
{
    __shared__ alignas(128) unsigned got[32];
    SET_UP_PAIR(bar);
    ST_ASYNC(mapped(&got[i], other), i, mapped(&bar, other));  // expect stored_and_copied_without_a_fence: missing proxy fence
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    __syncwarp();
    if (i == 0) {
        BULK_STORE(out + blockIdx.x * 32, got, 128);  // expect stored_and_copied_without_a_fence: missing proxy fence
        BULK_COMMIT();
        BULK_WAIT(0);
    }
    CLUSTER_SYNC();
}

// ---- to the wrong place ----

__global__ void counted_by_the_sender(const float *in, float *out)
{
    __shared__ unsigned got[32];
    SET_UP_PAIR(bar);
    ST_ASYNC(mapped(&got[i], other), 1, mapped(&bar, rank));  // expect counted_by_the_sender: wrong rank, in mbarrier
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    CLUSTER_SYNC();
}

__global__ void copied_and_counted_elsewhere(const float *in, float *out)
{
    __shared__ alignas(128) float row[32], got[32];
    row[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    SET_UP_PAIR(bar);
    if (i == 0)
        BULK_SEND(in_shared(got), row, 128, mapped(&bar, other));  // expect copied_and_counted_elsewhere: wrong rank
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    CLUSTER_SYNC();
}

__global__ void of_no_block(const float *in, float *out)
{
    __shared__ unsigned got[32];
    SET_UP_PAIR(bar);
    ST_ASYNC(mapped(&got[i], rank + 5), 1, mapped(&bar, rank + 5));  // expect of_no_block: invalid rank
    CLUSTER_SYNC();
}

__global__ void behind_the_end(const float *in, float *out)
{
    __shared__ unsigned got[32];
    SET_UP_PAIR(bar);
    ST_ASYNC(mapped(&got[i], other) + 160 * 1024, 1, mapped(&bar, other));  // expect behind_the_end: out of bounds
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    CLUSTER_SYNC();
}

__global__ void reduction_behind_the_end(const float *in, float *out)
{
    __shared__ unsigned sum[32];
    sum[threadIdx.x] = 0;
    SET_UP_PAIR(bar);
    RED_ASYNC("max.u32", mapped(&sum[i], other) + 160 * 1024, 1, mapped(&bar, other));  // expect reduction_behind_the_end: out of bounds
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    CLUSTER_SYNC();
}

__global__ void a_pair_at_four_bytes(const float *in, float *out)
{
    __shared__ alignas(8) unsigned got[66];
    SET_UP_PAIR(bar);
    ST_ASYNC_PAIR(mapped(&got[2 * i + 1], other), i, mapped(&bar, other));  // expect a_pair_at_four_bytes: misaligned access
    CLUSTER_SYNC();
}

__global__ void to_global_memory(const float *in, float *out)
{
    SET_UP_PAIR(bar);
    unsigned long long barrier;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(barrier) : "l"(&bar), "r"(other));
    ST_ASYNC_GENERIC(out, i, barrier);  // expect to_global_memory: wrong memory space
    CLUSTER_SYNC();
}

__global__ void nobody_initialised_it(const float *in, float *out)
{
    __shared__ unsigned got[32];
    __shared__ uint64_t bar;
    unsigned other = cluster_rank() ^ 1;
    CLUSTER_SYNC();
    ST_ASYNC(mapped(&got[threadIdx.x], other), 1, mapped(&bar, other));  // expect nobody_initialised_it: no mbarrier
    CLUSTER_SYNC();
}

__global__ void sum_of_nothing(const float *in, float *out)
{
    __shared__ unsigned sum[32];
    SET_UP_PAIR(bar);
    RED_ASYNC("add.u32", mapped(&sum[i], other), 1, mapped(&bar, other));  // expect sum_of_nothing: uninitialised shared memory
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * 32 + i] = sum[i];
    CLUSTER_SYNC();
}

__global__ void without_clusters(const float *in, float *out)
{
    __shared__ unsigned got;
    __shared__ uint64_t bar;
    if (threadIdx.x == 0)
        MBARRIER_INIT(&bar, 1);
    __syncthreads();
    ST_ASYNC(in_shared(&got), 1, in_shared(&bar));  // expect without_clusters: invalid copy
}

__global__ void reduction_without_clusters(const float *in, float *out)
{
    __shared__ unsigned sum;
    __shared__ uint64_t bar;
    if (threadIdx.x == 0)
        MBARRIER_INIT(&bar, 1);
    __syncthreads();
    RED_ASYNC("add.u32", in_shared(&sum), 1, in_shared(&bar));  // expect reduction_without_clusters: invalid copy
}

// ---- who begins, and who leaves ----

__global__ void receiver_leaves(const float *in, float *out)
{
    __shared__ unsigned got[32];
    SET_UP_PAIR(bar);
    if (rank == 0)
        ST_ASYNC(mapped(&got[i], other), 1, mapped(&bar, other));  // expect receiver_leaves: transfer unfinished
    CLUSTER_SYNC();
}

__global__ void receiver_has_left(const float *in, float *out)
{
    __shared__ unsigned got[32];
    SET_UP_PAIR(bar);  // perhaps receiver_has_left: block has left
    if (rank == 1)
        return;
    for (int n = 0; n < 100; n++)
        __nanosleep(1000);
    ST_ASYNC(mapped(&got[i], other), 1, mapped(&bar, other));  // expect receiver_has_left: block has left
}

__global__ void sender_leaves_its_source(const float *in, float *out)
{
    __shared__ alignas(128) float row[32], got[32];
    row[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    SET_UP_PAIR(bar);
    if (rank == 0) {
        if (i == 0)
            BULK_SEND(mapped(got, other), row, 128, mapped(&bar, other));  // expect sender_leaves_its_source: transfer unfinished
        return;
    }
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[i] = got[i];
}

#define KERNEL(NAME) {#NAME, NAME, 2, 32}

int main(int argc, char **argv)
{
    static const struct faulty kernels[] = {KERNEL(reduction_not_waited_for),
                                            KERNEL(copy_not_waited_for),
                                            KERNEL(added_copy_not_waited_for),
                                            KERNEL(waits_for_the_other_parity),
                                            KERNEL(half_is_expected),
                                            KERNEL(only_one_thread_waits),
                                            KERNEL(stored_again_too_early),
                                            KERNEL(copied_again_too_early),
                                            KERNEL(stored_over_what_is_read),
                                            KERNEL(a_plain_store_beside_reductions),
                                            KERNEL(source_is_written_again),
                                            KERNEL(source_without_a_fence),
                                            KERNEL(stored_and_copied_without_a_fence),
                                            KERNEL(counted_by_the_sender),
                                            KERNEL(copied_and_counted_elsewhere),
                                            KERNEL(of_no_block),
                                            KERNEL(behind_the_end),
                                            KERNEL(reduction_behind_the_end),
                                            KERNEL(a_pair_at_four_bytes),
                                            KERNEL(to_global_memory),
                                            KERNEL(nobody_initialised_it),
                                            KERNEL(sum_of_nothing),
                                            KERNEL(receiver_leaves),
                                            KERNEL(receiver_has_left),
                                            KERNEL(sender_leaves_its_source)};
    float *none = NULL;
    if (argc > 1 && strcmp(argv[1], "without_clusters") == 0)
        without_clusters<<<1, 1>>>(none, none);
    if (argc > 1 && strcmp(argv[1], "reduction_without_clusters") == 0)
        reduction_without_clusters<<<1, 1>>>(none, none);
    return run_named(argc, argv, kernels, sizeof kernels / sizeof *kernels);
}
