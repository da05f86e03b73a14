/* Races in shared memory, by happens-before.
 *
 * Two accesses of different threads to the same byte, one of them a write and not both atomic, race unless something
 * orders them: a __syncthreads() between them (the block's epoch steps), or a __syncwarp() that both lanes, directly
 * or through others, have met in (vector clocks within the warp: known[i][j] is how far lane i has seen lane j).
 * Shuffles and votes order nothing (CUDA C++ Programming Guide, "Warp Shuffle Functions").
 *
 * A cell remembers, for each 4-byte word, the last write and who has read since. Words touched in parts are split
 * into cells of one byte: neighbours may write neighbouring bytes. One store instruction of a warp that writes a word
 * from several lanes is no race: the guide says that one of the writes happens. */
#include "simt.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct cell {
    uint32_t write_epoch, write_clock; /* epoch 0: never written */
    const void *write_pc;
    uint32_t read_epoch, read_clock, read_lanes; /* readers of one warp, since the write */
    uint32_t other_epoch;                        /* a reader of another warp in the same epoch */
    const void *read_pc[2], *other_pc; /* of the last two readers of that warp */
    uint16_t write_thread, read_warp, other_thread;
    uint8_t write_turn, reader[2]; /* their lanes */
    bool write_atomic, split;
};

void race_init(struct worker *w)
{
    size_t words = SHARED_BYTES / 4;
    int protection = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    w->cells = mmap(NULL, words * sizeof(struct cell), protection, flags, -1, 0);
    w->byte_cells = mmap(NULL, SHARED_BYTES * sizeof(struct cell), protection, flags, -1, 0);
    if (w->cells == MAP_FAILED || w->byte_cells == MAP_FAILED) perror("simt: no memory to watch shared memory"), exit(2);
}

void race_block_barrier(struct worker *w)
{
    w->epoch++;
    for (unsigned t = 0; t < w->launch->threads; t++) memset(w->threads[t].turns, 0, sizeof w->threads[t].turns);
}

void race_warp_sync(struct worker *w, unsigned warp, uint32_t lanes)
{
    struct thread *threads = &w->threads[warp * WARP];
    uint32_t(*known)[WARP] = w->warps[warp].known, seen[WARP] = {0};
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        unsigned lane = (unsigned)__builtin_ctz(rest);
        known[lane][lane] = threads[lane].clock++;
        for (unsigned i = 0; i < WARP; i++)
            if (known[lane][i] > seen[i]) seen[i] = known[lane][i];
    }
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        unsigned lane = (unsigned)__builtin_ctz(rest);
        for (unsigned i = 0; i < WARP; i++) known[lane][i] = seen[i];
        memset(threads[lane].turns, 0, sizeof threads[lane].turns);
    }
}

/* Did what `other` did at (epoch, clock) come before what the running thread does now? */
static bool ordered(struct worker *w, uint32_t epoch, unsigned other, uint32_t clock)
{
    if (epoch != w->epoch || other == w->cur) return true;
    return other / WARP == w->cur / WARP && w->warps[other / WARP].known[w->cur % WARP][other % WARP] >= clock;
}

struct seen { /* one access, on its way through the cells */
    const void *pc;
    unsigned offset, bytes;
    enum access kind;
    uint8_t turn; /* of this store in this thread: the n-th lap of a loop is another instruction than the first */
    bool told;
};

static void report_store(struct worker *w, const struct suspicion *s)
{
    report_race(w, s->address, s->bytes, "writes", s->pc, s->other, s->verb, s->other_pc);
}

/* A plain store is judged when it has been done: one that changes nothing, as when all lanes set a flag, harms nobody. */
void race_suspect(struct worker *w, struct suspicion s)
{
    if (w->suspicion.address) return;
    for (unsigned i = 0; i < s.bytes && i < sizeof s.before; i++) s.before[i] = s.address[i];
    w->suspicion = s;
}

void race_judge(struct worker *w)
{
    struct suspicion s = w->suspicion;
    w->suspicion.address = NULL;
    if (s.address && memcmp(s.before, s.address, s.bytes < sizeof s.before ? s.bytes : sizeof s.before)) s.report(w, &s);
}

static void tell(struct worker *w, struct seen *a, const char *now, unsigned other, const char *before, const void *pc)
{
    const unsigned char *address = w->arena + a->offset;
    if (a->told) return;
    a->told = true;
    if (a->kind == ACCESS_STORE)
        race_suspect(w, (struct suspicion){.address = address, .bytes = a->bytes, .report = report_store, .pc = a->pc,
                                           .other_pc = pc, .verb = before, .other = other});
    else
        report_race(w, address, a->bytes, now, a->pc, other, before, pc);
}

