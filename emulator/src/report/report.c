/* Faults in plain words. The first line can be read by a program, `simt: KIND: FILE:LINE`; those that follow say who,
 * what and why. A race lets the launch go on to its end, since others may follow; so does an uninitialised read, which
 * is reported only if no race explains it. Anything else stops at once, and comes behind these. Always the program ends with status 1. */
#define _GNU_SOURCE
#include "base/report.h"
#include "base/lines.h"
#include "block/fiber.h"
#include "block/launch.h"
#include "block/worker.h"
#include "memory/lookup.h"
#include "memory/memory.h"
#include "memory/shared.h"
#include "memory/symbols.h"
#include "order/overlap.h"
#include "order/race.h"
#include "order/undefined.h"
#include "run/cluster.h"
#include "run/watchdog.h"
#include "warp/collective.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_RACES 8

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held for good by a report that ends the program */

static void end_at_once(int status) __attribute__((noreturn));
static void end_at_once(int status)
{
    lines_tool_kill();
    _exit(status);
}

static void stop(void)
{
    fflush(NULL);
    end_at_once(1);
}

static void say_races(void);
static void say_kept(void);

/* Takes the lock. The races that are kept come before whatever ends the program; */
static void begin_explaining(void)
{
    pthread_mutex_lock(&lock);
    fflush(stdout);
    say_races();
}

/* and so does what else is kept, unless what is reported explains it: another race, or threads that did not come. */
static void begin_report(void)
{
    begin_explaining();
    say_kept();
}

static bool is_known(const void *pc) { return lines_of(pc).line > 0; }

static const char *where(const void *pc)
{
    static char text[4][600];
    static unsigned next;
    struct source_line l = lines_of(pc);
    char *out = text[next % 4];
    next++;
    if (l.line)
        snprintf(out, sizeof text[0], "%s:%d", l.file, l.line);
    else
        snprintf(out, sizeof text[0], "%s", l.file);
    return out;
}

/* Of what a function does that is inlined: where it is called. */
static const char *called(const void *pc)
{
    static char text[4][600];
    static unsigned next;
    struct source_line l = lines_of(pc);
    char *out = text[next % 4];
    next++;
    snprintf(out, sizeof text[0], l.caller_line ? ", in a call from %s:%d" : "", l.caller, l.caller_line);
    return out;
}

/* Of where a thread waits or runs: where the kernel calls the function around it, inlined or not. */
static const char *called_by_kernel(const struct block *b, unsigned thread, const void *pc)
{
    enum { MOST = 64 };
    const void *callers[MOST], *outermost = NULL;
    unsigned n = fiber_callers(b, thread, pc, callers, MOST);
    for (unsigned i = 0; i < n; i++)
        if (is_known(callers[i]) && !strstr(lines_of(callers[i]).file, "emulator/src/"))
            outermost = callers[i];
    if (!outermost)
        return called(pc);
    static char text[4][600];
    static unsigned next;
    struct source_line l = lines_of(outermost);
    char *out = text[next % 4];
    next++;
    snprintf(out, sizeof text[0], ", in a call from %s:%d", l.caller_line ? l.caller : l.file,
             l.caller_line ? l.caller_line : l.line);
    return out;
}

static const char *plural(unsigned n) { return n == 1 ? "" : "s"; }

/* ---- who ---- */

struct index {
    unsigned x, y, z;
};

static struct index index_in(u64 number, const unsigned *extent)
{
    return (struct index){(unsigned)(number % extent[0]), (unsigned)(number / extent[0] % extent[1]),
                          (unsigned)(number / extent[0] / extent[1])};
}

static void say_block(FILE *f, const struct launch *l, uint32_t serial)
{
    uint32_t begun = serial - l->first_serial;
    u64 number = cluster_block(l, begun / l->cluster_blocks, begun % l->cluster_blocks);
    struct index i = index_in(number, l->asked->grid);
    fprintf(f, "block (%u,%u,%u)", i.x, i.y, i.z);
}

static void say_thread(FILE *f, const struct launch *l, unsigned thread)
{
    struct index i = index_in(thread, l->asked->block);
    fprintf(f, "thread (%u,%u,%u)", i.x, i.y, i.z);
}

static void say_actor(FILE *f, const struct launch *l, unsigned thread, unsigned engine)
{
    say_thread(f, l, thread);
    static const char *const whats[] = {
        [PRODUCTS] = "'s product", [SENT] = "'s asynchronous operation", [INITIALISATIONS] = ""};
    enum engine_kind kind = engine_kind(engine);
    if (engine)
        fputs(kind < sizeof whats / sizeof *whats && whats[kind] ? whats[kind] : "'s copy", f);
}

static void say_kernel(FILE *f, const struct launch *l, uint32_t serial)
{
    fprintf(f, "  kernel %s, ", l->kernel->name);
    say_block(f, l, serial);
    fprintf(f, "\n");
}

/* ---- what ---- */

static bool is_load(enum access_kind kind) { return !access_stores(kind); }
static const char *present(enum access_kind kind)
{
    return is_load(kind) ? "reads" : kind == ACCESS_ATOMIC ? "atomically changes" : "writes";
}
static const char *past(enum access_kind kind)
{
    return is_load(kind) ? "read" : kind == ACCESS_ATOMIC ? "atomically changed" : "wrote";
}

static bool initialises(unsigned engine) { return engine_kind(engine) == INITIALISATIONS; }

static void say_distance(FILE *f, const struct object *o, const unsigned char *p, unsigned bytes)
{
    if (p < o->base)
        fprintf(f, "  %zu bytes before", (size_t)(o->base - p));
    else if (p + bytes <= o->base + o->bytes)
        fprintf(f, "  at byte %zu of", (size_t)(p - o->base));
    else if (p < o->base + o->bytes)
        fprintf(f, "  across the end of");
    else if (p == o->base + o->bytes)
        fprintf(f, "  right behind the end of");
    else
        fprintf(f, "  %zu bytes behind the end of", (size_t)(p - o->base - o->bytes));
}

