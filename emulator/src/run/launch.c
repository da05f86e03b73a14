/* A launch: configured, checked as CUDA checks it, run to its end before the call returns. */
#include "block/launch.h"
#include "api/graph.h"
#include "base/errors.h"
#include "base/gpu.h"
#include "base/report.h"
#include "block/functions.h"
#include "block/worker.h"
#include "count/counters.h"
#include "count/profile.h"
#include "count/timeline.h"
#include "memory/lookup.h"
#include "memory/protection.h"
#include "memory/records.h"
#include "memory/shared.h"
#include "order/messages.h"
#include "order/overlap.h"
#include "order/race.h"
#include "run/grid.h"
#include "run/watchdog.h"
#include "run/worker.h"
#include <stdlib.h>
#include <string.h>

#define MOST_PARAMETER_BYTES 32764

/* blockDim and gridDim of the launch that runs: kernels read them by these names. */
unsigned simt_block_dim[3], simt_grid_dim[3];

/* Of this host thread's next calls of kernels: an argument of one may hold another launch. */
#define MOST_CONFIGURED 16
static __thread struct simt_configuration configured[MOST_CONFIGURED];
static __thread unsigned n_configured;

static pthread_mutex_t launching = PTHREAD_MUTEX_INITIALIZER; /* host threads take turns */
static uint32_t next_serial = 1;

bool simt_on_device(void) { return simt_worker != NULL; }
const void *simt_launch_params(void) { return block_here()->launch->params; }

void simt_configure(const struct simt_configuration *asked)
{
    if (simt_worker)
        report_unsupported("a launch from inside a kernel (dynamic parallelism)", asked->file, asked->line);
    if (n_configured == MOST_CONFIGURED)
        report_unsupported("launches nested so deeply in the arguments of others", asked->file, asked->line);
    configured[n_configured] = *asked;
    n_configured++;
}

/* Blocks that the GPU described holds at once. */
static unsigned most_resident(int threads, size_t dynamic_shared)
{
    int per_sm = 1;
    function_occupancy(&per_sm, threads, dynamic_shared);
    return (unsigned)(per_sm > 1 ? per_sm : 1) * (unsigned)gpu_sms();
}

/* In blocks, by what the launch says, else by what the kernel does. */
static unsigned cluster_extent(const struct simt_kernel *kernel, const struct simt_configuration *asked, int i)
{
    unsigned extent = asked->cluster[i] ? asked->cluster[i] : kernel->cluster[i];
    return extent ? extent : 1;
}

/* Clusters tile the grid, and a GPU has room for so many of their blocks beside each other. */
static bool has_clusters(const struct simt_kernel *kernel, const struct simt_configuration *asked)
{
    u64 blocks = 1;
    for (int i = 0; i < 3; i++) {
        unsigned extent = cluster_extent(kernel, asked, i);
        if (asked->grid[i] % extent || extent > MOST_IN_CLUSTER)
            return false;
        blocks *= extent;
    }
    return blocks <= MOST_IN_CLUSTER;
}

/* One error for all, as CUDA 13 on an H200 answers. */
static cudaError_t refuse(struct simt_kernel *kernel, const struct simt_configuration *asked)
{
    u64 threads = (u64)asked->block[0] * asked->block[1] * asked->block[2];
    if (threads == 0 || asked->grid[0] == 0 || asked->grid[1] == 0 || asked->grid[2] == 0)
        return cudaErrorInvalidValue;
    if (threads > MAX_THREADS || asked->block[2] > 64)
        return cudaErrorInvalidValue;
    if (asked->grid[0] > 2147483647u || asked->grid[1] > 65535 || asked->grid[2] > 65535)
        return cudaErrorInvalidValue;
    if (asked->dynamic_shared > function_dynamic_limit(kernel))
        return cudaErrorInvalidValue;
    if (kernel->max_threads && threads > kernel->max_threads)
        return cudaErrorInvalidValue;
    if (!has_clusters(kernel, asked))
        return cudaErrorInvalidClusterSize;
    u64 blocks = (u64)asked->grid[0] * asked->grid[1] * asked->grid[2];
    if (asked->cooperative && blocks > most_resident((int)threads, asked->dynamic_shared))
        return cudaErrorCooperativeLaunchTooLarge;
    return cudaSuccess;
}

bool launch_has_clusters(const struct launch *l) { return l->kernel->cluster[0] || l->asked->cluster[0]; }

/* As many clusters as the GPU described holds at once, shared out among the workers; a cooperative launch's: all. */
static unsigned most_in_hand(const struct launch *l)
{
    if (l->asked->cooperative)
        return (unsigned)l->clusters;
    unsigned all = most_resident((int)l->threads, l->asked->dynamic_shared) / l->cluster_blocks;
    return all / simt_n_workers > 1 ? all / simt_n_workers : 1;
}

static void forget_records(const struct object *object) { race_cells_clear(object->cells); }

