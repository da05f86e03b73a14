// From the registers of mma and wgmma to shared memory, for whole warps: all 32 lanes call it together.
#ifndef PTX_STMATRIX_H
#define PTX_STMATRIX_H

#include <stdint.h>

// stmatrix.sync.aligned.m8n8.x4 (PTX ISA, "Warp-level matrix store instruction: stmatrix"): the way back of ldmatrix_x4. Four matrices of
// 8 × 8 elements of 16 bits: lane l has, in register i, the elements (l / 4, l % 4 * 2) and (l / 4, l % 4 * 2 + 1) of matrix i, and
// gives in `row` the address of row l % 8 of matrix l / 8: 16 bytes in shared memory, at a multiple of 16.
__device__ __forceinline__ void stmatrix_x4(void *row, const uint32_t from[4])
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 :
                 : "r"((uint32_t)__cvta_generic_to_shared(row)), "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
                 : "memory");
}

#endif
