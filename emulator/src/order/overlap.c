/* Accesses that nothing orders, of which at least one is no kernel's, or whose kernels are of different launches. */
#include "order/overlap.h"
#include "base/lines.h"
#include "base/report.h"
#include "block/launch.h"
#include "block/worker.h"
#include "memory/memory.h"
#include "memory/registered.h"
#include "memory/symbols.h"
#include "order/access.h"
#include "order/race.h"
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TOUCHES 4096 /* remembered at once: the oldest are forgotten */
#define MOST_OF_HOST_FUNCTION 256

static struct touch *touches;
static unsigned n_touches;
static uintptr_t low, high; /* all touches lie in between */

static const char unordered[] =
    "Nothing orders the two: an event that the later stream waits for, an edge of the graph, or a synchronisation is "
    "missing between them.";
static const char host_does_not_wait[] =
    "The host goes on while a stream works: it must wait for the stream, or for an event recorded behind that work, "
    "before it touches the same memory.";

/* ---- words ---- */

static void say_place(FILE *f, const void *pc)
{
    struct source_line l = lines_of(pc);
    bool inside = strstr(l.file, "emulator/include/") && l.caller_line; /* a function of CUDA's headers */
    fprintf(f, "%s:%d", inside ? l.caller : l.file, inside ? l.caller_line : l.line);
}

void overlap_say_launch(FILE *f, uint32_t serial)
{
    unsigned queue;
    work_lock();
    const struct launched *l = work_launch_of(serial, &queue);
    if (l) {
        fprintf(f, "kernel %s, launched at ", l->kernel);
        say_place(f, l->pc);
    }
    work_unlock();
}

static void say_touch(FILE *f, const struct touch *t)
{
    fprintf(f, "The %s at ", t->what);
    say_place(f, t->pc);
}

static const char *verb(bool store, bool past) { return past ? store ? "wrote" : "read" : store ? "writes" : "reads"; }

#define SENTENCE 1400

static FILE *sentence(char *text)
{
    FILE *f = fmemopen(text, SENTENCE, "w");
    if (!f)
        base_out_of_memory();
    return f;
}

static void say_before(char *text, const struct touch *t)
{
    FILE *f = sentence(text);
    say_touch(f, t);
    fprintf(f, " %s that memory, in work that may not be done yet.", t->did ? t->did : verb(t->store, true));
    fclose(f);
}

static void say_kernel_before(char *text, const struct actor *who, bool store)
{
    FILE *f = sentence(text);
    fprintf(f, "The ");
    overlap_say_launch(f, who->serial);
    fprintf(f, ", %s that memory at ", verb(store, true));
    say_place(f, who->pc);
    fprintf(f, ", and may not be done yet.");
    fclose(f);
}

static void say_now(char *text, const struct touch *t)
{
    FILE *f = sentence(text);
    say_touch(f, t);
    fprintf(f, " %s %zu bytes at %p", t->does ? t->does : verb(t->store, false), t->width * t->height,
            (const void *)t->start);
    if (t->height > 1)
        fprintf(f, ", in %zu rows", t->height);
    fclose(f);
}

static void say_host_now(char *text, const void *address, size_t bytes, const char *does, const void *pc)
{
    FILE *f = sentence(text);
    fprintf(f, "The host %s %zu byte%s at %p, at ", does, bytes, bytes == 1 ? "" : "s", address);
    say_place(f, pc);
    fclose(f);
}

/* ---- touches ---- */

static bool is_before(const struct past *p, const struct touch *t) { return past_has(p, t->queue, t->number); }

static size_t span(const struct touch *t) { return (t->height - 1) * t->pitch + t->width; }

/* Does it touch one of these bytes? */
static bool meets_bytes(const struct touch *t, const unsigned char *start, size_t bytes)
{
    if (start + bytes <= t->start || t->start + span(t) <= start)
        return false;
    if (t->height == 1)
        return true;
    size_t row = start > t->start ? (size_t)(start - t->start) / t->pitch : 0;
    for (; row < t->height && t->start + row * t->pitch < start + bytes; row++)
        if (t->start + row * t->pitch + t->width > start)
            return true;
    return false;
}

