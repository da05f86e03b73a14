/* Transfers: what moves bytes while its issuer goes on. cp.async, bulk copies and tensor copies are each a transfer: pieces of
 * memory that are read and written, and what completes them.
 *
 * Asynchrony is adversarial: a transfer is done as late as it may be. Until it is read, nobody may write what it reads; until it
 * is complete, nobody may touch what it writes. An engine (order.h) is the actor of its accesses. */
#ifndef SIMT_TRANSFER_H
#define SIMT_TRANSFER_H

#include "base/access.h"
#include "base/transfer.h"

/* The running thread issues it. */
void transfer_issue(const struct transfer *t);
/* cp.async.bulk.commit_group and wait_group; read: only until the sources have been read. */
void transfer_commit(void);
void transfer_wait(unsigned groups_left, bool read, const void *pc);

/* ---- for the other rooms ---- */

/* The running thread leaves, and then its block: what they have in flight is looked at. */
void transfer_thread_left(struct block *b);
void transfer_block_left(struct block *b);

/* ---- for the files of this room ---- */

struct engine;
struct flying;

/* A prefetch, or a copy of no bytes: it is done when it is issued. */
bool transfer_writes_nothing(const struct transfer *t);
/* The running thread issues it by that engine, and all that it writes lies so many bytes further. */
struct flying *transfer_begin(struct engine *e, const struct transfer *t, long further);
/* Reads its sources if it has not; waited_at: where somebody waits for it. */
void transfer_read(struct engine *e, struct flying *f, const void *waited_at);
/* The oldest of an engine's: reads its sources if it has not, and writes. */
void transfer_land_oldest(struct engine *e, const void *waited_at);
/* What it reads and writes, in the name of the thread that issued it. */
struct access transfer_access(const struct engine *e, const struct flying *f, const void *address, unsigned bytes,
                              enum access_kind kind);

#endif
