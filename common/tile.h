// Tiles of a matrix in shared memory, swizzled as step 30 derives it.
#ifndef TILE_H
#define TILE_H

#include "ptx/cp_async.h"

// Elements of 16 bits in 16 bytes, which is the most that one load or store moves.
constexpr int VECTOR = 8;

// [place] The column in shared memory of element (row, col) of a tile whose rows have D elements of 16 bits. Vectors change
// places within 128 bytes, by the last three bits of the row's number; where a row is an odd multiple of 64 bytes, within 64, by
// the two bits above the last.
template <int D>
__device__ constexpr int place(int row, int col)
{
    static_assert(D % 32 == 0, "rows are multiples of 64 bytes");
    return col ^ (D % 64 == 0 ? row % 8 : row / 2 % 4) * VECTOR;
}

// [copy_tile] A block of so many THREADS, each of which calls it, begins to copy a matrix's rows from `first` on to a tile of
// HEIGHT rows, as one group of cp.async. Rows beyond the last become 0, and nothing is read.
template <int THREADS, int HEIGHT, int D, typename T>
__device__ __forceinline__ void copy_tile(T tile[HEIGHT][D],  // in shared memory
                                          const T *from,      // [n, D]
                                          int first, int n)
{
    constexpr int C = D / VECTOR;
#pragma unroll
    for (int begin = 0; begin < HEIGHT * C; begin += THREADS) {
        const int i = begin + threadIdx.x, row = i / C, col = i % C * VECTOR;
        if (HEIGHT * C % THREADS == 0 || i < HEIGHT * C)
            cp_async_16(&tile[row][place<D>(row, col)], &from[(size_t)first * D + i * VECTOR],
                        row < n - first ? VECTOR * sizeof(T) : 0);
    }
    cp_async_commit_group();
}
// [end copy_tile]

#endif
