/* What some lanes of a warp do together: the ground on which tiles and coalesced groups stand. Everything is inlined, so
 * that a report names the line that called the group. */
#ifndef SIMT_GROUPS_LANES_H
#define SIMT_GROUPS_LANES_H

#include "../../cuda_runtime.h"

#define SIMT_MEMBER __attribute__((always_inline))

namespace simt
{

SIMT_INLINE unsigned block_threads() { return blockDim.x * blockDim.y * blockDim.z; }
SIMT_INLINE unsigned rank_in_block() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
SIMT_INLINE unsigned long long rank_of_block()
{
    return blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
}
SIMT_INLINE unsigned cluster_threads() { return __clusterSizeInBlocks() * block_threads(); }
SIMT_INLINE unsigned rank_in_cluster() { return __clusterRelativeBlockRank() * block_threads() + rank_in_block(); }
SIMT_INLINE void meet_in_cluster()
{
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
}
SIMT_INLINE unsigned lane() { return rank_in_block() % 32; }
SIMT_INLINE unsigned lanes_below() { return (1u << lane()) - 1; }

/* `count` lanes from that one on. */
SIMT_INLINE unsigned lanes_from(unsigned first, unsigned count)
{
    return (count >= 32 ? 0xffffffffu : (1u << count) - 1) << first;
}

/* The lane of rank `rank` among those of the mask; -1: there are not so many. */
SIMT_INLINE int lane_of_rank(unsigned mask, unsigned rank)
{
    while (rank-- && mask)
        mask &= mask - 1;
    return __ffs((int)mask) - 1;
}

/* A value of up to 32 bytes, word by word. */
template <class T> SIMT_INLINE T shuffle_any(simt_shuffle how, unsigned mask, const T &value, int by, int width)
{
    static_assert(std::is_trivially_destructible<T>::value && sizeof(T) <= 32,
                  "a group's shuffle moves a trivially copyable value of at most 32 bytes");
    unsigned long long words[(sizeof(T) + 7) / 8] = {};
    __builtin_memcpy((void *)words, (const void *)__builtin_addressof(value), sizeof(T));
    simt_shuffle form = simt_shuffle(how | (sizeof(T) > 4 ? SIMT_SHUFFLE_WIDE : 0));
    for (unsigned long long &word : words)
        word = simt_warp_shuffle(form, mask, word, by, width);
    T result;
    __builtin_memcpy((void *)__builtin_addressof(result), (const void *)words, sizeof(T));
    return result;
}

}  // namespace simt
#endif
