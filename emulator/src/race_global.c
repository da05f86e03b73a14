/* Races in global memory between blocks of one launch.
 *
 * Blocks run in any order, so two of them that touch one word, at least one of them writing other than atomically, race
 * unless the first has published what it did and the second has taken notice: a __threadfence() and then an atomic
 * operation in the first, an atomic operation after it in the second (the pattern of the "last block" reduction). A
 * volatile access counts as atomic here. Which word the two atomics meet on is not asked, so this errs on the side of silence.
 *
 * Each word of device memory has a cell: its last writer and two readers of different blocks, since a write that
 * conflicts with one of any number of readers conflicts with one of these two, or their order is told by another. Cells
 * are read and written without a lock: a lost update can lose a report, never invent one. */
#include "simt.h"
#include <pthread.h>
#include <stdlib.h>

/* An access in 64 bits: launch 16 | block 31 | releases of that block before it 12 | bytes of the word 4 | atomic 1 */
#define LAUNCH(id) ((unsigned)((id) >> 48))
#define BLOCK(id) ((unsigned)((id) >> 17 & 0x7fffffff))
#define RELEASES(id) ((unsigned)((id) >> 5 & 0xfff))
#define BYTES(id) ((unsigned)((id) >> 1 & 0xf))
#define ATOMIC(id) ((bool)((id) & 1))

struct cell {
    u64 write, read[2];
    uint32_t write_pc, read_pc[2]; /* from the program's start */
};

struct releases { unsigned n, room; u64 *at; }; /* when, in atomic operations of the launch, a block published */

extern char __executable_start[];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static u64 n_atomics;

size_t race_global_shadow_bytes(size_t bytes) { return (bytes / 4 + 1) * sizeof(struct cell); }

static struct cell *symbol_cells(const char **start)
{
    static struct cell *cells;
    size_t bytes = memory_symbols(start);
    pthread_mutex_lock(&lock);
    if (!cells) cells = calloc(1, race_global_shadow_bytes(bytes));
    pthread_mutex_unlock(&lock);
    return cells;
}

/* What a block did before its n-th release is known to this one, if it has done an atomic operation since. */
static bool known(struct worker *w, u64 id)
{
    bool yes = false;
    if (w->acquires) w->acquired = __atomic_load_n(&n_atomics, __ATOMIC_SEQ_CST); /* the operation itself is over by now */
    w->acquires = false;
    if (!w->acquired) return false;
    pthread_mutex_lock(&lock);
    struct releases *r = w->launch->releases ? &w->launch->releases[BLOCK(id)] : NULL;
    if (r && RELEASES(id) < r->n) yes = r->at[RELEASES(id)] <= w->acquired;
    pthread_mutex_unlock(&lock);
    return yes;
}

/* A plain load may meet an atomic operation: loops around atomicCAS begin with one. */
static bool conflict(struct worker *w, u64 now, bool now_loads, u64 before, bool before_loads)
{
    bool allowed = (ATOMIC(now) || now_loads) && (ATOMIC(before) || before_loads);
    return LAUNCH(now) == LAUNCH(before) && BLOCK(now) != BLOCK(before) && (BYTES(now) & BYTES(before)) && !allowed &&
           !known(w, before);
}

static const void *full_pc(uint32_t pc) { return __executable_start + pc; }

static void report_store(struct worker *w, const struct suspicion *s)
{
    report_global_race(w, s->pc, s->address, s->bytes, true, s->other, s->verb, s->other_pc);
}

/* The other block may be about to do its store, on another core: what it stores must be there to be compared with. */
static void let_other_store(const void *address, unsigned other_block)
{
    for (unsigned i = 0; i < simt_n_workers; i++) {
        const struct worker *w = &simt_workers[i];
        for (unsigned spin = 0; w->block_number == other_block && spin < 1u << 20; spin++)
            if (__atomic_load_n(&w->storing, __ATOMIC_ACQUIRE) != address) break;
    }
}