/* The name of the kernel's parameter that points to the object, before that of one that points into it; "" for none. */
static const char *parameter_of(const struct launch *l, const struct object *o)
{
    static char name[64];
    const char *at = l->kernel->parameters;
    name[0] = '\0';
    for (unsigned i = 0; *at; i++) {
        const unsigned char *p = l->kernel->pointer(l->params, i);
        int length = (int)strcspn(at, " ");
        bool first = p == o->base, inside = p > o->base && p < o->base + o->bytes;
        if (first || (inside && !name[0]))
            snprintf(name, sizeof name, "%.*s", length, at);
        if (first)
            break;
        at += length + (at[length] == ' ');
    }
    return name;
}

static void say_object(FILE *f, const struct launch *l, const struct object *o, const void *address, unsigned bytes)
{
    say_distance(f, o, address, bytes);
    const char *name = l ? parameter_of(l, o) : "";
    if (*name)
        fprintf(f, " %s,", name);
    fprintf(f, is_known(o->made_at) ? " the %zu-byte allocation made at %s" : " an allocation of %zu bytes", o->bytes,
            where(o->made_at));
    if (o->freed)
        fprintf(f, ", freed at %s", where(o->freed_at));
    fprintf(f, "\n");
}

static void say_allocation(FILE *f, const struct launch *l, const void *address, unsigned bytes)
{
    const struct object *o = memory_find(address);
    if (!o)
        o = memory_nearest(address);
    if (o)
        say_object(f, l, o, address, bytes);
}

static void say_variable(FILE *f, const struct object *o, const void *address, unsigned bytes)
{
    say_distance(f, o, address, bytes);
    fprintf(f, " %s, which holds %zu bytes, declared at %s:%d\n", o->symbol->name, o->bytes, o->symbol->file,
            o->symbol->line);
}

static void say_arrays(FILE *f, const struct launch *l)
{
    for (unsigned i = 0; i < l->n_arrays; i++) {
        const struct array_place *a = &l->arrays[i];
        if (a->site)
            fprintf(f, "  %s holds %u bytes, declared at %s:%d\n", a->site->name, a->bytes, a->site->file,
                    a->site->line);
        else if (a->bytes || l->n_arrays == 1)
            fprintf(f, "  the launch asked for %u bytes of dynamic shared memory\n", a->bytes);
    }
}

/* Whose it is stands behind it where it is not the block's own. */
static void name_shared(const struct block *b, const void *address, char *out, size_t size)
{
    const struct block *owner = shared_owner(b, address);
    shared_name(b->launch, shared_offset(b, address), out, size);
    size_t used = strlen(out);
    if (owner != b)
        snprintf(out + used, size - used, " of the block of rank %u", owner->rank);
}

/* "A_smem[3]", "4 bytes of counter", "0x7f12…": what the access is to, in the middle of a sentence. */
static void name_target(const struct block *b, const void *address, char *out, size_t size)
{
    const struct object *variable = symbol_find(address);
    if (!variable)
        variable = symbol_nearest(address);
    if (shared_owner(b, address))
        name_shared(b, address, out, size);
    else if (!memory_covers(address) && variable)
        snprintf(out, size, "%s", variable->symbol->name);
    else
        snprintf(out, size, "%p", address);
}

static void say_target(FILE *f, const struct block *b, const void *address, unsigned bytes, bool in_words)
{
    const struct object *variable = symbol_find(address);
    if (!variable)
        variable = symbol_nearest(address);
    if (shared_owner(b, address)) {
        if (in_words)
            say_arrays(f, b->launch);
    } else if (memory_covers(address)) {
        say_allocation(f, b->launch, address, bytes);
    } else if (variable) {
        say_variable(f, variable, address, bytes);
    }
}

static void say_access(FILE *f, const struct access *a, const char *kind)
{
    const struct block *b = a->block;
    char name[256];
    bool addressed = memory_covers(a->address) || !symbol_nearest(a->address);
    bool shared = shared_owner(b, a->address) != NULL,
         local = b->threads[a->thread].stack && block_is_own_stack(b, a->thread, a->address);
    name_target(b, a->address, name, sizeof name);
    if (local)
        snprintf(name, sizeof name, "a local variable");
    fprintf(f, "simt: %s: %s\n", kind, where(a->pc));
    say_kernel(f, b->launch, b->serial);
    fprintf(f, "  ");
    say_actor(f, b->launch, a->thread, a->engine);
    fprintf(f, " %s %u byte%s %s %s%s\n", present(a->kind), a->bytes, plural(a->bytes),
            addressed && !shared && !local ? "at" : "of", name, called(a->pc));
    say_target(f, b, a->address, a->bytes, true);
}

void report_access(const struct access *a, const char *kind, const char *why)
{
    unsigned beyond = (unsigned)((uintptr_t)a->address & (a->bytes - 1));
    begin_report();
    say_access(stderr, a, kind);
    if (beyond)
        fprintf(stderr, "  An access of %u bytes needs an address that is a multiple of %u; this one is %u beyond.\n",
                a->bytes, a->bytes, beyond);
    else if (*why)
        fprintf(stderr, "  %s\n", why);
    stop();
    __builtin_unreachable();
}

void report_far(const struct access *a)
{
    const struct object *o = memory_closest(a->address);
    begin_report();
    say_access(stderr, a, "out of bounds");
    if (o && o->symbol)
        say_variable(stderr, o, a->address, a->bytes);
    else if (o)
        say_object(stderr, a->block->launch, o, a->address, a->bytes);
    fprintf(stderr, "  Nothing is there. Has an index overflowed, or does a pointer hold no address?\n");
    stop();
    __builtin_unreachable();
}

void report_meeting(const struct access *a, const char *kind, const struct actor *other, const char *did,
                    const char *why)
{
    const struct block *b = a->block;
    begin_report();
    say_access(stderr, a, kind);
    fprintf(stderr, "  ");
    if (other->serial != b->serial) {
        say_block(stderr, b->launch, other->serial);
        fprintf(stderr, ", ");
    }
    say_thread(stderr, b->launch, other->thread);
    fprintf(stderr, " %s at %s%s\n  %s\n", did, where(other->pc), called(other->pc), why);
    stop();
    __builtin_unreachable();
}

