/* What one request of a warp costs: wavefronts and bank conflicts in shared memory, sectors and bytes in global memory.
 * The rules are an H200's, launch by launch in tests/truth. */
#ifndef SIMT_COST_H
#define SIMT_COST_H

#include "base/base.h"
#include "count/counters.h"

struct lane_accesses { /* of one instruction of a warp */
    uint32_t lanes;
    unsigned bytes; /* per lane */
    bool past_l1;   /* a copy by cp.async.cg */
    u64 address[WARP];
    u64 source[WARP]; /* of copies: what goes to that address; 0: zeros */
};

/* Each adds the request to these counts. load: not ldmatrix, whose phases are matrices. */
void cost_in_shared(const struct lane_accesses *a, bool load, struct access_counts *counts);
void cost_in_global(const struct lane_accesses *a, struct access_counts *counts);
/* Of atomic operations in another block's shared memory. */
void cost_of_remote_atomics(const struct lane_accesses *a, struct access_counts *counts);
void cost_of_copy(const struct lane_accesses *a, struct access_counts *reads, struct access_counts *writes);
/* Of bulk copies, whose costs are counted for one receiver. A multicast moves whole pairs of sectors. */
struct bulk_cost {
    bool in_pairs;
    u64 last; /* of its sectors, or of its pairs: it need not be counted again; ~0: none */
    struct access_counts *counts;
};
/* Neighbouring bytes of global memory, and where they lie in shared memory. */
void cost_of_bytes(struct bulk_cost *c, const void *global, const void *shared, unsigned bytes);
/* Bytes of a tensor's box that lie beyond the tensor's edge, and behind how many of the box they begin. */
void cost_of_fill(struct bulk_cost *c, u64 at, u64 bytes, unsigned row_bytes);

#endif
