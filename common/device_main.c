#include "device_point.h"

#include "exit.h"

static const size_t GPU_WORDS = 1 << 28, EMULATOR_WORDS = 100003, MAX_WORDS = (size_t)1 << 36;

// ---- the command line ----

struct device_options {
    struct options common;
    size_t words;  // 0: not given
    int rounds;    // the same
};

enum { ROUNDS = 2000, MAX_ROUNDS = 1 << 24 };  // ROUNDS is a key beyond those of options.c

static const struct argp_option description[] = {
    {0, 'n', "N", 0, "words of 4 bytes that are copied and read (default 268435456 on a GPU, 100003 on the emulator)",
     1},
    {"rounds", ROUNDS, "N", 0, "of a chain, a tile or a ring (default: as many as the measurement needs)", 1},
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct device_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &options->common; break;
    case 'n': options->words = (size_t)options_number(state, "-n", text, 1, MAX_WORDS); break;
    case ROUNDS: options->rounds = (int)options_number(state, "--rounds", text, 1, MAX_ROUNDS); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static struct device_options parse_command_line(int argc, char **argv, const struct device_step *step)
{
    const struct argp_child children[] = {{&options_argp, 0, "Every step:", 10}, {0}};
    char doc[1024];
    options_doc(doc, sizeof doc, "Measures what this machine can do: everything, unless --variant names one thing.",
                step->variants);
    const struct argp argp = {.options = description, .parser = parse, .children = children, .doc = doc};
    struct device_options options = {.common = options_default(step->variants)};
    const int unsaid = options.common.variant = MEASUREMENTS;
    argp_err_exit_status = EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    options.common.all_variants |= options.common.variant == unsaid;
    return options;
}

// ---- the machine ----

static void report_device(const struct device *device)
{
    printf("%s: %d SMs at %.2f GHz, %d threads on each; L2 %s\n", device->name, device->sms, 1e-9 * device->clock,
           device->threads_per_sm, size_words(device->l2_bytes));
    printf("published: DRAM %.0f GB/s, fp32 %.1f TFLOPS, exp2 %.2f T/s, shared memory %.1f TB/s; the ridge is at %.1f "
           "operations a byte\n",
           1e-9 * device->dram_bytes, 1e-12 * device->fp32_flops, 1e-12 * SFU_RESULTS * device->sms * device->clock,
           1e-12 * SHARED_BYTES * device->sms * device->clock, device->fp32_flops / device->dram_bytes);
    fflush(stdout);
}

int device_main(int argc, char **argv, const struct device_step *step)
{
    const struct device_options options = parse_command_line(argc, argv, step);
    struct session session = {
        .step = step, .device = device_open(step->arch), .options = &options.common, .rounds = options.rounds};
    session.words = options.words ? options.words : session.device.emulated ? EMULATOR_WORDS : GPU_WORDS;
    const size_t bytes[] = {session.words * sizeof(uint32_t), session.words * sizeof(uint32_t)};
    memory_plan(&session.device, bytes, 2, false, 2.0 * bytes[0]);
    report_device(&session.device);
    const bool all = options.common.all_variants;
    bool right = true;
    for (int i = all ? 0 : options.common.variant; i <= (all ? MEASUREMENTS - 1 : options.common.variant); i++)
        right &= measure(&session, i);
    if (session.copy_gbps > 0 && session.fma_tflops > 0)
        printf("measured: the ridge is at %.1f operations a byte\n", 1e3 * session.fma_tflops / session.copy_gbps);
    return right ? EXIT_RIGHT : EXIT_WRONG;
}
