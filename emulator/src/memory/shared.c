/* A block's shared memory. Declared arrays are placed when the first thread of a launch comes to them; each is
 * surrounded by a gap, so that a step outside is seen even where hardware would hit the neighbour. The gaps do not
 * change banks: offsets are kept modulo the 128 bytes of one row of banks. At a block's start all of it is poisoned. */
#include "memory/shared.h"
#include "base/gpu.h"
#include "base/report.h"
#include "block/functions.h"
#include "block/worker.h"
#include "memory/place.h"
#include "memory/records.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define GAP 1024u
#define DEFAULT_TOTAL ((size_t)48 << 10) /* static and dynamic, unless the kernel has been opted in for more */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- arenas ---- */

/* A cluster's pointers are wrong in every other one: clusters that follow each other have arenas at different addresses. In a
 * cluster of several blocks there are addresses for ranks that it has not, which mapa makes, and nothing may be touched there. */
#define ARENAS 8
#define RANKS 32
#define MOST_ARENAS 65536

static const unsigned char *known_arenas[MOST_ARENAS];
static unsigned n_known_arenas;

static void know_arenas(const unsigned char *arenas)
{
    unsigned i = __atomic_fetch_add(&n_known_arenas, 1, __ATOMIC_RELAXED);
    if (i < MOST_ARENAS)
        __atomic_store_n(&known_arenas[i], arenas, __ATOMIC_RELEASE);
}

bool shared_is_known(const void *address)
{
    unsigned n = __atomic_load_n(&n_known_arenas, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < n && i < MOST_ARENAS; i++) {
        const unsigned char *arenas = __atomic_load_n(&known_arenas[i], __ATOMIC_ACQUIRE);
        if (arenas && (size_t)((const unsigned char *)address - arenas) < ARENAS * SHARED_BYTES)
            return true;
    }
    return false;
}

void shared_new_cluster(struct cluster *c)
{
    c->ranks = c->n == 1 ? 1 : RANKS;
    c->arenas = base_reserve(ARENAS * c->ranks * SHARED_BYTES);
    for (unsigned i = 0; i < c->ranks; i++)
        know_arenas(c->arenas + i * ARENAS * SHARED_BYTES);
}

void shared_new(struct block *b)
{
    b->arrays = base_reserve(MAX_ARRAYS * sizeof *b->arrays);
    if (!simt_checked)
        return;
    b->written = base_reserve(SHARED_BYTES / 8);
    b->cells = race_cells(SHARED_BYTES, SHARED_READERS);
}

static unsigned align_up(unsigned n, unsigned to) { return (n + to - 1) / to * to; }

/* Gives `bytes` a place behind what is there. Called with the lock held, or before any thread runs. */
static unsigned add_array(struct launch *l, unsigned bytes, unsigned align, const struct simt_shared_site *site)
{
    unsigned offset = align_up(l->arena_bytes + GAP, align < 1024 ? 1024 : align);
    if (offset + bytes + GAP > SHARED_BYTES || l->n_arrays == MAX_ARRAYS)
        report_unsupported("more shared memory than any GPU has, or over 64 arrays of it",
                           site ? site->file : l->asked->file, site ? site->line : l->asked->line);
    l->arrays[l->n_arrays] = (struct array_place){offset, bytes, site};
    l->arena_bytes = offset + bytes;
    __atomic_store_n(&l->n_arrays, l->n_arrays + 1, __ATOMIC_RELEASE);
    return offset;
}

void shared_begin_launch(struct launch *l) { add_array(l, (unsigned)l->asked->dynamic_shared, 1024, NULL); }

static unsigned arrays_of(const struct launch *l) { return __atomic_load_n(&l->n_arrays, __ATOMIC_ACQUIRE); }

/* The block's own view of arrays that its launch has come to know. */
static void learn_arrays(struct block *b, unsigned n)
{
    const struct launch *l = b->launch;
    for (; b->n_arrays < n; b->n_arrays++) {
        const struct array_place *a = &l->arrays[b->n_arrays];
        b->arrays[b->n_arrays] = (struct object){.base = b->arena + a->offset,
                                                 .bytes = a->bytes,
                                                 .site = a->site,
                                                 .written = b->written ? b->written + a->offset / 8 : NULL};
        memset(b->arena + a->offset, 0xff, a->bytes); /* NaN, whatever the type */
        if (b->written)
            memset(b->written + a->offset / 8, 0, a->bytes / 8 + 1);
    }
}

/* All blocks of a cluster know the same arrays: a thread that comes to one may go on to another block's. */
static void learn_in_cluster(struct cluster *c)
{
    unsigned n = arrays_of(c->launch);
    for (unsigned rank = 0; rank < c->n; rank++)
        learn_arrays(c->blocks[rank], n);
}

