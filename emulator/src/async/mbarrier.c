/* mbarrier objects (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier"). Each is its block's, which
 * alone may make it, wait for it and end it; threads and copies of the other blocks of the cluster may arrive at it.
 *
 * The object itself lies here, beside the 8 bytes that the program set apart for it, which nobody else may touch while it
 * lives. A phase is over when neither arrivals nor bytes are pending; arrivals release what their threads did, and waits
 * acquire it. Arrivals that wait for copies (cp.async.mbarrier.arrive), and bytes that bulk copies bring, come when a thread
 * asks for the phase and only they are missing, so that copies land as late as they may; bulk copies that the phase did not
 * expect stay in flight. A test gives way and fails the first time that a thread asks for a phase, even
 * where it is over, unless the thread knows that, by a barrier or another wait: a program has to look at what a test says.
 *
 * A test or a wait may ask for the phase in hand or for the one before it. A token says which it means; a parity means
 * one of the two, and so the thread must know that what came before them is over: else the barrier may be two phases on. */
#include "async/mbarrier.h"
#include "async/cp_async.h"
#include "async/flight.h"
#include "base/lines.h"
#include "base/notes.h"
#include "base/report.h"
#include "block/launch.h"
#include "count/counters.h"
#include "memory/shared.h"
#include "order/access.h"
#include "order/proxy.h"
#include "order/touch.h"
#include "../../include/simt/async.h"
#include <stdlib.h>
#include <string.h>

#define MBARRIER_BYTES 8
#define MOST_ARRIVALS ((1u << 20) - 1) /* PTX ISA, "Valid range of the arrival count" */
#define MOST_BYTES ((1 << 20) - 1)     /* and of its count of bytes, either way */
#define MOST_TESTS 4096                /* that fail in a row; then the thread waits */

struct attachment { /* an arrival that waits for copies */
    unsigned thread;
    uint32_t issued; /* so many of them */
};

struct asked { /* a thread's last wait or test */
    const void *pc;
    u64 over;
    unsigned failed; /* so many tests for that phase, and no wait */
};

struct mbarrier {
    struct waiting waiting;
    struct mbarrier *next;
    struct block *block;
    struct place place;
    struct actor initialised;
    uint32_t initialised_then; /* its stamp */
    u64 phase;                 /* how many are over */
    unsigned expected, pending, n_waiting;
    long long bytes;      /* that are pending; less than 0: more have come than were expected */
    struct engine engine; /* of the bulk copies that it counts */
    bool counts_sent;     /* it has counted such of st.async or red.async */
    bool fenced;          /* by fence.mbarrier_init, or a relaxed arrival without it has been noted */
    bool published;       /* the async proxy sees that it was initialised, or has been noted not to */
    struct attachment *attached;
    unsigned n_attached, room;
    struct release arriving; /* by those who have arrived in this phase */
    struct release done[2];  /* by those who had in the phase before, [phase % 2] of it, and in the one before that */
    struct clock heard, heard_in[2]; /* the same of what threads of other blocks did here that orders nothing */
    u64 known[MAX_THREADS];          /* how many phases each thread knows to be over, as far as that was looked at */
    struct asked asked[MAX_THREADS];
};

static const unsigned char *address_of(const struct mbarrier *m) { return m->place.object->base + m->place.offset; }

static struct mbarrier *of_waiting(const struct thread *t)
{
    return (struct mbarrier *)((uintptr_t)t->waits_for - offsetof(struct mbarrier, waiting));
}

static void name_of(const struct mbarrier *m, char *name, size_t size)
{
    shared_name(m->block->launch, shared_offset(m->block, address_of(m)), name, size);
}

static void describe(FILE *f, const struct thread *t)
{
    const struct mbarrier *m = of_waiting(t);
    char name[256];
    name_of(m, name, sizeof name);
    fprintf(f, " on %s, for phase %llu (parity %u) to end, where phase %llu lacks %u of %u arrivals", name,
            t->asked - 1, (unsigned)(t->asked - 1) & 1, m->phase, m->pending, m->expected);
    if (m->bytes > 0)
        fprintf(f, " and %lld bytes", m->bytes);
    if (m->bytes < 0)
        fprintf(f, " and has got %lld bytes more than it expects", -m->bytes);
    fprintf(f, ",");
}

static const struct waiting_kind mbarrier_kind = {
    .call = "an mbarrier's wait",
    .deadlock = "barrier deadlock",
    .rule =
        "A phase of an mbarrier ends when as many have arrived as were expected, and as many bytes have come. Phases count from 0, and a wait by "
        "parity asks whether the last phase of that parity is over.",
    .describe = describe,
};

