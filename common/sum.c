#include "sum.h"

#include "random.h"
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STREAM_X };                           // of random.h
static const float MEAN = 1, DEVIATION = 1;  // of normal inputs

// ---- the inputs ----

// From −8 to 8 and never 0. A sum of them is exact in fp32 whatever its order, as long as no part of it exceeds 2^24, so
// that an element left out, or counted twice, always shows.
static void fill_whole(float *x, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = random_bits(seed, STREAM_X, i);
        const float magnitude = 1 + (float)(bits % 8);
        x[i] = bits & 8 ? -magnitude : magnitude;
    }
}

static void fill_normal(float *x, size_t n, uint64_t seed) { random_normal(x, n, seed, STREAM_X, MEAN, DEVIATION); }

enum { WHOLE, NORMAL };

static const struct input_kind inputs[] = {
    [WHOLE] = {"whole", "whole numbers, whose sum has no rounding"},
    [NORMAL] = {"normal", "normal numbers around 1"},
    {0},
};

// ---- the job ----

enum { N };

static const struct size sizes[] = {
    [N] = {.name = "n",
           .doc = "elements of x (default 268435456 on a GPU, 100003 on the emulator)",
           .gpu = 1 << 28,
           .emulator = 100003},
    {0},
};

struct sum {
    const struct sum_step *step;
    struct tensor x, total;
    struct job job;
};

static int queue(const void *context, int variant, int copy, cudaStream_t stream)
{
    const struct sum *sum = context;
    const struct sum_args args = {
        .x = buffer_copy(&sum->x.device, copy),
        .total = buffer_copy(&sum->total.device, copy),
        .n = (int)sum->x.cols,
        .dtype = sum->x.dtype,
        .variant = variant,
    };
    return sum->step->launch(&args, stream);
}

static void describe(struct sum *sum, const struct size *size, const struct options *options)
{
    const size_t n = (size_t)size[N].value;
    sum->x = tensor_describe("x", options->dtype, 1, n, (struct row_layout){0});
    sum->total = tensor_describe("the total", options->dtype, 1, 1, (struct row_layout){0});
    struct job *job = &sum->job;
    *job = (struct job){
        .step = sum->step->name,
        .operation = "sum",
        .dtype = options->dtype,
        .flops = (double)n,
        .inputs = {&sum->x},
        .outputs = {{.tensor = &sum->total, .terms = options->input == WHOLE ? 1 : (int)n}},
        .work = {.queue = queue, .context = sum},
    };
    job->bytes = job_tensor_bytes(job);
    snprintf(job->title, sizeof job->title, "the sum of x[%zu]", n);
    sizes_to_json(size, job->shape_json, sizeof job->shape_json);
    sizes_to_flags(size, job->shape_flags, sizeof job->shape_flags);
}

// The sum in double. An error in it is measured against what its elements come to without their signs where they are
// rounded, and else against the sum itself.
static struct reference sum_reference(const float *x, size_t n, int input, uint64_t seed)
{
    struct reference reference = reference_sample(1, 1, 1, seed);
    double sum = 0, magnitudes = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
        magnitudes += fabs(x[i]);
    }
    reference.value[0] = sum;
    reference.scale[0] = input == WHOLE ? fmax(fabs(sum), 1) : magnitudes;
    return reference;
}

int sum_main(int argc, char **argv, const struct sum_step *step)
{
    struct size size[sizeof sizes / sizeof *sizes];
    memcpy(size, sizes, sizeof sizes);
    const struct options options = options_parse(
        argc, argv,
        &(struct command_line){
            .summary = "The sum of many numbers, checked against a reference and timed.",
            .variants = step->variants,
            .sizes = size,
            .inputs = inputs,
            .dtypes = step->dtypes,
        });
    const struct device device = device_open(step->arch);
    sizes_default(size, device.emulated);

    struct sum sum = {.step = step};
    describe(&sum, size, &options);
    job_allocate(&sum.job, &device, &options);
    (options.input == WHOLE ? fill_whole : fill_normal)(sum.x.host, sum.x.cols, options.seed);
    job_upload(&sum.job);
    if (options.check)
        sum.job.outputs[0].reference = sum_reference(sum.x.host, sum.x.cols, options.input, options.seed);
    const int status = run_job(&sum.job, &device, &options);
    job_free(&sum.job);
    return status;
}
