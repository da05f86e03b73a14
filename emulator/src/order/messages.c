/* The messages that strong accesses leave where they write.
 *
 * A strong write publishes what the last fence of its thread covers; a strong read sees it, and the reader's next fence
 * makes it known. The message has three parts: one for readers of the same block, one for those of its cluster, and one for
 * all others, which takes a scope of at least the device at every hand. */
#include "order/messages.h"
#include "block/launch.h"
#include "block/worker.h"
#include "memory/shared.h"
#include "order/access.h"
#include "order/history.h"
#include "order/touch.h"
#include <pthread.h>
#include <stdlib.h>

#define MOST_LOOSE 64     /* entries of a loose clock; beyond, they are dropped, which errs on the side of silence */
#define MOST_OBSERVERS 16 /* of one location; beyond, everybody counts as one */
#define MOST_DONE 256     /* entries of what a message says for the words of reports alone */
#define BUCKETS 4096

struct location { /* that strong accesses have written to or read from, in this launch */
    struct location *next;
    const void *address;
    uint32_t owner; /* serial of the block whose shared memory it is; 0: global */
    struct careless {
        uint32_t serial, thread;
        enum lock_fence fence;
        u64 lock_free;
    } careless;          /* the last to write inside the lock without a full fence */
    struct message last; /* of the last write, and the atomic operations before it */
    struct history history;
    unsigned n_observers;
    struct entry observers[MOST_OBSERVERS];
};

static struct bucket {
    pthread_mutex_t lock;
    struct location *first;
} buckets[BUCKETS] = {[0 ... BUCKETS - 1] = {PTHREAD_MUTEX_INITIALIZER, NULL}};

static struct bucket *bucket_of(const void *address)
{
    return &buckets[((uintptr_t)address >> 2) * 0x9e3779b97f4a7c15u >> 52];
}

static void location_reset(struct location *x)
{
    message_clear(&x->last);
    history_reset(&x->history);
    x->n_observers = 0;
    x->careless.serial = 0;
}

/* Called with the bucket's lock held. */
static struct location *location_at(struct block *b, struct bucket *bucket, const void *address, bool make)
{
    const struct block *owner = shared_owner(b, address);
    struct location *x = bucket->first;
    while (x && x->address != address)
        x = x->next;
    if (!x && make) {
        x = calloc(1, sizeof *x);
        if (!x)
            base_out_of_memory();
        x->address = address;
        x->next = bucket->first;
        bucket->first = x;
    }
    if (!x)
        return NULL;
    if (owner && x->owner != owner->serial)
        location_reset(x); /* another block's, in the same arena before this one */
    x->owner = owner ? owner->serial : 0;
    return x;
}

void messages_end_launch(void)
{
    for (unsigned i = 0; i < BUCKETS; i++) {
        struct location *next;
        for (struct location *x = buckets[i].first; x; x = next) {
            next = x->next;
            location_reset(x);
            message_free(&x->last);
            history_free(&x->history);
            free(x);
        }
        buckets[i].first = NULL;
    }
}

static bool is_observer(const struct location *x, uint32_t serial, unsigned thread)
{
    for (unsigned i = 0; i < x->n_observers && i < MOST_OBSERVERS; i++)
        if (x->observers[i].serial == serial && x->observers[i].thread == thread)
            return true;
    return x->n_observers > MOST_OBSERVERS;
}

static void loose_join(struct clock *into, const struct clock *from)
{
    if (into->n + from->n <= MOST_LOOSE)
        clock_join(into, from);
}

/* `takes`: by atomicCAS, which takes locks; all others read flags, and what a thread does when it has seen one depends
 * on that, which is order enough for strong accesses. */
static void hear(const struct access *a, const struct message *m)
{
    struct block *b = a->block;
    struct heard *h = &b->heard[b->n_heard % MOST_HEARD];
    if (!m->done.n)
        return;
    touch_heard(b, &m->done);
    clock_copy(&h->done, &m->done);
    h->way.released = m->released;
    h->way.written = m->written;
    h->way.read = (struct step){a->pc, a->scope, b->now};
    h->thread = a->thread;
    b->n_heard++;
}

