/* cuda::ptx: fences, and what a warp or a cluster does as one. */
#ifndef SIMT_PTX_FENCES_H
#define SIMT_PTX_FENCES_H

#include "tags.h"

namespace cuda
{
namespace ptx
{

#define SIMT_IN_SCOPE(BEFORE, AFTER, ...) \
    if constexpr (S == dot_scope::cta) \
        SIMT_PTX(BEFORE ".cta" AFTER, ##__VA_ARGS__); \
    else if constexpr (S == dot_scope::cluster) \
        SIMT_PTX(BEFORE ".cluster" AFTER, ##__VA_ARGS__); \
    else if constexpr (S == dot_scope::gpu) \
        SIMT_PTX(BEFORE ".gpu" AFTER, ##__VA_ARGS__); \
    else \
        SIMT_PTX(BEFORE ".sys" AFTER, ##__VA_ARGS__)

template <dot_scope S> SIMT_INLINE void fence(sem_sc_t, scope_t<S>) { SIMT_IN_SCOPE("fence.sc", ";"); }
template <dot_scope S> SIMT_INLINE void fence(sem_acq_rel_t, scope_t<S>) { SIMT_IN_SCOPE("fence.acq_rel", ";"); }
template <dot_scope S> SIMT_INLINE void fence(sem_acquire_t, scope_t<S>) { SIMT_IN_SCOPE("fence.acquire", ";"); }
template <dot_scope S> SIMT_INLINE void fence(sem_release_t, scope_t<S>) { SIMT_IN_SCOPE("fence.release", ";"); }

SIMT_INLINE void fence_mbarrier_init(sem_release_t, scope_cluster_t)
{
    SIMT_PTX("fence.mbarrier_init.release.cluster;");
}
SIMT_INLINE void fence_sync_restrict(sem_acquire_t, space_cluster_t, scope_cluster_t)
{
    SIMT_PTX("fence.acquire.sync_restrict::shared::cluster.cluster;");
}
SIMT_INLINE void fence_sync_restrict(sem_release_t, space_shared_t, scope_cluster_t)
{
    SIMT_PTX("fence.release.sync_restrict::shared::cta.cluster;");
}

/* ---- proxies ---- */

SIMT_INLINE void fence_proxy_alias() { SIMT_PTX("fence.proxy.alias;"); }
SIMT_INLINE void fence_proxy_async() { SIMT_PTX("fence.proxy.async;"); }
template <dot_space S> SIMT_INLINE void fence_proxy_async(space_t<S>)
{
    if constexpr (S == dot_space::global)
        SIMT_PTX("fence.proxy.async.global;");
    else if constexpr (S == dot_space::cluster)
        SIMT_PTX("fence.proxy.async.shared::cluster;");
    else
        SIMT_PTX("fence.proxy.async.shared::cta;");
}
SIMT_INLINE void fence_proxy_async_generic_sync_restrict(sem_acquire_t, space_cluster_t, scope_cluster_t)
{
    SIMT_PTX("fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;");
}
SIMT_INLINE void fence_proxy_async_generic_sync_restrict(sem_release_t, space_shared_t, scope_cluster_t)
{
    SIMT_PTX("fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;");
}
template <dot_scope S> SIMT_INLINE void fence_proxy_tensormap_generic(sem_release_t, scope_t<S>)
{
    SIMT_IN_SCOPE("fence.proxy.tensormap::generic.release", ";");
}
template <int N, dot_scope S>
SIMT_INLINE void fence_proxy_tensormap_generic(sem_acquire_t, scope_t<S>, const void *map, n32_t<N>)
{
    SIMT_IN_SCOPE("fence.proxy.tensormap::generic.acquire", " [%0], %1;", map, ::simt::constant{N});
}
#undef SIMT_IN_SCOPE

/* ---- of a warp, of a cluster ---- */

/* True in one of the lanes that the mask names. */
SIMT_INLINE bool elect_sync(uint32_t mask) { return SIMT_PTX_ASKS("elect.sync _|p, %1;", mask); }

SIMT_INLINE void barrier_cluster_arrive() { SIMT_PTX("barrier.cluster.arrive;"); }
SIMT_INLINE void barrier_cluster_arrive(sem_release_t) { SIMT_PTX("barrier.cluster.arrive.release;"); }
SIMT_INLINE void barrier_cluster_arrive(sem_relaxed_t) { SIMT_PTX("barrier.cluster.arrive.relaxed;"); }
SIMT_INLINE void barrier_cluster_wait() { SIMT_PTX("barrier.cluster.wait;"); }
SIMT_INLINE void barrier_cluster_wait(sem_acquire_t) { SIMT_PTX("barrier.cluster.wait.acquire;"); }
SIMT_INLINE uint32_t getctarank(space_cluster_t, const void *address)
{
    return SIMT_PTX_FOR(uint32_t, "getctarank.shared::cluster.u32 %0, %1;", in_shared(address));
}

}  // namespace ptx
}  // namespace cuda
#endif
