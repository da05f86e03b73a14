// Mbarriers of another block of the cluster: initialised where the one that arrives cannot know it, arrived at too often, or with an address
// of the wrong block; and stores and copies into another block that nobody waits for. The first argument picks the kernel; a comment
// `expect NAME: KIND` marks a line that the report on it must name, `noted NAME` one that is noted. tests/right/cluster_mbarriers.cu has
// the right ways.

#include "cluster_kernels.h"

enum { TILE = 64,
       BYTES = TILE * 4 };

#define INIT(BAR, COUNT) \
    if (threadIdx.x == 0) \
    MBARRIER_INIT(&BAR, COUNT)

// ---- initialisations that are not visible ----

__global__ void syncthreads_behind_the_init(const float *in, float *out)
{
    __shared__ uint64_t bar;
    INIT(bar, 32);  // expect syncthreads_behind_the_init: mbarrier not visible
    FENCE_MBARRIER_INIT();
    __syncthreads();
    REMOTE_ARRIVE(mapped(&bar, cluster_rank() ^ 1));  // expect syncthreads_behind_the_init: mbarrier not visible
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * 32 + threadIdx.x] = 1;
    CLUSTER_SYNC();
}

__global__ void init_behind_the_barrier(const float *in, float *out)
{
    __shared__ uint64_t bar;
    CLUSTER_SYNC();
    INIT(bar, 32);  // expect init_behind_the_barrier: mbarrier not visible
    FENCE_MBARRIER_INIT();
    __syncthreads();
    REMOTE_ARRIVE(mapped(&bar, cluster_rank() ^ 1));  // expect init_behind_the_barrier: mbarrier not visible
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * 32 + threadIdx.x] = 1;
    CLUSTER_SYNC();
}

__global__ void arrives_ahead_of_the_wait(const float *in, float *out)
{
    __shared__ uint64_t bar;
    INIT(bar, 32);  // expect arrives_ahead_of_the_wait: mbarrier not visible
    FENCE_MBARRIER_INIT();
    __syncthreads();
    CLUSTER_ARRIVE();
    REMOTE_ARRIVE(mapped(&bar, cluster_rank() ^ 1));  // expect arrives_ahead_of_the_wait: mbarrier not visible
    CLUSTER_WAIT();
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * 32 + threadIdx.x] = 1;
    CLUSTER_SYNC();
}

__global__ void expected_by_the_sender(const float *in, float *out)
{
    __shared__ uint64_t bar;
    __shared__ alignas(128) unsigned got[32];
    unsigned other = cluster_rank() ^ 1;
    INIT(bar, 1);  // expect expected_by_the_sender: mbarrier not visible
    __syncthreads();
    if (threadIdx.x == 0)
        REMOTE_ARRIVE_EXPECT(mapped(&bar, other), 128);  // expect expected_by_the_sender: mbarrier not visible
    __syncwarp();
    ST_ASYNC(mapped(&got[threadIdx.x], other), 5, mapped(&bar, other));  // perhaps expected_by_the_sender: mbarrier not visible
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * 32 + threadIdx.x] = got[threadIdx.x];
    CLUSTER_SYNC();
}

__global__ void second_barrier_is_initialised_late(const float *in, float *out)
{
    __shared__ uint64_t bars[2];
    unsigned other = cluster_rank() ^ 1;
    INIT(bars[0], 32);
    FENCE_MBARRIER_INIT();
    CLUSTER_SYNC();
    INIT(bars[1], 32);  // expect second_barrier_is_initialised_late: mbarrier not visible
    FENCE_MBARRIER_INIT();
    __syncthreads();
    for (int i = 1; i >= 0; i--) {
        REMOTE_ARRIVE(mapped(&bars[i], other));  // expect second_barrier_is_initialised_late: mbarrier not visible
        CLUSTER_MBARRIER_WAIT(&bars[i], 0);
    }
    out[blockIdx.x * 32 + threadIdx.x] = 1;
    CLUSTER_SYNC();
}

