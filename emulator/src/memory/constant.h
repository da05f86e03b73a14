/* Read-only parts of the program. */
#ifndef SIMT_CONSTANT_H
#define SIMT_CONSTANT_H

#include "base/base.h"

bool memory_is_constant(const void *address); /* does it lie in one? */

#endif
