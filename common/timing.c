#define _POSIX_C_SOURCE 200809L  // clock_gettime
#include "timing.h"

#include "exit.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum {
    ITERS = 20,
    LEAST_ITERS = 5,
    QUEUED = 128,  // launches behind one gate: a queue holds about a thousand commands, then the host would wait
    MAX_BATCH = 100,
    GATE_SECONDS = 5,
};
static const double LONG_MS = 100, LONG_BUDGET_MS = 2000;  // a launch above LONG_MS is repeated only as long as that
static const double SHORT_MS = 0.05, BATCH_MS = 0.2;       // one below SHORT_MS is timed in batches of that length

// ---- the gate ----

// A stream that waits for the host. The launches to be timed are queued behind a closed gate, so that when it opens
// they follow one another with no host time in between.
struct gate {
    atomic_bool open, expired;
};

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void CUDART_CB wait_at_gate(void *data)
{
    struct gate *gate = data;
    double deadline = seconds_now() + GATE_SECONDS;
    while (!gate->open && !gate->expired) {
        sched_yield();
        if (seconds_now() > deadline)
            gate->expired = true;
    }
}

// ---- samples ----

struct timer {
    const struct work *work;
    cudaStream_t stream;
    int batch;
    int launches;  // so far: they rotate over the copies
    void *flush;   // more than L2 holds; NULL unless --cold
    size_t flush_bytes;
};

static void queue_next(struct timer *timer)
{
    launch_queue(timer->work, timer->launches++ % timer->work->copies, timer->stream);
}

static void queue_sample(struct timer *timer, cudaEvent_t begin, cudaEvent_t end)
{
    if (timer->flush)
        CUDA(cudaMemsetAsync(timer->flush, 0, timer->flush_bytes, timer->stream));
    CUDA(cudaEventRecord(begin, timer->stream));
    for (int i = 0; i < timer->batch; i++)
        queue_next(timer);
    CUDA(cudaEventRecord(end, timer->stream));
}

// Takes `count` samples behind one gate. ms: milliseconds per launch in each.
static void take_samples(struct timer *timer, int count, double *ms)
{
    cudaEvent_t begin[QUEUED], end[QUEUED];
    for (int i = 0; i < count; i++) {
        CUDA(cudaEventCreate(&begin[i]));
        CUDA(cudaEventCreate(&end[i]));
    }

    struct gate gate = {false, false};
    CUDA(cudaLaunchHostFunc(timer->stream, wait_at_gate, &gate));
    for (int i = 0; i < count; i++)
        queue_sample(timer, begin[i], end[i]);
    gate.open = true;
    launch_wait(timer->stream);
    if (gate.expired)
        stop(EXIT_WRONG, "the launch waits for the GPU, so it cannot be timed without the host's own time");

    for (int i = 0; i < count; i++) {
        float elapsed;
        CUDA(cudaEventElapsedTime(&elapsed, begin[i], end[i]));
        ms[i] = elapsed / timer->batch;
        CUDA(cudaEventDestroy(begin[i]));
        CUDA(cudaEventDestroy(end[i]));
    }
}

static int choose_iters(double ms)
{
    return ms <= LONG_MS ? ITERS : (int)fmax(LEAST_ITERS, fmin(ITERS, LONG_BUDGET_MS / ms));
}

static int choose_batch(double ms, bool cold)
{
    return ms >= SHORT_MS || cold ? 1 : (int)fmin(MAX_BATCH, ceil(BATCH_MS / ms));
}

// ---- statistics ----

static int ascending(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

// Of sorted values, interpolated between the two nearest.
static double quantile(const double *sorted, int count, double fraction)
{
    double position = fraction * (count - 1);
    int below = (int)position, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (position - below) * (sorted[above] - sorted[below]);
}

static void summarise(struct timing *timing, double *ms)
{
    qsort(ms, (size_t)timing->iters, sizeof *ms, ascending);
    timing->median_ms = quantile(ms, timing->iters, 0.5);
    timing->p10_ms = quantile(ms, timing->iters, 0.1);
    timing->p90_ms = quantile(ms, timing->iters, 0.9);
}

static double *allocate_samples(int count)
{
    double *ms = calloc((size_t)count, sizeof *ms);
    if (!ms)
        stop(EXIT_USAGE, "not enough memory for %d samples", count);
    return ms;
}

struct timing time_launches(const struct work *work, const struct device *device, const struct options *options)
{
    struct timer timer = {.work = work, .batch = 1};
    CUDA(cudaStreamCreate(&timer.stream));
    if (options->cold) {
        timer.flush_bytes = 2 * device->l2_bytes;
        CUDA(cudaMalloc(&timer.flush, timer.flush_bytes));
    }

    for (int i = 0; i < options->warmup; i++)
        queue_next(&timer);
    double estimate;
    take_samples(&timer, 1, &estimate);

    struct timing timing = {.warmup = options->warmup, .cold = options->cold, .copies = work->copies};
    timing.iters = options->iters ? options->iters : choose_iters(estimate);
    timing.batch = timer.batch = choose_batch(estimate, options->cold);

    double *ms = allocate_samples(timing.iters);
    int round = QUEUED / timing.batch;
    for (int done = 0; done < timing.iters; done += round)
        take_samples(&timer, timing.iters - done < round ? timing.iters - done : round, ms + done);
    summarise(&timing, ms);

    free(ms);
    CUDA(cudaFree(timer.flush));
    CUDA(cudaStreamDestroy(timer.stream));
    return timing;
}

struct timing time_round_trips(const struct work *work, const struct options *options)
{
    struct timing timing = {.warmup = options->warmup,
                            .iters = options->iters ? options->iters : ITERS,
                            .batch = 1,
                            .copies = work->copies};
    double *ms = allocate_samples(timing.iters);
    for (int i = -options->warmup; i < timing.iters; i++) {
        double begin = seconds_now();
        launch_once(work);
        if (i >= 0)
            ms[i] = 1e3 * (seconds_now() - begin);
    }
    summarise(&timing, ms);
    free(ms);
    return timing;
}