static bool meets(const struct touch *a, const struct touch *b)
{
    if (!meets_bytes(a, b->start, span(b)))
        return false;
    for (size_t row = 0; row < b->height; row++)
        if (meets_bytes(a, b->start + row * b->pitch, b->width))
            return true;
    return false;
}

static void drop(bool (*gone)(const struct touch *t, const void *context), const void *context)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < n_touches; i++)
        if (!gone(&touches[i], context)) {
            touches[kept] = touches[i];
            kept++;
        }
    n_touches = kept;
}

/* Whoever races with it races with the new one, or is known to come behind it. */
static bool is_replaced(const struct touch *old, const void *context)
{
    const struct touch *t = context;
    bool inside = t->start <= old->start && old->start + span(old) <= t->start + span(t);
    return old->queue == t->queue && inside && (t->height == 1 || t->pitch == old->pitch) && t->width >= old->width &&
           (t->store || !old->store);
}

static bool is_known(const struct touch *t, const void *context) { return is_before(context, t); }

static void remember(const struct touch *t)
{
    if (!touches)
        touches = malloc(MOST_TOUCHES * sizeof *touches);
    if (!touches)
        base_out_of_memory();
    drop(is_replaced, t);
    if (n_touches == MOST_TOUCHES) {
        n_touches--;
        memmove(touches, touches + 1, n_touches * sizeof *touches);
    }
    uintptr_t start = (uintptr_t)t->start, end = start + span(t);
    low = !n_touches || start < low ? start : low;
    high = !n_touches || end > high ? end : high;
    touches[n_touches] = *t;
    n_touches++;
}

/* Host functions of several streams may be called one by one (cudaLaunchHostFunc): between them nothing is reported. */
static const char of_host_function[] = "host function";

static const struct touch *last_met(const struct past *p, const struct touch *t)
{
    for (unsigned i = n_touches; i-- > 0;)
        if (!(t->what == of_host_function && touches[i].what == of_host_function) && (t->store || touches[i].store) &&
            !is_before(p, &touches[i]) && meets(&touches[i], t))
            return &touches[i];
    return NULL;
}

/* ---- kernels' records, seen from outside ---- */

static void note_any(void *context, unsigned queue, const struct launched *l)
{
    (void)queue;
    uint32_t *least = context;
    *least = l->first < *least ? l->first : *least;
}

/* The least serial of a launch that has not happened before that; UINT32_MAX: all have. */
static uint32_t least_unordered(const struct past *p)
{
    uint32_t least = UINT32_MAX;
    work_each_unordered(p, note_any, &least);
    return least;
}

static bool launch_is_unordered(const void *context, uint32_t serial)
{
    unsigned queue;
    const struct launched *l = work_launch_of(serial, &queue);
    return l && !past_has(context, queue, l->number);
}

static const struct object *object_of(const void *address)
{
    const struct object *o = memory_covers(address) ? memory_find(address) : symbol_find(address);
    return o ? o : registered_find(address);
}

static bool find_kernel(const struct past *p, const void *start, size_t bytes, bool store,
                        struct outside_conflict *found)
{
    uint32_t least = least_unordered(p);
    if (least == UINT32_MAX)
        return false;
    const struct object *o = object_of(start);
    if (!o || !o->cells || memory_freed(o))
        return false;
    size_t offset = (size_t)((const unsigned char *)start - o->base);
    if (offset >= o->bytes)
        return false;
    bytes = bytes < o->bytes - offset ? bytes : o->bytes - offset;
    return race_find(o->cells, offset, bytes, store, least, launch_is_unordered, p, found);
}

/* ---- what something meets that is no kernel ---- */

