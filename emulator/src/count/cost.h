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
void cost_of_copy(const struct lane_accesses *a, struct access_counts *reads, struct access_counts *writes);
/* Of bulk copies: neighbouring bytes of global memory, and where they lie in shared memory. counted: a sector that need not be
 * counted again. Returns the last that was. */
u64 cost_of_bytes(const void *global, const void *shared, unsigned bytes, u64 counted, struct access_counts *counts);
/* Of a tensor's box: bytes that lie beyond the tensor's edge, and behind how many of the box they begin. */
void cost_of_fill(u64 at, u64 bytes, unsigned row_bytes, struct access_counts *counts);

#endif
