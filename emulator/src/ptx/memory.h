/* Addresses of inline PTX. */
#ifndef SIMT_PTX_MEMORY_H
#define SIMT_PTX_MEMORY_H

#include "ptx/ptx.h"

/* The generic address that an operand in brackets means in that space, of `bytes` bytes. */
void *ptx_address(const struct running *r, const struct ptx_operand *o, enum ptx_space space);

#endif