static void free_mbarrier(struct mbarrier **at)
{
    struct mbarrier *m = *at;
    struct engine **e = &m->block->flight->counted;
    while (*e != &m->engine)
        e = &(*e)->next;
    *e = m->engine.next;
    engine_free(&m->engine);
    *at = m->next;
    clock_free(&m->arriving.others);
    clock_free(&m->done[0].others);
    clock_free(&m->done[1].others);
    clock_free(&m->heard);
    clock_free(&m->heard_in[0]);
    clock_free(&m->heard_in[1]);
    free(m->attached);
    free(m);
}

/* Its memory may be touched again. */
static void remove_mbarrier(struct mbarrier **at)
{
    guard_open((*at)->block, address_of(*at), MBARRIER_BYTES);
    free_mbarrier(at);
}

void mbarrier_begin_block(struct block *b)
{
    while (b->mbarriers)
        free_mbarrier(&b->mbarriers);
    b->n_mbarriers = 0;
}

/* ---- which one ---- */

static struct mbarrier **find(struct block *b, const void *address)
{
    struct mbarrier **m = &b->mbarriers;
    while (*m && address_of(*m) != address)
        m = &(*m)->next;
    return m;
}

const void *mbarrier_on(const struct block *b, const void *address, unsigned bytes, struct actor *initialised)
{
    const unsigned char *start = address;
    for (const struct mbarrier *m = b->mbarriers; m; m = m->next)
        if (address_of(m) < start + bytes && start < address_of(m) + MBARRIER_BYTES) {
            *initialised = m->initialised;
            return address_of(m);
        }
    return NULL;
}

static struct place place_of_mbarrier(struct block *b, void *barrier, const void *pc)
{
    struct place p = place_of(b, barrier, MBARRIER_BYTES);
    struct access a = access_of(b, pc, barrier, MBARRIER_BYTES, ACCESS_ATOMIC);
    access_check_rank(&a);
    if (p.space != SPACE_SHARED)
        report_access(&a, "wrong memory space", "An mbarrier object lies in shared memory.");
    if ((uintptr_t)barrier % MBARRIER_BYTES)
        report_access(&a, "misaligned access", "");
    if (!p.object)
        report_access(&a, "out of bounds", "");
    return p;
}

/* It was initialised before, as far as relaxed arrivals say. */
static void note_unfenced(struct mbarrier *m, const void *pc)
{
    char text[1024];
    if (m->fenced)
        return;
    struct source_line l = lines_of(m->initialised.pc);
    m->fenced = true;
    snprintf(
        text, sizeof text,
        "An mbarrier is used that was initialised at %s:%d, and only arrivals that are .relaxed lie between, which order "
        "nothing: fence.mbarrier_init.release.cluster, by the thread that has initialised it, is missing before them.",
        l.file, l.line);
    note_once(pc, text);
}

static void report_invisible(const struct access *a, const struct mbarrier *m)
{
    report_meeting(
        a, "mbarrier not visible", &m->initialised, "initialised it",
        "Nothing that this thread has waited for tells it so. The thread that initialises an mbarrier for the other blocks of its "
        "cluster does fence.mbarrier_init.release.cluster behind that, and then all meet in the cluster's barrier.");
}

/* Whoever uses the object must know that it was initialised. */
static void check_order(const struct access *a, struct mbarrier *m)
{
    struct block *b = a->block;
    const struct actor *first = &m->initialised;
    if (!simt_checked || order_before(b, b->cur, first->serial, first->thread, m->initialised_then))
        return;
    if (order_before(b, b->cur, first->serial, engine_of(INITIALISATIONS, first->thread), m->initialised_then)) {
        note_unfenced(m, a->pc);
        return;
    }
    if (m->block != b)
        report_invisible(a, m);
    struct conflict c = {
        .block = b, .place = m->place, .bytes = MBARRIER_BYTES, .now = a->kind, .before = ACCESS_STORE};
    c.actor.serial = b->serial, c.actor.thread = b->cur, c.actor.engine = a->engine, c.pc = a->pc;
    c.other.serial = first->serial, c.other.thread = first->thread, c.other_pc = first->pc;
    c.other.engine = engine_of(INITIALISATIONS, first->thread);
    report_race(&c);
}

/* Of any block of the cluster, since threads of all may come to one object. */
static struct access access_of_mbarrier(struct block *b, const void *barrier, const void *pc)
{
    struct access a = access_of(b, pc, barrier, MBARRIER_BYTES, ACCESS_ATOMIC);
    a.scope = SIMT_SCOPE_CLUSTER;
    return a;
}

