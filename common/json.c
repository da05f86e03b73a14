#include "json.h"

#include "exit.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static void text(FILE *file, const char *value)
{
    if (!*value) {
        fputs("null", file);
        return;
    }
    fputc('"', file);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            fputc('\\', file);
        fputc(*value, file);
    }
    fputc('"', file);
}

// JSON has no NaN.
static void number(FILE *file, const char *key, double value)
{
    if (isfinite(value))
        fprintf(file, "\"%s\":%.9g", key, value);
    else
        fprintf(file, "\"%s\":null", key);
}

static void numbers(FILE *file, int count, const char *const *keys, const double *values)
{
    for (int i = 0; i < count; i++) {
        fputc(',', file);
        number(file, keys[i], values[i]);
    }
}

static void check(FILE *file, const struct result *result)
{
    if (!result->checked) {
        fputs(",\"check\":null", file);
        return;
    }
    const struct check *check = &result->check;
    fprintf(file, ",\"check\":{\"right\":%s", check->right ? "true" : "false");
    numbers(
        file, 6, (const char *[]){"error", "bound", "worst_row", "worst_row_bound", "max_abs", "rows"},
        (double[]){check->error, check->bound.all, check->worst_row, check->bound.row, check->max_abs, check->rows});
    fputc('}', file);
}

static void timing(FILE *file, const struct result *result)
{
    const struct timing *timing = &result->timing;
    double ms = result->timed ? timing->median_ms : NAN;
    double floor_ms = floor_of(result->job, result->device).ms;
    if (result->timed)
        fprintf(file,
                ",\"time\":{\"median_ms\":%.9g,\"p10_ms\":%.9g,\"p90_ms\":%.9g,\"iters\":%d,\"warmup\":%d,"
                "\"batch\":%d,\"cold\":%s,\"copies\":%d}",
                timing->median_ms, timing->p10_ms, timing->p90_ms, timing->iters, timing->warmup, timing->batch,
                timing->cold ? "true" : "false", timing->copies);
    else
        fputs(",\"time\":null", file);
    numbers(file, 6, (const char *[]){"flops", "bytes", "tflops", "gbps", "floor_ms", "of_floor"},
            (double[]){result->job->flops, result->job->bytes, 1e-9 * result->job->flops / ms,
                       1e-6 * result->job->bytes / ms, floor_ms, floor_ms / ms});
}

// Device bytes of a launch at their peak: nothing is allocated on the way.
static void memory(FILE *file, const struct job *job)
{
    double workspace = job_workspace_bytes(job);
    if (job->tells_memory)
        fprintf(file, ",\"device_bytes\":%.0f,\"workspace_bytes\":%.0f", job_tensor_bytes(job) + workspace, workspace);
}

static void parts(FILE *file, const struct job *job)
{
    if (job->parts)
        fprintf(file, ",\"parts\":%d", job->parts(job->work.context, job->work.variant));
    if (job->blocks)
        fprintf(file, ",\"blocks\":%d", job->blocks(job->work.context, job->work.variant));
}

static void figure(FILE *file, const struct result *result)
{
    const struct figure *figure = &result->job->figure;
    if (!figure->unit)
        return;
    fprintf(file, ",\"figure\":{\"unit\":\"%s\"", figure->unit);
    numbers(file, 2, (const char *[]){"value", "published"},
            (double[]){result->timed ? figure_value(figure, result->timing.median_ms) : NAN,
                       figure->published > 0 ? figure->published : NAN});
    fputc('}', file);
}

static void environment(FILE *file, const struct environment *env)
{
    fprintf(file, ",\"env\":{\"driver\":\"%d.%d\",\"cuda\":\"%d.%d\",\"gpu_driver\":", env->driver / 1000,
            env->driver % 1000 / 10, env->cuda / 1000, env->cuda % 1000 / 10);
    text(file, env->gpu_driver);
    numbers(
        file, 2, (const char *[]){"temperature_c", "sm_clock_mhz"},
        (double[]){env->temperature_c < 0 ? NAN : env->temperature_c, env->sm_clock_mhz < 0 ? NAN : env->sm_clock_mhz});
    fputs(",\"commit\":", file);
    text(file, env->commit);
    fprintf(file, ",\"date\":\"%s\"}", env->date);
}

void json_append(FILE *file, const struct result *result)
{
    const struct job *job = result->job;
    const struct device *device = result->device;
    fprintf(file, "{\"step\":\"%s\",\"variant\":\"%s\",\"operation\":\"%s\",\"dtype\":\"%s\",", job->step,
            result->options->variants[job->work.variant].name, job->operation, dtype_name(job->dtype));
    if (job_out_dtype(job) != job->dtype)
        fprintf(file, "\"out_dtype\":\"%s\",", dtype_name(job_out_dtype(job)));
    fprintf(file, "\"shape\":%s,\"backend\":\"%s\",\"device\":", job->shape_json,
            device->emulated ? "emulator" : "cuda");
    text(file, device->name);
    fprintf(file, ",\"compute_capability\":\"%d.%d\",\"seed\":%llu", device->major, device->minor,
            (unsigned long long)result->options->seed);
    check(file, result);
    timing(file, result);
    memory(file, job);
    parts(file, job);
    figure(file, result);
    environment(file, &result->environment);
    if (job->peer)
        fprintf(file, ",\"peer\":\"%s\"", job->peer);
    fputs("}\n", file);
    if (fflush(file) != 0)
        stop(EXIT_USAGE, "--json: cannot write: %s", strerror(errno));
}
