// Tensor maps: what a tensor copy's engine has to know of a matrix, in 128 bytes that the driver writes.
#ifndef TENSOR_MAP_H
#define TENSOR_MAP_H

#include <cuda.h>
#include <cuda_runtime_api.h>
#include "dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

// The matrix is row-major, begins at a multiple of 16 bytes, and its rows are a pitch apart, a multiple of 16 bytes. A copy moves a box:
// so many neighbouring elements, at most 256, of so many neighbouring rows, at most 256. In shared memory its rows follow
// one another with no gap, swizzled as asked for. Returns a cudaError_t; where that is not cudaSuccess, stderr says why.
int tensor_map_2d(CUtensorMap *map, enum dtype dtype, const void *matrix, int rows, int cols, int pitch, int box_rows,
                  int box_cols, CUtensorMapSwizzle swizzle);

// The same of a tensor [slices, rows, cols] with no gaps, row-major matrices that follow one another. A box is of one of them: where it
// reaches beyond the last row, it does not reach into the next matrix.
int tensor_map_3d(CUtensorMap *map, enum dtype dtype, const void *tensor, int slices, int rows, int cols, int box_rows,
                  int box_cols, CUtensorMapSwizzle swizzle);

#ifdef __cplusplus
}
#endif
#endif
