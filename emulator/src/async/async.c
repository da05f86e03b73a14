/* Copies in flight: cp.async, its groups and their waits (PTX ISA, "Data Movement and Conversion Instructions:
 * Asynchronous copy").
 *
 * A copy lands when a wait covers it, and not before: only then are the bytes moved, from the source as it is then. Under
 * checks the words that it will write are guarded from its issue on, and what the source held is kept to be compared
 * with. Source and target count as touched by the issuer twice, at the issue and when the copy lands: what others did
 * before must be ordered before the first, what they do after behind the second. A thread that ends without a wait leaves
 * its copies in flight for good. */
#include "async/async.h"
#include "../../include/simt/async.h"
#include "order/access.h"
#include "count/counters.h"
#include "run/launch.h"
#include "report/lines.h"
#include "report/report.h"
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES 16
#define WORD 4 /* the smallest copy, and what is guarded */

struct copy {
    unsigned char *to;
    const unsigned char *from;
    const void *pc;
    u64 group; /* how many its thread had committed before */
    unsigned bytes, source_bytes;
    bool past_l1;
    unsigned char contents[MOST_BYTES]; /* what the source held at the issue, and zeros; under checks only */
};

struct issuer { /* a thread's copies in flight, oldest first */
    struct copy *copies;
    unsigned first, n, room;
    u64 issued, committed;
    u64 attached; /* of those issued, the first so many are waited for by mbarriers */
    u64 bytes;    /* that the others in flight read */
    /* its last wait; waited_at NULL: none yet */
    const void *waited_at;
    u64 issued_before, committed_before; /* that wait */
    unsigned groups_left;
};

struct flight {
    struct issuer issuers[MAX_THREADS];
    u64 guarded[SHARED_BYTES / WORD / 64]; /* a bit for each word */
};

static struct flight *flight_of(struct block *b)
{
    if (!b->flight)
        b->flight = base_reserve(sizeof *b->flight);
    return b->flight;
}

static struct issuer *issuer_of(struct block *b) { return &flight_of(b)->issuers[b->cur]; }

void async_begin_block(struct block *b)
{
    struct flight *f = b->flight;
    if (!f)
        return;
    for (unsigned t = 0; t < b->launch->threads; t++) {
        struct issuer *i = &f->issuers[t];
        *i = (struct issuer){.copies = i->copies, .room = i->room};
    }
    if (b->n_guarded)
        memset(f->guarded, 0, sizeof f->guarded);
    b->n_guarded = 0;
}

/* ---- guarded words ---- */

static size_t word_of(const struct block *b, const void *address)
{
    return (size_t)((const unsigned char *)address - b->arena) / WORD;
}

static bool is_guarded(const struct block *b, size_t word) { return b->flight->guarded[word / 64] >> word % 64 & 1; }

void async_guard(struct block *b, const void *address, unsigned bytes)
{
    struct flight *f = flight_of(b);
    for (size_t word = word_of(b, address), end = word + bytes / WORD; word < end; word++) {
        b->n_guarded += !is_guarded(b, word);
        f->guarded[word / 64] |= 1ull << word % 64;
    }
}

void async_let_go(struct block *b, const void *address, unsigned bytes)
{
    for (size_t word = word_of(b, address), end = word + bytes / WORD; word < end; word++) {
        b->n_guarded -= is_guarded(b, word);
        b->flight->guarded[word / 64] &= ~(1ull << word % 64);
    }
}

static bool any_guarded(const struct block *b, const void *address, unsigned bytes)
{
    size_t last = word_of(b, (const unsigned char *)address + bytes - 1);
    for (size_t word = word_of(b, address); word <= last; word++)
        if (is_guarded(b, word))
            return true;
    return false;
}

/* ---- who has a copy in flight to these bytes ---- */

/* The next after `*c`, which is NULL at first; *thread is its issuer. False: there is none. */
static bool next_copy_to(const struct block *b, const void *address, unsigned bytes, unsigned *thread,
                         const struct copy **c)
{
    const unsigned char *start = address;
    for (; *thread < b->launch->threads; (*thread)++, *c = NULL) {
        const struct issuer *i = &b->flight->issuers[*thread];
        const struct copy *end = i->copies + i->first + i->n;
        for (*c = *c ? *c + 1 : i->copies + i->first; *c < end; (*c)++)
            if ((*c)->to < start + bytes && start < (*c)->to + (*c)->bytes)
                return true;
    }
    return false;
}

/* Lanes may copy one thing to one place, as clamped indices do: which of them comes last makes no difference. */
static bool others_copy_the_same(struct block *b, const struct copy *mine)
{
    unsigned thread = 0;
    bool any = false;
    if (!b->n_guarded || !place_of(b, mine->to, mine->bytes).object || !any_guarded(b, mine->to, mine->bytes))
        return false;
    for (const struct copy *c = NULL; next_copy_to(b, mine->to, mine->bytes, &thread, &c); any = true)
        if (c->to != mine->to || c->bytes != mine->bytes || memcmp(c->contents, mine->contents, c->bytes))
            return false;
    return any;
}

