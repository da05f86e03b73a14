#include "run.h"

#include "exit.h"
#include "json.h"
#include "report.h"
#include "timing.h"

#include <cuda_profiler_api.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- memory ----

static int variant_count(const struct options *options) { return options_variant_count(options->variants); }

// The most that a variant to be run asks for.
static size_t largest_workspace(const struct job *job, const struct options *options)
{
    size_t most = 0;
    for (int variant = 0; job->workspace_bytes && variant < variant_count(options); variant++) {
        size_t bytes = job->workspace_bytes(job->work.context, variant);
        if ((options->all_variants || variant == options->variant) && bytes > most)
            most = bytes;
    }
    return most;
}

// All tensors: the inputs, then the outputs. list: [MAX_TENSORS + MAX_OUTPUTS]; returns how many.
static int list_tensors(const struct job *job, struct tensor **list)
{
    int count = 0;
    for (int i = 0; i < MAX_TENSORS && job->inputs[i]; i++)
        list[count++] = job->inputs[i];
    for (int i = 0; i < MAX_OUTPUTS && job->outputs[i].tensor; i++)
        list[count++] = job->outputs[i].tensor;
    return count;
}

static int plan_copies(const struct job *job, const struct device *device, const struct options *options)
{
    struct tensor *list[MAX_TENSORS + MAX_OUTPUTS];
    size_t bytes[MAX_TENSORS + MAX_OUTPUTS + 1];
    int count = list_tensors(job, list);
    double host_bytes = 0;
    for (int i = 0; i < count; i++) {
        bytes[i] = list[i]->bytes;
        host_bytes += (double)list[i]->rows * list[i]->cols * sizeof(float);
    }
    bytes[count] = largest_workspace(job, options);
    return memory_plan(device, bytes, count + 1, options->time && !options->cold, host_bytes);
}

void job_allocate(struct job *job, const struct device *device, const struct options *options)
{
    struct tensor *list[MAX_TENSORS + MAX_OUTPUTS];
    int count = list_tensors(job, list), copies = job->work.copies = plan_copies(job, device, options);
    for (int i = 0; i < MAX_TENSORS && job->inputs[i]; i++)
        tensor_allocate_host(job->inputs[i]);
    for (int i = 0; i < MAX_OUTPUTS && job->outputs[i].updated; i++)
        tensor_allocate_host(job->outputs[i].tensor);
    for (int i = 0; i < count; i++)
        list[i]->device = buffer_allocate(device, list[i]->name, list[i]->bytes, copies);
    size_t workspace = largest_workspace(job, options);
    if (workspace)
        job->workspace = buffer_allocate(device, "the workspace", workspace, copies);
    job->prepared = aligned_alloc(PREPARED_ALIGN, (size_t)copies * PREPARED_BYTES);
    if (!job->prepared)
        stop(EXIT_USAGE, "not enough host memory: ask for a smaller shape");
}

void job_free(struct job *job)
{
    struct tensor *list[MAX_TENSORS + MAX_OUTPUTS];
    int count = list_tensors(job, list);
    for (int i = 0; i < count; i++)
        tensor_free(list[i]);
    for (int i = 0; i < MAX_OUTPUTS; i++)
        reference_free(&job->outputs[i].reference);
    buffer_free(&job->workspace);
    free(job->prepared);
}

void job_upload(struct job *job)
{
    for (int i = 0; i < MAX_TENSORS && job->inputs[i]; i++)
        tensor_upload(job->inputs[i]);
    for (int i = 0; i < MAX_OUTPUTS && job->outputs[i].updated; i++)
        tensor_upload(job->outputs[i].tensor);
}

void *job_workspace(const struct job *job, int copy)
{
    return job->workspace.memory ? buffer_copy(&job->workspace, copy) : NULL;
}

void *job_prepared(const struct job *job, int copy) { return (char *)job->prepared + (size_t)copy * PREPARED_BYTES; }

enum dtype job_out_dtype(const struct job *job)
{
    return job->outputs[0].tensor ? job->outputs[0].tensor->dtype : job->dtype;
}

double job_tensor_bytes(const struct job *job)
{
    struct tensor *list[MAX_TENSORS + MAX_OUTPUTS];
    int count = list_tensors(job, list);
    double bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += tensor_data_bytes(list[i]);
    return bytes;
}

double job_workspace_bytes(const struct job *job)
{
    return job->workspace_bytes ? (double)job->workspace_bytes(job->work.context, job->work.variant) : 0;
}

// ---- one variant ----

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

// So that what a launch does not write, or reads before it wrote it, shows. What it updates is as it was before.
static void poison(const struct job *job)
{
    for (int i = 0; i < MAX_OUTPUTS && job->outputs[i].tensor; i++)
        if (job->outputs[i].updated)
            tensor_upload(job->outputs[i].tensor);
        else
            tensor_poison(job->outputs[i].tensor);
    if (job->workspace.memory)
        buffer_poison(&job->workspace);
}

