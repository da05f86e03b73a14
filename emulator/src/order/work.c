/* Queues of operations, and what is known to have happened before what. */
#define _GNU_SOURCE
#include "order/work.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LOOKED_AT 1024 /* launches of a queue: of more that nothing has waited for, the first are forgotten */

enum { LEGACY, PER_THREAD, FIRST_OWN };

struct queue {
    bool blocking, ended;
    uint32_t last;             /* number of the last operation issued */
    struct past past;          /* what happens before the next one */
    uint32_t asked;            /* work_seems_done() was, of so many operations */
    bool kernel_last;          /* its last operation is a kernel, */
    struct past early;         /* and this happened before that */
    struct launched *launches; /* in order; those that the host knows are dropped at times */
    size_t n_launches, capacity;
};

bool work_pending, work_several;

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct queue *queues;
static unsigned n_queues;
static struct past host;
static u64 n_issued;

static bool default_is_per_thread;

static __thread const struct work *host_function;
static __thread const void *host_frame;
static __thread unsigned branch; /* 0: none */
static __thread bool in_branch;

void work_lock(void) { pthread_mutex_lock(&lock); }
void work_unlock(void) { pthread_mutex_unlock(&lock); }

static void *resized(void *memory, size_t bytes)
{
    memory = realloc(memory, bytes);
    if (!memory)
        base_out_of_memory();
    return memory;
}

/* ---- pasts ---- */

static void past_widen(struct past *p, unsigned n)
{
    if (p->n >= n)
        return;
    p->done = resized(p->done, n * sizeof *p->done);
    memset(p->done + p->n, 0, (n - p->n) * sizeof *p->done);
    p->n = n;
}

void past_join(struct past *into, const struct past *from)
{
    past_widen(into, from->n);
    for (unsigned i = 0; i < from->n; i++)
        if (from->done[i] > into->done[i])
            into->done[i] = from->done[i];
}

void past_copy(struct past *into, const struct past *from)
{
    if (into->n)
        memset(into->done, 0, into->n * sizeof *into->done);
    past_join(into, from);
}

static void past_add(struct past *p, unsigned queue, uint32_t number)
{
    past_widen(p, queue + 1);
    if (number > p->done[queue])
        p->done[queue] = number;
}

void past_free(struct past *p)
{
    free(p->done);
    *p = (struct past){0};
}

/* ---- queues ---- */

static void start(void)
{
    if (n_queues)
        return;
    n_queues = FIRST_OWN;
    queues = resized(NULL, n_queues * sizeof *queues);
    memset(queues, 0, n_queues * sizeof *queues);
    queues[PER_THREAD].blocking = true;
}

/* One that nobody uses any more, and of which the host knows that all is done, serves again. */
static unsigned spare(void)
{
    for (unsigned i = FIRST_OWN; i < n_queues; i++)
        if (queues[i].ended && (!queues[i].last || past_has(&host, i, queues[i].last)))
            return i;
    queues = resized(queues, (n_queues + 1) * sizeof *queues);
    memset(&queues[n_queues], 0, sizeof *queues);
    n_queues++;
    return n_queues - 1;
}

unsigned work_queue_new(bool blocking)
{
    work_lock();
    start();
    unsigned queue = spare();
    queues[queue].blocking = blocking;
    queues[queue].ended = false;
    queues[queue].kernel_last = false;
    __atomic_store_n(&work_several, true, __ATOMIC_RELAXED);
    work_unlock();
    return queue;
}

void work_queue_end(unsigned queue)
{
    work_lock();
    queues[queue].ended = true;
    work_unlock();
}

bool simt_default_stream_is_per_thread(void)
{
    default_is_per_thread = true;
    return true;
}

unsigned work_queue_of(cudaStream_t stream)
{
    if (stream == cudaStreamPerThread || (!stream && default_is_per_thread))
        return PER_THREAD;
    return stream && stream != cudaStreamLegacy ? stream->queue : LEGACY;
}

