// What every operation does once its tensors are ready: launch → check → time → report, for each variant asked for.
#ifndef RUN_H
#define RUN_H

#include "check.h"
#include "device.h"
#include "launch.h"
#include "memory.h"
#include "options.h"

enum { MAX_BUFFERS = 4 };

// One operation on one shape.
struct job {
    const char *step, *operation;
    enum dtype dtype;
    char title[128];        // C[64,32] = A[64,16] B[16,32]
    char shape_json[128];   // {"m":64,"n":32,"k":16}
    char shape_flags[128];  // -m 64 -n 32 -k 16

    double flops;           // floating-point operations
    double bytes;           // that DRAM has to move at the least

    const struct buffer *buffers[MAX_BUFFERS];  // the output last
    int buffer_count;
    size_t rows, cols;                          // of the output
    struct reference reference;
    struct bound bound;

    struct work work;  // its variant is set for each run
};

// Returns the exit status: the worst of the variants'.
int run_job(struct job *job, const struct device *device, const struct options *options);

#endif
