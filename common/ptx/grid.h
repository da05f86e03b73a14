// How blocks from all over a grid count something together, and how a grid begins before the one in front of it has ended.
#ifndef PTX_GRID_H
#define PTX_GRID_H

// red.relaxed (PTX ISA, "Parallel Synchronization and Communication Instructions: red") and ld.relaxed ("ld"): one thread adds to a counter in
// global memory, or reads it, whatever other threads of the GPU do to it meanwhile. Nothing else is ordered by it.
__device__ __forceinline__ void add_relaxed(unsigned *counter, unsigned count)
{
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" : : "l"(counter), "r"(count) : "memory");
}

__device__ __forceinline__ unsigned load_relaxed(const unsigned *counter)
{
    unsigned count;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(count) : "l"(counter) : "memory");
    return count;
}

// griddepcontrol.launch_dependents (PTX ISA, "griddepcontrol"): once all blocks of the grid have called it, or ended, blocks of the next
// grid of the stream may begin, if that was launched with programmatic stream serialization. Otherwise it does nothing.
__device__ __forceinline__ void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

// griddepcontrol.wait (PTX ISA, "griddepcontrol"): waits until the grid before, which let this one begin early, has ended, and what it
// wrote is there. Where none did, it does nothing.
__device__ __forceinline__ void wait_for_grid() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

#endif
