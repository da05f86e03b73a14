#include "run.h"

#include "exit.h"
#include "json.h"
#include "report.h"
#include "timing.h"

#include <cuda_profiler_api.h>
#include <stdio.h>
#include <stdlib.h>

// The first launch. On the emulator, --profile counts exactly this one, and prints what it counted.
static void launch_counted(const struct job *job, const struct device *device, const struct options *options)
{
    bool count = options->profile && device->emulated;
    if (count)
        CUDA(cudaProfilerStart());
    launch_once(&job->work);
    if (count)
        CUDA(cudaProfilerStop());
}

// So that what a launch does not write, or reads before it wrote it, shows.
static void poison(const struct job *job)
{
    buffer_poison(job->buffers[job->buffer_count - 1]);
    if (job->workspace)
        buffer_poison(job->workspace);
}

// Checks copy 0 of the output, and that nothing was written beside any buffer.
static struct check check_job(const struct job *job)
{
    const struct buffer *output = job->buffers[job->buffer_count - 1];
    float *got = malloc(output->bytes);
    if (!got)
        stop(EXIT_USAGE, "not enough host memory for the output: ask for a smaller shape");
    buffer_download(output, got);
    struct check check = check_output(got, job->rows, &job->reference, job->bound);
    free(got);
    for (int i = 0; i < job->buffer_count; i++) {
        const char *overrun = buffer_overrun(job->buffers[i]);
        if (overrun)
            check_fail(&check, overrun);
    }
    return check;
}

static bool wrong(const struct result *result) { return result->checked && !result->check.right; }

static int run_variant(const struct job *job, const struct device *device, const struct options *options)
{
    struct result result = {.job = job, .device = device, .options = options};
    if (options->json)
        result.environment = environment_now(device);
    poison(job);
    launch_counted(job, device, options);
    if (options->check) {
        result.checked = true;
        result.check = check_job(job);
    }
    // A wrong result has no time. A right one is checked again, after the timed launches or a second one: they have the
    // same input, and find the output and the workspace poisoned again. That shows a kernel that changes its input, or
    // that relies on what an earlier launch left.
    bool time = options->time && !device->emulated;
    if (!wrong(&result) && (time || options->check)) {
        poison(job);
        if (time)
            result.timing = time_launches(&job->work, device, options);
        else
            launch_once(&job->work);
        if (options->check) {
            result.check = check_job(job);
            check_says_launch(&result.check, device->emulated ? "the second" : "a later");
        }
        result.timed = time && !wrong(&result);
    }
    report_result(&result);
    if (options->json)
        json_append(options->json, &result);
    return wrong(&result) ? EXIT_WRONG : EXIT_RIGHT;
}

int run_job(struct job *job, const struct device *device, const struct options *options)
{
    report_title(job, device);
    int status = EXIT_RIGHT;
    int first = options->all_variants ? 0 : options->variant;
    int last = options->all_variants ? options_variant_count(options->variants) - 1 : options->variant;
    for (job->work.variant = first; job->work.variant <= last; job->work.variant++) {
        report_variant(job, device, options);
        if (run_variant(job, device, options) != EXIT_RIGHT)
            status = EXIT_WRONG;
    }
    return status;
}