bool message_way(const struct block *b, uint32_t serial, unsigned other, uint32_t stamp, struct way *way)
{
    for (unsigned i = 0; i < b->n_heard && i < MOST_HEARD; i++) {
        const struct heard *h = &b->heard[(b->n_heard - 1 - i) % MOST_HEARD];
        const struct step *fence = &b->threads[h->thread].knowledge->fence;
        if (!clock_knows(&h->done, serial, other, stamp))
            continue;
        *way = h->way;
        if (way->released.stamp < stamp)
            way->released.pc = NULL;
        way->acquired = fence->stamp >= way->read.stamp ? *fence : (struct step){0};
        if (b->met >= way->read.stamp) /* a barrier, which does as much */
            way->acquired = (struct step){way->read.pc, SIMT_SCOPE_SYSTEM, b->met};
        return true;
    }
    return false;
}

static void receive(const struct access *a, struct knowledge *k, const struct message *m, bool takes)
{
    const bool reaches[ORDERED_SCOPES] = {
        m->block == a->block->serial,
        m->cluster == cluster_serial(a->block) && a->scope >= SIMT_SCOPE_CLUSTER,
        a->scope >= SIMT_SCOPE_DEVICE,
    };
    for (int scope = 0; scope < ORDERED_SCOPES; scope++) {
        if (!reaches[scope])
            continue;
        clock_join(&k->seen[scope], &m->of_scope[scope]);
        if (!takes)
            clock_join(&k->taken, &m->of_scope[scope]);
    }
    loose_join(&k->loose, &m->loose);
    k->sequential = m->sequential > k->sequential ? m->sequential : k->sequential;
    hear(a, m);
}

static void location_read(const struct access *a, struct knowledge *k, struct location *x, bool takes)
{
    struct block *b = a->block;
    receive(a, k, &x->last, takes);
    history_read(&x->history, b, a->thread, x->history.newest, a->pc);
    if (is_observer(x, b->serial, a->thread))
        return;
    if (x->n_observers < MOST_OBSERVERS)
        x->observers[x->n_observers] = (struct entry){b->serial, a->thread, b->now};
    x->n_observers++;
}

/* before: what the word holds until now. */
static void location_write(const struct access *a, struct knowledge *k, struct location *x, u64 before, bool in_turn)
{
    struct block *b = a->block;
    struct message *m = &x->last;
    u64 sequential = order_sequential(b, a->thread);
    bool publishes = k->released[SIMT_SCOPE_BLOCK].n || b->released[SIMT_SCOPE_BLOCK].n;
    if (publishes && m->block != b->serial) {
        clock_clear(&m->of_scope[SIMT_SCOPE_BLOCK]);
        m->block = b->serial;
    }
    if (publishes && m->cluster != cluster_serial(b)) {
        clock_clear(&m->of_scope[SIMT_SCOPE_CLUSTER]);
        m->cluster = cluster_serial(b);
    }
    for (int scope = 0; publishes && scope < ORDERED_SCOPES && scope <= (int)a->scope; scope++) {
        clock_join(&m->of_scope[scope], &k->released[scope]);
        clock_join(&m->of_scope[scope], &b->released[scope]);
    }
    loose_join(&m->loose, &k->loose);
    loose_join(&m->loose, &k->released[SIMT_SCOPE_BLOCK]); /* by whatever fence */
    loose_join(&m->loose, &b->released[SIMT_SCOPE_BLOCK]);
    if (m->done.n <= MOST_DONE)
        order_done(b, a->thread, &m->done);
    m->released = k->fence;
    m->written = (struct step){a->pc, a->scope, b->now};
    m->sequential = sequential > m->sequential ? sequential : m->sequential;
    history_write(&x->history, a, before, in_turn, m);
    x->n_observers = 1;
    x->observers[0] = (struct entry){b->serial, a->thread, b->now};
}

/* A volatile load is announced before it is done; what it has read from is looked up when its thread goes on. */
void message_settle(struct block *b)
{
    struct knowledge *k = current(b)->knowledge;
    b->loads = false;
    if (!k || !k->loaded)
        return;
    struct access a = access_of(b, k->loaded_at, k->loaded, 0, ACCESS_VOLATILE_LOAD);
    a.scope = k->loaded_scope;
    struct bucket *bucket = bucket_of(a.address);
    k->loaded = NULL;
    pthread_mutex_lock(&bucket->lock);
    location_read(&a, k, location_at(b, bucket, a.address, true), false);
    pthread_mutex_unlock(&bucket->lock);
}

