/* simt-translate: turns preprocessed CUDA into C++, for a host compiler to compile against the emulator's headers.
 *
 *     simt-translate [--runtime DIR] [--device FILE] [-o OUT] [IN]
 *
 * IN and OUT default to standard input and output. FILE is IN as it is preprocessed for a GPU, with __CUDA_ARCH__
 * defined: kernels and device functions are taken from there (arch.c).
 * Rewritten are kernels (kernel.c), launches (launch.c), `__shared__` (shared.c), `__device__` and its like (device.c),
 * inline PTX (assembly.c), variables that may be its registers (registers.c), assignments of what functions return (returned.c), loops with nothing in them (here);
 * `#pragma unroll` is dropped, and digraphs are what they stand for (source.c). No
 * token changes its line, so compilers, debuggers and the emulator name the lines that the author wrote. It knows no
 * types and parses no expressions: brackets, and the words in front of them, suffice.
 *
 * What the emulator cannot do is refused here, by name, with status 2; more than one line may be. */
#include "rewrite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The last token of a statement that does nothing: `;`, `continue;`, `{ continue; }`; else i - 1. */
static int nothing_end(int i)
{
    int close = tokens[i].partner;
    if (is(i, ";"))
        return i;
    if (is(i, "continue") && is(i + 1, ";"))
        return i + 1;
    if (!is(i, "{") || close == i)
        return i - 1;
    for (int next = i + 1; next < close; next++) {
        int last = nothing_end(next);
        if (last < next)
            return i - 1;
        next = last;
    }
    return close;
}

/* A loop with nothing in it waits for other threads, and has to let them run: in a build without checks, nothing else in
 * `while (!*flag) ;` would. At `while`, `for` or `do`. What was one statement stays one. */
#define YIELD " (__builtin_is_constant_evaluated() ? (void)0 : ::simt_yield())"
static void polling_loop(int i)
{
    int body = is(i, "do") ? i + 1 : tokens[i + 1].partner + 1;
    if (scope->kind != FUNCTION || !scope->device || tokens[i].ends_do || (!is(i, "do") && !is(i + 1, "(")))
        return;
    while (skip_attribute(body) >= body)
        body = skip_attribute(body) + 1;
    if (nothing_end(body) < body)
        return;
    if (is(body, ";")) {
        put_before(body, YIELD);
    } else if (is(body, "{")) {
        put_after(body, YIELD ";");
    } else {
        put_before(body, "{" YIELD "; ");
        put_after(body + 1, " }");
    }
}

/* The type that `__shared__` at i stands before: its words are not come to one by one. */
static void refuse_shared_type(int i)
{
    while (!is_any(i, "; = [ {") && !is_refused(i))
        i++;
}

static int word(int i)
{
    if (is_refused(i))
        return i;
    if (is_any(i, "while for do"))
        polling_loop(i);
    switch (first_char(i)) {
    case '_':
        if (is(i, "__shared__")) {
            refuse_shared_type(i);
            return shared_declaration(i) - 1;
        }
        if (is(i, "__global__"))
            kernel_declaration(i);
        if (is_any(i, "__host__ __grid_constant__"))
            replace(i, "");
        if (is_any(i, "__launch_bounds__ __cluster_dims__ __maxnreg__") && is(i + 1, "(")) {
            delete (i, tokens[i + 1].partner);
            return tokens[i + 1].partner;
        }
        if (is_any(i, "__device__ __constant__ __managed__"))
            device_declaration(i);
        /* No macro: __attribute__((__noinline__)), as C++'s own headers have it, must stay. */
        if (is(i, "__noinline__") && !is_any(i - 1, "( ,"))
            replace(i, "__attribute__((noinline))");
        if (is_any(i, "__asm__ __asm"))
            assembly(i);
        break;
    case 'a':
        if (is(i, "asm"))
            assembly(i);
        break;
    }
    if (n_arrays)
        shared_use(i);
    local_declaration(i);
    registers_declaration(i);
    return i;
}

static void translate(void)
{
    for (int i = 1; i < end; i++) {
        if (tokens[i].kind == NAME) {
            i = word(i);
            continue;
        }
        if (tokens[i].kind != PUNCTUATION)
            continue;
        switch (first_char(i)) {
        case '[':
            scope_mark_lambda(i);
            if (n_arrays)
                shared_binding(i);
            break;
        case '=':
            if (is(i, "="))
                returned_assignment(i);
            break;
        case '<': {
            bool spaced = is(i, "<<") && is(i + 1, "<") && tokens[i + 1].spaced;
            if ((is(i, "<<<") || spaced) && !is(i - 1, "operator"))
                launch(i);
            break;
        }
        case '{': scope_open(i), head = i + 1; break;
        case '}': scope_close(), head = i + 1; break;
        case ';': head = i + 1; break;
        }
    }
}

int main(int argc, char **argv)
{
    const char *in = NULL, *out = NULL, *runtime = NULL, *device = NULL;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-o") && i + 1 < argc) {
            out = argv[++i];
        } else if (!strcmp(argv[i], "--runtime") && i + 1 < argc) {
            runtime = argv[++i];
        } else if (!strcmp(argv[i], "--device") && i + 1 < argc) {
            device = argv[++i];
        } else if (*argv[i] != '-' && !in) {
            in = argv[i];
        } else {
            fprintf(stderr, "usage: simt-translate [--runtime DIR] [--device FILE] [-o OUT] [IN]\n");
            return 2;
        }
    }
    if (device) {
        arch_merge(in, device, runtime);
    } else {
        source_read(in);
        source_lex(runtime);
    }
    statements_read();
    translate();
    if (refusals)
        return 2;
    source_write(out);
    return 0;
}
