/* A launch: what the host asked for, and what its blocks share. */
#ifndef SIMT_LAUNCH_H
#define SIMT_LAUNCH_H

#include "block/grid.h"

#define MAX_ARRAYS 64

struct array_place { /* where an array lies in each block's shared memory */
    unsigned offset, bytes;
    const struct simt_shared_site *site; /* NULL: the dynamic one */
};

struct launch {
    struct simt_kernel *kernel;
    const struct simt_configuration *asked;
    const void *launched_at;            /* code address */
    void (*thread)(const void *params); /* what each CUDA thread runs */
    const void *params;
    size_t params_bytes;
    unsigned long number;
    unsigned threads;        /* per block */
    unsigned cluster[3];     /* extents, in blocks */
    unsigned cluster_blocks; /* how many these are */
    u64 blocks, clusters, next_cluster;
    uint32_t first_serial;   /* of its blocks */
    uint32_t least_serial;   /* blocks before that one are of launches that ended before this one began */
    struct overlap *overlap; /* overlap.c: what may go on beside it; NULL: nothing */
    u64 most_in_hand;        /* clusters that all workers together may have begun */
    cudaError_t cancelled;   /* the error that ended it early */
    bool many_workers;
    bool lets_next_begin; /* overlap.c: some thread has, without waiting for the kernel in front */
    bool has_clusters;    /* it speaks of them, if only of one block each */
    struct grid grid;     /* whose blocks may wait for each other, if the launch is cooperative */
    unsigned n_lent;      /* race.c: words that hold an older value for now */
    bool releases_maps;   /* map.c: some thread has released a tensor map that it changed */
    bool synchronises;    /* order.c: some thread has used a fence or a volatile access */
    unsigned n_fenced;    /* proxy.c: fences between the proxies, for global memory, of all blocks */
    /* shared.c */
    unsigned n_arrays, static_bytes, arena_bytes;
    struct array_place arrays[MAX_ARRAYS];
};

extern unsigned simt_block_dim[3], simt_grid_dim[3];

/* Ends the launch with that error, as if CUDA had refused it; called by a CUDA thread. */
void launch_cancel(struct launch *l, cudaError_t error) __attribute__((noreturn));

#endif
