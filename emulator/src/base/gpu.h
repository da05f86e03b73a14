/* The GPU that the emulator describes. */
#ifndef SIMT_GPU_H
#define SIMT_GPU_H

#include "base/base.h"

struct gpu {
    const char *name, *title, *source;
    int major, minor, sms, fp32_lanes_per_sm;
    double clock_ghz;
    double tensor_fp16_tflops; /* dense, with sums in fp32 */
    int memory_clock_khz, bus_width_bits;
    size_t memory, l2, shared_per_sm, shared_optin;
    int threads_per_sm, blocks_per_sm;
};
const struct gpu *gpu_described(void);
double gpu_dram_gbps(void); /* two bits a clock on each line of the bus */
int gpu_sms(void);          /* SMs that it is taken to have: SIMT_SMS, else as many as it has */

#endif
