/* The program's variables, __device__, __constant__ and __managed__. simt-translate leaves a record of each; this is
 * the table of them, sorted by address. Kernels look things up in it without a lock: a table never changes, a longer
 * one takes its place, and the old one is kept for those who may still be reading it. */
#include "memory/symbols.h"
#include "memory/records.h"
#include <pthread.h>
#include <stdlib.h>

#define NEAR 256 /* variables lie so far apart */

struct table {
    uintptr_t low, high;       /* all of them lie in between */
    const struct table *older; /* which this one has taken the place of */
    size_t n;
    struct object *objects[];
};

/* The linker marks where the section of their records begins and ends. */
extern struct simt_symbol *__start_simt_symbols[] __attribute__((weak, visibility("hidden")));
extern struct simt_symbol *__stop_simt_symbols[] __attribute__((weak, visibility("hidden")));

static struct table *table; /* NULL until it is first asked for */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *need(void *memory)
{
    if (memory)
        return memory;
    perror("simt: no memory for the table of variables");
    exit(2);
}

static struct object *object_of(const struct simt_symbol *s)
{
    struct object *o = need(calloc(1, sizeof *o));
    o->base = s->address;
    o->bytes = s->bytes;
    o->symbol = s;
    o->managed = s->kind == SIMT_MANAGED;
    o->unified = o->managed;
    if (simt_checked)
        o->cells = race_cells(s->bytes, GLOBAL_READERS);
    return o;
}

static int by_address(const void *a, const void *b)
{
    const struct simt_symbol *x = *(struct simt_symbol *const *)a, *y = *(struct simt_symbol *const *)b;
    return ((uintptr_t)x->address > (uintptr_t)y->address) - ((uintptr_t)x->address < (uintptr_t)y->address);
}

static struct table *new_table(size_t room)
{
    return need(calloc(1, sizeof(struct table) + room * sizeof(struct object *)));
}

static void append(struct table *t, struct object *o)
{
    uintptr_t end = (uintptr_t)o->base + o->bytes;
    if (!t->n)
        t->low = (uintptr_t)o->base;
    if (end > t->high)
        t->high = end;
    t->objects[t->n] = o;
    t->n++;
}

/* A variable of an inline function has a record in each file that uses it. */
static bool repeats(const struct table *t, const struct simt_symbol *s)
{
    return t->n && t->objects[t->n - 1]->base == s->address;
}

static struct table *build(void)
{
    size_t n = (size_t)(__stop_simt_symbols - __start_simt_symbols), kept = 0;
    struct simt_symbol **sorted = need(malloc((n + 1) * sizeof *sorted));
    struct table *t = new_table(n);
    for (size_t i = 0; i < n; i++) {
        const struct simt_symbol *s = __start_simt_symbols[i];
        if (!s || !s->bytes)
            continue;
        sorted[kept] = __start_simt_symbols[i];
        kept++;
    }
    qsort(sorted, kept, sizeof *sorted, by_address);
    for (size_t i = 0; i < kept; i++)
        if (!repeats(t, sorted[i]))
            append(t, object_of(sorted[i]));
    free(sorted);
    return t;
}

static const struct table *build_once(void)
{
    pthread_mutex_lock(&lock);
    if (!table)
        __atomic_store_n(&table, build(), __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    return __atomic_load_n(&table, __ATOMIC_ACQUIRE);
}

static inline const struct table *now(void)
{
    const struct table *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
    return t ? t : build_once();
}

/* How many of them begin at or before that address. */
static size_t begun(const struct table *t, uintptr_t address)
{
    size_t low = 0, high = t->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((uintptr_t)t->objects[middle]->base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct object *symbol_find(const void *address)
{
    const struct table *t = now();
    uintptr_t p = (uintptr_t)address;
    if (p < t->low || p >= t->high)
        return NULL;
    const struct object *o = t->objects[begun(t, p) - 1];
    return p - (uintptr_t)o->base < o->bytes ? o : NULL;
}

/* The closest, if it is less than so many bytes away. */
static const struct object *closest(const void *address, size_t limit)
{
    const struct table *t = now();
    uintptr_t p = (uintptr_t)address;
    size_t n = begun(t, p);
    const struct object *below = n ? t->objects[n - 1] : NULL, *above = n < t->n ? t->objects[n] : NULL;
    size_t over = ~(size_t)0, under = ~(size_t)0; /* bytes behind the one's end, and before the other's start */
    if (below)
        over = p < (uintptr_t)below->base + below->bytes ? 0 : p - ((uintptr_t)below->base + below->bytes);
    if (above)
        under = (uintptr_t)above->base - p;
    if (over <= under)
        return over < limit ? below : NULL;
    return under <= limit ? above : NULL;
}

const struct object *symbol_nearest(const void *address)
{
    const struct table *t = now();
    uintptr_t p = (uintptr_t)address;
    return p + NEAR < t->low || p >= t->high + NEAR ? NULL : closest(address, NEAR);
}

const struct object *symbol_closest(const void *address) { return closest(address, ~(size_t)0); }

void symbol_each(void (*visit)(const struct object *object))
{
    const struct table *t = now();
    for (size_t i = 0; i < t->n; i++)
        if (t->objects[i]->cells)
            visit(t->objects[i]);
}

static struct table *with(const struct table *old, struct object *o)
{
    struct table *t = new_table(old->n + 1);
    size_t before = begun(old, (uintptr_t)o->base);
    t->older = old;
    for (size_t i = 0; i < before; i++)
        append(t, old->objects[i]);
    append(t, o);
    for (size_t i = before; i < old->n; i++)
        append(t, old->objects[i]);
    return t;
}

static bool known(const struct simt_symbol *s)
{
    const struct object *o = symbol_find(s->address);
    return o && o->base == s->address;
}

void simt_symbol_here(struct simt_symbol *s)
{
    if (!s->bytes || known(s))
        return;
    pthread_mutex_lock(&lock);
    if (!known(s))
        __atomic_store_n(&table, with(table, object_of(s)), __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}
