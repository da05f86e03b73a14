#include "options.h"

#include "exit.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { WARMUP = 3, MAX_ITERS = 100000, MAX_SIZES = 16, MAX_SIZE = 1 << 30 };

enum key {
    VARIANT = 1000,
    ALL_VARIANTS,
    ITERS,
    WARMUP_KEY,
    SEED,
    COLD,
    NO_CHECK,
    NO_TIME,
    PROFILE,
    JSON,
    WRITE_OUTPUT,
    CHECK_OUTPUT
};
enum { INPUT = 2000, DTYPE, OUT_DTYPE, FIRST_SIZE };  // and one key for each size

// The places of groups in --help.
enum { SIZES = 1, INPUTS, COMMON = 10 };

static const struct argp_option common[] = {
    {0, 0, 0, 0, "Every step:", COMMON},
    {"variant", VARIANT, "NAME", 0, "run this variant", COMMON + 1},
    {"all-variants", ALL_VARIANTS, 0, 0, "run each variant in turn", COMMON + 1},
    {"seed", SEED, "N", 0, "of the random inputs (default 1)", COMMON + 2},
    {"no-check", NO_CHECK, 0, 0, "do not compare with the reference", COMMON + 2},
    {"no-time", NO_TIME, 0, 0, "do not time", COMMON + 3},
    {"iters", ITERS, "N", 0, "timed launches (default 20, fewer above 100 ms)", COMMON + 3},
    {"warmup", WARMUP_KEY, "N", 0, "launches before the timed ones (default 3)", COMMON + 3},
    {"cold", COLD, 0, 0, "flush L2 before each launch, instead of rotating over copies", COMMON + 3},
    {"profile", PROFILE, 0, 0, "count what a launch does, per source line; on a GPU, say how ncu shows it", COMMON + 4},
    {"json", JSON, "FILE", 0, "append one JSON line per case to FILE", COMMON + 4},
    {"write-output", WRITE_OUTPUT, "FILE", 0,
     "after one launch write the elements of the output to FILE; check nothing", COMMON + 5},
    {"check-output", CHECK_OUTPUT, "FILE", 0,
     "check the output that FILE has for this command line, in place of a launch's", COMMON + 5},
};
enum { COMMON_COUNT = sizeof common / sizeof *common, MAX_OPTIONS = MAX_SIZES + 3 + COMMON_COUNT + 1 };

// What has been said: some options contradict each other.
struct parsing {
    const struct command_line *line;
    struct options *options;
    bool variant, iters, warmup;
    const char *json, *write_output, *check_output;
};

// Adds to a text that ends before `size`, as much as there is place for.
__attribute__((format(printf, 3, 4))) static void add(char *text, size_t size, const char *format, ...)
{
    size_t length = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + length, size - length, format, args);
    va_end(args);
}

int options_variant_count(const struct variant *variants)
{
    int count = 0;
    while (variants[count].name)
        count++;
    return count;
}

int options_each_variant(const struct options *options, void (*function)(int variant))
{
    const int first = options->all_variants ? 0 : options->variant;
    const int last = options->all_variants ? options_variant_count(options->variants) - 1 : options->variant;
    for (int variant = first; variant <= last; variant++)
        function(variant);
    return EXIT_RIGHT;
}

// ---- what a text means ----

static long long number(const struct argp_state *state, const char *option, const char *text, long long least,
                        long long most)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno == ERANGE || value < least || value > most)
        argp_error(state, "%s %s: not a whole number from %lld to %lld", option, text, least, most);
    return value;
}

// The index of a name in a list of structs that begin with their name and end with none.
static int name_index(const struct argp_state *state, const char *option, const char *text, const void *list,
                      size_t stride, const char *accepted)
{
    char known[512] = "";
    const char *at = list;
    for (int i = 0; *(const char *const *)at; i++, at += stride) {
        const char *name = *(const char *const *)at;
        if (strcmp(name, text) == 0)
            return i;
        add(known, sizeof known, " %s", name);
    }
    argp_error(state, "%s %s: %s%s", option, text, accepted, known);
    return 0;
}

static enum dtype find_dtype(const struct argp_state *state, const char *option, const char *text,
                             const enum dtype *first, const enum dtype *second)
{
    char known[128] = "";
    const enum dtype *const lists[] = {first, second};
    for (int i = 0; i < 2; i++)
        for (const enum dtype *dtype = lists[i]; dtype && *dtype; dtype++) {
            if (strcmp(dtype_name(*dtype), text) == 0)
                return *dtype;
            add(known, sizeof known, " %s", dtype_name(*dtype));
        }
    argp_error(state, "%s %s: it is one of%s", option, text, known);
    return FP32;
}

static void option_of(const struct size *size, char *option, size_t bytes)
{
    snprintf(option, bytes, "%s%s", size->name[1] ? "--" : "-", size->name);
}

