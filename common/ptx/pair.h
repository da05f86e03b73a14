// Two neighbours in a row, as a lane holds them of an accumulator and as mma wants them of an operand: 16 bits each, in one
// register, the first in its lower half.
#ifndef PTX_PAIR_H
#define PTX_PAIR_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stddef.h>
#include <stdint.h>

// [pack] cvt.rn.f16x2.f32 and cvt.rn.bf16x2.f32 (PTX ISA, "Data Movement and Conversion Instructions: cvt"), each rounded to
// nearest. The last argument says by its type which of the two.
__device__ __forceinline__ uint32_t pack(float first, float second, half)
{
    const half2 both = __floats2half2_rn(first, second);
    return *(const uint32_t *)&both;
}

__device__ __forceinline__ uint32_t pack(float first, float second, __nv_bfloat16)
{
    const __nv_bfloat162 both = __floats2bfloat162_rn(first, second);
    return *(const uint32_t *)&both;
}
// [end pack]

// [store_pair] Stores the two neighbours at (row, col) and (row, col + 1) of C; col is even, and rows begin at multiples of 4
// bytes. What lies beyond C's last row or column is left out: a row's last pair may be only half in C.
template <class T>
__device__ __forceinline__ void store_pair(T *C,  // [m, n], C_pitch elements from row to row
                                           const float sum[2], int row, int col, int m, int n, int C_pitch)
{
    if (row < m && col + 1 < n)
        *(uint32_t *)&C[(size_t)row * C_pitch + col] = pack(sum[0], sum[1], T());
    else if (row < m && col < n)
        C[(size_t)row * C_pitch + col] = T(sum[0]);
}
// [end store_pair]

#endif
