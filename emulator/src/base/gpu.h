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
    int clustered_per_sm;  /* blocks of clusters */
    const uint8_t *groups; /* SMs of each group that clusters fit into, and 0; NULL: it has no clusters */
};
const struct gpu *gpu_described(void);
double gpu_dram_gbps(void); /* two bits a clock on each line of the bus */
/* Clusters of so many blocks that it holds at once, an SM so many of their blocks: a cluster lies in one group of SMs, and
 * its blocks could lie in as many of them. */
u64 gpu_clusters(u64 blocks, unsigned per_sm);
int gpu_sms(void); /* SMs that it is taken to have: SIMT_SMS, else as many as it has */

#endif