// Checks one output: as the file has it, or copy 0, and that nothing was written between its rows.
static struct check check_one(const struct output *output, FILE *file)
{
    const char *overrun = NULL;
    float *got = file ? tensor_read(output->tensor, file) : tensor_download(output->tensor, &overrun);
    struct check check = check_output(got, output->tensor->rows, &output->reference, output->tensor->dtype,
                                      output->terms);
    free(got);
    if (overrun)
        check_fail(&check, overrun);
    return check;
}

static void check_guards(struct check *check, const struct buffer *buffer)
{
    const char *overrun = buffer_overrun(buffer);
    if (overrun)
        check_fail(check, overrun);
}

// Checks all outputs, on the device or in a file. The numbers are those of the first output that is wrong, or of the first.
static struct check check_outputs(const struct job *job, FILE *file)
{
    struct check check = check_one(&job->outputs[0], file);
    for (int i = 1; check.right && i < MAX_OUTPUTS && job->outputs[i].tensor; i++) {
        struct check other = check_one(&job->outputs[i], file);
        if (!other.right) {
            check = other;
            snprintf(check.fault, sizeof check.fault, "%s: %.240s", job->outputs[i].tensor->name, other.fault);
        }
    }
    return check;
}

// Checks all outputs, and that nothing was written beside any buffer.
static struct check check_job(const struct job *job)
{
    struct check check = check_outputs(job, NULL);
    if (job->workspace.memory)
        check_guards(&check, &job->workspace);
    struct tensor *list[MAX_TENSORS + MAX_OUTPUTS];
    int count = list_tensors(job, list);
    for (int i = 0; i < count; i++)
        check_guards(&check, &list[i]->device);
    return check;
}

// Checks what a launch elsewhere left: the outputs, and that the file ends with them.
static struct check check_file(const struct job *job, FILE *file)
{
    struct check check = check_outputs(job, file);
    if (check.right && fgetc(file) != EOF)
        check_fail(&check, "the file goes on behind the last element of the output");
    return check;
}

static void write_outputs(const struct job *job, FILE *file)
{
    for (int i = 0; i < MAX_OUTPUTS && job->outputs[i].tensor; i++)
        tensor_write(job->outputs[i].tensor, file);
    if (fflush(file) != 0)
        stop(EXIT_USAGE, "the output cannot be written to its file: %s", strerror(errno));
}

static bool wrong(const struct result *result) { return result->checked && !result->check.right; }

// The first launch, into outputs that are poisoned, and its check; or the check of what the file has.
static void run_once(struct result *result)
{
    const struct job *job = result->job;
    const struct options *options = result->options;
    result->checked = options->check;
    if (options->check_output) {
        result->check = check_file(job, options->check_output);
        return;
    }
    launch_prepare(&job->work);
    poison(job);
    launch_counted(job, result->device, options);
    if (options->write_output)
        write_outputs(job, options->write_output);
    if (options->check)
        result->check = check_job(job);
}

static int run_variant(const struct job *job, const struct device *device, const struct options *options)
{
    struct result result = {.job = job, .device = device, .options = options};
    if (options->json)
        result.environment = environment_now(device);
    run_once(&result);
    // A wrong result has no time. A right one is checked again, after the timed launches or a second one: they have the
    // same input, and find the output and the workspace poisoned again. That shows a kernel that changes its input, or
    // that relies on what an earlier launch left.
    bool time = options->time && !device->emulated;
    if (!wrong(&result) && (time || options->check) && !options->check_output) {
        poison(job);
        if (time)
            result.timing = time_launches(&job->work, device, options);
        if (time && job->outputs[0].updated)
            poison(job);  // the timed launches updated it many times
        if (!time || job->outputs[0].updated)
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

// Whether the GPU has the shared memory that a block of the variant asks for. Says so where it has not.
static bool fits(const struct job *job, const struct variant *variant, const struct device *device)
{
    const int bytes = job->shared_bytes ? (int)job->shared_bytes(job->work.context, job->work.variant)
                                        : variant->shared_bytes;
    if (bytes <= device->shared_bytes)
        return true;
    fprintf(stderr, "%s: not run: a block needs %d bytes of shared memory; on %s it may have %d\n", variant->name,
            bytes, device->name, device->shared_bytes);
    return false;
}

int run_job(struct job *job, const struct device *device, const struct options *options)
{
    report_title(job, device);
    int status = EXIT_CANNOT_RUN;
    int first = options->all_variants ? 0 : options->variant;
    int last = options->all_variants ? variant_count(options) - 1 : options->variant;
    for (job->work.variant = first; job->work.variant <= last; job->work.variant++) {
        if (!fits(job, &options->variants[job->work.variant], device))
            continue;
        report_variant(job, device, options);
        if (run_variant(job, device, options) != EXIT_RIGHT)
            status = EXIT_WRONG;
        else if (status == EXIT_CANNOT_RUN)
            status = EXIT_RIGHT;
    }
    return status;
}
