// Bulk copies: one thread asks for kilobytes, and an engine moves them, by the async proxy.
#ifndef PTX_BULK_H
#define PTX_BULK_H

#include <stdint.h>

// cp.async.bulk.shared::cluster.global (PTX ISA, "Data Movement and Conversion Instructions: cp.async.bulk"): one thread begins a copy
// from global to shared memory. Both addresses and the number of bytes are multiples of 16. As its bytes arrive, they are
// counted off what the barrier, in the same block, still expects.
__device__ __forceinline__ void bulk_load(void *to, const void *from, unsigned bytes, uint64_t *barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :
                 : "r"((uint32_t)__cvta_generic_to_shared(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes),
                   "r"((uint32_t)__cvta_generic_to_shared(barrier))
                 : "memory");
}

// cp.async.bulk.global.shared::cta (PTX ISA, "cp.async.bulk"): one thread begins a copy from shared to global memory. Both addresses
// and the number of bytes are multiples of 16. It belongs to the thread's next bulk group.
__device__ __forceinline__ void bulk_store(void *to, const void *from, unsigned bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 :
                 : "l"(__cvta_generic_to_global(to)), "r"((uint32_t)__cvta_generic_to_shared(from)), "r"(bytes)
                 : "memory");
}

// cp.async.bulk.commit_group (PTX ISA, "cp.async.bulk.commit_group"): the bulk stores that this thread has begun since its last group
// become a group.
__device__ __forceinline__ void bulk_commit_group() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// cp.async.bulk.wait_group.read (PTX ISA, "cp.async.bulk.wait_group"): waits until all but at most `pending` of this thread's groups, the
// youngest, have read their shared memory. What they write may still be on its way.
template <int pending>
__device__ __forceinline__ void bulk_wait_group_read()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}

// fence.proxy.async (PTX ISA, "membar / fence": proxy fences): what this thread has written to shared memory, by the generic proxy, may
// from here on be read by the async proxy. Each thread that wrote calls it before the barrier behind which the copy is issued, or
// the thread that issues the copy calls it behind that barrier, for all.
__device__ __forceinline__ void fence_proxy_async_shared()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

#endif
