/* The barrier of a grid. A block comes to it as a whole; while it waits, its worker goes on with other blocks.
 *
 * Memory: what any thread did before it came is known to all who leave. It is enough to keep, for each block, the stamp
 * that its own barrier has raised its floor to; a block that is still on its way out of one phase may find others on their
 * way into the next, so there are two sets of stamps. */
#include "grid.h"
#include "block.h"
#include "fiber.h"
#include "launch.h"
#include "report.h"
#include "watchdog.h"
#include "worker.h"
#include <sched.h>
#include <stdlib.h>

void grid_begin(struct launch *l)
{
    struct grid *g = &l->grid;
    g->whole = l->asked->cooperative;
    for (int i = 0; g->whole && i < 2; i++) {
        g->floors[i] = calloc(l->blocks, sizeof *g->floors[i]);
        if (!g->floors[i])
            base_out_of_memory();
    }
}

void grid_end(struct launch *l)
{
    free(l->grid.floors[0]);
    free(l->grid.floors[1]);
}

void grid_meet(struct block *b)
{
    struct launch *l = b->launch;
    struct grid *g = &l->grid;
    unsigned phase = b->phase++;
    g->floors[b->phase % 2][b->number] = b->met;
    if (__atomic_add_fetch(&g->arrived, 1, __ATOMIC_ACQ_REL) == l->blocks) {
        __atomic_store_n(&g->arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&g->phase, b->phase, __ATOMIC_RELEASE);
        watchdog_progress();
    }
    while (__atomic_load_n(&g->phase, __ATOMIC_ACQUIRE) == phase) {
        /* Once a block has ended, this phase never does; or it has by now, and then this block is not among those that
         * have arrived. */
        u64 left = __atomic_load_n(&g->left, __ATOMIC_ACQUIRE);
        if (left && __atomic_load_n(&g->arrived, __ATOMIC_ACQUIRE) + left == l->blocks)
            report_deadlock(b);
        sched_yield();
        fiber_suspend(b);
    }
    b->sequential = order_tick();
}

void grid_block_left(struct block *b) { __atomic_fetch_add(&b->launch->grid.left, 1, __ATOMIC_ACQ_REL); }

bool grid_before(const struct block *b, uint32_t serial, uint32_t stamp)
{
    const struct launch *l = b->launch;
    u64 number = serial - l->first_serial;
    return number < l->blocks && stamp <= l->grid.floors[b->phase % 2][number];
}

bool simt_grid_is_whole(void) { return running()->launch->grid.whole; }
