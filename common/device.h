// The GPU, or the emulator in its place: whether it can run a step, and the roofs that its results are held against.
#ifndef DEVICE_H
#define DEVICE_H

#include <stdbool.h>
#include <stddef.h>

struct device {
    char name[256];
    char bus_id[24];     // as nvidia-smi --id takes it
    int major, minor;    // compute capability
    bool emulated;       // time means nothing here
    bool checks_bounds;  // the emulator stops a program at the line that leaves an allocation
    int sms, threads_per_sm;
    double clock;  // of an SM, in Hz: the boost clock
    size_t l2_bytes;
    int shared_bytes;     // of shared memory that a block may ask for
    double fp32_flops;    // per second
    double tensor_flops;  // the same of the tensor cores: 16-bit inputs, sums in fp32; 0: unknown
    double dram_bytes;    // per second, from its memory clock and bus width
};

// Makes the first device that can run code for `arch` the current one. Where there is none: says why, status 77.
struct device device_open(const char *arch);

#endif