struct met {                       /* with the last that was issued */
    const struct touch *touch;     /* NULL: it is a kernel, */
    struct outside_conflict found; /* what that did there, */
    unsigned queue;
    const struct launched *launch; /* and its launch */
};

static bool meets_any(const struct past *p, const struct touch *t, struct met *m)
{
    *m = (struct met){.touch = last_met(p, t)};
    for (size_t row = 0; row < t->height && !m->launch; row++)
        if (find_kernel(p, t->start + row * t->pitch, t->width, t->store, &m->found))
            m->launch = work_launch_of(m->found.who.serial, &m->queue);
    if (m->touch && m->launch && m->touch->issued > m->launch->issued)
        m->launch = NULL;
    if (m->launch)
        m->touch = NULL;
    return m->touch || m->launch;
}

static void report_met(const struct touch *t, const char *now, const struct met *m, bool by_host)
{
    char before[SENTENCE];
    if (m->touch)
        say_before(before, m->touch);
    else
        say_kernel_before(before, &m->found.who, m->found.store);
    report_overlap(by_host ? "race between host and stream" : "race between streams", t->pc, now, before, t->start,
                   by_host ? host_does_not_wait : unordered);
}

void overlap_touch(const struct work *w, struct touch t)
{
    struct met m;
    char now[SENTENCE];
    if (!simt_checked)
        return;
    t.queue = w->queue;
    t.number = w->number;
    t.issued = w->issued;
    work_lock();
    drop(is_known, work_now());
    if (meets_any(&w->before, &t, &m)) {
        say_now(now, &t);
        report_met(&t, now, &m, false);
    }
    remember(&t);
    work_unlock();
}

struct stretch {
    const unsigned char *start;
    size_t bytes;
};

static bool lies_in(const struct touch *t, const void *context)
{
    const struct stretch *s = context;
    return t->start >= s->start && t->start < s->start + s->bytes;
}

void overlap_forget(const void *start, size_t bytes)
{
    if (!__atomic_load_n(&n_touches, __ATOMIC_RELAXED))
        return;
    work_lock();
    drop(lies_in, &(struct stretch){start, bytes});
    work_unlock();
}

void overlap_forget_block(void *block)
{
    if (block && __atomic_load_n(&n_touches, __ATOMIC_RELAXED))
        overlap_forget(block, malloc_usable_size(block));
}

void overlap_forget_launches(void) { work_forget_launches(); }

/* ---- the host ---- */

static void host_waits_for(unsigned queue, uint32_t number)
{
    struct past p = {0};
    if (work_of_host_function())
        return;
    work_of_branch(queue, &p);
    if (queue < p.n)
        p.done[queue] = number;
    work_host_waits(&p);
    past_free(&p);
}

/* Local variables of a host function lie on the stack between here and the frame that has called it. */
static bool is_its_own(const void *address)
{
    return (uintptr_t)address > (uintptr_t)__builtin_frame_address(0) - 256 &&
           (uintptr_t)address < (uintptr_t)work_frame_of_host_function();
}

static void remember_of_host_function(const struct work *w, const void *address, size_t bytes, bool store,
                                      const void *pc)
{
    struct touch t = {.start = address, .pitch = bytes, .width = bytes, .height = 1, .store = store};
    unsigned n = 0;
    for (unsigned i = 0; i < n_touches; i++)
        n += touches[i].queue == w->queue && touches[i].number == w->number;
    t.what = of_host_function;
    t.pc = pc;
    t.queue = w->queue;
    t.number = w->number;
    if (n < MOST_OF_HOST_FUNCTION)
        remember(&t);
}

