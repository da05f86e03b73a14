// Named barriers: a block has 16, by number. Of the threads that one expects, some only arrive and go on, and the others wait.
#ifndef PTX_NAMED_BARRIER_H
#define PTX_NAMED_BARRIER_H

// bar.sync (PTX ISA, "Parallel Synchronization and Communication Instructions: bar"): all threads of a warp wait until so many threads,
// with themselves, have arrived at the barrier of this number. `threads` is a multiple of 32, and the same for all of them. What the
// others did before they arrived, those that waited see. Number 0 is that of __syncthreads().
__device__ __forceinline__ void named_barrier_sync(int barrier, int threads)
{
    asm volatile("bar.sync %0, %1;" : : "r"(barrier), "r"(threads) : "memory");
}

// bar.arrive (PTX ISA, "bar"): all threads of a warp arrive there, and go on at once.
__device__ __forceinline__ void named_barrier_arrive(int barrier, int threads)
{
    asm volatile("bar.arrive %0, %1;" : : "r"(barrier), "r"(threads) : "memory");
}

#endif
