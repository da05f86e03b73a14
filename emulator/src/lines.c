/* Code address → file, line, function, by addr2line from binutils, which every compiler here brings along. It is asked
 * for all unknown addresses together, and its answers are kept. Frames inlined from the emulator's own headers are passed over: the
 * reader wants the line of the kernel. */
#define _GNU_SOURCE
#include "simt.h"
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int first_base(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    *(uintptr_t *)base = info->dlpi_addr;
    return 1; /* the first object is the program */
}

/* As the compiler was given it, or relative to here where it is below. */
static void shorten(char *file)
{
    char cwd[4096];
    if (!getcwd(cwd, sizeof cwd)) return;
    size_t n = strlen(cwd);
    if (!strncmp(file, cwd, n) && file[n] == '/') memmove(file, file + n + 1, strlen(file + n + 1) + 1);
}

static void read_frame(char *where, const char *function, struct source_line *out)
{
    char *colon = strrchr(where, ':');
    if (!colon || where[0] == '?') return;
    out->line = atoi(colon + 1);
    *colon = 0;
    snprintf(out->file, sizeof out->file, "%.*s", (int)sizeof out->file - 1, where);
    shorten(out->file);
    snprintf(out->function, sizeof out->function, "%.*s", (int)sizeof out->function - 1, function);
}

static void resolve_some(const void *const *pcs, unsigned n, struct source_line *out)
{
    static char exe[4096];
    uintptr_t base = 0;
    ssize_t length = readlink("/proc/self/exe", exe, sizeof exe - 1);
    dl_iterate_phdr(first_base, &base);
    exe[length < 0 ? 0 : length] = 0;
    size_t size = 2 * sizeof exe + 20u * n + 64;
    char *command = malloc(size), *at = command;
    if (!command) return;
    at += sprintf(at, "addr2line -a -f -C -i -e '");
    for (const char *c = exe; *c; c++) at += *c == '\'' ? sprintf(at, "'\\''") : sprintf(at, "%c", *c);
    at += sprintf(at, "'");
    /* A return address belongs to the line after the call: step back into it. */
    for (unsigned i = 0; i < n; i++) at += sprintf(at, " 0x%lx", (unsigned long)((uintptr_t)pcs[i] - base - 1));
    sprintf(at, " 2>/dev/null");
    FILE *f = popen(command, "r");
    char function[8192], where[8192];
    unsigned i = ~0u;
    while (f && fgets(function, sizeof function, f)) {
        function[strcspn(function, "\n")] = 0;
        if (!strncmp(function, "0x", 2)) {
            i++;
            continue;
        }
        if (!fgets(where, sizeof where, f)) break;
        where[strcspn(where, "\n")] = 0;
        char *note = strstr(where, " (discriminator");
        if (note) *note = 0;
        bool ours = strstr(where, "/emulator/include/") != NULL;
        if (i < n && !out[i].line && !ours) read_frame(where, function, &out[i]);
    }
    if (f) pclose(f);
    free(command);
}

static struct known { const void *pc; struct source_line line; } *known; /* answers so far, by address */
static unsigned n_known;

static int by_pc(const void *a, const void *b)
{
    const void *x = ((const struct known *)a)->pc, *y = ((const struct known *)b)->pc;
    return (x > y) - (x < y);
}

static const struct known *look_up(const void *pc)
{
    struct known key = {.pc = pc};
    return known ? bsearch(&key, known, n_known, sizeof *known, by_pc) : NULL;
}

static void learn(const void *const *pcs, unsigned n)
{
    struct source_line *lines = calloc(n, sizeof *lines);
    known = realloc(known, (n_known + n) * sizeof *known);
    if (!known || !lines) perror("simt"), exit(2);
    for (unsigned i = 0; i < n; i += 1000) resolve_some(pcs + i, n - i < 1000 ? n - i : 1000, lines + i);
    for (unsigned i = 0; i < n; i++) {
        if (!lines[i].line) snprintf(lines[i].file, sizeof lines[i].file, "%p", pcs[i]);
        known[n_known].pc = pcs[i];
        known[n_known++].line = lines[i];
    }
    qsort(known, n_known, sizeof *known, by_pc);
    free(lines);
}

void lines_resolve(const void *const *pcs, unsigned n, struct source_line *out)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const void **new = malloc((n + 1) * sizeof *new);
    unsigned n_new = 0;
    if (!new) perror("simt"), exit(2);
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < n; i++)
        if (!look_up(pcs[i])) new[n_new++] = pcs[i];
    if (n_new) learn(new, n_new);
    free(new);
    for (unsigned i = 0; i < n; i++) out[i] = look_up(pcs[i])->line;
    pthread_mutex_unlock(&lock);
}

struct source_line lines_of(const void *pc)
{
    struct source_line line;
    lines_resolve(&pc, 1, &line);
    return line;
}

bool lines_same(const void *pc, const void *other)
{
    if (pc == other) return true;
    struct source_line a = lines_of(pc), b = lines_of(other);
    return a.line == b.line && !strcmp(a.file, b.file);
}
