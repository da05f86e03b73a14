#include "device_point.h"

#include "exit.h"
#include "json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int queue(const void *context, int variant, int copy, cudaStream_t stream)
{
    const struct point *point = context;
    struct device_args args = point->args;
    (void)variant;
    args.in = point->in ? point->in->first : NULL;
    args.out = point->out->first;
    if (point->peer)
        return cudaMemcpyAsync(args.out, args.in, args.n * sizeof(uint32_t), cudaMemcpyDeviceToDevice, stream);
    // Each launch goes on where the one before it ended: what it meets has long left L2, if the ring is larger.
    if (point->ring)
        args.in = point->in->first + (size_t)LINE * point->ring[(size_t)copy * args.rounds % point->places];
    return point->step->launch(&args, stream);
}

static double error_of_total(const struct point *point, const uint32_t *got)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < point->outputs; i++)
        sum += got[i];
    return sum == *point->want ? 0 : 1;
}

// The share of the words that differ.
static double error_of_words(const struct point *point, const uint32_t *got)
{
    size_t differ = 0;
    for (size_t i = 0, place = 0; i < point->outputs; i++, place = place + 1 < point->period ? place + 1 : 0)
        differ += got[i] != point->want[place];
    return (double)differ / point->outputs;
}

// The largest relative error of the floats; NaN stays NaN.
static double error_of_floats(const struct point *point, const uint32_t *got)
{
    double worst = 0;
    for (size_t i = 0; i < point->outputs && !isnan(worst); i++) {
        float value, want;
        memcpy(&value, &got[i], sizeof value);
        memcpy(&want, &point->want[i % point->period], sizeof want);
        double error = fabs((double)value - want) / want;
        if (!(error <= worst))
            worst = error;
    }
    return worst;
}

// The end of a chase around a ring is an address, which differs from process to process: in a file it is counted from the
// beginning of the ring.
static void move_address(const struct point *point, uint32_t *got, bool into_file)
{
    if (!point->ring)
        return;
    uintptr_t address, first = (uintptr_t)point->in->first;
    memcpy(&address, got, sizeof address);
    address = into_file ? address - first : address + first;
    memcpy(got, &address, sizeof address);
}

// The words that the point's launch left; or, what a file has in their place, where words that it is too short for are all 1s.
static uint32_t *fetch(const struct point *point, FILE *file)
{
    uint32_t *got = malloc(point->out->bytes);
    if (!got)
        stop(EXIT_USAGE, "not enough host memory for the output: ask for less by -n");
    memset(got, BUFFER_POISON, point->out->bytes);
    if (!file) {
        buffer_download(point->out, got);
        return got;
    }
    fread(got, 1, point->out->bytes, file);
    move_address(point, got, false);
    return got;
}

static void write_point(const struct point *point, FILE *file)
{
    uint32_t *got = fetch(point, NULL);
    move_address(point, got, true);
    if (fwrite(got, 1, point->out->bytes, file) != point->out->bytes || fflush(file) != 0)
        stop(EXIT_USAGE, "the output cannot be written to its file: %s", strerror(errno));
    free(got);
}

// Where a chase around the ring has ended, and where it should have. Places are counted as the chase comes by, from 0.
static void say_end(const struct point *point, const uint32_t *got, char *fault, size_t size)
{
    const int rounds = point->args.rounds;
    uintptr_t address;
    memcpy(&address, got, sizeof address);
    const size_t offset = address - (uintptr_t)point->in->first;
    size_t place = 0;
    while (place < point->places && (size_t)LINE * point->ring[place] != offset)
        place++;
    char where[48];
    snprintf(where, sizeof where, place < point->places ? "at place %zu of the ring" : "at no place of the ring",
             place);
    snprintf(fault, size, "the chase ended %s, and %d round%s from place 0 end at place %zu", where, rounds,
             rounds == 1 ? "" : "s", (size_t)rounds % point->places);
}

// The first word or float that differs.
static void say_difference(const struct point *point, const uint32_t *got, char *fault, size_t size)
{
    struct point one = *point;
    for (size_t i = 0; i < point->outputs; i++) {
        one.outputs = one.period = 1;
        one.want = &point->want[i % point->period];
        const bool floats = point->bound > 0;
        if ((floats ? error_of_floats(&one, &got[i]) : error_of_words(&one, &got[i])) <= point->bound)
            continue;
        float value, want;
        memcpy(&value, &got[i], sizeof value);
        memcpy(&want, one.want, sizeof want);
        if (floats)
            snprintf(fault, size, "the output differs: element %zu is %g, should be %g", i, value, want);
        else
            snprintf(fault, size, "the output differs: word %zu is 0x%08x, should be 0x%08x", i, got[i], *one.want);
        return;
    }
}

