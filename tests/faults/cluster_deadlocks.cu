// Blocks of a cluster that wait for each other for ever: the report names every waiter of every block. And barriers of the cluster that
// half of a warp comes to, or that a thread arrives at twice. The first argument picks the kernel; a comment `expect NAME: KIND` marks a
// line that the report on it must name.

#include "cluster_kernels.h"

// ---- who waits for whom ----

__global__ void one_block_has_more_turns(const float *in, float *out)
{
    __shared__ uint64_t full, empty;
    unsigned rank = cluster_rank(), other = rank ^ 1;
    CLUSTER_SET_UP(full, 32);
    CLUSTER_SET_UP(empty, 32);
    for (int t = 0; t < (rank == 0 ? 5 : 4); t++)
        if (rank == 0) {
            REMOTE_ARRIVE(mapped(&full, other));
            CLUSTER_MBARRIER_WAIT(&empty, t % 2);  // expect one_block_has_more_turns: barrier deadlock
        } else {
            CLUSTER_MBARRIER_WAIT(&full, t % 2);
            REMOTE_ARRIVE(mapped(&empty, other));
        }
    CLUSTER_SYNC();  // expect one_block_has_more_turns: barrier deadlock
}

__global__ void each_waits_first(const float *in, float *out)
{
    __shared__ uint64_t bar;
    unsigned other = cluster_rank() ^ 1;
    CLUSTER_SET_UP(bar, 32);
    if (cluster_rank() == 0)
        CLUSTER_MBARRIER_WAIT(&bar, 0);  // expect each_waits_first: barrier deadlock
    else
        CLUSTER_MBARRIER_WAIT(&bar, 0);  // expect each_waits_first: barrier deadlock
    REMOTE_ARRIVE(mapped(&bar, other));
    CLUSTER_SYNC();
}

__global__ void arrives_at_its_own(const float *in, float *out)  // where the next block waits
{
    __shared__ uint64_t bar;
    unsigned rank = cluster_rank();
    CLUSTER_SET_UP(bar, 32);
    if (rank % 2 == 0) {
        REMOTE_ARRIVE(mapped(&bar, rank));
        CLUSTER_SYNC();  // expect arrives_at_its_own: barrier deadlock
    } else {
        CLUSTER_MBARRIER_WAIT(&bar, 0);  // expect arrives_at_its_own: barrier deadlock
        CLUSTER_SYNC();
    }
}

__global__ void one_arrives_for_all_of_32(const float *in, float *out)
{
    __shared__ uint64_t bar;
    unsigned rank = cluster_rank();
    CLUSTER_SET_UP(bar, 32);
    if (rank == 0) {
        if (threadIdx.x == 0)
            REMOTE_ARRIVE(mapped(&bar, 1));
        __syncwarp();
    } else {
        CLUSTER_MBARRIER_WAIT(&bar, 0);  // expect one_arrives_for_all_of_32: barrier deadlock, in 31
    }
    CLUSTER_SYNC();  // expect one_arrives_for_all_of_32: barrier deadlock
}

__global__ void one_block_stays_away(const float *in, float *out)  // in a barrier of its own threads, of which one waits for the cluster
{
    if (cluster_rank() == 1 && threadIdx.x < 32)
        __syncthreads();  // expect one_block_stays_away: barrier deadlock
    else
        CLUSTER_SYNC();  // expect one_block_stays_away: barrier deadlock
    out[threadIdx.x] = 1;
}

__global__ void four_kinds_of_waits(const float *in, float *out)
{
    __shared__ uint64_t bar;
    unsigned rank = cluster_rank();
    CLUSTER_SET_UP(bar, 32);
    if (rank == 0)
        CLUSTER_MBARRIER_WAIT(&bar, 0);  // expect four_kinds_of_waits: barrier deadlock
    else if (rank == 1)
        asm volatile("bar.sync 3, 64;" ::: "memory");  // expect four_kinds_of_waits: barrier deadlock
    else if (rank == 2)
        CLUSTER_SYNC();  // expect four_kinds_of_waits: barrier deadlock
    else if (threadIdx.x < 16)
        __syncwarp();  // expect four_kinds_of_waits: barrier deadlock
    else
        CLUSTER_MBARRIER_WAIT(&bar, 0);  // expect four_kinds_of_waits: barrier deadlock
    out[threadIdx.x] = 1;
}

__global__ void one_barrier_too_few(const float *in, float *out)  // of the block that is done, and waits for a turn that does not come
{
    __shared__ uint64_t bar;
    unsigned rank = cluster_rank();
    CLUSTER_SET_UP(bar, 1);
    if (rank == 0) {
        CLUSTER_MBARRIER_WAIT(&bar, 0);  // expect one_barrier_too_few: barrier deadlock
        CLUSTER_SYNC();
    } else {
        CLUSTER_SYNC();  // expect one_barrier_too_few: barrier deadlock
        REMOTE_ARRIVE(mapped(&bar, 0));
    }
}