static long long size_value(const struct argp_state *state, const struct size *size, const char *text)
{
    char option[64], known[128] = "";
    option_of(size, option, sizeof option);
    if (size->is_switch)
        return 1;
    if (!size->accepted) {
        long long value = number(state, option, text, 1, size->most ? size->most : MAX_SIZE);
        if (size->multiple && value % size->multiple)
            argp_error(state, "%s %s: not a multiple of %d", option, text, size->multiple);
        return value;
    }
    for (const int *accepted = size->accepted; *accepted; accepted++) {
        char *end;
        if (strtoll(text, &end, 10) == *accepted && end > text && !*end)
            return *accepted;
        add(known, sizeof known, " %d", *accepted);
    }
    argp_error(state, "%s %s: it is one of%s", option, text, known);
    return 0;
}

// ---- the parser ----

// NULL: no such file was asked for. Opened before anything runs: a result that cannot be kept is not worth waiting for.
static FILE *open_file(const struct argp_state *state, const char *option, const char *name, const char *mode)
{
    FILE *file = name ? fopen(name, mode) : NULL;
    if (name && !file)
        argp_failure(state, EXIT_USAGE, errno, "%s %s", option, name);
    return file;
}

// An output in a file is that of one launch, and either written or checked.
static void require_one_output(const struct argp_state *state, const struct parsing *said)
{
    const struct options *options = said->options;
    const char *option = said->write_output ? "--write-output" : "--check-output";
    if (said->write_output && said->check_output)
        argp_error(state, "--write-output and --check-output contradict each other");
    if (said->check_output && !options->check)
        argp_error(state, "--check-output and --no-check contradict each other");
    if (options->all_variants || (said->line->all_by_default && !said->variant))
        argp_error(state, "%s takes one variant: name it by --variant", option);
}

static void finish(const struct argp_state *state, const struct parsing *said)
{
    struct options *options = said->options;
    if (said->write_output || said->check_output)
        require_one_output(state, said);
    if (said->variant && options->all_variants)
        argp_error(state, "--variant and --all-variants contradict each other");
    if (!options->time && (said->iters || said->warmup || options->cold))
        argp_error(state, "--no-time and --%s contradict each other",
                   said->iters    ? "iters"
                   : said->warmup ? "warmup"
                                  : "cold");
    options->all_variants |= said->line->all_by_default && !said->variant;
    if (!options->out_dtype)
        options->out_dtype = options->dtype;
    options->json = open_file(state, "--json", said->json, "a");
    options->write_output = open_file(state, "--write-output", said->write_output, "wb");
    options->check_output = open_file(state, "--check-output", said->check_output, "rb");
    options->check &= !options->write_output;
    options->time &= !options->write_output && !options->check_output;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct parsing *said = state->input;
    struct options *options = said->options;
    const struct command_line *line = said->line;
    switch (key) {
    case VARIANT:
        said->variant = true;
        options->variant = name_index(state, "--variant", text, line->variants, sizeof *line->variants,
                                      "this step has no such variant; it has");
        break;
    case ITERS:
        said->iters = true;
        options->iters = (int)number(state, "--iters", text, 1, MAX_ITERS);
        break;
    case WARMUP_KEY:
        said->warmup = true;
        options->warmup = (int)number(state, "--warmup", text, 0, MAX_ITERS);
        break;
    case INPUT:
        options->input = name_index(state, "--input", text, line->inputs, sizeof *line->inputs, "it is one of");
        break;
    case ALL_VARIANTS: options->all_variants = true; break;
    case SEED: options->seed = (uint64_t)number(state, "--seed", text, 0, LLONG_MAX); break;
    case COLD: options->cold = true; break;
    case NO_CHECK: options->check = false; break;
    case NO_TIME: options->time = false; break;
    case PROFILE: options->profile = true; break;
    case JSON: said->json = text; break;
    case WRITE_OUTPUT: said->write_output = text; break;
    case CHECK_OUTPUT: said->check_output = text; break;
    case DTYPE: options->dtype = find_dtype(state, "--dtype", text, line->dtypes, NULL); break;
    case OUT_DTYPE: options->out_dtype = find_dtype(state, "--out-dtype", text, line->dtypes, line->more_dtypes); break;
    case ARGP_KEY_ARG: argp_error(state, "what is '%s'? There are only options", text); break;
    case ARGP_KEY_END: finish(state, said); break;
    default: {
        for (int i = 0; line->sizes[i].name; i++)
            if (key == FIRST_SIZE + i || (!line->sizes[i].name[1] && key == line->sizes[i].name[0])) {
                line->sizes[i].value = size_value(state, &line->sizes[i], text);
                return 0;
            }
        return ARGP_ERR_UNKNOWN;
    }
    }
    return 0;
}

// ---- what --help says ----

