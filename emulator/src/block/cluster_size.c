/* Clusters by __cluster_dims__, by a kernel's attributes and by a launch's, with the errors of CUDA 13 on an H200
 * (tests/conformance/cluster_launch.cu). */
#include "block/cluster_size.h"
#include "base/gpu.h"
#include "block/cluster.h"
#include "block/functions.h"

#define PORTABLE 8 /* blocks of a cluster, on every GPU that has clusters */

/* ---- a kernel's attributes ---- */

static void find_required(const struct simt_kernel *kernel, unsigned required[3])
{
    for (int i = 0; i < 3; i++) {
        int set = __atomic_load_n(&kernel->asked_of_clusters.required[i], __ATOMIC_RELAXED);
        required[i] = kernel->cluster[0] ? kernel->cluster[i] : (unsigned)set;
    }
}

static bool may_be_large(const struct simt_kernel *kernel)
{
    return __atomic_load_n(&kernel->asked_of_clusters.non_portable, __ATOMIC_RELAXED) != 0;
}

/* What __cluster_dims__ says can only be said again. */
static bool can_require(const struct simt_kernel *kernel, int i, int value)
{
    return kernel->cluster[0] ? value == (int)kernel->cluster[i] : value >= 0;
}

cudaError_t cluster_set_attribute(struct simt_kernel *kernel, enum cudaFuncAttribute attribute, int value)
{
    int i = (int)attribute - cudaFuncAttributeRequiredClusterWidth, *place = NULL;
    if (i >= 0 && i < 3 && can_require(kernel, i, value))
        place = &kernel->asked_of_clusters.required[i];
    else if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed)
        place = &kernel->asked_of_clusters.non_portable;
    else if (attribute == cudaFuncAttributeClusterSchedulingPolicyPreference && value >= 0 &&
             value <= cudaClusterSchedulingPolicyLoadBalancing)
        place = &kernel->asked_of_clusters.policy;
    if (!place)
        return cudaErrorInvalidValue;
    __atomic_store_n(place, value, __ATOMIC_RELAXED);
    return cudaSuccess;
}

void cluster_get_attributes(struct cudaFuncAttributes *attributes, const struct simt_kernel *kernel)
{
    unsigned required[3];
    find_required(kernel, required);
    attributes->clusterDimMustBeSet = kernel->cluster[0] != 0;
    attributes->requiredClusterWidth = (int)required[0];
    attributes->requiredClusterHeight = (int)required[1];
    attributes->requiredClusterDepth = (int)required[2];
    attributes->clusterSchedulingPolicyPreference = kernel->asked_of_clusters.policy;
    attributes->nonPortableClusterSizeAllowed = kernel->asked_of_clusters.non_portable;
}

/* ---- a launch ---- */

static bool says_any(const unsigned extent[3]) { return extent[0] || extent[1] || extent[2]; }

static bool says_all(const unsigned extent[3]) { return extent[0] && extent[1] && extent[2]; }

static bool agree(const unsigned asked[3], const unsigned required[3])
{
    for (int i = 0; i < 3; i++)
        if (required[i] && required[i] != asked[i])
            return false;
    return true;
}

/* They tile the grid, which the smaller ones do, too. The depth is the same. */
static bool may_prefer(const unsigned preferred[3], const struct cluster_size *size, const unsigned grid[3])
{
    if (!size->is_explicit || preferred[2] != size->extent[2])
        return false;
    for (int i = 0; i < 3; i++)
        if (!preferred[i] || preferred[i] % size->extent[i] || grid[i] % preferred[i])
            return false;
    return true;
}

cudaError_t cluster_size(struct cluster_size *size, const struct simt_kernel *kernel,
                         const struct simt_configuration *asked)
{
    unsigned required[3];
    find_required(kernel, required);
    const unsigned *said = says_any(asked->cluster) ? asked->cluster : required;
    *size = (struct cluster_size){.extent = {1, 1, 1}, .blocks = 1, .is_explicit = says_any(said)};
    if (size->is_explicit && !says_all(said))
        return cudaErrorInvalidClusterSize;
    if (!says_all(asked->grid))
        return cudaErrorInvalidValue;
    if (size->is_explicit) {
        if (!agree(said, required) || !gpu_described()->groups)
            return cudaErrorInvalidClusterSize;
        for (int i = 0; i < 3; i++) {
            if (asked->grid[i] % said[i])
                return cudaErrorInvalidClusterSize;
            size->extent[i] = said[i];
            size->blocks *= said[i];
        }
    }
    if (says_any(asked->preferred) && !may_prefer(asked->preferred, size, asked->grid))
        return cudaErrorInvalidClusterSize;
    if (size->blocks > PORTABLE && !may_be_large(kernel))
        return cudaErrorInvalidClusterSize;
    if (kernel->most_in_cluster && size->blocks > kernel->most_in_cluster)
        return cudaErrorInvalidClusterSize;
    return cudaSuccess;
}

u64 cluster_room(u64 blocks, int threads, size_t dynamic_shared)
{
    int per_sm = 0;
    if (function_occupancy(&per_sm, threads, dynamic_shared) != cudaSuccess)
        return 0;
    int most = gpu_described()->clustered_per_sm;
    return gpu_clusters(blocks, (unsigned)(per_sm < most ? per_sm : most));
}

/* ---- occupancy ---- */

/* The launch's clusters. *threads is 0 where no block of so many threads, or of so much shared memory, fits an SM. */
static cudaError_t look_at(struct cluster_size *size, int *threads, const struct simt_kernel *kernel,
                           const struct simt_configuration *asked)
{
    u64 n = (u64)asked->block[0] * asked->block[1] * asked->block[2];
    cudaError_t error = cluster_size(size, kernel, asked);
    if (error != cudaSuccess)
        return error;
    if (!n)
        return cudaErrorInvalidValue;
    *threads = n <= MAX_THREADS && asked->dynamic_shared <= function_dynamic_limit(kernel) ? (int)n : 0;
    return cudaSuccess;
}

cudaError_t cluster_most_active(int *clusters, const struct simt_kernel *kernel, const struct simt_configuration *asked)
{
    struct cluster_size size;
    int threads;
    cudaError_t error = look_at(&size, &threads, kernel, asked);
    if (error != cudaSuccess)
        return error;
    bool any = threads && size.is_explicit;
    *clusters = any ? (int)cluster_room(size.blocks, threads, asked->dynamic_shared) : 0;
    return cudaSuccess;
}

cudaError_t cluster_largest(int *blocks, const struct simt_kernel *kernel, const struct simt_configuration *asked)
{
    struct cluster_size size;
    int threads;
    cudaError_t error = look_at(&size, &threads, kernel, asked);
    if (error != cudaSuccess)
        return error;
    *blocks = !threads ? 0 : may_be_large(kernel) ? MOST_IN_CLUSTER : PORTABLE;
    while (*blocks && !cluster_room((u64)*blocks, threads, asked->dynamic_shared))
        --*blocks;
    return cudaSuccess;
}
