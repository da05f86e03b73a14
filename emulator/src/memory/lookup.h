/* Looking for objects, beyond memory_find(). */
#ifndef SIMT_LOOKUP_H
#define SIMT_LOOKUP_H

#include "memory/memory.h"

/* Calls `visit` on every live object that has cells, variables included. It may not allocate or free any. */
void memory_each(void (*visit)(const struct object *object));
const struct object *memory_nearest(const void *address); /* for reports, and safe in a signal handler; NULL: none */
/* Of allocations and variables, that which is the fewest bytes away from any address; NULL: there is none. */
const struct object *memory_closest(const void *address);
/* Of an address that is none of the above: is something there at all, and is it not the emulator's own? */
bool memory_is_host(const void *address);

#endif
