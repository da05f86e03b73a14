/* Transfers: what moves bytes while its issuer goes on. cp.async, bulk copies and tensor copies are each a transfer: pieces of
 * memory that are read and written, and what completes them.
 *
 * Asynchrony is adversarial: a transfer is done as late as it may be. Until it is read, nobody may write what it reads; until it
 * is complete, nobody may touch what it writes. An engine (order.h) is the actor of its accesses. */
#ifndef SIMT_TRANSFER_H
#define SIMT_TRANSFER_H

#include "base/transfer.h"

/* The running thread issues it. */
void transfer_issue(const struct transfer *t);
/* cp.async.bulk.commit_group and wait_group; read: only until the sources have been read. */
void transfer_commit(void);
void transfer_wait(unsigned groups_left, bool read, const void *pc);

#endif
