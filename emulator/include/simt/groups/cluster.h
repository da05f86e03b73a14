/* The blocks of a cluster as a group. */
#ifndef SIMT_GROUPS_CLUSTER_H
#define SIMT_GROUPS_CLUSTER_H

#include "block.h"

namespace cooperative_groups
{

class cluster_group : public thread_group
{
    cluster_group() : thread_group(OF_CLUSTER) {}
    friend cluster_group this_cluster();

public:
    struct arrival_token {
    };
    SIMT_MEMBER static void sync() { simt::meet_in_cluster(); }
    SIMT_MEMBER static arrival_token barrier_arrive()
    {
        __cluster_barrier_arrive();
        return {};
    }
    SIMT_MEMBER static void barrier_wait() { __cluster_barrier_wait(); }
    SIMT_MEMBER static void barrier_wait(arrival_token &&) { __cluster_barrier_wait(); }
    SIMT_MEMBER static unsigned query_shared_rank(const void *address) { return __cluster_query_shared_rank(address); }
    template <class T> SIMT_MEMBER static T *map_shared_rank(T *address, int rank)
    {
        return static_cast<T *>(__cluster_map_shared_rank(address, (unsigned)rank));
    }
    SIMT_MEMBER static dim3 block_index() { return __clusterRelativeBlockIdx(); }
    SIMT_MEMBER static unsigned block_rank() { return __clusterRelativeBlockRank(); }
    SIMT_MEMBER static dim3 dim_blocks() { return __clusterDim(); }
    SIMT_MEMBER static unsigned num_blocks() { return __clusterSizeInBlocks(); }
    SIMT_MEMBER static dim3 thread_index()
    {
        dim3 block = block_index();
        return dim3(block.x * blockDim.x + threadIdx.x, block.y * blockDim.y + threadIdx.y,
                    block.z * blockDim.z + threadIdx.z);
    }
    SIMT_MEMBER static unsigned thread_rank() { return simt::rank_in_cluster(); }
    SIMT_MEMBER static dim3 dim_threads()
    {
        dim3 blocks = dim_blocks();
        return dim3(blocks.x * blockDim.x, blocks.y * blockDim.y, blocks.z * blockDim.z);
    }
    SIMT_MEMBER static unsigned num_threads() { return simt::cluster_threads(); }
    SIMT_MEMBER static unsigned size() { return num_threads(); }
};
SIMT_MEMBER inline cluster_group this_cluster() { return cluster_group(); }

}  // namespace cooperative_groups
#endif