/* As in race.c: a plain store is judged once it is done. */
static void tell(struct worker *w, const void *pc, const void *address, unsigned bytes, enum access kind, u64 other,
                 const char *verb, uint32_t other_pc)
{
    if (kind == ACCESS_STORE) {
        let_other_store(address, BLOCK(other));
        race_suspect(w, (struct suspicion){.address = address, .bytes = bytes, .report = report_store, .pc = pc,
                                           .other_pc = full_pc(other_pc), .verb = verb, .other = BLOCK(other)});
    } else {
        report_global_race(w, pc, address, bytes, kind != ACCESS_LOAD, BLOCK(other), verb, full_pc(other_pc));
    }
}

void race_global_symbol(struct worker *w, const void *pc, const void *address, unsigned bytes, enum access kind)
{
    const char *start;
    struct cell *cells = symbol_cells(&start);
    if (cells) race_global_access(w, pc, address, bytes, kind, cells, (size_t)((const char *)address - start));
}

void race_global_access(struct worker *w, const void *pc, const void *address, unsigned bytes, enum access kind, void *shadow,
                        size_t offset)
{
    bool atomic = kind == ACCESS_ATOMIC || kind == ACCESS_VOLATILE_LOAD || kind == ACCESS_VOLATILE_STORE;
    bool store = kind != ACCESS_LOAD && kind != ACCESS_VOLATILE_LOAD;
    struct cell *c = (struct cell *)shadow + offset / 4;
    unsigned releases = w->n_releases < 0xfff ? w->n_releases : 0xfff;
    u64 base = (u64)(w->launch->number & 0xffff) << 48 | w->block_number << 17 | (u64)releases << 5 | (u64)atomic;
    uint32_t short_pc = (uint32_t)((const char *)pc - __executable_start);
    for (unsigned done = 0; done < bytes; c++) {
        unsigned at = (unsigned)(offset + done) & 3, n = 4 - at < bytes - done ? 4 - at : bytes - done;
        u64 now = base | (u64)(((1u << n) - 1) << at) << 1;
        u64 write = c->write, first = c->read[0], second = c->read[1];
        done += n;
        if (conflict(w, now, !store, write, false))
            tell(w, pc, address, bytes, kind, write, "wrote", c->write_pc);
        if (store) {
            for (int i = 0; i < 2; i++) {
                u64 read = i ? second : first;
                if (conflict(w, now, false, read, true))
                    tell(w, pc, address, bytes, kind, read, "read", c->read_pc[i]);
            }
            c->write_pc = short_pc;
            c->write = now;
        } else if (LAUNCH(first) != LAUNCH(now) || BLOCK(first) == BLOCK(now)) {
            if (first != now) c->read[0] = now, c->read_pc[0] = short_pc;
        } else if (LAUNCH(second) != LAUNCH(now) || BLOCK(second) == BLOCK(now)) {
            if (second != now) c->read[1] = now, c->read_pc[1] = short_pc;
        }
    }
}

/* Before an atomic operation on global memory: after a fence it publishes; always it takes notice of what others have. */
void race_global_atomic(struct worker *w)
{
    u64 now = __atomic_add_fetch(&n_atomics, 1, __ATOMIC_SEQ_CST);
    w->acquires = true;
    if (!w->fenced) return;
    struct launch *l = w->launch;
    pthread_mutex_lock(&lock);
    if (!l->releases) l->releases = calloc(l->blocks, sizeof *l->releases);
    struct releases *r = l->releases ? &l->releases[w->block_number] : NULL;
    if (r && r->n == r->room) {
        u64 *more = realloc(r->at, (r->room ? 2 * r->room : 4) * sizeof *more);
        if (more) r->at = more, r->room = r->room ? 2 * r->room : 4;
    }
    if (r && r->n < r->room) r->at[r->n++] = now;
    w->n_releases = r ? r->n : 0;
    pthread_mutex_unlock(&lock);
}

void race_global_end_launch(struct launch *l)
{
    for (u64 i = 0; l->releases && i < l->blocks; i++) free(l->releases[i].at);
    free(l->releases);
}
