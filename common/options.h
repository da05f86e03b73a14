// The command line of every step's program: the options that all have, and the sizes and inputs of its operation.
#ifndef OPTIONS_H
#define OPTIONS_H

#include "step.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

// One of the numbers that say what a case is, such as -m 4096 or --kv-heads 2; or a switch, such as --causal.
struct size {
    const char *name;     // of the option; one letter is a short one. In JSON, with _ for -
    const char *doc;      // for --help
    long long gpu;        // the default on a GPU, and
    long long emulator;   // on the emulator; 0: the operation finds one itself
    const int *accepted;  // ends with 0; NULL: from 1 to `most`
    long long most;       // 0: 2^30
    int multiple;         // of what it has to be; 0: of 1
    bool is_switch;
    bool unsaid;      // where it is 0, the JSON line does not have it
    bool hidden;      // not offered here
    long long value;  // as the command line says; 0: nothing
};

// Of operations whose steps can do with gaps between rows.
#define ROW_PADDING_SIZE \
    {.name = "row-padding", \
     .doc = "elements between a row and the next, beside what 16-byte rows need (default 0)", \
     .multiple = 8, \
     .unsaid = true}

// Of steps that can print how their tiles lie in shared memory.
#define LAYOUT_SIZE \
    {.name = "layout", \
     .doc = "print how the tiles lie in shared memory, and run nothing", \
     .is_switch = true, \
     .unsaid = true}

// One kind of input that --input takes.
struct input_kind {
    const char *name, *doc;
};

// What an operation offers. Its lists end with {}, those of types with 0.
struct command_line {
    const char *summary;  // a line, for --help
    const struct variant *variants;
    bool all_by_default;  // all variants run, unless --variant names one; else it is the last
    struct size *sizes;
    const struct input_kind *inputs;         // the first is the default; NULL: there is no --input
    const enum dtype *dtypes, *more_dtypes;  // of the inputs, the default first; of the output, beside that. NULL: none
};

struct options {
    const struct variant *variants;
    int variant;  // index of the one to run
    bool all_variants;
    bool check, time, cold, profile;
    int iters, warmup;  // iters 0: as many as timing.c finds right
    uint64_t seed;
    int input;                    // index of the kind
    enum dtype dtype, out_dtype;  // of the inputs, and of the output
    FILE *json;                   // NULL: none asked for
    FILE *write_output;           // where the outputs of one launch go, unchecked; NULL: nowhere
    FILE *check_output;           // where the outputs to be checked are; NULL: on the device, after a launch
};

// Reads the command line; the sizes go into command_line->sizes. A mistake ends the program: what was wrong, what is
// accepted, status 2.
struct options options_parse(int argc, char **argv, const struct command_line *command_line);

int options_variant_count(const struct variant *variants);

// Calls the function with each variant that was asked for. Returns EXIT_RIGHT.
int options_each_variant(const struct options *options, void (*function)(int variant));

// Gives each size that the command line left open its default.
void sizes_default(struct size *sizes, bool emulated);

// The sizes as the JSON line has them, {"m":64,"kv_heads":2,"causal":false}, and as the command line does.
void sizes_to_json(const struct size *sizes, char *json, size_t bytes);
void sizes_to_flags(const struct size *sizes, char *flags, size_t bytes);

#endif
