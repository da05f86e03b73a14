// Races between the blocks of a cluster, in shared and in global memory. The first argument picks the kernel; a comment
// `expect NAME: KIND` marks a line that the report on it must name. tests/right/cluster_*.cu have the right ways.

#include <cooperative_groups.h>
#include "cluster_kernels.h"

namespace cg = cooperative_groups;

__global__ void counted_without_atomics(const float *in, float *out)
{
    __shared__ int count;
    auto cluster = cg::this_cluster();
    if (threadIdx.x == 0)
        count = 0;
    cluster.sync();
    if (threadIdx.x == 0)
        *cluster.map_shared_rank(&count, 0) += 1;  // expect counted_without_atomics: race in shared memory
    cluster.sync();
    out[blockIdx.x] = count;
}

__global__ void all_to_the_first(const float *in, float *out)  // where each was to have a place of its own
{
    __shared__ unsigned sums[8];
    unsigned rank = cluster_rank(), x = 0;
    CLUSTER_SYNC();
    if (threadIdx.x == 0)
        REMOTE_STORE(mapped(&sums[rank / 2], 0), rank + 1);  // expect all_to_the_first: race in shared memory
    CLUSTER_SYNC();
    if (rank == 0)
        for (int i = 0; i < 2; i++)
            x += sums[i];
    out[blockIdx.x] = x;
}

__global__ void wrong_rank(const float *in, float *out)  // two blocks store into one, where each was to have its own neighbour
{
    __shared__ unsigned got[32];
    unsigned rank = cluster_rank(), size = cluster_size(), to = rank == size - 1 ? rank - 1 : rank + 1;
    CLUSTER_SYNC();
    REMOTE_STORE(mapped(&got[threadIdx.x], to), rank);  // expect wrong_rank: race in shared memory
    CLUSTER_SYNC();
    out[blockIdx.x * 32 + threadIdx.x] = rank == 0 ? 0 : got[threadIdx.x];
}

__global__ void syncthreads_between_steps(const float *in, float *out)
{
    __shared__ float cells[2][32];
    auto cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), next = (rank + 1) % cluster.num_blocks(), i = threadIdx.x;
    cells[0][i] = in[blockIdx.x * 32 + i];
    cluster.sync();
    for (int step = 0; step < 4; step++) {
        float x = cluster.map_shared_rank(cells[step % 2], next)[i];  // expect syncthreads_between_steps: race in shared memory
        cells[(step + 1) % 2][i] = x + cells[step % 2][i];            // expect syncthreads_between_steps: race in shared memory
        __syncthreads();
    }
    cluster.sync();
    out[blockIdx.x * 32 + i] = cells[0][i];
}

__global__ void halo_of_one_buffer(const float *in, float *out)
{
    __shared__ float cells[32];
    auto cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), last = cluster.num_blocks() - 1, i = threadIdx.x;
    cells[i] = in[blockIdx.x * 32 + i];
    for (int step = 0; step < 4; step++) {
        cluster.sync();
        const float *neighbour = i < 31 ? &cells[i + 1] : cluster.map_shared_rank(cells, rank < last ? rank + 1 : rank);
        float right = *neighbour;  // expect halo_of_one_buffer: race in shared memory
        __syncthreads();
        cells[i] += right;  // expect halo_of_one_buffer: race in shared memory
    }
    cluster.sync();
    out[blockIdx.x * 32 + i] = cells[i];
}

__global__ void own_memory_at_once(const float *in, float *out)  // what the other block has stored there is not waited for
{
    __shared__ unsigned got[32];
    unsigned rank = cluster_rank();
    got[threadIdx.x] = 0;
    CLUSTER_SYNC();
    if (rank == 0)
        REMOTE_STORE(mapped(&got[threadIdx.x], 1), 7);  // expect own_memory_at_once: race in shared memory
    else
        out[threadIdx.x] = got[threadIdx.x];  // expect own_memory_at_once: race in shared memory
    CLUSTER_SYNC();
}

__global__ void only_the_sender_meets(const float *in, float *out)  // itself: its stores are behind no barrier of the receiver
{
    __shared__ unsigned got[64];
    unsigned rank = cluster_rank();
    got[threadIdx.x] = 0;
    CLUSTER_SYNC();
    if (rank == 0)
        REMOTE_STORE(mapped(&got[threadIdx.x], 1), 7);  // expect only_the_sender_meets: race in shared memory
    __syncthreads();
    __threadfence();
    if (rank == 1)
        out[threadIdx.x] = got[63 - threadIdx.x];  // expect only_the_sender_meets: race in shared memory
    CLUSTER_SYNC();
}