/* ---- races ---- */

enum distance { ONE_WARP, ONE_BLOCK, ONE_CLUSTER, TWO_BLOCKS };

/* Races of two places in the program: the report is of the first, and its advice waits for the launch's end, since others
 * of them may be further apart. */
static struct race {
    struct conflict first;
    enum distance furthest;
    bool other_launch, cooperative, has_roles;
    bool two_stores; /* of two threads, to one place; of one instruction of a warp they are no race of their own */
    char *words;
} races[MOST_RACES];
static unsigned n_races, n_said;

static enum distance distance(const struct conflict *c)
{
    if (c->actor.serial != c->other.serial)
        return cluster_find(c->block, c->other.serial) ? ONE_CLUSTER : TWO_BLOCKS;
    return c->actor.thread / WARP == c->other.thread / WARP ? ONE_WARP : ONE_BLOCK;
}

static bool of_other_launch(const struct conflict *c) { return c->other.serial < c->block->launch->first_serial; }

static bool same_places(const struct race *r, const struct conflict *c)
{
    return (r->first.pc == c->pc && r->first.other_pc == c->other_pc) ||
           (r->first.pc == c->other_pc && r->first.other_pc == c->pc);
}

static bool same_lines(const struct race *r, const struct race *other)
{
    const struct conflict *a = &r->first, *b = &other->first;
    return (lines_same(a->pc, b->pc) && lines_same(a->other_pc, b->other_pc)) ||
           (lines_same(a->pc, b->other_pc) && lines_same(a->other_pc, b->pc));
}

/* What all races of the same two lines come to. */
struct finding {
    enum distance furthest;
    bool has_roles;
    bool two_stores; /* and it is one line */
};

static struct finding finding_of(const struct race *r)
{
    struct finding f = {0};
    bool one_line = is_known(r->first.pc) && lines_same(r->first.pc, r->first.other_pc);
    for (const struct race *each = races; each < races + n_races; each++) {
        if (!same_lines(r, each))
            continue;
        if (each->furthest > f.furthest)
            f.furthest = each->furthest;
        f.has_roles |= each->has_roles;
        f.two_stores |= one_line && each->two_stores;
    }
    return f;
}

static bool is_too_small(enum simt_scope scope, enum distance d)
{
    return d == TWO_BLOCKS ? scope < SIMT_SCOPE_DEVICE : d == ONE_CLUSTER && scope < SIMT_SCOPE_CLUSTER;
}

static const char *scope_name(enum simt_scope scope) { return scope == SIMT_SCOPE_BLOCK ? "block" : "cluster"; }

/* Something leads from one to the other: what is wrong with it. */
static const char *advice_on_way(const struct conflict *c)
{
    static char text[1500];
    const struct way *w = &c->way;
    static const char *const fences[] = {"__threadfence_block()", "__threadfence_block()", "__threadfence_cluster()",
                                         "__threadfence()"};
    enum distance d = distance(c);
    const char *needed = fences[d];
    const struct step *strong = is_too_small(w->written.scope, d) ? &w->written : &w->read;
    const struct step *fence = !w->released.pc || is_too_small(w->released.scope, d) ? &w->released : &w->acquired;
    if (is_too_small(strong->scope, d))
        snprintf(text, sizeof text,
                 "An operation leads from one to the other (%s), but its scope is the %s's: it orders nothing between "
                 "%ss.",
                 where(strong->pc), scope_name(strong->scope), scope_name(strong->scope));
    else if (fence->pc && is_too_small(fence->scope, d))
        snprintf(text, sizeof text, "A fence stands there (%s), but its scope is the %s's: between %ss it takes %s.",
                 where(fence->pc), scope_name(fence->scope), scope_name(fence->scope), needed);
    else if (fence->pc)
        snprintf(
            text, sizeof text,
            "A write (%s) and a read that saw it (%s) lead from one access to the other, but not in this thread: a barrier of the threads that share what was read is missing, or a scope is too small.",
            where(w->written.pc), where(w->read.pc));
    else if (fence == &w->released)
        snprintf(
            text, sizeof text,
            "A fence is missing between the first access and the strong write that publishes it (%s): %s, by the same thread.",
            where(w->written.pc), needed);
    else
        snprintf(text, sizeof text,
                 "A fence is missing between the strong read that saw that write (%s) and the second access: %s.",
                 where(w->read.pc), needed);
    return text;
}

