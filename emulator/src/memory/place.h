/* Where an address lies: in which space, in which object, how far from its start. It is found once for an access; then
 * bounds, initialisation, order and counters look at it. */
#ifndef SIMT_PLACE_H
#define SIMT_PLACE_H

#include "base/base.h"

enum space {
    SPACE_NOWHERE,    /* the host's, or nobody's */
    SPACE_SHARED,     /* of the block in hand, or of another of its cluster */
    SPACE_GLOBAL,     /* allocations and variables */
    SPACE_LOCAL,      /* the thread's own stack */
    SPACE_PARAMETERS, /* of the launch */
    SPACE_CONSTANT    /* __constant__ variables, and read-only parts of the program */
};

/* Something that has bounds: an allocation, a variable, an array in shared memory. */
struct object {
    unsigned char *base;
    size_t bytes;
    bool freed;
    bool unified;                   /* managed or pinned: the host may touch it too */
    bool managed;                   /* of these, managed: not while kernels may use it */
    bool attached;                  /* of these, attached to the host (cudaMemAttachHost): at any time */
    unsigned char touched;          /* managed: by kernels that may still run; bits: */
#define TOUCHED_BY_SYSTEM_ATOMICS 1 /* which the host's own may meet */
#define TOUCHED_OTHERWISE 2
    unsigned host_flags;                 /* of pinned memory, what cudaHostAlloc was given */
    bool heap;                           /* made by new or malloc in a kernel */
    bool of_stream;                      /* made by cudaMallocAsync */
    const void *made_at, *freed_at;      /* code addresses; NULL for variables and shared arrays */
    const struct simt_symbol *symbol;    /* a __device__, __constant__ or __managed__ variable; else NULL */
    const struct simt_shared_site *site; /* a __shared__ array; else NULL */
    unsigned char *written; /* a bit for each byte that somebody has written; NULL: all are, or nobody asks */
    struct cells *cells;    /* who touched which word: race.h; NULL: not watched */
};

struct place {
    enum space space;
    const struct object *object; /* NULL where the space has none there: between objects, or local, or nowhere */
    size_t offset;               /* from the object's base */
};

struct block;

/* Of a load, store or atomic of `bytes` bytes by the running thread of that block. */
struct place place_of(struct block *b, const void *address, unsigned bytes);

#endif
