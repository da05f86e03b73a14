/* Cooperative groups (CUDA C++ Programming Guide): the block, tiles of a warp, and the threads that are together now.
 * Grids and clusters as groups are not offered. */
#ifndef SIMT_COOPERATIVE_GROUPS_H
#define SIMT_COOPERATIVE_GROUPS_H

#include "cuda_runtime.h"

namespace cooperative_groups
{

class thread_block
{
public:
    void sync() const { __syncthreads(); }
    unsigned thread_rank() const { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
    unsigned num_threads() const { return blockDim.x * blockDim.y * blockDim.z; }
    unsigned size() const { return num_threads(); }
    dim3 group_index() const { return blockIdx; }
    dim3 thread_index() const { return threadIdx; }
    dim3 group_dim() const { return blockDim; }
    dim3 dim_threads() const { return blockDim; }
};
SIMT_INLINE thread_block this_thread_block() { return thread_block(); }

/* `Size` neighbouring threads of a warp. */
template <unsigned Size, class Parent = void> class thread_block_tile
{
    static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");

public:
    thread_block_tile() = default;
    template <class Other> thread_block_tile(const thread_block_tile<Size, Other> &) {
    } /* who was parted does not matter */
    static unsigned mask()
    {
        unsigned lane = this_thread_block().thread_rank() % 32;
        return Size == 32 ? 0xffffffffu : ((1u << (Size % 32)) - 1) << (lane & ~(Size - 1));
    }
    __attribute__((always_inline)) void sync() const { __syncwarp(mask()); }
    static unsigned thread_rank() { return this_thread_block().thread_rank() % Size; }
    static constexpr unsigned num_threads() { return Size; }
    static constexpr unsigned size() { return Size; }
    static unsigned meta_group_rank() { return this_thread_block().thread_rank() / Size; }
    static unsigned meta_group_size() { return (this_thread_block().num_threads() + Size - 1) / Size; }
    template <class T> __attribute__((always_inline)) T shfl(T v, int lane) const
    {
        return __shfl_sync(mask(), v, lane, Size);
    }
    template <class T> __attribute__((always_inline)) T shfl_up(T v, unsigned by) const
    {
        return __shfl_up_sync(mask(), v, by, Size);
    }
    template <class T> __attribute__((always_inline)) T shfl_down(T v, unsigned by) const
    {
        return __shfl_down_sync(mask(), v, by, Size);
    }
    template <class T> __attribute__((always_inline)) T shfl_xor(T v, unsigned by) const
    {
        return __shfl_xor_sync(mask(), v, (int)by, Size);
    }
    __attribute__((always_inline)) int any(int predicate) const { return __any_sync(mask(), predicate); }
    __attribute__((always_inline)) int all(int predicate) const { return __all_sync(mask(), predicate); }
    __attribute__((always_inline)) unsigned ballot(int predicate) const
    {
        return (__ballot_sync(mask(), predicate) & mask()) >> __builtin_ctz(mask());
    }
};
template <unsigned Size, class Parent> SIMT_INLINE thread_block_tile<Size, Parent> tiled_partition(const Parent &)
{
    return thread_block_tile<Size, Parent>();
}

/* The threads of the warp that are here together. */
class coalesced_group
{
    unsigned lanes;

public:
    explicit coalesced_group(unsigned mask) : lanes(mask) {}
    __attribute__((always_inline)) void sync() const { __syncwarp(lanes); }
    unsigned num_threads() const { return (unsigned)__popc(lanes); }
    unsigned size() const { return num_threads(); }
    unsigned thread_rank() const
    {
        return (unsigned)__popc(lanes & ((1u << this_thread_block().thread_rank() % 32) - 1));
    }
    __attribute__((always_inline)) int any(int predicate) const { return __any_sync(lanes, predicate); }
    __attribute__((always_inline)) int all(int predicate) const { return __all_sync(lanes, predicate); }
    template <class T> __attribute__((always_inline)) T shfl(T v, unsigned rank) const
    {
        unsigned rest = lanes;
        while (rank--)
            rest &= rest - 1;
        return __shfl_sync(lanes, v, __ffs((int)rest) - 1);
    }
};
SIMT_INLINE coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

template <class Group> SIMT_INLINE void sync(const Group &group) { group.sync(); }

}  // namespace cooperative_groups
#endif
