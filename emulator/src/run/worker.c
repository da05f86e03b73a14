/* The OS threads, and which cluster each goes on with. */
#define _GNU_SOURCE
#include "run/worker.h"
#include "base/signals.h"
#include "block/launch.h"
#include "block/worker.h"
#include "count/counters.h"
#include "memory/records.h"
#include "order/race.h"
#include "run/cluster.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__thread struct worker *simt_worker __attribute__((tls_model("initial-exec"))); /* so also in a shared object */
struct worker simt_workers[MAX_WORKERS];
unsigned simt_n_workers;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_came = PTHREAD_COND_INITIALIZER, work_done = PTHREAD_COND_INITIALIZER;
static struct launch *current_launch;
static unsigned long generation;
static unsigned n_busy;

/* ---- clusters in hand ---- */

/* Shares differ by one at most, and are together what the GPU described holds at once: there its clusters may wait for each other. */
static u64 share_of(const struct worker *w, const struct launch *l)
{
    u64 share = (l->most_in_hand + (u64)(simt_workers + simt_n_workers - 1 - w)) / simt_n_workers;
    return share > 1 ? share : 1;
}

static bool may_begin(const struct worker *w, const struct launch *l)
{
    return w->n_in_hand < share_of(w, l) && __atomic_load_n(&l->next_cluster, __ATOMIC_RELAXED) < l->clusters;
}

bool worker_has_other_block(struct worker *w)
{
    return w->in_hand || may_begin(w, w->block->launch) || simt_n_workers > 1 || cluster_has_other(w->block);
}

/* One that has ended, of the launch's size. */
static struct cluster *take_idle(struct worker *w, const struct launch *l)
{
    struct cluster **at = &w->idle;
    while (*at && (*at)->n != l->cluster_blocks)
        at = &(*at)->next;
    if (!*at)
        return cluster_new(w, l->cluster_blocks);
    struct cluster *c = *at;
    *at = c->next;
    return c;
}

/* The next cluster that nobody has begun; NULL when there is none left. */
static struct cluster *begin(struct worker *w, struct launch *l)
{
    u64 number = __atomic_fetch_add(&l->next_cluster, 1, __ATOMIC_RELAXED);
    if (number >= l->clusters)
        return NULL;
    w->begins = true;
    struct cluster *c = take_idle(w, l);
    cluster_begin(c, l, number);
    return c;
}

static struct cluster *take_first(struct worker *w)
{
    struct cluster *c = w->in_hand;
    w->in_hand = c->next;
    w->n_in_hand--;
    return c;
}

/* A cluster that only polls makes room for one that has not begun, as long as there is room for both on the GPU. */
static struct cluster *next_cluster(struct worker *w, struct launch *l, bool polling)
{
    struct cluster *c = NULL;
    if ((polling || !w->in_hand) && may_begin(w, l))
        c = begin(w, l);
    return c || !w->in_hand ? c : take_first(w);
}

static void put_last(struct worker *w, struct cluster *c)
{
    struct cluster **end = &w->in_hand;
    while (*end)
        end = &(*end)->next;
    c->next = NULL;
    *end = c;
    w->n_in_hand++;
}

static void put_away(struct worker *w, struct cluster *c)
{
    cluster_free_stacks(c);
    c->next = w->idle;
    w->idle = c;
}

static bool is_cancelled(const struct launch *l)
{
    return __atomic_load_n(&l->cancelled, __ATOMIC_RELAXED) != cudaSuccess;
}

static void run_clusters(struct worker *w, struct launch *l)
{
    bool polling = false;
    struct cluster *c;
    __atomic_store_n(&w->lent, NULL, __ATOMIC_RELEASE); /* of a launch that was cancelled */
    __atomic_store_n(&w->touching, NULL, __ATOMIC_RELEASE);
    simt_worker = w;
    while (!is_cancelled(l) && (c = next_cluster(w, l, polling))) {
        w->begins = false;
        cluster_run(c);
        polling = !cluster_has_ended(c);
        if (!polling || is_cancelled(l)) {
            put_away(w, c);
            continue;
        }
        put_last(w, c);
        if (w->n_in_hand == 1 && !may_begin(w, l))
            sched_yield();
    }
    while (w->in_hand)
        put_away(w, take_first(w));
    w->block = NULL;
    simt_worker = NULL;
    for (c = w->idle; c; c = c->next)
        for (unsigned rank = 0; rank < c->n; rank++)
            counters_end(c->blocks[rank]);
}

void workers_forget_records(void)
{
    for (unsigned i = 0; i < simt_n_workers; i++)
        for (struct cluster *c = simt_workers[i].idle; c; c = c->next)
            for (unsigned rank = 0; rank < c->n; rank++)
                if (c->blocks[rank]->cells)
                    race_cells_clear(c->blocks[rank]->cells);
}

/* ---- the threads ---- */

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    unsigned long seen = 0;
    signals_install_stack();
    pthread_mutex_lock(&lock);
    for (;;) {
        while (generation == seen)
            pthread_cond_wait(&work_came, &lock);
        seen = generation;
        struct launch *l = current_launch;
        pthread_mutex_unlock(&lock);
        run_clusters(w, l);
        pthread_mutex_lock(&lock);
        n_busy--;
        if (n_busy == 0)
            pthread_cond_signal(&work_done);
    }
    return NULL;
}

void workers_start(void)
{
    const char *wish = getenv("SIMT_WORKERS");
    char *end = "";
    long n = wish ? strtol(wish, &end, 10) : sysconf(_SC_NPROCESSORS_ONLN);
    if (simt_n_workers)
        return;
    if (wish && (*end || end == wish || n < 1)) {
        fprintf(stderr, "simt: SIMT_WORKERS=%s is not a number of threads; accepted are 1 to %d\n", wish, MAX_WORKERS);
        exit(2);
    }
    unsigned n_workers = n > MAX_WORKERS ? MAX_WORKERS : (unsigned)n;
    signals_install();
    for (unsigned i = 0; i < n_workers; i++) {
        struct worker *w = &simt_workers[i];
        fiber_init(w);
        if (i && pthread_create(&w->id, NULL, worker_main, w))
            n_workers = i;
    }
    simt_n_workers = n_workers;
}

void workers_run(struct launch *l)
{
    struct worker *first = &simt_workers[0];
    first->id = pthread_self(); /* host threads take turns as the first worker */
    if (!l->many_workers) {
        run_clusters(first, l);
        return;
    }
    pthread_mutex_lock(&lock);
    current_launch = l;
    n_busy = simt_n_workers - 1;
    generation++;
    pthread_cond_broadcast(&work_came);
    pthread_mutex_unlock(&lock);
    run_clusters(first, l);
    pthread_mutex_lock(&lock);
    while (n_busy)
        pthread_cond_wait(&work_done, &lock);
    pthread_mutex_unlock(&lock);
}
