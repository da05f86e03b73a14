/* Kernels by their addresses, and what a program has asked for each: how much dynamic shared memory its launches may
 * have. */
#ifndef SIMT_FUNCTIONS_H
#define SIMT_FUNCTIONS_H

#include "base/base.h"

struct simt_kernel *function_find(const void *address);          /* NULL: that is no kernel */
cudaError_t function_missing(const void *address);               /* the error of a call that was given no kernel */
size_t function_dynamic_limit(const struct simt_kernel *kernel); /* 48 KiB, unless the program has asked for another */
bool function_opted_in(const struct simt_kernel *kernel);        /* it has */
cudaError_t function_occupancy(int *blocks, int threads,
                               size_t dynamic_shared); /* of any kernel: registers are unknown */
void function_has_static(struct simt_kernel *kernel,
                         size_t bytes); /* a launch has found so much static shared memory */

#endif
