// A point of one of machine's measurements: a launch, the work in it that is counted, and what it must leave behind.
#ifndef DEVICE_POINT_H
#define DEVICE_POINT_H

#include "device_main.h"
#include "environment.h"
#include "run.h"

enum { LINE = 128, STARTS = 64 };  // bytes from one place of a ring to the next; launches before the chase begins anew

struct point {
    const struct device_step *step;
    struct device_args args;  // but for `out`, and in a ring `in`
    const char *peer;         // cudaMemcpyAsync in place of the kernel; NULL: the kernel
    bool waited;              // timed on the host, until the launch is done
    char shape[96], label[64];
    double flops, bytes;
    enum dtype dtype;  // of what is multiplied; 0: the step's
    struct figure figure;

    size_t outputs;        // words of 32 bits
    const uint32_t *want;  // word i is want[i % period]; of a total: the sum of all
    size_t period;
    bool total;
    double bound;  // above 0: the words are floats, with a relative error of at most that

    const struct buffer *in, *out;
    const uint32_t *ring;  // the places of the ring in the order of the chase; NULL: none
    size_t places;
};

// What all points of a run have in common.
struct session {
    const struct device_step *step;
    struct device device;
    const struct options *options;
    size_t words;  // COPY, LITTLES_LAW
    int rounds;    // all others; 0: as each finds right
    struct environment environment;
    double copy_gbps, fma_tflops;  // measured; 0: not
    int points, wrong;             // of the measurement at hand
    double error, bound;           // the worst of its points
};

// Launches the point's kernel, checks what it left, times it on a GPU and reports. Returns the figure measured; 0 where
// nothing was.
double run_point(struct session *session, struct point *point);

// Runs all points of a measurement. Returns whether they are right.
bool measure(struct session *session, enum measurement measurement);

// 1 MiB
const char *size_words(size_t bytes);

// What an SM does in a clock, by the CUDA C++ Programming Guide; alike from compute capability 7.5 to 9.0.
enum { SFU_RESULTS = 16, SHARED_BYTES = 128 };

#endif
