/* The ticks that a kernel reads: clock64(), clock() and globaltimer. Only the program and special.c call this, as
 * simt/runtime.h declares it. */
#define _GNU_SOURCE
#include "order/undefined.h"
#include <time.h>

long long simt_clock(void)
{
    struct timespec now;
    static long long ticks;
    if (undefined_on_trial) /* copies must see the same */
        return ++ticks;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* clock() of a .cu file, which simtcc gives this name: a kernel's ticks as clock64() does, the host's is the C library's. */
clock_t simt_clock_of_caller(void) { return simt_on_device() ? (clock_t)simt_clock() : clock(); }
