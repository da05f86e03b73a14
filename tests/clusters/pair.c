/* Clusters of two blocks, made inside of the runtime: their threads wait for each other, and each block's shared memory is
 * found to be its own. The first argument names the test, the second "checked" or "plain".
 *
 *   cc -g -O1 -fno-omit-frame-pointer -I ../../emulator/src -o pair pair.c ../../build/cpu/libsimt.a -lpthread -lm -ldl
 *   ./pair take_turns checked */
#define _GNU_SOURCE
#include "run/worker.h"
#include "run/grid.h"
#include "run/block.h"
#include "run/cluster.h"
#include "memory/shared.h"
#include "order/race.h"
#include "base/report.h"
#include "block/cluster.h"
#include "block/grid.h"
#include "run/watchdog.h"
#include "block/worker.h"
#include <stdlib.h>
#include <string.h>

enum { CLUSTERS = 6, THREADS = 40, ROUNDS = 100 };

static const struct waiting_kind signal_kind = {
    .call = "a signal's wait",
    .deadlock = "barrier deadlock",
    .rule = "A signal comes from the other block of the cluster.",
};
static struct waiting signals[CLUSTERS][2]; /* what the threads of each block wait for */
static unsigned counts[CLUSTERS][THREADS];
static unsigned wrong;

static void check(bool right) { __atomic_fetch_add(&wrong, !right, __ATOMIC_RELAXED); }

static struct block *other_of(const struct block *b) { return b->cluster->blocks[!b->rank]; }
static __attribute__((noinline)) void wait_for_signal(struct block *b)
{
    wait_for(b, &signals[b->cluster->number][b->rank], CALLER());
}
static __attribute__((noinline)) void wait_on(struct block *b, const struct waiting *on) { wait_for(b, on, CALLER()); }
static __attribute__((noinline)) void signal_other(struct block *b)
{
    struct block *other = other_of(b);
    if (other->threads[b->cur].waits_for == &signals[b->cluster->number][other->rank])
        wake(other, b->cur);
}
static __attribute__((noinline)) void let_others_run(struct block *b) { give_way(b, CALLER()); }
static __attribute__((noinline)) void meet_64(void) { block_barrier(3, 64, false, MEET_ANYWHERE, CALLER()); }

/* Each thread of the first block and its like of the second take turns. */
static void take_turns(const void *unused)
{
    struct block *b = running();
    unsigned t = b->cur, *count = &counts[b->cluster->number][t];
    (void)unused;
    for (unsigned round = 0; round < ROUNDS; round++) {
        while (*count % 2 != b->rank)
            wait_for_signal(b);
        check(b == running() && t == b->cur && *count == 2 * round + b->rank);
        (*count)++;
        signal_other(b);
    }
}

/* The first block's threads poll for what the second's do, and those for what the last cluster's do. */
static void poll(const void *unused)
{
    struct block *b = running();
    unsigned last = (unsigned)b->launch->clusters - 1, *count = counts[b->cluster->number];
    (void)unused;
    while (b->rank == 1 && b->cluster->number < last && __atomic_load_n(counts[last], __ATOMIC_RELAXED) < THREADS)
        let_others_run(b);
    if (b->rank == 1)
        __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(count, __ATOMIC_RELAXED) < THREADS)
        let_others_run(b);
}

/* Whose is what, for the running thread and any address of its own block's shared memory. */
static void check_owner(struct block *b, int *mine)
{
    struct block *other = other_of(b);
    int *theirs = shared_of_rank(b, mine, other->rank);
    struct place here = place_of(b, mine, sizeof *mine), there = place_of(b, theirs, sizeof *theirs);
    const unsigned char *end = b->cluster->arena + 2 * SHARED_BYTES;
    unsigned own = simt_shared_address(mine), far = simt_shared_address(theirs);
    check(shared_owner(b, mine) == b && shared_owner(b, theirs) == other && shared_owner(other, mine) == b);
    check(shared_offset(b, mine) == shared_offset(other, theirs));
    check(own / SHARED_BYTES == b->rank && far / SHARED_BYTES == other->rank &&
          own % SHARED_BYTES == far % SHARED_BYTES);
    check(simt_shared_generic(far) == theirs && shared_of_rank(other, theirs, b->rank) == mine);
    check(there.space == SPACE_SHARED && there.object && there.object != here.object && there.offset == here.offset);
    check(!shared_owner(b, end) && shared_owner(b, end - 1) == b->cluster->blocks[1]);
    check(!shared_owner(b, b->cluster->arena - 1));
}

/* Each writes into the other's shared memory, and looks for what the other has written into its own. */
static void share(const void *unused)
{
    static struct simt_shared_site site = {.name = "array", .bytes = 4 * THREADS, .align = 4, .element_bytes = 4};
    static const int *of_clusters[CLUSTERS];
    struct block *b = running();
    unsigned t = b->cur;
    (void)unused;
    int *mine = (int *)simt_shared(&site) + t;
    check_owner(b, mine);
    *(int *)shared_of_rank(b, mine, !b->rank) = (int)(100 * b->rank + t);
    signal_other(b);
    while (*mine != (int)(100 * !b->rank + t))
        wait_for_signal(b);
    __atomic_store_n(&of_clusters[b->cluster->number], mine, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < CLUSTERS; i++) {
        const int *foreign = __atomic_load_n(&of_clusters[i], __ATOMIC_RELAXED);
        check(!foreign || i == b->cluster->number || (!shared_owner(b, foreign) && shared_is_known(foreign)));
    }
}

