/* cuda::ptx: mbarriers. */
#ifndef SIMT_PTX_MBARRIER_H
#define SIMT_PTX_MBARRIER_H

#include "tags.h"

namespace cuda
{
namespace ptx
{

SIMT_INLINE void mbarrier_init(uint64_t *barrier, uint32_t count)
{
    SIMT_PTX("mbarrier.init.shared::cta.b64 [%0], %1;", in_shared(barrier), count);
}

/* ---- arrivals ---- */

SIMT_INLINE uint64_t mbarrier_arrive(uint64_t *barrier)
{
    return SIMT_PTX_FOR(uint64_t, "mbarrier.arrive.shared::cta.b64 %0, [%1];", in_shared(barrier));
}
SIMT_INLINE uint64_t mbarrier_arrive(uint64_t *barrier, uint32_t count)
{
    return SIMT_PTX_FOR(uint64_t, "mbarrier.arrive.shared::cta.b64 %0, [%1], %2;", in_shared(barrier), count);
}
SIMT_INLINE uint64_t mbarrier_arrive_no_complete(uint64_t *barrier, uint32_t count)
{
    return SIMT_PTX_FOR(uint64_t, "mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], %2;", in_shared(barrier),
                        count);
}

/* Of each order, in each scope, and at a barrier of the cluster's. */
#define SIMT_ARRIVALS(ORDER) \
    template <dot_scope S> SIMT_INLINE uint64_t mbarrier_arrive(sem_##ORDER##_t, scope_t<S>, space_shared_t, \
                                                                uint64_t *barrier) \
    { \
        static_assert(S == dot_scope::cta || S == dot_scope::cluster, "the scope is a block or a cluster"); \
        if constexpr (S == dot_scope::cta) \
            return SIMT_PTX_FOR(uint64_t, "mbarrier.arrive." #ORDER ".cta.shared::cta.b64 %0, [%1];", \
                                in_shared(barrier)); \
        else \
            return SIMT_PTX_FOR(uint64_t, "mbarrier.arrive." #ORDER ".cluster.shared::cta.b64 %0, [%1];", \
                                in_shared(barrier)); \
    } \
    template <dot_scope S> SIMT_INLINE uint64_t mbarrier_arrive(sem_##ORDER##_t, scope_t<S>, space_shared_t, \
                                                                uint64_t *barrier, uint32_t count) \
    { \
        static_assert(S == dot_scope::cta || S == dot_scope::cluster, "the scope is a block or a cluster"); \
        if constexpr (S == dot_scope::cta) \
            return SIMT_PTX_FOR(uint64_t, "mbarrier.arrive." #ORDER ".cta.shared::cta.b64 %0, [%1], %2;", \
                                in_shared(barrier), count); \
        else \
            return SIMT_PTX_FOR(uint64_t, "mbarrier.arrive." #ORDER ".cluster.shared::cta.b64 %0, [%1], %2;", \
                                in_shared(barrier), count); \
    } \
    SIMT_INLINE void mbarrier_arrive(sem_##ORDER##_t, scope_cluster_t, space_cluster_t, uint64_t *barrier) \
    { \
        SIMT_PTX("mbarrier.arrive." #ORDER ".cluster.shared::cluster.b64 _, [%0];", in_shared(barrier)); \
    } \
    SIMT_INLINE void mbarrier_arrive(sem_##ORDER##_t, scope_cluster_t, space_cluster_t, uint64_t *barrier, \
                                     uint32_t count) \
    { \
        SIMT_PTX("mbarrier.arrive." #ORDER ".cluster.shared::cluster.b64 _, [%0], %1;", in_shared(barrier), count); \
    } \
    template <dot_scope S> SIMT_INLINE uint64_t mbarrier_arrive_expect_tx(sem_##ORDER##_t, scope_t<S>, space_shared_t, \
                                                                          uint64_t *barrier, uint32_t bytes) \
    { \
        static_assert(S == dot_scope::cta || S == dot_scope::cluster, "the scope is a block or a cluster"); \
        if constexpr (S == dot_scope::cta) \
            return SIMT_PTX_FOR(uint64_t, "mbarrier.arrive.expect_tx." #ORDER ".cta.shared::cta.b64 %0, [%1], %2;", \
                                in_shared(barrier), bytes); \
        else \
            return SIMT_PTX_FOR(uint64_t, \
                                "mbarrier.arrive.expect_tx." #ORDER ".cluster.shared::cta.b64 %0, [%1], %2;", \
                                in_shared(barrier), bytes); \
    } \
    SIMT_INLINE void mbarrier_arrive_expect_tx(sem_##ORDER##_t, scope_cluster_t, space_cluster_t, uint64_t *barrier, \
                                               uint32_t bytes) \
    { \
        SIMT_PTX("mbarrier.arrive.expect_tx." #ORDER ".cluster.shared::cluster.b64 _, [%0], %1;", in_shared(barrier), \
                 bytes); \
    }
SIMT_ARRIVALS(release)
SIMT_ARRIVALS(relaxed)
#undef SIMT_ARRIVALS

template <dot_scope S>
SIMT_INLINE void mbarrier_expect_tx(sem_relaxed_t, scope_t<S>, space_shared_t, uint64_t *barrier, uint32_t bytes)
{
    static_assert(S == dot_scope::cta || S == dot_scope::cluster, "the scope is a block or a cluster");
    if constexpr (S == dot_scope::cta)
        SIMT_PTX("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;", in_shared(barrier), bytes);
    else
        SIMT_PTX("mbarrier.expect_tx.relaxed.cluster.shared::cta.b64 [%0], %1;", in_shared(barrier), bytes);
}
template <dot_scope S>
SIMT_INLINE void mbarrier_expect_tx(sem_relaxed_t, scope_t<S>, space_cluster_t, uint64_t *barrier, uint32_t bytes)
{
    static_assert(S == dot_scope::cta || S == dot_scope::cluster, "the scope is a block or a cluster");
    if constexpr (S == dot_scope::cta)
        SIMT_PTX("mbarrier.expect_tx.relaxed.cta.shared::cluster.b64 [%0], %1;", in_shared(barrier), bytes);
    else
        SIMT_PTX("mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%0], %1;", in_shared(barrier), bytes);
}

SIMT_INLINE void cp_async_mbarrier_arrive(uint64_t *barrier)
{
    SIMT_PTX("cp.async.mbarrier.arrive.shared::cta.b64 [%0];", in_shared(barrier));
}
SIMT_INLINE void cp_async_mbarrier_arrive_noinc(uint64_t *barrier)
{
    SIMT_PTX("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];", in_shared(barrier));
}

/* ---- tests and waits ---- */

/* By a token or a parity; with a limit on the time of which nothing is kept here. */
#define SIMT_ASKS_OF(NAME, INSTRUCTION, TYPE) \
    SIMT_INLINE bool NAME(uint64_t *barrier, TYPE phase) \
    { \
        return SIMT_PTX_ASKS(INSTRUCTION ".shared::cta.b64 p, [%1], %2;", in_shared(barrier), phase); \
    } \
    SIMT_ASKS_IN_ORDER(NAME, INSTRUCTION, TYPE, acquire) \
    SIMT_ASKS_IN_ORDER(NAME, INSTRUCTION, TYPE, relaxed)
#define SIMT_ASKS_IN_ORDER(NAME, INSTRUCTION, TYPE, ORDER) \
    template <dot_scope S> SIMT_INLINE bool NAME(sem_##ORDER##_t, scope_t<S>, uint64_t *barrier, TYPE phase) \
    { \
        static_assert(S == dot_scope::cta || S == dot_scope::cluster, "the scope is a block or a cluster"); \
        if constexpr (S == dot_scope::cta) \
            return SIMT_PTX_ASKS(INSTRUCTION "." #ORDER ".cta.shared::cta.b64 p, [%1], %2;", in_shared(barrier), \
                                 phase); \
        else \
            return SIMT_PTX_ASKS(INSTRUCTION "." #ORDER ".cluster.shared::cta.b64 p, [%1], %2;", in_shared(barrier), \
                                 phase); \
    }
#define SIMT_WAITS_FOR(NAME, INSTRUCTION, TYPE) \
    SIMT_INLINE bool NAME(uint64_t *barrier, TYPE phase, uint32_t limit) \
    { \
        return SIMT_PTX_ASKS(INSTRUCTION ".shared::cta.b64 p, [%1], %2, %3;", in_shared(barrier), phase, limit); \
    } \
    SIMT_WAITS_IN_ORDER(NAME, INSTRUCTION, TYPE, acquire) \
    SIMT_WAITS_IN_ORDER(NAME, INSTRUCTION, TYPE, relaxed)
#define SIMT_WAITS_IN_ORDER(NAME, INSTRUCTION, TYPE, ORDER) \
    template <dot_scope S> SIMT_INLINE bool NAME(sem_##ORDER##_t, scope_t<S>, uint64_t *barrier, TYPE phase, \
                                                 uint32_t limit) \
    { \
        static_assert(S == dot_scope::cta || S == dot_scope::cluster, "the scope is a block or a cluster"); \
        if constexpr (S == dot_scope::cta) \
            return SIMT_PTX_ASKS(INSTRUCTION "." #ORDER ".cta.shared::cta.b64 p, [%1], %2, %3;", in_shared(barrier), \
                                 phase, limit); \
        else \
            return SIMT_PTX_ASKS(INSTRUCTION "." #ORDER ".cluster.shared::cta.b64 p, [%1], %2, %3;", \
                                 in_shared(barrier), phase, limit); \
    }
SIMT_ASKS_OF(mbarrier_test_wait, "mbarrier.test_wait", uint64_t)
SIMT_ASKS_OF(mbarrier_test_wait_parity, "mbarrier.test_wait.parity", uint32_t)
SIMT_ASKS_OF(mbarrier_try_wait, "mbarrier.try_wait", uint64_t)
SIMT_ASKS_OF(mbarrier_try_wait_parity, "mbarrier.try_wait.parity", uint32_t)
SIMT_WAITS_FOR(mbarrier_try_wait, "mbarrier.try_wait", uint64_t)
SIMT_WAITS_FOR(mbarrier_try_wait_parity, "mbarrier.try_wait.parity", uint32_t)
#undef SIMT_ASKS_OF
#undef SIMT_ASKS_IN_ORDER
#undef SIMT_WAITS_FOR
#undef SIMT_WAITS_IN_ORDER

}  // namespace ptx
}  // namespace cuda
#endif
