/* Atomic operations of the running thread, checked, ordered and done. */
#ifndef SIMT_ATOMIC_H
#define SIMT_ATOMIC_H

#include "base/base.h"

struct atomic {
    enum simt_atomic_op op;
    enum simt_type type;
    enum simt_scope scope;
};

void fence_do(enum simt_scope scope, bool sequential, const void *pc);

/* Values as bit patterns; returns the old one. pc: where the program continues. */
u128 atomic_do(const struct atomic *a, void *address, u128 value, u128 compare, const void *pc);

unsigned atomic_bytes(enum simt_type type);
/* By the host, of memory that it may touch. */
u128 atomic_of_host(const struct atomic *a, void *address, u128 value, u128 compare);

/* By one instruction, on n elements that are neighbours, of global memory: each is atomic by itself. The values become the
 * old ones. */
void atomic_do_vector(const struct atomic *a, void *address, unsigned n, u64 *values, const void *pc);

#endif