/* There is none on that place. Of another block's it is perhaps too early: who initialises it is to be named. */
static struct mbarrier *wait_for_object(const struct access *a, void *barrier)
{
    struct block *b = a->block;
    place_of_mbarrier(b, barrier, a->pc);
    struct block *owner = shared_owner(b, barrier);
    struct mbarrier *m = NULL;
    for (unsigned i = 0; simt_checked && !m && owner != b && i < MOST_TESTS; i++) {
        give_way(b, a->pc);
        m = *find(owner, barrier);
    }
    if (m)
        return m;
    if (simt_checked && owner != b)
        touch_other(a, owner);
    report_access(a, "no mbarrier", "Nobody has initialised an mbarrier there, or it has been invalidated.");
}

/* The object there, of any block of the cluster, which the running thread may use; engine: 0, or what does it for the thread. */
static struct mbarrier *object(void *barrier, unsigned engine, const void *pc)
{
    struct block *b = running(), *owner = shared_owner(b, barrier);
    struct mbarrier *m = owner ? *find(owner, barrier) : NULL;
    if (m && !simt_checked)
        return m;
    struct access a = access_of_mbarrier(b, barrier, pc);
    a.engine = engine;
    if (!m)
        m = wait_for_object(&a, barrier);
    check_order(&a, m);
    if (m->block != b)
        touch_other(&a, m->block);
    return m;
}

static void touch(const struct mbarrier *m, const void *pc)
{
    if (!simt_checked)
        return;
    struct access a = access_of_mbarrier(running(), address_of(m), pc);
    race_access(&a, &m->place);
}

/* The object there, for an operation of the running thread. */
static struct mbarrier *use(void *barrier, const void *pc)
{
    struct mbarrier *m = object(barrier, 0, pc);
    touch(m, pc);
    return m;
}

/* The same for what only the object's own block may do. */
static struct mbarrier *own(void *barrier, const char *did, const void *pc)
{
    struct mbarrier *m = object(barrier, 0, pc);
    if (m->block != running())
        report_call(
            "invalid mbarrier", pc, did,
            "The threads of its own block alone may do that; others may arrive at it, and expect and complete bytes.");
    return m;
}

/* The running thread has done something there that orders nothing: whoever waits for the phase knows that it is done. */
static void hear(struct mbarrier *m)
{
    struct block *b = running();
    if (simt_checked && b != m->block)
        clock_add(&m->heard, (struct entry){b->serial, b->cur, b->now});
}

/* ---- phases ---- */

static void end_phase(struct mbarrier *m)
{
    struct block *b = m->block;
    struct release *done = &m->done[m->phase % 2];
    struct clock *heard = &m->heard_in[m->phase % 2];
    m->phase++;
    m->pending = m->expected;
    clock_free(&done->others);
    if (m->engine.landed)
        clock_add(&m->arriving.others, (struct entry){b->serial, m->engine.actor, m->engine.landed});
    if (m->engine.landed && m->counts_sent)
        clock_add(&m->arriving.others,
                  (struct entry){b->serial, engine_of(SENT, m->engine.actor % MAX_THREADS), m->engine.landed});
    *done = m->arriving;
    m->arriving = (struct release){.serial = b->serial};
    clock_free(heard);
    *heard = m->heard;
    m->heard = (struct clock){0};
    if (m->n_waiting)
        wake_all(b->cluster, &m->waiting);
    m->n_waiting = 0;
}

/* Somebody asks for the phase: copies land if nothing else keeps it from its end. */
static void settle(struct mbarrier *m, const void *pc)
{
    struct block *b = m->block;
    if (m->pending != m->n_attached)
        return;
    for (unsigned i = 0; i < m->n_attached; i++) {
        const struct attachment *a = &m->attached[i];
        async_land(b, a->thread, a->issued, pc);
        clock_add(&m->arriving.others, (struct entry){b->serial, engine_of(COPIES, a->thread), a->issued});
    }
    m->pending -= m->n_attached;
    m->n_attached = 0;
    while (m->bytes > 0 && m->engine.n) {
        m->bytes -= (long long)engine_oldest(&m->engine)->bytes;
        clock_add(&m->heard, (struct entry){engine_oldest(&m->engine)->block->serial, 0, 0});
        transfer_land_oldest(&m->engine, pc);
    }
    if (!m->pending && !m->bytes)
        end_phase(m);
}

