#include "scale.h"

#include "exit.h"
#include "layout.h"
#include "parallel.h"
#include "random.h"
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STREAM_X };                           // of random.h
static const float MEAN = 1, DEVIATION = 1;  // of the inputs
static const float FACTOR = 2;

// ---- the job ----

enum { ROWS, COLS, ROW_PADDING, LAYOUT };

static const struct size sizes[] = {
    [ROWS] = {.name = "rows", .doc = "rows of X and Y", .gpu = 16384, .emulator = 64},
    [COLS] = {.name = "cols",
              .doc = "columns (default: 16384 rows and columns on a GPU, 64 × 1024 on the emulator)",
              .gpu = 16384,
              .emulator = 1024},
    [ROW_PADDING] = ROW_PADDING_SIZE,
    [LAYOUT] = LAYOUT_SIZE,
    {0},
};

struct scale {
    const struct scale_step *step;
    struct scale_args shape;  // the arguments but for memory and variant
    struct tensor X, Y;
    struct job job;
};

static struct scale_args args_of(const struct scale *scale, int variant, int copy)
{
    struct scale_args args = scale->shape;
    args.X = buffer_copy(&scale->X.device, copy);
    args.Y = buffer_copy(&scale->Y.device, copy);
    args.prepared = job_prepared(&scale->job, copy);
    args.variant = variant;
    return args;
}

static int queue(const void *context, int variant, int copy, cudaStream_t stream)
{
    const struct scale *scale = context;
    const struct scale_args args = args_of(scale, variant, copy);
    return scale->step->launch(&args, stream);
}

static int prepare_copy(const void *context, int variant, int copy)
{
    const struct scale *scale = context;
    const struct scale_args args = args_of(scale, variant, copy);
    return scale->step->prepare(&args);
}

static void describe(struct scale *scale, const struct size *size, const struct options *options)
{
    const int rows = (int)size[ROWS].value, cols = (int)size[COLS].value;
    const struct row_layout layout = {scale->step->row_bytes, (int)size[ROW_PADDING].value};
    scale->X = tensor_describe("X", options->dtype, rows, cols, layout);
    scale->Y = tensor_describe("Y", options->dtype, rows, cols, layout);
    scale->shape = (struct scale_args){
        .a = FACTOR,
        .rows = rows,
        .cols = cols,
        .X_pitch = (int)scale->X.pitch,
        .Y_pitch = (int)scale->Y.pitch,
        .dtype = options->dtype,
    };
    struct job *job = &scale->job;
    *job = (struct job){
        .step = scale->step->name,
        .operation = "scale",
        .dtype = options->dtype,
        .flops = (double)rows * cols,
        .inputs = {&scale->X},
        .outputs = {{.tensor = &scale->Y, .terms = 1}},
        .work = {.queue = queue, .prepare = scale->step->prepare ? prepare_copy : NULL, .context = scale},
    };
    job->bytes = job_tensor_bytes(job);
    snprintf(job->title, sizeof job->title, "Y[%d,%d] = a X, a = %g", rows, cols, FACTOR);
    sizes_to_json(size, job->shape_json, sizeof job->shape_json);
    sizes_to_flags(size, job->shape_flags, sizeof job->shape_flags);
}

// ---- what Y should be ----

struct rows {
    struct reference *reference;
    const float *X;
};

static void scale_rows(void *context, size_t first, size_t last)
{
    const struct rows *rows = context;
    struct reference *reference = rows->reference;
    const size_t cols = reference->cols;
    for (size_t r = first; r < last; r++) {
        const float *x = rows->X + reference->row[r] * cols;
        double *y = reference->value + r * cols, squares = 0;
        for (size_t col = 0; col < cols; col++) {
            y[col] = FACTOR * (double)x[col];
            squares += y[col] * y[col];
        }
        reference->scale[r] = sqrt(squares);
    }
}

static struct reference scale_reference(const struct tensor *X, uint64_t seed)
{
    struct reference reference = reference_sample(X->rows, X->cols, (double)X->cols, seed);
    struct rows rows = {&reference, X->host};
    parallel_for(reference.rows, scale_rows, &rows);
    return reference;
}

// ---- how a box lies in shared memory ----

enum { VECTOR = 4 };  // elements in 16 bytes

static struct {
    const struct scale_step *step;
    int cols;
    float image[BOX_ELEMENTS];  // shared memory, of a box whose elements are their own numbers
} box;

static size_t offset(int row, int vector)
{
    size_t place = 0;
    while (place + VECTOR < BOX_ELEMENTS && box.image[place] != (float)(row * box.cols + vector * VECTOR))
        place += VECTOR;
    return place * sizeof *box.image;
}

static void print_layout(int variant)
{
    float *X, *Y;
    char name[64];
    for (int i = 0; i < BOX_ELEMENTS; i++)
        box.image[i] = (float)i;
    CUDA(cudaMalloc((void **)&X, sizeof box.image));
    CUDA(cudaMalloc((void **)&Y, sizeof box.image));
    CUDA(cudaMemcpy(X, box.image, sizeof box.image, cudaMemcpyHostToDevice));
    CUDA(cudaMemset(Y, 0xff, sizeof box.image));
    box.cols = box.step->show_box(variant, X, Y);
    CUDA(cudaMemcpy(box.image, Y, sizeof box.image, cudaMemcpyDeviceToHost));
    CUDA(cudaFree(X));
    CUDA(cudaFree(Y));
    snprintf(name, sizeof name, "X %s", box.step->variants[variant].name);
    layout_print(name, box.cols / VECTOR, offset);
}

int scale_main(int argc, char **argv, const struct scale_step *step)
{
    struct size size[sizeof sizes / sizeof *sizes];
    memcpy(size, sizes, sizeof sizes);
    size[ROW_PADDING].hidden = !step->row_bytes;
    size[LAYOUT].hidden = !step->show_box;
    const struct options options = options_parse(argc, argv,
                                                 &(struct command_line){
                                                     .summary = "Y = a X, checked against a reference and timed.",
                                                     .variants = step->variants,
                                                     .sizes = size,
                                                     .dtypes = step->dtypes,
                                                 });
    const struct device device = device_open(step->arch);
    box.step = step;
    if (size[LAYOUT].value)
        return options_each_variant(&options, print_layout);
    sizes_default(size, device.emulated);

    struct scale scale = {.step = step};
    describe(&scale, size, &options);
    job_allocate(&scale.job, &device, &options);
    random_normal(scale.X.host, scale.X.rows * scale.X.cols, options.seed, STREAM_X, MEAN, DEVIATION);
    job_upload(&scale.job);
    if (options.check)
        scale.job.outputs[0].reference = scale_reference(&scale.X, options.seed);
    const int status = run_job(&scale.job, &device, &options);
    job_free(&scale.job);
    return status;
}
