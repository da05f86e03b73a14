#define _GNU_SOURCE  // madvise
#include "device_main.h"

#include "tensors.h"

// program copy BLOCKS, a block being 1024 words; program littles_law BLOCKS BYTES LOADS, a block being 1024 threads
int device_main(int argc, char **argv, const struct device_step *step)
{
    enum { THREADS = 1024 };
    const bool copies = argc == 3;
    const int blocks = number(argv, 1), bytes = copies ? 4 : number(argv, 2), loads = copies ? 1 : number(argv, 3);
    const size_t threads = (size_t)blocks * THREADS, words = threads * (bytes / 4) * loads;
    uint32_t *in = reserve(sizeof *in * words), *out = reserve(sizeof *out * threads);
    const size_t each = (size_t)bytes / 4;
    for (size_t load = 1; load <= (size_t)loads; load++)
        in[load * threads * each - 1] = (uint32_t)load;
    const struct device_args args = {.in = in,
                                     .out = out,
                                     .n = words,
                                     .variant = variant_of(argv, step->variants),
                                     .blocks = blocks,
                                     .threads = THREADS,
                                     .bytes = bytes,
                                     .loads = loads};
    const cudaError_t error = (cudaError_t)step->launch(&args, NULL);
    return status_of(error, near("the output", 0, threads - 1, out[threads - 1], loads * (loads + 1) / 2));
}