/* Something that was missing has come. */
static void go_on(struct mbarrier *m, const void *pc)
{
    if (!m->pending && !m->bytes)
        end_phase(m);
    else if (m->n_waiting)
        settle(m, pc);
}

static void report_arrivals(const struct mbarrier *m, unsigned count, const void *pc)
{
    char did[128];
    snprintf(did, sizeof did, "arrives with a count of %u, where a count of %u is pending", count,
             m->pending - m->n_attached);
    report_call("too many arrivals", pc, did,
                "In a phase of an mbarrier as many arrive as it was initialised for, and no more.");
}

static void arrive(struct mbarrier *m, const struct arriving *how, const void *pc)
{
    struct block *b = running();
    bool elsewhere = b != m->block;
    if (how->count > m->pending - m->n_attached)
        report_arrivals(m, how->count, pc);
    if (how->relaxed || (how->in_block && elsewhere))
        hear(m);
    if (simt_checked && how->relaxed)
        order_release_fenced(b, b->cur, elsewhere ? SIMT_SCOPE_CLUSTER : SIMT_SCOPE_BLOCK, &m->arriving);
    else if (simt_checked && !(how->in_block && elsewhere))
        order_release(b, b->cur, &m->arriving);
    m->pending -= how->count;
    go_on(m, pc);
}

static void report_bytes(const struct mbarrier *m, const char *what, u64 bytes, const void *pc)
{
    char did[128];
    snprintf(did, sizeof did, "%s %llu bytes, where %lld are pending", what, bytes, m->bytes);
    report_call("too many bytes", pc, did, "An mbarrier counts up to 1048575 bytes, either way.");
}

static void expect(struct mbarrier *m, u64 bytes, const void *pc)
{
    if (bytes > MOST_BYTES || m->bytes + (long long)bytes > MOST_BYTES)
        report_bytes(m, "expects", bytes, pc);
    m->bytes += (long long)bytes;
}

/* Another block's is another object: its address has the rank in its high bits. */
static void record(const struct mbarrier *m, enum event what, u64 phase, const void *pc)
{
    struct block *b = running();
    unsigned object = shared_offset(b, address_of(m));
    if (m->block != b)
        object += m->block->rank * SHARED_BYTES;
    counters_event_of(b, pc, what, object, (unsigned)phase);
}

/* Does the running thread know that so many phases are over: has each arrival of the last of them happened before? Only
 * of the last two that are over it can be said. */
static bool knows(struct mbarrier *m, u64 over)
{
    struct block *b = m->block;
    if (over <= m->known[b->cur])
        return true;
    const struct release *done = &m->done[(over - 1) % 2];
    for (unsigned t = 0; t < b->launch->threads; t++)
        if (done->threads[t] && !order_before(b, b->cur, b->serial, t, done->threads[t]))
            return false;
    for (unsigned i = 0; i < done->others.n; i++) {
        struct entry e = done->others.entries[i];
        bool counts = e.serial == b->serial ? is_engine(e.thread) : cluster_find(b, e.serial) != NULL;
        if (counts && !order_before(b, b->cur, e.serial, e.thread, e.stamp))
            return false;
    }
    m->known[b->cur] = over;
    return true;
}

static void report_stale(const struct mbarrier *m, u64 phase, const char *by, const void *pc)
{
    char did[160];
    snprintf(did, sizeof did, "asks by %s for phase %llu (parity %u) of an mbarrier that is in phase %llu", by, phase,
             (unsigned)phase & 1, m->phase);
    report_call("stale mbarrier phase", pc, did,
                "A test or a wait may ask for the phase in hand or for the one before it. Phases count from 0.");
}

/* The running thread goes on behind a phase, of which so many are over. */
static void acquire(struct mbarrier *m, u64 over, bool relaxed, const void *pc)
{
    struct block *b = m->block;
    record(m, EVENT_PHASE_WAIT, over - 1, pc);
    if (!simt_checked || !over)
        return;
    if (relaxed)
        order_see(b, b->cur, &m->done[(over - 1) % 2]);
    else
        order_acquire(b, b->cur, &m->done[(over - 1) % 2]);
    m->known[b->cur] = over;
    const struct clock *heard = &m->heard_in[(over - 1) % 2];
    for (unsigned i = 0; i < heard->n; i++) {
        struct entry e = heard->entries[i];
        touch_done(b, e.serial, e.thread, e.stamp);
        current(b)->knows_of |= (uint16_t)(1u << cluster_find(b, e.serial)->rank);
    }
}

