/* A launch: configured, checked as CUDA checks it, run to its end before the call returns. */
#include "block/launch.h"
#include "api/graph.h"
#include "base/errors.h"
#include "base/gpu.h"
#include "base/report.h"
#include "block/cluster.h"
#include "block/cluster_size.h"
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

/* Clusters that the GPU described holds at once; where the launch does not speak of them, blocks. */
static u64 most_resident(const struct cluster_size *size, int threads, size_t dynamic_shared)
{
    int per_sm = 1;
    if (size->is_explicit)
        return cluster_room(size->blocks, threads, dynamic_shared);
    function_occupancy(&per_sm, threads, dynamic_shared);
    return (u64)(per_sm > 1 ? per_sm : 1) * (u64)gpu_sms();
}

/* The errors that CUDA 13 on an H200 answers; else the launch's clusters. */
static cudaError_t refuse(struct cluster_size *size, struct simt_kernel *kernel, const struct simt_configuration *asked)
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
    cudaError_t error = cluster_size(size, kernel, asked);
    if (error != cudaSuccess)
        return error;
    if (size->blocks > MOST_IN_CLUSTER)
        return cudaErrorInvalidClusterSize;
    u64 clusters = (u64)asked->grid[0] * asked->grid[1] * asked->grid[2] / size->blocks;
    if (asked->cooperative && clusters > most_resident(size, (int)threads, asked->dynamic_shared))
        return cudaErrorCooperativeLaunchTooLarge;
    return cudaSuccess;
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

static void run(struct launch *l, const struct cluster_size *size)
{
    static unsigned long number;
    l->number = ++number;
    workers_start();
    l->first_serial = take_serials(l->blocks);
    struct work w = work_begin(l->asked->stream, l->asked->programmatic ? WORK_PROGRAMMATIC_KERNEL : WORK_KERNEL);
    join_streams(l, &w);
    l->most_in_hand = most_resident(size, (int)l->threads, l->asked->dynamic_shared);
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
    if (l->lets_next_begin)
        work_let_next_begin(&w);
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
    struct cluster_size size;
    const void *launched_at; /* code address */
    void (*thread)(const void *params);
    size_t params_bytes;
    _Alignas(16) unsigned char params[];
};

static cudaError_t launch_now(const struct kept *k, const void *params)
{
    const struct simt_configuration *asked = &k->asked;
    struct launch l = {.kernel = k->kernel,
                       .asked = asked,
                       .launched_at = k->launched_at,
                       .thread = k->thread,
                       .params = params,
                       .has_clusters = k->size.is_explicit,
                       .params_bytes = k->params_bytes};
    l.threads = asked->block[0] * asked->block[1] * asked->block[2];
    l.blocks = (u64)asked->grid[0] * asked->grid[1] * asked->grid[2];
    memcpy(l.cluster, k->size.extent, sizeof l.cluster);
    l.cluster_blocks = (unsigned)k->size.blocks;
    l.clusters = l.blocks / l.cluster_blocks;
    pthread_mutex_lock(&launching);
    run(&l, &k->size);
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
    struct cluster_size size;
    cudaError_t error = refuse(&size, kernel, &asked);
    if (error != cudaSuccess)
        return simt_fail(error);
    if (params_bytes > MOST_PARAMETER_BYTES)
        report_unsupported("kernel parameters of more than 32,764 bytes (nor does CUDA)", asked.file, asked.line);
    struct kept launch = {.kernel = kernel,
                          .asked = asked,
                          .size = size,
                          .launched_at = caller,
                          .thread = thread,
                          .params_bytes = params_bytes};
    if (kept_by_graph(&launch, params))
        return cudaSuccess;
    return launch_now(&launch, params);
}

void launch_cancel(struct launch *l, cudaError_t error)
{
    __atomic_store_n(&l->cancelled, error, __ATOMIC_RELAXED);
    fiber_abandon(block_here());
}
