/* The grid as a group. */
#ifndef SIMT_GROUPS_GRID_H
#define SIMT_GROUPS_GRID_H

#include "block.h"

namespace cooperative_groups
{

class grid_group : public thread_group
{
    grid_group() : thread_group(OF_GRID) {}
    friend grid_group this_grid();

public:
    using arrival_token = thread_block::arrival_token;
    SIMT_MEMBER static arrival_token barrier_arrive()
    {
        simt_grid_arrive();
        return {};
    }
    SIMT_MEMBER static void barrier_wait(arrival_token &&) { simt_grid_wait(); }
    SIMT_MEMBER static void sync() { simt_grid_sync(); }
    SIMT_MEMBER static bool is_valid() { return true; } /* in an ordinary launch, too: so a GPU has it */
    SIMT_MEMBER static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
    SIMT_MEMBER static unsigned long long num_threads() { return num_blocks() * simt::block_threads(); }
    SIMT_MEMBER static unsigned long long size() { return num_threads(); }
    SIMT_MEMBER static unsigned long long block_rank() { return simt::rank_of_block(); }
    SIMT_MEMBER static unsigned long long thread_rank()
    {
        return block_rank() * simt::block_threads() + simt::rank_in_block();
    }
    SIMT_MEMBER static dim3 dim_clusters() { return __clusterGridDimInClusters(); }
    SIMT_MEMBER static unsigned long long num_clusters()
    {
        dim3 clusters = dim_clusters();
        return (unsigned long long)clusters.x * clusters.y * clusters.z;
    }
    SIMT_MEMBER static dim3 cluster_index() { return __clusterIdx(); }
    SIMT_MEMBER static unsigned long long cluster_rank()
    {
        dim3 at = cluster_index(), clusters = dim_clusters();
        return ((unsigned long long)at.z * clusters.y + at.y) * clusters.x + at.x;
    }
    SIMT_MEMBER static dim3 block_index() { return blockIdx; }
    SIMT_MEMBER static dim3 dim_blocks() { return gridDim; }
    SIMT_MEMBER static dim3 group_dim() { return gridDim; }
    SIMT_MEMBER static dim3 thread_index()
    {
        return dim3(blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y,
                    blockIdx.z * blockDim.z + threadIdx.z);
    }
    SIMT_MEMBER static dim3 dim_threads()
    {
        return dim3(gridDim.x * blockDim.x, gridDim.y * blockDim.y, gridDim.z * blockDim.z);
    }
};
SIMT_MEMBER inline grid_group this_grid() { return grid_group(); }

}  // namespace cooperative_groups
#endif