/* So many phases have to be over. */
static void wait_for_phases(struct mbarrier *m, u64 over, bool relaxed, const void *pc)
{
    if (m->phase < over)
        settle(m, pc);
    current(m->block)->asked = over;
    while (m->phase < over) {
        m->n_waiting++;
        wait_for(m->block, &m->waiting, pc);
    }
    if (simt_checked && m->phase > over)
        report_stale(m, over - 1, "a wait that two phases have passed", pc);
    acquire(m, over, relaxed, pc);
}

static bool test(struct mbarrier *m, u64 over, bool relaxed, const void *pc)
{
    struct asked *asked = &m->asked[m->block->cur];
    if (m->phase < over)
        settle(m, pc);
    if (m->phase >= over && (!simt_checked || knows(m, over))) {
        acquire(m, over, relaxed, pc);
        return true;
    }
    asked->failed++;
    if (asked->failed == MOST_TESTS) {
        wait_for_phases(m, over, relaxed, pc);
        return true;
    }
    if (m->phase < over || asked->failed == 1) {
        give_way(m->block, pc);
        return false;
    }
    acquire(m, over, relaxed, pc);
    return true;
}

/* How many phases are over when that of the token is. */
static u64 over_by_token(const struct mbarrier *m, u64 token, const void *pc)
{
    u64 phase = token >> 32;
    if (simt_checked && (phase > m->phase || phase + 1 < m->phase))
        report_stale(m, phase, "its token", pc);
    return phase + 1;
}

/* A parity means the phase in hand, or the one before it: before the first, that one counts as over. */
static u64 over_by_parity(struct mbarrier *m, unsigned parity, const void *pc)
{
    u64 over = m->phase + ((m->phase & 1) == parity);
    if (!simt_checked)
        return over;
    if (m->phase > 1 && !knows(m, m->phase - 1))
        report_stale(m, m->phase - 2 + ((m->phase & 1) != parity), "parity", pc);
    return over;
}

static u64 token_of(const struct mbarrier *m) { return m->phase << 32 | m->pending; }

/* ---- operations ---- */

/* The running thread writes the object's bytes, which say nothing to a program. */
static void store(struct block *b, void *barrier, u64 bits, enum engine_kind engine, const void *pc)
{
    struct access a = access_of(b, pc, barrier, MBARRIER_BYTES, ACCESS_STORE);
    a.engine = engine ? engine_of(engine, b->cur) : 0;
    if (simt_checked)
        access_touch(&a);
    memcpy(barrier, &bits, sizeof bits);
    race_judge(b);
}

/* It is about to be something else. */
static void check_use(const struct mbarrier *m, const char *did, const void *pc)
{
    struct access a = access_of(m->block, pc, address_of(m), MBARRIER_BYTES, ACCESS_STORE);
    if (m->n_waiting)
        report_meeting(&a, "mbarrier in use", &m->initialised, did, "Threads are waiting for a phase of it.");
    if (m->engine.n)
        report_meeting(&a, "mbarrier in use", &m->initialised, did, "A bulk copy that it counts is in flight.");
}

static bool is_fresh(const struct mbarrier *m, unsigned expected)
{
    return !m->phase && m->expected == expected && m->pending == expected && !m->n_attached && !m->n_waiting &&
           !m->bytes && !m->engine.n;
}

static void report_count(unsigned expected, const void *pc)
{
    char did[64];
    snprintf(did, sizeof did, "initialises an mbarrier for %u arrivals", expected);
    report_call("invalid mbarrier", pc, did, "There may be 1 to 1048575.");
}

