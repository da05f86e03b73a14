#include "tensor_map.h"

#include <cudaTypedefs.h>
#include <stdio.h>

static const char NAME[] = "cuTensorMapEncodeTiled";

// The driver's function, without linking to the driver; NULL, and a sentence on stderr, where it has none.
static PFN_cuTensorMapEncodeTiled_v12000 find_encode(void)
{
    void *function = NULL;
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    const cudaError_t error = cudaGetDriverEntryPointByVersion(NAME, &function, 12000, cudaEnableDefault, &found);
#else
    const cudaError_t error = cudaGetDriverEntryPoint(NAME, &function, cudaEnableDefault, &found);
#endif
    if (error != cudaSuccess)
        fprintf(stderr, "the driver cannot be asked for %s: %s\n", NAME, cudaGetErrorString(error));
    else if (found != cudaDriverEntryPointSuccess || !function)
        fprintf(stderr, "the driver has no %s, which makes tensor maps: it has to be one for CUDA 12.0 or newer\n",
                NAME);
    else
        return (PFN_cuTensorMapEncodeTiled_v12000)function;
    return NULL;
}

static CUtensorMapDataType map_type(enum dtype dtype)
{
    static const CUtensorMapDataType types[] = {
        [FP32] = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        [FP16] = CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        [BF16] = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
    };
    return types[dtype];
}

enum { MAX_RANK = 3 };

// The innermost dimension first; strides, in bytes, of all but that one.
struct shape {
    cuuint32_t rank;
    cuuint64_t dimensions[MAX_RANK], strides[MAX_RANK - 1];
    cuuint32_t box[MAX_RANK];
};

static int encode_map(CUtensorMap *map, enum dtype dtype, const void *tensor, const struct shape *shape,
                      CUtensorMapSwizzle swizzle)
{
    const PFN_cuTensorMapEncodeTiled_v12000 encode = find_encode();
    if (!encode)
        return cudaErrorNotSupported;
    const cuuint32_t steps[MAX_RANK] = {1, 1, 1};
    const CUresult result = encode(map, map_type(dtype), shape->rank, (void *)tensor, shape->dimensions, shape->strides,
                                   shape->box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                   CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result == CUDA_SUCCESS)
        return cudaSuccess;
    fprintf(stderr, "%s refused a map (error %d): ", NAME, (int)result);
    return cudaErrorInvalidValue;
}

int tensor_map_2d(CUtensorMap *map, enum dtype dtype, const void *matrix, int rows, int cols, int pitch, int box_rows,
                  int box_cols, CUtensorMapSwizzle swizzle)
{
    const struct shape shape = {
        .rank = 2,
        .dimensions = {(cuuint64_t)cols, (cuuint64_t)rows},
        .strides = {(cuuint64_t)pitch * dtype_bytes(dtype)},
        .box = {(cuuint32_t)box_cols, (cuuint32_t)box_rows},
    };
    const int status = encode_map(map, dtype, matrix, &shape, swizzle);
    if (status == cudaErrorInvalidValue)
        fprintf(stderr, "matrix [%d,%d] with a pitch of %d elements of %zu bytes, box [%d,%d], swizzle %d\n", rows,
                cols, pitch, dtype_bytes(dtype), box_rows, box_cols, (int)swizzle);
    return status;
}

int tensor_map_3d(CUtensorMap *map, enum dtype dtype, const void *tensor, int slices, int rows, int cols, int box_rows,
                  int box_cols, CUtensorMapSwizzle swizzle)
{
    const cuuint64_t row_bytes = (cuuint64_t)cols * dtype_bytes(dtype);
    const struct shape shape = {
        .rank = 3,
        .dimensions = {(cuuint64_t)cols, (cuuint64_t)rows, (cuuint64_t)slices},
        .strides = {row_bytes, (cuuint64_t)rows * row_bytes},
        .box = {(cuuint32_t)box_cols, (cuuint32_t)box_rows, 1},
    };
    const int status = encode_map(map, dtype, tensor, &shape, swizzle);
    if (status == cudaErrorInvalidValue)
        fprintf(stderr, "tensor [%d,%d,%d] of elements of %zu bytes, box [1,%d,%d], swizzle %d\n", slices, rows, cols,
                dtype_bytes(dtype), box_rows, box_cols, (int)swizzle);
    return status;
}