/* ---- reports ---- */

struct words {
    char text[800];
};

static struct words wait_at(const void *pc)
{
    struct source_line l = lines_of(pc);
    struct words w;
    snprintf(w.text, sizeof w.text, "the wait at %s:%d", l.file, l.line);
    return w;
}

static struct words what_is_missing(const struct issuer *i, const struct copy *c)
{
    u64 number = i->issued - i->n + (u64)(c - i->copies - i->first);
    struct words w;
    if (!i->waited_at || number >= i->issued_before) {
        snprintf(w.text, sizeof w.text, "That thread has not waited for it since: only a wait makes a copy land.");
        return w;
    }
    struct words wait = wait_at(i->waited_at);
    if (c->group >= i->committed_before)
        snprintf(w.text, sizeof w.text, "T%.600s does not cover it: it had not been committed to a group.",
                 wait.text + 1);
    else if (i->groups_left == 1)
        snprintf(w.text, sizeof w.text, "T%.600s leaves the last group under way, and this copy is in it.",
                 wait.text + 1);
    else
        snprintf(w.text, sizeof w.text, "T%.600s leaves the last %u groups under way, and this copy is in one of them.",
                 wait.text + 1, i->groups_left);
    return w;
}

void async_check(const struct access *a)
{
    struct block *b = a->block;
    struct actor other = {.serial = b->serial};
    const struct copy *c = NULL;
    if (!any_guarded(b, a->address, a->bytes))
        return;
    if (next_copy_to(b, a->address, a->bytes, &other.thread, &c)) {
        other.pc = c->pc;
        report_meeting(a, access_stores(a->kind) ? "target overwritten in flight" : "copy still in flight", &other,
                       "began to copy to it", what_is_missing(&b->flight->issuers[other.thread], c).text);
    }
    if (mbarrier_on(b, a->address, a->bytes, &other))
        report_meeting(a, "access to an mbarrier", &other, "made it an mbarrier",
                       "Until it is invalidated, only operations on mbarriers may touch it.");
}

static struct access reading(struct block *b, unsigned thread, const struct copy *c)
{
    struct access a = access_of(b, c->pc, c->from, c->source_bytes, ACCESS_LOAD);
    a.thread = thread;
    return a;
}

static struct access writing(struct block *b, unsigned thread, const struct copy *c)
{
    struct access a = access_of(b, c->pc, c->to, c->bytes, ACCESS_STORE);
    a.thread = thread;
    return a;
}

static void check_source(const struct access *a, const struct copy *c, const void *waited_at)
{
    struct block *b = a->block;
    unsigned at = 0;
    while (at < c->source_bytes && c->from[at] == c->contents[at])
        at++;
    if (at == c->source_bytes)
        return;
    struct place place = place_of(b, c->from + at, 1);
    struct actor writer;
    if (!race_last_writer(b, &place, &writer))
        writer = (struct actor){b->serial, a->thread, waited_at};
    struct words why, wait = wait_at(waited_at);
    snprintf(why.text, sizeof why.text, "The copy lands at %.600s: until then its source must stay as it is.",
             wait.text);
    report_meeting(a, "source overwritten in flight", &writer, "wrote there", why.text);
}

/* ---- issue ---- */

static void check_places(const struct copy *c, const struct access *read, const struct access *write)
{
    struct block *b = read->block;
    enum space from = place_of(b, c->from, 1).space, to = place_of(b, c->to, 1).space;
    if ((uintptr_t)c->to % c->bytes)
        report_access(write, "misaligned access", "");
    if (to == SPACE_GLOBAL || to == SPACE_LOCAL || to == SPACE_PARAMETERS || to == SPACE_CONSTANT)
        report_access(write, "wrong memory space", "An asynchronous copy goes to shared memory.");
    if (!c->source_bytes)
        return; /* nothing is read */
    if ((uintptr_t)c->from % c->bytes)
        report_access(read, "misaligned access", "");
    if (from == SPACE_SHARED || from == SPACE_LOCAL || from == SPACE_PARAMETERS)
        report_access(read, "wrong memory space", "An asynchronous copy comes from global memory.");
}

static void announce(struct block *b, struct copy *c)
{
    const struct access read = reading(b, b->cur, c), write = writing(b, b->cur, c);
    check_places(c, &read, &write);
    if (c->source_bytes) {
        access_touch(&read);
        memcpy(c->contents, c->from, c->source_bytes);
    }
    if (!others_copy_the_same(b, c))
        access_touch(&write);
    if (b->suspicion->pending)
        race_judge_copy(b, c->contents);
    async_guard(b, c->to, c->bytes);
    if (b->counting)
        counters_copy(b, c->pc, c->to, c->source_bytes ? c->from : NULL, c->bytes, c->past_l1);
}

