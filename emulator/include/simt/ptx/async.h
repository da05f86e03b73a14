/* cuda::ptx: stores and additions into another block of the cluster, which its mbarrier counts. */
#ifndef SIMT_PTX_ASYNC_H
#define SIMT_PTX_ASYNC_H

#include "tags.h"

namespace cuda
{
namespace ptx
{

/* ---- stores of 1, 2 and 4 elements ---- */

#define SIMT_STORE(WIDTH, ...) \
    SIMT_PTX("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes." WIDTH ";", in_shared(to), __VA_ARGS__, \
             in_shared(barrier))
template <class T> SIMT_INLINE void st_async(T *to, const T &value, uint64_t *barrier)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "an element has 4 or 8 bytes");
    if constexpr (sizeof(T) == 4)
        SIMT_STORE("b32 [%0], %1, [%2]", value);
    else
        SIMT_STORE("b64 [%0], %1, [%2]", value);
}
template <class T> SIMT_INLINE void st_async(T *to, const T (&value)[2], uint64_t *barrier)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "an element has 4 or 8 bytes");
    if constexpr (sizeof(T) == 4)
        SIMT_STORE("v2.b32 [%0], {%1, %2}, [%3]", value[0], value[1]);
    else
        SIMT_STORE("v2.b64 [%0], {%1, %2}, [%3]", value[0], value[1]);
}
template <class T> SIMT_INLINE void st_async(T *to, const T (&value)[4], uint64_t *barrier)
{
    static_assert(sizeof(T) == 4, "an element has 4 bytes");
    SIMT_STORE("v4.b32 [%0], {%1, %2, %3, %4}, [%5]", value[0], value[1], value[2], value[3]);
}
#undef SIMT_STORE

/* ---- atomic operations ---- */

#define SIMT_REDUCE(TYPE) \
    SIMT_PTX("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." TYPE " [%0], %1, [%2];", \
             in_shared(to), value, in_shared(barrier))
#define SIMT_RED_ASYNC(TAG, TYPE, T) \
    SIMT_INLINE void red_async(op_##TAG##_t, T *to, const T &value, uint64_t *barrier) { SIMT_REDUCE(TYPE); }
SIMT_RED_ASYNC(add, "add.u32", uint32_t)
SIMT_RED_ASYNC(min, "min.u32", uint32_t)
SIMT_RED_ASYNC(max, "max.u32", uint32_t)
SIMT_RED_ASYNC(inc, "inc.u32", uint32_t)
SIMT_RED_ASYNC(dec, "dec.u32", uint32_t)
SIMT_RED_ASYNC(add, "add.s32", int32_t)
SIMT_RED_ASYNC(min, "min.s32", int32_t)
SIMT_RED_ASYNC(max, "max.s32", int32_t)
SIMT_RED_ASYNC(add, "add.u64", uint64_t)
#undef SIMT_RED_ASYNC

#define SIMT_BITWISE(TAG, OP) \
    template <class T> SIMT_INLINE void red_async(op_##TAG##_t, T *to, const T &value, uint64_t *barrier) \
    { \
        static_assert(sizeof(T) == 4, "an element has 4 bytes"); \
        SIMT_REDUCE(OP ".b32"); \
    }
SIMT_BITWISE(and_op, "and")
SIMT_BITWISE(or_op, "or")
SIMT_BITWISE(xor_op, "xor")
#undef SIMT_BITWISE
#undef SIMT_REDUCE

}  // namespace ptx
}  // namespace cuda
#endif
