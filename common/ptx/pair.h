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
    alignas(4) const T pair[2] = {T(sum[0]), T(sum[1])};
    if (row < m && col + 1 < n)
        *(uint32_t *)&C[(size_t)row * C_pitch + col] = *(const uint32_t *)pair;
    else if (row < m && col < n)
        C[(size_t)row * C_pitch + col] = pair[0];
}
// [end store_pair]

// [gather] Four neighbouring lanes share four rows of four pairs: before, pairs[i] is this lane's pair of row i. After, the lane
// has the whole row of its number, lane % 4, from left to right. All 32 lanes call it together.
__device__ __forceinline__ void gather_row(uint32_t pairs[4])
{
    const int own = threadIdx.x % 4;  // the row that this lane gets
    uint32_t whole[4];
    for (int row = 0; row < 4; row++)
        for (int other = 0; other < 4; other++) {
            const uint32_t pair = __shfl_sync(0xffffffff, pairs[row], other, 4);
            if (own == row)
                whole[other] = pair;
        }
    for (int i = 0; i < 4; i++)
        pairs[i] = whole[i];
}
// [end gather]

#endif
