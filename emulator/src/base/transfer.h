/* A transfer: what it reads and writes, and what completes it. It goes through every room that has to say something about it. */
#ifndef SIMT_BASE_TRANSFER_H
#define SIMT_BASE_TRANSFER_H

#include "base/base.h"

enum completion {
    BY_GROUP,      /* cp.async, by async_copy(): its thread's groups, in the order of their commits */
    BY_BULK_GROUP, /* bulk copies out of shared memory: likewise, and reading ends before writing does */
    BY_MBARRIER,   /* bytes on an mbarrier */
    BY_WARP_GROUP  /* wgmma, which only reads here: groups of each warp */
};

struct piece {                 /* contiguous bytes */
    unsigned char *to;         /* NULL: they are read and go nowhere (prefetch) */
    const unsigned char *from; /* NULL: nothing is read, and the transfer's fill is written */
    unsigned bytes;
};

struct transfer {
    const char *call; /* as a report names it: "cp.async.bulk.tensor.2d" */
    const void *pc;
    enum completion completed_by;
    void *mbarrier; /* BY_MBARRIER: its generic address; its phase in hand counts all bytes of the pieces */
    bool
        multicast; /* to the same place of each block of the cluster whose rank is a bit in `blocks`, counted there likewise */
    unsigned blocks;
    const void *value; /* NULL; else what is written instead of what would be read */
    bool generic;      /* by the generic proxy, as cp.async; else by the async proxy */
    bool reduces;      /* writes op(what is there, what was read), by elements of that type */
    enum simt_atomic_op op;
    enum simt_type type;
    bool rounds;        /* what is read are floats, which are written rounded to tf32 */
    u64 fill;           /* a pattern of 8 bytes */
    unsigned row_bytes; /* of a row of a tensor's box */
    unsigned n_pieces;
    struct piece *pieces; /* copied by transfer_begin() */
};

#endif