/* Between two accesses that nothing orders. */
static const char *advice_on_order(const struct race *r)
{
    const struct finding f = finding_of(r);
    bool mixed = (r->first.now == ACCESS_ATOMIC) != (r->first.before == ACCESS_ATOMIC);
    if (initialises(r->first.actor.engine) && initialises(r->first.other.engine))
        return "Two threads initialise one mbarrier: one thread alone does so, and all use it behind a barrier.";
    if (initialises(r->first.actor.engine) || initialises(r->first.other.engine))
        return f.furthest == ONE_CLUSTER
                   ? "Nothing holds the initialisation of an mbarrier and its use apart: a barrier of the cluster, "
                     "cluster.sync(), is missing between them."
                   : "Nothing holds the initialisation of an mbarrier and its use apart: a __syncthreads() is missing "
                     "between them.";
    if (r->first.actor.engine && is_load(r->first.before) && r->furthest == ONE_CLUSTER)
        return "Who copies into another block must know that its readers are through: they arrive at an mbarrier of the block that "
               "copies, which waits for it first, or all meet in the cluster's barrier.";
    if (engine_kind(r->first.other.engine) == PRODUCTS)
        return "A product has read its operands behind a wgmma.wait_group that covers it, of any warp of its warpgroup: a wait is "
               "missing, or, behind another thread's wait, a barrier or an mbarrier's phase.";
    if (engine_kind(r->first.actor.engine) == PRODUCTS)
        return "All threads of a warpgroup read a product's operands: each comes behind what was written there, by a barrier or a wait for an "
               "mbarrier's phase of its own.";
    if (r->first.other.engine && f.furthest != TWO_BLOCKS)
        return "A copy is ordered before what comes behind a wait that covers it: a wait is missing, or, behind another "
               "thread's wait, a barrier.";
    if (r->first.other.engine)
        return "Another block comes behind a copy if the copy's thread waits for it (cp.async.bulk.wait_group, and not .read, "
               "where it writes), and then releases that by a fence and an atomic operation, or by a barrier of the grid.";
    if (r->first.actor.engine && f.furthest != TWO_BLOCKS)
        return "Either the thread waits until the copy is complete, or the copy begins behind a barrier, or an mbarrier's phase, that "
               "comes after the access of every such thread.";
    if (mixed)
        return f.furthest == TWO_BLOCKS
                   ? "One of the two is atomic and the other is not: make both atomic, or use a second launch."
               : f.furthest == ONE_CLUSTER
                   ? "One of the two is atomic and the other is not: make both atomic, or put a barrier of the cluster "
                     "between."
                   : "One of the two is atomic and the other is not: make both atomic, or put a barrier between.";
    if (f.two_stores && f.furthest == TWO_BLOCKS)
        return "Two blocks write one place. If each thread is to have its own, the index is wrong; else use an atomic "
               "operation, or a second launch.";
    if (f.two_stores && f.furthest == ONE_CLUSTER)
        return "Two blocks of a cluster write one place. If each thread is to have its own, the index or the rank is wrong; "
               "else use an atomic operation, or put a barrier of the cluster between.";
    if (f.two_stores && f.has_roles)
        return "Two threads write one place. If each is to have its own, the index is wrong; else a barrier of these warps "
               "is missing between them.";
    if (f.two_stores)
        return "Two threads write one place. If each is to have its own, the index is wrong; else use an atomic operation, "
               "or put a barrier between.";
    if (f.furthest == TWO_BLOCKS && r->cooperative)
        return "Nothing orders the two blocks: a barrier of the grid, grid.sync(), is missing between them.";
    if (f.furthest == TWO_BLOCKS)
        return "Nothing orders two blocks of a launch but its end: use an atomic operation, or a second launch.";
    if (f.furthest == ONE_CLUSTER)
        return "Nothing orders the two blocks of the cluster: a barrier of the cluster, cluster.sync(), is missing between them, "
               "or an arrival at an mbarrier of the other block, which waits for it.";
    if (f.furthest == ONE_BLOCK && f.has_roles)
        return "Nothing orders the two. The block's warps do different things, so what is missing is a barrier of these "
               "warps alone, by a number of its own (bar.sync 1, THREADS), or a wait for an mbarrier.";
    if (f.furthest == ONE_BLOCK)
        return "Nothing orders the two: a __syncthreads() is missing between them.";
    if (f.has_roles)
        return "Nothing orders the two, which are threads of one warp: a __syncwarp() is missing between them.";
    return "Nothing orders the two: a __syncthreads() is missing between them, or, if they are always threads of one warp, as "
           "they were here, a __syncwarp().";
}

static const char *advice(const struct race *r)
{
    const struct conflict *c = &r->first;
    if (r->other_launch)
        return "Nothing orders the two launches: an event that the later stream waits for, an edge of the graph, a "
               "synchronisation, or cudaGridDependencySynchronize() in a kernel that is launched programmatically, is "
               "missing between them.";
    if (c->why == TAKEN_FOR_CONSTANT)
        return "What __ldg() and ld.global.nc read must stay as it is as long as the kernel runs: use a plain load.";
    if (c->why == SCOPE_TOO_SMALL && c->is_of_cluster)
        return "The two are in different clusters: an operation of cluster scope orders nothing between clusters, and is "
               "atomic to its own alone.";
    if (c->why == SCOPE_TOO_SMALL)
        return "The two are in different blocks: an operation of block scope orders nothing between blocks, and is "
               "atomic to its own alone.";
    if (c->why == FENCE_MISSING && c->way.written.pc)
        return advice_on_way(c);
    if (c->why == FENCE_MISSING)
        return "Something orders the two, but a fence is missing on the way, or its scope or that of an atomic is too "
               "small.";
    return advice_on_order(r);
}

/* All of a report but its advice. */
static void say_conflict(FILE *f, const struct conflict *c)
{
    const struct block *b = c->block;
    const struct launch *l = b->launch;
    const unsigned char *address = c->place.object->base + c->place.offset;
    char name[256];
    name_target(b, address, name, sizeof name);
    if (c->why == TAKEN_FOR_CONSTANT)
        fprintf(f, "simt: read-only load of what the kernel writes: %s\n", where(c->pc));
    else if (c->place.space == SPACE_SHARED || !of_other_launch(c))
        fprintf(f, "simt: race in %s memory: %s\n", c->place.space == SPACE_SHARED ? "shared" : "global", where(c->pc));
    else
        fprintf(f, "simt: race between streams: %s\n", where(c->pc));
    say_kernel(f, l, c->actor.serial);
    fprintf(f, "  ");
    say_actor(f, l, c->actor.thread, c->actor.engine);
    fprintf(f, " %s %s (%u byte%s) at %s%s\n", initialises(c->actor.engine) ? "initialises" : present(c->now), name,
            c->bytes, plural(c->bytes), where(c->pc), called(c->pc));
    fprintf(f, "  ");
    if (of_other_launch(c)) {
        fprintf(f, "This ");
        overlap_say_launch(f, l->first_serial);
        fprintf(f, ".\n  The ");
        overlap_say_launch(f, c->other.serial);
        fprintf(f, ",");
    } else if (c->other.serial != c->actor.serial) {
        say_block(f, l, c->other.serial);
        fprintf(f, ", ");
    }
    if (!of_other_launch(c))
        say_actor(f, l, c->other.thread, c->other.engine);
    fprintf(f, " %s it at %s%s\n", initialises(c->other.engine) ? "initialised" : past(c->before), where(c->other_pc),
            called(c->other_pc));
    if (c->place.space != SPACE_SHARED)
        say_target(f, b, address, c->bytes, false);
}