void shared_begin_cluster(struct cluster *c) { c->arena = c->arenas + c->number % ARENAS * c->ranks * SHARED_BYTES; }

void shared_begin_block(struct block *b)
{
    b->arena = b->cluster->arena + b->rank * SHARED_BYTES;
    b->n_arrays = 0;
    b->last_array = 0;
    learn_arrays(b, b->rank ? b->cluster->blocks[0]->n_arrays : arrays_of(b->launch));
}

void *simt_shared_dynamic(void)
{
    struct block *b = block_here();
    return b->arena + b->launch->arrays[0].offset;
}

/* Static and dynamic shared memory together must fit, as the launch would have found if it had known. */
static void check_total(struct launch *l, const struct simt_shared_site *site)
{
    if (l->static_bytes > DEFAULT_TOTAL)
        report_unsupported("over 48 KiB of declared shared memory (nvcc refuses it too: use extern __shared__)",
                           site->file, site->line);
    function_has_static(l->kernel, l->static_bytes);
    size_t most = function_opted_in(l->kernel) ? gpu_described()->shared_optin : DEFAULT_TOTAL;
    if (l->static_bytes + l->asked->dynamic_shared <= most)
        return;
    pthread_mutex_unlock(&lock);
    launch_cancel(l, cudaErrorInvalidValue);
}

void *simt_shared(struct simt_shared_site *site)
{
    struct block *b = block_here();
    struct launch *l = b->launch;
    if (__atomic_load_n(&site->launch, __ATOMIC_ACQUIRE) != l->number) {
        pthread_mutex_lock(&lock);
        if (site->launch != l->number) {
            site->offset = add_array(l, site->bytes, site->align, site);
            l->static_bytes = align_up(l->static_bytes, site->align) + site->bytes;
            check_total(l, site);
            __atomic_store_n(&site->launch, l->number, __ATOMIC_RELEASE);
        }
        pthread_mutex_unlock(&lock);
    }
    if (b->n_arrays < arrays_of(l))
        learn_in_cluster(b->cluster);
    return b->arena + site->offset;
}

/* Offsets in the cluster's arenas: as on a GPU, the first is not 0, the dynamic array begins at a multiple of 1,024, and the
 * block's rank is in the high bits. */
unsigned simt_shared_address(const void *generic)
{
    return (unsigned)((const unsigned char *)generic - block_here()->cluster->arena);
}
void *simt_shared_generic(unsigned shared) { return block_here()->cluster->arena + shared; }

static bool holds(const struct block *b, unsigned i, unsigned offset, unsigned bytes)
{
    const struct array_place *a = &b->launch->arrays[i];
    return offset - a->offset < a->bytes && offset + bytes <= a->offset + a->bytes;
}

const struct object *shared_find(struct block *b, unsigned offset, unsigned bytes)
{
    if (holds(b, b->last_array, offset, bytes))
        return &b->arrays[b->last_array];
    for (unsigned i = 0; i < b->n_arrays; i++) {
        if (!holds(b, i, offset, bytes))
            continue;
        b->last_array = i;
        return &b->arrays[i];
    }
    return NULL;
}

/* The array that lies nearest, and the element's indices in it: beyond the end, what the indices would be. */
void shared_name(const struct launch *l, unsigned offset, char *out, size_t size)
{
    const struct array_place *near = NULL;
    long best = 1L << 40;
    for (unsigned i = 0; i < l->n_arrays; i++) {
        const struct array_place *r = &l->arrays[i];
        long at = (long)offset - r->offset, distance = at < 0 ? -at : at < (long)r->bytes ? 0 : at - (long)r->bytes + 1;
        if (!r->bytes || distance >= best)
            continue;
        best = distance;
        near = r;
    }
    if (!near) {
        snprintf(out, size, "shared memory");
        return;
    }
    long at = (long)offset - near->offset;
    const struct simt_shared_site *s = near->site;
    if (!s) {
        snprintf(out, size, "dynamic shared memory at byte %ld of %u", at, near->bytes);
        return;
    }
    size_t used = (size_t)snprintf(out, size, "%s", s->name);
    long element = at < 0 ? (at - (long)s->element_bytes + 1) / (long)s->element_bytes : at / (long)s->element_bytes;
    long inner = 1;
    for (int i = 1; i < 4 && s->dimensions[i]; i++)
        inner *= s->dimensions[i];
    for (int i = 0; i < 4 && s->dimensions[i] && used < size; i++) {
        long index = element / inner - (element % inner < 0);
        used += (size_t)snprintf(out + used, size - used, "[%ld]", index);
        element -= index * inner;
        if (i < 3 && s->dimensions[i + 1])
            inner /= s->dimensions[i + 1];
    }
}
