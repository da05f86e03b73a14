/* As cudaMalloc and cudaFree, called at pc. */
#ifndef SIMT_ALLOCATE_H
#define SIMT_ALLOCATE_H

#include "base/base.h"

cudaError_t allocate_plain(void **pointer, size_t bytes, const void *pc);
cudaError_t free_plain(void *pointer, const void *pc);

#endif