/* Where the lane read: its own place if it is one of the last two, else the last's. */
static const void *read_place(const struct cell *c, unsigned lane)
{
    return c->read_pc[c->reader[1] == lane && c->reader[0] != lane && c->read_pc[1]];
}

static void add_reader(struct worker *w, struct cell *c, struct seen *a)
{
    unsigned warp = w->cur / WARP, lane = w->cur % WARP;
    uint32_t clock = current(w)->clock;
    if (c->read_epoch != w->epoch) {
        c->read_epoch = w->epoch;
        c->read_warp = (uint16_t)warp;
        c->read_lanes = 0;
        c->read_clock = clock;
    }
    if (c->read_warp == warp) {
        if (clock > c->read_clock) { /* readers that this lane has met since stand behind it */
            for (uint32_t rest = c->read_lanes; rest; rest &= rest - 1) {
                unsigned other = (unsigned)__builtin_ctz(rest);
                if (w->warps[warp].known[lane][other] >= c->read_clock) c->read_lanes &= ~(1u << other);
            }
            c->read_clock = clock;
        }
        c->read_lanes |= 1u << lane;
        if (c->reader[0] != lane) c->reader[1] = c->reader[0], c->read_pc[1] = c->read_pc[0];
        c->reader[0] = (uint8_t)lane;
        c->read_pc[0] = a->pc;
    } else if (c->other_epoch != w->epoch) {
        c->other_epoch = w->epoch;
        c->other_thread = (uint16_t)w->cur;
        c->other_pc = a->pc;
    }
}

static void visit(struct worker *w, struct cell *c, struct seen *a)
{
    bool atomic = a->kind == ACCESS_ATOMIC, store = a->kind != ACCESS_LOAD;
    const char *now = a->kind == ACCESS_LOAD ? "reads" : atomic ? "atomically changes" : "writes";
    if (c->write_epoch < w->block_epoch) {
        /* If some thread writes it later, unordered, that is a race and is told as one. */
        if (a->kind != ACCESS_STORE) report_uninitialised(w, a->offset, a->bytes, a->pc, a->kind);
    } else if (!ordered(w, c->write_epoch, c->write_thread, c->write_clock) && !(atomic && c->write_atomic)) {
        bool one_instruction = store && c->write_pc == a->pc && c->write_turn == a->turn && c->write_thread / WARP == w->cur / WARP;
        if (!one_instruction) tell(w, a, now, c->write_thread, c->write_atomic ? "atomically changed" : "wrote", c->write_pc);
    }
    if (!store) {
        add_reader(w, c, a);
        return;
    }
    if (c->read_epoch == w->epoch) {
        unsigned racing = NO_THREAD;
        for (uint32_t rest = c->read_lanes; rest; rest &= rest - 1) {
            unsigned lane = (unsigned)__builtin_ctz(rest), reader = c->read_warp * WARP + lane;
            if (ordered(w, w->epoch, reader, c->read_clock)) continue;
            if (racing == NO_THREAD || lane == c->reader[0] || lane == c->reader[1]) racing = reader; /* whose line is known */
        }
        if (racing != NO_THREAD) tell(w, a, now, racing, "read", read_place(c, racing % WARP));
        if (c->other_epoch == w->epoch && c->other_thread / WARP != w->cur / WARP)
            tell(w, a, now, c->other_thread, "read", c->other_pc);
    }
    c->write_epoch = w->epoch;
    c->write_clock = current(w)->clock;
    c->write_pc = a->pc;
    c->write_thread = (uint16_t)w->cur;
    c->write_turn = a->turn;
    c->write_atomic = atomic;
    c->read_epoch = c->other_epoch = 0;
}

void race_access(struct worker *w, const void *pc, unsigned offset, unsigned bytes, enum access kind)
{
    struct seen a = {.pc = pc, .offset = offset, .bytes = bytes, .kind = kind};
    if (kind != ACCESS_LOAD) a.turn = current(w)->turns[(uintptr_t)pc / 4 % 16]++;
    if (!current(w)->clock) current(w)->clock = 1; /* 0 is "nothing seen yet" */
    for (unsigned at = offset; at < offset + bytes;) {
        struct cell *word = &w->cells[at / 4], *parts = &w->byte_cells[at & ~3u];
        unsigned end = (at & ~3u) + 4 < offset + bytes ? (at & ~3u) + 4 : offset + bytes;
        bool whole = at % 4 == 0 && end - at == 4;
        if (!whole && !word->split) {
            for (unsigned i = 0; i < 4; i++) parts[i] = *word;
            word->split = true;
        }
        if (!word->split) {
            visit(w, word, &a);
        } else {
            for (unsigned i = at; i < end; i++) visit(w, &parts[i % 4], &a);
            if (whole && kind != ACCESS_LOAD) *word = parts[0], word->split = false;
        }
        at = end;
    }
}