static void take_lock(const struct strong_access *a)
{
    struct knowledge *k = order_knowledge(a->access.block, a->access.thread);
    k->lock = a->access.address;
    k->lock_free = a->compare;
    k->lock_fence = NO_FENCE;
    k->careless = NO_LOCK;
}

/* Called with the location's lock held. */
static void leave_lock(const struct access *a, struct knowledge *k, struct location *x)
{
    if (k->careless != NO_LOCK)
        x->careless = (struct careless){a->block->serial, a->thread, k->careless, k->lock_free};
    k->lock = NULL;
    k->lock_fence = NO_LOCK;
    k->careless = NO_LOCK;
}

void message_store(const struct access *a)
{
    struct block *b = a->block;
    struct knowledge *k = order_knowledge(b, a->thread);
    order_notice(b);
    struct bucket *bucket = bucket_of(a->address);
    pthread_mutex_lock(&bucket->lock);
    struct location *x = location_at(b, bucket, a->address, true);
    message_clear(&x->last);
    location_write(a, k, x, access_value(a->address, a->bytes), false);
    if (a->address == k->lock)
        leave_lock(a, k, x);
    pthread_mutex_unlock(&bucket->lock);
    b->now++;
}

/* The load returns an older value than the last, if there is one that it may return and the word can hold so long. */
static bool load_older(const struct access *a, struct knowledge *k)
{
    struct block *b = a->block;
    struct bucket *bucket = bucket_of(a->address);
    struct entry writers[2];
    bool older = false;
    unsigned number = 0;
    pthread_mutex_lock(&bucket->lock);
    struct location *x = location_at(b, bucket, a->address, false);
    if (x) {
        x->history.unread = 0;
        number = history_choose(&x->history, a);
        older = number != x->history.newest;
    }
    pthread_mutex_unlock(&bucket->lock);
    if (!older || !race_begin_lending(b, a->address, a->bytes, writers))
        return false;
    pthread_mutex_lock(&bucket->lock);
    struct history *h = &x->history;
    bool is_kept = number < h->newest && number + h->n >= h->newest;
    older = is_kept && history_has(h, writers[0]) && history_has(h, writers[1]);
    if (older) {
        race_lend(b, a->bytes, h->past[number % MOST_PAST].value);
        receive(a, k, &h->past[number % MOST_PAST].left, false);
        history_read(h, b, a->thread, number, a->pc);
    }
    pthread_mutex_unlock(&bucket->lock);
    if (!older)
        race_take_back(b->worker);
    return older;
}

void message_load(const struct access *a)
{
    struct block *b = a->block;
    struct knowledge *k = order_knowledge(b, a->thread);
    order_notice(b);
    if (load_older(a, k))
        return;
    k->loaded = a->address;
    k->loaded_at = a->pc;
    k->loaded_scope = a->scope;
    if (!b->launch->many_workers)
        message_settle(b); /* nobody else runs before it is done */
    else
        b->loads = b->worker->unsettled = true;
}

bool message_atomic_begin(const struct access *a)
{
    bool hold = __atomic_load_n(&a->block->launch->synchronises, __ATOMIC_SEQ_CST);
    if (hold)
        pthread_mutex_lock(&bucket_of(a->address)->lock);
    return hold;
}

static void read_older(const struct strong_access *a, struct knowledge *k, struct location *x)
{
    receive(&a->access, k, &x->history.past[a->older % MOST_PAST].left, a->access.compares);
    history_read(&x->history, a->access.block, a->access.thread, a->older, a->access.pc);
}

/* Only if nothing has been released since the write that follows: who acquires from that would have to know of it. */
bool message_atomic_older(struct strong_access *a, u64 *value)
{
    struct block *b = a->access.block;
    struct location *x = location_at(b, bucket_of(a->access.address), a->access.address, false);
    if (!x)
        return false;
    struct history *h = &x->history;
    h->unread = 0;
    unsigned number = history_choose(h, &a->access);
    if (number == h->newest || !history_has(h, b->threads[a->access.thread].overwrote) ||
        h->past[(number + 1) % MOST_PAST].tick < b->fenced)
        return false;
    a->older = number;
    *value = h->past[number % MOST_PAST].value;
    return true;
}

