#include "program.h"

#include "exit.h"

#include <argp.h>
#include <cuda_profiler_api.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NUMBERS = 4 };
enum { SEED = 1000, PROFILE, WRITE_OUTPUT, CHECK_OUTPUT, FIRST_NUMBER };

struct parsing {
    struct program program;
    struct number *numbers;
};

static long long read_number(const struct argp_state *state, const char *option, const char *text, long long least,
                             long long most)
{
    char *end;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    if (end == text || *end || errno || number < least || number > most)
        argp_error(state, "%s %s: a whole number from %lld to %lld is wanted", option, text, least, most);
    return number;
}

static FILE *open_file(const struct argp_state *state, const char *option, const char *name, const char *mode)
{
    FILE *file = fopen(name, mode);
    if (!file)
        argp_error(state, "%s %s: %s", option, name, strerror(errno));
    return file;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct parsing *said = state->input;
    struct program *program = &said->program;
    switch (key) {
    case SEED: program->seed = (uint64_t)read_number(state, "--seed", text, 0, INT64_MAX); return 0;
    case PROFILE: program->profile = true; return 0;
    case WRITE_OUTPUT: program->write_output = open_file(state, "--write-output", text, "wb"); return 0;
    case CHECK_OUTPUT: program->check_output = open_file(state, "--check-output", text, "rb"); return 0;
    case ARGP_KEY_ARG: argp_error(state, "what is '%s'? There are only options", text); return 0;
    }
    for (int i = 0; said->numbers[i].name; i++) {
        struct number *number = &said->numbers[i];
        if (key != FIRST_NUMBER + i && (number->name[1] || key != number->name[0]))
            continue;
        char option[32];
        snprintf(option, sizeof option, "%s%s", number->name[1] ? "--" : "-", number->name);
        number->value = (int)read_number(state, option, text, number->least, number->most);
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

struct program program_begin(int argc, char **argv, const char *summary, struct number *numbers)
{
    struct argp_option options[MAX_NUMBERS + 5] = {
        {"seed", SEED, "N", 0, "of the random inputs (default 1)", 1},
        {"profile", PROFILE, 0, 0, "count what the launch does, per source line", 1},
        {"write-output", WRITE_OUTPUT, "FILE", 0, "write the output to FILE", 2},
        {"check-output", CHECK_OUTPUT, "FILE", 0, "check the output that FILE has for this command line", 2},
    };
    char docs[MAX_NUMBERS][128];
    for (int i = 0; numbers[i].name && i < MAX_NUMBERS; i++) {
        const char *name = numbers[i].name;
        snprintf(docs[i], sizeof docs[i], "%s (default %d)", numbers[i].doc, numbers[i].value);
        options[4 + i] = (struct argp_option){
            name[1] ? name : NULL, name[1] ? FIRST_NUMBER + i : name[0], "N", 0, docs[i], 0};
    }
    struct parsing said = {{.seed = 1}, numbers};
    const struct argp argp = {.options = options, .parser = parse, .doc = summary};
    argp_err_exit_status = EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &said);
    if (said.program.profile)
        CUDA(cudaProfilerStart());
    return said.program;
}

void program_output(const struct program *program, void *data, size_t bytes)
{
    if (program->write_output &&
        (fwrite(data, 1, bytes, program->write_output) != bytes || fflush(program->write_output) != 0))
        stop(EXIT_USAGE, "the output cannot be written: %s", strerror(errno));
    if (program->check_output) {
        const size_t found = fread(data, 1, bytes, program->check_output);
        memset((char *)data + found, 0xff, bytes - found);
    }
}

int program_end(const struct program *program, int status)
{
    if (program->profile)
        CUDA(cudaProfilerStop());
    if (status == EXIT_RIGHT && program->check_output && fgetc(program->check_output) != EOF) {
        printf("WRONG: the file goes on behind the output\n");
        return EXIT_WRONG;
    }
    return status;
}