void overlap_host_access(const void *address, size_t bytes, bool store, bool strong, const void *pc)
{
    const struct work *function = work_of_host_function();
    const struct object *o = object_of(address);
    bool near = (uintptr_t)address + bytes > low && (uintptr_t)address < high;
    struct met m;
    struct touch t = {.start = address, .pitch = bytes, .width = bytes, .height = 1, .store = store, .pc = pc};
    char now[SENTENCE];
    if (!o && !near && !function)
        return;
    t.what = function ? of_host_function : NULL;
    work_lock();
    if (meets_any(work_now(), &t, &m)) {
        bool first_guess = m.launch && !store && o->managed && o->touched == TOUCHED_BY_SYSTEM_ATOMICS;
        bool accused = m.launch ? !m.found.strong || !(strong || first_guess) : !strong;
        if (accused) {
            say_host_now(now, address, bytes, verb(store, false), pc);
            report_met(&t, now, &m, !function);
        }
        if (m.touch)
            host_waits_for(m.touch->queue, m.touch->number);
        else if (strong)
            host_waits_for(m.queue, m.launch->number);
    }
    if (function && !strong && !is_its_own(address))
        remember_of_host_function(function, address, bytes, store, pc);
    work_unlock();
}

/* cudaFree of what cudaMallocAsync returned: the program must have seen to it that nobody uses it any more. */
void overlap_host_frees(const void *address, size_t bytes, const void *pc)
{
    struct met m;
    struct touch t = {.start = address, .pitch = bytes, .width = bytes, .height = 1, .store = true, .pc = pc};
    char now[SENTENCE];
    if (!simt_checked)
        return;
    work_lock();
    if (meets_any(work_now(), &t, &m)) {
        say_host_now(now, address, bytes, "frees", pc);
        report_met(&t, now, &m, true);
    }
    work_unlock();
}

void overlap_host_function_signals(void)
{
    const struct work *w = work_of_host_function();
    if (w)
        work_host_waits_for(w);
}

void overlap_host_atomic(const void *address, size_t bytes, bool store, const void *pc)
{
    if (!simt_checked || !work_pending)
        return;
    overlap_host_access(address, bytes, store, true, pc);
    if (store)
        overlap_host_function_signals();
}

/* ---- kernels ---- */

struct span { /* the serials of a launch */
    uint32_t first, end;
    bool until_wait; /* ordered before the thread that has waited for the launch in front */
    bool synchronises;
};

struct overlap {
    const struct work *work;
    unsigned n_spans, capacity, n_touches;
    struct span *spans;
    struct touch *touches;
    uintptr_t low, high; /* of the touches */
};

static void note_span(void *context, unsigned queue, const struct launched *l)
{
    struct overlap *o = context;
    if (o->n_spans == o->capacity) {
        o->capacity = o->capacity ? 2 * o->capacity : 16;
        o->spans = realloc(o->spans, o->capacity * sizeof *o->spans);
        if (!o->spans)
            base_out_of_memory();
    }
    o->spans[o->n_spans] = (struct span){l->first, l->end, past_has(&o->work->before, queue, l->number),
                                         l->synchronises};
    o->n_spans++;
}

static int by_first(const void *a, const void *b)
{
    uint32_t x = ((const struct span *)a)->first, y = ((const struct span *)b)->first;
    return (x > y) - (x < y);
}

static void note_touches(struct overlap *o, const struct past *p)
{
    for (unsigned i = 0; i < n_touches; i++) {
        const struct touch *t = &touches[i];
        if (is_before(p, t))
            continue;
        if (!o->touches)
            o->touches = malloc(n_touches * sizeof *o->touches);
        if (!o->touches)
            base_out_of_memory();
        uintptr_t start = (uintptr_t)t->start, end = start + span(t);
        o->low = !o->n_touches || start < o->low ? start : o->low;
        o->high = !o->n_touches || end > o->high ? end : o->high;
        o->touches[o->n_touches] = *t;
        o->n_touches++;
    }
}

