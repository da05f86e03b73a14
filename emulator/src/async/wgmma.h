/* Products of a warpgroup: wgmma (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions").
 *
 * A product is one operation of its warpgroup, by an engine of its own (order.h). Asynchrony is adversarial: it reads its operands
 * in shared memory when the first of the four warps waits for the group that covers it, and a warp's accumulators hold its sums
 * from that warp's own wait on. Until then they hold NaN. Products on the same accumulators are computed one after the other. */
#ifndef SIMT_WGMMA_H
#define SIMT_WGMMA_H

#include "../../include/simt/matrix.h"
#include "base/base.h"

struct block;

#define A_REGISTERS 4

struct wgmma { /* as a thread issues it */
    const struct product *product;
    u64 a, b;                          /* descriptors */
    bool a_is_mn_major, b_is_mn_major; /* warp/descriptor.h */
    bool from_registers;               /* A has no descriptor, but these: */
    uint32_t values[A_REGISTERS];
    void *places[A_REGISTERS]; /* the variables that stand for them; NULL: a value that no variable holds */
    bool accumulates;          /* else sums begin at 0 */
    bool negates;
    unsigned n; /* accumulators, and the variables that stand for them */
    void *const *accumulators;
};

/* By the running thread, at pc; all of its warpgroup issue it, all of its warp do the others. */
void wgmma_issue(const struct wgmma *w, const void *pc);
void wgmma_fence(const void *pc);
void wgmma_commit(const void *pc);
void wgmma_wait(unsigned groups_left, const void *pc);

/* ---- for the other rooms ---- */

void wgmma_thread_left(struct block *b); /* the running one */

/* ---- for the files of this room ---- */

struct engine;
struct flying;

void wgmma_begin_block(struct block *b);
/* Why its operands are still to stay as they are. */
void wgmma_say_missing(const struct engine *e, const struct flying *f, char *text, size_t size);

#endif
