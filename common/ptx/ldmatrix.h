// From shared memory to the registers of mma, for whole warps: all 32 lanes call it together.
//
// ldmatrix.sync.aligned.m8n8.x4 (PTX ISA, "Warp-level matrix load instruction: ldmatrix"): four matrices of 8 × 8 elements of
// 16 bits. Lane l gives the address of row l % 8 of matrix l / 8: 16 bytes, at a multiple of 16. It gets, in register i, the
// elements (l / 4, l % 4 * 2) and (l / 4, l % 4 * 2 + 1) of matrix i; with .trans, those of the transposed matrix.
#ifndef PTX_LDMATRIX_H
#define PTX_LDMATRIX_H

#include <stdint.h>

// row: the address of 8 elements in shared memory.
__device__ __forceinline__ void ldmatrix_x4(uint32_t to[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"((uint32_t)__cvta_generic_to_shared(row))
                 : "memory");
}

// As ldmatrix_x4, and each matrix is transposed on its way.
__device__ __forceinline__ void ldmatrix_x4_trans(uint32_t to[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"((uint32_t)__cvta_generic_to_shared(row))
                 : "memory");
}

// As ldmatrix_x4 with two matrices: the addresses that count are those of lanes 0 to 15.
__device__ __forceinline__ void ldmatrix_x2(uint32_t to[2], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(to[0]), "=r"(to[1])
                 : "r"((uint32_t)__cvta_generic_to_shared(row))
                 : "memory");
}

// As ldmatrix_x2, and each matrix is transposed on its way.
__device__ __forceinline__ void ldmatrix_x2_trans(uint32_t to[2], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(to[0]), "=r"(to[1])
                 : "r"((uint32_t)__cvta_generic_to_shared(row))
                 : "memory");
}

#endif
