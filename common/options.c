#include "options.h"

#include "exit.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { WARMUP = 3, MAX_ITERS = 100000 };

enum key { VARIANT = 1000, ALL_VARIANTS, ITERS, WARMUP_KEY, SEED, COLD, NO_CHECK, NO_TIME, PROFILE, JSON };

static const struct argp_option description[] = {
    {"variant", VARIANT, "NAME", 0, "run this variant (default: the last)", 10},
    {"all-variants", ALL_VARIANTS, 0, 0, "run each variant in turn", 10},
    {"seed", SEED, "N", 0, "of the random inputs (default 1)", 11},
    {"no-check", NO_CHECK, 0, 0, "do not compare with the reference", 11},
    {"no-time", NO_TIME, 0, 0, "do not time", 12},
    {"iters", ITERS, "N", 0, "timed launches (default 20, fewer above 100 ms)", 12},
    {"warmup", WARMUP_KEY, "N", 0, "launches before the timed ones (default 3)", 12},
    {"cold", COLD, 0, 0, "flush L2 before each launch, instead of rotating over copies", 12},
    {"profile", PROFILE, 0, 0, "count what a launch does, per source line; on a GPU, say how ncu shows it", 13},
    {"json", JSON, "FILE", 0, "append one JSON line per case to FILE", 13},
    {0},
};

struct options options_default(const struct variant *variants)
{
    return (struct options){
        .variants = variants,
        .variant = options_variant_count(variants) - 1,
        .check = true,
        .time = true,
        .warmup = WARMUP,
        .seed = 1,
    };
}

int options_variant_count(const struct variant *variants)
{
    int count = 0;
    while (variants[count].name)
        count++;
    return count;
}

void options_doc(char *doc, size_t size, const char *summary, const struct variant *variants)
{
    int length = snprintf(doc, size, "%s\vVariants:\n", summary);  // argp puts what follows \v below the options
    for (int i = 0; variants[i].name && length < (int)size; i++)
        length += snprintf(doc + length, size - length, "  %s: %s\n", variants[i].name, variants[i].idea);
}

long long options_number(const struct argp_state *state, const char *option, const char *text, long long least,
                         long long most)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno == ERANGE || value < least || value > most)
        argp_error(state, "%s %s: not a whole number from %lld to %lld", option, text, least, most);
    return value;
}

static int find_variant(const struct argp_state *state, const struct variant *variants, const char *name)
{
    char known[512] = "";
    for (int i = 0; variants[i].name; i++) {
        if (strcmp(variants[i].name, name) == 0)
            return i;
        strncat(known, " ", sizeof known - strlen(known) - 1);
        strncat(known, variants[i].name, sizeof known - strlen(known) - 1);
    }
    argp_error(state, "--variant %s: this step has no such variant; it has%s", name, known);
    return 0;
}

// What has been said, beyond what it said: some options contradict each other.
struct said {
    bool variant, iters, warmup;
    const char *json;
};

static void finish(const struct argp_state *state, struct options *options, const struct said *said)
{
    if (said->variant && options->all_variants)
        argp_error(state, "--variant and --all-variants contradict each other");
    if (!options->time && (said->iters || said->warmup || options->cold))
        argp_error(state, "--no-time and --%s contradict each other",
                   said->iters    ? "iters"
                   : said->warmup ? "warmup"
                                  : "cold");
    // Opened before anything runs: a result that cannot be kept is not worth waiting for.
    if (said->json && !(options->json = fopen(said->json, "a")))
        argp_failure(state, EXIT_USAGE, errno, "--json %s", said->json);
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    static struct said said;
    struct options *options = state->input;
    switch (key) {
    case VARIANT:
        said.variant = true;
        options->variant = find_variant(state, options->variants, text);
        break;
    case ALL_VARIANTS: options->all_variants = true; break;
    case ITERS:
        said.iters = true;
        options->iters = (int)options_number(state, "--iters", text, 1, MAX_ITERS);
        break;
    case WARMUP_KEY:
        said.warmup = true;
        options->warmup = (int)options_number(state, "--warmup", text, 0, MAX_ITERS);
        break;
    case SEED: options->seed = (uint64_t)options_number(state, "--seed", text, 0, LLONG_MAX); break;
    case COLD: options->cold = true; break;
    case NO_CHECK: options->check = false; break;
    case NO_TIME: options->time = false; break;
    case PROFILE: options->profile = true; break;
    case JSON: said.json = text; break;
    case ARGP_KEY_ARG: argp_error(state, "what is '%s'? There are only options", text); break;
    case ARGP_KEY_END: finish(state, options, &said); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

const struct argp options_argp = {.options = description, .parser = parse};
