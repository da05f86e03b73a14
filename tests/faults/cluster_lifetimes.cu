// Shared memory of a block of the cluster before that block is known to have begun, and when it may have left. The first argument picks
// the kernel; a comment `expect NAME: KIND` marks a line that the report on it must name. tests/right/cluster_*.cu have the right ways.

#include <cooperative_groups.h>
#include "cluster_kernels.h"

namespace cg = cooperative_groups;

enum { TILE = 64,
       BYTES = TILE * 4 };

// ---- no barrier of the cluster before the first access ----

__global__ void load_at_once(const float *in, float *out)
{
    __shared__ float sum;
    auto cluster = cg::this_cluster();
    if (threadIdx.x == 0)
        sum = in[blockIdx.x];  // expect load_at_once: race in shared memory
    __syncthreads();
    if (cluster.block_rank() == 0)
        out[threadIdx.x] = *cluster.map_shared_rank(&sum, 1);  // expect load_at_once: race in shared memory
    cluster.sync();
}

__global__ void store_at_once(const float *in, float *out)
{
    __shared__ unsigned got[64];
    unsigned rank = cluster_rank(), other = rank ^ 1;
    REMOTE_STORE(mapped(&got[threadIdx.x], other), rank);  // expect store_at_once: block has not begun
    CLUSTER_SYNC();
    out[blockIdx.x * 64 + threadIdx.x] = got[63 - threadIdx.x];
}

__global__ void histogram_without_its_first_barrier(const float *in, float *out)
{
    __shared__ int bins[16];
    auto cluster = cg::this_cluster();
    if (threadIdx.x < 16)
        bins[threadIdx.x] = 0;  // expect histogram_without_its_first_barrier: race in shared memory
    __syncthreads();
    int bin = (int)in[blockIdx.x * 64 + threadIdx.x] * 7 % 64;
    atomicAdd(cluster.map_shared_rank(bins, bin / 16) + bin % 16, 1);  // expect histogram_without_its_first_barrier: race in shared memory
    cluster.sync();
    if (threadIdx.x < 16)
        out[blockIdx.x * 16 + threadIdx.x] = bins[threadIdx.x];
}

__global__ void between_arrival_and_wait(const float *in, float *out)
{
    __shared__ unsigned got[64];
    unsigned next = (cluster_rank() + 1) % cluster_size();
    CLUSTER_ARRIVE();
    REMOTE_STORE(mapped(&got[threadIdx.x], next), threadIdx.x);  // expect between_arrival_and_wait: block has not begun
    CLUSTER_WAIT();
    CLUSTER_SYNC();
    out[blockIdx.x * 64 + threadIdx.x] = got[63 - threadIdx.x];
}

__global__ void added_at_once(const float *in, float *out)
{
    __shared__ unsigned sum;
    if (threadIdx.x == 0)
        sum = 0;  // expect added_at_once: race in shared memory
    __syncthreads();
    REMOTE_ADD(mapped(&sum, 3), 1);  // expect added_at_once: race in shared memory
    CLUSTER_SYNC();
    if (threadIdx.x == 0)
        out[blockIdx.x] = sum;
}

__global__ void multicast_at_once(const float *in, float *out)  // the barriers' initialisation is for the own block
{
    __shared__ alignas(128) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);  // expect multicast_at_once: mbarrier not visible
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        if (cluster_rank() == 0)
            BULK_MULTICAST(tile, in, BYTES, &bar, 3);  // expect multicast_at_once: mbarrier not visible
    }
    MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * TILE + threadIdx.x] = tile[threadIdx.x];
    CLUSTER_SYNC();
}

__global__ void sent_at_once(const float *in, float *out)
{
    __shared__ alignas(128) unsigned got[TILE];
    __shared__ uint64_t bar;
    unsigned other = cluster_rank() ^ 1;
    SET_UP(bar, 1);  // expect sent_at_once: mbarrier not visible
    if (threadIdx.x == 0)
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
    ST_ASYNC(mapped(&got[threadIdx.x], other), threadIdx.x, mapped(&bar, other));  // expect sent_at_once: mbarrier not visible
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * TILE + threadIdx.x] = got[threadIdx.x];
    CLUSTER_SYNC();
}

__global__ void copied_at_once(const float *in, float *out)
{
    __shared__ alignas(128) float from[TILE], to[TILE];
    __shared__ uint64_t bar;
    unsigned other = cluster_rank() ^ 1;
    from[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    SET_UP(bar, 1);  // expect copied_at_once: mbarrier not visible
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_SEND(mapped(to, other), from, BYTES, mapped(&bar, other));  // expect copied_at_once: mbarrier not visible
    }
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * TILE + threadIdx.x] = to[threadIdx.x];
    CLUSTER_SYNC();
}

