/* cooperative_groups::reduce over lanes of a warp, or a tile of several: every thread gets the result. */
#ifndef SIMT_COOPERATIVE_GROUPS_REDUCE_H
#define SIMT_COOPERATIVE_GROUPS_REDUCE_H

#include "scan.h"

namespace cooperative_groups
{

template <unsigned Size, class Parent, class T, class Op>
SIMT_MEMBER inline std::decay_t<T> reduce(const thread_block_tile<Size, Parent> &tile, T &&value, Op &&op)
{
    std::decay_t<T> all = value;
    if constexpr (Size > 32) { /* each warp for itself, then what they have found */
        all = reduce(tiled_partition<32>(this_thread_block()), value, op);
        tile.offer(all);
        tile.sync();
        all = tile.template taken<std::decay_t<T>>(0);
        for (unsigned warp = 1; warp < Size / 32; warp++)
            all = op(all, tile.template taken<std::decay_t<T>>(32 * warp));
        tile.sync();
    } else {
        for (unsigned by = Size / 2; by; by /= 2)
            all = op(all, tile.shfl_xor(all, by));
    }
    return all;
}

/* In CUDA's order: as a tile where the warp is whole, else as a scan, of which all get the last. */
template <class T, class Op>
SIMT_MEMBER inline std::decay_t<T> reduce(const coalesced_group &group, T &&value, Op &&op)
{
    if (group.num_threads() == 32)
        return reduce(tiled_partition<32>(this_thread_block()), value, op);
    return group.shfl(inclusive_scan(group, value, op), group.num_threads() - 1);
}

}  // namespace cooperative_groups
#endif
