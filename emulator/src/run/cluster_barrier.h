/* The barrier of a cluster's blocks: all threads of all of them arrive, and each waits for the others' arrivals. */
#ifndef SIMT_RUN_CLUSTER_BARRIER_H
#define SIMT_RUN_CLUSTER_BARRIER_H

#include "block/cluster.h"

void cluster_barrier_begin(struct cluster *c);
/* barrier.cluster.arrive and .wait by the running thread, called at pc. Relaxed: orders only what a fence has released. */
void cluster_barrier_arrive(bool relaxed, enum meeting as, const void *pc);
void cluster_barrier_wait(enum meeting as, const void *pc);
void cluster_barrier_left(struct block *b); /* the running thread has left, and is not waited for */

#endif
