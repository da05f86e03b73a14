/* Exponentials, which a kernel's timeline shows. simtcc renames calls of the C library's in checked kernels
 * (hooks.syms), so that they come here; those of host code in the same file too, with no worker. Only the program calls
 * this. */
#define _GNU_SOURCE
#include "block/worker.h"
#include "count/counters.h"
#include <math.h>

#define EXPONENTIAL(T, NAME) \
    T simt_hook_##NAME(T x) \
    { \
        if (simt_worker) \
            counters_event(block_here(), CALLER(), EVENT_EXPONENTIAL); \
        return NAME(x); \
    }
EXPONENTIAL(float, expf)
EXPONENTIAL(float, exp2f)
EXPONENTIAL(float, exp10f)
EXPONENTIAL(double, exp)
EXPONENTIAL(double, exp2)
EXPONENTIAL(double, exp10)