struct help {
    struct argp_option options[MAX_OPTIONS];
    int count;
    char input[512], dtype[128], out_dtype[128], doc[2048];
};

static void offer(struct help *help, struct argp_option option) { help->options[help->count++] = option; }

static void offer_sizes(struct help *help, const struct size *sizes)
{
    for (int i = 0; sizes[i].name; i++) {
        bool is_short = !sizes[i].name[1];
        if (!sizes[i].hidden)
            offer(help, (struct argp_option){.name = is_short ? NULL : sizes[i].name,
                                             .key = is_short ? sizes[i].name[0] : FIRST_SIZE + i,
                                             .arg = sizes[i].is_switch ? NULL : "N",
                                             .doc = sizes[i].doc,
                                             .group = SIZES});
    }
}

static void offer_inputs(struct help *help, const struct input_kind *inputs)
{
    for (const struct input_kind *input = inputs; input && input->name; input++)
        add(help->input, sizeof help->input, "%s%s%s%s", input == inputs ? "" : "; ", input->name,
            *input->doc ? ": " : "", input->doc);
    if (inputs) {
        add(help->input, sizeof help->input, " (default %s)", inputs->name);
        offer(help, (struct argp_option){"input", INPUT, "KIND", 0, help->input, INPUTS});
    }
}

static void list_dtypes(char *doc, size_t size, const enum dtype *dtypes)
{
    for (; dtypes && *dtypes; dtypes++)
        add(doc, size, "%s%s", *doc ? ", " : "", dtype_name(*dtypes));
}

static void offer_dtypes(struct help *help, const struct command_line *line)
{
    list_dtypes(help->dtype, sizeof help->dtype, line->dtypes);
    list_dtypes(help->out_dtype, sizeof help->out_dtype, line->dtypes);
    list_dtypes(help->out_dtype, sizeof help->out_dtype, line->more_dtypes);
    if (line->dtypes[1])
        offer(help, (struct argp_option){"dtype", DTYPE, "TYPE", 0, help->dtype, INPUTS});
    if (line->more_dtypes && *line->more_dtypes)
        offer(help, (struct argp_option){"out-dtype", OUT_DTYPE, "TYPE", 0, help->out_dtype, INPUTS});
}

static void describe(struct help *help, const struct command_line *line)
{
    offer_sizes(help, line->sizes);
    offer_inputs(help, line->inputs);
    offer_dtypes(help, line);
    for (int i = 0; i < COMMON_COUNT; i++)
        offer(help, common[i]);
    // argp puts what follows \v below the options
    add(help->doc, sizeof help->doc, "%s\vVariants, of which %s unless --variant names one:\n", line->summary,
        line->all_by_default ? "all run" : "the last runs");
    for (const struct variant *variant = line->variants; variant->name; variant++)
        add(help->doc, sizeof help->doc, "  %s: %s\n", variant->name, variant->idea);
}

struct options options_parse(int argc, char **argv, const struct command_line *line)
{
    struct options options = {
        .variants = line->variants,
        .variant = options_variant_count(line->variants) - 1,
        .check = true,
        .time = true,
        .warmup = WARMUP,
        .seed = 1,
        .dtype = line->dtypes[0],
    };
    struct parsing parsing = {.line = line, .options = &options};
    struct help help = {0};
    describe(&help, line);
    const struct argp argp = {.options = help.options, .parser = parse, .doc = help.doc};
    argp_err_exit_status = EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &parsing);
    return options;
}

// ---- sizes ----

void sizes_default(struct size *sizes, bool emulated)
{
    for (; sizes->name; sizes++)
        if (!sizes->value)
            sizes->value = emulated ? sizes->emulator : sizes->gpu;
}

static bool is_left_out(const struct size *size) { return size->hidden || (size->unsaid && !size->value); }

void sizes_to_json(const struct size *sizes, char *json, size_t bytes)
{
    *json = '\0';
    for (const struct size *size = sizes; size->name; size++) {
        char key[64];
        snprintf(key, sizeof key, "%s", size->name);
        for (char *dash; (dash = strchr(key, '-'));)
            *dash = '_';
        if (is_left_out(size))
            continue;
        add(json, bytes, "%s\"%s\":", *json ? "," : "{", key);
        if (size->is_switch)
            add(json, bytes, "%s", size->value ? "true" : "false");
        else
            add(json, bytes, "%lld", size->value);
    }
    add(json, bytes, "}");
}

void sizes_to_flags(const struct size *sizes, char *flags, size_t bytes)
{
    *flags = '\0';
    for (const struct size *size = sizes; size->name; size++) {
        char option[64];
        option_of(size, option, sizeof option);
        if (is_left_out(size) || (size->is_switch && !size->value))
            continue;
        add(flags, bytes, "%s%s", *flags ? " " : "", option);
        if (!size->is_switch)
            add(flags, bytes, " %lld", size->value);
    }
}
