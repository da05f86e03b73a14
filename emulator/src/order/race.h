/* Races: who touched each word of shared and global memory last, and whether something orders that before this. */
#ifndef SIMT_RACE_H
#define SIMT_RACE_H

#include "block/block.h"
#include "order/order.h"
#include "memory/place.h"

struct actor { /* a thread of a block, and where in the program it did what is spoken of, or had it done */
    uint32_t serial;
    unsigned thread;
    const void *pc;
};

void race_access(const struct access *a, const struct place *place);
/* All words there are about to be touched, perhaps for the first time. */
void race_expect(struct block *b, const void *address, unsigned bytes);
/* The running thread does atomicCAS there, after race_access(): what it loaded before was only a first guess, and decided
 * whether to try at all. */
void race_tries(struct block *b, const void *address, unsigned bytes);

/* Called before a thread does anything else: its last stores are done, and can be judged by what they changed. */
void race_judge(struct block *b);
/* The same of stores that have been done for certain, since something has changed; the others wait. */
void race_judge_done(const struct block *b);
/* The same of stores that are to be done later, of these bytes, which will lie from `to` on. */
void race_judge_copy(struct block *b, const unsigned char *to, const unsigned char *stores);
/* While one has it, no other worker touches the records of that place, or its memory to hold an older value; NULL: there
 * are no others. */
bool *race_lock(const struct block *b, const struct place *place);
void race_unlock(bool *lock);
/* Who wrote to that place last, in this launch? False: nobody that a cell remembers. */
bool race_last_writer(const struct block *b, const struct place *place, struct actor *writer);
/* At what stamp of that one's block. */
uint32_t race_last_stamp(const struct block *b, const struct place *place);
void race_end_launch(void);

/* The running thread's strong load there may be to return an older value: other workers' threads wait until it goes on, or
 * what is lent is taken back. writers: who wrote last to the first and the last word of it. */
bool race_begin_lending(struct block *b, const void *address, unsigned bytes, struct entry writers[2]);
void race_lend(struct block *b, unsigned bytes, u64 value); /* which the word holds until then */
void race_take_back(struct worker *w);
/* Is another worker's thread about to store there by a strong access? */
bool race_other_stores(const struct block *b, const void *address);

/* A load by a path that takes memory for constant as long as the kernel runs. */
void race_read_only(const struct access *a, const struct place *place);

struct outside_conflict { /* with what a kernel did: found by what is no kernel's */
    struct actor who;
    bool store, strong;
};
/* The first thing that a kernel did to these bytes and that does not go with a load or store of them, among blocks of a
 * serial of at least `least` for which `counts` holds. */
bool race_find(const struct cells *cells, size_t offset, size_t bytes, bool store, uint32_t least,
               bool (*counts)(const void *context, uint32_t serial), const void *context,
               struct outside_conflict *found);

enum why { NOTHING_ORDERS, SCOPE_TOO_SMALL, FENCE_MISSING, TAKEN_FOR_CONSTANT };

struct conflict {        /* two accesses that nothing orders, one of them a write */
    struct block *block; /* of the actor */
    struct place place;
    unsigned bytes;
    enum access_kind now, before;
    struct {
        uint32_t serial;
        unsigned thread, engine;
    } actor, other;
    const void *pc, *other_pc;
    enum why why;
    bool is_of_cluster; /* SCOPE_TOO_SMALL: the scope is not a block's */
    struct way way;     /* FENCE_MISSING; written.pc NULL: not known */
};

/* Stores that race, unless they store what is there already: known once they have been done. */
struct suspicions {
    unsigned n, room;
    struct suspicion {
        unsigned char before[16];
        struct conflict conflict;
    } *of;
};

#endif
