/* The kernels' heap: what their new and malloc return. */
#ifndef SIMT_HEAP_H
#define SIMT_HEAP_H

#include "base/base.h"

void *heap_allocate(size_t bytes, const void *pc); /* NULL: the heap is full */
void heap_free(void *pointer, const void *pc);
cudaError_t heap_set_limit(size_t bytes); /* cudaErrorInvalidValue once a kernel has used the heap */
size_t heap_limit(void);

#endif