static void say_wrong(const struct point *point, const uint32_t *got, char *fault, size_t size)
{
    if (point->total)
        snprintf(fault, size, "the sum of the output is not that of the input");
    else if (point->ring)
        say_end(point, got, fault, size);
    else
        say_difference(point, got, fault, size);
}

static struct check check_point(const struct point *point, FILE *file)
{
    uint32_t *got = fetch(point, file);
    struct check check = {.right = true, .bound = {point->bound, point->bound}, .rows = point->outputs};
    check.error = point->total       ? error_of_total(point, got)
                  : point->bound > 0 ? error_of_floats(point, got)
                                     : error_of_words(point, got);
    check.worst_row = check.error;
    if (!(check.error <= point->bound)) {
        char fault[sizeof check.fault];
        say_wrong(point, got, fault, sizeof fault);
        check_fail(&check, fault);
    }
    const char *overrun = buffer_overrun(point->out);
    if (overrun)
        check_fail(&check, overrun);
    free(got);
    return check;
}

static void report_point(const struct point *point, const struct result *result)
{
    const struct figure *figure = &point->figure;
    if (result->checked && !result->check.right)
        printf("WRONG: %s: %s\n  error %.1e, to be ≤ %.1e\n", point->label, result->check.fault, result->check.error,
               result->check.bound.all);
    if (result->timed) {
        const struct timing *timing = &result->timing;
        double value = figure_value(figure, timing->median_ms);
        printf("  %-26s %9.4g %-6s", point->label, value, figure->unit);
        if (figure->published > 0)
            printf(" %3.0f %% of published", 100 * value / figure->published);
        printf(" (%.4g ms, p10 %.4g, p90 %.4g)\n", timing->median_ms, timing->p10_ms, timing->p90_ms);
    }
    fflush(stdout);
}

static struct timing time_point(const struct session *session, const struct point *point, const struct work *work)
{
    return point->waited ? time_round_trips(work, session->options)
                         : time_launches(work, &session->device, session->options);
}

// As run_variant in run.c, for a single point.
double run_point(struct session *session, struct point *point)
{
    const struct options *options = session->options;
    struct buffer out = buffer_allocate(&session->device, "the output", point->outputs * sizeof(uint32_t), 1);
    point->step = session->step;
    point->out = &out;
    struct job job = {
        .step = session->step->name,
        .operation = "device",
        .dtype = point->dtype ? point->dtype : session->step->dtype,
        .peer = point->peer,
        .flops = point->flops,
        .bytes = point->bytes,
        .figure = point->figure,
        .work = {.queue = queue, .context = point, .variant = point->args.variant, .copies = point->ring ? STARTS : 1},
    };
    snprintf(job.shape_json, sizeof job.shape_json, "%s", point->shape);
    struct result result = {.job = &job,
                            .device = &session->device,
                            .options = options,
                            .environment = session->environment,
                            .checked = options->check};
    if (!options->check_output)
        launch_once(&job.work);
    if (options->write_output)
        write_point(point, options->write_output);
    if (options->check)
        result.check = check_point(point, options->check_output);
    bool right = !options->check || result.check.right, emulated = session->device.emulated;
    // A wrong result has no time. A right one is checked again after the timed launches, or after a second one. What the
    // emulator counts by --profile is a single launch.
    if (right && options->time && !emulated) {
        result.timing = time_point(session, point, &job.work);
        result.timed = true;
    }
    if (right && options->check && !options->check_output && !(emulated && options->profile)) {
        buffer_poison(&out);
        launch_once(&job.work);
        result.check = check_point(point, NULL);
        right = result.check.right;
        check_says_launch(&result.check, emulated ? "the second" : "a later");
        result.timed &= right;
    }
    report_point(point, &result);
    if (options->json)
        json_append(options->json, &result);
    buffer_free(&out);
    session->points++;
    session->wrong += !right;
    session->error = fmax(session->error, result.check.error);
    session->bound = fmax(session->bound, point->bound);
    return result.timed ? figure_value(&point->figure, result.timing.median_ms) : 0;
}
