/* The race detector. Two accesses of different threads to the same byte, one of them a write, race unless something
 * orders them (order.c), or both are strong and each within the other's scope.
 *
 * A cell remembers, for each 4-byte word, the last write and some of the reads since, each as a record of 16 bytes.
 * Words touched in parts are split into cells of one byte: neighbours may write neighbouring bytes. One store
 * instruction of a warp that writes a word from several lanes is no race: the guide says that one of the writes
 * happens.
 *
 * Of many concurrent readers a cell keeps those of different warps and blocks, since a write that races with one of a
 * warp's reads races with any that no finer order tells apart. What is lost can lose a report, never invent one. */
#include "race.h"
#include "launch.h"
#include "messages.h"
#include "overlap.h"
#include "report.h"
#include "worker.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum strength { PLAIN, VOLATILE, ATOMIC_BLOCK, ATOMIC_DEVICE };

struct record {
    uint32_t serial; /* of the block; 0: nobody */
    uint32_t who;    /* the lanes; of a cell's last write: lane 5 | turn 8, SPLIT, CARELESS, COMPARES */
    u64 key;         /* stamp 29 | collective 1 | warp 5 | strength 2 | code address 27 */
};
#define SPLIT 0x80000000u
#define STAMP(r) ((uint32_t)((r)->key >> 35))
#define IS_COLLECTIVE(r) ((bool)((r)->key >> 34 & 1))
#define WARP_OF(r) ((unsigned)((r)->key >> 29 & 31))
#define STRENGTH(r) ((enum strength)((r)->key >> 27 & 3))
#define LANE(r) ((r)->who & 31)
#define TURN(r) ((r)->who >> 5 & 0xff)
#define CARELESS 0x2000u
#define COMPARES 0x4000u /* by atomicCAS, which may have written nothing */
#define IS_CARELESS(r) ((bool)((r)->who & CARELESS))

struct cell {
    struct record write;
    struct record reads[]; /* cells->readers */
};

struct cells {
    size_t bytes, cell_bytes;
    unsigned readers;
    unsigned char *words, *parts;
};

/* ---- storage ---- */

struct cells *race_cells(size_t bytes, unsigned readers)
{
    struct cells *c = malloc(sizeof *c);
    if (!c)
        return NULL;
    c->readers = readers;
    c->bytes = bytes;
    c->cell_bytes = (1 + readers) * sizeof(struct record);
    c->words = base_reserve((bytes / 4 + 1) * c->cell_bytes);
    c->parts = base_reserve((bytes / 4 + 1) * 4 * c->cell_bytes);
    return c;
}

void race_cells_free(struct cells *c)
{
    if (!c)
        return;
    base_release(c->words, (c->bytes / 4 + 1) * c->cell_bytes);
    base_release(c->parts, (c->bytes / 4 + 1) * 4 * c->cell_bytes);
    free(c);
}

void race_cells_clear(struct cells *c)
{
    base_forget(c->words, (c->bytes / 4 + 1) * c->cell_bytes);
    base_forget(c->parts, (c->bytes / 4 + 1) * 4 * c->cell_bytes);
}

static struct cell *word_cell(const struct cells *c, size_t offset)
{
    return (struct cell *)(c->words + offset / 4 * c->cell_bytes);
}
static struct cell *part_cell(const struct cells *c, size_t offset)
{
    return (struct cell *)(c->parts + offset * c->cell_bytes);
}

/* Blocks on several workers touch the same cells of global memory. */
#define LOCKS 1024
static struct {
    bool held;
    char alone[63];
} locks[LOCKS] __attribute__((aligned(64)));

static bool *lock_cells(const struct block *b, const struct place *place)
{
    if (place->space == SPACE_SHARED || !b->launch->many_workers)
        return NULL;
    bool *lock = &locks[(place->offset >> 6) % LOCKS].held;
    while (__atomic_test_and_set(lock, __ATOMIC_ACQUIRE)) {
    }
    return lock;
}

static void unlock_cells(bool *lock)
{
    if (lock)
        __atomic_clear(lock, __ATOMIC_RELEASE);
}

/* ---- code addresses in 27 bits: from the program's start, or, in shared objects, from a table ---- */

extern char __ehdr_start[]; /* of the program, or of the shared object that this runtime is in */
#define NEAR_BITS (1u << 26)