void mbarrier_init(void *barrier, unsigned expected, const void *pc)
{
    struct block *b = running();
    struct place p = place_of_mbarrier(b, barrier, pc);
    if (shared_owner(b, barrier) != b)
        report_call("invalid mbarrier", pc, "initialises an mbarrier in the shared memory of another block",
                    "The threads of its own block alone may do that.");
    struct mbarrier **at = find(b, barrier);
    if (*at && is_fresh(*at, expected))
        return; /* several threads may do it before any has used it, as in NVIDIA's samples */
    if (!expected || expected > MOST_ARRIVALS)
        report_count(expected, pc);
    if (*at) {
        check_use(*at, "had initialised it before", pc);
        struct access a = access_of(b, pc, barrier, MBARRIER_BYTES, ACCESS_STORE);
        a.engine = engine_of(INITIALISATIONS, b->cur);
        check_order(&a, *at);
        remove_mbarrier(at);
    }
    store(b, barrier, expected, INITIALISATIONS, pc);
    order_learn(b, b->cur, engine_of(INITIALISATIONS, b->cur), b->now);
    struct mbarrier *m = calloc(1, sizeof *m);
    if (!m)
        base_out_of_memory();
    m->waiting.kind = &mbarrier_kind;
    m->next = b->mbarriers;
    m->block = b;
    m->place = p;
    m->initialised = (struct actor){b->serial, b->cur, pc};
    m->initialised_then = b->now;
    m->arriving.serial = b->serial;
    m->expected = m->pending = expected;
    b->has_roles |= expected < b->launch->threads;
    b->mbarriers = m;
    struct flight *f = flight_of(b);
    m->engine.actor = engine_of(COUNTED, b->n_mbarriers < MAX_THREADS ? b->n_mbarriers : MAX_THREADS - 1);
    m->engine.block = b;
    m->engine.completed_by = BY_MBARRIER;
    m->engine.next = f->counted;
    f->counted = &m->engine;
    b->n_mbarriers++;
    guard_close(b, barrier, MBARRIER_BYTES);
}

void mbarrier_invalidate(void *barrier, const void *pc)
{
    struct mbarrier *m = own(barrier, "invalidates an mbarrier of another block", pc);
    struct block *b = m->block;
    touch(m, pc);
    check_use(m, "had initialised it", pc);
    remove_mbarrier(find(b, barrier));
    store(b, barrier, ~0ull, NO_ENGINE, pc);
}

static bool is_last(const struct mbarrier *m, unsigned count)
{
    if (m->pending != count || m->bytes)
        return false;
    struct block *b = running();
    if (simt_checked && b == m->block)
        order_acquire(b, b->cur, &m->arriving);
    return true;
}

u64 mbarrier_arrive(void *barrier, const struct arriving *how, const void *pc)
{
    struct mbarrier *m = use(barrier, pc);
    u64 token = token_of(m);
    if (how->leaves_pending && how->count >= m->pending)
        report_call("too many arrivals", pc, "ends a phase by arrivals that may not",
                    "mbarrier.arrive.noComplete leaves at least one arrival pending.");
    expect(m, how->bytes, pc);
    if (how->drops)
        m->expected -= how->count < m->expected ? how->count : m->expected;
    record(m, EVENT_ARRIVE, m->phase, pc);
    arrive(m, how, pc);
    return token;
}

void mbarrier_expect(void *barrier, u64 bytes, const void *pc)
{
    struct mbarrier *m = use(barrier, pc);
    expect(m, bytes, pc);
    hear(m);
    go_on(m, pc);
}

void mbarrier_complete(void *barrier, u64 bytes, const void *pc)
{
    struct mbarrier *m = use(barrier, pc);
    if (bytes > MOST_BYTES || m->bytes - (long long)bytes < -MOST_BYTES)
        report_bytes(m, "completes", bytes, pc);
    m->bytes -= (long long)bytes;
    hear(m);
    go_on(m, pc);
}

void mbarrier_fence_init(void)
{
    struct block *b = running();
    for (struct mbarrier *m = b->mbarriers; m; m = m->next)
        if (m->initialised.thread == b->cur)
            m->published = m->fenced = true;
}

/* A bulk copy is about to count bytes there, by the async proxy. */
static void check_published(struct mbarrier *m, const void *pc)
{
    struct block *b = running();
    m->published = true;
    if (proxy_fenced(b, b->cur, PROXY_SHARED, m->initialised.serial, m->initialised.thread, m->initialised_then))
        return;
    char text[768];
    struct source_line l = lines_of(m->initialised.pc);
    snprintf(
        text, sizeof text,
        "A bulk copy completes on an mbarrier that was initialised at %s:%d, and no fence makes that visible to the "
        "async proxy, by which it does: fence.mbarrier_init.release.cluster by the thread that has initialised it, or "
        "fence.proxy.async.",
        l.file, l.line);
    note_once(pc, text);
}

/* What is sent from block to block lets its receiver know what its sender had done: it answers by it, perhaps. */
static bool releases(const struct transfer *t)
{
    return t->value || (t->n_pieces && shared_owner(running(), t->pieces[0].from));
}

/* Lanes may store one thing to one place. */
static bool stores_the_same(const struct flying *f, const struct transfer *t, long further)
{
    const struct piece *p = t->pieces;
    return f->sent && t->value && flying_pieces(f)->to == p->to + further && f->bytes == p->bytes &&
           !memcmp(f->few_held, t->value, p->bytes);
}

