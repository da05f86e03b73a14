// Clusters of several blocks, which the kernel or its launch asks for: which block is which, and blocks that meet by
// barrier.cluster.
#include "right.h"

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

__device__ void say(int *out, bool right)
{
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    out[block * blockDim.x + threadIdx.x] = right;
}

__global__ void __cluster_dims__(2, 3, 1) by_kernel(int *out) { say(out, is_in_place(2, 3, 1)); }
__global__ void by_launch(int *out, dim3 cluster) { say(out, is_in_place(cluster.x, cluster.y, cluster.z)); }

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
    return 0;
}
