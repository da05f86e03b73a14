/* The block as a group, and thread_group, which stands for any group whose kind is known only at run time. */
#ifndef SIMT_GROUPS_BLOCK_H
#define SIMT_GROUPS_BLOCK_H

#include "lanes.h"

namespace cooperative_groups
{

namespace details
{
template <unsigned Size> class tile_of_lanes;
}

/* Any group, by its kind. A grid that becomes one forgets its kind in NVIDIA's headers, so that it has no threads, and sync()
 * meets nobody: so it is here. */
class thread_group
{
protected:
    enum kind { OF_BLOCK, OF_LANES, OF_CLUSTER, OF_GRID } kind;
    unsigned mask;
    explicit thread_group(enum kind kind_, unsigned mask_ = 0) : kind(kind_), mask(mask_) {}
    friend thread_group tiled_partition(const thread_group &parent, unsigned size);
    template <unsigned Size> friend class details::tile_of_lanes;

public:
    SIMT_MEMBER void sync() const
    {
        if (kind == OF_BLOCK)
            __barrier_sync(0);
        else if (kind == OF_LANES)
            __syncwarp(mask);
        else if (kind == OF_CLUSTER)
            simt::meet_in_cluster();
    }
    SIMT_MEMBER unsigned long long num_threads() const
    {
        if (kind == OF_LANES)
            return (unsigned)__popc(mask);
        if (kind == OF_CLUSTER)
            return simt::cluster_threads();
        return kind == OF_BLOCK ? simt::block_threads() : 0;
    }
    SIMT_MEMBER unsigned long long thread_rank() const
    {
        if (kind == OF_LANES)
            return (unsigned)__popc(mask & simt::lanes_below());
        if (kind == OF_CLUSTER)
            return simt::rank_in_cluster();
        return kind == OF_BLOCK ? simt::rank_in_block() : 0;
    }
    SIMT_MEMBER unsigned long long size() const { return num_threads(); }
};

class thread_block : public thread_group
{
    thread_block() : thread_group(OF_BLOCK) {}
    friend thread_block this_thread_block();

public:
    struct arrival_token {
    };
    SIMT_MEMBER static arrival_token barrier_arrive()
    {
        simt_barrier_arrive();
        return {};
    }
    SIMT_MEMBER static void barrier_wait(arrival_token &&) { simt_barrier_wait(); }
    SIMT_MEMBER static void sync() { __barrier_sync(0); }
    SIMT_MEMBER static unsigned thread_rank() { return simt::rank_in_block(); }
    SIMT_MEMBER static unsigned num_threads() { return simt::block_threads(); }
    SIMT_MEMBER static unsigned size() { return simt::block_threads(); }
    SIMT_MEMBER static dim3 group_index() { return blockIdx; }
    SIMT_MEMBER static dim3 thread_index() { return threadIdx; }
    SIMT_MEMBER static dim3 group_dim() { return blockDim; }
    SIMT_MEMBER static dim3 dim_threads() { return blockDim; }
};
SIMT_MEMBER inline thread_block this_thread_block() { return thread_block(); }

/* What groups of several warps need on a GPU; here the runtime has it. */
template <unsigned Threads = 1024> struct alignas(8) block_tile_memory {
    char bytes[Threads / 32 * 8];
};
template <unsigned Threads> SIMT_MEMBER inline thread_block this_thread_block(block_tile_memory<Threads> &)
{
    return this_thread_block();
}

}  // namespace cooperative_groups
#endif