static const void *distant[4096];
static unsigned n_distant;
static pthread_mutex_t distant_lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned short_pc(const void *pc)
{
    size_t offset = (size_t)((const char *)pc - __ehdr_start);
    if (offset < NEAR_BITS)
        return (unsigned)offset;
    pthread_mutex_lock(&distant_lock);
    unsigned i = 0;
    while (i < n_distant && distant[i] != pc)
        i++;
    if (i == n_distant && n_distant < 4095)
        distant[n_distant++] = pc;
    pthread_mutex_unlock(&distant_lock);
    return NEAR_BITS + i;
}

static const void *full_pc(const struct record *r)
{
    unsigned pc = (unsigned)(r->key & 0x7ffffff);
    return pc < NEAR_BITS ? __ehdr_start + pc : distant[pc - NEAR_BITS];
}

/* ---- one access, on its way through the cells ---- */

struct visit {
    struct block *b;
    const struct place *place;
    const void *pc;
    u64 key;
    uint32_t least_serial; /* earlier blocks are of launches before this one, or their shared memory was another */
    unsigned warp, lane, bytes;
    enum access kind;
    enum strength strength;
    const struct cell *cell; /* in hand */
    uint32_t flags;          /* CARELESS: it writes inside a lock, without a full fence; COMPARES */
    uint8_t turn; /* of this store in this thread: the n-th lap of a loop is another instruction than the first */
    bool raced;   /* with the following, to be reported when the locks are open again */
    bool other_stored;
    enum why why;
    enum strength other_strength;
    unsigned other_thread;
    struct record other;
};

static enum strength strength_of(enum access kind, enum simt_scope scope)
{
    if (kind == ACCESS_VOLATILE_LOAD || kind == ACCESS_VOLATILE_STORE)
        return VOLATILE;
    if (kind != ACCESS_ATOMIC)
        return PLAIN;
    return scope == SIMT_SCOPE_BLOCK ? ATOMIC_BLOCK : ATOMIC_DEVICE;
}

static enum access kind_of(enum strength strength, bool stored)
{
    if (strength == VOLATILE)
        return stored ? ACCESS_VOLATILE_STORE : ACCESS_VOLATILE_LOAD;
    if (strength != PLAIN)
        return ACCESS_ATOMIC;
    return stored ? ACCESS_STORE : ACCESS_LOAD;
}

static const unsigned char *address_of(const struct visit *v) { return v->place->object->base + v->place->offset; }

static void note_conflict(struct visit *v, const struct record *r, unsigned thread, enum strength strength, bool stored,
                          enum why why)
{
    if (v->raced)
        return;
    v->raced = true;
    v->other = *r;
    v->other_thread = thread;
    v->other_strength = strength;
    v->other_stored = stored;
    v->why = why;
}

static struct conflict conflict_of(const struct visit *v)
{
    struct conflict c = {
        .block = v->b, .place = *v->place, .bytes = v->bytes, .now = v->kind, .pc = v->pc, .why = v->why};
    c.before = kind_of(v->other_strength, v->other_stored);
    c.other_pc = full_pc(&v->other);
    c.actor.serial = v->b->serial;
    c.actor.thread = v->b->cur;
    c.other.serial = v->other.serial;
    c.other.thread = v->other_thread;
    return c;
}

/* Two strong accesses that no strict order holds apart. Volatile data whose order would follow if a scope were wider
 * races; a volatile flag that others poll does not, nor what has been read just before. */
static void meet_strong(struct visit *v, const struct record *r, unsigned thread, enum strength strength, bool stored)
{
    struct block *b = v->b;
    bool too_small = r->serial != b->serial && (v->strength == ATOMIC_BLOCK || strength == ATOMIC_BLOCK);
    bool volatile_data = b->manner != AS_RELAXED &&
                         (v->strength == VOLATILE || (strength == VOLATILE && v->kind != ACCESS_ATOMIC));
    if (!too_small && !volatile_data)
        return;
    bool loosely = message_loosely(b, r->serial, thread, STAMP(r));
    if (too_small && !loosely)
        note_conflict(v, r, thread, strength, stored, SCOPE_TOO_SMALL);
    if (too_small || message_observed(b, address_of(v)))
        return;
    bool last_write = r == &v->cell->write && !(r->who & COMPARES);
    bool overwritten = last_write && v->kind == ACCESS_VOLATILE_STORE;
    if (loosely || overwritten)
        note_conflict(v, r, thread, strength, stored, loosely ? FENCE_MISSING : NOTHING_ORDERS);
}

