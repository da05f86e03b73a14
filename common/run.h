// What every operation does once its tensors are ready, for each variant asked for: launch → check → time, or on the
// emulator launch again → check again → report.
#ifndef RUN_H
#define RUN_H

#include "check.h"
#include "device.h"
#include "launch.h"
#include "memory.h"
#include "options.h"

enum { MAX_BUFFERS = 5 };

// A figure of its own, where neither TFLOPS nor GB/s of DRAM says it: work done a second, or seconds for each unit of work.
struct figure {
    const char *unit;  // of the figure; NULL: there is none
    double work;       // in a launch, in such units that figure_value() comes out in `unit`
    bool inverse;      // seconds over work, not work over seconds
    double published;  // what the vendor's figures promise; 0: nothing
};
double figure_value(const struct figure *figure, double ms);

// One operation on one shape.
struct job {
    const char *step, *operation;
    enum dtype dtype;
    char title[128];        // C[64,32] = A[64,16] B[16,32]
    char shape_json[128];   // {"m":64,"n":32,"k":16}
    char shape_flags[128];  // -m 64 -n 32 -k 16

    double flops;  // floating-point operations
    double bytes;  // that DRAM has to move at the least
    struct figure figure;
    const char *peer;  // whose launch it is, if not the step's own

    const struct buffer *buffers[MAX_BUFFERS];  // the output last
    int buffer_count;
    const struct buffer *workspace;        // the one of them that is neither input nor output; NULL: none
    double tensor_bytes;                   // device memory of a launch: inputs and output. 0: not worth saying
    double workspace_bytes[MAX_VARIANTS];  // and what each variant takes beside them
    size_t rows, cols;                     // of the output
    struct reference reference;
    struct bound bound;

    struct work work;  // its variant is set for each run
};

// Returns the exit status: the worst of the variants'.
int run_job(struct job *job, const struct device *device, const struct options *options);

#endif
