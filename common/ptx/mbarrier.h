// Barriers in shared memory that count arrivals of threads and bytes of copies. A phase of a barrier is over when none of either
// is still expected; the next phase begins at once, and expects as many arrivals again.
#ifndef PTX_MBARRIER_H
#define PTX_MBARRIER_H

#include <stdint.h>

// mbarrier.init (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier.init"): one thread makes the 8 bytes
// at `barrier`, in shared memory and at a multiple of 8, a barrier whose phases each expect so many arrivals.
__device__ __forceinline__ void mbarrier_init(uint64_t *barrier, unsigned arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 :
                 : "r"((uint32_t)__cvta_generic_to_shared(barrier)), "r"(arrivals)
                 : "memory");
}

// fence.mbarrier_init (PTX ISA, "Parallel Synchronization and Communication Instructions: membar / fence"): the thread that has
// made barriers calls it after the last of them, so that engines see them, too. Threads see them after __syncthreads().
__device__ __forceinline__ void fence_mbarrier_init()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// mbarrier.arrive (PTX ISA, "mbarrier.arrive"): one thread arrives at the phase at hand. What it has done before, a thread that waits for the
// end of the phase sees.
__device__ __forceinline__ void mbarrier_arrive(uint64_t *barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                 :
                 : "r"((uint32_t)__cvta_generic_to_shared(barrier))
                 : "memory");
}

// mbarrier.arrive.expect_tx (PTX ISA, "mbarrier.arrive"): one thread says that copies will write so many bytes in the phase at hand,
// and then arrives.
__device__ __forceinline__ void mbarrier_arrive_expect_tx(uint64_t *barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :
                 : "r"((uint32_t)__cvta_generic_to_shared(barrier)), "r"(bytes)
                 : "memory");
}

// mbarrier.try_wait.parity (PTX ISA, "mbarrier.test_wait / mbarrier.try_wait"): whether the barrier's phase of that parity, which is 0
// for the first, 1 for the second, 0 for the third and so on, is over. The hardware may let the thread sleep for a while first.
__device__ __forceinline__ bool mbarrier_try_wait_parity(uint64_t *barrier, unsigned parity)
{
    uint32_t over;
    asm volatile("{\n"
                 ".reg .pred over;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, over;\n"
                 "}"
                 : "=r"(over)
                 : "r"((uint32_t)__cvta_generic_to_shared(barrier)), "r"(parity)
                 : "memory");
    return over;
}

// Waits until that phase is over. Each thread that reads what the copies wrote calls it, or stands at a barrier behind one that has;
// it then sees all of their bytes.
__device__ __forceinline__ void mbarrier_wait_parity(uint64_t *barrier, unsigned parity)
{
    while (!mbarrier_try_wait_parity(barrier, parity)) {
    }
}

#endif
