#include "attention.h"

#include "attention_input.h"
#include "exit.h"
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// ---- the command line ----

enum { BATCH, HEADS, KV_HEADS, SEQLEN, KV_SEQLEN, HEAD_DIM, CAUSAL, LSE, ROW_PADDING };

static const struct size sizes[] = {
    [BATCH] = {.name = "batch", .doc = "sequences (default 1)", .gpu = 1, .emulator = 1},
    [HEADS] = {.name = "heads",
               .doc = "heads of Q and O (default: 8 on a GPU, 2 on the emulator)",
               .gpu = 8,
               .emulator = 2},
    [KV_HEADS] = {.name = "kv-heads", .doc = "heads of K and V, each shared by as many of Q (default: as --heads)"},
    [SEQLEN] = {.name = "seqlen",
                .doc = "queries of a head, and keys (default: 8192 on a GPU, 128 on the emulator)",
                .gpu = 8192,
                .emulator = 128},
    [KV_SEQLEN] = {.name = "kv-seqlen", .doc = "keys of a head (default: as --seqlen)", .unsaid = true},
    [HEAD_DIM] = {.name = "head-dim", .doc = "columns of each tensor (default 64)", .gpu = 64, .emulator = 64},
    [CAUSAL] = {.name = "causal",
                .doc = "the last query sees all keys, each one before it one key less",
                .is_switch = true},
    [LSE] = {.name = "lse",
             .doc = "write the log-sum-exp of each row of scores, too",
             .is_switch = true,
             .unsaid = true},
    [ROW_PADDING] = ROW_PADDING_SIZE,
    {0},
};

static void require_head_dim(const struct attention_step *step, int head_dim)
{
    const int most = step->max_head_dim, unit = step->head_dim_unit;
    if (most && unit && (head_dim > most || head_dim % unit != 0))
        stop(EXIT_USAGE, "--head-dim %d: this step takes multiples of %d up to %d", head_dim, unit, most);
    if (most && head_dim > most)
        stop(EXIT_USAGE, "--head-dim %d: this step takes 1 to %d", head_dim, most);
    if (most)
        return;
    char known[128] = "";
    for (int i = 0; step->head_dims[i]; i++) {
        if (step->head_dims[i] == head_dim)
            return;
        snprintf(known + strlen(known), sizeof known - strlen(known), " %d", step->head_dims[i]);
    }
    stop(EXIT_USAGE, "--head-dim %d: this step is compiled for%s", head_dim, known);
}

// What no step can do, and what this one cannot.
static void require_shape(const struct attention_step *step, const struct size *size)
{
    const int heads = (int)size[HEADS].value, kv_heads = (int)size[KV_HEADS].value;
    const int n = (int)size[SEQLEN].value, n_kv = size[KV_SEQLEN].value ? (int)size[KV_SEQLEN].value : n;
    require_head_dim(step, (int)size[HEAD_DIM].value);
    if (size[CAUSAL].value && !step->causal)
        stop(EXIT_USAGE, "--causal: this step has no mask; every query sees every key");
    if (heads % kv_heads != 0)
        stop(EXIT_USAGE, "--kv-heads %d: it divides --heads, which is %d", kv_heads, heads);
    if (heads != kv_heads && !step->grouped)
        stop(EXIT_USAGE, "--kv-heads %d: in this step each head has its own K and V; it is as --heads, %d", kv_heads,
             heads);
    if (n != n_kv && !step->lengths)
        stop(EXIT_USAGE, "--kv-seqlen %d: in this step there are as many keys as queries, --seqlen, %d", n_kv, n);
}

// ---- the job ----

// As a sum of so many products a log-sum-exp may be wrong by 2 ^ −19 of itself, or of 1 where it is smaller.
enum { LSE_TERMS = 256 };

struct attention {
    const struct attention_step *step;
    struct attention_args shape;  // the arguments but for memory and variant
    struct tensor Q, K, V, O, lse;
    struct job job;
};

