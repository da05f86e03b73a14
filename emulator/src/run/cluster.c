/* Which block of a cluster goes on, and which place each has in the grid. */
#include "run/cluster.h"
#include "block/cluster.h"
#include "block/launch.h"
#include "block/worker.h"
#include "memory/shared.h"
#include "run/block.h"
#include "run/cluster_barrier.h"
#include "run/waiting.h"

struct cluster *cluster_new(struct worker *w, unsigned n)
{
    struct cluster *c = base_reserve(sizeof *c);
    c->worker = w;
    c->n = n;
    shared_new_cluster(c);
    for (unsigned rank = 0; rank < n; rank++)
        c->blocks[rank] = block_new(c, rank);
    return c;
}

/* Clusters tile the grid; both count x before y before z. */
u64 cluster_block(const struct launch *l, u64 number, unsigned rank)
{
    u64 block = 0, across = 1;
    for (int i = 0; i < 3; i++) {
        unsigned wide = l->cluster[i], clusters = l->asked->grid[i] / wide;
        block += (number % clusters * wide + rank % wide) * across;
        across *= l->asked->grid[i];
        number /= clusters;
        rank /= wide;
    }
    return block;
}

void cluster_begin(struct cluster *c, struct launch *l, u64 number)
{
    c->launch = l;
    c->number = number;
    c->cur = 0;
    shared_begin_cluster(c);
    for (unsigned rank = 0; rank < c->n; rank++)
        block_begin(c->blocks[rank], l, cluster_block(l, number, rank));
    cluster_barrier_begin(c);
}

static bool can_go_on(const struct block *b) { return b->n_live && (!b->blocked || next_ready(b) != NO_THREAD); }

/* To the block that goes on next, behind the one that ran; it may be the same. False: there is none. */
static bool move_on(struct cluster *c)
{
    for (unsigned i = 1; i <= c->n; i++) {
        unsigned rank = (c->cur + i) % c->n;
        if (!can_go_on(c->blocks[rank]))
            continue;
        c->cur = rank;
        return true;
    }
    return false;
}

void cluster_run(struct cluster *c)
{
    bool gave_way;
    do {
        struct block *b = c->blocks[c->cur];
        c->worker->block = b;
        fiber_run(c->worker, b);
        gave_way = b->n_live && !b->blocked;
    } while (move_on(c) && !gave_way);
}

bool cluster_has_ended(const struct cluster *c)
{
    for (unsigned rank = 0; rank < c->n; rank++)
        if (c->blocks[rank]->n_live)
            return false;
    return true;
}

bool cluster_can_go_on(const struct cluster *c)
{
    for (unsigned rank = 0; rank < c->n; rank++)
        if (can_go_on(c->blocks[rank]))
            return true;
    return false;
}

bool cluster_has_other(const struct block *b)
{
    const struct cluster *c = b->cluster;
    for (unsigned rank = 0; rank < c->n; rank++)
        if (rank != b->rank && can_go_on(c->blocks[rank]))
            return true;
    return false;
}

void cluster_free_stacks(struct cluster *c)
{
    for (unsigned rank = 0; rank < c->n; rank++)
        fiber_free_stacks(c->blocks[rank]);
}