/* A place behind the last. */
static struct copy *new_copy(struct issuer *i)
{
    if (i->first + i->n == i->room && i->first) {
        memmove(i->copies, i->copies + i->first, i->n * sizeof *i->copies);
        i->first = 0;
    } else if (i->n == i->room) {
        i->room = i->room ? 2 * i->room : 8;
        i->copies = realloc(i->copies, i->room * sizeof *i->copies);
        if (!i->copies)
            base_out_of_memory();
    }
    i->n++;
    i->issued++;
    return &i->copies[i->first + i->n - 1];
}

static void report_size(const struct copy *c)
{
    char did[96];
    snprintf(did, sizeof did, "begins an asynchronous copy that writes %u bytes and reads %u", c->bytes,
             c->source_bytes);
    report_call("invalid copy", c->pc, did, "It writes 4, 8 or 16 bytes, and reads at most as many.");
}

void async_copy(void *to, const void *from, unsigned bytes, unsigned source_bytes, bool past_l1, const void *pc)
{
    struct block *b = running();
    struct issuer *i = issuer_of(b);
    struct copy c = {.to = to,
                     .from = from,
                     .pc = pc,
                     .group = i->committed,
                     .bytes = bytes,
                     .source_bytes = source_bytes,
                     .past_l1 = past_l1};
    if ((bytes != 4 && bytes != 8 && bytes != 16) || source_bytes > bytes)
        report_size(&c);
    if (simt_checked)
        announce(b, &c);
    *new_copy(i) = c;
    i->bytes += source_bytes;
}

void async_commit(const void *pc)
{
    struct block *b = running();
    counters_event(b, pc, EVENT_COMMIT);
    issuer_of(b)->committed++;
}

/* ---- landing ---- */

/* For order, at that stamp. */
static void land_first(struct block *b, struct issuer *i, uint32_t stamp, const void *waited_at)
{
    const struct copy *c = &i->copies[i->first];
    if (simt_checked) {
        struct access read = reading(b, (unsigned)(i - b->flight->issuers), c), write = writing(b, read.thread, c);
        read.stamp = write.stamp = stamp;
        check_source(&read, c, waited_at);
        async_let_go(b, c->to, c->bytes);
        if (c->source_bytes)
            access_touch(&read);
        access_touch(&write);
    }
    memcpy(c->to, c->from, c->source_bytes);
    memset(c->to + c->source_bytes, 0, c->bytes - c->source_bytes);
    if (b->suspicion->pending)
        race_judge(b);
    if (i->issued - i->n >= i->attached)
        i->bytes -= c->source_bytes;
    i->n--;
    i->first = i->n ? i->first + 1 : 0;
}

static void land_groups(struct block *b, struct issuer *i, u64 groups, const void *pc)
{
    while (i->n && i->copies[i->first].group < groups)
        land_first(b, i, b->now, pc);
    i->waited_at = pc;
    i->issued_before = i->issued;
    i->committed_before = i->committed;
}

void async_wait(unsigned groups_left, const void *pc)
{
    struct block *b = running();
    struct issuer *i = issuer_of(b);
    counters_event_of(b, pc, EVENT_COPY_WAIT, groups_left, 0);
    land_groups(b, i, i->committed > groups_left ? i->committed - groups_left : 0, pc);
    i->groups_left = groups_left;
}

void async_wait_all(const void *pc)
{
    struct block *b = running();
    struct issuer *i = issuer_of(b);
    counters_event_of(b, pc, EVENT_COPY_WAIT, ALL_GROUPS, 0);
    land_groups(b, i, i->committed + 1, pc);
}

u64 async_bytes(const struct block *b, unsigned thread) { return b->flight ? b->flight->issuers[thread].bytes : 0; }

u64 async_attach(struct block *b)
{
    struct issuer *i = issuer_of(b);
    i->attached = i->issued;
    i->bytes = 0;
    return i->issued;
}

void async_land(struct block *b, unsigned thread, u64 issued, uint32_t stamp, const void *pc)
{
    struct issuer *i = &flight_of(b)->issuers[thread];
    while (i->n && i->issued - i->n < issued)
        land_first(b, i, stamp, pc);
}

/* ---- as kernels call them ---- */

void simt_async_copy(void *to, const void *from, unsigned bytes, unsigned source_bytes)
{
    async_copy(to, from, bytes, source_bytes, bytes == 16, CALLER()); /* 16 bytes as .cg, as CUDA's headers have it */
}
void simt_async_commit(void) { async_commit(CALLER()); }
void simt_async_wait(unsigned groups_left) { async_wait(groups_left, CALLER()); }
void simt_async_wait_all(void) { async_wait_all(CALLER()); }
bool simt_async_may(const void *to, const void *from)
{
    struct block *b = running();
    return ((uintptr_t)to | (uintptr_t)from) % WORD == 0 && place_of(b, to, 1).space == SPACE_SHARED &&
           place_of(b, from, 1).space == SPACE_GLOBAL;
}