static struct attention_args shape_of(const struct attention *attention, int variant)
{
    struct attention_args args = attention->shape;
    args.variant = variant;
    return args;
}

static struct attention_args args_of(const struct attention *attention, int variant, int copy)
{
    struct attention_args args = shape_of(attention, variant);
    args.Q = buffer_copy(&attention->Q.device, copy);
    args.K = buffer_copy(&attention->K.device, copy);
    args.V = buffer_copy(&attention->V.device, copy);
    args.O = buffer_copy(&attention->O.device, copy);
    args.lse = attention->lse.rows ? buffer_copy(&attention->lse.device, copy) : NULL;
    args.workspace = job_workspace(&attention->job, copy);
    args.prepared = job_prepared(&attention->job, copy);
    return args;
}

static int queue(const void *context, int variant, int copy, cudaStream_t stream)
{
    const struct attention *attention = context;
    const struct attention_args args = args_of(attention, variant, copy);
    return attention->step->launch(&args, stream);
}

static int prepare_copy(const void *context, int variant, int copy)
{
    const struct attention *attention = context;
    const struct attention_args args = args_of(attention, variant, copy);
    return attention->step->prepare(&args);
}

static size_t workspace_bytes(const void *context, int variant)
{
    const struct attention *attention = context;
    const struct attention_args args = shape_of(attention, variant);
    return attention->step->workspace(&args);
}

static size_t shared_bytes(const void *context, int variant)
{
    const struct attention *attention = context;
    const struct attention_args args = shape_of(attention, variant);
    return attention->step->shared(&args);
}

static int parts(const void *context, int variant)
{
    const struct attention *attention = context;
    const struct attention_args args = shape_of(attention, variant);
    return attention->step->parts(&args);
}

static int blocks(const void *context, int variant)
{
    const struct attention *attention = context;
    const struct attention_args args = shape_of(attention, variant);
    return attention->step->blocks(&args);
}

static struct tensor describe_tensor(const char *name, const struct attention_args *shape, int heads, int seqlen,
                                     struct row_layout layout)
{
    return tensor_describe(name, shape->dtype, (double)shape->batch * heads * seqlen, shape->head_dim, layout);
}

static void describe_shape(struct attention *attention, const struct size *size, const struct options *options)
{
    struct attention_args *shape = &attention->shape;
    const struct row_layout layout = {attention->step->row_bytes, (int)size[ROW_PADDING].value};
    *shape = (struct attention_args){
        .batch = (int)size[BATCH].value,
        .heads = (int)size[HEADS].value,
        .kv_heads = (int)size[KV_HEADS].value,
        .seqlen = (int)size[SEQLEN].value,
        .kv_seqlen = (int)(size[KV_SEQLEN].value ? size[KV_SEQLEN].value : size[SEQLEN].value),
        .head_dim = (int)size[HEAD_DIM].value,
        .scale = 1 / sqrtf((float)size[HEAD_DIM].value),
        .causal = (int)size[CAUSAL].value,
        .dtype = options->dtype,
    };
    attention->Q = describe_tensor("Q", shape, shape->heads, shape->seqlen, layout);
    attention->K = describe_tensor("K", shape, shape->kv_heads, shape->kv_seqlen, layout);
    attention->V = describe_tensor("V", shape, shape->kv_heads, shape->kv_seqlen, layout);
    attention->O = describe_tensor("O", shape, shape->heads, shape->seqlen, layout);
    if (size[LSE].value)
        attention->lse = tensor_describe("the log-sum-exp", FP32, (double)attention->Q.rows, 1, (struct row_layout){0});
    shape->Q_strides = shape->O_strides = attention_strides(shape->heads, shape->seqlen, (int)attention->Q.pitch);
    shape->K_strides = shape->V_strides = attention_strides(shape->kv_heads, shape->kv_seqlen, (int)attention->K.pitch);
}

