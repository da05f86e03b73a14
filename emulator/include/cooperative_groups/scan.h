/* cooperative_groups::inclusive_scan and exclusive_scan over lanes of a warp. */
#ifndef SIMT_COOPERATIVE_GROUPS_SCAN_H
#define SIMT_COOPERATIVE_GROUPS_SCAN_H

#include "../cooperative_groups.h"
#include "../simt/groups/operators.h"

namespace cooperative_groups
{

/* The operator is given the later part first, as by CUDA. */
template <class Group, class T, class Op>
SIMT_MEMBER inline std::decay_t<T> inclusive_scan(const Group &group, T &&value, Op &&op)
{
    std::decay_t<T> sum = value;
    for (unsigned by = 1; by < group.num_threads(); by *= 2) {
        std::decay_t<T> before = group.shfl_up(sum, by);
        if (group.thread_rank() >= by)
            sum = op(sum, before);
    }
    return sum;
}
template <class Group, class T> SIMT_MEMBER inline std::decay_t<T> inclusive_scan(const Group &group, T &&value)
{
    return inclusive_scan(group, value, plus<std::decay_t<T>>());
}

/* Rank 0 gets a zero, whatever the operator. */
template <class Group, class T, class Op>
SIMT_MEMBER inline std::decay_t<T> exclusive_scan(const Group &group, T &&value, Op &&op)
{
    std::decay_t<T> before = group.shfl_up(inclusive_scan(group, value, op), 1);
    return group.thread_rank() == 0 ? std::decay_t<T>{} : before;
}
template <class Group, class T> SIMT_MEMBER inline std::decay_t<T> exclusive_scan(const Group &group, T &&value)
{
    return exclusive_scan(group, value, plus<std::decay_t<T>>());
}

}  // namespace cooperative_groups
#endif
