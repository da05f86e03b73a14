/* The program's variables in global and constant memory. */
#ifndef SIMT_SYMBOLS_H
#define SIMT_SYMBOLS_H

#include "memory/place.h"

const struct object *symbol_find(const void *address);        /* the variable there; NULL: none */
const struct object *symbol_closest(const void *address);     /* however far; NULL: there is none */
const struct object *symbol_nearest(const void *address);     /* within 256 bytes of one; NULL: none is near */
void symbol_each(void (*visit)(const struct object *object)); /* of those with cells */

#endif