__global__ void behind_the_arrival(const float *in, float *out)  // a store that the barrier does not hand on
{
    __shared__ unsigned got[32];
    unsigned other = cluster_rank() ^ 1;
    CLUSTER_SYNC();
    CLUSTER_ARRIVE();
    REMOTE_STORE(mapped(&got[threadIdx.x], other), 7);  // expect behind_the_arrival: race in shared memory
    CLUSTER_WAIT();
    unsigned x = got[threadIdx.x];  // expect behind_the_arrival: race in shared memory
    CLUSTER_SYNC();
    out[blockIdx.x * 32 + threadIdx.x] = x;
}

__global__ void ahead_of_the_wait(const float *in, float *out)
{
    __shared__ unsigned got[32];
    unsigned other = cluster_rank() ^ 1;
    CLUSTER_SYNC();
    REMOTE_STORE(mapped(&got[threadIdx.x], other), 7);  // expect ahead_of_the_wait: race in shared memory
    CLUSTER_ARRIVE();
    unsigned x = got[threadIdx.x];  // expect ahead_of_the_wait: race in shared memory
    CLUSTER_WAIT();
    out[blockIdx.x * 32 + threadIdx.x] = x;
}

__global__ void relaxed_where_release_is_needed(const float *in, float *out)
{
    __shared__ unsigned got[32];
    unsigned other = cluster_rank() ^ 1;
    CLUSTER_SYNC();
    REMOTE_STORE(mapped(&got[threadIdx.x], other), 7);  // expect relaxed_where_release_is_needed: race in shared memory
    CLUSTER_ARRIVE_RELAXED();
    CLUSTER_WAIT();
    out[blockIdx.x * 32 + threadIdx.x] = got[threadIdx.x];  // expect relaxed_where_release_is_needed: race in shared memory
    CLUSTER_SYNC();
}

__global__ void init_fence_for_data(const float *in, float *out)  // fence.mbarrier_init is for barriers alone
{
    __shared__ unsigned own[32];
    unsigned other = cluster_rank() ^ 1, x;
    own[threadIdx.x] = 7;  // expect init_fence_for_data: race in shared memory
    FENCE_MBARRIER_INIT();
    CLUSTER_ARRIVE_RELAXED();
    CLUSTER_WAIT();
    REMOTE_LOAD(x, mapped(&own[threadIdx.x], other));  // expect init_fence_for_data: race in shared memory
    out[blockIdx.x * 32 + threadIdx.x] = x;
    CLUSTER_SYNC();
}

__global__ void volatile_flag(const float *in, float *out)
{
    __shared__ unsigned data[32];
    __shared__ unsigned flag;
    auto cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank();
    if (threadIdx.x == 0)
        flag = 0;
    cluster.sync();
    if (rank == 0) {
        cluster.map_shared_rank(data, 1)[threadIdx.x] = 5;  // expect volatile_flag: race in shared memory
        if (threadIdx.x == 0)
            *(volatile unsigned *)cluster.map_shared_rank(&flag, 1) = 1;
    } else {
        while (!*(volatile unsigned *)&flag)
            ;
        out[threadIdx.x] = data[threadIdx.x];  // expect volatile_flag: race in shared memory
    }
    cluster.sync();
}

__global__ void relaxed_flag(const float *in, float *out)
{
    __shared__ unsigned data[32], flag;
    unsigned rank = cluster_rank();
    if (threadIdx.x == 0)
        flag = 0;
    CLUSTER_SYNC();
    if (rank == 0) {
        REMOTE_STORE(mapped(&data[threadIdx.x], 1), 5);  // expect relaxed_flag: race in shared memory
        __syncwarp();
        if (threadIdx.x == 0)
            asm volatile("st.relaxed.cluster.shared::cluster.u32 [%0], 1;" ::"r"(mapped(&flag, 1)) : "memory");
    } else {
        for (unsigned seen = 0; !seen;)
            asm volatile("ld.acquire.cluster.shared::cta.u32 %0, [%1];" : "=r"(seen) : "r"(in_shared(&flag)) : "memory");
        out[threadIdx.x] = data[threadIdx.x];  // expect relaxed_flag: race in shared memory
    }
    CLUSTER_SYNC();
}

