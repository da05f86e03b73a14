/* The barrier of a cluster (PTX ISA, "barrier.cluster"), in two halves. A phase of it is over when all threads of all blocks
 * that have not left have arrived; a thread waits for the phase in which it has arrived before it arrives again. So only the
 * phase in hand and the one before it matter: no phase ends before all have waited for the last.
 *
 * What a thread did before it arrived is known to who has waited, and not before. When all threads of a block have come to the
 * wait, the block knows it as by a barrier of its own. */
#include "run/cluster_barrier.h"
#include "base/report.h"
#include "block/launch.h"
#include "block/worker.h"
#include "count/counters.h"
#include "order/order.h"
#include "order/touch.h"
#include "run/block.h"
#include "run/watchdog.h"
#include "warp/collective.h"
#include <stdlib.h>
#include <string.h>

enum half { ARRIVES, WAITS };
static const char *const calls[] = {[ARRIVES] = "barrier.cluster.arrive", [WAITS] = "barrier.cluster.wait"};

/* A block's part in the barrier. */
struct cluster_part {
    struct arrivals arriving;   /* what its threads had done when they arrived in the phase in hand */
    unsigned n_waiting[2];      /* of those that have not left, how many have come to the wait, by the phase's parity */
    u64 met;                    /* so many phases were over when all had */
    u64 gone_on[MAX_WARPS];     /* the last phase behind which a lane of a warp has gone on */
    u64 of_phase[2][MAX_WARPS]; /* the last phase in which a warp has come to that half, */
    struct arrival first[2][MAX_WARPS]; /* and which of its lanes was first, and where */
};

/* ---- deadlocks ---- */

static void describe(FILE *f, const struct thread *thread)
{
    const struct cluster_barrier *barrier = (const struct cluster_barrier *)((uintptr_t)thread->waits_for -
                                                                             offsetof(struct cluster_barrier, waiting));
    fprintf(f, ", to which %u thread%s of the cluster %s not come,", barrier->missing, barrier->missing == 1 ? "" : "s",
            barrier->missing == 1 ? "has" : "have");
}

static const struct waiting_kind kind = {
    .call = "the cluster's barrier",
    .deadlock = "barrier deadlock",
    .rule =
        "It waits for all threads of all blocks of the cluster that have not left: each arrives as often as any other.",
    .describe = describe,
};

/* ---- phases ---- */

static unsigned n_live(const struct cluster *c)
{
    unsigned n = 0;
    for (unsigned rank = 0; rank < c->n; rank++)
        n += c->blocks[rank]->n_live;
    return n;
}

static void forget_phase(struct cluster_barrier *barrier)
{
    clock_clear(&barrier->done);
    for (int scope = 0; scope < ORDERED_SCOPES; scope++)
        clock_clear(&barrier->fenced[scope]);
}

void cluster_barrier_begin(struct cluster *c)
{
    struct cluster_barrier *barrier = &c->barrier;
    barrier->waiting.kind = &kind;
    barrier->phase = 0;
    barrier->missing = n_live(c);
    barrier->sequential = 0;
    forget_phase(barrier);
    for (unsigned rank = 0; rank < c->n; rank++) {
        struct block *b = c->blocks[rank];
        if (!b->cluster_part)
            continue;
        order_forget_arrivals(b, &b->cluster_part->arriving);
        *b->cluster_part = (struct cluster_part){.arriving = b->cluster_part->arriving};
    }
}

static struct cluster_part *part_of(struct block *b)
{
    if (b->cluster_part)
        return b->cluster_part;
    b->cluster_part = calloc(1, sizeof *b->cluster_part);
    if (!b->cluster_part)
        base_out_of_memory();
    order_forget_arrivals(b, &b->cluster_part->arriving);
    return b->cluster_part;
}

/* All of its threads that have not left have come to the wait for the phase that is over. */
static void meet_block(struct block *b)
{
    struct cluster_barrier *barrier = &b->cluster->barrier;
    part_of(b)->met = barrier->phase;
    part_of(b)->arriving.met = NOT_MET;
    if (simt_checked)
        order_block_acquire_all(b, barrier);
}

static bool all_wait(struct block *b)
{
    return b->n_live && part_of(b)->n_waiting[b->cluster->barrier.phase % 2] == b->n_live;
}

/* If all lanes of that warp are in the wait for that phase, which may be over, and none has gone on. */
static void join_warp(struct block *b, unsigned warp, u64 phase)
{
    bool all = part_of(b)->gone_on[warp] != phase;
    for (uint32_t rest = b->warps[warp].live; rest; rest &= rest - 1) {
        const struct thread *t = &b->threads[warp * WARP + (unsigned)__builtin_ctz(rest)];
        all &= t->arrived_for == phase && t->waited_for == phase;
    }
    if (all)
        counters_warp_joined(b, warp);
}

