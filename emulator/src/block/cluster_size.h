/* How large the clusters of a launch are, and how many the GPU described has room for. */
#ifndef SIMT_CLUSTER_SIZE_H
#define SIMT_CLUSTER_SIZE_H

#include "base/base.h"

struct simt_configuration;

struct cluster_size {
    unsigned extent[3]; /* in blocks */
    u64 blocks;
    bool is_explicit; /* the kernel or the launch says so, if only of one block each */
};
/* As the kernel and the launch say together, for a grid of some blocks; or the error by which CUDA refuses that. */
cudaError_t cluster_size(struct cluster_size *size, const struct simt_kernel *kernel,
                         const struct simt_configuration *asked);
u64 cluster_room(u64 blocks, int threads, size_t dynamic_shared); /* clusters of so many blocks of so many threads */

/* cudaOccupancyMaxActiveClusters() and cudaOccupancyMaxPotentialClusterSize(). */
cudaError_t cluster_most_active(int *clusters, const struct simt_kernel *kernel,
                                const struct simt_configuration *asked);
cudaError_t cluster_largest(int *blocks, const struct simt_kernel *kernel, const struct simt_configuration *asked);

/* cudaFuncAttribute…Cluster…: what a program asks for a kernel, and what it is answered. */
cudaError_t cluster_set_attribute(struct simt_kernel *kernel, enum cudaFuncAttribute attribute, int value);
void cluster_get_attributes(struct cudaFuncAttributes *attributes, const struct simt_kernel *kernel);

#endif