static char *words_of_conflict(const struct conflict *c)
{
    char *words = NULL;
    size_t size;
    FILE *f = open_memstream(&words, &size);
    if (!f)
        base_out_of_memory();
    say_conflict(f, c);
    fclose(f);
    return words;
}

void report_race(const struct conflict *c)
{
    pthread_mutex_lock(&lock);
    struct race *r = races;
    while (r < races + n_races && !same_places(r, c))
        r++;
    if (r < races + MOST_RACES) {
        if (r == races + n_races) {
            const struct launch *l = c->block->launch;
            *r = (struct race){*c,
                               distance(c),
                               of_other_launch(c),
                               l->asked->cooperative,
                               .two_stores = c->now == ACCESS_STORE && c->before == ACCESS_STORE,
                               .words = words_of_conflict(c)};
            __atomic_store_n(&n_races, n_races + 1, __ATOMIC_RELAXED);
        }
        if (distance(c) > r->furthest)
            r->furthest = distance(c);
        r->has_roles |= c->block->has_roles;
    }
    pthread_mutex_unlock(&lock);
}

bool report_has_races(void) { return __atomic_load_n(&n_races, __ATOMIC_RELAXED); }

void report_stored_together(const void *pc)
{
    if (!report_has_races())
        return;
    pthread_mutex_lock(&lock);
    for (struct race *r = races; r < races + n_races; r++)
        r->two_stores |= r->first.pc == pc || r->first.other_pc == pc;
    pthread_mutex_unlock(&lock);
}

/* Called with the lock held. */
static void say_races(void)
{
    for (; n_said < n_races; n_said++) {
        const struct race *r = &races[n_said];
        fprintf(stderr, "%s  %s\n", r->words, advice(r));
        free(r->words);
    }
}

void report_races(void)
{
    if (n_said == n_races)
        return;
    begin_report();
    pthread_mutex_unlock(&lock);
}

/* What is found first of its kind in a launch, and kept until its end. */
struct kept_words {
    char *words;
    size_t size;
};
static struct kept_words uninitialised, not_begun, mixed;

/* Takes the lock; NULL, and it is not taken: there is one already. */
static FILE *begin_keeping(struct kept_words *kept)
{
    if (__atomic_load_n(&kept->words, __ATOMIC_ACQUIRE))
        return NULL;
    pthread_mutex_lock(&lock);
    FILE *f = kept->words ? NULL : open_memstream(&kept->words, &kept->size);
    if (!f)
        pthread_mutex_unlock(&lock);
    return f;
}

static void end_keeping(FILE *f)
{
    fclose(f);
    pthread_mutex_unlock(&lock);
}

void report_uninitialised(const struct access *a, bool shared)
{
    FILE *f = begin_keeping(&uninitialised);
    if (!f)
        return;
    say_access(f, a, shared ? "uninitialised shared memory" : "uninitialised global memory");
    fprintf(f, "  %s has written it.\n",
            !shared                     ? "Neither a copy nor a kernel"
            : a->block->cluster->n == 1 ? "No thread of this block"
                                        : "No thread of this cluster");
    end_keeping(f);
}

void report_not_begun(const struct access *a)
{
    const struct block *owner = shared_owner(a->block, a->address);
    FILE *f = begin_keeping(&not_begun);
    if (!f)
        return;
    say_access(f, a, "block has not begun");
    fprintf(f, "  Nothing that this thread has waited for tells it that the block of rank %u, ", owner->rank);
    say_block(f, owner->launch, owner->serial);
    fprintf(f, ", has begun: a barrier of the cluster, cluster.sync(), is missing before its first access there.\n");
    end_keeping(f);
}

void report_mixed_barrier(const struct block *b, unsigned id, unsigned thread, const void *pc, unsigned other,
                          const void *other_pc)
{
    FILE *f = begin_keeping(&mixed);
    if (!f)
        return;
    fprintf(f, "simt: mixed barrier: %s\n", where(pc));
    say_kernel(f, b->launch, b->serial);
    fprintf(f, "  ");
    say_thread(f, b->launch, thread);
    fprintf(f, " comes to barrier %u%s\n  ", id, called(pc));
    say_thread(f, b->launch, other);
    fprintf(f, " came to it for the phase before, at %s%s, and nothing orders the two\n", where(other_pc),
            called(other_pc));
    fprintf(
        f,
        "  On a GPU the first may come before the second, and count in its place: then the barrier is complete before all "
        "threads of that phase have come. Threads that do not wait for each other meet in barriers of different numbers.\n");
    end_keeping(f);
}

void report_left(const struct access *a, const struct block *owner, unsigned last)
{
    const void *pc = owner->threads[last].pc;
    begin_report();
    say_access(stderr, a, "block has left");
    fprintf(stderr, "  The last thread of the block of rank %u, ", owner->rank);
    say_block(stderr, owner->launch, owner->serial);
    fprintf(stderr, ", ");
    say_thread(stderr, owner->launch, last);
    if (pc && is_known(pc))
        fprintf(stderr, ", which last waited at %s,", where(pc));
    fprintf(
        stderr,
        " leaves, and none of the block's threads knows of the access by then.\n  A block's shared memory is given back when "
        "its last thread leaves: a barrier of the cluster, cluster.sync(), is missing behind the last access to it.\n");
    stop();
    __builtin_unreachable();
}

/* Called with the lock held. A race explains each, and each what stands behind it. */
static void say_kept(void)
{
    const char *kept[] = {not_begun.words, mixed.words, uninitialised.words};
    for (unsigned i = 0; !n_races && i < sizeof kept / sizeof *kept; i++)
        if (kept[i]) {
            fputs(kept[i], stderr);
            return;
        }
}

void report_finish_launch(void)
{
    if (!n_races && !uninitialised.words && !not_begun.words && !mixed.words)
        return;
    fflush(stdout);
    if (n_races == MOST_RACES)
        fprintf(stderr, "simt: further races are not listed.\n");
    say_kept();
    stop();
}

/* ---- what kernels say themselves ---- */

