/* What a program has asked for a kernel: how much dynamic shared memory its launches may have. */
#ifndef SIMT_FUNCTIONS_H
#define SIMT_FUNCTIONS_H

#include "base.h"

size_t function_dynamic_limit(const void *function);          /* 48 KiB, unless it has been opted in for more */
void function_has_static(const void *function, size_t bytes); /* a launch has found so much static shared memory */

#endif