// Two blocks of four know of each other by a flag in global memory, and the first looks into a third one, too.
__global__ void one_block_too_far(const float *in, float *out)
{
    __shared__ unsigned own;
    unsigned rank = cluster_rank(), x, y;
    if (threadIdx.x == 0) {
        own = rank;  // expect one_block_too_far: race in shared memory
        if (rank == 1)
            asm volatile("st.release.cluster.global.u32 [%0], 1;" ::"l"(out + 64) : "memory");
    }
    if (rank == 0) {
        for (unsigned seen = 0; !seen;)
            asm volatile("ld.acquire.cluster.global.u32 %0, [%1];" : "=r"(seen) : "l"(out + 64) : "memory");
        REMOTE_LOAD(x, mapped(&own, 1));
        REMOTE_LOAD(y, mapped(&own, 2));  // expect one_block_too_far: race in shared memory
        out[threadIdx.x] = x + y;
    }
    CLUSTER_SYNC();
}

__global__ void stored_too_far(const float *in, float *out)  // the first block knows of the second, and not of the others
{
    __shared__ unsigned got[4];
    unsigned rank = cluster_rank();
    if (rank == 1 && threadIdx.x == 0)
        asm volatile("st.release.cluster.global.u32 [%0], 1;" ::"l"(out + 64) : "memory");
    if (rank == 0) {
        for (unsigned seen = 0; !seen;)
            asm volatile("ld.acquire.cluster.global.u32 %0, [%1];" : "=r"(seen) : "l"(out + 64) : "memory");
        if (threadIdx.x == 1)
            REMOTE_STORE(mapped(&got[1], 1), 5);
        if (threadIdx.x > 1 && threadIdx.x < 4)
            REMOTE_STORE(mapped(&got[threadIdx.x], threadIdx.x), 5);  // expect stored_too_far: block has not begun
    }
    CLUSTER_SYNC();
    if (rank > 0)
        out[rank] = got[rank];
}

// ---- none behind the last ----

__global__ void pulled_without_a_last_barrier(const float *in, float *out)
{
    __shared__ float sum;
    auto cluster = cg::this_cluster();
    if (threadIdx.x == 0)
        sum = in[blockIdx.x];
    cluster.sync();  // perhaps pulled_without_a_last_barrier: block has left
    if (cluster.block_rank() == 0 && threadIdx.x == 0) {
        float all = 0;
        for (unsigned i = 0; i < cluster.num_blocks(); i++)
            all += *cluster.map_shared_rank(&sum, i);  // expect pulled_without_a_last_barrier: block has left
        out[0] = all;
    }
}  // perhaps pulled_without_a_last_barrier: block has left

