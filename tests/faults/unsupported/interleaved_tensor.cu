// A copy of a tensor whose map is interleaved.

#include <cuda.h>

__global__ void prefetch(const __grid_constant__ CUtensorMap map)
{
    asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global [%0, {%1, %1, %1}];" ::"l"(&map), "r"(0));  // expect: interleaved tensors
}

int main(void)
{
    CUtensorMap map;
    void *memory;
    const cuuint64_t sizes[] = {64, 8, 8}, strides[] = {128, 1024};
    const cuuint32_t box[] = {8, 4, 4}, steps[] = {1, 1, 1};
    cudaMalloc(&memory, 8192);
    CUresult result = cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 3, memory, sizes, strides, box, steps,
                                             CU_TENSOR_MAP_INTERLEAVE_16B, CU_TENSOR_MAP_SWIZZLE_NONE,
                                             CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS)
        return 1;
    prefetch<<<1, 1>>>(map);
    return cudaDeviceSynchronize();
}