/* The legacy stream waits for all blocking ones, and they for it. */
static void join_legacy(unsigned queue)
{
    struct queue *q = &queues[queue];
    if (queue == LEGACY) {
        for (unsigned i = 0; i < n_queues; i++)
            if (queues[i].blocking)
                past_join(&q->past, &queues[i].past);
    } else if (q->blocking) {
        past_join(&q->past, &queues[LEGACY].past);
    }
}

/* The queue's past, with all that its next operation waits for. */
static struct past *past_of_next(unsigned queue)
{
    start();
    past_join(&queues[queue].past, &host);
    if (queue == PER_THREAD)
        __atomic_store_n(&work_several, true, __ATOMIC_RELAXED);
    if (!in_branch)
        join_legacy(queue);
    return &queues[queue].past;
}

/* ---- operations ---- */

struct work work_begin(cudaStream_t stream, enum work_kind kind)
{
    work_lock();
    struct work w = {.queue = in_branch ? branch : work_queue_of(stream)};
    past_copy(&w.before, past_of_next(w.queue));
    struct queue *q = &queues[w.queue];
    w.programmatic = kind == WORK_PROGRAMMATIC_KERNEL && q->kernel_last && !in_branch;
    q->kernel_last = kind != WORK_OTHER;
    if (w.programmatic) {
        past_copy(&w.early, &q->early);
        past_join(&w.early, &host);
    }
    if (q->kernel_last)
        past_copy(&q->early, &w.before);
    q->last++;
    w.number = q->last;
    n_issued++;
    w.issued = n_issued;
    past_add(&q->past, w.queue, w.number);
    __atomic_store_n(&work_pending, true, __ATOMIC_RELAXED);
    work_unlock();
    return w;
}

void work_let_next_begin(const struct work *w)
{
    work_lock();
    if (w->programmatic)
        past_copy(&queues[w->queue].early, &w->early);
    work_unlock();
}

void work_end(struct work *w)
{
    past_free(&w->before);
    past_free(&w->early);
}

void work_stream_waits(cudaStream_t stream, const struct past *p)
{
    work_lock();
    unsigned queue = work_queue_of(stream);
    past_join(past_of_next(queue), p);
    queues[queue].kernel_last = false;
    work_unlock();
}

void work_of_stream(cudaStream_t stream, struct past *into)
{
    work_lock();
    past_copy(into, past_of_next(work_queue_of(stream)));
    work_unlock();
}

/* ---- the host ---- */

static void look_what_is_pending(void)
{
    bool pending = false;
    for (unsigned i = 0; i < n_queues && !pending; i++)
        pending = queues[i].last && !past_has(&host, i, queues[i].last);
    __atomic_store_n(&work_pending, pending, __ATOMIC_RELAXED);
}

void work_host_waits(const struct past *p)
{
    work_lock();
    past_join(&host, p);
    look_what_is_pending();
    work_unlock();
}

void work_host_waits_for(const struct work *w)
{
    work_lock();
    past_join(&host, &w->before);
    past_add(&host, w->queue, w->number);
    look_what_is_pending();
    work_unlock();
}

/* Of what it has issued to other streams, the legacy stream waits for that too. */
void work_host_waits_for_stream(cudaStream_t stream)
{
    work_lock();
    start();
    unsigned queue = work_queue_of(stream);
    if (queue == LEGACY)
        join_legacy(queue);
    work_host_waits(&queues[queue].past);
    work_unlock();
}

void work_host_waits_for_all(void)
{
    work_lock();
    for (unsigned i = 0; i < n_queues; i++)
        if (queues[i].last)
            past_add(&host, i, queues[i].last);
    __atomic_store_n(&work_pending, false, __ATOMIC_RELAXED);
    work_unlock();
}

bool work_host_knows(const struct past *p)
{
    work_lock();
    bool known = true;
    for (unsigned i = 0; i < p->n && known; i++)
        known = !p->done[i] || past_has(&host, i, p->done[i]);
    work_unlock();
    return known;
}

