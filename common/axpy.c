#include "axpy.h"

#include "random.h"
#include "run.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_X, STREAM_Y };  // of random.h
static const float MEAN = 1, DEVIATION = 1, FACTOR = 2;

enum { N };

static const struct size sizes[] = {
    [N] = {.name = "n",
           .doc = "elements of x and y (default 268435456 on a GPU, 100003 on the emulator)",
           .gpu = 1 << 28,
           .emulator = 100003},
    {0},
};

// The case at hand, from axpy_begin() to axpy_end(). As tensors, x and y are columns: n rows of one element.
static struct {
    const struct axpy_step *step;
    struct options options;
    struct device device;
    struct tensor x, y;
    struct job job;
} axpy;

static int queue(const void *context, int variant, int copy, cudaStream_t stream)
{
    (void)context;
    const struct axpy_args args = {
        .a = FACTOR,
        .x = buffer_copy(&axpy.x.device, copy),
        .y = buffer_copy(&axpy.y.device, copy),
        .n = (int)axpy.x.rows,
        .dtype = axpy.x.dtype,
        .variant = variant,
    };
    return axpy.step->launch(&args, stream);
}

static void describe(const struct size *size)
{
    const double n = (double)size[N].value, floats = 3;  // x and y are read, y is written
    axpy.x = tensor_describe("x", axpy.options.dtype, n, 1, (struct row_layout){0});
    axpy.y = tensor_describe("y", axpy.options.dtype, n, 1, (struct row_layout){0});
    struct job *job = &axpy.job;
    *job = (struct job){
        .step = axpy.step->name,
        .operation = "axpy",
        .dtype = axpy.options.dtype,
        .flops = 2 * n,
        .bytes = floats * n * (double)dtype_bytes(axpy.options.dtype),
        .inputs = {&axpy.x},
        .outputs = {{.tensor = &axpy.y, .terms = 2, .updated = true}},
        .work = {.queue = queue},
    };
    snprintf(job->title, sizeof job->title, "y[%.0f] = a x[%.0f] + y, a = %g", n, n, FACTOR);
    sizes_to_json(size, job->shape_json, sizeof job->shape_json);
    sizes_to_flags(size, job->shape_flags, sizeof job->shape_flags);
}

struct axpy_numbers axpy_begin(int argc, char **argv, const struct axpy_step *step)
{
    struct size size[sizeof sizes / sizeof *sizes];
    memcpy(size, sizes, sizeof sizes);
    axpy.step = step;
    axpy.options = options_parse(argc, argv,
                                 &(struct command_line){
                                     .summary = "y = a x + y, checked against a reference and timed.",
                                     .variants = step->variants,
                                     .sizes = size,
                                     .dtypes = step->dtypes,
                                 });
    axpy.device = device_open(step->arch);
    sizes_default(size, axpy.device.emulated);
    describe(size);
    job_allocate(&axpy.job, &axpy.device, &axpy.options);
    random_normal(axpy.x.host, axpy.x.rows, axpy.options.seed, STREAM_X, MEAN, DEVIATION);
    random_normal(axpy.y.host, axpy.y.rows, axpy.options.seed, STREAM_Y, MEAN, DEVIATION);
    job_upload(&axpy.job);
    return (struct axpy_numbers){(int)axpy.x.rows, FACTOR, axpy.x.host, axpy.y.host};
}

// y = a x + y in double, for a million elements at the most.
static struct reference axpy_reference(void)
{
    const double work = 0x1p11;  // that many multiply-adds' time is spent on an element, so as to take a million
    struct reference reference = reference_sample(axpy.x.rows, 1, work, axpy.options.seed);
    for (size_t r = 0; r < reference.rows; r++) {
        const double product = FACTOR * (double)axpy.x.host[reference.row[r]], y = axpy.y.host[reference.row[r]];
        reference.value[r] = product + y;
        reference.scale[r] = fabs(product) + fabs(y);
    }
    return reference;
}

static int check_computed(const float *y)
{
    struct output *output = &axpy.job.outputs[0];
    output->reference = axpy_reference();
    const struct check check = check_output(y, axpy.y.rows, &output->reference, axpy.y.dtype, output->terms);
    if (check.right)
        puts("y as main computed it is right");
    else
        printf("WRONG: y as main computed it: %s\n", check.fault);
    return check.right ? EXIT_RIGHT : EXIT_WRONG;
}

int axpy_end(const float *y)
{
    // In a file, y as main computed it stands before y as step->launch() computes it.
    FILE *written = axpy.options.write_output, *read = axpy.options.check_output;
    if (written && fwrite(y, sizeof *y, axpy.y.rows, written) != axpy.y.rows)
        stop(EXIT_USAGE, "y cannot be written to its file: %s", strerror(errno));
    float *from_file = read ? tensor_read(&axpy.y, read) : NULL;
    int status = axpy.options.check ? check_computed(from_file ? from_file : y) : EXIT_RIGHT;
    free(from_file);
    if (status == EXIT_RIGHT)
        status = run_job(&axpy.job, &axpy.device, &axpy.options);
    job_free(&axpy.job);
    return status;
}
