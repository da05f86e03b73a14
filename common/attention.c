#include "attention.h"

#include "attention_input.h"
#include "exit.h"
#include "run.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SIZE = 1 << 30 };
enum { BATCH = 1, GPU_HEADS = 8, GPU_SEQLEN = 8192, EMULATOR_HEADS = 2, EMULATOR_SEQLEN = 128, HEAD_DIM = 64 };

// ---- the command line ----

struct attention_options {
    struct options common;
    int batch, heads, kv_heads, seqlen, head_dim;  // 0: not given
    bool causal;
    enum attention_input input;
};

enum { BATCH_KEY = 2000, HEADS, KV_HEADS, SEQLEN, HEAD_DIM_KEY, CAUSAL, INPUT };  // beyond the keys of options.c

static const struct argp_option description[] = {
    {"batch", BATCH_KEY, "B", 0, "sequences (default 1)", 1},
    {"heads", HEADS, "H", 0, "heads of Q and O (default: 8 on a GPU, 2 on the emulator)", 1},
    {"kv-heads", KV_HEADS, "H", 0, "heads of K and V, each shared by as many of Q (default: as --heads)", 1},
    {"seqlen", SEQLEN, "N", 0, "queries, and keys, of a head (default: 8192 on a GPU, 128 on the emulator)", 1},
    {"head-dim", HEAD_DIM_KEY, "D", 0, "columns of each tensor (default 64)", 1},
    {"causal", CAUSAL, 0, 0, "a query sees the keys up to its own place, and none behind", 1},
    {"input", INPUT, "KIND", 0,
     "normal; scaled: rows of very different scale; huge: scores near ±500, one key for or against all others; equal: "
     "Q and K all the same (default normal)",
     2},
    {0},
};

