/* Addresses of inline PTX, and its operations on memory. */
#ifndef SIMT_PTX_MEMORY_H
#define SIMT_PTX_MEMORY_H

#include "ptx/ptx.h"

/* The generic address that an operand in brackets means in that space. */
void *ptx_address(const struct running *r, const struct ptx_operand *o, enum ptx_space space);

/* A copy is to go to the blocks of the cluster whose ranks are bits of that mask. */
struct transfer;
void ptx_multicast(const struct running *r, struct transfer *t, unsigned mask);

/* Has a value as many elements as the instruction says, each as wide as its type? */
bool ptx_fits_type(const struct instruction *in, const struct ptx_operand *o);

/* What .add and its like do, and with what, as atomic operations name it. */
enum simt_atomic_op ptx_atomic_op(const struct instruction *in);
enum simt_type ptx_atomic_type(const struct instruction *in);

#endif
