// The barrier of a cluster in two halves, threads and warps that leave early, and what this_cluster() and the intrinsics say.

#include <cooperative_groups.h>
#include "../cluster.h"
#include "right.h"

namespace cg = cooperative_groups;

// Between arrival and wait each block does what concerns nobody else; what it stored before is there for all behind the wait.
__global__ void split(int *out, int rounds)
{
    __shared__ int sent[2][64], scratch[64];
    unsigned rank = cluster_rank(), size = cluster_size(), i = threadIdx.x;
    int sum = 0;
    CLUSTER_SYNC();
    for (int round = 0; round < rounds; round++) {
        REMOTE_STORE(mapped(&sent[round % 2][i], (rank + 1) % size), round * 1000 + rank);
        CLUSTER_ARRIVE();
        scratch[i] = i + round;
        __syncthreads();
        sum += scratch[63 - i];
        __syncthreads();
        CLUSTER_WAIT();
        sum += sent[round % 2][63 - i];
    }
    out[blockIdx.x * 64 + i] = sum;
}

// By the group's functions, and by those of two warps at different lines.
__global__ void split_by_groups(int *out)
{
    __shared__ int own[64];
    auto cluster = cg::this_cluster();
    unsigned other = cluster.num_blocks() - 1 - cluster.block_rank(), i = threadIdx.x;
    own[i] = cluster.thread_rank();
    auto token = cluster.barrier_arrive();
    int x = i * i;
    cluster.barrier_wait(static_cast<decltype(token) &&>(token));
    x += cluster.map_shared_rank(own, other)[i];
    if (i < 32) {
        cluster.barrier_arrive();
        cluster.barrier_wait();
    } else {
        __cluster_barrier_arrive();
        __cluster_barrier_wait();
    }
    out[blockIdx.x * 64 + i] = x;
}

// Barriers initialised by one thread are published by its fence, and the cluster's barrier itself need release nothing.
__global__ void relaxed_arrival(int *out)
{
    __shared__ uint64_t bar;
    __shared__ int got[32];
    unsigned rank = cluster_rank(), next = (rank + 1) % cluster_size(), i = threadIdx.x;
    if (i == 0) {
        MBARRIER_INIT(&bar, 32);
        FENCE_MBARRIER_INIT();
    }
    __syncthreads();
    CLUSTER_ARRIVE_RELAXED();
    int mine = i * 3 + rank;
    CLUSTER_WAIT();
    REMOTE_STORE(mapped(&got[i], next), mine);
    REMOTE_ARRIVE(mapped(&bar, next));
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * 32 + i] = got[31 - i];
    CLUSTER_SYNC();
}

// A barrier that releases nothing still says that all blocks have begun.
__global__ void begun(int *out)
{
    __shared__ int got[32];
    unsigned rank = cluster_rank(), next = (rank + 1) % cluster_size(), i = threadIdx.x;
    CLUSTER_ARRIVE_RELAXED();
    CLUSTER_WAIT();
    REMOTE_STORE(mapped(&got[i], next), rank + i);
    CLUSTER_SYNC();
    out[blockIdx.x * 32 + i] = got[31 - i];
}

// The barrier does not wait for those that have left; here the last warp of each block goes after the first half.
__global__ void some_leave(int *out)
{
    __shared__ int own[96];
    auto cluster = cg::this_cluster();
    unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks(), i = threadIdx.x;
    own[i] = i * 10 + cluster.block_rank();
    cluster.sync();
    if (i >= 64) {
        out[blockIdx.x * 96 + i] = cluster.map_shared_rank(own, next)[i];
        return;
    }
    int x = 0;
    for (int round = 0; round < 3; round++) {
        x += cluster.map_shared_rank(own, next)[i];
        cluster.sync();
    }
    out[blockIdx.x * 96 + i] = x;
}

// Blocks beyond the end of the data have nothing to do, but others look into their shared memory: they stay for the barriers.
__global__ void nothing_to_do(const int *in, int *out, int blocks_with_data)
{
    __shared__ int sum;
    auto cluster = cg::this_cluster();
    bool has_data = (int)blockIdx.x < blocks_with_data;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    if (has_data)
        atomicAdd(&sum, in[blockIdx.x * blockDim.x + threadIdx.x]);
    cluster.sync();
    int all = 0;
    if (has_data)
        for (unsigned rank = 0; rank < cluster.num_blocks(); rank++)
            all += *cluster.map_shared_rank(&sum, rank);
    cluster.sync();
    if (!has_data)
        return;
    out[blockIdx.x * blockDim.x + threadIdx.x] = all;
}

// Without `.aligned` lanes of a warp come one after the other.
__global__ void not_aligned(int *out)
{
    __shared__ int own;
    unsigned rank = cluster_rank(), other = cluster_size() - 1 - rank, i = threadIdx.x, x;
    if (i == 0) {
        own = 100 + rank;
        asm volatile("barrier.cluster.arrive;" ::: "memory");
    } else {
        asm volatile("barrier.cluster.arrive.release;" ::: "memory");
    }
    asm volatile("barrier.cluster.wait;" ::: "memory");
    REMOTE_LOAD(x, mapped(&own, other));
    CLUSTER_SYNC();
    out[blockIdx.x * 32 + i] = x;
}

