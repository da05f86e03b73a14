/* The program's kernels, listed before main(), and their attributes. */
#include "block/functions.h"
#include "base/errors.h"
#include "base/gpu.h"
#include "block/cluster_size.h"
#include <pthread.h>

#define DYNAMIC_LIMIT ((size_t)48 << 10)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct simt_kernel *kernels;

bool simt_kernel_known(struct simt_kernel *kernel)
{
    pthread_mutex_lock(&lock);
    kernel->dynamic_limit = DYNAMIC_LIMIT;
    kernel->next = kernels;
    kernels = kernel;
    pthread_mutex_unlock(&lock);
    return true;
}

struct simt_kernel *function_find(const void *address)
{
    pthread_mutex_lock(&lock);
    struct simt_kernel *k = kernels;
    while (k && k->function != address)
        k = k->next;
    pthread_mutex_unlock(&lock);
    return k;
}

cudaError_t function_missing(const void *address)
{
    return simt_fail(address ? cudaErrorInvalidResourceHandle : cudaErrorInvalidDeviceFunction);
}

size_t function_dynamic_limit(const struct simt_kernel *kernel)
{
    return __atomic_load_n(&kernel->dynamic_limit, __ATOMIC_RELAXED);
}

bool function_opted_in(const struct simt_kernel *kernel)
{
    return __atomic_load_n(&kernel->opted_in, __ATOMIC_RELAXED);
}

void function_has_static(struct simt_kernel *kernel, size_t bytes)
{
    if (bytes > __atomic_load_n(&kernel->static_bytes, __ATOMIC_RELAXED))
        __atomic_store_n(&kernel->static_bytes, bytes, __ATOMIC_RELAXED);
}

static cudaError_t set_dynamic_limit(struct simt_kernel *kernel, int value)
{
    size_t most = gpu_described()->shared_optin - __atomic_load_n(&kernel->static_bytes, __ATOMIC_RELAXED);
    if (value < 0 || (size_t)value > most)
        return cudaErrorInvalidValue;
    __atomic_store_n(&kernel->dynamic_limit, (size_t)value, __ATOMIC_RELAXED);
    __atomic_store_n(&kernel->opted_in, true, __ATOMIC_RELAXED);
    return cudaSuccess;
}

cudaError_t simt_set_attribute(const void *function, enum cudaFuncAttribute attribute, int value)
{
    cudaError_t error = cudaErrorInvalidValue;
    struct simt_kernel *kernel = function_find(function);
    if (!kernel)
        return function_missing(function);
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize)
        error = set_dynamic_limit(kernel, value);
    else if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout)
        error = value >= -1 && value <= 100 ? cudaSuccess : error; /* a hint, which changes no result */
    else
        error = cluster_set_attribute(kernel, attribute, value);
    return simt_fail(error);
}

/* Registers and local memory, which the emulator does not know, are given as none; static shared memory as what the
 * launches so far have come to. */
cudaError_t simt_get_attributes(struct cudaFuncAttributes *attributes, const void *function)
{
    const struct gpu *gpu = gpu_described();
    const struct simt_kernel *kernel = function_find(function);
    if (!kernel)
        return function_missing(function);
    *attributes = (struct cudaFuncAttributes){.sharedSizeBytes = kernel->static_bytes,
                                              .maxThreadsPerBlock = MAX_THREADS,
                                              .maxDynamicSharedSizeBytes = (int)function_dynamic_limit(kernel),
                                              .preferredShmemCarveout = -1};
    if (kernel->max_threads && kernel->max_threads < MAX_THREADS)
        attributes->maxThreadsPerBlock = (int)kernel->max_threads;
    attributes->ptxVersion = 10 * gpu->major + gpu->minor;
    attributes->binaryVersion = attributes->ptxVersion;
    cluster_get_attributes(attributes, kernel);
    return cudaSuccess;
}

/* ---- occupancy ---- */

static size_t reserved_per_block(const struct gpu *g) { return g->shared_per_sm - g->shared_optin; }

cudaError_t function_occupancy(int *blocks, int threads, size_t dynamic_shared)
{
    const struct gpu *g = gpu_described();
    if (threads < 1 || threads > MAX_THREADS || dynamic_shared > g->shared_optin)
        return simt_fail(cudaErrorInvalidValue);
    int by_threads = g->threads_per_sm / ((threads + WARP - 1) / WARP * WARP);
    size_t each = dynamic_shared + reserved_per_block(g);
    int by_shared = each ? (int)(g->shared_per_sm / each) : g->blocks_per_sm;
    *blocks = by_threads < g->blocks_per_sm ? by_threads : g->blocks_per_sm;
    if (by_shared < *blocks)
        *blocks = by_shared;
    return cudaSuccess;
}

cudaError_t simt_occupancy(int *blocks, int threads, size_t dynamic_shared, const void *function)
{
    return function_find(function) ? function_occupancy(blocks, threads, dynamic_shared) : function_missing(function);
}

cudaError_t simt_best_block(int *min_grid, int *threads, const void *function, size_t dynamic_shared, int limit)
{
    struct cudaFuncAttributes attributes;
    if (!function)
        return cudaErrorInvalidValue;
    cudaError_t error = simt_get_attributes(&attributes, function);
    if (error != cudaSuccess)
        return error;
    int most = attributes.maxThreadsPerBlock, best = 0, blocks;
    if (limit > 0 && limit < most)
        most = limit;
    for (int n = most; n > 0 && error == cudaSuccess; n = (n - 1) / WARP * WARP) {
        error = simt_occupancy(&blocks, n, dynamic_shared, function);
        if (error == cudaSuccess && blocks * n > best) {
            best = blocks * n;
            *min_grid = blocks * gpu_sms();
            *threads = n;
        }
    }
    return error;
}

cudaError_t simt_spare_shared(size_t *bytes, const void *function, int blocks, int threads)
{
    const struct gpu *g = gpu_described();
    int most;
    cudaError_t error = simt_occupancy(&most, threads, 0, function);
    if (error != cudaSuccess)
        return error;
    if (blocks < 1 || blocks > most)
        return simt_fail(cudaErrorInvalidValue);
    size_t each = g->shared_per_sm / (size_t)blocks - reserved_per_block(g);
    *bytes = each < g->shared_optin ? each : g->shared_optin;
    return cudaSuccess;
}
