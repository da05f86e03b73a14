#include "softmax.h"

#include "exit.h"
#include "random.h"
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIZE = 1 << 30 };
enum { GPU_ROWS = 8192, GPU_COLS = 8192, EMULATOR_ROWS = 64, EMULATOR_COLS = 1024 };  // unless the command line says
enum { STREAM_X, STREAM_ROW, STREAM_MASK };                                           // of random.h
static const float MEAN = 1, DEVIATION = 1;                                           // of the inputs

// ---- inputs ----

struct matrix {
    float *x;  // [rows, cols]
    int rows, cols;
    uint64_t seed;
};

static size_t elements(int rows, int cols) { return (size_t)rows * (size_t)cols; }

// Rows of very different scale: nearly uniform ones, and ones that a single element wins. All stay within ± 1024.
static void scale_row(const struct matrix *X, int row, float *x)
{
    float scale = ldexpf(1, (int)(random_bits(X->seed, STREAM_ROW, row) % 18) - 10);
    for (int col = 0; col < X->cols; col++)
        x[col] *= scale;
}

// The last row is beyond what exp can take in fp32, and beside it the others are nothing; all of the first is below what
// exp can tell from 0.
static void raise_and_sink(const struct matrix *X, int row, float *x)
{
    float level = row == X->rows - 1 ? 900 : row == 0 ? -900 : 0;
    for (int col = 0; level != 0 && col < X->cols; col++)
        x[col] = level + 16 * x[col];
}

static void level_row(const struct matrix *X, int row, float *x)
{
    (void)row;
    for (int col = 1; col < X->cols; col++)
        x[col] = x[0];
}

// −∞ in a part of each row: in its beginning, at its end, or here and there. At least one element stays.
static void mask_row(const struct matrix *X, int row, float *x)
{
    uint64_t bits = random_bits(X->seed, STREAM_ROW, row);
    int kind = (int)(bits % 3), kept = (int)((bits >> 2) % X->cols);
    for (int col = 0; col < X->cols; col++) {
        bool coin = random_bits(X->seed, STREAM_MASK, elements(row, X->cols) + col) & 1;
        if (kind == 0 ? col < kept : kind == 1 ? col > kept : coin && col != kept)
            x[col] = -INFINITY;
    }
}

static const struct input {
    const char *name;
    void (*row)(const struct matrix *X, int row, float *x);  // what is done to each row; NULL: nothing
} inputs[] = {
    {"normal", NULL}, {"scaled", scale_row}, {"huge", raise_and_sink}, {"equal", level_row}, {"masked", mask_row}, {0},
};

static float *random_input(int rows, int cols, uint64_t seed, const struct input *input)
{
    struct matrix X = {malloc(elements(rows, cols) * sizeof *X.x), rows, cols, seed};
    if (!X.x)
        stop(EXIT_USAGE, "not enough host memory for a matrix of %d × %d: ask for a smaller one", rows, cols);
    random_normal(X.x, elements(rows, cols), seed, STREAM_X, MEAN, DEVIATION);
    for (int row = 0; input->row && row < rows; row++)
        input->row(&X, row, X.x + elements(row, cols));
    return X.x;
}

// ---- the command line ----

struct softmax_options {
    struct options common;
    const struct softmax_step *step;
    int rows, cols;                        // 0: not given
    int threads_per_row, rows_per_thread;  // 0: not given
    const struct input *input;
};

enum { ROWS = 2000, COLS, INPUT, THREADS_PER_ROW, ROWS_PER_THREAD };  // beyond the keys of options.c

static const struct argp_option description[] = {
    {"rows", ROWS, "N", 0, "rows of X and Y", 1},
    {"cols", COLS, "N", 0, "columns (default: 8192 rows and columns on a GPU, 64 × 1024 on the emulator)", 1},
    {"input", INPUT, "KIND", 0,
     "normal; scaled: rows of very different scale; huge: one row near 900, one near −900; equal: "
     "all of a row the same; masked: −∞ in parts of each row (default normal)",
     2},
    {0},
};

static const struct argp_option coarsening_description[] = {
    {"threads-per-row", THREADS_PER_ROW, "N", 0, "threads that share a row (default: the step's own rule)", 3},
    {"rows-per-thread", ROWS_PER_THREAD, "N", 0, "rows that a thread works on at the same time", 3},
    {0},
};

static int one_of(const struct argp_state *state, const char *option, const char *text, const int *accepted)
{
    char known[128] = "";
    for (int i = 0; accepted[i]; i++) {
        snprintf(known + strlen(known), sizeof known - strlen(known), " %d", accepted[i]);
        char *end;
        if (strtol(text, &end, 10) == accepted[i] && !*end)
            return accepted[i];
    }
    argp_error(state, "%s %s: it is one of%s", option, text, known);
    return 0;
}

static const struct input *find_input(const struct argp_state *state, const char *name)
{
    char known[128] = "";
    for (const struct input *input = inputs; input->name; input++) {
        if (strcmp(input->name, name) == 0)
            return input;
        snprintf(known + strlen(known), sizeof known - strlen(known), " %s", input->name);
    }
    argp_error(state, "--input %s: it is one of%s", name, known);
    return NULL;
}

