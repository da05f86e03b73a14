/* A launch: its blocks are dealt to the workers, which are this thread and one OS thread per further core. */
#define _GNU_SOURCE
#include "simt.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

__thread struct worker *simt_worker;
unsigned simt_n_workers;

/* blockDim and gridDim of the launch that runs: kernels read them by these names. */
unsigned simt_block_dim[3], simt_grid_dim[3];

struct worker simt_workers[MAX_WORKERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_came = PTHREAD_COND_INITIALIZER, work_done = PTHREAD_COND_INITIALIZER;
static struct launch *current_launch;
static unsigned long generation;
static unsigned n_busy;

static void *zeroed(size_t bytes)
{
    void *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m == MAP_FAILED) perror("simt: no memory for a worker"), exit(2);
    return m;
}

static void run_blocks(struct worker *w, struct launch *l)
{
    u64 index;
    w->launch = l;
    w->last_region = 0;
    if (counters_on) counters_begin(w);
    simt_worker = w;
    while ((index = __atomic_fetch_add(&l->next_block, 1, __ATOMIC_RELAXED)) < l->blocks) block_run(w, index);
    simt_worker = NULL;
    if (w->counting) counters_end(w);
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    unsigned long seen = 0;
    report_thread_handlers();
    pthread_mutex_lock(&lock);
    for (;;) {
        while (generation == seen) pthread_cond_wait(&work_came, &lock);
        seen = generation;
        struct launch *l = current_launch;
        pthread_mutex_unlock(&lock);
        run_blocks(w, l);
        pthread_mutex_lock(&lock);
        if (--n_busy == 0) pthread_cond_signal(&work_done);
    }
    return NULL;
}

static void start_workers(void)
{
    const char *wish = getenv("SIMT_WORKERS");
    char *end = "";
    long n = wish ? strtol(wish, &end, 10) : sysconf(_SC_NPROCESSORS_ONLN);
    if (wish && (*end || n < 1)) {
        fprintf(stderr, "simt: SIMT_WORKERS=%s is not a number of threads; accepted are 1 to %d\n", wish, MAX_WORKERS);
        exit(2);
    }
    simt_n_workers = n > MAX_WORKERS ? MAX_WORKERS : (unsigned)n;
    report_install_handlers();
    for (unsigned i = 0; i < simt_n_workers; i++) {
        struct worker *w = &simt_workers[i];
        w->threads = zeroed(MAX_THREADS * sizeof *w->threads);
        w->warps = zeroed(MAX_WARPS * sizeof *w->warps);
        fiber_init(w);
        shared_init(w);
        race_init(w);
        pthread_t id;
        if (i && pthread_create(&id, NULL, worker_main, w)) simt_n_workers = i;
    }
}

static cudaError_t refuse(const struct simt_kernel_launch *call)
{
    const struct gpu *gpu = device_gpu();
    u64 threads = (u64)call->block[0] * call->block[1] * call->block[2];
    if (threads == 0 || call->grid[0] == 0 || call->grid[1] == 0 || call->grid[2] == 0) return cudaErrorInvalidConfiguration;
    if (threads > MAX_THREADS || call->block[2] > 64) return cudaErrorInvalidValue; /* as CUDA 13 on an H200 answers */
    if (call->grid[0] > 2147483647u || call->grid[1] > 65535 || call->grid[2] > 65535) return cudaErrorInvalidValue;
    if (call->dynamic_shared > gpu->shared_optin) return cudaErrorInvalidValue;
    return cudaSuccess;
}

void simt_launch(const struct simt_kernel_launch *call)
{
    static unsigned long number;
    if (simt_worker) report_unsupported("a launch from inside a kernel (dynamic parallelism)", call->file, call->line);
    if (simt_fail(refuse(call)) != cudaSuccess) return;
    if (!simt_n_workers) start_workers();
    struct launch l = {.call = call, .number = ++number};
    l.threads = call->block[0] * call->block[1] * call->block[2];
    l.blocks = (u64)call->grid[0] * call->grid[1] * call->grid[2];
    memcpy(simt_block_dim, call->block, sizeof simt_block_dim);
    memcpy(simt_grid_dim, call->grid, sizeof simt_grid_dim);
    shared_begin_launch(&l);
    memory_device_mode(true);
    if (l.blocks > 1 && simt_n_workers > 1) {
        pthread_mutex_lock(&lock);
        current_launch = &l;
        n_busy = simt_n_workers - 1;
        generation++;
        pthread_cond_broadcast(&work_came);
        pthread_mutex_unlock(&lock);
        run_blocks(&simt_workers[0], &l);
        pthread_mutex_lock(&lock);
        while (n_busy) pthread_cond_wait(&work_done, &lock);
        pthread_mutex_unlock(&lock);
    } else {
        run_blocks(&simt_workers[0], &l);
    }
    memory_device_mode(false);
    if (counters_on) profile_launch(&l);
    race_global_end_launch(&l);
    report_finish_launch();
}