__global__ void syncthreads_for_the_last(const float *in, float *out)
{
    __shared__ float row[64];
    auto cluster = cg::this_cluster();
    row[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
    cluster.sync();                                                                                            // perhaps syncthreads_for_the_last: block has left
    out[blockIdx.x * 64 + threadIdx.x] = cluster.map_shared_rank(row, cluster.block_rank() ^ 1)[threadIdx.x];  // expect syncthreads_for_the_last: block has left
    __syncthreads();                                                                                           // perhaps syncthreads_for_the_last: block has left
}  // perhaps syncthreads_for_the_last: block has left

__global__ void returns_early(const float *in, float *out)  // blocks without data of their own, whose shared memory others still read
{
    __shared__ float own;
    auto cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank();
    if (threadIdx.x == 0)
        own = rank;
    cluster.sync();  // perhaps returns_early: block has left
    if (rank == 3)
        return;                                          // perhaps returns_early: block has left
    float x = *cluster.map_shared_rank(&own, rank + 1);  // expect returns_early: block has left
    cluster.sync();
    out[blockIdx.x * 32 + threadIdx.x] = x;
}

__global__ void arrives_and_leaves(const float *in, float *out)  // without waiting for those that look into its shared memory
{
    __shared__ float own[32];
    auto cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank();
    own[threadIdx.x] = in[threadIdx.x];
    cluster.barrier_arrive();  // perhaps arrives_and_leaves: block has left
    if (rank == 1)
        return;  // perhaps arrives_and_leaves: block has left
    cluster.barrier_wait();
    out[threadIdx.x] = cluster.map_shared_rank(own, 1)[threadIdx.x];  // expect arrives_and_leaves: block has left
}

__global__ void last_release_of_a_ring(const float *in, float *out)  // at a barrier of the block that sent, and has sent everything
{
    __shared__ unsigned stage[2][32];
    __shared__ uint64_t full[2], empty[2];
    unsigned rank = cluster_rank(), other = rank ^ 1;
    CLUSTER_SET_UP(full, 32);
    CLUSTER_SET_UP(empty, 32);  // perhaps last_release_of_a_ring: block has left
    for (int t = 0; t < 6; t++)
        if (rank == 0) {
            CLUSTER_MBARRIER_WAIT(&empty[t % 2], (t / 2 + 1) % 2);  // perhaps last_release_of_a_ring: block has left
            REMOTE_STORE(mapped(&stage[t % 2][threadIdx.x], other), t);
            REMOTE_ARRIVE(mapped(&full[t % 2], other));
        } else {
            CLUSTER_MBARRIER_WAIT(&full[t % 2], t / 2 % 2);
            out[threadIdx.x] += stage[t % 2][31 - threadIdx.x];
            REMOTE_ARRIVE(mapped(&empty[t % 2], other));  // expect last_release_of_a_ring: block has left
        }
}  // perhaps last_release_of_a_ring: block has left

__global__ void stored_behind_the_last_barrier(const float *in, float *out)
{
    __shared__ unsigned done;
    unsigned rank = cluster_rank();
    if (threadIdx.x == 0)
        done = 0;
    CLUSTER_SYNC();  // perhaps stored_behind_the_last_barrier: block has left
    out[blockIdx.x * 32 + threadIdx.x] = rank;
    if (rank == 1 && threadIdx.x == 0)
        REMOTE_STORE(mapped(&done, 0), 1);  // expect stored_behind_the_last_barrier: block has left
}  // perhaps stored_behind_the_last_barrier: block has left

__global__ void counted_behind_the_last_barrier(const float *in, float *out)
{
    __shared__ int arrived;
    auto cluster = cg::this_cluster();
    if (threadIdx.x == 0)
        arrived = 0;
    cluster.sync();                                      // perhaps counted_behind_the_last_barrier: block has left
    atomicAdd(cluster.map_shared_rank(&arrived, 0), 1);  // expect counted_behind_the_last_barrier: block has left
    out[blockIdx.x * 32 + threadIdx.x] = 1;
}  // perhaps counted_behind_the_last_barrier: block has left

__global__ void sent_and_not_waited_for(const float *in, float *out)  // by the block that it is sent to
{
    __shared__ unsigned got[32];
    __shared__ uint64_t bar;
    unsigned rank = cluster_rank();
    CLUSTER_SET_UP(bar, 1);  // perhaps sent_and_not_waited_for: block has left
    if (rank == 0)
        ST_ASYNC(mapped(&got[threadIdx.x], 1), threadIdx.x, mapped(&bar, 1));  // expect sent_and_not_waited_for: block has left
    else if (threadIdx.x == 0)
        MBARRIER_ARRIVE_EXPECT(&bar, 128);
    out[blockIdx.x * 32 + threadIdx.x] = 1;
}  // perhaps sent_and_not_waited_for: block has left

__global__ void multicast_to_one_that_does_not_wait(const float *in, float *out)
{
    __shared__ alignas(128) float tile[TILE];
    __shared__ uint64_t bar;
    unsigned rank = cluster_rank();
    CLUSTER_SET_UP(bar, 1);  // perhaps multicast_to_one_that_does_not_wait: block has left
    if (rank == 0 && threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_MULTICAST(tile, in, BYTES, &bar, 3);  // expect multicast_to_one_that_does_not_wait: block has left
    }
    if (rank == 1)
        return;
    MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}  // perhaps multicast_to_one_that_does_not_wait: block has left

__global__ void copied_to_one_that_does_not_wait(const float *in, float *out)
{
    __shared__ alignas(128) float from[TILE], to[TILE];
    __shared__ uint64_t bar;
    from[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    CLUSTER_SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_SEND(mapped(to, cluster_rank() ^ 1), from, BYTES, mapped(&bar, cluster_rank() ^ 1));  // expect copied_to_one_that_does_not_wait: transfer unfinished
    }
    out[threadIdx.x] = from[threadIdx.x];
}

int main(int argc, char **argv)
{
#define KERNEL(NAME, BLOCKS, THREADS) {#NAME, NAME, BLOCKS, THREADS}
    const struct faulty kernels[] = {
        KERNEL(load_at_once, 2, 64),
        KERNEL(store_at_once, 2, 64),
        KERNEL(histogram_without_its_first_barrier, 4, 64),
        KERNEL(between_arrival_and_wait, 4, 64),
        KERNEL(added_at_once, 4, 64),
        KERNEL(multicast_at_once, 2, TILE),
        KERNEL(sent_at_once, 2, TILE),
        KERNEL(copied_at_once, 2, TILE),
        KERNEL(one_block_too_far, 4, 32),
        KERNEL(stored_too_far, 4, 32),
        KERNEL(pulled_without_a_last_barrier, 4, 32),
        KERNEL(syncthreads_for_the_last, 2, 64),
        KERNEL(returns_early, 4, 32),
        KERNEL(arrives_and_leaves, 2, 32),
        KERNEL(last_release_of_a_ring, 2, 32),
        KERNEL(stored_behind_the_last_barrier, 2, 32),
        KERNEL(counted_behind_the_last_barrier, 2, 32),
        KERNEL(sent_and_not_waited_for, 2, 32),
        KERNEL(multicast_to_one_that_does_not_wait, 2, TILE),
        KERNEL(copied_to_one_that_does_not_wait, 2, TILE),
    };
    return run_named(argc, argv, kernels, sizeof kernels / sizeof *kernels);
}