/* assert in a kernel; simtcc leads __assert_fail here. On the host it is C's own. */
void simt_assert_fail(const char *condition, const char *file, unsigned line, const char *function)
{
    if (!simt_worker) {
        fflush(stdout);
        fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, condition);
        abort();
    }
    const struct block *b = block_here();
    begin_report();
    fprintf(stderr, "simt: assertion failed: %s:%u\n", file, line);
    say_kernel(stderr, b->launch, b->serial);
    fprintf(stderr, "  ");
    say_thread(stderr, b->launch, b->cur);
    fprintf(stderr, " found that this does not hold: %s\n", condition);
    stop();
}

void report_call_of(const struct block *b, unsigned thread, const char *kind, const void *pc, const char *did,
                    const char *why)
{
    begin_report();
    fprintf(stderr, "simt: %s: %s\n", kind, where(pc));
    say_kernel(stderr, b->launch, b->serial);
    fprintf(stderr, "  ");
    say_thread(stderr, b->launch, thread);
    fprintf(stderr, " %s%s\n", did, called_by_kernel(b, thread, pc));
    if (*why)
        fprintf(stderr, "  %s\n", why);
    stop();
    __builtin_unreachable();
}

void report_two_calls(const struct block *b, unsigned thread, const char *kind, const void *pc, const char *did,
                      const void *before, const char *did_before, const char *why)
{
    begin_report();
    fprintf(stderr, "simt: %s: %s\n", kind, where(pc));
    say_kernel(stderr, b->launch, b->serial);
    fprintf(stderr, "  ");
    say_thread(stderr, b->launch, thread);
    fprintf(stderr, " %s%s\n", did, called_by_kernel(b, thread, pc));
    fprintf(stderr, "  It %s at %s%s\n  %s\n", did_before, where(before), called(before), why);
    stop();
    __builtin_unreachable();
}

void report_call(const char *kind, const void *pc, const char *did, const char *why)
{
    const struct block *b = block_here();
    report_call_of(b, b->cur, kind, pc, did, why);
}

void simt_trap(void) { report_call("trap", CALLER(), "called __trap()", ""); }

/* ---- waiting ---- */

static bool waits_alike(const struct block *b, unsigned t, unsigned other)
{
    const struct thread *x = &b->threads[t], *y = &b->threads[other];
    if (has_left(b, t) || has_left(b, other))
        return has_left(b, t) && has_left(b, other);
    if (!x->waits_for || !y->waits_for)
        return x->waits_for == y->waits_for && x->pc == y->pc;
    if (x->pc != y->pc || x->waits_for->kind != y->waits_for->kind)
        return false;
    if (x->call && y->call)
        return x->call->mask == y->call->mask && x->call->qualifiers == y->call->qualifiers;
    return x->waits_for == y->waits_for && x->asked == y->asked;
}

static void say_waiters(FILE *f, const struct block *b)
{
    unsigned n = b->launch->threads, said = 0;
    for (unsigned t = 0; t < n && said < 12; said++) {
        const struct thread *a = &b->threads[t];
        unsigned end = t + 1;
        while (end < n && waits_alike(b, t, end))
            end++;
        struct index last = index_in(end - 1, b->launch->asked->block);
        bool one = end - t == 1;
        fprintf(f, "  ");
        say_thread(f, b->launch, t);
        if (!one)
            fprintf(f, " to (%u,%u,%u)", last.x, last.y, last.z);
        if (has_left(b, t)) {
            fprintf(f, " %s left the kernel\n", one ? "has" : "have");
        } else if (!a->waits_for) {
            fprintf(f, " %s on", one ? "goes" : "go");
            if (a->pc)
                fprintf(f, ", last seen at %s%s", where(a->pc), called_by_kernel(b, t, a->pc));
            fprintf(f, "\n");
        } else {
            fprintf(f, " wait%s in %s", one ? "s" : "", a->waits_for->kind->call);
            if (a->waits_for->kind->describe)
                a->waits_for->kind->describe(f, a);
            fprintf(f, " at %s%s\n", where(a->pc), called_by_kernel(b, t, a->pc));
        }
        t = end;
    }
}

static bool in_warpgroup_collective(const struct thread *t) { return t->call && t->call->op->of_warpgroup; }

/* Of two waiters, the first comes closer to why nobody can go on: a block-wide wait rather than a warp's, and warps of one
 * warpgroup that have not come to one instruction, rather than others that wait for their registers. */
static bool explains_better(const struct thread *a, const struct thread *other)
{
    if (in_warpgroup_collective(a) && other->waits_for->kind->explain)
        return true;
    if (in_warpgroup_collective(other) && a->waits_for->kind->explain)
        return false;
    if (a->waits_for->kind->explain || other->waits_for->kind->explain)
        return !other->waits_for->kind->explain;
    return other->call && !a->call;
}

/* How many threads come together to what a thread waits in: the four warps of a warpgroup, or a warp to a barrier that is .aligned;
 * 1: it may be fewer. */
static unsigned together(const struct thread *t)
{
    if (in_warpgroup_collective(t))
        return WARPGROUP * WARP;
    return t->call && t->call->op->of_barrier ? WARP : 1;
}

/* Does a thread wait for others of its warpgroup, or its warp, that have come to another instruction of all of them? */
static bool is_split(const struct block *b, unsigned t)
{
    const struct thread *a = &b->threads[t];
    unsigned n = together(a), begin = t - t % n;
    bool split = false;
    for (unsigned i = begin; i < begin + n && i < b->launch->threads; i++) {
        const struct thread *other = &b->threads[i];
        bool meets = n == WARP ? other->call != NULL : in_warpgroup_collective(other);
        split |= other->waits_for && meets && other->call->op != a->call->op;
    }
    return split;
}