__global__ void never_initialised_there(const float *in, float *out)  // the first block alone does
{
    __shared__ uint64_t bar;
    unsigned rank = cluster_rank();
    if (rank == 0)
        INIT(bar, 32);
    FENCE_MBARRIER_INIT();
    CLUSTER_SYNC();
    REMOTE_ARRIVE(mapped(&bar, rank ^ 1));  // expect never_initialised_there: no mbarrier
    if (rank == 0)
        CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * 32 + threadIdx.x] = 1;
    CLUSTER_SYNC();
}

__global__ void relaxed_without_the_fence(const float *in, float *out)  // works, and should not be leaned on
{
    __shared__ uint64_t bar;
    INIT(bar, 32);  // noted relaxed_without_the_fence
    __syncthreads();
    CLUSTER_ARRIVE_RELAXED();
    CLUSTER_WAIT();
    REMOTE_ARRIVE(mapped(&bar, cluster_rank() ^ 1));  // noted relaxed_without_the_fence
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * 32 + threadIdx.x] = 1;
    CLUSTER_SYNC();
}

__global__ void invalidated_too_early(const float *in, float *out)
{
    __shared__ uint64_t bar;
    unsigned rank = cluster_rank();
    CLUSTER_SET_UP(bar, 64);
    if (rank == 0) {
        if (threadIdx.x == 0)
            MBARRIER_INVAL(&bar);  // perhaps invalidated_too_early: no mbarrier
        __syncwarp();
    }
    CLUSTER_SYNC();
    REMOTE_ARRIVE(mapped(&bar, 0));  // expect invalidated_too_early: no mbarrier
    out[blockIdx.x * 32 + threadIdx.x] = 1;
    CLUSTER_SYNC();
}

// ---- counts and addresses ----

__global__ void arrivals_of_all_at_one_of_one(const float *in, float *out)
{
    __shared__ uint64_t bar;
    CLUSTER_SET_UP(bar, 32);
    REMOTE_ARRIVE(mapped(&bar, 0));  // where both blocks arrive, 64 do
    REMOTE_ARRIVE(mapped(&bar, 0));
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0], 40;" ::"r"(mapped(&bar, 0)) : "memory");  // expect arrivals_of_all_at_one_of_one: too many arrivals
    out[blockIdx.x * 32 + threadIdx.x] = 1;
    CLUSTER_SYNC();
}

__global__ void data_here_and_barrier_there(const float *in, float *out)  // of one store: both are to be of one block
{
    __shared__ uint64_t bar;
    __shared__ unsigned got[32];
    unsigned other = cluster_rank() ^ 1;
    CLUSTER_SET_UP(bar, 1);
    if (threadIdx.x == 0)
        MBARRIER_ARRIVE_EXPECT(&bar, 128);
    __syncwarp();
    ST_ASYNC(mapped(&got[threadIdx.x], other), 5, in_shared(&bar));  // expect data_here_and_barrier_there: wrong rank
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * 32 + threadIdx.x] = got[threadIdx.x];
    CLUSTER_SYNC();
}

__global__ void copy_with_the_barrier_of_another(const float *in, float *out)
{
    __shared__ uint64_t bar;
    __shared__ alignas(128) float from[TILE], to[TILE];
    unsigned rank = cluster_rank();
    from[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    CLUSTER_SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_SEND(mapped(to, rank ^ 1), from, BYTES, mapped(&bar, (rank + 2) % 4));  // expect copy_with_the_barrier_of_another: wrong rank
    }
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * TILE + threadIdx.x] = to[threadIdx.x];
    CLUSTER_SYNC();
}

__global__ void rank_that_is_not_there(const float *in, float *out)
{
    __shared__ uint64_t bar;
    CLUSTER_SET_UP(bar, 32);
    unsigned next;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(next) : "r"(in_shared(&bar)), "r"(cluster_rank() + 1));
    REMOTE_ARRIVE(next);  // expect rank_that_is_not_there: invalid rank
    out[blockIdx.x * 32 + threadIdx.x] = 1;
    CLUSTER_SYNC();
}

// ---- what is on its way ----

