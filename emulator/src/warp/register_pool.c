/* setmaxnreg (PTX ISA, "Miscellaneous Instructions"). A block begins with as many registers a thread for each of its
 * warpgroups; .dec puts some into the block's pool, .inc takes some out of it, and waits while there are too few. On an
 * H200:
 *
 * - how many a thread begins with is the largest number that the kernel's setmaxnreg name, or what ptxas allows for, if
 *   that is less. So the pool can only be too small where it is what ptxas allows;
 * - .dec to more than a warpgroup has, and .inc to fewer, is an illegal instruction;
 * - a warpgroup that leaves the kernel gives nothing back. */
#include "warp/register_pool.h"
#include "base/gpu.h"
#include "base/notes.h"
#include "base/report.h"
#include "block/launch.h"
#include "block/worker.h"
#include "warp/collective.h"
#include <stdlib.h>

#define WARPGROUP_THREADS (WARPGROUP * WARP)
#define MOST_WARPGROUPS (MAX_THREADS / WARPGROUP_THREADS)
#define SCHEDULERS 4               /* parts of an SM, each with registers of its own */
#define REGISTERS_OF_SCHEDULER 512 /* a lane */
#define MOST_OF_THREAD 255
#define UNIT 8 /* they are handed out by so many a thread */
#define LEAST_ASKED 24
#define MOST_ASKED 256

struct share { /* of a warpgroup */
    struct waiting waiting;
    unsigned number; /* among the block's */
    unsigned has;    /* registers a thread */
    unsigned wanted; /* of an .inc that waits; 0: none does */
    bool changed;    /* by setmaxnreg */
};

struct raise { /* an .inc by a warpgroup that had what it began with */
    unsigned count, thread;
    const void *pc; /* NULL: none yet */
};

struct register_pool {
    unsigned allowed; /* by ptxas, for each thread; 0: it cannot tell */
    unsigned n;       /* warpgroups of 128 threads; 0: nothing is known of this block yet */
    unsigned free;    /* for each thread of one warpgroup */
    unsigned largest; /* number that any of the block's setmaxnreg has named */
    struct raise least;
    struct share shares[MOST_WARPGROUPS];
};

static unsigned multiple_of_unit(unsigned registers) { return (registers + UNIT - 1) / UNIT * UNIT; }

/* As nvcc 13.0 has it: __maxnreg__(n), or both numbers of __launch_bounds__(threads, blocks). */
static unsigned allowed_by_ptxas(const struct simt_kernel *k)
{
    unsigned blocks = k->min_blocks, warps = (k->max_threads + WARP - 1) / WARP;
    if (k->registers)
        return multiple_of_unit(k->registers < MOST_OF_THREAD ? k->registers : MOST_OF_THREAD);
    if (!warps || !blocks || warps * blocks * WARP > (unsigned)gpu_described()->threads_per_sm)
        return 0;
    unsigned of_scheduler = (warps * blocks + SCHEDULERS - 1) / SCHEDULERS;
    unsigned each = REGISTERS_OF_SCHEDULER / of_scheduler / UNIT * UNIT;
    return each < MOST_OF_THREAD ? each : multiple_of_unit(MOST_OF_THREAD);
}

void register_pool_begin_block(struct block *b)
{
    if (b->register_pool)
        b->register_pool->n = 0;
}

/* ---- those that wait ---- */

static const struct share *share_waited_for(const struct thread *t)
{
    return (const struct share *)((uintptr_t)t->waits_for - offsetof(struct share, waiting));
}

static void describe(FILE *f, const struct thread *t)
{
    const struct share *s = share_waited_for(t);
    fprintf(f, " %u, with %u registers a thread,", s->wanted, s->has);
}

static void explain(FILE *f, const struct thread *t)
{
    const struct share *first = share_waited_for(t) - share_waited_for(t)->number;
    const struct register_pool *p = (const struct register_pool *)((uintptr_t)first -
                                                                   offsetof(struct register_pool, shares));
    unsigned asked = 0;
    fprintf(f, "  The block began with %u warpgroup%s at %u registers a thread, a pool of %u:", p->n,
            p->n == 1 ? "" : "s", p->allowed, p->n * p->allowed);
    for (const struct share *s = first; s < first + p->n; s++) {
        fprintf(f, "%s warpgroup %u has %u", s == first ? "" : ",", s->number, s->has);
        if (s->wanted)
            fprintf(f, " and asks for %u", s->wanted);
        asked += s->wanted ? s->wanted : s->has;
    }
    fprintf(f, ", together %u.\n", asked);
}

static const struct waiting_kind wait_for_registers = {
    .call = "setmaxnreg.inc",
    .deadlock = "register deadlock",
    .rule = "setmaxnreg.inc waits until other warpgroups have given back enough by setmaxnreg.dec; one that leaves the "
            "kernel gives nothing back.",
    .describe = describe,
    .explain = explain,
};

