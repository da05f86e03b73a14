// The registers of a warpgroup's threads, which a kernel that gives its warpgroups different roles divides anew among them.
#ifndef PTX_SETMAXNREG_H
#define PTX_SETMAXNREG_H

// setmaxnreg.dec (PTX ISA, "Miscellaneous Instructions: setmaxnreg"): from here on each thread of the warpgroup has so many registers, no
// more than it had: a multiple of 8 from 24 to 256. The others go back to the pool of the block. All 128 threads call it together.
template <int registers>
__device__ __forceinline__ void setmaxnreg_dec()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}

// setmaxnreg.inc (PTX ISA, "setmaxnreg"): the same with no fewer registers than it had. The warpgroup waits until the pool has them. The
// pool is what the block was given at its launch, so that the sum over all its warpgroups must not exceed that: the wait would never end.
template <int registers>
__device__ __forceinline__ void setmaxnreg_inc()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}

#endif
