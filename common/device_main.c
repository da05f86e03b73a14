#include "device_point.h"

#include "exit.h"

#include <stdio.h>
#include <string.h>

// ---- the command line ----

enum { WORDS, ROUNDS };

static const struct size sizes[] = {
    [WORDS] = {.name = "n",
               .doc = "words of 4 bytes that are copied and read (default 268435456 on a GPU, 100003 on the emulator)",
               .gpu = 1 << 28,
               .emulator = 100003,
               .most = 1LL << 36},
    [ROUNDS] = {.name = "rounds",
                .doc = "of a chain, a tile or a ring (default: as many as the measurement needs)",
                .most = 1 << 24},
    {0},
};

// ---- the machine ----

static void report_device(const struct device *device)
{
    printf("%s: %d SMs at %.2f GHz, %d threads on each; L2 %s\n", device->name, device->sms, 1e-9 * device->clock,
           device->threads_per_sm, size_words(device->l2_bytes));
    printf(
        "published: DRAM %.0f GB/s, fp32 %.1f TFLOPS, tensor cores %.0f TFLOPS, exp2 %.2f T/s, shared memory %.1f TB/s; the ridge is at %.1f "
        "operations a byte\n",
        1e-9 * device->dram_bytes, 1e-12 * device->fp32_flops, 1e-12 * device->tensor_flops,
        1e-12 * SFU_RESULTS * device->sms * device->clock, 1e-12 * SHARED_BYTES * device->sms * device->clock,
        device->fp32_flops / device->dram_bytes);
    fflush(stdout);
}

int device_main(int argc, char **argv, const struct device_step *step)
{
    struct size size[sizeof sizes / sizeof *sizes];
    memcpy(size, sizes, sizeof sizes);
    const struct options options = options_parse(
        argc, argv,
        &(struct command_line){
            .summary = "Measures what this machine can do: everything, unless --variant names one thing.",
            .variants = step->variants,
            .all_by_default = true,
            .sizes = size,
            .dtypes = (const enum dtype[]){step->dtype, 0},
        });
    struct session session = {.step = step, .device = device_open(step->arch), .options = &options};
    sizes_default(size, session.device.emulated);
    session.words = (size_t)size[WORDS].value;
    session.rounds = (int)size[ROUNDS].value;
    const size_t bytes[] = {session.words * sizeof(uint32_t), session.words * sizeof(uint32_t)};
    memory_plan(&session.device, bytes, 2, false, 2.0 * bytes[0]);
    report_device(&session.device);
    const bool all = options.all_variants;
    bool right = true;
    for (int i = all ? 0 : options.variant; i <= (all ? MEASUREMENTS - 1 : options.variant); i++)
        right &= measure(&session, i);
    if (session.copy_gbps > 0 && session.fma_tflops > 0)
        printf("measured: the ridge is at %.1f operations a byte\n", 1e3 * session.fma_tflops / session.copy_gbps);
    return right ? EXIT_RIGHT : EXIT_WRONG;
}
