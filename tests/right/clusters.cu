// Clusters of several blocks, which the kernel or its launch asks for: which block is which, by special registers,
// intrinsics and this_cluster(), and how the group meets.
#include "right.h"
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

#define READ(NAME) \
    ([] { \
        unsigned value; \
        asm volatile("mov.u32 %0, %%" NAME ";" : "=r"(value)); \
        return value; \
    }())

// Blocks tile the grid by clusters, and both count x before y before z.
__device__ bool is_in_place(unsigned x, unsigned y, unsigned z)
{
    unsigned rank_x = blockIdx.x % x, rank_y = blockIdx.y % y, rank_z = blockIdx.z % z;
    bool right = READ("cluster_nctaid.x") == x && READ("cluster_nctaid.y") == y && READ("cluster_nctaid.z") == z;
    right = right && READ("cluster_ctaid.x") == rank_x && READ("cluster_ctaid.y") == rank_y;
    right = right && READ("cluster_ctaid.z") == rank_z && READ("cluster_nctarank") == x * y * z;
    right = right && READ("cluster_ctarank") == rank_x + x * (rank_y + y * rank_z);
    right = right && READ("clusterid.x") == blockIdx.x / x && READ("clusterid.y") == blockIdx.y / y;
    right = right && READ("clusterid.z") == blockIdx.z / z && READ("nclusterid.x") == gridDim.x / x;
    right = right && READ("nclusterid.y") == gridDim.y / y && READ("nclusterid.z") == gridDim.z / z;
    return right;
}

__device__ bool same(dim3 a, dim3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

__device__ bool is_a_group(unsigned x, unsigned y, unsigned z)
{
    cg::cluster_group cluster = cg::this_cluster();
    cg::grid_group grid = cg::this_grid();
    dim3 at(blockIdx.x % x, blockIdx.y % y, blockIdx.z % z), index(blockIdx.x / x, blockIdx.y / y, blockIdx.z / z);
    dim3 clusters(gridDim.x / x, gridDim.y / y, gridDim.z / z);
    unsigned rank = at.x + x * (at.y + y * at.z), thread = rank * blockDim.x + threadIdx.x;
    bool right = same(cluster.block_index(), at) && same(cluster.dim_blocks(), dim3(x, y, z));
    right = right && cluster.block_rank() == rank && cluster.num_blocks() == x * y * z;
    right = right && same(cluster.thread_index(), dim3(at.x * blockDim.x + threadIdx.x, at.y, at.z));
    right = right && same(cluster.dim_threads(), dim3(x * blockDim.x, y, z)) && cluster.thread_rank() == thread;
    right = right && cluster.num_threads() == x * y * z * blockDim.x && cluster.size() == cluster.num_threads();
    right = right && same(grid.dim_clusters(), clusters) && same(grid.cluster_index(), index);
    right = right && grid.num_clusters() == clusters.x * clusters.y * clusters.z;
    right = right && grid.cluster_rank() == index.x + clusters.x * (index.y + clusters.y * index.z);
    right = right && same(__clusterDim(), dim3(x, y, z)) && same(__clusterIdx(), index) &&
            __clusterSizeInBlocks() == x * y * z;
    right = right && same(__clusterRelativeBlockIdx(), at) && same(__clusterGridDimInClusters(), clusters);
    right = right && __clusterRelativeBlockRank() == rank && __clusterDimIsSpecified();
    cg::thread_group any = cluster;
    return right && any.size() == cluster.size() && any.thread_rank() == thread;
}

// %is_explicit_cluster, a predicate
__device__ bool is_explicit()
{
    unsigned value;
    asm volatile("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }" : "=r"(value));
    return value;
}

__global__ void unspecified(int *out)
{
    cg::cluster_group cluster = cg::this_cluster();
    out[threadIdx.x] = !__clusterDimIsSpecified() && !is_explicit() && cluster.num_blocks() == 1 &&
                       cluster.thread_rank() == threadIdx.x;
}

// Each block adds to what all have written so far, in turn.
__global__ void __cluster_dims__(4) meet(int *sums, int *out)
{
    cg::cluster_group cluster = cg::this_cluster();
    cg::thread_group any = cluster;
    for (unsigned turn = 0; turn < 4; turn++) {
        if (cluster.block_rank() == turn)
            sums[threadIdx.x] += turn + threadIdx.x;
        cluster.sync();
        out[blockIdx.x * blockDim.x + threadIdx.x] = sums[(threadIdx.x + 1) % blockDim.x];
        auto token = cluster.barrier_arrive();
        cluster.barrier_wait(static_cast<decltype(token) &&>(token));
    }
    if (cluster.block_rank() == 3)
        sums[threadIdx.x] = -1;
    any.sync();
    out[blockIdx.x * blockDim.x + threadIdx.x] += sums[0];
    cluster.barrier_arrive();
    cluster.barrier_wait();
}

__device__ void say(int *out, bool right)
{
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    out[block * blockDim.x + threadIdx.x] = right;
}

__global__ void __cluster_dims__(2, 3, 1) by_kernel(int *out)
{
    say(out, is_explicit() && is_in_place(2, 3, 1) && is_a_group(2, 3, 1));
}
__global__ void by_launch(int *out, dim3 cluster)
{
    say(out, is_in_place(cluster.x, cluster.y, cluster.z) && is_a_group(cluster.x, cluster.y, cluster.z));
}

static void launch(dim3 grid, dim3 cluster, int *out)
{
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = cluster.x;
    attribute.val.clusterDim.y = cluster.y;
    attribute.val.clusterDim.z = cluster.z;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = 40;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, by_launch, out, cluster));
}

static void all_right(int *out, int n)
{
    int *r = to_host(out, n);
    for (int i = 0; i < n; i++)
        SAME(r[i], 1);
    CHECK(cudaMemset(out, 0, n * sizeof(int)));
}

int main()
{
    const int BLOCKS = 48, N = 40 * BLOCKS;
    int *out = to_device<int>(NULL, N);
    by_kernel<<<dim3(4, 6, 2), 40>>>(out);
    all_right(out, N);
    launch(dim3(4, 6, 2), dim3(2, 2, 2), out);
    all_right(out, N);
    launch(dim3(6, 2, 4), dim3(1, 2, 4), out);
    all_right(out, N);
    launch(dim3(48), dim3(8), out);
    all_right(out, N);
    CHECK(cudaFuncSetAttribute(by_launch, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    launch(dim3(48), dim3(16), out);
    all_right(out, N);
    unspecified<<<1, 40>>>(out);
    all_right(out, 40);
    int *sums = to_device<int>(NULL, 40);
    CHECK(cudaMemset(sums, 0, 40 * sizeof(int)));
    meet<<<4, 40>>>(sums, out);
    int *r = to_host(out, 160);
    for (int i = 0; i < 160; i++)
        SAME(r[i], 6 + 4 * ((i + 1) % 40) - 1);
    return 0;
}