__global__ void async_store_not_waited_for(const float *in, float *out)
{
    __shared__ uint64_t bar;
    __shared__ unsigned got[32];
    unsigned other = cluster_rank() ^ 1;
    CLUSTER_SET_UP(bar, 1);
    if (threadIdx.x == 0)
        MBARRIER_ARRIVE_EXPECT(&bar, 128);
    ST_ASYNC(mapped(&got[threadIdx.x], other), 5, mapped(&bar, other));  // expect async_store_not_waited_for: copy still in flight
    CLUSTER_SYNC();
    out[blockIdx.x * 32 + threadIdx.x] = got[threadIdx.x];  // expect async_store_not_waited_for: copy still in flight
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    CLUSTER_SYNC();
}

__global__ void only_one_thread_waits(const float *in, float *out)  // for what all read
{
    __shared__ uint64_t bar;
    __shared__ unsigned got[64];
    unsigned other = cluster_rank() ^ 1;
    CLUSTER_SET_UP(bar, 1);
    if (threadIdx.x == 0)
        MBARRIER_ARRIVE_EXPECT(&bar, 256);
    ST_ASYNC(mapped(&got[threadIdx.x], other), 5, mapped(&bar, other));  // expect only_one_thread_waits: copy still in flight
    CLUSTER_SYNC();                                                      // perhaps only_one_thread_waits: copy still in flight
    if (threadIdx.x == 0)
        CLUSTER_MBARRIER_WAIT(&bar, 0);                     // perhaps only_one_thread_waits: copy still in flight
    out[blockIdx.x * 64 + threadIdx.x] = got[threadIdx.x];  // expect only_one_thread_waits: copy still in flight
    CLUSTER_SYNC();
}

__global__ void added_and_not_waited_for(const float *in, float *out)
{
    __shared__ uint64_t bar;
    __shared__ unsigned sum;
    if (threadIdx.x == 0)
        sum = 0;
    CLUSTER_SET_UP(bar, 1);
    if (threadIdx.x == 0)
        MBARRIER_ARRIVE_EXPECT(&bar, 64 * 4);
    RED_ASYNC("add.u32", mapped(&sum, 0), 1, mapped(&bar, 0));  // expect added_and_not_waited_for: copy still in flight
    CLUSTER_SYNC();
    if (cluster_rank() == 0)
        out[threadIdx.x] = sum;  // expect added_and_not_waited_for: copy still in flight
    CLUSTER_SYNC();
}

__global__ void source_is_written_again(const float *in, float *out)
{
    __shared__ uint64_t bar;
    __shared__ alignas(128) float from[TILE], to[TILE];
    unsigned other = cluster_rank() ^ 1;
    from[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    CLUSTER_SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_SEND(mapped(to, other), from, BYTES, mapped(&bar, other));  // expect source_is_written_again: source overwritten in flight
    }
    __syncthreads();
    from[threadIdx.x] = 0;  // expect source_is_written_again: source overwritten in flight
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * TILE + threadIdx.x] = to[threadIdx.x];
    CLUSTER_SYNC();
}

__global__ void sent_without_a_proxy_fence(const float *in, float *out)
{
    __shared__ uint64_t bar;
    __shared__ alignas(128) float from[TILE], to[TILE];
    unsigned other = cluster_rank() ^ 1;
    from[threadIdx.x] = in[threadIdx.x];  // expect sent_without_a_proxy_fence: missing proxy fence
    CLUSTER_SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_SEND(mapped(to, other), from, BYTES, mapped(&bar, other));  // expect sent_without_a_proxy_fence: missing proxy fence
    }
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * TILE + threadIdx.x] = to[threadIdx.x];
    CLUSTER_SYNC();
}

