/* Collectives: operations that the lanes of a warp do together, or the four warps of a warpgroup. Each has one
 * description, beside the function that joins it: how a report calls it, what is counted, and the function that exchanges the
 * lanes' payloads. */
#ifndef SIMT_COLLECTIVE_H
#define SIMT_COLLECTIVE_H

#include "block/block.h"
#include "count/counters.h"

struct exchange { /* all lanes have come */
    struct block *b;
    unsigned warp, warps;      /* the first, and how many */
    uint32_t lanes[WARPGROUP]; /* of each: named in the mask, and not left */
    uint32_t mask;
};

struct collective_op {
    struct waiting_kind waiting;
    enum event event;  /* EVENTS: none */
    bool orders;       /* memory, as __syncwarp() does */
    bool whole;        /* all 32 lanes must take part */
    bool of_warpgroup; /* the four warps of a warpgroup meet, all of them whole; it orders nothing */
    bool of_barrier;   /* where lanes come to a barrier together */
    void (*exchange)(const struct exchange *x); /* reads and writes the lanes' payloads; may be NULL */
};

struct collective { /* what a lane comes with; on its own stack */
    struct waiting waiting;
    const struct collective_op *op;
    unsigned qualifiers; /* which form of it: lanes that come with another do not meet */
    unsigned mask;
    void *payload; /* of the type that the operation says */
};

#define COLLECTIVE_RULE "All lanes that a mask names must make the same call with the same mask."
#define COLLECTIVE(NAME) \
    .waiting = { \
        .call = NAME, .deadlock = "divergent collective", .rule = COLLECTIVE_RULE, .describe = collective_describe}
void collective_describe(FILE *f, const struct thread *t);

#define WARPGROUP_RULE "All 128 threads of a warpgroup must make the same call with the same operands."
#define WARPGROUP_COLLECTIVE(NAME) \
    .waiting = {.call = NAME, .deadlock = "divergent collective", .rule = WARPGROUP_RULE}, .of_warpgroup = true, \
    .whole = true

/* lane: of the exchange; those of its second warp begin at 32. */
static inline void *collective_payload(const struct exchange *x, unsigned lane)
{
    return x->b->threads[x->warp * WARP + lane].call->payload;
}

/* The running thread takes part in that form of an operation, called from pc; returns when it is done. */
void collective_join_as(const struct collective_op *op, unsigned qualifiers, unsigned mask, void *payload,
                        const void *pc);
static inline void collective_join(const struct collective_op *op, unsigned mask, void *payload, const void *pc)
{
    collective_join_as(op, 0, mask, payload, pc);
}

void collective_sync(unsigned mask, const void *pc); /* __syncwarp() */

/* As PTX's instructions call them, from pc. */
/* The bits of lane `from`. */
u64 collective_shuffle(enum simt_shuffle how, unsigned mask, u64 bits, unsigned from, const void *pc);
unsigned collective_vote(enum simt_vote how, unsigned mask, bool predicate,
                         const void *pc); /* the lanes that say yes */
/* The lanes with the same bits, of so many bytes. */
unsigned collective_match(enum simt_match how, unsigned mask, u64 bits, unsigned bytes, const void *pc);
unsigned collective_reduce(enum simt_reduce how, unsigned mask, unsigned value, const void *pc);
unsigned collective_active(const void *pc);

void collective_lane_left(struct block *b, unsigned warp); /* the lanes that remain may be complete now */
bool collective_resolve_active(struct block *b);           /* nobody can run: those in __activemask() may go on */

#endif
