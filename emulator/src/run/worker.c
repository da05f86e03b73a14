/* The OS threads, and which block each goes on with. */
#define _GNU_SOURCE
#include "run/worker.h"
#include "count/counters.h"
#include "run/launch.h"
#include "order/race.h"
#include "report/signals.h"
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

/* ---- blocks in hand ---- */

static bool may_begin(const struct worker *w, const struct launch *l)
{
    return w->n_in_hand < l->most_in_hand && __atomic_load_n(&l->next_block, __ATOMIC_RELAXED) < l->blocks;
}

bool worker_has_other_block(struct worker *w)
{
    return w->in_hand || may_begin(w, w->block->launch) || simt_n_workers > 1;
}

/* The next block that nobody has begun; NULL when there is none left. */
static struct block *begin(struct worker *w, struct launch *l)
{
    u64 number = __atomic_fetch_add(&l->next_block, 1, __ATOMIC_RELAXED);
    if (number >= l->blocks)
        return NULL;
    struct block *b = w->idle ? w->idle : block_new(w);
    w->idle = b->next_in_hand;
    block_begin(b, l, number);
    return b;
}

/* A block that only polls makes room for one that has not begun, as long as there is room for both on the GPU. */
static struct block *next_block(struct worker *w, struct launch *l, bool polling)
{
    struct block *b = NULL;
    if ((polling || !w->in_hand) && may_begin(w, l))
        b = begin(w, l);
    if (b || !w->in_hand)
        return b;
    b = w->in_hand;
    w->in_hand = b->next_in_hand;
    w->n_in_hand--;
    return b;
}

static void put_last(struct worker *w, struct block *b)
{
    struct block **end = &w->in_hand;
    while (*end)
        end = &(*end)->next_in_hand;
    b->next_in_hand = NULL;
    *end = b;
    w->n_in_hand++;
}

static void put_away(struct worker *w, struct block *b)
{
    fiber_free_stacks(b);
    b->next_in_hand = w->idle;
    w->idle = b;
}

static bool is_cancelled(const struct launch *l)
{
    return __atomic_load_n(&l->cancelled, __ATOMIC_RELAXED) != cudaSuccess;
}

static void run_blocks(struct worker *w, struct launch *l)
{
    bool polling = false;
    struct block *b;
    __atomic_store_n(&w->lent, NULL, __ATOMIC_RELEASE); /* of a launch that was cancelled */
    __atomic_store_n(&w->touching, NULL, __ATOMIC_RELEASE);
    simt_worker = w;
    while (!is_cancelled(l) && (b = next_block(w, l, polling))) {
        w->block = b;
        fiber_run(w, b);
        polling = b->n_live > 0;
        if (!polling || is_cancelled(l)) {
            put_away(w, b);
            continue;
        }
        put_last(w, b);
        if (w->n_in_hand == 1 && !may_begin(w, l))
            sched_yield();
    }
    while (w->in_hand) {
        b = w->in_hand;
        w->in_hand = b->next_in_hand;
        w->n_in_hand--;
        put_away(w, b);
    }
    w->block = NULL;
    simt_worker = NULL;
    for (b = w->idle; b; b = b->next_in_hand)
        counters_end(b);
}

void workers_forget_records(void)
{
    for (unsigned i = 0; i < simt_n_workers; i++)
        for (struct block *b = simt_workers[i].idle; b; b = b->next_in_hand)
            if (b->cells)
                race_cells_clear(b->cells);
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
        run_blocks(w, l);
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
        run_blocks(first, l);
        return;
    }
    pthread_mutex_lock(&lock);
    current_launch = l;
    n_busy = simt_n_workers - 1;
    generation++;
    pthread_cond_broadcast(&work_came);
    pthread_mutex_unlock(&lock);
    run_blocks(first, l);
    pthread_mutex_lock(&lock);
    while (n_busy)
        pthread_cond_wait(&work_done, &lock);
    pthread_mutex_unlock(&lock);
}
