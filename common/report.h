// What a run says to a person.
#ifndef REPORT_H
#define REPORT_H

#include "environment.h"
#include "run.h"
#include "timing.h"

// One variant's outcome.
struct result {
    const struct job *job;
    const struct device *device;
    const struct options *options;
    struct environment environment;
    bool checked, timed;
    struct check check;
    struct timing timing;
};

// The least time that the device could need: for its arithmetic or for its memory, whichever is longer.
struct floor {
    double ms;
    const char *unit;
};
struct floor floor_of(const struct job *job, const struct device *device);

void report_title(const struct job *job, const struct device *device);
void report_variant(const struct job *job, const struct device *device, const struct options *options);
void report_result(const struct result *result);

#endif
