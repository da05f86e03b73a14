/* Copies and fills by the API, called at pc. */
#ifndef SIMT_COPIES_H
#define SIMT_COPIES_H

#include "base/base.h"

cudaError_t copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                      enum cudaMemcpyKind kind, cudaStream_t stream, const void *pc);
cudaError_t fill_rows(void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream,
                      const void *pc); /* as cudaMemset2DAsync */

#endif
