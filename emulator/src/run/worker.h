/* The OS threads that run blocks. */
#ifndef SIMT_RUN_WORKER_H
#define SIMT_RUN_WORKER_H

#include "block/worker.h"

void workers_start(void);           /* once */
void workers_run(struct launch *l); /* returns when all clusters are done, or the launch is cancelled */
void workers_forget_records(void);  /* of shared memory, between launches */
/* May another block go on, on this worker or on another one? */
bool worker_has_other_block(struct worker *w);

#endif