/* Atomic operations that the thread has seen the last of: a store of its own there comes after them in any case, as where
 * the last to arrive in a barrier sets its counter back; a load does if there was a fence between. */
static bool follows_own_view(const struct visit *v)
{
    if (v->kind == ACCESS_STORE)
        return message_observed(v->b, address_of(v));
    return message_observed_and_fenced(v->b, address_of(v));
}

static void meet(struct visit *v, const struct record *r, unsigned thread, enum strength strength, bool stored)
{
    if (order_before(v->b, r->serial, thread, STAMP(r)))
        return;
    if (strength != PLAIN && v->strength == PLAIN && follows_own_view(v))
        return;
    if (v->strength != PLAIN && message_seen(v->b, r->serial, thread, STAMP(r)))
        return;
    bool warp_synchronous = r->serial == v->b->serial && thread / WARP == v->warp && v->strength == VOLATILE &&
                            strength == VOLATILE && v->b->manner != AS_RELAXED;
    if (v->strength != PLAIN && strength != PLAIN && !warp_synchronous) {
        meet_strong(v, r, thread, strength, stored);
        return;
    }
    note_conflict(v, r, thread, strength, stored, NOTHING_ORDERS);
}

/* Is that record of a launch that has ended before the running thread does this? */
static bool is_past(const struct visit *v, const struct record *r)
{
    if (r->serial < v->least_serial)
        return true;
    return r->serial < v->b->launch->first_serial && overlap_ordered(v->b, r->serial);
}

static void meet_write(struct visit *v, const struct record *r)
{
    if (is_past(v, r))
        return;
    if (r->serial == v->b->serial && STAMP(r) <= v->b->floor)
        return;
    unsigned thread = WARP_OF(r) * WARP + LANE(r);
    bool one_warp = r->serial == v->b->serial && WARP_OF(r) == v->warp;
    if (IS_CARELESS(r) && message_lock_was_careless(v->b, r->serial, thread))
        note_conflict(v, r, thread, STRENGTH(r), true, FENCE_MISSING);
    bool one_instruction = one_warp && access_stores(v->kind) && TURN(r) == v->turn && full_pc(r) == v->pc;
    if (!one_instruction)
        meet(v, r, thread, STRENGTH(r), true);
}

static bool is_atomic(const struct record *r) { return STRENGTH(r) >= ATOMIC_BLOCK; }

static void meet_reads(struct visit *v, const struct record *r)
{
    if (is_past(v, r))
        return;
    if (r->serial == v->b->serial && STAMP(r) <= v->b->floor)
        return;
    if (IS_COLLECTIVE(r) && r->serial == v->b->serial && WARP_OF(r) == v->warp)
        return; /* done before any lane of the warp went on */
    for (uint32_t rest = r->who; rest && !v->raced; rest &= rest - 1)
        meet(v, r, WARP_OF(r) * WARP + (unsigned)__builtin_ctz(rest), STRENGTH(r), is_atomic(r));
}

/* Is all that this record holds ordered before what the running thread does, or of no more account? */
static bool is_covered(const struct block *b, uint32_t least_serial, const struct record *r)
{
    if (r->serial < least_serial || !r->who)
        return true;
    if (r->serial != b->serial)
        return false;
    if (STAMP(r) <= b->floor)
        return true;
    return WARP_OF(r) == b->cur / WARP && r->who == 1u << b->cur % WARP;
}

/* The first record is the latest. A place is made by dropping what is covered, else one of the warp in hand, else the
 * last, or the last but one where the last alone is of another block. */
static void add_record(const struct block *b, uint32_t least_serial, struct cell *c, unsigned readers,
                       struct record added)
{
    unsigned drop = readers;
    for (unsigned i = 0; i < readers; i++) {
        struct record *r = &c->reads[i];
        if (r->serial == added.serial && r->key == added.key) {
            r->who |= added.who;
            return;
        }
        if (drop == readers && is_covered(b, least_serial, r))
            drop = i;
    }
    for (unsigned i = readers; drop == readers && i-- > 0;)
        if (c->reads[i].serial == b->serial && WARP_OF(&c->reads[i]) == b->cur / WARP && i > 0)
            drop = i;
    if (drop == readers) {
        drop = readers - 1;
        bool other_block = c->reads[drop].serial != b->serial;
        if (other_block && drop > 0 && c->reads[drop - 1].serial == b->serial)
            drop--;
    }
    for (; drop > 0; drop--)
        c->reads[drop] = c->reads[drop - 1];
    c->reads[0] = added;
}

