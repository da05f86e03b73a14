/* What a word that is written by strong accesses held before, and who knows that it no longer does. A strong load may return
 * any of these values that is not older than what its thread knows of: a program that waits for too little then goes on as
 * early as it may on a GPU, whatever the order in which the emulator runs it. */
#ifndef SIMT_HISTORY_H
#define SIMT_HISTORY_H

#include "block/block.h"
#include "order/order.h"

struct message {                           /* what a strong write hands on */
    struct clock of_scope[ORDERED_SCOPES]; /* to readers of its own block, of its own cluster, to all */
    struct clock loose;                    /* if every scope were wide enough */
    struct clock done;                     /* by the writer, whatever is ordered */
    struct step released, written;
    uint32_t block, cluster; /* the block that of_scope[SIMT_SCOPE_BLOCK] is for, and the first of the cluster */
    u64 sequential;          /* order.h: the last such fence that happened before */
};
void message_copy(struct message *into, const struct message *from);
void message_clear(struct message *m);
void message_free(struct message *m);

struct kept {
    u64 value;           /* of the newest: in memory */
    struct entry writer; /* serial 0: from before the launch, or by a plain store, or nobody asks any more */
    u64 tick;            /* when, among all strong writes and fences */
    struct message left;
};

struct reader { /* threads of one warp */
    uint32_t serial, warp;
    unsigned newest;    /* which write they have read */
    struct entry first; /* of them to have read that */
    bool several;
    const void
        *older_at; /* where they first read, if that was older than the last and they have not come there again */
};

#define MOST_PAST 8

struct history {
    unsigned bytes;
    struct entry last;           /* to touch it as a writer: an atomicCAS may have changed nothing */
    unsigned newest;             /* number of the last write */
    unsigned n;                  /* of the writes before it that are kept */
    unsigned unread;             /* writes since a strong load */
    unsigned content;            /* readers that have not come again after an older value */
    bool last_first;             /* while there are such: the next new reader begins with the last write */
    struct kept past[MOST_PAST]; /* past[newest % MOST_PAST] is the last write */
    unsigned n_readers, readers_capacity;
    struct reader *readers;
};

/* before: what the word holds until this write. in_turn: so do others, one after the other, as
 * atomic operations do. Called after race_access(). */
void history_write(struct history *h, const struct access *a, u64 before, bool in_turn, const struct message *left);
/* That thread has read the write of that number, at pc. */
void history_read(struct history *h, struct block *b, unsigned thread, unsigned number, const void *pc);
/* The write that this strong load is to return: the oldest that it may. But who looks only once, as at a
 * flag that says whether something has been done already, is at times to find the last. */
unsigned history_choose(struct history *h, const struct access *a);
/* Has one of the writes that are kept been done by that thread at that stamp? */
bool history_has(const struct history *h, struct entry writer);
/* That thread's atomic operation there has changed nothing. */
void history_keep(struct history *h, const struct block *b, unsigned thread);
void history_reset(struct history *h);
void history_free(struct history *h);

#endif
