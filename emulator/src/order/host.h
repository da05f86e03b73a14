/* What checked code of the host does with memory that kernels use. */
#ifndef SIMT_HOST_H
#define SIMT_HOST_H

#include "base/base.h"

/* An access at code address pc: reports it unless the host may do that. */
void host_access(const void *address, size_t bytes, enum access_kind kind, const void *pc);

#endif
