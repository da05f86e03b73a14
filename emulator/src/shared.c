/* A block's shared memory. Declared arrays are placed when the first thread of a launch comes to them; each is
 * surrounded by a gap, so that a step outside is seen even where hardware would hit the neighbour. The gaps do not
 * change banks: offsets are kept modulo the 128 bytes of one row of banks. At a block's start all of it is poisoned. */
#include "simt.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define GAP 1024u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void shared_init(struct worker *w)
{
    w->arena = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (w->arena == MAP_FAILED) perror("simt: no memory for shared memory"), exit(2);
}

static unsigned align_up(unsigned n, unsigned to) { return (n + to - 1) / to * to; }

/* Gives `bytes` a place behind what is there. Called with the lock held, or before any thread runs. */
static unsigned place(struct launch *l, unsigned bytes, unsigned align, const struct simt_shared_site *site)
{
    unsigned offset = align_up(l->arena_bytes + GAP, align < 1024 ? 1024 : align);
    if (offset + bytes + GAP > SHARED_BYTES || l->n_regions == MAX_REGIONS)
        report_unsupported("more shared memory than any GPU has, or over 64 arrays of it",
                           site ? site->file : l->call->file, site ? site->line : l->call->line);
    l->regions[l->n_regions] = (struct region){offset, bytes, site};
    l->arena_bytes = offset + bytes;
    __atomic_store_n(&l->n_regions, l->n_regions + 1, __ATOMIC_RELEASE);
    return offset;
}

void shared_begin_launch(struct launch *l)
{
    l->dynamic_offset = place(l, (unsigned)l->call->dynamic_shared, 1024, NULL);
}

void shared_begin_block(struct worker *w)
{
    w->block_epoch = ++w->epoch;
    memset(w->arena, 0xff, w->launch->arena_bytes); /* NaN, whatever the type */
}

void *simt_shared_dynamic(void) { return simt_worker->arena + simt_worker->launch->dynamic_offset; }

void *simt_shared(struct simt_shared_site *site)
{
    struct worker *w = simt_worker;
    struct launch *l = w->launch;
    if (__atomic_load_n(&site->launch, __ATOMIC_ACQUIRE) != l->number) {
        pthread_mutex_lock(&lock);
        if (site->launch != l->number) {
            unsigned before = l->arena_bytes;
            site->offset = place(l, site->bytes, site->align, site);
            l->static_bytes = align_up(l->static_bytes, site->align) + site->bytes;
            if (l->static_bytes > 48u << 10)
                report_unsupported("over 48 KiB of declared shared memory (nvcc refuses it too: use extern __shared__)",
                                   site->file, site->line);
            memset(w->arena + before, 0xff, l->arena_bytes - before);
            __atomic_store_n(&site->launch, l->number, __ATOMIC_RELEASE);
        }
        pthread_mutex_unlock(&lock);
    }
    return w->arena + site->offset;
}

const struct region *shared_region(struct worker *w, unsigned offset, unsigned bytes)
{
    const struct launch *l = w->launch;
    const struct region *r = &l->regions[w->last_region];
    if (offset - r->offset < r->bytes && offset + bytes <= r->offset + r->bytes) return r;
    unsigned n = __atomic_load_n(&l->n_regions, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < n; i++) {
        r = &l->regions[i];
        if (offset - r->offset < r->bytes && offset + bytes <= r->offset + r->bytes) {
            w->last_region = i;
            return r;
        }
    }
    return NULL;
}

/* The array that lies nearest, and the element's indices in it: beyond the end, what the indices would be. */
void shared_name(const struct launch *l, unsigned offset, char *out, size_t size)
{
    const struct region *near = NULL;
    long best = 1L << 40;
    for (unsigned i = 0; i < l->n_regions; i++) {
        const struct region *r = &l->regions[i];
        long at = (long)offset - r->offset, distance = at < 0 ? -at : at < (long)r->bytes ? 0 : at - (long)r->bytes + 1;
        if (r->bytes && distance < best) best = distance, near = r;
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
    for (int i = 1; i < 4 && s->dimensions[i]; i++) inner *= s->dimensions[i];
    for (int i = 0; i < 4 && s->dimensions[i] && used < size; i++) {
        long index = element / inner - (element % inner < 0);
        used += (size_t)snprintf(out + used, size - used, "[%ld]", index);
        element -= index * inner;
        if (i < 3 && s->dimensions[i + 1]) inner /= s->dimensions[i + 1];
    }
}