__global__ void async_store_to_the_wrong_block(const float *in, float *out)
{
    __shared__ uint64_t bar;
    __shared__ unsigned got[32];
    unsigned rank = cluster_rank();
    CLUSTER_SET_UP(bar, 1);
    if (threadIdx.x == 0)
        MBARRIER_ARRIVE_EXPECT(&bar, 128);
    __syncwarp();
    unsigned to = rank / 2 * 2;  // and not the other of the pair
    if (rank % 2 == 0)
        ST_ASYNC(mapped(&got[threadIdx.x], to), 5, mapped(&bar, to));
    CLUSTER_MBARRIER_WAIT(&bar, 0);  // expect async_store_to_the_wrong_block: barrier deadlock, in bytes
    CLUSTER_SYNC();                  // expect async_store_to_the_wrong_block: barrier deadlock
}

__global__ void in_a_circle(const float *in, float *out)  // each waits for the block before it, and nobody begins
{
    __shared__ uint64_t bar;
    unsigned rank = cluster_rank(), size = cluster_size();
    CLUSTER_SET_UP(bar, 1);
    CLUSTER_MBARRIER_WAIT(&bar, 0);  // expect in_a_circle: barrier deadlock
    if (threadIdx.x == 0)
        REMOTE_ARRIVE(mapped(&bar, (rank + 1) % size));
    CLUSTER_SYNC();
}

// ---- arrivals and waits that do not belong together ----

__global__ void wait_without_arrival(const float *in, float *out)
{
    if (cluster_rank() == 1)
        CLUSTER_ARRIVE();
    CLUSTER_WAIT();  // expect wait_without_arrival: invalid barrier
    out[threadIdx.x] = 1;
}

__global__ void two_arrivals(const float *in, float *out)
{
    CLUSTER_ARRIVE();  // perhaps two_arrivals: invalid barrier
    if (cluster_rank() == 0)
        CLUSTER_ARRIVE();  // expect two_arrivals: invalid barrier
    CLUSTER_WAIT();
    out[threadIdx.x] = 1;
}

__global__ void half_of_a_warp(const float *in, float *out)
{
    if (threadIdx.x % 32 < 16) {
        CLUSTER_ARRIVE();  // expect half_of_a_warp: divergent barrier
        CLUSTER_WAIT();
    } else {
        CLUSTER_ARRIVE();  // expect half_of_a_warp: divergent barrier
        CLUSTER_WAIT();
    }
    out[threadIdx.x] = 1;
}

__global__ void elected_lane_is_elsewhere(const float *in, float *out)  // in a wait for what comes behind the barrier of its warp
{
    __shared__ uint64_t bar;
    CLUSTER_SET_UP(bar, 1);
    if (threadIdx.x == 0)
        CLUSTER_MBARRIER_WAIT(&bar, 0);  // expect elected_lane_is_elsewhere: barrier deadlock
    CLUSTER_SYNC();                      // expect elected_lane_is_elsewhere: barrier deadlock
    if (threadIdx.x == 0)
        REMOTE_ARRIVE(mapped(&bar, cluster_rank() ^ 1));
    CLUSTER_SYNC();
}

__global__ void only_one_lane(const float *in, float *out)  // comes, for its block
{
    if (threadIdx.x == 0)
        CLUSTER_SYNC();  // expect only_one_lane: barrier deadlock
    __syncthreads();     // expect only_one_lane: barrier deadlock
    out[threadIdx.x] = 1;
}

__global__ void arrival_at_two_lines(const float *in, float *out)
{
    if (threadIdx.x < 16)
        CLUSTER_ARRIVE();  // expect arrival_at_two_lines: divergent barrier
    else
        CLUSTER_ARRIVE();  // expect arrival_at_two_lines: divergent barrier
    CLUSTER_WAIT();
    out[threadIdx.x] = 1;
}

int main(int argc, char **argv)
{
#define KERNEL(NAME, BLOCKS, THREADS) {#NAME, NAME, BLOCKS, THREADS}
    const struct faulty kernels[] = {
        KERNEL(one_block_has_more_turns, 2, 32),
        KERNEL(each_waits_first, 2, 32),
        KERNEL(arrives_at_its_own, 2, 32),
        KERNEL(one_arrives_for_all_of_32, 2, 32),
        KERNEL(one_block_stays_away, 2, 64),
        KERNEL(four_kinds_of_waits, 4, 32),
        KERNEL(one_barrier_too_few, 2, 32),
        KERNEL(async_store_to_the_wrong_block, 4, 32),
        KERNEL(in_a_circle, 4, 32),
        KERNEL(wait_without_arrival, 2, 32),
        KERNEL(two_arrivals, 2, 32),
        KERNEL(half_of_a_warp, 2, 32),
        KERNEL(elected_lane_is_elsewhere, 2, 32),
        KERNEL(only_one_lane, 2, 64),
        KERNEL(arrival_at_two_lines, 2, 32),
    };
    return run_named(argc, argv, kernels, sizeof kernels / sizeof *kernels);
}
