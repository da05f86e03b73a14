#include "softmax.h"

#include "random.h"
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STREAM_X, STREAM_ROW, STREAM_MASK };  // of random.h
static const float MEAN = 1, DEVIATION = 1;  // of the inputs

// ---- the inputs ----

// Rows of very different scale: nearly uniform ones, and ones that a single element wins. All stay within ± 1024.
static void scale_row(const struct tensor *X, size_t row, float *x, uint64_t seed)
{
    float scale = ldexpf(1, (int)(random_bits(seed, STREAM_ROW, row) % 18) - 10);
    for (size_t col = 0; col < X->cols; col++)
        x[col] *= scale;
}

// The last row is beyond what exp can take in fp32, and beside it the others are nothing; all of the first is below what
// exp can tell from 0.
static void raise_and_sink(const struct tensor *X, size_t row, float *x, uint64_t seed)
{
    (void)seed;
    float level = row == X->rows - 1 ? 900 : row == 0 ? -900 : 0;
    for (size_t col = 0; level != 0 && col < X->cols; col++)
        x[col] = level + 16 * x[col];
}

static void level_row(const struct tensor *X, size_t row, float *x, uint64_t seed)
{
    (void)row, (void)seed;
    for (size_t col = 1; col < X->cols; col++)
        x[col] = x[0];
}

// −∞ in a part of each row: in its beginning, at its end, or here and there. At least one element stays.
static void mask_row(const struct tensor *X, size_t row, float *x, uint64_t seed)
{
    uint64_t bits = random_bits(seed, STREAM_ROW, row);
    size_t kind = bits % 3, kept = (bits >> 2) % X->cols;
    for (size_t col = 0; col < X->cols; col++) {
        bool coin = random_bits(seed, STREAM_MASK, row * X->cols + col) & 1;
        if (kind == 0 ? col < kept : kind == 1 ? col > kept : coin && col != kept)
            x[col] = -INFINITY;
    }
}

enum { NORMAL, SCALED, HUGE_ROW, EQUAL, MASKED };

static const struct input_kind inputs[] = {
    [NORMAL] = {"normal", ""},
    [SCALED] = {"scaled", "rows of very different scale"},
    [HUGE_ROW] = {"huge", "one row near 900, one near −900"},
    [EQUAL] = {"equal", "all of a row the same"},
    [MASKED] = {"masked", "−∞ in parts of each row"},
    {0},
};

// What is done to each row.
static void (*const change_row[])(const struct tensor *X, size_t row, float *x, uint64_t seed) = {
    [NORMAL] = NULL, [SCALED] = scale_row, [HUGE_ROW] = raise_and_sink, [EQUAL] = level_row, [MASKED] = mask_row,
};

static void fill(struct tensor *X, const struct options *options)
{
    random_normal(X->host, X->rows * X->cols, options->seed, STREAM_X, MEAN, DEVIATION);
    for (size_t row = 0; change_row[options->input] && row < X->rows; row++)
        change_row[options->input](X, row, X->host + row * X->cols, options->seed);
}

// ---- the job ----

enum { ROWS, COLS, THREADS_PER_ROW, ROWS_PER_THREAD, ROW_PADDING };

static const struct size sizes[] = {
    [ROWS] = {.name = "rows", .doc = "rows of X and Y", .gpu = 8192, .emulator = 64},
    [COLS] = {.name = "cols",
              .doc = "columns (default: 8192 rows and columns on a GPU, 64 × 1024 on the emulator)",
              .gpu = 8192,
              .emulator = 1024},
    [THREADS_PER_ROW] = {.name = "threads-per-row",
                         .doc = "threads that share a row (default: the step's own rule)",
                         .unsaid = true},
    [ROWS_PER_THREAD] = {.name = "rows-per-thread",
                         .doc = "rows that a thread works on, one after another",
                         .unsaid = true},
    [ROW_PADDING] = ROW_PADDING_SIZE,
    {0},
};

struct softmax {
    const struct softmax_step *step;
    struct softmax_args shape;  // the arguments but for memory and variant
    struct tensor X, Y;
    struct job job;
};

static int queue(const void *context, int variant, int copy, cudaStream_t stream)
{
    const struct softmax *softmax = context;
    struct softmax_args args = softmax->shape;
    args.X = buffer_copy(&softmax->X.device, copy);
    args.Y = buffer_copy(&softmax->Y.device, copy);
    args.variant = variant;
    return softmax->step->launch(&args, stream);
}

static void describe(struct softmax *softmax, const struct size *size, const struct options *options)
{
    const int rows = (int)size[ROWS].value, cols = (int)size[COLS].value;
    const double operations = 5;  // for each element: compare, subtract, exp, add, divide
    const struct row_layout layout = {softmax->step->row_bytes, (int)size[ROW_PADDING].value};
    softmax->X = tensor_describe("X", options->dtype, rows, cols, layout);
    softmax->Y = tensor_describe("Y", options->dtype, rows, cols, layout);
    softmax->shape = (struct softmax_args){
        .rows = rows,
        .cols = cols,
        .X_pitch = (int)softmax->X.pitch,
        .Y_pitch = (int)softmax->Y.pitch,
        .dtype = options->dtype,
        .threads_per_row = (int)size[THREADS_PER_ROW].value,
        .rows_per_thread = (int)size[ROWS_PER_THREAD].value,
    };
    struct job *job = &softmax->job;
    *job = (struct job){
        .step = softmax->step->name,
        .operation = "softmax",
        .dtype = options->dtype,
        .flops = operations * rows * cols,
        .inputs = {&softmax->X},
        .outputs = {{.tensor = &softmax->Y, .terms = cols}},
        .work = {.queue = queue, .context = softmax},
    };
    job->bytes = job_tensor_bytes(job);
    snprintf(job->title, sizeof job->title, "Y[%d,%d] = softmax of each row of X", rows, cols);
    sizes_to_json(size, job->shape_json, sizeof job->shape_json);
    sizes_to_flags(size, job->shape_flags, sizeof job->shape_flags);
}

int softmax_main(int argc, char **argv, const struct softmax_step *step)
{
    struct size size[sizeof sizes / sizeof *sizes];
    memcpy(size, sizes, sizeof sizes);
    size[THREADS_PER_ROW].accepted = step->threads_per_row;
    size[ROWS_PER_THREAD].accepted = step->rows_per_thread;
    size[THREADS_PER_ROW].hidden = size[ROWS_PER_THREAD].hidden = !step->threads_per_row;
    size[ROW_PADDING].hidden = !step->row_bytes;
    const struct options options = options_parse(
        argc, argv,
        &(struct command_line){
            .summary = "Each row of Y is the softmax of that row of X, checked against a reference and "
                       "timed.",
            .variants = step->variants,
            .sizes = size,
            .inputs = inputs,
            .dtypes = step->dtypes,
        });
    const struct device device = device_open(step->arch);
    sizes_default(size, device.emulated);

    struct softmax softmax = {.step = step};
    describe(&softmax, size, &options);
    job_allocate(&softmax.job, &device, &options);
    fill(&softmax.X, &options);
    job_upload(&softmax.job);
    if (options.check)
        softmax.job.outputs[0].reference = softmax_reference(softmax.X.host, softmax.X.rows, softmax.X.cols,
                                                             options.seed);
    const int status = run_job(&softmax.job, &device, &options);
    job_free(&softmax.job);
    return status;
}
