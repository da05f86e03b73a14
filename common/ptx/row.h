// Eight neighbours in a row, 16 bits each: the 16 bytes that one store of a lane moves at most.
#ifndef PTX_ROW_H
#define PTX_ROW_H

#include <stddef.h>
#include <stdint.h>

// [store_row] Stores the eight neighbours at (row, col) to (row, col + 7) of C, as gather_row leaves them; col is a multiple of 8, and rows
// begin at multiples of 16 bytes. What lies beyond C's last row or column is left out.
template <class T>
__device__ __forceinline__ void store_row(T *C,  // [m, n], C_pitch elements from row to row
                                          const uint32_t pairs[4], int row, int col, int m, int n, int C_pitch)
{
    T *const to = &C[(size_t)row * C_pitch + col];
    const T *from = (const T *)pairs;
    if (row < m && col + 7 < n)
        *(uint4 *)to = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
    else if (row < m)
        for (int i = 0; i < 8; i++)
            if (col + i < n)
                to[i] = from[i];
}
// [end store_row]

#endif
