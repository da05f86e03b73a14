// Copies from global to shared memory that pass the registers by and go on while the thread does something else.
#ifndef PTX_CP_ASYNC_H
#define PTX_CP_ASYNC_H

#include <stdint.h>

// cp.async.cg.shared.global (PTX ISA, "Data Movement and Conversion Instructions: cp.async"): a thread begins to copy 16 bytes
// through L2 alone. to: shared memory, from: global memory, both at multiples of 16 bytes. It reads `bytes` of the 16, which
// may be 0, and writes zeros in place of the rest.
__device__ __forceinline__ void cp_async_16(void *to, const void *from, int bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"((uint32_t)__cvta_generic_to_shared(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes)
                 : "memory");
}

// cp.async.commit_group (PTX ISA, "cp.async.commit_group"): the copies that this thread has begun since its last group become
// a group, also where there are none.
__device__ __forceinline__ void cp_async_commit_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// cp.async.wait_group (PTX ISA, "cp.async.wait_group"): waits until at most `pending` of this thread's groups, the youngest,
// are still under way. What other threads have copied is visible after a barrier.
template <int pending>
__device__ __forceinline__ void cp_async_wait_group()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

#endif