static void serve(struct block *b)
{
    struct register_pool *p = b->register_pool;
    for (struct share *s = p->shares; s < p->shares + p->n; s++) {
        if (!s->wanted || s->wanted - s->has > p->free)
            continue;
        p->free -= s->wanted - s->has;
        s->has = s->wanted;
        s->wanted = 0;
        wake_all(b->cluster, &s->waiting);
    }
}

/* ---- the instruction ---- */

static void begin_pool(struct block *b)
{
    struct register_pool *p = b->register_pool;
    if (!p)
        p = calloc(1, sizeof *p);
    if (!p)
        base_out_of_memory();
    *p = (struct register_pool){.allowed = allowed_by_ptxas(b->launch->kernel),
                                .n = b->launch->threads / WARPGROUP_THREADS};
    for (unsigned i = 0; i < p->n; i++)
        p->shares[i] = (struct share){.waiting.kind = &wait_for_registers, .number = i, .has = p->allowed};
    b->register_pool = p;
}

static void report_count(const struct block *b, unsigned thread, const void *pc, const char *action, unsigned count,
                         unsigned has)
{
    char did[160];
    snprintf(did, sizeof did, "calls setmaxnreg.%s %u, where a thread of its warpgroup has %u registers", action, count,
             has);
    report_call_of(
        b, thread, "invalid register count", pc, did,
        "setmaxnreg.dec goes down and setmaxnreg.inc goes up: else a GPU stops with an illegal instruction.");
}

struct demand {
    unsigned count;
    bool more;
    const void *pc;
};

/* A warpgroup that had what it began with was content with fewer than another asks for, and than ptxas allows. */
static void check_least(const struct block *b)
{
    const struct register_pool *p = b->register_pool;
    unsigned began = p->largest < p->allowed ? p->largest : p->allowed;
    if (p->least.pc && p->least.count < began)
        report_count(b, p->least.thread, p->least.pc, "inc", p->least.count, began);
}

static void check_demand(const struct block *b, unsigned thread, const struct share *s, const struct demand *d)
{
    struct register_pool *p = b->register_pool;
    if (d->count > p->largest)
        p->largest = d->count;
    if (!d->more && d->count > s->has)
        report_count(b, thread, d->pc, "dec", d->count, s->has);
    if (d->more && d->count < s->has && s->changed)
        report_count(b, thread, d->pc, "inc", d->count, s->has);
    if (d->more && !s->changed && (!p->least.pc || d->count < p->least.count))
        p->least = (struct raise){d->count, thread, d->pc};
    check_least(b);
}

static void exchange(const struct exchange *x)
{
    const struct demand *d = collective_payload(x, 0);
    if (!x->b->register_pool || !x->b->register_pool->n)
        begin_pool(x->b);
    struct register_pool *p = x->b->register_pool;
    struct share *s = &p->shares[x->warp / WARPGROUP];
    if (!p->allowed) {
        note_once(d->pc,
                  "ptxas ignores setmaxnreg here (C7508), because it cannot tell with how many registers a thread "
                  "begins: say __launch_bounds__(threads, blocks), with both numbers, or __maxnreg__. What "
                  "nvcc's -maxrregcount says is not looked at.");
        return;
    }
    check_demand(x->b, x->warp * WARP, s, d);
    s->changed = true;
    if (d->count <= s->has) {
        p->free += s->has - d->count;
        s->has = d->count;
    } else {
        s->wanted = d->count;
    }
    serve(x->b);
}

static const struct collective_op take = {WARPGROUP_COLLECTIVE("setmaxnreg.inc"), .event = EVENTS,
                                          .exchange = exchange};
static const struct collective_op give = {WARPGROUP_COLLECTIVE("setmaxnreg.dec"), .event = EVENTS,
                                          .exchange = exchange};

static void change(const struct collective_op *op, const struct demand *d)
{
    char did[64];
    if (d->count < LEAST_ASKED || d->count > MOST_ASKED || d->count % UNIT) {
        snprintf(did, sizeof did, "calls %s %u", op->waiting.call, d->count);
        report_call("invalid register count", d->pc, did, "It is a multiple of 8 from 24 to 256.");
    }
    counters_event_of(running(), d->pc, EVENT_REGISTERS, d->count, 0);
    collective_join_as(op, d->count, ~0u, (void *)d, d->pc);
    struct block *b = running();
    const struct share *s = &b->register_pool->shares[b->cur / WARPGROUP_THREADS];
    if (s->wanted)
        wait_for(b, &s->waiting, d->pc);
}

void register_pool_take(unsigned count, const void *pc) { change(&take, &(struct demand){count, true, pc}); }
void register_pool_give(unsigned count, const void *pc) { change(&give, &(struct demand){count, false, pc}); }