static enum attention_input find_input(const struct argp_state *state, const char *text)
{
    char known[128] = "";
    for (int kind = 0; kind < INPUT_KINDS; kind++) {
        if (strcmp(text, attention_input_names[kind]) == 0)
            return kind;
        snprintf(known + strlen(known), sizeof known - strlen(known), " %s", attention_input_names[kind]);
    }
    argp_error(state, "--input %s: it is one of%s", text, known);
    return INPUT_NORMAL;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct attention_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &options->common; break;
    case BATCH_KEY: options->batch = (int)options_number(state, "--batch", text, 1, MAX_SIZE); break;
    case HEADS: options->heads = (int)options_number(state, "--heads", text, 1, MAX_SIZE); break;
    case KV_HEADS: options->kv_heads = (int)options_number(state, "--kv-heads", text, 1, MAX_SIZE); break;
    case SEQLEN: options->seqlen = (int)options_number(state, "--seqlen", text, 1, MAX_SIZE); break;
    case HEAD_DIM_KEY: options->head_dim = (int)options_number(state, "--head-dim", text, 1, MAX_SIZE); break;
    case CAUSAL: options->causal = true; break;
    case INPUT: options->input = find_input(state, text); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static struct attention_options parse_command_line(int argc, char **argv, const struct attention_step *step)
{
    const struct argp_child children[] = {{&options_argp, 0, "Every step:", 10}, {0}};
    char doc[1024];
    options_doc(doc, sizeof doc, "O = softmax(Q K^T / sqrt(D)) V, checked against a reference and timed.",
                step->variants);
    const struct argp argp = {.options = description, .parser = parse, .children = children, .doc = doc};
    struct attention_options options = {.common = options_default(step->variants)};
    argp_err_exit_status = EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    return options;
}

// ---- the shape ----

static void require_head_dim(const struct attention_step *step, int head_dim)
{
    char known[128] = "";
    for (int i = 0; step->head_dims[i]; i++) {
        if (step->head_dims[i] == head_dim)
            return;
        snprintf(known + strlen(known), sizeof known - strlen(known), " %d", step->head_dims[i]);
    }
    stop(EXIT_USAGE, "--head-dim %d: this step is compiled for%s", head_dim, known);
}

// What is asked for, the rest as it is by default; or a word on what this step cannot do.
static struct attention_args shape_of(const struct attention_step *step, const struct device *device,
                                      const struct attention_options *options)
{
    struct attention_args args = {.causal = options->causal};
    args.batch = options->batch ? options->batch : BATCH;
    args.heads = options->heads ? options->heads : device->emulated ? EMULATOR_HEADS : GPU_HEADS;
    args.kv_heads = options->kv_heads ? options->kv_heads : args.heads;
    args.seqlen = options->seqlen ? options->seqlen : device->emulated ? EMULATOR_SEQLEN : GPU_SEQLEN;
    args.head_dim = options->head_dim ? options->head_dim : HEAD_DIM;
    require_head_dim(step, args.head_dim);
    if (args.causal && !step->causal)
        stop(EXIT_USAGE, "--causal: this step has no mask; every query sees every key");
    if (args.heads % args.kv_heads != 0)
        stop(EXIT_USAGE, "--kv-heads %d: it divides --heads, which is %d", args.kv_heads, args.heads);
    if (args.heads != args.kv_heads && !step->grouped)
        stop(EXIT_USAGE, "--kv-heads %d: in this step each head has its own K and V; it is as --heads, %d",
             args.kv_heads, args.heads);
    return args;
}

// ---- the tensors ----

struct attention {
    const struct attention_step *step;
    struct attention_args shape;
    double workspace_bytes[MAX_VARIANTS];
    float *host_Q, *host_K, *host_V;
    struct buffer Q, K, V, O, workspace;  // the last is empty where no variant needs one
};

static size_t element_bytes(enum dtype dtype)
{
    static const size_t bytes[] = {[FP32] = sizeof(float)};
    return bytes[dtype];
}

// A double, as the product may exceed a size_t: memory_plan refuses what is too large.
static double elements(const struct attention_args *shape, int heads)
{
    return (double)shape->batch * heads * shape->seqlen * shape->head_dim;
}

static size_t to_size(double bytes) { return bytes < 0x1p62 ? (size_t)bytes : (size_t)1 << 62; }

static float *host_tensor(double count)
{
    float *tensor = malloc((size_t)count * sizeof *tensor);
    if (!tensor)
        stop(EXIT_USAGE, "not enough host memory for a tensor of %.0f elements: ask for a smaller shape", count);
    return tensor;
}

// The most that a variant to be run asks for; what each asks for, in workspace_bytes.
static size_t plan_workspace(struct attention *attention, const struct options *options)
{
    size_t most = 0;
    for (int variant = 0; variant < options_variant_count(options->variants); variant++) {
        struct attention_args args = attention->shape;
        args.variant = variant;
        size_t bytes = attention->step->workspace ? attention->step->workspace(&args) : 0;
        attention->workspace_bytes[variant] = (double)bytes;
        if ((options->all_variants || variant == options->variant) && bytes > most)
            most = bytes;
    }
    return most;
}

static struct attention allocate(const struct attention_step *step, const struct device *device,
                                 const struct attention_options *options)
{
    struct attention attention = {.step = step, .shape = shape_of(step, device, options)};
    const struct attention_args *shape = &attention.shape;
    double count_Q = elements(shape, shape->heads), count_KV = elements(shape, shape->kv_heads);
    size_t bytes_Q = to_size(count_Q * element_bytes(step->dtype));
    size_t bytes_KV = to_size(count_KV * element_bytes(step->dtype));
    size_t workspace = plan_workspace(&attention, &options->common);

    const size_t bytes[] = {bytes_Q, bytes_KV, bytes_KV, bytes_Q, workspace};
    bool rotate = options->common.time && !options->common.cold;
    int copies = memory_plan(device, bytes, 5, rotate, sizeof(float) * 2 * (count_Q + count_KV));
    attention.host_Q = host_tensor(count_Q);
    attention.host_K = host_tensor(count_KV);
    attention.host_V = host_tensor(count_KV);
    attention_input(shape, options->input, options->common.seed, attention.host_Q, attention.host_K, attention.host_V);
    attention.Q = buffer_allocate(device, "Q", bytes_Q, copies);
    attention.K = buffer_allocate(device, "K", bytes_KV, copies);
    attention.V = buffer_allocate(device, "V", bytes_KV, copies);
    attention.O = buffer_allocate(device, "O", bytes_Q, copies);
    if (workspace)
        attention.workspace = buffer_allocate(device, "the workspace", workspace, copies);
    buffer_upload(&attention.Q, attention.host_Q);
    buffer_upload(&attention.K, attention.host_K);
    buffer_upload(&attention.V, attention.host_V);
    return attention;
}

static void release(struct attention *attention)
{
    free(attention->host_Q);
    free(attention->host_K);
    free(attention->host_V);
    buffer_free(&attention->Q);
    buffer_free(&attention->K);
    buffer_free(&attention->V);
    buffer_free(&attention->O);
    buffer_free(&attention->workspace);
}

// ---- the job ----

static int queue(const void *context, int variant, int copy, cudaStream_t stream)
{
    const struct attention *attention = context;
    struct attention_args args = attention->shape;
    args.Q = buffer_copy(&attention->Q, copy);
    args.K = buffer_copy(&attention->K, copy);
    args.V = buffer_copy(&attention->V, copy);
    args.O = buffer_copy(&attention->O, copy);
    args.workspace = attention->workspace.memory ? buffer_copy(&attention->workspace, copy) : NULL;
    args.variant = variant;
    return attention->step->launch(&args, stream);
}

static struct reference reference_of(const struct attention *attention, uint64_t seed)
{
    struct attention_args host = attention->shape;
    host.Q = attention->host_Q;
    host.K = attention->host_K;
    host.V = attention->host_V;
    return attention_reference(&host, seed);
}

static struct job describe(const struct attention *attention, const struct options *options)
{
    const struct attention_args *shape = &attention->shape;
    int batch = shape->batch, heads = shape->heads, n = shape->seqlen, d = shape->head_dim;
    struct job job = {
        .step = attention->step->name,
        .operation = "attention",
        .dtype = attention->step->dtype,
        .flops = 4.0 * batch * heads * n * n * d / (shape->causal ? 2 : 1),
        .bytes = (double)attention->Q.bytes + attention->K.bytes + attention->V.bytes + attention->O.bytes,
        .buffers = {&attention->Q, &attention->K, &attention->V, &attention->workspace, &attention->O},
        .buffer_count = 5,
        .workspace = attention->workspace.memory ? &attention->workspace : NULL,
        .rows = (size_t)batch * heads * n,
        .cols = d,
        .bound = bound_fp32(n > d ? n : d),
        .work = {.queue = queue, .context = attention, .copies = attention->O.copies},
    };
    job.tensor_bytes = job.bytes;
    memcpy(job.workspace_bytes, attention->workspace_bytes, sizeof job.workspace_bytes);
    snprintf(job.title, sizeof job.title, "O[%d,%d,%d,%d] = %ssoftmax(Q Kᵀ / √%d) V", batch, heads, n, d,
             shape->causal ? "causal " : "", d);
    snprintf(job.shape_json, sizeof job.shape_json,
             "{\"batch\":%d,\"heads\":%d,\"kv_heads\":%d,\"seqlen\":%d,\"head_dim\":%d,\"causal\":%s}", batch, heads,
             shape->kv_heads, n, d, shape->causal ? "true" : "false");
    snprintf(job.shape_flags, sizeof job.shape_flags, "--batch %d --heads %d --kv-heads %d --seqlen %d --head-dim %d%s",
             batch, heads, shape->kv_heads, n, d, shape->causal ? " --causal" : "");
    if (options->check)
        job.reference = reference_of(attention, options->seed);
    return job;
}

int attention_main(int argc, char **argv, const struct attention_step *step)
{
    struct attention_options options = parse_command_line(argc, argv, step);
    struct device device = device_open(step->arch);
    struct attention attention = allocate(step, &device, &options);
    struct job job = describe(&attention, &options.common);
    int status = run_job(&job, &device, &options.common);
    reference_free(&job.reference);
    release(&attention);
    return status;
}
