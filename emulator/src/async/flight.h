/* Transfers in flight, engine by engine, and the words of shared memory that they keep. For the files of this room; what others
 * ask, block/async.h has. */
#ifndef SIMT_FLIGHT_H
#define SIMT_FLIGHT_H

#include "async/transfer.h"
#include "order/race.h"
#include "warp/collective.h"

#define WORD 4 /* the smallest copy, and what is guarded */
#define FEW_PIECES 2
#define FEW_BYTES 16

struct flying {
    const char *call;
    const void *pc;
    struct block *block; /* and the thread of it that issued it */
    unsigned thread;
    uint32_t stamp; /* its engine's, and when it was issued, by the block's clock */
    uint32_t issued;
    u64 group;    /* how many its thread had committed before; of one that an mbarrier counts, the phase */
    bool generic; /* by that proxy */
    bool sent;    /* it writes what registers held: st.async, red.async */
    bool read;    /* it has been: what it is to write is held */
    bool rounds;  /* as the transfer says */
    struct reducing {
        bool reduces;
        enum simt_atomic_op op;
        enum simt_type type;
    } as;
    u64 fill;
    unsigned bytes, source_bytes; /* of all pieces, and of those that are read */
    unsigned n_pieces;
    struct piece few[FEW_PIECES], *many; /* NULL: few are enough */
    /* What the pieces are to write, one after the other: under checks what the sources held at the issue, and, once they
     * have been read, what they hold then. */
    unsigned char few_held[FEW_BYTES], *many_held;
};

struct waited {     /* when a thread, or a warp, last waited for groups */
    const void *at; /* NULL: not yet */
    uint32_t issued;
    u64 committed;
    unsigned groups_left;
};

struct engine {          /* its transfers in flight, oldest first */
    unsigned actor;      /* order.h, */
    struct block *block; /* of that one: of an mbarrier's, other blocks of the cluster may issue some */
    enum completion completed_by;
    struct flying *flying;
    unsigned first, n, room;
    uint32_t issued; /* the stamp of the last */
    uint32_t landed; /* and of the last that has landed */
    u64 committed;
    struct waited waited;
    struct engine *next; /* of an mbarrier: another's */
};

struct copies { /* cp.async of a thread */
    struct engine engine;
    u64 bytes;         /* that those in flight read which no mbarrier waits for */
    uint32_t attached; /* the first so many are waited for by mbarriers */
};

struct flight {
    struct copies copies[MAX_THREADS];
    struct engine bulk[MAX_THREADS];                     /* bulk copies in groups of a thread */
    struct engine *counted;                              /* those that mbarriers count */
    uint32_t counted_stamp;                              /* of the last of these */
    struct engine products[MAX_WARPS / WARPGROUP];       /* what wgmma of each warpgroup reads in shared memory, */
    struct warpgroup *warpgroups[MAX_WARPS / WARPGROUP]; /* and the rest of it: wgmma.c; NULL before the first */
    struct guards {
        uint16_t closed[SHARED_BYTES / WORD]; /* how many forbid to touch a word, */
        uint16_t held[SHARED_BYTES / WORD];   /* and how many to write it */
    } guards;
};

void flight_begin_block(struct block *b);
struct flight *flight_of(struct block *b); /* made if there is none */

static inline const struct piece *flying_pieces(const struct flying *f) { return f->many ? f->many : f->few; }
/* What it does with its target, and what that is called. */
static inline const char *flying_does(const struct flying *f) { return f->sent ? "store" : "copy"; }
static inline unsigned char *flying_held(const struct flying *f)
{
    return f->many_held ? f->many_held : (unsigned char *)f->few_held;
}

void engine_clear(struct engine *e); /* forgets what is in flight; keeps its memory */
void engine_free(struct engine *e);
struct flying *engine_add(struct engine *e); /* a place behind the last */
static inline struct flying *engine_oldest(const struct engine *e) { return &e->flying[e->first]; }
void engine_remove_oldest(struct engine *e);
static inline void engine_waited(struct engine *e, unsigned groups_left, const void *at)
{
    e->waited = (struct waited){at, e->issued, e->committed, groups_left};
}
/* Why does what was issued then, and was to be committed to that group, go on behind the last wait? In a sentence of what it is,
 * "copy". False: nobody has waited since. */
bool waited_for_less(const struct waited *w, uint32_t stamp, u64 group, const char *what, char *text, size_t size);

/* The transfers in flight of a block, one after the other. */
struct flight_search {
    struct engine *engine;
    struct flying *flying; /* NULL at first */
    unsigned i;
};
bool flight_next(struct block *b, struct flight_search *s);
/* The first of them that is to write there, if that is shared memory of the block; NULL: none. */
const struct flying *flight_to(struct block *b, const void *address, unsigned bytes);

/* Their bytes are forbidden, or to be read alone, until they are let go: of any block of the cluster. */
void guard_close(struct block *b, const void *address, u64 bytes);
void guard_open(struct block *b, const void *address, u64 bytes);
void guard_hold(struct block *b, const void *address, u64 bytes);
void guard_free(struct block *b, const void *address, u64 bytes);
/* May that not be read, or written? */
bool guard_forbids(const struct block *b, const void *address, unsigned bytes, bool store);
/* Do so many transfers forbid each word of it? */
bool guard_closed_by(const struct block *b, const void *address, unsigned bytes, unsigned n);

#endif
