/* Coalesced groups: any lanes of a warp. They are the threads that are here together, or a part of another group that a
 * value decides on. Ranks count the lanes upwards. */
#ifndef SIMT_GROUPS_COALESCED_H
#define SIMT_GROUPS_COALESCED_H

#include "tile.h"

namespace cooperative_groups
{

class coalesced_group : public thread_group
{
    unsigned number = 0, of = 1;

    /* Of a mask of lanes: a bit for each rank. */
    SIMT_MEMBER unsigned by_rank(unsigned lanes) const
    {
        unsigned ranks = 0;
        for (unsigned rest = mask, bit = 1; rest; rest &= rest - 1, bit <<= 1)
            if (lanes & rest & -rest)
                ranks |= bit;
        return ranks;
    }
    /* The value of the thread `by` ranks away; where there is none, its own. */
    template <class T> SIMT_MEMBER T shfl_by(const T &v, long long by) const
    {
        long long rank = (long long)thread_rank() + by;
        bool there = rank >= 0 && rank < num_threads();
        int from = there ? simt::lane_of_rank(mask, (unsigned)rank) : (int)simt::lane();
        return simt::shuffle_any(SIMT_SHUFFLE_INDEX, mask, v, from, 32);
    }

public:
    SIMT_MEMBER explicit coalesced_group(unsigned lanes, unsigned number_ = 0, unsigned of_ = 1)
        : thread_group(OF_LANES, lanes), number(number_), of(of_)
    {
    }
    SIMT_MEMBER unsigned get_mask() const { return mask; }
    SIMT_MEMBER void sync() const { __syncwarp(mask); }
    SIMT_MEMBER unsigned num_threads() const { return (unsigned)__popc(mask); }
    SIMT_MEMBER unsigned size() const { return num_threads(); }
    SIMT_MEMBER unsigned thread_rank() const { return (unsigned)__popc(mask & simt::lanes_below()); }
    SIMT_MEMBER unsigned meta_group_rank() const { return number; }
    SIMT_MEMBER unsigned meta_group_size() const { return of; }
    template <class T> SIMT_MEMBER T shfl(T v, unsigned rank) const
    {
        return simt::shuffle_any(SIMT_SHUFFLE_INDEX, mask, v, simt::lane_of_rank(mask, rank), 32);
    }
    template <class T> SIMT_MEMBER T shfl_up(T v, unsigned by) const { return shfl_by(v, -(long long)by); }
    template <class T> SIMT_MEMBER T shfl_down(T v, unsigned by) const { return shfl_by(v, by); }
    SIMT_MEMBER int any(int predicate) const { return __any_sync(mask, predicate); }
    SIMT_MEMBER int all(int predicate) const { return __all_sync(mask, predicate); }
    SIMT_MEMBER unsigned ballot(int predicate) const { return by_rank(__ballot_sync(mask, predicate)); }
    template <class T> SIMT_MEMBER unsigned match_any(T v) const { return by_rank(__match_any_sync(mask, v)); }
    template <class T> SIMT_MEMBER unsigned match_all(T v, int &all) const
    {
        return by_rank(__match_all_sync(mask, v, &all));
    }
};
SIMT_MEMBER inline coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

/* ---- parts whose size is known only at run time: `size` neighbouring ranks ---- */

namespace details
{
/* Of the lanes of that mask, those whose ranks lie in the same part as this thread's. */
SIMT_MEMBER inline unsigned lanes_of_part(unsigned mask, unsigned size)
{
    if (size == 0 || size > 32 || (size & (size - 1)) != 0)
        simt_bad_partition(size);
    unsigned first = (unsigned)__popc(mask & simt::lanes_below()) / size * size, part = 0;
    for (unsigned rank = 0; mask; rank++, mask &= mask - 1)
        if (rank - first < size)
            part |= mask & -mask;
    return part;
}
}  // namespace details

SIMT_MEMBER inline coalesced_group tiled_partition(const coalesced_group &parent, unsigned size)
{
    unsigned part = details::lanes_of_part(parent.get_mask(), size);
    return coalesced_group(part, parent.thread_rank() / size, (parent.num_threads() + size - 1) / size);
}
SIMT_MEMBER inline thread_group tiled_partition(const thread_group &parent, unsigned size)
{
    unsigned first = simt::rank_in_block() & ~31u, rest = simt::block_threads() - first;
    bool lanes = parent.kind == thread_group::OF_LANES;
    unsigned mask = lanes ? parent.mask : simt::lanes_from(0, rest < 32 ? rest : 32);
    return thread_group(thread_group::OF_LANES, details::lanes_of_part(mask, size));
}

/* ---- parts that a value decides on ---- */

namespace details
{
template <class Group> SIMT_MEMBER inline coalesced_group binary_partition(const Group &group, bool predicate)
{
    unsigned yes = __ballot_sync(group.get_mask(), predicate);
    return coalesced_group(predicate ? yes : group.get_mask() & ~yes, predicate, 2);
}
/* Parts are numbered as their first lanes come. */
template <class Group, class T> SIMT_MEMBER inline coalesced_group labeled_partition(const Group &group, T label)
{
    unsigned mine = __match_any_sync(group.get_mask(), label), first = mine & -mine;
    unsigned firsts = __ballot_sync(group.get_mask(), first == 1u << simt::lane());
    return coalesced_group(mine, (unsigned)__popc(firsts & (first - 1)), (unsigned)__popc(firsts));
}
}  // namespace details

SIMT_MEMBER inline coalesced_group binary_partition(const coalesced_group &group, bool predicate)
{
    return details::binary_partition(group, predicate);
}
template <unsigned Size, class Parent>
SIMT_MEMBER inline coalesced_group binary_partition(const thread_block_tile<Size, Parent> &tile, bool predicate)
{
    return details::binary_partition(tile, predicate);
}
template <class T> SIMT_MEMBER inline coalesced_group labeled_partition(const coalesced_group &group, T label)
{
    return details::labeled_partition(group, label);
}
template <unsigned Size, class Parent, class T>
SIMT_MEMBER inline coalesced_group labeled_partition(const thread_block_tile<Size, Parent> &tile, T label)
{
    return details::labeled_partition(tile, label);
}

}  // namespace cooperative_groups
#endif