/* What is in the way of a transfer that goes to another block: one in flight. NULL: nothing is. */
static const struct flying *in_the_way(const struct transfer *t, struct block *to, long further)
{
    const struct flying *f = NULL;
    for (unsigned i = 0; to != running() && !t->reduces && i < t->n_pieces && !f; i++)
        f = flight_to(to, t->pieces[i].to + further, t->pieces[i].bytes);
    return f && !stores_the_same(f, t, further) ? f : NULL;
}

/* The same, by the way of those who wait for it and read it: they are to be named, if anybody is. */
static void begin(struct mbarrier *m, const struct transfer *t, long further)
{
    struct block *b = running();
    const struct flying *first = simt_checked ? in_the_way(t, m->block, further) : NULL;
    if (!first) {
        transfer_begin(&m->engine, t, further)->group = m->phase;
        return;
    }
    struct actor issuer = {first->block->serial, first->thread, first->pc};
    struct transfer kept = *t; /* pieces of a tensor's box are valid as long as no other thread runs */
    char did[160];
    snprintf(did, sizeof did, "began to %s to it (%s)", flying_does(first), first->call);
    kept.pieces = base_reserve(t->n_pieces * sizeof *t->pieces);
    memcpy(kept.pieces, t->pieces, t->n_pieces * sizeof *t->pieces);
    t = &kept;
    for (unsigned i = 0; i < MOST_TESTS && in_the_way(t, m->block, further); i++)
        give_way(b, t->pc);
    transfer_begin(&m->engine, t, further)->group = m->phase;
    if (report_has_races())
        return;
    struct access a = access_of(b, t->pc, t->pieces[0].to + further, t->pieces[0].bytes, ACCESS_STORE);
    report_meeting(&a, "target overwritten in flight", &issuer, did,
                   "Nothing that this thread has waited for tells it that somebody has waited for that.");
}

/* To the block of that rank. counted: it is already, as a multicast is once for all its receivers. */
static void issue_to(const struct transfer *t, unsigned rank, bool counted)
{
    struct block *b = running();
    void *barrier = shared_of_rank(b, t->mbarrier, rank);
    struct mbarrier *m = object(barrier, engine_of(COUNTED, 0), t->pc);
    touch(m, t->pc);
    if (simt_checked && !m->published && !t->generic)
        check_published(m, t->pc);
    struct event_of of = {shared_offset(b, barrier), (unsigned)m->phase};
    if (!t->value && !counted)
        counters_transfer(b, t, of);
    if (transfer_writes_nothing(t))
        return;
    const unsigned char *to = t->pieces[0].to;
    long further = (const unsigned char *)shared_of_rank(b, to, rank) - to;
    m->counts_sent |= t->generic;
    begin(m, t, further);
    if (simt_checked && releases(t))
        order_release(b, b->cur, &m->arriving);
    if (m->n_waiting)
        settle(m, t->pc);
}

static void report_ranks(const struct transfer *t, unsigned data, unsigned counted)
{
    char did[160];
    snprintf(
        did, sizeof did,
        "begins %s to the shared memory of the block of rank %u, to be counted by an mbarrier of the block of rank %u",
        t->call, data, counted);
    report_call(
        "wrong rank", t->pc, did,
        "Bytes are counted by an mbarrier of the block whose shared memory they come to; others never hear of them.");
}

void mbarrier_issue(const struct transfer *t)
{
    struct block *b = running();
    const struct block *owner = shared_owner(b, t->mbarrier);
    for (unsigned rank = 0; t->multicast && rank < b->cluster->n; rank++)
        if (t->blocks >> rank & 1)
            issue_to(t, rank, rank != (unsigned)__builtin_ctz(t->blocks));
    if (t->multicast)
        return;
    if (!owner)
        object(t->mbarrier, 0, t->pc); /* which says what is there */
    const struct block *to = transfer_writes_nothing(t) ? owner : shared_owner(b, t->pieces[0].to);
    if (to && to != owner)
        report_ranks(t, to->rank, owner->rank);
    issue_to(t, owner->rank, false);
}

