/* cuda::ptx: copies of a tensor's tiles, and changes of tensor maps. */
#ifndef SIMT_PTX_TENSOR_H
#define SIMT_PTX_TENSOR_H

#include "tags.h"

namespace cuda
{
namespace ptx
{

/* X is written for each rank, with the operands that are the corner's coordinates: they come behind four others. */
#define SIMT_RANKS(X) \
    X(1, "%4", at[0]) \
    X(2, "%4, %5", at[0], at[1]) \
    X(3, "%4, %5, %6", at[0], at[1], at[2]) \
    X(4, "%4, %5, %6, %7", at[0], at[1], at[2], at[3]) \
    X(5, "%4, %5, %6, %7, %8", at[0], at[1], at[2], at[3], at[4])

#define SIMT_TILE(RANK, CORNER, ...) \
    SIMT_INLINE void cp_async_bulk_tensor(space_cluster_t, space_global_t, void *to, const void *map, \
                                          const int32_t(&at)[RANK], uint64_t *barrier) \
    { \
        SIMT_PTX("cp.async.bulk.tensor." #RANK \
                 "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {" CORNER "}], [%2];", \
                 in_shared(to), map, in_shared(barrier), 0, __VA_ARGS__); \
    } \
    SIMT_INLINE void cp_async_bulk_tensor(space_shared_t, space_global_t, void *to, const void *map, \
                                          const int32_t(&at)[RANK], uint64_t *barrier) \
    { \
        SIMT_PTX("cp.async.bulk.tensor." #RANK \
                 "d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {" CORNER "}], [%2];", \
                 in_shared(to), map, in_shared(barrier), 0, __VA_ARGS__); \
    } \
    SIMT_INLINE void cp_async_bulk_tensor(space_cluster_t, space_global_t, void *to, const void *map, \
                                          const int32_t(&at)[RANK], uint64_t *barrier, uint16_t blocks) \
    { \
        SIMT_PTX("cp.async.bulk.tensor." #RANK \
                 "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {" CORNER \
                 "}], [%2], %3;", \
                 in_shared(to), map, in_shared(barrier), blocks, __VA_ARGS__); \
    } \
    SIMT_INLINE void cp_async_bulk_tensor(space_global_t, space_shared_t, const void *map, const int32_t(&at)[RANK], \
                                          const void *from) \
    { \
        SIMT_PTX("cp.async.bulk.tensor." #RANK "d.global.shared::cta.tile.bulk_group [%0, {" CORNER "}], [%1];", map, \
                 in_shared(from), 0, 0, __VA_ARGS__); \
    } \
    template <dot_op O> SIMT_INLINE void cp_reduce_async_bulk_tensor( \
        space_global_t, space_shared_t, op_t<O>, const void *map, const int32_t(&at)[RANK], const void *from) \
    { \
        static_assert(O != dot_op::cas && O != dot_op::exch, "an operation that reduces"); \
        if constexpr (O == dot_op::add) \
            SIMT_REDUCE(RANK, "add", CORNER, __VA_ARGS__); \
        else if constexpr (O == dot_op::inc) \
            SIMT_REDUCE(RANK, "inc", CORNER, __VA_ARGS__); \
        else if constexpr (O == dot_op::dec) \
            SIMT_REDUCE(RANK, "dec", CORNER, __VA_ARGS__); \
        else if constexpr (O == dot_op::min) \
            SIMT_REDUCE(RANK, "min", CORNER, __VA_ARGS__); \
        else if constexpr (O == dot_op::max) \
            SIMT_REDUCE(RANK, "max", CORNER, __VA_ARGS__); \
        else if constexpr (O == dot_op::and_op) \
            SIMT_REDUCE(RANK, "and", CORNER, __VA_ARGS__); \
        else if constexpr (O == dot_op::or_op) \
            SIMT_REDUCE(RANK, "or", CORNER, __VA_ARGS__); \
        else \
            SIMT_REDUCE(RANK, "xor", CORNER, __VA_ARGS__); \
    }
#define SIMT_REDUCE(RANK, OP, CORNER, ...) \
    SIMT_PTX("cp.reduce.async.bulk.tensor." #RANK "d.global.shared::cta." OP ".tile.bulk_group [%0, {" CORNER \
             "}], [%1];", \
             map, in_shared(from), 0, 0, __VA_ARGS__)
SIMT_RANKS(SIMT_TILE)
#undef SIMT_TILE
#undef SIMT_REDUCE
#undef SIMT_RANKS

/* ---- changes of maps ---- */

/* Of a field there may be one for each dimension (behind ORDINAL), and its value is a register or a constant. */
#define SIMT_FIELD(NAME, BITS) \
    template <class T> SIMT_INLINE void tensormap_replace_##NAME(space_global_t, void *map, T value) \
    { \
        static_assert(sizeof(T) * 8 == BITS, "the value has as many bits as the field"); \
        SIMT_PTX("tensormap.replace.tile." #NAME ".global.b1024.b" #BITS " [%0], %1;", map, value); \
    } \
    template <class T> SIMT_INLINE void tensormap_replace_##NAME(space_shared_t, void *map, T value) \
    { \
        static_assert(sizeof(T) * 8 == BITS, "the value has as many bits as the field"); \
        SIMT_PTX("tensormap.replace.tile." #NAME ".shared::cta.b1024.b" #BITS " [%0], %1;", in_shared(map), value); \
    }
#define SIMT_FIELD_OF_DIMENSION(NAME, BITS) \
    template <int N, class T> SIMT_INLINE void tensormap_replace_##NAME(space_global_t, void *map, n32_t<N>, T value) \
    { \
        static_assert(sizeof(T) * 8 == BITS, "the value has as many bits as the field"); \
        SIMT_PTX("tensormap.replace.tile." #NAME ".global.b1024.b" #BITS " [%0], %1, %2;", map, ::simt::constant{N}, \
                 value); \
    } \
    template <int N, class T> SIMT_INLINE void tensormap_replace_##NAME(space_shared_t, void *map, n32_t<N>, T value) \
    { \
        static_assert(sizeof(T) * 8 == BITS, "the value has as many bits as the field"); \
        SIMT_PTX("tensormap.replace.tile." #NAME ".shared::cta.b1024.b" #BITS " [%0], %1, %2;", in_shared(map), \
                 ::simt::constant{N}, value); \
    }
#define SIMT_MODE(NAME) \
    template <int N> SIMT_INLINE void tensormap_replace_##NAME(space_global_t, void *map, n32_t<N>) \
    { \
        SIMT_PTX("tensormap.replace.tile." #NAME ".global.b1024.b32 [%0], %1;", map, ::simt::constant{N}); \
    } \
    template <int N> SIMT_INLINE void tensormap_replace_##NAME(space_shared_t, void *map, n32_t<N>) \
    { \
        SIMT_PTX("tensormap.replace.tile." #NAME ".shared::cta.b1024.b32 [%0], %1;", in_shared(map), \
                 ::simt::constant{N}); \
    }
SIMT_FIELD(global_address, 64)
SIMT_FIELD(rank, 32)
SIMT_FIELD_OF_DIMENSION(box_dim, 32)
SIMT_FIELD_OF_DIMENSION(global_dim, 32)
SIMT_FIELD_OF_DIMENSION(global_stride, 64)
SIMT_FIELD_OF_DIMENSION(element_stride, 32)
SIMT_MODE(elemtype)
SIMT_MODE(interleave_layout)
SIMT_MODE(swizzle_mode)
SIMT_MODE(fill_mode)
#undef SIMT_FIELD
#undef SIMT_FIELD_OF_DIMENSION
#undef SIMT_MODE

/* Copies a map from shared to global memory, and fences it. */
template <int N, dot_scope S>
SIMT_INLINE void tensormap_cp_fenceproxy(sem_release_t, scope_t<S>, void *to, const void *from, n32_t<N>)
{
#define SIMT_FENCED(SCOPE) \
    SIMT_PTX("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release." SCOPE \
             ".sync.aligned [%0], [%1], %2;", \
             to, in_shared(from), ::simt::constant{N})
    if constexpr (S == dot_scope::cta)
        SIMT_FENCED("cta");
    else if constexpr (S == dot_scope::cluster)
        SIMT_FENCED("cluster");
    else if constexpr (S == dot_scope::gpu)
        SIMT_FENCED("gpu");
    else
        SIMT_FENCED("sys");
#undef SIMT_FENCED
}

}  // namespace ptx
}  // namespace cuda
#endif