// Ids, ranks and sizes, in three dimensions.
__global__ void __cluster_dims__(2, 3, 1) said(int *out)
{
    __shared__ int place;
    auto cluster = cg::this_cluster();
    auto grid = cg::this_grid();
    dim3 block = cluster.block_index(), dim = cluster.dim_blocks(), thread = cluster.thread_index(),
         threads = cluster.dim_threads();
    bool right = block.x == blockIdx.x % 2 && block.y == blockIdx.y % 3 && block.z == 0;
    right = right && dim.x == 2 && dim.y == 3 && dim.z == 1 && cluster.num_blocks() == 6;
    right = right && cluster.block_rank() == block.x + 2 * block.y && cluster.num_threads() == 6 * 32 &&
            cluster.size() == 6 * 32;
    right = right && cluster.thread_rank() == cluster.block_rank() * 32 + threadIdx.x + 8 * threadIdx.y;
    right = right && thread.x == block.x * 8 + threadIdx.x && thread.y == block.y * 4 + threadIdx.y && thread.z == 0;
    right = right && threads.x == 16 && threads.y == 12 && threads.z == 1;
    dim3 clusters = grid.dim_clusters(), index = grid.cluster_index();
    right = right && clusters.x == gridDim.x / 2 && clusters.y == gridDim.y / 3 && clusters.z == 2 &&
            grid.num_clusters() == clusters.x * clusters.y * 2;
    right = right && index.x == blockIdx.x / 2 && index.y == blockIdx.y / 3 && index.z == blockIdx.z;
    right = right && grid.cluster_rank() == index.x + clusters.x * (index.y + clusters.y * index.z);
    for (unsigned rank = 0; rank < 6; rank++)
        right = right && cluster.query_shared_rank(cluster.map_shared_rank(&place, rank)) == rank;
    right = right && cluster.map_shared_rank(&place, cluster.block_rank()) != NULL;

    dim3 id = __clusterRelativeBlockIdx(), size = __clusterDim(), of_grid = __clusterGridDimInClusters(),
         number = __clusterIdx();
    right = right && __clusterDimIsSpecified() && id.x == block.x && id.y == block.y && size.y == 3 &&
            __clusterSizeInBlocks() == 6;
    right = right && of_grid.y == clusters.y && number.z == index.z &&
            __clusterRelativeBlockRank() == cluster.block_rank();
    right = right && __cluster_query_shared_rank(__cluster_map_shared_rank(&place, 4)) == 4;
    unsigned x, explicit_cluster;
    asm volatile("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(x));
    asm volatile("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }" : "=r"(explicit_cluster));
    right = right && x == block.y && explicit_cluster == 1;
    int at = (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)) * 32 + threadIdx.x + 8 * threadIdx.y;
    out[at] = right;
}

// A grid without clusters is one of clusters of one block each.
__global__ void no_cluster(int *out)
{
    __shared__ int own[32];
    auto cluster = cg::this_cluster();
    own[threadIdx.x] = threadIdx.x;
    cluster.sync();
    bool right = cluster.num_blocks() == 1 && cluster.block_rank() == 0 && cluster.num_threads() == 32 &&
                 !__clusterDimIsSpecified();
    out[blockIdx.x * 32 + threadIdx.x] = right &&
                                         cluster.map_shared_rank(own, 0)[31 - threadIdx.x] == 31 - (int)threadIdx.x;
    cluster.sync();
}

int main(void)
{
    int *out = to_device<int>(NULL, 4096), *got;
    for (int size : {1, 2, 4, 8}) {
        CHECK(launch_clusters(size, 8, 64, 0, false, split, out, 5));
        got = to_host(out, 8 * 64);
        for (int i = 0; i < 8 * 64; i++) {
            int rank = i / 64 % size, before = (rank + size - 1) % size;
            SAME(got[i], 5 * (63 - i % 64) + 10 + 10 * 1000 + 5 * before);
        }
        CHECK(launch_clusters(size, 8, 64, 0, false, split_by_groups, out));
        got = to_host(out, 8 * 64);
        for (int i = 0; i < 8 * 64; i++)
            SAME(got[i], i % 64 * (i % 64) + (size - 1 - i / 64 % size) * 64 + i % 64);
        CHECK(launch_clusters(size, 8, 32, 0, false, relaxed_arrival, out));
        got = to_host(out, 8 * 32);
        for (int i = 0; i < 8 * 32; i++)
            SAME(got[i], (31 - i % 32) * 3 + (i / 32 % size + size - 1) % size);
        CHECK(launch_clusters(size, 8, 32, 0, false, begun, out));
        got = to_host(out, 8 * 32);
        for (int i = 0; i < 8 * 32; i++)
            SAME(got[i], 31 - i % 32 + (i / 32 % size + size - 1) % size);
        CHECK(launch_clusters(size, 8, 96, 0, false, some_leave, out));
        got = to_host(out, 8 * 96);
        for (int i = 0; i < 8 * 96; i++)
            SAME(got[i], (i % 96 < 64 ? 3 : 1) * (i % 96 * 10 + (i / 96 % size + 1) % size));
        CHECK(launch_clusters(size, 8, 32, 0, false, not_aligned, out));
        got = to_host(out, 8 * 32);
        for (int i = 0; i < 8 * 32; i++)
            SAME(got[i], 100 + size - 1 - i / 32 % size);
    }
    int ones[8 * 64];
    for (int i = 0; i < 8 * 64; i++)
        ones[i] = 1;
    int *in = to_device(ones, 8 * 64);
    CHECK(launch_clusters(4, 8, 64, 0, false, nothing_to_do, in, out, 5));
    got = to_host(out, 5 * 64);
    for (int i = 0; i < 5 * 64; i++)
        SAME(got[i], i / 64 < 4 ? 4 * 64 : 64);
    said<<<dim3(4, 3, 2), dim3(8, 4)>>>(out);
    got = to_host(out, 24 * 32);
    for (int i = 0; i < 24 * 32; i++)
        SAME(got[i], 1);
    no_cluster<<<3, 32>>>(out);
    got = to_host(out, 3 * 32);
    for (int i = 0; i < 3 * 32; i++)
        SAME(got[i], 1);
    return 0;
}
