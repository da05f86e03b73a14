/* The GPU that the emulator describes: its limits, and the published rates from which floors are computed.
 * SIMT_GPU picks one of the table; the first is the default. */
#include "base/gpu.h"
#include <stdlib.h>
#include <string.h>

#define GB ((size_t)1 << 30)
#define KB ((size_t)1 << 10)

/* As cudaOccupancyMaxActiveClusters() answered on one; another H200 may have other groups. */
static const uint8_t h200_groups[] = {18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2, 0};

static const struct gpu gpus[] = {
    {"h200", "NVIDIA H200", "NVIDIA H200 datasheet; CUDA C++ Programming Guide, compute capability 9.0", 9, 0, 132, 128,
     1.98, 989.4, 3201000, 6016, 141 * GB, 60 << 20, 228 * KB, 227 * KB, 2048, 32, 8, h200_groups},
    {"a100", "NVIDIA A100", "NVIDIA A100 40GB datasheet; compute capability 8.0", 8, 0, 108, 64, 1.41, 312, 1215000,
     5120, 40 * GB, 40 << 20, 164 * KB, 163 * KB, 2048, 32, 0, NULL},
    {"rtx4090", "NVIDIA GeForce RTX 4090", "NVIDIA Ada architecture whitepaper; compute capability 8.9", 8, 9, 128, 128,
     2.52, 165.2, 10501000, 384, 24 * GB, 72 << 20, 100 * KB, 99 * KB, 1536, 24, 0, NULL},
    {"t4", "Tesla T4", "NVIDIA T4 datasheet; compute capability 7.5", 7, 5, 40, 64, 1.59, 65, 5001000, 256, 16 * GB,
     4 << 20, 64 * KB, 64 * KB, 1024, 16, 0, NULL},
};

const struct gpu *gpu_described(void)
{
    static const struct gpu *chosen;
    const char *wish = getenv("SIMT_GPU");
    if (chosen)
        return chosen;
    chosen = &gpus[0];
    if (!wish)
        return chosen;
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++)
        if (!strcmp(wish, gpus[i].name))
            return chosen = &gpus[i];
    fprintf(stderr, "simt: SIMT_GPU=%s is not known; accepted are", wish);
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++)
        fprintf(stderr, " %s", gpus[i].name);
    fprintf(stderr, "\n");
    exit(2);
}

double gpu_dram_gbps(void)
{
    const struct gpu *g = gpu_described();
    return 2e-6 * g->memory_clock_khz * (g->bus_width_bits / 8);
}

int gpu_sms(void)
{
    const char *wish = getenv("SIMT_SMS");
    return wish && atoi(wish) > 0 ? atoi(wish) : gpu_described()->sms;
}

/* More SMs than it has lie in groups like its own. */
u64 gpu_clusters(u64 blocks, unsigned per_sm)
{
    const uint8_t *groups = gpu_described()->groups, *group = groups;
    u64 clusters = 0;
    for (unsigned left = groups ? (unsigned)gpu_sms() : 0, sms; left; left -= sms) {
        sms = *group < left ? *group : left;
        if (sms >= blocks)
            clusters += (u64)sms * per_sm / blocks;
        group = group[1] ? group + 1 : groups;
    }
    return clusters;
}
