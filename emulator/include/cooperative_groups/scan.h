/* cooperative_groups::inclusive_scan and exclusive_scan over lanes of a warp, or a tile of several. */
#ifndef SIMT_COOPERATIVE_GROUPS_SCAN_H
#define SIMT_COOPERATIVE_GROUPS_SCAN_H

#include "../cooperative_groups.h"
#include "../simt/groups/operators.h"

namespace cooperative_groups
{

namespace details
{

template <class Group> inline constexpr bool is_of_warps = false;
template <unsigned Size, class Parent> inline constexpr bool is_of_warps<thread_block_tile<Size, Parent>> = (Size > 32);

/* The operator is given the later part first, as by CUDA. */
template <class Group, class T, class Op> SIMT_MEMBER inline T scan_of_lanes(const Group &group, T sum, Op &&op)
{
    for (unsigned by = 1; by < group.num_threads(); by *= 2) {
        T before = group.shfl_up(sum, by);
        if (group.thread_rank() >= by)
            sum = op(sum, before);
    }
    return sum;
}

/* Of several warps: each scans its own part, then takes the sums of those before it. */
template <class Group, class T, class Op> SIMT_MEMBER inline T scan_of_warps(const Group &group, const T &value,
                                                                             Op &&op)
{
    T sum = scan_of_lanes(tiled_partition<32>(this_thread_block()), value, op);
    group.offer(sum);
    group.sync();
    for (unsigned warp = group.thread_rank() / 32; warp > 0; warp--)
        sum = op(sum, group.template taken<T>(32 * warp - 1));
    group.sync();
    return sum;
}

}  // namespace details

template <class Group, class T, class Op>
SIMT_MEMBER inline std::decay_t<T> inclusive_scan(const Group &group, T &&value, Op &&op)
{
    if constexpr (details::is_of_warps<Group>)
        return details::scan_of_warps(group, std::decay_t<T>(value), op);
    else
        return details::scan_of_lanes(group, std::decay_t<T>(value), op);
}
template <class Group, class T> SIMT_MEMBER inline std::decay_t<T> inclusive_scan(const Group &group, T &&value)
{
    return inclusive_scan(group, value, plus<std::decay_t<T>>());
}

/* Rank 0 gets a zero, whatever the operator. */
template <class Group, class T, class Op>
SIMT_MEMBER inline std::decay_t<T> exclusive_scan(const Group &group, T &&value, Op &&op)
{
    std::decay_t<T> sum = inclusive_scan(group, value, op), before{};
    if constexpr (details::is_of_warps<Group>) {
        group.offer(sum);
        group.sync();
        before = group.template taken<std::decay_t<T>>(group.thread_rank() ? group.thread_rank() - 1 : 0);
        group.sync();
    } else {
        before = group.shfl_up(sum, 1);
    }
    return group.thread_rank() == 0 ? std::decay_t<T>{} : before;
}
template <class Group, class T> SIMT_MEMBER inline std::decay_t<T> exclusive_scan(const Group &group, T &&value)
{
    return exclusive_scan(group, value, plus<std::decay_t<T>>());
}

}  // namespace cooperative_groups
#endif
