// The tensor cores' own instructions, one in each function, for whole warps: all 32 lanes call it together.
//
// mma.sync.aligned.m16n8k16 (PTX ISA, "Matrix multiply-accumulate operation using mma instruction"): D = A B + C, where A is
// [16, 16], B is [16, 8], C and D are [16, 8]. Lane l holds, with row = l / 4 and pair = l % 4 * 2:
//   A  a[0] (row, pair)  a[1] (row + 8, pair)  a[2] (row, pair + 8)  a[3] (row + 8, pair + 8)   each with the next column
//   B  b[0] (pair, row)  b[1] (pair + 8, row)                                                   each with the next row
//   C  c[0], c[1] (row, pair), (row, pair + 1)       c[2], c[3] (row + 8, pair), (row + 8, pair + 1)
// Two elements of 16 bits share a register; the first is in its lower half.
//
// asm volatile keeps a statement, and its order among such statements, in the PTX that nvcc makes. ptxas may still leave out an
// instruction whose result nobody uses, or move it past others as far as operands and memory allow: no order rests on it.
#ifndef PTX_MMA_H
#define PTX_MMA_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

// [fp16] sum += A B, fp16 products in fp32.
__device__ __forceinline__ void mma_m16n8k16(float sum[4], const uint32_t a[4], const uint32_t b[2], half)
{
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// [bf16] sum += A B, bf16 products in fp32.
__device__ __forceinline__ void mma_m16n8k16(float sum[4], const uint32_t a[4], const uint32_t b[2], __nv_bfloat16)
{
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#endif