void message_atomic_end(const struct strong_access *a, bool held)
{
    const struct access *access = &a->access;
    struct block *b = access->block;
    struct bucket *bucket = bucket_of(access->address);
    bool takes = access->compares && a->writes;
    if (takes)
        take_lock(a);
    if (!held && !__atomic_load_n(&b->launch->synchronises, __ATOMIC_SEQ_CST))
        return;
    if (!held)
        pthread_mutex_lock(&bucket->lock);
    struct knowledge *k = order_knowledge(b, access->thread);
    struct location *x = location_at(b, bucket, access->address, true);
    if (a->older)
        read_older(a, k, x);
    else
        location_read(access, k, x, access->compares);
    if (!a->writes)
        history_keep(&x->history, b, access->thread);
    if (a->writes)
        location_write(access, k, x, a->before, b->launch->many_workers);
    if (a->writes && !takes && access->address == k->lock)
        leave_lock(access, k, x);
    pthread_mutex_unlock(&bucket->lock);
    b->now++;
}

bool message_seen(const struct block *b, unsigned thread, uint32_t serial, unsigned other, uint32_t stamp)
{
    const struct knowledge *k = b->threads[thread].knowledge;
    return k && clock_knows(&k->taken, serial, other, stamp);
}

bool message_loosely(const struct block *b, unsigned thread, uint32_t serial, unsigned other, uint32_t stamp)
{
    const struct knowledge *k = b->threads[thread].knowledge;
    return k && clock_knows(&k->loose, serial, other, stamp);
}

enum observation { UNSEEN, OBSERVED, OBSERVED_AND_FENCED };

/* What the thread has to do with the last write to that address. */
static enum observation observation(struct block *b, unsigned thread, const void *address)
{
    enum observation found = UNSEEN;
    const struct knowledge *k = b->threads[thread].knowledge;
    if (!k)
        return UNSEEN;
    struct bucket *bucket = bucket_of(address);
    pthread_mutex_lock(&bucket->lock);
    const struct location *x = location_at(b, bucket, address, false);
    if (x && x->n_observers > MOST_OBSERVERS)
        found = OBSERVED_AND_FENCED;
    for (unsigned i = 0; x && found != OBSERVED_AND_FENCED && i < x->n_observers; i++) {
        const struct entry *e = &x->observers[i];
        bool own = e->thread == thread;
        if (e->serial != b->serial)
            continue;
        if (own)
            found = OBSERVED;
        if (e->stamp <= b->floor || (own && e->stamp < k->fenced))
            found = OBSERVED_AND_FENCED;
    }
    pthread_mutex_unlock(&bucket->lock);
    return found;
}

bool message_observed(struct block *b, unsigned thread, const void *address)
{
    return observation(b, thread, address) != UNSEEN;
}
bool message_observed_and_fenced(struct block *b, unsigned thread, const void *address)
{
    return observation(b, thread, address) == OBSERVED_AND_FENCED;
}

enum lock_fence message_lock(const struct block *b, unsigned thread)
{
    const struct knowledge *k = b->threads[thread].knowledge;
    return k ? k->lock_fence : NO_LOCK;
}

void message_note_careless(struct block *b, unsigned thread)
{
    struct knowledge *k = b->threads[thread].knowledge;
    if (k->careless == NO_LOCK)
        k->careless = k->lock_fence;
}

bool message_lock_was_careless(struct block *b, unsigned thread, uint32_t serial, unsigned other)
{
    const struct knowledge *k = b->threads[thread].knowledge;
    if (!k || !k->lock)
        return false;
    struct bucket *bucket = bucket_of(k->lock);
    pthread_mutex_lock(&bucket->lock);
    const struct location *x = location_at(b, bucket, k->lock, false);
    bool careless = x && x->careless.serial == serial && x->careless.thread == other &&
                    x->careless.lock_free == k->lock_free && (x->careless.fence == NO_FENCE || serial != b->serial) &&
                    !(x->careless.fence == CLUSTER_FENCE && cluster_find(b, serial));
    pthread_mutex_unlock(&bucket->lock);
    return careless;
}
