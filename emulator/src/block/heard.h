/* What a thread of the block has learnt of others, for the words of reports. */
#ifndef SIMT_BLOCK_HEARD_H
#define SIMT_BLOCK_HEARD_H

#include "base/clock.h"

struct step { /* a fence or a strong access; pc NULL: there is none */
    const void *pc;
    enum simt_scope scope;
    uint32_t stamp;
};

/* How what one thread has done becomes known to another: a fence, a strong write, a strong access that reads from it, a fence. */
struct way {
    struct step released, written, read, acquired;
};

/* What a thread of the block has learnt, for the words of reports: what the other had done, whether or not it is
 * ordered. */
#define MOST_HEARD 4
struct heard {
    struct clock done;
    struct way way;
    unsigned thread; /* that has read it */
};

#endif