static error_t parse_coarsening(int key, char *text, struct argp_state *state)
{
    struct softmax_options *options = state->input;
    switch (key) {
    case THREADS_PER_ROW:
        options->threads_per_row = one_of(state, "--threads-per-row", text, options->step->threads_per_row);
        break;
    case ROWS_PER_THREAD:
        options->rows_per_thread = one_of(state, "--rows-per-thread", text, options->step->rows_per_thread);
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct softmax_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->common;
        if (options->step->threads_per_row)
            state->child_inputs[1] = options;
        break;
    case ROWS: options->rows = (int)options_number(state, "--rows", text, 1, MAX_SIZE); break;
    case COLS: options->cols = (int)options_number(state, "--cols", text, 1, MAX_SIZE); break;
    case INPUT: options->input = find_input(state, text); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static struct softmax_options parse_command_line(int argc, char **argv, const struct softmax_step *step)
{
    const struct argp coarsening = {.options = coarsening_description, .parser = parse_coarsening};
    const struct argp_child children[] = {
        {&options_argp, 0, "Every step:", 10}, {step->threads_per_row ? &coarsening : NULL, 0, NULL, 3}, {0}};
    char doc[2048];
    options_doc(doc, sizeof doc,
                "Each row of Y is the softmax of that row of X, checked against a reference and timed.",
                step->variants);
    const struct argp argp = {.options = description, .parser = parse, .children = children, .doc = doc};
    struct softmax_options options = {.common = options_default(step->variants), .step = step, .input = inputs};
    argp_err_exit_status = EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    return options;
}

// ---- the tensors ----

struct softmax {
    const struct softmax_step *step;
    int rows, cols, threads_per_row, rows_per_thread;
    float *host_X;
    struct buffer X, Y;
};

static struct softmax allocate(const struct device *device, const struct softmax_options *options)
{
    bool emulated = device->emulated;
    struct softmax softmax = {
        .step = options->step,
        .rows = options->rows ? options->rows
                : emulated    ? EMULATOR_ROWS
                              : GPU_ROWS,
        .cols = options->cols ? options->cols
                : emulated    ? EMULATOR_COLS
                              : GPU_COLS,
        .threads_per_row = options->threads_per_row,
        .rows_per_thread = options->rows_per_thread,
    };
    size_t bytes = elements(softmax.rows, softmax.cols) * sizeof(float);
    bool rotate = options->common.time && !options->common.cold;
    int copies = memory_plan(device, (size_t[]){bytes, bytes}, 2, rotate, 2.0 * (double)bytes);
    softmax.host_X = random_input(softmax.rows, softmax.cols, options->common.seed, options->input);
    softmax.X = buffer_allocate(device, "X", bytes, copies);
    softmax.Y = buffer_allocate(device, "Y", bytes, copies);
    buffer_upload(&softmax.X, softmax.host_X);
    return softmax;
}

static void release(struct softmax *softmax)
{
    free(softmax->host_X);
    buffer_free(&softmax->X);
    buffer_free(&softmax->Y);
}

// ---- the job ----

static int queue(const void *context, int variant, int copy, cudaStream_t stream)
{
    const struct softmax *softmax = context;
    const struct softmax_args args = {
        .X = buffer_copy(&softmax->X, copy),
        .Y = buffer_copy(&softmax->Y, copy),
        .rows = softmax->rows,
        .cols = softmax->cols,
        .variant = variant,
        .threads_per_row = softmax->threads_per_row,
        .rows_per_thread = softmax->rows_per_thread,
    };
    return softmax->step->launch(&args, stream);
}

// Appends a size to the shape as JSON has it, and as the command line.
static void add_size(struct job *job, const char *key, const char *option, int size)
{
    size_t json = strlen(job->shape_json), flags = strlen(job->shape_flags);
    snprintf(job->shape_json + (json ? json - 1 : 0), sizeof job->shape_json - json, "%s\"%s\":%d}", json ? "," : "{",
             key, size);
    snprintf(job->shape_flags + flags, sizeof job->shape_flags - flags, "%s%s %d", flags ? " " : "", option, size);
}

static struct job describe(const struct softmax *softmax, const struct options *options)
{
    int rows = softmax->rows, cols = softmax->cols;
    const double operations = 5;  // for each element: compare, subtract, exp, add, divide
    struct job job = {
        .step = softmax->step->name,
        .operation = "softmax",
        .dtype = softmax->step->dtype,
        .flops = operations * rows * cols,
        .bytes = (double)softmax->X.bytes + (double)softmax->Y.bytes,
        .buffers = {&softmax->X, &softmax->Y},
        .buffer_count = 2,
        .rows = rows,
        .cols = cols,
        .bound = bound_fp32(cols),
        .work = {.queue = queue, .context = softmax, .copies = softmax->Y.copies},
    };
    snprintf(job.title, sizeof job.title, "Y[%d,%d] = softmax of each row of X", rows, cols);
    add_size(&job, "rows", "--rows", rows);
    add_size(&job, "cols", "--cols", cols);
    if (softmax->threads_per_row)
        add_size(&job, "threads_per_row", "--threads-per-row", softmax->threads_per_row);
    if (softmax->rows_per_thread)
        add_size(&job, "rows_per_thread", "--rows-per-thread", softmax->rows_per_thread);
    if (options->check)
        job.reference = softmax_reference(softmax->host_X, rows, cols, options->seed);
    return job;
}

int softmax_main(int argc, char **argv, const struct softmax_step *step)
{
    struct softmax_options options = parse_command_line(argc, argv, step);
    struct device device = device_open(step->arch);
    struct softmax softmax = allocate(&device, &options);
    struct job job = describe(&softmax, &options.common);
    int status = run_job(&job, &device, &options.common);
    reference_free(&job.reference);
    release(&softmax);
    return status;
}
