// The group of a cluster.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void rank(unsigned *out)
{
    *out = cg::this_cluster().block_rank();  // expect: this_cluster
}

int main(void)
{
    unsigned *out;
    cudaMalloc(&out, sizeof *out);
    rank<<<1, 1>>>(out);
    return cudaDeviceSynchronize();
}