__global__ void fence_of_the_block(const float *in, float *out)  // where the flag is another block's
{
    __shared__ unsigned data[32], flag;
    unsigned rank = cluster_rank();
    if (threadIdx.x == 0)
        flag = 0;
    CLUSTER_SYNC();
    if (rank == 0) {
        REMOTE_STORE(mapped(&data[threadIdx.x], 1), 5);  // expect fence_of_the_block: race in shared memory
        __syncwarp();
        __threadfence_block();
        if (threadIdx.x == 0)
            REMOTE_ADD(mapped(&flag, 1), 1);
    } else {
        for (unsigned seen = 0; !seen;)
            asm volatile("ld.acquire.cluster.shared::cta.u32 %0, [%1];" : "=r"(seen) : "r"(in_shared(&flag)) : "memory");
        out[threadIdx.x] = data[threadIdx.x];  // expect fence_of_the_block: race in shared memory
    }
    CLUSTER_SYNC();
}

__global__ void relaxed_arrival_at_an_mbarrier(const float *in, float *out)
{
    __shared__ unsigned data[32];
    __shared__ uint64_t full;
    unsigned rank = cluster_rank();
    CLUSTER_SET_UP(full, 32);
    if (rank == 0) {
        REMOTE_STORE(mapped(&data[threadIdx.x], 1), 5);  // expect relaxed_arrival_at_an_mbarrier: race in shared memory
        asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];" ::"r"(mapped(&full, 1)) : "memory");
    } else {
        CLUSTER_MBARRIER_WAIT(&full, 0);
        out[threadIdx.x] = data[threadIdx.x];  // expect relaxed_arrival_at_an_mbarrier: race in shared memory
    }
    CLUSTER_SYNC();
}

__global__ void one_lane_for_its_warp(const float *in, float *out)  // without __syncwarp() in front of its arrival
{
    __shared__ unsigned data[32];
    __shared__ uint64_t full;
    unsigned rank = cluster_rank();
    CLUSTER_SET_UP(full, 1);
    if (rank == 0) {
        REMOTE_STORE(mapped(&data[threadIdx.x], 1), 5);  // expect one_lane_for_its_warp: race in shared memory
        if (threadIdx.x == 0)
            REMOTE_ARRIVE(mapped(&full, 1));
    } else {
        CLUSTER_MBARRIER_WAIT(&full, 0);
        out[threadIdx.x] = data[threadIdx.x];  // expect one_lane_for_its_warp: race in shared memory
    }
    CLUSTER_SYNC();
}

__global__ void arrives_before_it_stores(const float *in, float *out)
{
    __shared__ unsigned data[32];
    __shared__ uint64_t full;
    unsigned rank = cluster_rank();
    CLUSTER_SET_UP(full, 32);
    if (rank == 0) {
        REMOTE_ARRIVE(mapped(&full, 1));
        REMOTE_STORE(mapped(&data[threadIdx.x], 1), 5);  // expect arrives_before_it_stores: race in shared memory
    } else {
        CLUSTER_MBARRIER_WAIT(&full, 0);
        out[threadIdx.x] = data[threadIdx.x];  // expect arrives_before_it_stores: race in shared memory
    }
    CLUSTER_SYNC();
}

__global__ void stored_again_before_it_was_read(const float *in, float *out)  // one stage, and nobody says that it is empty
{
    __shared__ unsigned stage[32];
    __shared__ uint64_t full;
    unsigned rank = cluster_rank();
    CLUSTER_SET_UP(full, 32);
    if (rank == 0)
        for (int t = 0; t < 2; t++) {
            REMOTE_STORE(mapped(&stage[threadIdx.x], 1), t);  // expect stored_again_before_it_was_read: race in shared memory
            if (t == 0)
                REMOTE_ARRIVE(mapped(&full, 1));
        }
    else {
        CLUSTER_MBARRIER_WAIT(&full, 0);
        out[threadIdx.x] = stage[threadIdx.x];  // expect stored_again_before_it_was_read: race in shared memory
    }
    CLUSTER_SYNC();
}

