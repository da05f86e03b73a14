// A tensor map of columns of images, for convolutions: only those of tiles are known.

#include <cudaTypedefs.h>

int main(void)
{
    void *function = NULL;
    cudaDriverEntryPointQueryResult found;
    CUtensorMap map;
    const cuuint64_t sizes[] = {64, 8, 8, 2}, strides[] = {128, 1024, 8192};
    const cuuint32_t steps[] = {1, 1, 1, 1};
    const int lower[] = {0, 0}, upper[] = {0, 0};
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeIm2col", &function, 12000, cudaEnableDefault, &found);
    if (found != cudaDriverEntryPointSuccess)
        return 1;
    ((PFN_cuTensorMapEncodeIm2col_v12000)function)(  // expect: cuTensorMapEncodeIm2col
        &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4, NULL, sizes, strides, lower, upper, 64, 8, steps,
        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return 0;
}
