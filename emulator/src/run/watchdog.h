/* A launch in which no CUDA thread has ended for SIMT_TIMEOUT seconds (60 by default, 0: never) is reported. */
#ifndef SIMT_WATCHDOG_H
#define SIMT_WATCHDOG_H

#include <pthread.h>

void watchdog_begin(void);    /* a launch begins; its first call starts the watchdog's own OS thread */
void watchdog_progress(void); /* a CUDA thread of the launch has ended, or all blocks have met */
void watchdog_end(void);      /* the launch is over */
unsigned watchdog_seconds(void);

#define WATCHDOG_FRAMES 16

/* Stops these OS threads for good, each where it is, and says where: its code address, then those that the calls
 * around it return to, innermost first, NULL after the last. pcs: n rows of WATCHDOG_FRAMES; a thread that did not
 * answer within a second has NULL for its first. Called by another thread, before the program ends. */
void watchdog_stop_workers(const pthread_t *ids, unsigned n, const void **pcs);

/* Called in the watchdog's thread, while the workers run on. Whatever it does, the program ends ten seconds later. */
void report_endless(void);

#endif
