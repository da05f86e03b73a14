/* A clock says, of some threads, up to which stamp it knows what they did. */
#ifndef SIMT_CLOCK_H
#define SIMT_CLOCK_H

#include "base/base.h"

#define EVERY_THREAD 0xffffffffu
/* Numbers of threads come first. */
static inline bool is_engine(unsigned actor) { return actor >= MAX_THREADS && actor != EVERY_THREAD; }

#define ORDERED_SCOPES 3 /* order knows of the block, the cluster and the device, which stands for the system, too */

struct entry { /* what that thread of that block did up to that stamp is known */
    uint32_t serial, thread, stamp;
};

struct clock { /* all zero: knows nothing */
    unsigned n, capacity;
    struct entry *entries;
};

void clock_clear(struct clock *c); /* knows nothing; keeps its memory */
void clock_free(struct clock *c);
void clock_copy(struct clock *into, const struct clock *from);
void clock_add(struct clock *c, struct entry e);
void clock_join(struct clock *into, const struct clock *from);                 /* into knows what either knew */
void clock_forget(struct clock *c, uint32_t serial);                           /* what it knows of that block */
uint32_t clock_stamp(const struct clock *c, uint32_t serial, unsigned thread); /* up to which it knows that actor */
uint32_t clock_latest(const struct clock *c, uint32_t serial); /* stamp of what it knows of that block; 0: nothing */
bool clock_knows(const struct clock *c, uint32_t serial, unsigned thread, uint32_t stamp);

#endif
