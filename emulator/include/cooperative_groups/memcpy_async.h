/* cooperative_groups::memcpy_async, and the waits for it: each call is a group of copies of its own. */
#ifndef SIMT_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H
#define SIMT_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H

#include "../cooperative_groups.h"
#include "../simt/copies.h"

namespace cooperative_groups
{

/* In the widest pieces that both addresses allow. */
template <class Group, class T, class U, class Size>
SIMT_MEMBER inline void memcpy_async(const Group &group, T *to, const U *from, const Size &bytes)
{
    size_t of_both = (uintptr_t)to | (uintptr_t)from;
    if (!simt_async_may(to, from))
        simt::copy<sizeof(char)>(group, to, from, bytes);
    else
        simt::copy_asynchronously(group, (char *)to, (const char *)from, bytes,
                                  of_both % 16 == 0  ? 16
                                  : of_both % 8 == 0 ? 8
                                                     : 4);
    simt_async_commit();
}

/* Of as many elements as both have. */
template <class Group, class T, class ToSize, class FromSize>
SIMT_MEMBER inline void memcpy_async(const Group &group, T *to, const ToSize &to_elements, const T *from,
                                     const FromSize &from_elements)
{
    size_t n = (size_t)to_elements < (size_t)from_elements ? (size_t)to_elements : (size_t)from_elements;
    memcpy_async(group, to, from, n * sizeof(T));
}

template <unsigned Stages, class Group> SIMT_MEMBER inline void wait_prior(const Group &group)
{
    simt_async_wait(Stages);
    group.sync();
}
template <class Group> SIMT_MEMBER inline void wait(const Group &group)
{
    simt_async_wait_all();
    group.sync();
}

}  // namespace cooperative_groups
#endif
