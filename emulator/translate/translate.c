/* simt-translate: turns preprocessed CUDA into C++, for a host compiler to compile against the emulator's headers.
 *
 *     simt-translate [--runtime DIR] [-o OUT] [IN]        IN and OUT default to standard input and output
 *
 * Rewritten are launches (launch.c), `__shared__` (shared.c), `__device__` and its like (device.c); `#pragma unroll`
 * is dropped (source.c). No token changes its line, so compilers, debuggers and the emulator name the lines that
 * the author wrote. It knows no types and parses no expressions: brackets, and the words in front of them, suffice.
 *
 * What the emulator cannot do is refused here, by name, with status 2; more than one line may be. */
#include "rewrite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first thing that inline assembly does: "{\n\t.reg .pred p;\n\tmov.u32 %0, %laneid;\n}" → mov.u32 %0, %laneid */
static char *first_instruction(int string)
{
    char *text = format("%s", "");
    for (; tokens[string].kind == STRING; string++) {
        char *more = source_text(string, string), *from = strchr(more, '"') + 1;
        more[strlen(more) - 1] = '\0';
        text = format("%s%s", text, from);
    }
    for (char *p = text; *p; p++)
        if (p[0] == '\\' && (p[1] == 'n' || p[1] == 't')) p[0] = ';', p[1] = ' ';
    for (char *part = strtok(text, ";{}"); part; part = strtok(NULL, ";{}")) {
        part += strspn(part, " \t\n");
        if (*part && *part != '.') return part;
    }
    return "";
}

static void assembly(int i)
{
    int open = i + 1;
    while (is_any(open, "volatile __volatile__ goto inline")) open++;
    bool renames = tokens[i - 1].kind == NAME && !is_any(i - 1, "else do"); /* int f asm("g") */
    if (scope->kind != FUNCTION || renames || !is(open, "(")) return;
    char *instruction = first_instruction(open + 1);
    if (*instruction) refuse(i, "inline PTX `%s` is not supported by the emulator", instruction);
}

static bool is_texture(int i)
{
    static const char *const begin[] = {"tex1D",  "tex2D",  "tex3D",  "texCubemap",
                                        "surf1D", "surf2D", "surf3D", "surfCubemap"};
    char *name = source_text(i, i);
    bool texture = is_any(i, "cudaCreateTextureObject cudaCreateSurfaceObject");
    for (size_t b = 0; b < sizeof begin / sizeof *begin; b++) texture |= !strncmp(name, begin[b], strlen(begin[b]));
    free(name);
    return texture && is_any(i + 1, "( <") && !is_any(i - 1, ". ->");
}

static int word(int i)
{
    switch (first_char(i)) {
    case '_':
        if (is(i, "__shared__")) return shared_declaration(i) - 1;
        if (is_any(i, "__device__ __constant__ __managed__")) device_declaration(i);
        /* No macro: __attribute__((__noinline__)), as C++'s own headers have it, must stay. */
        if (is(i, "__noinline__") && !is_any(i - 1, "( ,")) replace(i, "__attribute__((noinline))");
        if (is_any(i, "__asm__ __asm")) assembly(i);
        if (is(i, "__cluster_dims__"))
            refuse(i, "`__cluster_dims__` (thread block clusters) is not supported by the emulator");
        break;
    case 'a':
        if (is(i, "asm")) assembly(i);
        break;
    case 'c': case 's': case 't':
        if (is_texture(i))
            refuse(i, "`%s` (textures and surfaces) is not supported by the emulator", source_text(i, i));
        break;
    }
    if (n_arrays) shared_use(i);
    return i;
}

static void translate(void)
{
    for (int i = 1; i < end; i++) {
        if (tokens[i].kind == NAME) {
            i = word(i);
            continue;
        }
        if (tokens[i].kind != PUNCTUATION) continue;
        switch (first_char(i)) {
        case '[': scope_mark_lambda(i); break;
        case '<': {
            bool spaced = is(i, "<<") && is(i + 1, "<") && tokens[i + 1].spaced;
            if ((is(i, "<<<") || spaced) && !is(i - 1, "operator")) launch(i);
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
    const char *in = NULL, *out = NULL, *runtime = NULL;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-o") && i + 1 < argc) {
            out = argv[++i];
        } else if (!strcmp(argv[i], "--runtime") && i + 1 < argc) {
            runtime = argv[++i];
        } else if (*argv[i] != '-' && !in) {
            in = argv[i];
        } else {
            fprintf(stderr, "usage: simt-translate [--runtime DIR] [-o OUT] [IN]\n");
            return 2;
        }
    }
    source_read(in);
    source_lex(runtime);
    translate();
    if (refusals) return 2;
    source_write(out);
    return 0;
}
