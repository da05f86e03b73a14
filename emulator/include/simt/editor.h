/* What clangd reads before a .cu file, by the file .clangd at the root. The words that simt-translate knows mean nothing
 * here, so that kernels are functions like others; clang's CUDA mode is there for `<<<…>>>` alone. It asks for the
 * function that takes a launch's configuration, and .clangd waives that it also asks for a kernel before the brackets. */
#ifndef SIMT_EDITOR_H
#define SIMT_EDITOR_H

/* clang's own <new> declares what CUDA calls on the device. */
#define __device__ __attribute__((device))
#include "../cuda_runtime.h"
#undef __device__

extern "C" int cudaConfigureCall(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0);
extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0);

#define __global__
#define __device__
#define __host__
#define __shared__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)

#endif
