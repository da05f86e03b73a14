// The swizzle of step 30, which keeps the accesses of ldmatrix to a tile in shared memory free of bank conflicts.
#ifndef SWIZZLE_H
#define SWIZZLE_H

// [place] The column in shared memory of element (row, col) of a tile whose rows have D elements of 16 bits. Vectors of 8, 16 bytes,
// change places within 128 bytes, by the last three bits of the row's number; where a row is an odd multiple of 64 bytes, within
// 64, by the two bits above the last.
template <int D>
__device__ constexpr int place(int row, int col)
{
    static_assert(D % 32 == 0, "rows are multiples of 64 bytes");
    return col ^ (D % 64 == 0 ? row % 8 : row / 2 % 4) * 8;
}

#endif
