/* What a lane touches in a collective, when all lanes have come: as if that lane ran. What other lanes stored before,
 * without a __syncwarp(), races with it; what they store afterwards does not. */
#ifndef SIMT_MATRIX_TOUCH_H
#define SIMT_MATRIX_TOUCH_H

#include "warp/collective.h"

#define ROW_BYTES 16 /* what ldmatrix and stmatrix move for one address: 8 elements of 16 bits */

struct lane_touch {
    unsigned lane;
    void *address;
    unsigned bytes;
    const void *pc;
};

/* Is that lane allowed to touch it? Before it does. */
void touch_check(const struct exchange *x, const struct lane_touch *t, enum access_kind kind);
void touch_load(const struct exchange *x, const struct lane_touch *t, enum access_kind kind, void *value);
void touch_store(const struct exchange *x, const struct lane_touch *t, enum access_kind kind, const void *value);

#endif
