// Host work spread over the machine's cores.
#ifndef PARALLEL_H
#define PARALLEL_H

#include <stddef.h>

// Calls body on ranges [first, last) that together are [0, count), on one thread per core, and returns when all are
// done.
void parallel_for(size_t count, void (*body)(void *context, size_t first, size_t last), void *context);

#endif
