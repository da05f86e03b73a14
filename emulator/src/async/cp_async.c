/* cp.async: its copies, their groups and their waits (PTX ISA, "Data Movement and Conversion Instructions: Asynchronous
 * copy"). Each is a transfer of its thread's engine; a thread that ends without a wait leaves its copies in flight for good. */
#include "async/cp_async.h"
#include "async/flight.h"
#include "base/report.h"
#include "block/async.h"
#include "block/worker.h"
#include "count/counters.h"
#include "memory/place.h"
#include "memory/shared.h"
#include "order/access.h"
#include "../../include/simt/async.h"

static struct copies *copies_of(struct block *b, unsigned thread) { return &flight_of(b)->copies[thread]; }

static void check_places(const struct access *read, const struct access *write, unsigned whole)
{
    struct block *b = read->block;
    enum space from = place_of(b, read->address, 1).space, to = place_of(b, write->address, 1).space;
    if ((uintptr_t)write->address % whole)
        report_access(write, "misaligned access", "");
    if (to == SPACE_GLOBAL || to == SPACE_LOCAL || to == SPACE_PARAMETERS || to == SPACE_CONSTANT)
        report_access(write, "wrong memory space", "An asynchronous copy goes to shared memory.");
    if (to == SPACE_SHARED && shared_owner(b, write->address) != b)
        report_access(write, "wrong memory space", "cp.async goes to its own block's shared memory.");
    if (!read->bytes)
        return; /* nothing is read */
    if ((uintptr_t)read->address % whole)
        report_access(read, "misaligned access", "");
    if (from == SPACE_SHARED || from == SPACE_LOCAL || from == SPACE_PARAMETERS)
        report_access(read, "wrong memory space", "An asynchronous copy comes from global memory.");
}

static void report_size(unsigned bytes, unsigned source_bytes, const void *pc)
{
    char did[96];
    snprintf(did, sizeof did, "begins an asynchronous copy that writes %u bytes and reads %u", bytes, source_bytes);
    report_call("invalid copy", pc, did, "It writes 4, 8 or 16 bytes, and reads at most as many.");
}

void async_copy(void *to, const void *from, unsigned bytes, unsigned source_bytes, bool past_l1, const void *pc)
{
    struct block *b = running();
    struct copies *c = copies_of(b, b->cur);
    struct piece pieces[] = {{to, from, source_bytes},
                             {(unsigned char *)to + source_bytes, NULL, bytes - source_bytes}};
    struct transfer t = {.call = "cp.async", .pc = pc, .completed_by = BY_GROUP, .generic = true};
    t.pieces = source_bytes ? pieces : pieces + 1;
    t.n_pieces = source_bytes && source_bytes < bytes ? 2 : 1;
    if ((bytes != 4 && bytes != 8 && bytes != 16) || source_bytes > bytes)
        report_size(bytes, source_bytes, pc);
    if (simt_checked) {
        struct access read = access_of(b, pc, from, source_bytes, ACCESS_LOAD);
        struct access write = access_of(b, pc, to, bytes, ACCESS_STORE);
        check_places(&read, &write, bytes);
    }
    transfer_begin(&c->engine, &t, 0);
    c->bytes += source_bytes;
    if (simt_checked && b->counting)
        counters_copy(b, pc, to, source_bytes ? from : NULL, bytes, past_l1);
}

void async_commit(const void *pc)
{
    struct block *b = running();
    counters_event(b, pc, EVENT_COMMIT);
    copies_of(b, b->cur)->engine.committed++;
}

static void land_oldest(struct copies *c, const void *pc)
{
    const struct flying *f = engine_oldest(&c->engine);
    if (f->stamp > c->attached)
        c->bytes -= f->source_bytes;
    transfer_land_oldest(&c->engine, pc);
}

static void land_groups(struct block *b, u64 groups, unsigned groups_left, const void *pc)
{
    struct copies *c = copies_of(b, b->cur);
    struct engine *e = &c->engine;
    while (e->n && engine_oldest(e)->group < groups)
        land_oldest(c, pc);
    if (simt_checked)
        order_learn(b, b->cur, e->actor, e->landed);
    engine_waited(e, groups_left, pc);
}

void async_wait(unsigned groups_left, const void *pc)
{
    struct block *b = running();
    struct engine *e = &copies_of(b, b->cur)->engine;
    counters_event_of(b, pc, EVENT_COPY_WAIT, groups_left, 0);
    land_groups(b, e->committed > groups_left ? e->committed - groups_left : 0, groups_left, pc);
}

void async_wait_all(const void *pc)
{
    struct block *b = running();
    counters_event_of(b, pc, EVENT_COPY_WAIT, ALL_GROUPS, 0);
    land_groups(b, copies_of(b, b->cur)->engine.committed + 1, 0, pc);
}

u64 async_bytes(const struct block *b, unsigned thread) { return b->flight ? b->flight->copies[thread].bytes : 0; }

uint32_t async_attach(struct block *b)
{
    struct copies *c = copies_of(b, b->cur);
    c->attached = c->engine.issued;
    c->bytes = 0;
    return c->attached;
}

void async_land(struct block *b, unsigned thread, uint32_t issued, const void *pc)
{
    struct copies *c = copies_of(b, thread);
    while (c->engine.n && engine_oldest(&c->engine)->stamp <= issued)
        land_oldest(c, pc);
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
