/* cuda::ptx: bulk copies and bulk reductions. */
#ifndef SIMT_PTX_BULK_H
#define SIMT_PTX_BULK_H

#include "tags.h"

struct __half; /* cuda_fp16.h, cuda_bf16.h */
struct __nv_bfloat16;

namespace cuda
{
namespace ptx
{

SIMT_INLINE void cp_async_bulk(space_cluster_t, space_global_t, void *to, const void *from, uint32_t bytes,
                               uint64_t *barrier)
{
    SIMT_PTX("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];", in_shared(to),
             from, bytes, in_shared(barrier));
}
SIMT_INLINE void cp_async_bulk(space_shared_t, space_global_t, void *to, const void *from, uint32_t bytes,
                               uint64_t *barrier)
{
    SIMT_PTX("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];", in_shared(to), from,
             bytes, in_shared(barrier));
}
/* To the same place in each block of the cluster that the mask names. */
SIMT_INLINE void cp_async_bulk(space_cluster_t, space_global_t, void *to, const void *from, uint32_t bytes,
                               uint64_t *barrier, uint16_t blocks)
{
    SIMT_PTX(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;",
        in_shared(to), from, bytes, in_shared(barrier), blocks);
}
SIMT_INLINE void cp_async_bulk(space_cluster_t, space_shared_t, void *to, const void *from, uint32_t bytes,
                               uint64_t *barrier)
{
    SIMT_PTX("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];",
             in_shared(to), in_shared(from), bytes, in_shared(barrier));
}
SIMT_INLINE void cp_async_bulk(space_global_t, space_shared_t, void *to, const void *from, uint32_t bytes)
{
    SIMT_PTX("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;", to, in_shared(from), bytes);
}

/* ---- groups ---- */

SIMT_INLINE void cp_async_bulk_commit_group() { SIMT_PTX("cp.async.bulk.commit_group;"); }
template <int N> SIMT_INLINE void cp_async_bulk_wait_group(n32_t<N>)
{
    SIMT_PTX("cp.async.bulk.wait_group %0;", ::simt::constant{N});
}
template <int N> SIMT_INLINE void cp_async_bulk_wait_group_read(n32_t<N>)
{
    SIMT_PTX("cp.async.bulk.wait_group.read %0;", ::simt::constant{N});
}

/* ---- reductions ---- */

/* In global memory, and in shared memory, where PTX names the type so. */
#define SIMT_INTO_GLOBAL(TAG, OP, TYPE, T) \
    SIMT_INLINE void cp_reduce_async_bulk(space_global_t, space_shared_t, op_##TAG##_t, T *to, const T *from, \
                                          uint32_t bytes) \
    { \
        SIMT_PTX("cp.reduce.async.bulk.global.shared::cta.bulk_group." OP "." TYPE " [%0], [%1], %2;", to, \
                 in_shared(from), bytes); \
    }
#define SIMT_INTO_SHARED(TAG, OP, TYPE, T) \
    SIMT_INLINE void cp_reduce_async_bulk(space_cluster_t, space_shared_t, op_##TAG##_t, T *to, const T *from, \
                                          uint32_t bytes, uint64_t *barrier) \
    { \
        SIMT_PTX("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." OP "." TYPE \
                 " [%0], [%1], %2, [%3];", \
                 in_shared(to), in_shared(from), bytes, in_shared(barrier)); \
    }
#define SIMT_INTO_BOTH(TAG, OP, TYPE, T) SIMT_INTO_GLOBAL(TAG, OP, TYPE, T) SIMT_INTO_SHARED(TAG, OP, TYPE, T)
SIMT_INTO_BOTH(add, "add", "u32", uint32_t)
SIMT_INTO_BOTH(min, "min", "u32", uint32_t)
SIMT_INTO_BOTH(max, "max", "u32", uint32_t)
SIMT_INTO_BOTH(inc, "inc", "u32", uint32_t)
SIMT_INTO_BOTH(dec, "dec", "u32", uint32_t)
SIMT_INTO_BOTH(add, "add", "s32", int32_t)
SIMT_INTO_BOTH(min, "min", "s32", int32_t)
SIMT_INTO_BOTH(max, "max", "s32", int32_t)
SIMT_INTO_BOTH(add, "add", "u64", uint64_t)
SIMT_INTO_BOTH(add, "add", "u64", int64_t)
SIMT_INTO_GLOBAL(min, "min", "u64", uint64_t)
SIMT_INTO_GLOBAL(max, "max", "u64", uint64_t)
SIMT_INTO_GLOBAL(min, "min", "s64", int64_t)
SIMT_INTO_GLOBAL(max, "max", "s64", int64_t)
SIMT_INTO_GLOBAL(add, "add", "f32", float)
SIMT_INTO_GLOBAL(add, "add", "f64", double)
SIMT_INTO_GLOBAL(add, "add.noftz", "f16", __half)
SIMT_INTO_GLOBAL(min, "min", "f16", __half)
SIMT_INTO_GLOBAL(max, "max", "f16", __half)
SIMT_INTO_GLOBAL(add, "add.noftz", "bf16", __nv_bfloat16)
SIMT_INTO_GLOBAL(min, "min", "bf16", __nv_bfloat16)
SIMT_INTO_GLOBAL(max, "max", "bf16", __nv_bfloat16)
#undef SIMT_INTO_GLOBAL
#undef SIMT_INTO_SHARED
#undef SIMT_INTO_BOTH

/* Bit by bit, of any type of 4 bytes, in global memory also of 8. */
#define SIMT_BITWISE(TAG, OP) \
    template <class T> SIMT_INLINE void cp_reduce_async_bulk(space_global_t, space_shared_t, op_##TAG##_t, T *to, \
                                                             const T *from, uint32_t bytes) \
    { \
        static_assert(sizeof(T) == 4 || sizeof(T) == 8, "the elements have 4 or 8 bytes"); \
        if constexpr (sizeof(T) == 4) \
            SIMT_PTX("cp.reduce.async.bulk.global.shared::cta.bulk_group." OP ".b32 [%0], [%1], %2;", to, \
                     in_shared(from), bytes); \
        else \
            SIMT_PTX("cp.reduce.async.bulk.global.shared::cta.bulk_group." OP ".b64 [%0], [%1], %2;", to, \
                     in_shared(from), bytes); \
    } \
    template <class T> SIMT_INLINE void cp_reduce_async_bulk(space_cluster_t, space_shared_t, op_##TAG##_t, T *to, \
                                                             const T *from, uint32_t bytes, uint64_t *barrier) \
    { \
        static_assert(sizeof(T) == 4, "the elements have 4 bytes"); \
        SIMT_PTX("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." OP \
                 ".b32 [%0], [%1], %2, [%3];", \
                 in_shared(to), in_shared(from), bytes, in_shared(barrier)); \
    }
SIMT_BITWISE(and_op, "and")
SIMT_BITWISE(or_op, "or")
SIMT_BITWISE(xor_op, "xor")
#undef SIMT_BITWISE

}  // namespace ptx
}  // namespace cuda
#endif