/* What happens most: a load of a word that nobody has written since the last barrier. Returns whether that is all. */
static bool load_word(const struct block *b, const struct cells *cells, size_t offset, uint32_t least_serial, u64 key)
{
    struct cell *c = word_cell(cells, offset);
    const struct record *w = &c->write;
    uint32_t lane = 1u << b->cur % WARP;
    if (w->who & SPLIT)
        return false;
    if (w->serial >= least_serial && (w->serial != b->serial || STAMP(w) > b->floor))
        return false;
    if (c->reads[0].serial == b->serial && c->reads[0].key == key) {
        c->reads[0].who |= lane;
        return true;
    }
    for (unsigned i = 0; i < cells->readers; i++)
        if (c->reads[i].serial >= least_serial && is_atomic(&c->reads[i]))
            return false;
    add_record(b, least_serial, c, cells->readers, (struct record){b->serial, lane, key});
    return true;
}

static void visit_load(struct visit *v, struct cell *c, unsigned readers)
{
    for (unsigned i = 0; i < readers; i++)
        if (is_atomic(&c->reads[i]))
            meet_reads(v, &c->reads[i]);
    add_record(v->b, v->least_serial, c, readers, (struct record){v->b->serial, 1u << v->lane, v->key});
}

/* What a write leaves of the records: nothing, since who races with them races with it; but atomic operations do not
 * race with one another, and so stay, and so does what it races with itself: a store of what was there already may be
 * passed over, and the next one is not. */
static void visit_store(struct visit *v, struct cell *c, unsigned readers)
{
    struct record last = c->write;
    bool atomic = v->strength >= ATOMIC_BLOCK;
    for (unsigned i = 0; i < readers; i++) {
        struct record *r = &c->reads[i];
        meet_reads(v, r);
        if (!v->raced && (!atomic || !is_atomic(r)))
            r->serial = 0;
    }
    c->write = (struct record){v->b->serial, v->lane | (uint32_t)v->turn << 5 | v->flags, v->key};
    if (!atomic || !is_atomic(&last) || last.serial < v->least_serial)
        return;
    unsigned thread = WARP_OF(&last) * WARP + LANE(&last);
    if (order_before(v->b, last.serial, thread, STAMP(&last)))
        return;
    last.who = 1u << LANE(&last);
    add_record(v->b, v->least_serial, c, readers, last);
}

static void visit_cell(struct visit *v, struct cell *c, unsigned readers)
{
    v->cell = c;
    meet_write(v, &c->write);
    if (access_stores(v->kind))
        visit_store(v, c, readers);
    else
        visit_load(v, c, readers);
}

static void split(const struct cells *cells, struct cell *word, size_t offset)
{
    for (unsigned i = 0; i < 4; i++)
        memcpy(part_cell(cells, offset + i), word, cells->cell_bytes);
    word->write.who |= SPLIT;
}

static void visit_word(struct visit *v, const struct cells *cells, size_t offset, unsigned n)
{
    struct cell *word = word_cell(cells, offset);
    size_t base = offset & ~(size_t)3;
    if (n != 4 && !(word->write.who & SPLIT))
        split(cells, word, base);
    if (!(word->write.who & SPLIT)) {
        visit_cell(v, word, cells->readers);
        return;
    }
    for (unsigned i = 0; i < n; i++)
        visit_cell(v, part_cell(cells, offset + i), cells->readers);
    if (n == 4 && access_stores(v->kind))
        memcpy(word, part_cell(cells, base), cells->cell_bytes);
}

/* ---- judgement ---- */

static pthread_mutex_t doubts_lock = PTHREAD_MUTEX_INITIALIZER;
static struct conflict
    *doubts; /* plain loads that met an atomic operation: right only as the first guess of a loop around atomicCAS */
static unsigned n_doubts, doubts_capacity;

static bool is_first_guess(const struct conflict *c)
{
    return (c->now == ACCESS_LOAD && c->before == ACCESS_ATOMIC) ||
           (c->now == ACCESS_ATOMIC && c->before == ACCESS_LOAD);
}