/* Serials name blocks in every record of the past; when they run out, the past is forgotten. */
static uint32_t take_serials(u64 blocks)
{
    if (blocks > UINT32_MAX - 1)
        report_unsupported("a grid of more than four thousand million blocks", "the launch", 0);
    if (next_serial + blocks > UINT32_MAX) {
        memory_each(forget_records);
        workers_forget_records();
        overlap_forget_launches();
        next_serial = 1;
    }
    uint32_t first = next_serial;
    next_serial += (uint32_t)blocks;
    return first;
}

/* Takes its place among the operations of streams, and looks up what may go on beside it. */
static void join_streams(struct launch *l, const struct work *w)
{
    l->overlap = overlap_begin_launch(w, l->first_serial, &l->least_serial);
    work_launched(w, (struct launched){.first = l->first_serial,
                                       .end = l->first_serial + (uint32_t)l->blocks,
                                       .kernel = l->kernel->name,
                                       .pc = l->launched_at});
}

static void run(struct launch *l)
{
    static unsigned long number;
    l->number = ++number;
    workers_start();
    l->first_serial = take_serials(l->blocks);
    struct work w = work_begin(l->asked->stream, l->asked->programmatic ? WORK_PROGRAMMATIC_KERNEL : WORK_KERNEL);
    join_streams(l, &w);
    l->most_in_hand = most_in_hand(l);
    l->many_workers = l->clusters > 1 && simt_n_workers > 1;
    memcpy(simt_block_dim, l->asked->block, sizeof simt_block_dim);
    memcpy(simt_grid_dim, l->asked->grid, sizeof simt_grid_dim);
    shared_begin_launch(l);
    grid_begin(l);
    memory_open();
    watchdog_begin();
    workers_run(l);
    watchdog_end();
    grid_end(l);
    memory_close();
    overlap_end_launch(l->overlap);
    work_launch_ended(&w, l->synchronises);
    work_end(&w);
    memory_launched();
    if (counters_on && l->cancelled == cudaSuccess)
        profile_launch(l);
    if (l->cancelled == cudaSuccess)
        timeline_end_launch(l);
    if (l->synchronises)
        messages_end_launch();
    race_end_launch();
    if (l->cancelled == cudaSuccess)
        report_finish_launch();
}

/* A launch as a graph keeps it; the kernel's arguments follow. */
struct kept {
    struct simt_kernel *kernel;
    struct simt_configuration asked;
    const void *launched_at; /* code address */
    void (*thread)(const void *params);
    size_t params_bytes;
    _Alignas(16) unsigned char params[];
};

static void set_clusters(struct launch *l)
{
    l->cluster_blocks = 1;
    for (int i = 0; i < 3; i++) {
        l->cluster[i] = cluster_extent(l->kernel, l->asked, i);
        l->cluster_blocks *= l->cluster[i];
    }
    l->clusters = l->blocks / l->cluster_blocks;
}

static cudaError_t launch_now(const struct kept *k, const void *params)
{
    const struct simt_configuration *asked = &k->asked;
    struct launch l = {.kernel = k->kernel,
                       .asked = asked,
                       .launched_at = k->launched_at,
                       .thread = k->thread,
                       .params = params,
                       .params_bytes = k->params_bytes};
    l.threads = asked->block[0] * asked->block[1] * asked->block[2];
    l.blocks = (u64)asked->grid[0] * asked->grid[1] * asked->grid[2];
    set_clusters(&l);
    pthread_mutex_lock(&launching);
    run(&l);
    pthread_mutex_unlock(&launching);
    return simt_fail(l.cancelled);
}

static cudaError_t launch_kept(void *payload)
{
    const struct kept *k = payload;
    return launch_now(k, k->params);
}

static bool kept_by_graph(const struct kept *launch, const void *params)
{
    if (!graph_awaits(launch->asked.stream))
        return false;
    size_t bytes = sizeof *launch + launch->params_bytes;
    struct kept *whole = malloc(bytes);
    if (!whole)
        abort();
    *whole = *launch;
    memcpy(whole->params, params, launch->params_bytes);
    bool taken = graph_takes(launch->asked.stream, cudaGraphNodeTypeKernel, launch_kept, whole, bytes);
    free(whole);
    return taken;
}

cudaError_t simt_launch(struct simt_kernel *kernel, const void *caller, void (*thread)(const void *params),
                        const void *params, size_t params_bytes)
{
    if (!n_configured)
        report_host(
            "kernel called without a launch", caller,
            "A kernel is started by kernel<<<grid, block>>>(arguments); on a GPU this call would start nothing.");
    n_configured--;
    struct simt_configuration asked = configured[n_configured];
    cudaError_t error = refuse(kernel, &asked);
    if (error != cudaSuccess)
        return simt_fail(error);
    if (params_bytes > MOST_PARAMETER_BYTES)
        report_unsupported("kernel parameters of more than 32,764 bytes (nor does CUDA)", asked.file, asked.line);
    struct kept launch = {
        .kernel = kernel, .asked = asked, .launched_at = caller, .thread = thread, .params_bytes = params_bytes};
    if (kept_by_graph(&launch, params))
        return cudaSuccess;
    return launch_now(&launch, params);
}

void launch_cancel(struct launch *l, cudaError_t error)
{
    __atomic_store_n(&l->cancelled, error, __ATOMIC_RELAXED);
    fiber_abandon(block_here());
}