/* The barrier of the grid, to which the first block's threads come once the second's have signalled. */
static void meet_grid(const void *unused)
{
    static unsigned arrived;
    struct block *b = running();
    unsigned *count = &counts[b->cluster->number][b->cur];
    (void)unused;
    for (unsigned round = 1; round <= 3; round++) {
        while (b->rank == 0 && *count < round)
            wait_for_signal(b);
        *count += b->rank;
        if (b->rank == 1)
            signal_other(b);
        __atomic_fetch_add(&arrived, 1, __ATOMIC_RELAXED);
        simt_grid_sync();
        check(__atomic_load_n(&arrived, __ATOMIC_RELAXED) >= 2 * CLUSTERS * THREADS * round);
        simt_grid_sync();
    }
}

/* All threads of both blocks wait for one thing, whose phase the last to come ends. */
static void meet_in_one(const void *unused)
{
    struct block *b = running();
    unsigned *count = counts[b->cluster->number];
    (void)unused;
    for (unsigned round = 1; round <= ROUNDS; round++) {
        struct waiting *phase = &signals[b->cluster->number][round % 2];
        (*count)++;
        if (*count == 2 * THREADS * round)
            wake_all(b->cluster, phase);
        else
            wait_on(b, phase);
        check(*count >= 2 * THREADS * round);
    }
}

/* The first block's threads wait for a signal that never comes, some of the second's for each other; the rest leave. */
static void deadlock(const void *unused)
{
    struct block *b = running();
    (void)unused;
    if (b->rank == 0)
        wait_for_signal(b); /* deadlock, the first block */
    else if (b->cur >= 32)
        meet_64(); /* deadlock, the second */
}

/* The second block ends, and the first waits for it. */
static void abandon(const void *unused)
{
    struct block *b = running();
    (void)unused;
    if (b->rank == 0)
        wait_for_signal(b); /* abandon */
}

/* The second block waits for the first, which polls for something else. */
static void hang(const void *unused)
{
    struct block *b = running();
    (void)unused;
    while (b->rank == 0)
        let_others_run(b); /* hang, the first block */
    wait_for_signal(b);    /* hang, the second */
}

static const void *no_pointer(const void *params, unsigned index) { return (void)params, (void)index, NULL; }

static void run(void (*thread)(const void *params), unsigned clusters)
{
    static struct simt_kernel kernel = {.name = "pair", .parameters = "", .pointer = no_pointer};
    const struct simt_configuration asked = {
        .grid = {2, clusters, 1}, .block = {THREADS, 1, 1}, .cooperative = thread == meet_grid};
    struct launch l = {.kernel = &kernel,
                       .asked = &asked,
                       .thread = thread,
                       .number = 1,
                       .threads = THREADS,
                       .cluster = {2, 1, 1},
                       .cluster_blocks = 2,
                       .blocks = 2 * clusters,
                       .clusters = clusters,
                       .first_serial = 1,
                       .most_in_hand = clusters};
    workers_start();
    l.many_workers = clusters > 1 && simt_n_workers > 1;
    shared_begin_launch(&l);
    grid_begin(&l);
    watchdog_begin();
    workers_run(&l);
    watchdog_end();
    grid_end(&l);
    report_finish_launch();
}

/* Clusters of 2 × 3 × 2 blocks tile a grid of 4 × 6 × 2. */
static void count_blocks(void)
{
    static const struct simt_configuration asked = {.grid = {4, 6, 2}};
    const struct launch l = {.asked = &asked, .cluster = {2, 3, 2}, .cluster_blocks = 12};
    bool seen[48] = {false};
    for (unsigned cluster = 0; cluster < 4; cluster++)
        for (unsigned rank = 0; rank < 12; rank++) {
            u64 block = cluster_block(&l, cluster, rank);
            unsigned x = block % 4, y = block / 4 % 6, z = (unsigned)(block / 24);
            check(block < 48 && !seen[block % 48] && x / 2 + 2 * (y / 3) == cluster);
            check(x % 2 + 2 * (y % 3) + 6 * z == rank);
            seen[block % 48] = true;
        }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*thread)(const void *params);
        unsigned clusters;
    } tests[] = {{"take_turns", take_turns, CLUSTERS},
                 {"poll", poll, CLUSTERS},
                 {"poll_alone", poll, 1},
                 {"share", share, CLUSTERS},
                 {"meet_grid", meet_grid, CLUSTERS},
                 {"meet_in_one", meet_in_one, CLUSTERS},
                 {"deadlock", deadlock, CLUSTERS},
                 {"abandon", abandon, CLUSTERS},
                 {"hang", hang, CLUSTERS},
                 {"hang_alone", hang, 1}};
    if (argc < 3)
        return 2;
    simt_checked = !strcmp(argv[2], "checked");
    for (unsigned i = 0; i < 2 * CLUSTERS; i++)
        signals[i / 2][i % 2].kind = &signal_kind;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (!strcmp(argv[1], tests[i].name))
            run(tests[i].thread, tests[i].clusters);
    if (!strcmp(argv[1], "count_blocks"))
        count_blocks();
    unsigned sum = 0;
    for (unsigned i = 0; i < CLUSTERS * THREADS; i++)
        sum += counts[i / THREADS][i % THREADS];
    printf("%u counted, %u wrong\n", sum, wrong);
    return 0;
}
