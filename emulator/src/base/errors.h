/* The errors of the runtime API. */
#ifndef SIMT_ERRORS_H
#define SIMT_ERRORS_H

#include "base/base.h"

/* Remembers the error for cudaGetLastError of this host thread, and returns it. */
cudaError_t simt_fail(cudaError_t error);

#endif
