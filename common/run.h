// What every operation does once its command line is read: allocate → upload → prepare → launch → check → time → report,
// for each variant asked for.
#ifndef RUN_H
#define RUN_H

#include "check.h"
#include "device.h"
#include "launch.h"
#include "options.h"
#include "tensor.h"

enum { MAX_TENSORS = 6, MAX_OUTPUTS = 2 };

// A figure of its own, where neither TFLOPS nor GB/s of DRAM says it: work done a second, or seconds for each unit of work.
struct figure {
    const char *unit;  // of the figure; NULL: there is none
    double work;       // in a launch, in such units that figure_value() comes out in `unit`
    bool inverse;      // seconds over work, not work over seconds
    double published;  // what the vendor's figures promise; 0: nothing
};
double figure_value(const struct figure *figure, double ms);

// What a launch has to write, and what it should be.
struct output {
    struct tensor *tensor;
    int terms;     // products that each element is a sum of
    bool updated;  // the launch also reads it: as an input it has values on the host
    struct reference reference;
};

// One operation on one shape.
struct job {
    const char *step, *operation;
    enum dtype dtype;       // of the inputs
    char title[128];        // C[64,32] = A[64,16] B[16,32]
    char shape_json[256];   // {"m":64,"n":32,"k":16}
    char shape_flags[256];  // -m 64 -n 32 -k 16

    double flops;  // floating-point operations
    double bytes;  // that DRAM has to move at the least
    struct figure figure;
    const char *peer;  // whose launch it is, if not the step's own

    struct tensor *inputs[MAX_TENSORS];  // the list ends with NULL
    struct output outputs[MAX_OUTPUTS];  // the first is the one that reports speak of; ends with {}
    struct buffer workspace;             // device memory that is neither input nor output; empty where there is none
    void *prepared;                      // PREPARED_BYTES for each copy of the tensors

    // Bytes of device memory that the variant takes beside the tensors; NULL: none.
    size_t (*workspace_bytes)(const void *context, int variant);
    size_t (*shared_bytes)(const void *context, int variant);  // of a block, where it depends on the shape; or NULL
    // Into how many parts that of which an output is a sum is divided, to be merged, and how many blocks find them; NULL: not said.
    int (*parts)(const void *context, int variant);
    int (*blocks)(const void *context, int variant);
    bool tells_memory;  // whether reports say what memory the operation takes

    struct work work;  // its variant is set for each run, its number of copies by job_allocate()
};

// Memory for the inputs on the host, still to be filled, and for everything on the device.
void job_allocate(struct job *job, const struct device *device, const struct options *options);
void job_free(struct job *job);

// Rounds the inputs, and the outputs that are updated, now filled, to their types, and copies them to the device.
void job_upload(struct job *job);

// What step->prepare() and step->launch() find in their arguments, for one copy of the tensors.
void *job_workspace(const struct job *job, int copy);
void *job_prepared(const struct job *job, int copy);

// The type of the first output.
enum dtype job_out_dtype(const struct job *job);

// Bytes of a launch's inputs and outputs: those of their elements.
double job_tensor_bytes(const struct job *job);

// Bytes of device memory that the variant at hand takes beside them.
double job_workspace_bytes(const struct job *job);

// Returns the exit status: EXIT_WRONG if one of the variants is wrong, EXIT_CANNOT_RUN if the device can run none of them.
int run_job(struct job *job, const struct device *device, const struct options *options);

#endif
