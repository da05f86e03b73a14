/* The block as a group, and thread_group, which stands for any group whose kind is known only at run time. */
#ifndef SIMT_GROUPS_BLOCK_H
#define SIMT_GROUPS_BLOCK_H

#include "lanes.h"

namespace cooperative_groups
{

class thread_group
{
protected:
    enum kind { OF_BLOCK, OF_LANES, OF_GRID } kind;
    unsigned mask;
    explicit thread_group(enum kind kind_, unsigned mask_ = 0) : kind(kind_), mask(mask_) {}
    friend thread_group tiled_partition(const thread_group &parent, unsigned size);
    template <unsigned Size, class Parent> friend class thread_block_tile;

public:
    SIMT_MEMBER void sync() const
    {
        if (kind == OF_BLOCK)
            __barrier_sync(0);
        else if (kind == OF_LANES)
            __syncwarp(mask);
        else
            simt_grid_sync();
    }
    SIMT_MEMBER unsigned long long num_threads() const
    {
        if (kind == OF_LANES)
            return (unsigned)__popc(mask);
        return simt::block_threads() *
               (kind == OF_BLOCK ? 1ull : (unsigned long long)gridDim.x * gridDim.y * gridDim.z);
    }
    SIMT_MEMBER unsigned long long thread_rank() const
    {
        if (kind == OF_LANES)
            return (unsigned)__popc(mask & simt::lanes_below());
        if (kind == OF_BLOCK)
            return simt::rank_in_block();
        return simt::block_threads() * simt::rank_of_block() + simt::rank_in_block();
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

}  // namespace cooperative_groups
#endif