// Pairs of a query and a key that it sees; of a causal mask's diagonal, half.
static double pairs_of_head(const struct attention_args *shape)
{
    const double n = shape->seqlen, n_kv = shape->kv_seqlen, seeing = fmin(n, n_kv);  // queries that see a key
    return shape->causal ? seeing * (n_kv - seeing / 2) : n * n_kv;
}

static void describe(struct attention *attention, const struct size *size, const struct options *options)
{
    const struct attention_step *step = attention->step;
    describe_shape(attention, size, options);
    const struct attention_args *shape = &attention->shape;
    const int batch = shape->batch, heads = shape->heads, n = shape->seqlen, n_kv = shape->kv_seqlen;
    const int d = shape->head_dim;
    struct job *job = &attention->job;
    *job = (struct job){
        .step = step->name,
        .operation = "attention",
        .dtype = options->dtype,
        .flops = 4.0 * batch * heads * pairs_of_head(shape) * d,
        .inputs = {&attention->Q, &attention->K, &attention->V},
        .outputs = {{.tensor = &attention->O, .terms = n_kv > d ? n_kv : d}},
        .workspace_bytes = step->workspace ? workspace_bytes : NULL,
        .shared_bytes = step->shared ? shared_bytes : NULL,
        .parts = step->parts ? parts : NULL,
        .blocks = step->blocks ? blocks : NULL,
        .tells_memory = true,
        .work = {.queue = queue, .prepare = step->prepare ? prepare_copy : NULL, .context = attention},
    };
    // What rounds in a log-sum-exp are scores and their largest; a logarithm makes the error of a long sum small.
    if (attention->lse.rows)
        job->outputs[1] = (struct output){.tensor = &attention->lse, .terms = d > LSE_TERMS ? d : LSE_TERMS};
    job->bytes = job_tensor_bytes(job);
    snprintf(job->title, sizeof job->title, "O[%d,%d,%d,%d] = %ssoftmax(Q Kᵀ / √%d) V", batch, heads, n, d,
             shape->causal ? "causal " : "", d);
    if (n_kv != n)
        snprintf(job->title + strlen(job->title), sizeof job->title - strlen(job->title), ", %d keys", n_kv);
    sizes_to_json(size, job->shape_json, sizeof job->shape_json);
    sizes_to_flags(size, job->shape_flags, sizeof job->shape_flags);
}

static void add_references(struct attention *attention, uint64_t seed)
{
    struct attention_args host = attention->shape;
    host.Q = attention->Q.host;
    host.K = attention->K.host;
    host.V = attention->V.host;
    struct output *outputs = attention->job.outputs;
    outputs[0].reference = attention_reference(&host, seed, outputs[1].tensor ? &outputs[1].reference : NULL);
}

int attention_main(int argc, char **argv, const struct attention_step *step)
{
    struct size size[sizeof sizes / sizeof *sizes];
    memcpy(size, sizes, sizeof sizes);
    size[LSE].hidden = !step->lse;
    size[ROW_PADDING].hidden = !step->row_bytes;
    const struct options options = options_parse(
        argc, argv,
        &(struct command_line){
            .summary = "O = softmax(Q K^T / sqrt(D)) V, checked against a reference and timed.",
            .variants = step->variants,
            .sizes = size,
            .inputs = attention_inputs,
            .dtypes = step->dtypes,
        });
    const struct device device = device_open(step->arch);
    sizes_default(size, device.emulated);
    if (!size[KV_HEADS].value)
        size[KV_HEADS].value = size[HEADS].value;
    require_shape(step, size);

    struct attention attention = {.step = step};
    describe(&attention, size, &options);
    job_allocate(&attention.job, &device, &options);
    attention_input(&attention.shape, options.input, options.seed, attention.Q.host, attention.K.host,
                    attention.V.host);
    job_upload(&attention.job);
    if (options.check)
        add_references(&attention, options.seed);
    const int status = run_job(&attention.job, &device, &options);
    job_free(&attention.job);
    return status;
}
