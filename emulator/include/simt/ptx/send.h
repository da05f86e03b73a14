/* cuda::ptx: stores and reductions of values into the shared memory of a block of the cluster, which an mbarrier there counts. */
#ifndef SIMT_PTX_SEND_H
#define SIMT_PTX_SEND_H

#include "tags.h"

namespace cuda
{
namespace ptx
{

template <class T> using sent_bits = ::std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

/* The bits of a value of 4 or 8 bytes. */
template <class T> SIMT_INLINE sent_bits<T> bits_sent(const T &value)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a value has 4 or 8 bytes");
    sent_bits<T> bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

#define SIMT_SEND "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes."

template <class T> SIMT_INLINE void st_async(T *to, const T &value, uint64_t *barrier)
{
    if constexpr (sizeof(T) == 4)
        SIMT_PTX(SIMT_SEND "b32 [%0], %1, [%2];", in_shared(to), bits_sent(value), in_shared(barrier));
    else
        SIMT_PTX(SIMT_SEND "b64 [%0], %1, [%2];", in_shared(to), bits_sent(value), in_shared(barrier));
}
template <class T> SIMT_INLINE void st_async(T *to, const T (&values)[2], uint64_t *barrier)
{
    if constexpr (sizeof(T) == 4)
        SIMT_PTX(SIMT_SEND "v2.b32 [%0], {%1, %2}, [%3];", in_shared(to), bits_sent(values[0]), bits_sent(values[1]),
                 in_shared(barrier));
    else
        SIMT_PTX(SIMT_SEND "v2.b64 [%0], {%1, %2}, [%3];", in_shared(to), bits_sent(values[0]), bits_sent(values[1]),
                 in_shared(barrier));
}
template <class T> SIMT_INLINE void st_async(T *to, const T (&values)[4], uint64_t *barrier)
{
    static_assert(sizeof(T) == 4, "four values have 4 bytes each");
    SIMT_PTX(SIMT_SEND "v4.b32 [%0], {%1, %2, %3, %4}, [%5];", in_shared(to), bits_sent(values[0]),
             bits_sent(values[1]), bits_sent(values[2]), bits_sent(values[3]), in_shared(barrier));
}
#undef SIMT_SEND

/* ---- reductions ---- */

#define SIMT_SENT(TAG, OP, TYPE, T) \
    SIMT_INLINE void red_async(op_##TAG##_t, T *to, const T &value, uint64_t *barrier) \
    { \
        SIMT_PTX("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." OP "." TYPE \
                 " [%0], %1, [%2];", \
                 in_shared(to), value, in_shared(barrier)); \
    }
SIMT_SENT(inc, "inc", "u32", uint32_t)
SIMT_SENT(dec, "dec", "u32", uint32_t)
SIMT_SENT(min, "min", "u32", uint32_t)
SIMT_SENT(max, "max", "u32", uint32_t)
SIMT_SENT(add, "add", "u32", uint32_t)
SIMT_SENT(min, "min", "s32", int32_t)
SIMT_SENT(max, "max", "s32", int32_t)
SIMT_SENT(add, "add", "s32", int32_t)
SIMT_SENT(add, "add", "u64", uint64_t)
SIMT_SENT(add, "add", "u64", int64_t)
#undef SIMT_SENT

#define SIMT_SENT_BITS(TAG, OP) \
    template <class T> SIMT_INLINE void red_async(op_##TAG##_t, T *to, const T &value, uint64_t *barrier) \
    { \
        static_assert(sizeof(T) == 4, "the value has 4 bytes"); \
        SIMT_PTX("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." OP ".b32 [%0], %1, [%2];", \
                 in_shared(to), bits_sent(value), in_shared(barrier)); \
    }
SIMT_SENT_BITS(and_op, "and")
SIMT_SENT_BITS(or_op, "or")
SIMT_SENT_BITS(xor_op, "xor")
#undef SIMT_SENT_BITS

}  // namespace ptx
}  // namespace cuda
#endif
