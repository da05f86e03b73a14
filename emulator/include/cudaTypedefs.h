/* Types of pointers to the driver API's functions, as cudaGetDriverEntryPoint hands them out: those of tensor maps. */
#ifndef CUDATYPEDEFS_H
#define CUDATYPEDEFS_H

#include "cuda.h"

typedef CUresult (*PFN_cuTensorMapEncodeTiled_v12000)(
    CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *memory, const cuuint64_t *dimensions,
    const cuuint64_t *strides, const cuuint32_t *box, const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill);
typedef PFN_cuTensorMapEncodeTiled_v12000 PFN_cuTensorMapEncodeTiled;
typedef CUresult (*PFN_cuTensorMapEncodeIm2col_v12000)(
    CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *memory, const cuuint64_t *dimensions,
    const cuuint64_t *strides, const int *lower_corner, const int *upper_corner, cuuint32_t channels, cuuint32_t pixels,
    const cuuint32_t *element_strides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
    CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill);
typedef PFN_cuTensorMapEncodeIm2col_v12000 PFN_cuTensorMapEncodeIm2col;
typedef CUresult (*PFN_cuTensorMapReplaceAddress_v12000)(CUtensorMap *map, void *memory);
typedef PFN_cuTensorMapReplaceAddress_v12000 PFN_cuTensorMapReplaceAddress;

#endif