/* No thread can run: say who waits where, and who has left. */
void report_deadlock(const struct cluster *c)
{
    const struct thread *first = NULL, *shown = NULL, *split = NULL;
    begin_explaining();
    for (unsigned rank = 0; rank < c->n; rank++) {
        const struct block *b = c->blocks[rank];
        for (unsigned t = 0; t < b->launch->threads; t++) {
            const struct thread *a = &b->threads[t];
            if (has_left(b, t) || !a->waits_for)
                continue;
            if (!shown)
                shown = a;
            if (!first || explains_better(a, first))
                first = a;
            if (!split && is_split(b, t))
                split = a;
        }
    }
    if (split)
        first = split;
    if (split || first->waits_for->kind->explain)
        shown = first;
    fprintf(stderr, "simt: %s: %s\n", first->waits_for->kind->deadlock, where(shown->pc));
    for (unsigned rank = 0; rank < c->n; rank++) {
        say_kernel(stderr, c->launch, c->blocks[rank]->serial);
        say_waiters(stderr, c->blocks[rank]);
    }
    if (first->waits_for->kind->explain)
        first->waits_for->kind->explain(stderr, first);
    fprintf(stderr, "  %s\n", first->waits_for->kind->rule);
    stop();
    __builtin_unreachable();
}

void report_divergence(struct block *b, const char *call, unsigned thread, const void *pc, unsigned other,
                       const void *other_pc)
{
    const struct collective *collective = b->threads[thread].call;
    begin_explaining();
    fprintf(stderr, "simt: %s: %s\n", collective ? collective->op->waiting.deadlock : "divergent barrier", where(pc));
    say_kernel(stderr, b->launch, b->serial);
    fprintf(stderr, "  ");
    say_thread(stderr, b->launch, thread);
    fprintf(stderr, " is in %s at %s%s\n  ", call, where(pc), called(pc));
    say_thread(stderr, b->launch, other);
    fprintf(stderr, " is in the one at %s%s\n", where(other_pc), called(other_pc));
    fprintf(stderr,
            collective && collective->op->of_warpgroup
                ? "  It is .aligned: the threads of a warpgroup must come to it at one place.\n"
            : collective
                ? "  It is .aligned: the lanes of a warp must come to it at one place.\n"
                : "  The 32 threads of a warp come to a barrier together: in a branch it is right only if all of them "
                  "take the branch.\n");
    stop();
    __builtin_unreachable();
}

void report_left_loop(struct block *b, const char *call, unsigned thread, const void *pc, unsigned left)
{
    begin_explaining();
    fprintf(stderr, "simt: divergent barrier: %s\n", where(pc));
    say_kernel(stderr, b->launch, b->serial);
    fprintf(stderr, "  ");
    say_thread(stderr, b->launch, thread);
    fprintf(stderr, " is in %s at %s%s\n  ", call, where(pc), called_by_kernel(b, thread, pc));
    say_thread(stderr, b->launch, left);
    fprintf(stderr,
            ", of the same warp, has been in it and then left the kernel\n"
            "  The 32 threads of a warp come to a barrier together, and equally often: not in a loop that some of them "
            "leave before others.\n");
    stop();
    __builtin_unreachable();
}

void report_outside_mask(struct block *b, unsigned thread)
{
    const struct thread *t = &b->threads[thread];
    begin_explaining();
    fprintf(stderr, "simt: divergent collective: %s\n", where(t->pc));
    say_kernel(stderr, b->launch, b->serial);
    fprintf(stderr, "  ");
    say_thread(stderr, b->launch, thread);
    fprintf(stderr, ", lane %u, calls %s with the mask 0x%08x, which does not name it.\n", thread % WARP,
            t->waits_for->kind->call, t->call->mask);
    stop();
    __builtin_unreachable();
}

void report_undefined(struct block *b, const struct undefined_read *u, const void *pc, unsigned thread)
{
    const char *absent = !(u->mask >> u->from & 1)                                 ? "the mask does not name"
                         : u->thread / WARP * WARP + u->from >= b->launch->threads ? "does not exist"
                                                                                   : "has left the kernel";
    begin_explaining();
    fprintf(stderr, "simt: divergent collective: %s\n", where(u->pc));
    say_kernel(stderr, b->launch, b->serial);
    fprintf(stderr, "  ");
    say_thread(stderr, b->launch, u->thread);
    fprintf(stderr, ", lane %u, reads in a shuffle from lane %u, which %s%s\n", u->thread % WARP, u->from, absent,
            called(u->pc));
    fprintf(stderr, "  That value is undefined, and ");
    if (pc) {
        say_thread(stderr, b->launch, thread);
        fprintf(stderr, " writes what came of it at %s%s\n", where(pc), called(pc));
    } else {
        fprintf(stderr, "what the kernel does depends on it.\n");
    }
    stop();
    __builtin_unreachable();
}

void report_unordered_access(const struct access *a, const char *kind, const char *before, const char *why)
{
    begin_explaining();
    say_access(stderr, a, kind);
    fprintf(stderr, "  This ");
    overlap_say_launch(stderr, a->block->launch->first_serial);
    fprintf(stderr, ".\n  %s\n  %s\n", before, why);
    stop();
    __builtin_unreachable();
}

void report_overlap(const char *kind, const void *pc, const char *now, const char *before, const void *address,
                    const char *why)
{
    const struct object *variable = memory_covers(address) ? NULL : symbol_find(address);
    begin_explaining();
    fprintf(stderr, "simt: %s: %s\n  %s\n  %s\n", kind, where(pc), now, before);
    if (memory_covers(address))
        say_allocation(stderr, NULL, address, 1);
    if (variable)
        say_variable(stderr, variable, address, 1);
    fprintf(stderr, "  %s\n", why);
    stop();
    __builtin_unreachable();
}

void report_host(const char *kind, const void *pc, const char *why)
{
    begin_report();
    fprintf(stderr, "simt: %s: %s\n  %s\n", kind, where(pc), why);
    stop();
    __builtin_unreachable();
}

void report_unsupported(const char *what, const char *file, int line)
{
    begin_report();
    fprintf(stderr, "simt: not supported: %s:%d\n  The emulator does not offer %s.\n", file, line, what);
    end_at_once(2);
}

void report_unsupported_at(const char *what, const void *pc)
{
    struct source_line l = lines_of(pc);
    report_unsupported(what, l.file, l.line);
}

/* ---- signals: what no hook saw ---- */

