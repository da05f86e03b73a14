/* The order of the writes to one word, and which of them a load may read: none that is older than a write that happened
 * before the load, or that a load which happened before it has read, or that fences on both sides make known. */
#include "order/history.h"
#include "order/messages.h"
#include "order/race.h"
#include <stdlib.h>

#define MOST_READERS 1024 /* beyond, everybody reads what is there */
#define MOST_UNREAD 64    /* so many writes, and nobody loads: a counter */

void message_copy(struct message *into, const struct message *from)
{
    for (int scope = 0; scope < ORDERED_SCOPES; scope++)
        clock_copy(&into->of_scope[scope], &from->of_scope[scope]);
    clock_copy(&into->loose, &from->loose);
    clock_copy(&into->done, &from->done);
    into->released = from->released;
    into->written = from->written;
    into->block = from->block;
    into->cluster = from->cluster;
    into->sequential = from->sequential;
}

void message_clear(struct message *m)
{
    for (int scope = 0; scope < ORDERED_SCOPES; scope++)
        clock_clear(&m->of_scope[scope]);
    clock_clear(&m->loose);
    clock_clear(&m->done);
    m->block = 0;
    m->cluster = 0;
    m->sequential = 0;
}

void message_free(struct message *m)
{
    for (int scope = 0; scope < ORDERED_SCOPES; scope++)
        clock_free(&m->of_scope[scope]);
    clock_free(&m->loose);
    clock_free(&m->done);
}

static struct kept *write_of(struct history *h, unsigned number) { return &h->past[number % MOST_PAST]; }

static bool is_same(struct entry a, struct entry b)
{
    return a.serial == b.serial && a.thread == b.thread && a.stamp == b.stamp;
}

void history_write(struct history *h, const struct access *a, u64 before, bool in_turn, const struct message *left)
{
    struct block *b = a->block;
    const struct thread *t = &b->threads[a->thread];
    unsigned bytes = a->bytes;
    struct kept *last = write_of(h, h->newest);
    bool follows = h->newest && h->bytes == bytes && last->writer.serial &&
                   (is_same(h->last, t->overwrote) || (in_turn && t->overwrote_strong));
    h->unread++;
    if (h->unread > MOST_UNREAD || (bytes != 4 && bytes != 8) || race_other_stores(b, a->address)) {
        h->n = 0;
    } else if (!follows && t->overwrote_strong) {
        h->n = 0; /* by a write that is not known here */
    } else {
        if (!follows) {
            last->writer = (struct entry){0};
            message_clear(&last->left);
            h->n = 0;
        }
        last->value = before;
        h->n = h->n < MOST_PAST - 1 ? h->n + 1 : h->n;
    }
    h->newest++;
    h->bytes = bytes;
    struct kept *now = write_of(h, h->newest);
    now->writer = (struct entry){0};
    now->tick = order_tick();
    if (h->unread <= MOST_UNREAD) {
        now->writer = (struct entry){b->serial, a->thread, t->touched};
        message_copy(&now->left, left);
    }
    h->last = (struct entry){b->serial, a->thread, t->touched};
    history_read(h, b, a->thread, h->newest, a->pc);
}

void history_keep(struct history *h, const struct block *b, unsigned thread)
{
    const struct thread *t = &b->threads[thread];
    if (is_same(h->last, t->overwrote))
        h->last = (struct entry){b->serial, thread, t->touched};
}

bool history_has(const struct history *h, struct entry writer)
{
    for (unsigned number = h->newest; number + h->n >= h->newest && number; number--)
        if (is_same(h->past[number % MOST_PAST].writer, writer))
            return true;
    return is_same(h->last, writer);
}

static struct reader *reader_of(struct history *h, const struct block *b, unsigned thread)
{
    for (unsigned i = 0; i < h->n_readers; i++)
        if (h->readers[i].serial == b->serial && h->readers[i].warp == thread / WARP)
            return &h->readers[i];
    if (h->n_readers == MOST_READERS)
        return NULL;
    if (h->n_readers == h->readers_capacity) {
        h->readers_capacity = h->readers_capacity ? 2 * h->readers_capacity : 4;
        h->readers = realloc(h->readers, h->readers_capacity * sizeof *h->readers);
        if (!h->readers)
            base_out_of_memory();
    }
    h->readers[h->n_readers] = (struct reader){.serial = b->serial, .warp = thread / WARP};
    h->n_readers++;
    return &h->readers[h->n_readers - 1];
}

void history_read(struct history *h, struct block *b, unsigned thread, unsigned number, const void *pc)
{
    struct reader *r = reader_of(h, b, thread);
    if (!r)
        return;
    bool is_new = !r->first.serial;
    if (r->newest < number || is_new) {
        r->newest = number;
        r->several = false;
        r->first = (struct entry){b->serial, thread, b->now};
        if (is_new && number < h->newest) {
            r->older_at = pc;
            h->content++;
        }
    } else if (r->newest == number && r->first.thread != thread) {
        r->several = true;
    }
}

/* The oldest that the thread does not know to be over. */
static unsigned oldest_unknown(const struct history *h, struct block *b, unsigned thread)
{
    u64 sequential = order_sequential(b, thread);
    unsigned number = h->newest;
    for (; number > h->newest - h->n; number--) {
        const struct kept *p = &h->past[number % MOST_PAST];
        struct entry w = p->writer;
        if (p->tick < sequential || !w.serial || order_before(b, thread, w.serial, w.thread, w.stamp) ||
            message_seen(b, thread, w.serial, w.thread, w.stamp))
            break;
    }
    return number;
}

/* A reader that has come again waits for something. */
static void come_again(struct history *h, struct reader *r, const void *pc)
{
    if (!r->older_at || r->older_at != pc)
        return;
    r->older_at = NULL;
    h->content--;
}

static bool begins_with_last(struct history *h)
{
    if (!h->content)
        return false;
    h->last_first = !h->last_first;
    return h->last_first;
}

unsigned history_choose(struct history *h, const struct access *a)
{
    struct block *b = a->block;
    bool first = true;
    if (!h->n || h->bytes != a->bytes || h->n_readers == MOST_READERS)
        return h->newest;
    unsigned oldest = h->newest - h->n;
    for (unsigned i = 0; i < h->n_readers; i++) {
        struct reader *r = &h->readers[i];
        bool own = r->serial == b->serial && r->warp == a->thread / WARP;
        if (own) {
            first = false;
            come_again(h, r, a->pc);
        }
        bool again = own && (r->several || r->first.thread == a->thread);
        unsigned from = again ? r->newest + 1 : r->newest;
        if (from > h->newest)
            return h->newest;
        if (from > oldest &&
            (own || r->several || order_before(b, a->thread, r->serial, r->first.thread, r->first.stamp)))
            oldest = from;
    }
    if (oldest < h->newest) {
        unsigned unknown = oldest_unknown(h, b, a->thread);
        oldest = unknown > oldest ? unknown : oldest;
    }
    return first && oldest < h->newest && begins_with_last(h) ? h->newest : oldest;
}

void history_reset(struct history *h)
{
    h->last = (struct entry){0};
    h->n = 0;
    h->newest = 0;
    h->unread = 0;
    h->n_readers = 0;
    h->content = 0;
    h->last_first = false;
}

void history_free(struct history *h)
{
    for (unsigned i = 0; i < MOST_PAST; i++)
        message_free(&h->past[i].left);
    free(h->readers);
    h->readers = NULL;
    h->readers_capacity = 0;
}
