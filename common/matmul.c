#include "matmul.h"

#include "random.h"
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STREAM_A, STREAM_B, STREAM_SCALE };  // of random.h

// Of the inputs: with a mean of 0 a lost term would hardly show. Sums of many products have to stay below what fp16 can
// hold, 65504.
static const float DEVIATION = 1;
static float mean_of(enum dtype C_dtype) { return C_dtype == FP16 ? 0.5f : 1; }
static int largest_exponent(enum dtype C_dtype) { return C_dtype == FP16 ? 0 : 10; }

// ---- the command line ----

enum { M, N, K, ROW_PADDING, B_TRANSPOSED, LAYOUT };

static const struct size sizes[] = {
    [M] = {.name = "m", .doc = "rows of A and C", .gpu = 4096, .emulator = 128},
    [N] = {.name = "n", .doc = "columns of B and C", .gpu = 4096, .emulator = 128},
    [K] = {.name = "k",
           .doc = "columns of A, rows of B (default of each: 4096 on a GPU, 128 on the emulator)",
           .gpu = 4096,
           .emulator = 128},
    [ROW_PADDING] = ROW_PADDING_SIZE,
    [B_TRANSPOSED] = {.name = "b-transposed", .doc = "B is in memory as [n, k]", .is_switch = true, .unsaid = true},
    [LAYOUT] = LAYOUT_SIZE,
    {0},
};

enum { NORMAL, SCALED };

static const struct input_kind inputs[] = {
    [NORMAL] = {"normal", ""},
    [SCALED] = {"scaled", "rows of A from 2^-10 to 2^10 times as large, to 1 where C is fp16"},
    {0},
};

// ---- the inputs ----

// Rows of very different scale: an error in a small one must not hide behind the large ones.
static void scale_rows(struct tensor *A, int largest, uint64_t seed)
{
    for (size_t row = 0; row < A->rows; row++) {
        float scale = ldexpf(1, (int)(random_bits(seed, STREAM_SCALE, row) % (11 + largest)) - 10);
        for (size_t col = 0; col < A->cols; col++)
            A->host[row * A->cols + col] *= scale;
    }
}

static void fill(struct tensor *A, struct tensor *B, const struct options *options)
{
    const float mean = mean_of(options->out_dtype);
    random_normal(A->host, A->rows * A->cols, options->seed, STREAM_A, mean, DEVIATION);
    random_normal(B->host, B->rows * B->cols, options->seed, STREAM_B, mean, DEVIATION);
    if (options->input == SCALED)
        scale_rows(A, largest_exponent(options->out_dtype), options->seed);
}

// ---- the job ----

struct matmul {
    const struct matmul_step *step;
    struct matmul_args shape;  // the arguments but for memory and variant
    struct tensor A, B, C;
    struct job job;
};

static struct matmul_args args_of(const struct matmul *matmul, int variant, int copy)
{
    struct matmul_args args = matmul->shape;
    args.A = buffer_copy(&matmul->A.device, copy);
    args.B = buffer_copy(&matmul->B.device, copy);
    args.C = buffer_copy(&matmul->C.device, copy);
    args.workspace = job_workspace(&matmul->job, copy);
    args.prepared = job_prepared(&matmul->job, copy);
    args.variant = variant;
    return args;
}

static int queue(const void *context, int variant, int copy, cudaStream_t stream)
{
    const struct matmul *matmul = context;
    const struct matmul_args args = args_of(matmul, variant, copy);
    return matmul->step->launch(&args, stream);
}

static int prepare_copy(const void *context, int variant, int copy)
{
    const struct matmul *matmul = context;
    const struct matmul_args args = args_of(matmul, variant, copy);
    return matmul->step->prepare(&args);
}

static size_t workspace_bytes(const void *context, int variant)
{
    const struct matmul *matmul = context;
    struct matmul_args args = matmul->shape;
    args.variant = variant;
    return matmul->step->workspace(&args);
}

static void describe(struct matmul *matmul, const struct size *size, const struct options *options)
{
    const struct matmul_step *step = matmul->step;
    const int m = (int)size[M].value, n = (int)size[N].value, k = (int)size[K].value;
    const bool transposed = size[B_TRANSPOSED].value;
    const struct row_layout layout = {step->row_bytes, (int)size[ROW_PADDING].value};
    matmul->A = tensor_describe("A", options->dtype, m, k, layout);
    matmul->B = tensor_describe("B", options->dtype, transposed ? n : k, transposed ? k : n, layout);
    matmul->C = tensor_describe("C", options->out_dtype, m, n, layout);
    matmul->shape = (struct matmul_args){
        .m = m,
        .n = n,
        .k = k,
        .A_pitch = (int)matmul->A.pitch,
        .B_pitch = (int)matmul->B.pitch,
        .C_pitch = (int)matmul->C.pitch,
        .B_transposed = transposed,
        .dtype = options->dtype,
        .C_dtype = options->out_dtype,
    };
    struct job *job = &matmul->job;
    *job = (struct job){
        .step = step->name,
        .operation = "matmul",
        .dtype = options->dtype,
        .flops = 2.0 * m * n * k,
        .inputs = {&matmul->A, &matmul->B},
        .outputs = {{.tensor = &matmul->C, .terms = k}},
        .workspace_bytes = step->workspace ? workspace_bytes : NULL,
        .work = {.queue = queue, .prepare = step->prepare ? prepare_copy : NULL, .context = matmul},
    };
    job->bytes = job_tensor_bytes(job);
    snprintf(job->title, sizeof job->title, "C[%d,%d] = A[%d,%d] %s[%d,%d]", m, n, m, k, transposed ? "Bᵀ" : "B", k, n);
    sizes_to_json(size, job->shape_json, sizeof job->shape_json);
    sizes_to_flags(size, job->shape_flags, sizeof job->shape_flags);
}

int matmul_main(int argc, char **argv, const struct matmul_step *step)
{
    struct size size[sizeof sizes / sizeof *sizes];
    memcpy(size, sizes, sizeof sizes);
    size[ROW_PADDING].hidden = !step->row_bytes;
    size[B_TRANSPOSED].hidden = !step->B_transposed;
    size[LAYOUT].hidden = !step->print_layout;
    const struct options options = options_parse(argc, argv,
                                                 &(struct command_line){
                                                     .summary = "C = A B, checked against a reference and timed.",
                                                     .variants = step->variants,
                                                     .sizes = size,
                                                     .inputs = inputs,
                                                     .dtypes = step->dtypes,
                                                     .more_dtypes = step->C_dtypes,
                                                 });
    if (size[LAYOUT].value)
        return options_each_variant(&options, step->print_layout);
    const struct device device = device_open(step->arch);
    sizes_default(size, device.emulated);

    struct matmul matmul = {.step = step};
    describe(&matmul, size, &options);
    job_allocate(&matmul.job, &device, &options);
    fill(&matmul.A, &matmul.B, &options);
    job_upload(&matmul.job);
    const struct matmul_args *shape = &matmul.shape;
    if (options.check)
        matmul.job.outputs[0].reference = matmul_reference(matmul.A.host, matmul.B.host, shape->B_transposed, shape->m,
                                                           shape->n, shape->k, options.seed);
    const int status = run_job(&matmul.job, &device, &options);
    job_free(&matmul.job);
    return status;
}
