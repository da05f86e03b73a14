/* Cooperative groups (CUDA C++ Programming Guide): the grid, the cluster, the block, tiles of a warp, and the threads that are
 * together now. */
#ifndef _COOPERATIVE_GROUPS_H_
#define _COOPERATIVE_GROUPS_H_

#include "simt/groups/block.h"
#include "simt/groups/cluster.h"
#include "simt/groups/grid.h"
#include "simt/groups/tile.h"
#include "simt/groups/coalesced.h"

namespace cooperative_groups
{

template <class Group> SIMT_MEMBER inline void sync(const Group &group) { group.sync(); }
template <class Group> SIMT_MEMBER inline auto thread_rank(const Group &group) { return group.thread_rank(); }
template <class Group> SIMT_MEMBER inline auto group_size(const Group &group) { return group.num_threads(); }

/* One thread of the group, whichever, calls the function. */
template <class Group, class Function, class... A>
SIMT_MEMBER inline void invoke_one(const Group &group, Function &&function, A &&...arguments)
{
    if (group.thread_rank() == 0)
        static_cast<Function &&>(function)(static_cast<A &&>(arguments)...);
}
/* And all get what it returned. */
template <class Group, class Function, class... A>
SIMT_MEMBER inline auto invoke_one_broadcast(const Group &group, Function &&function, A &&...arguments)
{
    std::decay_t<decltype(function(arguments...))> result{};
    if (group.thread_rank() == 0)
        result = static_cast<Function &&>(function)(static_cast<A &&>(arguments)...);
    return group.shfl(result, 0);
}

}  // namespace cooperative_groups
#endif