struct overlap *overlap_begin_launch(const struct work *w, uint32_t first_serial, uint32_t *least_serial)
{
    struct overlap o = {.work = w};
    const struct past *p = w->programmatic ? &w->early : &w->before;
    *least_serial = first_serial;
    if (!simt_checked)
        return NULL;
    work_lock();
    work_each_unordered(p, note_span, &o);
    drop(is_known, work_now());
    note_touches(&o, p);
    work_unlock();
    if (!o.n_spans && !o.n_touches)
        return NULL;
    if (o.n_spans) {
        qsort(o.spans, o.n_spans, sizeof *o.spans, by_first);
        *least_serial = o.spans[0].first;
    }
    struct overlap *kept = malloc(sizeof *kept);
    if (!kept)
        base_out_of_memory();
    *kept = o;
    return kept;
}

void overlap_end_launch(struct overlap *o)
{
    if (!o)
        return;
    free(o->spans);
    free(o->touches);
    free(o);
}

void simt_grid_dependency_wait(void)
{
    struct block *b = running();
    current(b)->waited_block = b->serial;
    current(b)->waited = b->now;
}

/* Has that thread waited for the launch in front, or another, before a barrier? */
static bool has_waited(struct block *b, unsigned thread)
{
    for (unsigned t = 0; t < b->launch->threads; t++)
        if (b->threads[t].waited_block == b->serial && order_before(b, thread, b->serial, t, b->threads[t].waited))
            return true;
    return false;
}

void simt_grid_launch_dependents(void)
{
    struct block *b = running();
    bool *lets = &b->launch->lets_next_begin;
    if (simt_checked && !__atomic_load_n(lets, __ATOMIC_RELAXED) && !has_waited(b, b->cur))
        __atomic_store_n(lets, true, __ATOMIC_RELAXED);
}

static const struct span *span_of(const struct block *b, uint32_t serial)
{
    const struct overlap *o = b->launch->overlap;
    unsigned from = 0, to = o ? o->n_spans : 0;
    while (from < to) {
        unsigned middle = (from + to) / 2;
        if (o->spans[middle].end <= serial)
            from = middle + 1;
        else
            to = middle;
    }
    return o && from < o->n_spans && o->spans[from].first <= serial ? &o->spans[from] : NULL;
}

bool overlap_ordered(struct block *b, unsigned thread, uint32_t serial)
{
    const struct span *s = span_of(b, serial);
    if (!s)
        return true;
    if (s->synchronises && b->launch->synchronises)
        return true; /* by what they say to each other, perhaps */
    return s->until_wait && has_waited(b, thread);
}

bool overlap_same_launch(const struct block *b, uint32_t serial, uint32_t other)
{
    const struct span *s = span_of(b, serial);
    return s && s == span_of(b, other);
}

void overlap_access(const struct access *a)
{
    const struct overlap *o = a->block->launch->overlap;
    bool store = access_stores(a->kind);
    if ((uintptr_t)a->address >= o->high || (uintptr_t)a->address + a->bytes <= o->low)
        return;
    for (unsigned i = o->n_touches; i-- > 0;) {
        const struct touch *t = &o->touches[i];
        if (!(store || t->store) || !meets_bytes(t, a->address, a->bytes))
            continue;
        if (is_before(&o->work->before, t) && has_waited(a->block, a->thread))
            continue;
        char before[SENTENCE];
        say_before(before, t);
        report_unordered_access(a, "race between streams", before, unordered);
    }
}

/* ---- what a host function may tell others by: simtcc gives the calls in a .cu file these names ---- */

int simt_mutex_unlock(pthread_mutex_t *mutex)
{
    overlap_host_function_signals();
    return pthread_mutex_unlock(mutex);
}

int simt_rwlock_unlock(pthread_rwlock_t *locked)
{
    overlap_host_function_signals();
    return pthread_rwlock_unlock(locked);
}

int simt_cond_signal(pthread_cond_t *condition)
{
    overlap_host_function_signals();
    return pthread_cond_signal(condition);
}

int simt_cond_broadcast(pthread_cond_t *condition)
{
    overlap_host_function_signals();
    return pthread_cond_broadcast(condition);
}

int simt_sem_post(sem_t *semaphore)
{
    overlap_host_function_signals();
    return sem_post(semaphore);
}
