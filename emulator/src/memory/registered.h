/* The host's memory that cudaHostRegister has opened to kernels. */
#ifndef SIMT_REGISTERED_H
#define SIMT_REGISTERED_H

#include "memory/place.h"

const struct object *registered_find(const void *address);        /* NULL: that is in none */
void registered_each(void (*visit)(const struct object *object)); /* of those with cells */
/* Called at pc. The error: it is registered already, or there is no room for its record. */
cudaError_t registered_add(void *host, size_t bytes, unsigned flags, const void *pc);
bool registered_remove(void *host); /* false: none begins there */

#endif
