/* Who runs next. */
#ifndef SIMT_RUN_WAITING_H
#define SIMT_RUN_WAITING_H

#include "block/waiting.h"

/* The thread that runs next, after the running one; NO_THREAD when none can. */
unsigned next_ready(const struct block *b);
/* The running thread cannot go on, or has left: the next one; a report where there is none though some wait. */
unsigned next_or_deadlock(struct block *b);

#endif