__global__ void copied_over_what_is_read(const float *in, float *out)  // two copies to one place, and nobody says that the first was read
{
    __shared__ uint64_t bar;
    __shared__ alignas(128) float from[TILE], to[TILE];
    unsigned rank = cluster_rank();
    from[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    CLUSTER_SET_UP(bar, 1);
    for (int i = 0; i < 2; i++)
        if (rank == 0) {
            if (threadIdx.x == 0) {
                BULK_SEND(mapped(to, 1), from, BYTES, mapped(&bar, 1));  // expect copied_over_what_is_read: target overwritten in flight
            }
        } else {
            if (threadIdx.x == 0)
                MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
            CLUSTER_MBARRIER_WAIT(&bar, i);  // perhaps copied_over_what_is_read: target overwritten in flight
            out[i * TILE + threadIdx.x] = to[threadIdx.x];
        }
    CLUSTER_SYNC();
}

__global__ void pong_is_not_waited_for(const float *in, float *out)  // so that the second ping overwrites the first
{
    __shared__ uint64_t bar;
    __shared__ unsigned got[32];
    unsigned rank = cluster_rank(), sum = 0;
    CLUSTER_SET_UP(bar, 1);
    if (rank == 0)
        for (int i = 0; i < 4; i++) {
            ST_ASYNC(mapped(&got[threadIdx.x], 1), i, mapped(&bar, 1));  // expect pong_is_not_waited_for: race in shared memory
        }
    else
        for (int i = 0; i < 4; i++) {
            if (threadIdx.x == 0)
                MBARRIER_ARRIVE_EXPECT(&bar, 128);
            CLUSTER_MBARRIER_WAIT(&bar, i % 2);  // perhaps pong_is_not_waited_for: race in shared memory
            sum += got[threadIdx.x];             // expect pong_is_not_waited_for: race in shared memory
        }
    out[blockIdx.x * 32 + threadIdx.x] = sum;
    CLUSTER_SYNC();
}

__global__ void read_and_not_let_go_of(const float *in, float *out)  // the reader is through, but the sender cannot know
{
    __shared__ uint64_t bar;
    __shared__ unsigned got[32];
    unsigned rank = cluster_rank(), sum = 0;
    CLUSTER_SET_UP(bar, 1);
    if (rank == 0) {
        ST_ASYNC(mapped(&got[threadIdx.x], 1), 5, mapped(&bar, 1));  // perhaps read_and_not_let_go_of: race in shared memory
        for (volatile int i = 0; i < 200; i = i + 1)
            __nanosleep(100);
        REMOTE_STORE(mapped(&got[threadIdx.x], 1), 6);  // expect read_and_not_let_go_of: race in shared memory
    } else {
        if (threadIdx.x == 0)
            MBARRIER_ARRIVE_EXPECT(&bar, 128);
        CLUSTER_MBARRIER_WAIT(&bar, 0);
        sum = got[threadIdx.x];  // expect read_and_not_let_go_of: race in shared memory
    }
    out[blockIdx.x * 32 + threadIdx.x] = sum;
    CLUSTER_SYNC();
}

int main(int argc, char **argv)
{
#define KERNEL(NAME, BLOCKS, THREADS) {#NAME, NAME, BLOCKS, THREADS}
    const struct faulty kernels[] = {
        KERNEL(syncthreads_behind_the_init, 2, 32),
        KERNEL(init_behind_the_barrier, 2, 32),
        KERNEL(arrives_ahead_of_the_wait, 2, 32),
        KERNEL(expected_by_the_sender, 2, 32),
        KERNEL(second_barrier_is_initialised_late, 2, 32),
        KERNEL(never_initialised_there, 2, 32),
        KERNEL(relaxed_without_the_fence, 2, 32),
        KERNEL(invalidated_too_early, 2, 32),
        KERNEL(arrivals_of_all_at_one_of_one, 2, 32),
        KERNEL(data_here_and_barrier_there, 2, 32),
        KERNEL(copy_with_the_barrier_of_another, 4, TILE),
        KERNEL(rank_that_is_not_there, 2, 32),
        KERNEL(async_store_not_waited_for, 2, 32),
        KERNEL(only_one_thread_waits, 2, 64),
        KERNEL(added_and_not_waited_for, 2, 32),
        KERNEL(source_is_written_again, 2, TILE),
        KERNEL(sent_without_a_proxy_fence, 2, TILE),
        KERNEL(copied_over_what_is_read, 2, TILE),
        KERNEL(pong_is_not_waited_for, 2, 32),
        KERNEL(read_and_not_let_go_of, 2, 32),
    };
    return run_named(argc, argv, kernels, sizeof kernels / sizeof *kernels);
}