void mbarrier_say_missing(const struct engine *e, const struct flying *f, const struct access *a, char *text,
                          size_t size)
{
    const struct mbarrier *m = (const struct mbarrier *)((uintptr_t)e - offsetof(struct mbarrier, engine));
    const struct asked *asked = &m->asked[a->thread];
    char name[256];
    name_of(m, name, sizeof name);
    FILE *out = fmemopen(text, size, "w");
    if (!out)
        base_out_of_memory();
    const char *what = flying_does(f);
    fprintf(out, "Phase %llu (parity %u) of %s", f->group, (unsigned)f->group & 1, name);
    if (a->block != m->block) {
        fprintf(out, " of the block of rank %u counts the %s, and no thread of that block has waited for it.",
                m->block->rank, what);
    } else if (!asked->pc) {
        fprintf(out, " counts the %s, and this thread has not waited for that.", what);
    } else {
        struct source_line l = lines_of(asked->pc);
        fprintf(out, " counts the %s, and the wait at %s:%d was ", what, l.file, l.line);
        if (asked->over)
            fprintf(out, "for phase %llu.", asked->over - 1);
        else
            fprintf(out, "for parity 1, which counts as over before phase 0.");
    }
    fclose(out);
}

static u64 over_when(struct mbarrier *m, struct asking for_what, const void *pc)
{
    u64 over = for_what.by_parity ? over_by_parity(m, for_what.token & 1, pc) : over_by_token(m, for_what.token, pc);
    struct asked *asked = &m->asked[m->block->cur];
    if (asked->over != over)
        asked->failed = 0;
    asked->pc = pc;
    asked->over = over;
    return over;
}

bool mbarrier_test(void *barrier, struct asking for_what, const void *pc)
{
    struct mbarrier *m = own(barrier, "tests an mbarrier of another block", pc);
    u64 over = over_when(m, for_what, pc);
    if (!m->asked[m->block->cur].failed)
        touch(m, pc); /* who asks again has touched it already */
    return test(m, over, for_what.relaxed, pc);
}
void mbarrier_wait(void *barrier, struct asking for_what, const void *pc)
{
    struct mbarrier *m = own(barrier, "waits for an mbarrier of another block", pc);
    touch(m, pc);
    wait_for_phases(m, over_when(m, for_what, pc), for_what.relaxed, pc);
}

unsigned mbarrier_pending(u64 token) { return (unsigned)token; }

static struct attachment *new_attachment(struct mbarrier *m)
{
    if (m->n_attached == m->room) {
        m->room = m->room ? 2 * m->room : 32;
        m->attached = realloc(m->attached, m->room * sizeof *m->attached);
        if (!m->attached)
            base_out_of_memory();
    }
    return &m->attached[m->n_attached++];
}

void mbarrier_arrive_behind_copies(void *barrier, bool noinc, const void *pc)
{
    struct mbarrier *m = own(barrier, "arrives behind its copies at an mbarrier of another block", pc);
    struct block *b = m->block;
    touch(m, pc);
    if (noinc && m->pending == m->n_attached)
        report_call("too many arrivals", pc, "arrives behind its copies, where no arrival is pending",
                    "With .noinc that arrival is one of those that the mbarrier was initialised for.");
    record(m, EVENT_COPY_ARRIVE, m->phase, pc);
    m->pending += !noinc;
    *new_attachment(m) = (struct attachment){b->cur, async_attach(b)};
    if (simt_checked)
        order_release(b, b->cur, &m->arriving);
    if (m->n_waiting)
        settle(m, pc);
}

/* ---- as kernels call them ---- */

void simt_mbarrier_init(void *barrier, unsigned expected) { mbarrier_init(barrier, expected, CALLER()); }
void simt_mbarrier_invalidate(void *barrier) { mbarrier_invalidate(barrier, CALLER()); }
unsigned long long simt_mbarrier_arrive(void *barrier, unsigned count, bool drop)
{
    return mbarrier_arrive(barrier, &(struct arriving){.count = count, .drops = drop}, CALLER());
}
bool simt_mbarrier_is_last(void *barrier, unsigned count) { return is_last(use(barrier, CALLER()), count); }
bool simt_mbarrier_test(void *barrier, unsigned long long token)
{
    return mbarrier_test(barrier, (struct asking){.token = token}, CALLER());
}
bool simt_mbarrier_test_parity(void *barrier, unsigned parity)
{
    return mbarrier_test(barrier, (struct asking){.token = parity, .by_parity = true}, CALLER());
}
void simt_mbarrier_wait(void *barrier, unsigned long long token)
{
    mbarrier_wait(barrier, (struct asking){.token = token}, CALLER());
}
void simt_mbarrier_wait_parity(void *barrier, unsigned parity)
{
    mbarrier_wait(barrier, (struct asking){.token = parity, .by_parity = true}, CALLER());
}
unsigned simt_mbarrier_pending(unsigned long long token) { return mbarrier_pending(token); }
void simt_async_arrive(void *barrier, bool noinc) { mbarrier_arrive_behind_copies(barrier, noinc, CALLER()); }
