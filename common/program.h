// For a program that makes its inputs, its launch and its check by itself, as some exercises do: its command line, and its
// output, for another process to check.
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

// A number that an option sets: -n, or --rows where the name has more letters.
struct number {
    const char *name, *doc;
    int value;  // the default, then what was said
    int least, most;
};

struct program {
    uint64_t seed;  // of the inputs
    bool profile;   // whether launches are counted, from program_begin() to program_end()
    FILE *write_output, *check_output;
};

// Reads the command line: these numbers, a list that ends with {}, and --seed, --profile, --write-output and
// --check-output. Wrong use ends the program with EXIT_USAGE.
struct program program_begin(int argc, char **argv, const char *summary, struct number *numbers);

// To be called with each result, in host memory, between its computation and its check. With --write-output FILE the result
// goes to FILE; with --check-output FILE it becomes what FILE has in its place, so that the check is about that: bytes that
// FILE is too short for become 0xff, a NaN.
void program_output(const struct program *program, void *data, size_t bytes);

// Returns the status; or EXIT_WRONG where the file goes on behind the output that was to be checked.
int program_end(const struct program *program, int status);

#ifdef __cplusplus
}
#endif
#endif
