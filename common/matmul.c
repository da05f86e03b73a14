#include "matmul.h"

#include "exit.h"
#include "random.h"
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIZE = 1 << 30 };
enum { GPU_SIZE = 4096, EMULATOR_SIZE = 128 };  // of each dimension that the command line leaves open
enum { STREAM_A, STREAM_B, STREAM_SCALE };      // of random.h
static const float MEAN = 1, DEVIATION = 1;     // of the inputs: with a mean of 0 a lost term would hardly show

// ---- the command line ----

struct matmul_options {
    struct options common;
    int m, n, k;  // 0: not given
    bool scaled;
};

enum { INPUT = 2000 };  // beyond the keys of options.c

static const struct argp_option description[] = {
    {0, 'm', "N", 0, "rows of A and C", 1},
    {0, 'n', "N", 0, "columns of B and C", 1},
    {0, 'k', "N", 0, "columns of A, rows of B (default of each: 4096 on a GPU, 128 on the emulator)", 1},
    {"input", INPUT, "KIND", 0, "normal; or scaled: rows of A from 2^-10 to 2^10 times as large (default normal)", 2},
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct matmul_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &options->common; break;
    case 'm': options->m = (int)options_number(state, "-m", text, 1, MAX_SIZE); break;
    case 'n': options->n = (int)options_number(state, "-n", text, 1, MAX_SIZE); break;
    case 'k': options->k = (int)options_number(state, "-k", text, 1, MAX_SIZE); break;
    case INPUT:
        options->scaled = strcmp(text, "scaled") == 0;
        if (!options->scaled && strcmp(text, "normal") != 0)
            argp_error(state, "--input %s: it is normal or scaled", text);
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static struct matmul_options parse_command_line(int argc, char **argv, const struct matmul_step *step)
{
    const struct argp_child children[] = {{&options_argp, 0, "Every step:", 10}, {0}};
    char doc[1024];
    options_doc(doc, sizeof doc, "C = A B, checked against a reference and timed.", step->variants);
    const struct argp argp = {.options = description, .parser = parse, .children = children, .doc = doc};
    struct matmul_options options = {.common = options_default(step->variants)};
    argp_err_exit_status = EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    return options;
}

// ---- the tensors ----

struct matmul {
    const struct matmul_step *step;
    int m, n, k;
    float *host_A, *host_B;
    struct buffer A, B, C;
};

static size_t elements(int rows, int cols) { return (size_t)rows * (size_t)cols; }

static float *random_matrix(int rows, int cols, uint64_t seed, uint64_t stream)
{
    float *matrix = malloc(elements(rows, cols) * sizeof *matrix);
    if (!matrix)
        stop(EXIT_USAGE, "not enough host memory for a matrix of %d × %d: ask for a smaller one", rows, cols);
    random_normal(matrix, elements(rows, cols), seed, stream, MEAN, DEVIATION);
    return matrix;
}

// Rows of very different scale: an error in a small one must not hide behind the large ones.
static void scale_rows(float *matrix, int rows, int cols, uint64_t seed)
{
    for (int row = 0; row < rows; row++) {
        float scale = ldexpf(1, (int)(random_bits(seed, STREAM_SCALE, row) % 21) - 10);
        for (int col = 0; col < cols; col++)
            matrix[(size_t)row * cols + col] *= scale;
    }
}

static struct matmul allocate(const struct matmul_step *step, const struct device *device,
                              const struct matmul_options *options)
{
    int size = device->emulated ? EMULATOR_SIZE : GPU_SIZE;
    struct matmul matmul = {.step = step,
                            .m = options->m ? options->m : size,
                            .n = options->n ? options->n : size,
                            .k = options->k ? options->k : size};
    int m = matmul.m, n = matmul.n, k = matmul.k;
    uint64_t seed = options->common.seed;

    const size_t bytes[] = {elements(m, k) * sizeof(float), elements(k, n) * sizeof(float),
                            elements(m, n) * sizeof(float)};
    bool rotate = options->common.time && !options->common.cold;
    int copies = memory_plan(device, bytes, 3, rotate, (double)bytes[0] + (double)bytes[1] + (double)bytes[2]);
    matmul.host_A = random_matrix(m, k, seed, STREAM_A);
    matmul.host_B = random_matrix(k, n, seed, STREAM_B);
    if (options->scaled)
        scale_rows(matmul.host_A, m, k, seed);
    matmul.A = buffer_allocate(device, "A", bytes[0], copies);
    matmul.B = buffer_allocate(device, "B", bytes[1], copies);
    matmul.C = buffer_allocate(device, "C", bytes[2], copies);
    buffer_upload(&matmul.A, matmul.host_A);
    buffer_upload(&matmul.B, matmul.host_B);
    return matmul;
}

static void release(struct matmul *matmul)
{
    free(matmul->host_A);
    free(matmul->host_B);
    buffer_free(&matmul->A);
    buffer_free(&matmul->B);
    buffer_free(&matmul->C);
}

// ---- the job ----

static int queue(const void *context, int variant, int copy, cudaStream_t stream)
{
    const struct matmul *matmul = context;
    const struct matmul_args args = {
        .A = buffer_copy(&matmul->A, copy),
        .B = buffer_copy(&matmul->B, copy),
        .C = buffer_copy(&matmul->C, copy),
        .m = matmul->m,
        .n = matmul->n,
        .k = matmul->k,
        .variant = variant,
    };
    return matmul->step->launch(&args, stream);
}

static struct job describe(const struct matmul *matmul, const struct options *options)
{
    int m = matmul->m, n = matmul->n, k = matmul->k;
    struct job job = {
        .step = matmul->step->name,
        .operation = "matmul",
        .dtype = matmul->step->dtype,
        .flops = 2.0 * m * n * k,
        .bytes = (double)matmul->A.bytes + (double)matmul->B.bytes + (double)matmul->C.bytes,
        .buffers = {&matmul->A, &matmul->B, &matmul->C},
        .buffer_count = 3,
        .rows = m,
        .cols = n,
        .bound = bound_fp32(k),
        .work = {.queue = queue, .context = matmul, .copies = matmul->C.copies},
    };
    snprintf(job.title, sizeof job.title, "C[%d,%d] = A[%d,%d] B[%d,%d]", m, n, m, k, k, n);
    snprintf(job.shape_json, sizeof job.shape_json, "{\"m\":%d,\"n\":%d,\"k\":%d}", m, n, k);
    snprintf(job.shape_flags, sizeof job.shape_flags, "-m %d -n %d -k %d", m, n, k);
    if (options->check)
        job.reference = matmul_reference(matmul->host_A, matmul->host_B, m, n, k, options->seed);
    return job;
}

int matmul_main(int argc, char **argv, const struct matmul_step *step)
{
    struct matmul_options options = parse_command_line(argc, argv, step);
    struct device device = device_open(step->arch);
    struct matmul matmul = allocate(step, &device, &options);
    struct job job = describe(&matmul, &options.common);
    int status = run_job(&job, &device, &options.common);
    reference_free(&job.reference);
    release(&matmul);
    return status;
}
