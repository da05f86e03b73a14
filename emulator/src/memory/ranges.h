/* Ranges of addresses: handed out fresh first, and when none is left the oldest freed ones first, so that a stale
 * pointer stays recognisable for as long as possible. The caller holds a lock. */
#ifndef SIMT_RANGES_H
#define SIMT_RANGES_H

#include "base/base.h"

#define RANGES_NONE (~(size_t)0)

struct ranges {
    size_t next, limit; /* the fresh part */
    struct hole *holes; /* [0] means none */
    uint32_t n_holes, room;
    uint32_t first, last; /* oldest and youngest hole */
    uint32_t spare;       /* elements of `holes` that are not in use */
    bool given;           /* since the last joining of neighbours */
};

size_t ranges_take(struct ranges *r, size_t bytes); /* its start, or RANGES_NONE */
void ranges_give(struct ranges *r, size_t start, size_t bytes);

#endif
