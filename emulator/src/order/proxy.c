/* A fence between the proxies covers what its thread knew when it did it, and so is kept as its stamp and a clock. The last few
 * of each thread are: where an older one might have been on the way, nothing is said. */
#include "order/proxy.h"
#include "order/order.h"
#include "block/cluster.h"
#include "block/launch.h"

#define MOST_FENCES 8

struct proxy_fences { /* of a thread */
    unsigned n;       /* that it has done */
    struct proxy_fence {
        uint32_t stamp;
        unsigned spaces;
        struct clock before;
    } last[MOST_FENCES]; /* [n - 1] and those before it, modulo MOST_FENCES */
};

void proxy_begin_block(struct block *b)
{
    for (unsigned t = 0; b->n_proxy_fences && t < MAX_THREADS; t++)
        b->proxy_fences[t].n = 0;
    b->n_proxy_fences = 0;
    b->n_fenced = 0;
}

void proxy_fence(struct block *b, unsigned spaces)
{
    if (!simt_checked)
        return;
    if (!b->proxy_fences)
        b->proxy_fences = base_reserve(MAX_THREADS * sizeof *b->proxy_fences);
    struct proxy_fences *all = &b->proxy_fences[b->cur];
    struct proxy_fence *f = &all->last[all->n % MOST_FENCES];
    f->stamp = b->now;
    f->spaces = spaces;
    clock_clear(&f->before);
    order_done(b, b->cur, &f->before);
    all->n++;
    b->n_proxy_fences++;
    if (spaces & PROXY_GLOBAL) {
        b->n_fenced++;
        __atomic_fetch_add(&b->launch->n_fenced, 1, __ATOMIC_RELAXED);
    }
    b->now++;
}

struct asked_write {
    struct block *block; /* of the thread that asks */
    unsigned thread;
    enum proxy_space space;
    uint32_t serial;
    unsigned writer;
    uint32_t stamp;
};

/* By that thread of a block. */
static bool fenced_by(const struct block *b, unsigned thread, const struct asked_write *w)
{
    const struct proxy_fences *all = &b->proxy_fences[thread];
    unsigned kept = all->n < MOST_FENCES ? all->n : MOST_FENCES;
    for (unsigned i = 1; i <= kept; i++) {
        const struct proxy_fence *f = &all->last[(all->n - i) % MOST_FENCES];
        bool own = w->serial == b->serial && thread == w->writer && w->stamp <= f->stamp;
        if (!own && !clock_knows(&f->before, w->serial, w->writer, w->stamp))
            return false; /* nor did those before it */
        if (f->spaces & w->space && order_before(w->block, w->thread, b->serial, thread, f->stamp))
            return true;
    }
    return all->n > MOST_FENCES;
}

static bool fenced_in(struct block *b, const struct asked_write *w)
{
    if (!b->n_proxy_fences)
        return false;
    if (w->serial == b->serial && !is_engine(w->writer) && fenced_by(b, w->writer, w))
        return true;
    if ((w->block == b && fenced_by(b, w->thread, w)) || fenced_by(b, b->proxy_fencer, w))
        return true;
    for (unsigned t = 0; t < b->launch->threads; t++) {
        if (!fenced_by(b, t, w))
            continue;
        b->proxy_fencer = t;
        return true;
    }
    return false;
}

/* Of global memory that another block wrote it is only asked whether others have done any. */
bool proxy_fenced(struct block *b, unsigned thread, enum proxy_space space, uint32_t serial, unsigned writer,
                  uint32_t stamp)
{
    struct asked_write w = {b, thread, space, serial, writer, stamp};
    bool elsewhere = space == PROXY_GLOBAL && serial != b->serial;
    if (elsewhere && __atomic_load_n(&b->launch->n_fenced, __ATOMIC_RELAXED) != b->n_fenced)
        return true;
    if (fenced_in(b, &w))
        return true;
    for (unsigned rank = 0; space == PROXY_SHARED && rank < b->cluster->n; rank++)
        if (rank != b->rank && fenced_in(b->cluster->blocks[rank], &w))
            return true;
    return false;
}
