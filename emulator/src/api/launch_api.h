/* Launches by the API's functions. */
#ifndef SIMT_LAUNCH_API_H
#define SIMT_LAUNCH_API_H

#include "base/base.h"

/* cudaLaunchKernel(), called at pc. */
cudaError_t launch_at(const void *function, dim3 grid, dim3 block, void **arguments, size_t dynamic_shared,
                      cudaStream_t stream, const void *pc);

#endif
