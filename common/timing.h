// How long a launch takes on a GPU. (The emulator is never timed.)
#ifndef TIMING_H
#define TIMING_H

#include "device.h"
#include "launch.h"
#include "options.h"

struct timing {
    double median_ms, p10_ms, p90_ms;  // of one launch
    int iters, warmup;
    int batch;  // launches per sample: more than one where a single one is too short
    int copies;
    bool cold;
};

struct timing time_launches(const struct work *work, const struct device *device, const struct options *options);

// On the host's clock, from before a launch until the host knows that it is done.
struct timing time_round_trips(const struct work *work, const struct options *options);

#endif