void report_signal(const char *kind, const void *pc, const void *address, const char *did, const char *why)
{
    begin_report();
    fprintf(stderr, "simt: %s: %s\n", kind, where(pc));
    if (simt_worker) {
        const struct block *b = block_here();
        say_kernel(stderr, b->launch, b->serial);
        fprintf(stderr, "  ");
        say_thread(stderr, b->launch, b->cur);
    } else {
        fprintf(stderr, "  The host");
    }
    fprintf(stderr, " %s", did);
    if (address)
        fprintf(stderr, " %p", address);
    fprintf(stderr, "\n");
    if (address && memory_covers(address))
        say_allocation(stderr, NULL, address, 1);
    fprintf(stderr, "  %s\n", why);
    end_at_once(1);
}

/* The innermost of these places that the program's own source holds. */
static const void *own_place(const void *const *pcs)
{
    for (unsigned i = 0; i < WATCHDOG_FRAMES && pcs[i]; i++)
        for (unsigned back = 0; back < 64; back += 4) { /* not every instruction has a line: the one before may */
            const void *pc = (const char *)pcs[i] - back;
            struct source_line l = lines_of(pc);
            if (l.line && !strstr(l.file, "emulator/src/"))
                return pc;
        }
    return pcs[0];
}

/* Blocks of one launch whose threads do the same, in words. */
struct alike {
    const struct launch *launch;
    char *words;
    u64 n;
    uint32_t first, last; /* serials */
};

static char *words_of(const struct block *b)
{
    char *words = NULL;
    size_t size;
    FILE *f = open_memstream(&words, &size);
    if (!f)
        base_out_of_memory();
    say_waiters(f, b);
    fclose(f);
    return words;
}

static struct alike *add_block(struct alike *groups, unsigned *n, const struct block *b)
{
    char *words = words_of(b);
    for (unsigned i = 0; i < *n; i++) {
        struct alike *g = &groups[i];
        if (g->launch != b->launch || strcmp(g->words, words) != 0)
            continue;
        g->n++;
        g->first = b->serial < g->first ? b->serial : g->first;
        g->last = b->serial > g->last ? b->serial : g->last;
        free(words);
        return groups;
    }
    groups = realloc(groups, (*n + 1) * sizeof *groups);
    if (!groups)
        base_out_of_memory();
    groups[(*n)++] = (struct alike){b->launch, words, 1, b->serial, b->serial};
    return groups;
}

/* Those of a cluster that have not ended, but for one. */
static struct alike *add_cluster(struct alike *groups, unsigned *n, const struct cluster *c, const struct block *but)
{
    for (unsigned rank = 0; rank < c->n; rank++)
        if (c->blocks[rank] != but && c->blocks[rank]->n_live)
            groups = add_block(groups, n, c->blocks[rank]);
    return groups;
}

static void say_alike(FILE *f, const struct alike *g)
{
    if (g->n == 1) {
        say_kernel(f, g->launch, g->first);
    } else {
        fprintf(f, "  kernel %s, %llu blocks, the first ", g->launch->kernel->name, g->n);
        say_block(f, g->launch, g->first);
        fprintf(f, ", the last ");
        say_block(f, g->launch, g->last);
        fprintf(f, "\n");
    }
    fputs(g->words, f);
}

/* Clusters begin in the order of their numbers. Those that workers were about to begin have not. */
static void say_not_begun(FILE *f, const struct launch *l)
{
    u64 begun = __atomic_load_n(&l->next_cluster, __ATOMIC_RELAXED);
    begun = begun < l->clusters ? begun : l->clusters;
    for (unsigned i = 0; i < simt_n_workers; i++)
        begun -= simt_workers[i].begins;
    if (begun == l->clusters)
        return;
    u64 left = (l->clusters - begun) * l->cluster_blocks;
    fprintf(f, "  kernel %s, %llu block%s, from ", l->kernel->name, left, plural((unsigned)left));
    say_block(f, l, l->first_serial + (uint32_t)begun * l->cluster_blocks);
    fprintf(f, " on, %s not begun\n", left == 1 ? "has" : "have");
}

/* The watchdog's: where each worker is, and what the threads of its block do. */
void report_endless(void)
{
    static const void *pcs[MAX_WORKERS][WATCHDOG_FRAMES];
    pthread_t ids[MAX_WORKERS];
    struct alike *groups = NULL;
    const struct launch *launch = NULL;
    unsigned n_groups = 0;
    for (unsigned i = 0; i < simt_n_workers; i++)
        ids[i] = simt_workers[i].id;
    watchdog_stop_workers(ids, simt_n_workers, &pcs[0][0]);
    pthread_mutex_lock(&lock); /* and not stdout's, which a worker that was stopped may hold */
    say_races();
    for (unsigned i = 0; i < simt_n_workers; i++) {
        struct block *b = simt_workers[i].block;
        if (!b)
            continue;
        const void *pc = current(b)->pc; /* where it polls; else, where it was stopped */
        if (!pc)
            pc = own_place(pcs[i]);
        if (!launch)
            fprintf(stderr, "simt: endless kernel: %s\n", where(pc));
        launch = b->launch;
        say_kernel(stderr, b->launch, b->serial);
        fprintf(stderr, "  ");
        say_thread(stderr, b->launch, b->cur);
        fprintf(stderr, " is at %s%s\n", where(pc), called(pc));
        say_waiters(stderr, b);
        bool between = false; /* stopped on its way from that cluster to another, which it may be beginning */
        for (const struct cluster *c = simt_workers[i].in_hand; c; c = c->next) {
            groups = add_cluster(groups, &n_groups, c, b);
            between |= c == b->cluster;
        }
        if (!between)
            groups = add_cluster(groups, &n_groups, b->cluster, b);
    }
    for (unsigned i = 0; i < n_groups; i++)
        say_alike(stderr, &groups[i]);
    if (launch)
        say_not_begun(stderr, launch);
    fprintf(stderr, "  No thread has ended for as long as SIMT_TIMEOUT allows: %u seconds; 0 allows any time.\n",
            watchdog_seconds());
    end_at_once(1);
}