/* All have arrived. */
static void end_phase(struct cluster *c)
{
    struct cluster_barrier *barrier = &c->barrier;
    forget_phase(barrier);
    for (unsigned rank = 0; simt_checked && rank < c->n; rank++)
        order_gather(c->blocks[rank], &part_of(c->blocks[rank])->arriving, barrier);
    if (simt_checked)
        touch_phase_ended(c);
    barrier->phase++;
    barrier->missing = n_live(c);
    watchdog_progress();
    for (unsigned rank = 0; rank < c->n; rank++) {
        struct block *b = c->blocks[rank];
        part_of(b)->n_waiting[(barrier->phase + 1) % 2] = 0;
        if (all_wait(b))
            meet_block(b);
        for (unsigned warp = 0; b->counting && warp * WARP < c->launch->threads; warp++)
            join_warp(b, warp, barrier->phase);
    }
    wake_all(c, &barrier->waiting);
}

/* ---- threads ---- */

#define RULE "It is .aligned: the lanes of a warp that have not left come to it together."
/* A lane that comes by itself to one that is .aligned, before or behind its warp, is not counted for what it is. */
static const struct collective_op aligned[] = {
    [ARRIVES] = {.waiting = {.call = "barrier.cluster.arrive.aligned", .deadlock = "divergent barrier", .rule = RULE},
                 .event = EVENTS,
                 .of_barrier = true},
    [WAITS] = {.waiting = {.call = "barrier.cluster.wait.aligned", .deadlock = "divergent barrier", .rule = RULE},
               .event = EVENTS,
               .of_barrier = true},
};

/* The running thread comes to a half of the barrier in that phase. */
static void come(struct block *b, enum half half, u64 phase, enum meeting as, const void *pc)
{
    struct cluster_part *part = part_of(b);
    unsigned warp = b->cur / WARP;
    struct arrival *first = &part->first[half][warp];
    if (simt_checked) {
        struct arrival now = block_arrival(b, as, pc);
        bool is_first = part->of_phase[half][warp] != phase;
        part->of_phase[half][warp] = phase;
        if (is_first)
            *first = now;
        if (is_first && half == WAITS)
            block_check_left(b, calls[half], warp, first);
        block_check_place(b, calls[half], first, &now);
    }
    if (as == MEET_ALIGNED)
        collective_join(&aligned[half], ~0u, NULL, pc);
}

void cluster_barrier_arrive(bool relaxed, enum meeting as, const void *pc)
{
    struct block *b = running();
    struct cluster_barrier *barrier = &b->cluster->barrier;
    if (current(b)->arrived_for)
        report_call("invalid barrier", pc, "arrives at the cluster's barrier a second time",
                    "Each barrier.cluster.arrive has its barrier.cluster.wait, before the next.");
    counters_event_of(b, pc, EVENT_CLUSTER_ARRIVE, 0, (unsigned)barrier->phase);
    come(b, ARRIVES, barrier->phase + 1, as, pc);
    current(b)->arrived_for = barrier->phase + 1;
    if (simt_checked && relaxed)
        order_release_fenced(b, b->cur, SIMT_SCOPE_CLUSTER, &part_of(b)->arriving.done);
    else if (simt_checked)
        order_arrive_in_cluster(b, b->cur, &part_of(b)->arriving);
    barrier->missing--;
    if (!barrier->missing)
        end_phase(b->cluster);
}

void cluster_barrier_wait(enum meeting as, const void *pc)
{
    struct block *b = running();
    struct cluster_barrier *barrier = &b->cluster->barrier;
    struct thread *t = current(b);
    u64 phase = t->arrived_for;
    if (!phase)
        report_call("invalid barrier", pc, "waits at the cluster's barrier without having arrived",
                    "Each barrier.cluster.wait has its barrier.cluster.arrive, before it.");
    counters_event_of(b, pc, EVENT_CLUSTER_WAIT, 0, (unsigned)phase - 1);
    come(b, WAITS, phase, as, pc);
    part_of(b)->n_waiting[phase % 2]++;
    t->waited_for = phase;
    if (barrier->phase >= phase && b->counting)
        join_warp(b, b->cur / WARP, phase);
    if (barrier->phase < phase)
        wait_for(b, &barrier->waiting, pc);
    else if (all_wait(b))
        meet_block(b);
    t->arrived_for = 0;
    part_of(b)->gone_on[b->cur / WARP] = phase;
    if (!simt_checked)
        return;
    touch_phase_waited(b);
    memset(t->turns, 0, sizeof t->turns);
    if (part_of(b)->met != phase)
        order_acquire_all(b, b->cur, barrier);
}

void cluster_barrier_left(struct block *b)
{
    const struct thread *t = current(b);
    struct cluster_barrier *barrier = &b->cluster->barrier;
    if (barrier->phase && t->waited_for == barrier->phase)
        part_of(b)->n_waiting[barrier->phase % 2]--;
    if (t->arrived_for > barrier->phase)
        return;
    barrier->missing--;
    if (!barrier->missing && n_live(b->cluster))
        end_phase(b->cluster);
}

void simt_cluster_arrive(bool relaxed) { cluster_barrier_arrive(relaxed, MEET_ANYWHERE, CALLER()); }
void simt_cluster_wait(void) { cluster_barrier_wait(MEET_ANYWHERE, CALLER()); }
