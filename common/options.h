// The options that every step's program takes. An operation adds its own: argp puts the two together.
#ifndef OPTIONS_H
#define OPTIONS_H

#include "step.h"

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct options {
    const struct variant *variants;  // the step's: what --variant may name
    int variant;                     // index of the one to run
    bool all_variants;
    bool check, time, cold, profile;
    int iters, warmup;  // iters 0: as many as timing.c finds right
    uint64_t seed;
    FILE *json;  // NULL: none asked for
};

// What holds where the command line says nothing.
struct options options_default(const struct variant *variants);

// The child parser for the above; its input is a struct options.
extern const struct argp options_argp;

// The text of --help: a line on the operation, and after the options the variants.
void options_doc(char *doc, size_t size, const char *summary, const struct variant *variants);

// A whole number within [least, most], or a usage error that says which option accepts what.
long long options_number(const struct argp_state *state, const char *option, const char *text, long long least,
                         long long most);

int options_variant_count(const struct variant *variants);

#endif
