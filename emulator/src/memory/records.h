/* Records of who touched each word of shared and global memory. A cell remembers, for each 4-byte word, the last write and
 * the reads since. Words touched in parts are split into cells of one byte: neighbours may write neighbouring bytes.
 *
 * A record of reads stands for all lanes in `who` of all warps in `warps`: one is enough where all warps read a word in one
 * way. What has no place in its cell is kept beside it. */
#ifndef SIMT_RECORDS_H
#define SIMT_RECORDS_H

#include "base/base.h"

#define SHARED_READERS 4
#define GLOBAL_READERS 2

/* The records of one object, `readers` of them for the reads of each word. */
struct cells *race_cells(size_t bytes, unsigned readers);
void race_cells_free(struct cells *cells);
void race_cells_clear(struct cells *cells);

/* COVERED: of a record beside a cell's last write, a plain store that a strong one has come on top of. It races with whoever
 * is not ordered behind it, though the strong one does not. */
enum strength {
    PLAIN,
    VOLATILE,
    VOLATILE_CLUSTER,
    VOLATILE_BLOCK,
    ATOMIC_BLOCK,
    ATOMIC_CLUSTER,
    ATOMIC_DEVICE,
    COVERED
};

#define STAMP_BITS 29

struct record {
    uint32_t serial; /* of the block, or of the engine's; 0: nobody */
    uint32_t who;    /* the lanes; of a cell's last write: lane 5 | turn 8, and the flags below */
    u64 key;         /* stamp STAMP_BITS | collective 1 | strength 3 | read-only 1 | code address 30 */
    uint32_t warps;  /* a bit for each */
    uint16_t engine; /* 0: these threads themselves; else it did it for the one of them, */
    int16_t issuer;  /* whose block has a serial so much greater */
};
#define SPLIT 0x80000000u
#define CARELESS 0x2000u
#define COMPARES 0x4000u /* by atomicCAS, which may have written nothing */
#define SPILLED 0x8000u  /* of this cell's reads, some are kept beside it */
#define STAMP(r) ((uint32_t)((r)->key >> (64 - STAMP_BITS)))
#define IS_COLLECTIVE(r) ((bool)((r)->key >> 34 & 1))
#define STRENGTH(r) ((enum strength)((r)->key >> 31 & 7))
#define IS_READ_ONLY(r) ((bool)((r)->key >> 30 & 1)) /* a load by the path that takes memory for constant */
#define LANE(r) ((r)->who & 31)
#define TURN(r) ((r)->who >> 5 & 0xff)
#define WRITER(r) ((unsigned)__builtin_ctz((r)->warps | 1u << 31) * WARP + LANE(r)) /* of a last write */

struct cell {
    struct record write;
    struct record reads[]; /* cells->readers; the first is the latest */
};

struct cells {
    size_t bytes, cell_bytes;
    unsigned readers;
    unsigned char *words, *parts;
};

static inline struct cell *word_cell(const struct cells *c, size_t offset)
{
    return (struct cell *)(c->words + offset / 4 * c->cell_bytes);
}
static inline struct cell *part_cell(const struct cells *c, size_t offset)
{
    return (struct cell *)(c->parts + offset * c->cell_bytes);
}

_Static_assert(STAMP_BITS + 1 + 3 + 1 + 30 == 64, "a key is full");

/* Code addresses in 30 bits: from the program's start, or, in shared objects, from a table. */
extern char __ehdr_start[]; /* of the program, or of the shared object that this runtime is in */
#define NEAR_BITS (1u << 29)
unsigned record_distant(const void *pc);

static inline unsigned code_place(const void *pc)
{
    size_t offset = (size_t)((const char *)pc - __ehdr_start);
    return offset < NEAR_BITS ? (unsigned)offset : record_distant(pc);
}
const void *code_at(unsigned place);

static inline enum strength record_strength(const struct record *r)
{
    return STRENGTH(r) == COVERED ? PLAIN : STRENGTH(r);
}

static inline u64 record_key(uint32_t stamp, bool collective, enum strength strength, bool read_only, const void *pc)
{
    return (u64)stamp << (64 - STAMP_BITS) | (u64)collective << 34 | (u64)strength << 31 | (u64)read_only << 30 |
           code_place(pc);
}
static inline const void *record_pc(const struct record *r) { return code_at((unsigned)(r->key & 0x3fffffff)); }

/* Of a record beside a cell's last write: is it a store all the same? */
static inline bool record_stores(const struct record *r) { return STRENGTH(r) >= ATOMIC_BLOCK; }

/* Who did it, where that is one of these threads, or for it. */
static inline unsigned record_actor(const struct record *r, unsigned thread) { return r->engine ? r->engine : thread; }

/* The serial of the block of those threads. */
static inline uint32_t record_issuer(const struct record *r) { return r->serial + (uint32_t)r->issuer; }

/* Adds what one more lane has done. False: the record would then stand for more than has been done. */
static inline bool record_extend(struct record *r, uint32_t lane, uint32_t warp)
{
    if (r->who == lane) {
        r->warps |= warp;
        return true;
    }
    if (r->warps == warp) {
        r->who |= lane;
        return true;
    }
    return (r->who & lane) && (r->warps & warp);
}

/* The same as a plain store that is covered. */
struct record record_covered(const struct record *r);

/* Adds the second, if the first then stands for no more than has been done. */
bool record_join(struct record *r, const struct record *added);

/* The reads beside a cell, for whoever may touch the cell. */
struct spill {
    struct spill *next;
    const struct cell *cell;
    unsigned n, capacity;
    struct record *reads;
};
struct spill *spill_of(const struct cell *c); /* NULL: none */
/* Reads of blocks before that serial are no longer of account. False: there is no more memory for them. */
bool spill_add(struct cell *c, const struct record *added, uint32_t least_serial);
void spill_copy(struct cell *to, const struct cell *from);
u64 spilled(void); /* records of this launch so far */
void spills_end_launch(void);

#endif
