/* Which threads of other blocks have touched a block's shared memory, and whether the block knows. */
#include "order/touch.h"
#include "base/report.h"
#include "block/launch.h"
#include "order/order.h"

/* The last access of each thread of another block: what that one knows is done, all before it is. */
struct touches {
    unsigned n;
    struct access last[MOST_IN_CLUSTER * MAX_THREADS];
    uint16_t place[MOST_IN_CLUSTER]
                  [MAX_THREADS]; /* of each rank's threads: 1 more than where in `last`; 0: it is not there */
};

void touch_begin_block(struct block *b)
{
    struct touches *all = b->touches;
    b->heard_of = 0;
    for (unsigned t = 0; b->cluster->n > 1 && t < MAX_THREADS; t++)
        b->threads[t].knows_of = 0;
    for (; all && all->n; all->n--) {
        const struct access *a = &all->last[all->n - 1];
        all->place[a->block->rank][a->thread] = 0;
    }
}

/* ---- has it begun? ---- */

void touch_heard(struct block *b, const struct clock *done)
{
    if (b->cluster->n == 1)
        return;
    for (unsigned i = 0; i < done->n; i++) {
        const struct block *other = cluster_find(b, done->entries[i].serial);
        if (other)
            b->heard_of |= (uint16_t)(1u << other->rank);
    }
}

static bool knows_of_block(const struct block *b, unsigned thread, uint32_t serial)
{
    const struct knowledge *k = b->threads[thread].knowledge;
    if (b->phase || clock_latest(&b->acquired, serial))
        return true;
    if (!k)
        return false;
    for (int scope = 0; scope < ORDERED_SCOPES; scope++)
        if (clock_latest(&k->seen[scope], serial))
            return true;
    return clock_latest(&k->acquired, serial) || clock_latest(&k->loose, serial);
}

static bool has_begun(struct block *b, unsigned thread, const struct block *owner)
{
    uint16_t *known = &b->threads[thread].knows_of, rank = (uint16_t)(1u << owner->rank);
    if ((*known | b->heard_of) & rank)
        return true;
    if (!knows_of_block(b, thread, owner->serial))
        return false;
    *known |= rank;
    return true;
}

void touch_phase_waited(struct block *b) { current(b)->knows_of = UINT16_MAX; }

void touch_block_met(struct block *b)
{
    for (unsigned t = 0; b->cluster->n > 1 && t < b->launch->threads; t++)
        b->heard_of |= b->threads[t].knows_of;
}

/* ---- has it left? ---- */

static void keep(struct block *owner, const struct access *a)
{
    if (!owner->touches)
        owner->touches = base_reserve(sizeof *owner->touches);
    struct touches *all = owner->touches;
    uint16_t *place = &all->place[a->block->rank][a->thread];
    a->block->threads[a->thread].touched = a->stamp;
    if (!*place) {
        all->n++;
        *place = (uint16_t)all->n;
    }
    all->last[*place - 1] = *a;
}

static void forget(struct touches *all, unsigned i)
{
    const struct access *gone = &all->last[i], *moved = &all->last[all->n - 1];
    all->place[gone->block->rank][gone->thread] = 0;
    if (moved != gone)
        all->place[moved->block->rank][moved->thread] = (uint16_t)(i + 1);
    all->last[i] = *moved;
    all->n--;
}

void touch_done(struct block *owner, uint32_t serial, unsigned thread, uint32_t stamp)
{
    struct touches *all = owner->touches;
    const struct block *other = cluster_find(owner, serial);
    unsigned place = all && other ? all->place[other->rank][thread] : 0;
    if (place && all->last[place - 1].stamp <= stamp)
        forget(all, place - 1);
}

void touch_phase_ended(struct cluster *c)
{
    for (unsigned rank = 0; rank < c->n; rank++) {
        struct touches *all = c->blocks[rank]->touches;
        for (unsigned i = all ? all->n : 0; i > 0; i--)
            if (has_left(all->last[i - 1].block, all->last[i - 1].thread))
                forget(all, i - 1);
    }
}

/* What the running thread knows: to leave it is enough to have seen. */
static unsigned clocks_of(const struct block *b, const struct clock *clocks[2 + ORDERED_SCOPES])
{
    const struct knowledge *k = b->threads[b->cur].knowledge;
    unsigned n = 0;
    clocks[n++] = &b->acquired;
    if (k)
        clocks[n++] = &k->acquired;
    for (int scope = 0; k && scope < ORDERED_SCOPES; scope++)
        clocks[n++] = &k->seen[scope];
    return n;
}

/* Up to which stamp it knows of any thread of each block. */
static void find_latest(const struct block *b, uint32_t latest[MOST_IN_CLUSTER])
{
    const struct clock *clocks[2 + ORDERED_SCOPES];
    unsigned n = clocks_of(b, clocks);
    for (unsigned rank = 0; rank < b->cluster->n; rank++) {
        latest[rank] = b->phase ? UINT32_MAX : 0; /* the grid's barrier knows more */
        for (unsigned i = 0; i < n; i++) {
            uint32_t stamp = clock_latest(clocks[i], b->cluster->blocks[rank]->serial);
            latest[rank] = stamp > latest[rank] ? stamp : latest[rank];
        }
    }
}

static bool knows(struct block *b, const struct access *a)
{
    const struct clock *clocks[2 + ORDERED_SCOPES];
    unsigned n = clocks_of(b, clocks);
    for (unsigned i = 0; i < n; i++)
        if (clock_knows(clocks[i], a->block->serial, a->thread, a->stamp))
            return true;
    return order_before(b, b->cur, a->block->serial, a->thread, a->stamp);
}

void touch_thread_left(struct block *b)
{
    struct touches *all = b->touches;
    uint32_t latest[MOST_IN_CLUSTER];
    if (!all || !all->n)
        return;
    find_latest(b, latest);
    for (unsigned i = all->n; i > 0; i--) {
        const struct access *a = &all->last[i - 1];
        if (a->stamp <= latest[a->block->rank] && knows(b, a))
            forget(all, i - 1);
    }
    if (b->n_live == 1 && all->n)
        report_left(&all->last[0], b, b->cur);
}

/* ---- both ---- */

void touch_other(const struct access *a, struct block *owner)
{
    if (!owner->n_live)
        report_left(a, owner, owner->cur);
    if (!has_begun(a->block, a->thread, owner))
        report_not_begun(a);
    if (!a->engine)
        keep(owner, a);
}