__global__ void plain_beside_atomics(const float *in, float *out)
{
    __shared__ int sum;
    auto cluster = cg::this_cluster();
    if (threadIdx.x == 0)
        sum = 0;
    cluster.sync();
    atomicAdd(cluster.map_shared_rank(&sum, 0), 1);  // expect plain_beside_atomics: race in shared memory
    if (cluster.block_rank() == 0 && threadIdx.x == 0)
        out[0] = sum;  // expect plain_beside_atomics: race in shared memory
    cluster.sync();
}

__global__ void atomics_of_a_block(const float *in, float *out)  // where other blocks add as well
{
    __shared__ int sum;
    auto cluster = cg::this_cluster();
    if (threadIdx.x == 0)
        sum = 0;
    cluster.sync();
    atomicAdd_block(cluster.map_shared_rank(&sum, 0), 1);  // expect atomics_of_a_block: race in shared memory
    cluster.sync();
    out[blockIdx.x] = sum;
}

__global__ void cleared_behind_the_barrier(const float *in, float *out)
{
    __shared__ int bins[32];
    auto cluster = cg::this_cluster();
    bins[threadIdx.x] = 0;
    cluster.sync();
    bins[threadIdx.x] = 100;  // expect cleared_behind_the_barrier: race in shared memory
    __syncthreads();
    atomicAdd(&cluster.map_shared_rank(bins, threadIdx.x % 2)[threadIdx.x], 1);  // expect cleared_behind_the_barrier: race in shared memory
    cluster.sync();
    out[blockIdx.x * 32 + threadIdx.x] = bins[threadIdx.x];
}

__global__ void in_global_memory(const float *in, float *out)  // a barrier of the block is none of the cluster
{
    unsigned rank = cluster_rank(), other = rank ^ 1;
    out[blockIdx.x * 32 + threadIdx.x] = rank;  // expect in_global_memory: race in global memory
    __syncthreads();
    out[64 + blockIdx.x * 32 + threadIdx.x] = out[other * 32 + threadIdx.x];  // expect in_global_memory: race in global memory
    CLUSTER_SYNC();
}

__global__ void async_store_beside_a_plain_one(const float *in, float *out)
{
    __shared__ unsigned got[32];
    __shared__ uint64_t bar;
    unsigned other = cluster_rank() ^ 1;
    CLUSTER_SET_UP(bar, 1);
    if (threadIdx.x == 0)
        MBARRIER_ARRIVE_EXPECT(&bar, 128);
    ST_ASYNC(mapped(&got[threadIdx.x], other), 5, mapped(&bar, other));  // expect async_store_beside_a_plain_one: race in shared memory
    got[threadIdx.x] = 0;                                                // expect async_store_beside_a_plain_one: race in shared memory
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * 32 + threadIdx.x] = got[threadIdx.x];
    CLUSTER_SYNC();
}

int main(int argc, char **argv)
{
#define KERNEL(NAME, BLOCKS, THREADS) {#NAME, NAME, BLOCKS, THREADS}
    const struct faulty kernels[] = {
        KERNEL(counted_without_atomics, 2, 32),
        KERNEL(all_to_the_first, 4, 32),
        KERNEL(wrong_rank, 4, 32),
        KERNEL(syncthreads_between_steps, 2, 32),
        KERNEL(halo_of_one_buffer, 2, 32),
        KERNEL(own_memory_at_once, 2, 32),
        KERNEL(only_the_sender_meets, 2, 64),
        KERNEL(behind_the_arrival, 2, 32),
        KERNEL(ahead_of_the_wait, 2, 32),
        KERNEL(relaxed_where_release_is_needed, 2, 32),
        KERNEL(init_fence_for_data, 2, 32),
        KERNEL(volatile_flag, 2, 32),
        KERNEL(relaxed_flag, 2, 32),
        KERNEL(fence_of_the_block, 2, 32),
        KERNEL(relaxed_arrival_at_an_mbarrier, 2, 32),
        KERNEL(one_lane_for_its_warp, 2, 32),
        KERNEL(arrives_before_it_stores, 2, 32),
        KERNEL(stored_again_before_it_was_read, 2, 32),
        KERNEL(plain_beside_atomics, 2, 32),
        KERNEL(atomics_of_a_block, 2, 32),
        KERNEL(cleared_behind_the_barrier, 2, 32),
        KERNEL(in_global_memory, 2, 32),
        KERNEL(async_store_beside_a_plain_one, 2, 32),
    };
    return run_named(argc, argv, kernels, sizeof kernels / sizeof *kernels);
}
