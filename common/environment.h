// What a figure was measured with: for the JSON line.
#ifndef ENVIRONMENT_H
#define ENVIRONMENT_H

#include "device.h"

struct environment {
    int driver, cuda;     // CUDA version that the driver serves, and the runtime's: 13000 is 13.0
    char gpu_driver[32];  // empty: unknown
    int temperature_c;    // now; negative: unknown
    int sm_clock_mhz;
    char commit[64];  // of this program's source; empty: unknown
    char date[16];    // 2026-01-31, UTC
};

struct environment environment_now(const struct device *device);

#endif
