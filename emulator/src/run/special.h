/* PTX's special registers (PTX ISA, "Special Registers"), as the running thread of a block reads them. */
#ifndef SIMT_SPECIAL_H
#define SIMT_SPECIAL_H

#include "base/base.h"

struct block;

typedef u64 special_register(const struct block *b);
special_register *special_find(const char *name); /* "tid.x"; NULL: none that is known */

#endif
