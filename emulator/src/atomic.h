/* Atomic operations of the running thread, checked, ordered and done. */
#ifndef SIMT_ATOMIC_H
#define SIMT_ATOMIC_H

#include "base.h"

struct atomic {
    enum simt_atomic_op op;
    enum simt_type type;
    enum simt_scope scope;
};

/* Values as bit patterns; returns the old one. pc: where the program continues. */
void fence_do(enum simt_scope scope, bool sequential, const void *pc);
u64 atomic_do(const struct atomic *a, void *address, u64 value, u64 compare, const void *pc);

#endif