bool work_seems_done(cudaStream_t stream)
{
    work_lock();
    start();
    struct queue *q = &queues[work_queue_of(stream)];
    struct past issued = {0};
    past_copy(&issued, &q->past);
    if (q == &queues[LEGACY])
        for (unsigned i = 0; i < n_queues; i++)
            if (queues[i].blocking)
                past_join(&issued, &queues[i].past);
    bool done = work_host_knows(&issued) || q->asked == q->last;
    q->asked = q->last;
    past_free(&issued);
    work_unlock();
    return done;
}

const struct past *work_now(void) { return host_function ? &host_function->before : &host; }
const struct work *work_of_host_function(void) { return host_function; }
const void *work_frame_of_host_function(void) { return host_frame; }

void work_call(struct work *w, void (*function)(void *context), void *context)
{
    const struct work *outer = host_function;
    const void *outer_frame = host_frame;
    past_add(&w->before, w->queue, w->number);
    host_function = w;
    host_frame = __builtin_frame_address(0);
    function(context);
    host_function = outer;
    host_frame = outer_frame;
}

/* ---- branches of graphs ---- */

void work_branch(unsigned queue, const struct past *behind)
{
    in_branch = behind != NULL;
    branch = queue;
    if (!behind)
        return;
    work_lock();
    past_join(&queues[queue].past, behind);
    work_unlock();
}

bool work_in_branch(void) { return in_branch; }

void work_of_branch(unsigned queue, struct past *into)
{
    work_lock();
    past_copy(into, &queues[queue].past);
    work_unlock();
}

/* ---- launches ---- */

/* Index of the first of a queue with a number greater than that. */
static size_t first_behind(const struct queue *q, uint32_t number)
{
    size_t low = 0, high = q->n_launches;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (q->launches[middle].number > number)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void drop_known(unsigned queue)
{
    struct queue *q = &queues[queue];
    size_t known = queue < host.n ? first_behind(q, host.done[queue]) : 0;
    q->n_launches -= known;
    memmove(q->launches, q->launches + known, q->n_launches * sizeof *q->launches);
}

void work_launched(const struct work *w, struct launched l)
{
    work_lock();
    struct queue *q = &queues[w->queue];
    if (q->n_launches == q->capacity) {
        drop_known(w->queue);
        if (q->n_launches >= q->capacity / 2) {
            q->capacity = q->capacity ? 2 * q->capacity : 64;
            q->launches = resized(q->launches, q->capacity * sizeof *q->launches);
        }
    }
    l.number = w->number;
    l.issued = w->issued;
    q->launches[q->n_launches] = l;
    q->n_launches++;
    work_unlock();
}

void work_launch_ended(const struct work *w, bool synchronises)
{
    if (!synchronises)
        return;
    work_lock();
    struct queue *q = &queues[w->queue];
    size_t i = first_behind(q, w->number - 1);
    if (i < q->n_launches)
        q->launches[i].synchronises = true;
    work_unlock();
}

const struct launched *work_launch_of(uint32_t serial, unsigned *queue)
{
    for (unsigned i = 0; i < n_queues; i++) {
        const struct queue *q = &queues[i];
        size_t low = 0, high = q->n_launches;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (q->launches[middle].end <= serial)
                low = middle + 1;
            else
                high = middle;
        }
        *queue = i;
        if (low < q->n_launches && q->launches[low].first <= serial)
            return &q->launches[low];
    }
    return NULL;
}

void work_forget_launches(void)
{
    work_lock();
    for (unsigned i = 0; i < n_queues; i++)
        queues[i].n_launches = 0;
    work_unlock();
}

void work_each_unordered(const struct past *p, void (*visit)(void *context, unsigned queue, const struct launched *l),
                         void *context)
{
    for (unsigned i = 0; i < n_queues; i++) {
        const struct queue *q = &queues[i];
        uint32_t known = i < p->n ? p->done[i] : 0;
        if (!q->n_launches || q->launches[q->n_launches - 1].number <= known)
            continue;
        size_t first = first_behind(q, known),
               latest = q->n_launches > MOST_LOOKED_AT ? q->n_launches - MOST_LOOKED_AT : 0;
        for (size_t j = first > latest ? first : latest; j < q->n_launches; j++)
            visit(context, i, &q->launches[j]);
    }
}
