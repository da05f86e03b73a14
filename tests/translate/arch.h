// Of arch.cu.
#pragma once

__host__ __device__ inline int of_header(int i)
{
#ifdef __CUDA_ARCH__
    return i + 1000;
#else
    return i + 2000;
#endif
}
