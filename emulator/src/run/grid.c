/* The barrier of a grid. A block comes to it as a whole; while it waits, its worker goes on with other blocks.
 *
 * Memory: what any thread did before it came is known to all who leave. It is enough to keep, for each block, the stamp
 * that its own barrier has raised its floor to; or, where its threads came one by one by barrier_arrive(), a stamp for
 * each. */
#include "run/grid.h"
#include "base/report.h"
#include "block/block.h"
#include "block/fiber.h"
#include "block/grid.h"
#include "block/launch.h"
#include "block/worker.h"
#include "order/order.h"
#include "order/undefined.h"
#include "run/watchdog.h"
#include <sched.h>
#include <stdlib.h>

void grid_begin(struct launch *l)
{
    struct grid *g = &l->grid;
    g->whole = l->asked->cooperative;
    for (int i = 0; g->whole && i < GRID_PHASES; i++) {
        g->known[i] = calloc(l->blocks, sizeof *g->known[i]);
        if (!g->known[i])
            base_out_of_memory();
    }
}

void grid_end(struct launch *l)
{
    for (int i = 0; i < GRID_PHASES; i++) {
        for (u64 block = 0; l->grid.known[i] && block < l->blocks; block++) {
            free(l->grid.known[i][block].threads);
            clock_free(&l->grid.known[i][block].engines);
        }
        free(l->grid.known[i]);
    }
}

/* The stamps of all threads; of those that have not come by themselves, what the barriers of the block say. */
static uint32_t *copy_stamps(const struct block *b, const uint32_t *threads)
{
    uint32_t *copy = malloc(b->launch->threads * sizeof *copy);
    if (!copy)
        base_out_of_memory();
    for (unsigned t = 0; t < b->launch->threads; t++) {
        uint32_t met = has_left(b, t) ? b->threads[t].met : b->met;
        copy[t] = threads[t] > met ? threads[t] : met;
    }
    return copy;
}

void grid_arrive(struct block *b, const struct release *early)
{
    struct launch *l = b->launch;
    struct grid *g = &l->grid;
    struct known_of_block *known = &g->known[(b->phase + 1) % GRID_PHASES][b->serial - l->first_serial];
    free(known->threads);
    known->floor = b->met;
    known->threads = early ? copy_stamps(b, early->threads) : NULL;
    clock_clear(&known->engines);
    if (early)
        clock_join(&known->engines, &early->others);
    order_engines(b, &known->engines);
    b->came_to_grid = true;
    if (__atomic_add_fetch(&g->arrived, 1, __ATOMIC_ACQ_REL) == l->blocks) {
        __atomic_store_n(&g->arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&g->phase, b->phase + 1, __ATOMIC_RELEASE);
        watchdog_progress();
    }
}

void grid_meet(struct block *b, const struct release *early)
{
    struct launch *l = b->launch;
    struct grid *g = &l->grid;
    unsigned phase = b->phase;
    if (!b->came_to_grid)
        grid_arrive(b, early);
    b->came_to_grid = false;
    if (undefined_on_trial)
        undefined_end(b);
    b->phase++;
    while (__atomic_load_n(&g->phase, __ATOMIC_ACQUIRE) == phase) {
        /* Once a block has ended, this phase never does; or it has by now, and then this block is not among those that
         * have arrived. */
        u64 left = __atomic_load_n(&g->left, __ATOMIC_ACQUIRE);
        if (left && __atomic_load_n(&g->arrived, __ATOMIC_ACQUIRE) + left == l->blocks)
            report_deadlock(b->cluster);
        sched_yield();
        fiber_suspend(b);
    }
    b->sequential = order_tick();
}

void grid_block_left(struct block *b) { __atomic_fetch_add(&b->launch->grid.left, 1, __ATOMIC_ACQ_REL); }

bool grid_before(const struct block *b, uint32_t serial, unsigned thread, uint32_t stamp)
{
    const struct launch *l = b->launch;
    u64 number = serial - l->first_serial;
    if (number >= l->blocks)
        return false;
    const struct known_of_block *known = &l->grid.known[b->phase % GRID_PHASES][number];
    if (is_engine(thread))
        return clock_knows(&known->engines, serial, thread, stamp);
    return stamp <= (known->threads ? known->threads[thread] : known->floor);
}

bool simt_grid_is_whole(void) { return block_here()->launch->grid.whole; }