static void doubt(const struct conflict *c)
{
    pthread_mutex_lock(&doubts_lock);
    if (n_doubts == doubts_capacity) {
        doubts_capacity = doubts_capacity ? 2 * doubts_capacity : 64;
        doubts = realloc(doubts, doubts_capacity * sizeof *doubts);
        if (!doubts)
            perror("simt: no memory to keep order in"), exit(2);
    }
    doubts[n_doubts] = *c;
    __atomic_store_n(&n_doubts, n_doubts + 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&doubts_lock);
}

void race_compare_and_swap(struct block *b, const void *address, unsigned bytes)
{
    if (!__atomic_load_n(&n_doubts, __ATOMIC_RELAXED))
        return;
    pthread_mutex_lock(&doubts_lock);
    for (unsigned i = 0; i < n_doubts; i++) {
        const struct conflict *c = &doubts[i];
        const unsigned char *at = c->place.object->base + c->place.offset;
        bool now = c->now == ACCESS_LOAD;
        bool mine = (now ? c->actor.serial : c->other.serial) == b->serial &&
                    (now ? c->actor.thread : c->other.thread) == b->cur;
        if (!mine || at + c->bytes <= (const unsigned char *)address || (const unsigned char *)address + bytes <= at)
            continue;
        doubts[i--] = doubts[n_doubts - 1];
        __atomic_store_n(&n_doubts, n_doubts - 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&doubts_lock);
}

void race_end_launch(void)
{
    for (unsigned i = 0; i < n_doubts; i++)
        report_race(&doubts[i]);
    n_doubts = 0;
}

/* The other thread may be about to do its store, on another worker: what it stores must be there to be compared with.
 */
static void let_other_store(const struct conflict *c)
{
    const unsigned char *address = c->place.object->base + c->place.offset;
    for (unsigned i = 0; i < simt_n_workers; i++) {
        const struct worker *w = &simt_workers[i];
        if (w == simt_worker)
            continue;
        for (unsigned spin = 0; spin < 1u << 20 && __atomic_load_n(&w->storing, __ATOMIC_ACQUIRE) == address; spin++) {
        }
    }
}

/* A plain store is judged when it has been done: one that changes nothing, as when all set a flag, harms nobody. */
static void suspect(struct block *b, const struct conflict *c)
{
    struct suspicion *s = b->suspicion;
    if (s->pending)
        return;
    let_other_store(c);
    s->conflict = *c;
    const volatile unsigned char *bytes = c->place.object->base + c->place.offset;
    for (unsigned i = 0; i < c->bytes && i < sizeof s->before; i++)
        s->before[i] = bytes[i];
    s->pending = true;
}

void race_judge_copy(struct block *b, const void *stores)
{
    struct suspicion *s = b->suspicion;
    size_t n = s->conflict.bytes < sizeof s->before ? s->conflict.bytes : sizeof s->before;
    s->pending = false;
    if (memcmp(s->before, stores, n))
        report_race(&s->conflict);
}

void race_judge(struct block *b)
{
    const struct conflict *c = &b->suspicion->conflict;
    race_judge_copy(b, c->place.object->base + c->place.offset);
}

static void visit_words(struct visit *v, const struct cells *cells, size_t offset)
{
    for (size_t at = offset, end = at + v->bytes; at < end;) {
        size_t stop = (at & ~(size_t)3) + 4 < end ? (at & ~(size_t)3) + 4 : end;
        visit_word(v, cells, at, (unsigned)(stop - at));
        at = stop;
    }
}

static void prepare_store(struct visit *v)
{
    uint8_t *turn = &current(v->b)->turns[(uintptr_t)v->pc / 4 % 16];
    enum lock_fence fence = v->strength >= ATOMIC_BLOCK ? NO_LOCK : message_lock(v->b);
    v->turn = *turn;
    (*turn)++;
    if (v->kind == ACCESS_ATOMIC && v->b->compares)
        v->flags = COMPARES;
    if (fence != NO_FENCE && fence != BLOCK_FENCE)
        return;
    v->flags |= CARELESS;
    message_note_careless(v->b);
}

/* The records that hold this place, and where in them. NULL: it is not watched. */
static const struct cells *cells_of(const struct block *b, const struct place *place, size_t *offset)
{
    bool shared = place->space == SPACE_SHARED;
    *offset = shared ? (size_t)(place->object->base - b->arena) + place->offset : place->offset;
    return shared ? b->cells : place->object->cells;
}

void race_access(struct block *b, const void *pc, const struct place *place, unsigned bytes, enum access kind,
                 enum simt_scope scope)
{
    bool shared = place->space == SPACE_SHARED;
    size_t offset;
    const struct cells *cells = cells_of(b, place, &offset);
    uint32_t least_serial = shared ? b->serial : b->launch->least_serial;
    enum strength strength = strength_of(kind, scope);
    u64 key = (u64)b->now << 35 | (u64)access_collective_load(kind) << 34 | (u64)(b->cur / WARP) << 29 |
              (u64)strength << 27 | short_pc(pc);
    bool *lock = lock_cells(b, place);
    if (kind == ACCESS_LOAD && bytes == 4 && load_word(b, cells, offset, least_serial, key)) {
        unlock_cells(lock);
        return;
    }
    struct visit v;
    v.b = b;
    v.place = place;
    v.pc = pc;
    v.least_serial = least_serial;
    v.warp = b->cur / WARP;
    v.lane = b->cur % WARP;
    v.bytes = bytes;
    v.kind = kind;
    v.strength = strength;
    v.key = key;
    v.raced = false;
    v.turn = 0;
    v.flags = 0;
    if (access_stores(kind))
        prepare_store(&v);
    visit_words(&v, cells, offset);
    struct conflict c;
    if (v.raced)
        c = conflict_of(&v);
    bool doubtful = v.raced && is_first_guess(&c);
    if (doubtful)
        doubt(&c); /* still under the lock: the reader's own atomicCAS, which clears it, will have to take it too */
    unlock_cells(lock);
    if (!v.raced || doubtful)
        return;
    if (access_stores(kind) && kind != ACCESS_ATOMIC)
        suspect(b, &c);
    else
        report_race(&c);
}

bool race_last_writer(const struct block *b, const struct place *place, struct actor *writer)
{
    bool shared = place->space == SPACE_SHARED;
    size_t offset;
    const struct cells *cells = cells_of(b, place, &offset);
    if (!cells)
        return false;
    const struct cell *c = word_cell(cells, offset);
    if (c->write.who & SPLIT)
        c = part_cell(cells, offset);
    if (c->write.serial < (shared ? b->serial : b->launch->first_serial))
        return false;
    *writer = (struct actor){c->write.serial, WARP_OF(&c->write) * WARP + LANE(&c->write), full_pc(&c->write)};
    return true;
}

/* ---- what kernels did, seen from outside ---- */

struct search {
    bool store;
    uint32_t least;
    bool (*counts)(const void *context, uint32_t serial);
    const void *context;
};

static bool matches(const struct search *s, const struct record *r)
{
    return r->serial >= s->least && s->counts(s->context, r->serial);
}

static bool find_in_cell(const struct search *s, const struct cell *c, unsigned readers, struct outside_conflict *found)
{
    const struct record *r = &c->write;
    unsigned thread = WARP_OF(r) * WARP + LANE(r);
    bool store = matches(s, r);
    for (unsigned i = 0; i < readers && !store; i++) {
        r = &c->reads[i];
        if (!r->who || !(s->store || is_atomic(r)) || !matches(s, r))
            continue;
        *found = (struct outside_conflict){.store = is_atomic(r), .strong = STRENGTH(r) != PLAIN};
        found->who = (struct actor){r->serial, WARP_OF(r) * WARP + (unsigned)__builtin_ctz(r->who), full_pc(r)};
        return true;
    }
    if (store)
        *found = (struct outside_conflict){{r->serial, thread, full_pc(r)}, true, STRENGTH(r) != PLAIN};
    return store;
}

bool race_find(const struct cells *cells, size_t offset, size_t bytes, bool store, uint32_t least,
               bool (*counts)(const void *context, uint32_t serial), const void *context,
               struct outside_conflict *found)
{
    struct search s = {store, least, counts, context};
    for (size_t at = offset, end = offset + bytes; at < end;) {
        size_t stop = (at & ~(size_t)3) + 4 < end ? (at & ~(size_t)3) + 4 : end;
        const struct cell *word = word_cell(cells, at);
        if (!(word->write.who & SPLIT) && find_in_cell(&s, word, cells->readers, found))
            return true;
        for (size_t i = at; i < stop && word->write.who & SPLIT; i++)
            if (find_in_cell(&s, part_cell(cells, i), cells->readers, found))
                return true;
        at = stop;
    }
    return false;
}
