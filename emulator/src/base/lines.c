/* Code address → file, line, function, by addr2line from binutils, which every compiler here brings along. It is asked
 * for all unknown addresses of an object, the program or a shared one, together, and its answers are kept. Frames
 * inlined from the emulator's own headers are passed over: the reader wants the line of the kernel. */
#define _GNU_SOURCE
#include "base/lines.h"
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- objects ---- */

struct search {
    uintptr_t pc;
    struct code_object *out;
    bool found;
};

static int holds(struct dl_phdr_info *info, size_t size, void *of)
{
    struct search *s = of;
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        if (h->p_type != PT_LOAD || s->pc - info->dlpi_addr - h->p_vaddr >= h->p_memsz)
            continue;
        s->found = true;
        s->out->base = info->dlpi_addr;
        snprintf(s->out->file, sizeof s->out->file, "%s", info->dlpi_name);
    }
    return s->found;
}

bool lines_object(const void *pc, struct code_object *out)
{
    struct search s = {.pc = (uintptr_t)pc, .out = out};
    dl_iterate_phdr(holds, &s);
    if (!s.found || out->file[0])
        return s.found;
    ssize_t length = readlink("/proc/self/exe", out->file, sizeof out->file - 1); /* the program has no name */
    out->file[length < 0 ? 0 : length] = 0;
    return length > 0;
}

/* ---- addr2line and objdump ---- */

static pthread_mutex_t tool_lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t tool; /* runs now, or 0 */

static bool start_tool(char *const *command, int output)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t id;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output, 1);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int error = posix_spawnp(&id, command[0], &files, &attributes, command, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (!error)
        __atomic_store_n(&tool, id, __ATOMIC_SEQ_CST);
    return !error;
}

FILE *lines_tool(char *const *command)
{
    int ends[2];
    FILE *f = NULL;
    pthread_mutex_lock(&tool_lock);
    if (!pipe2(ends, O_CLOEXEC)) {
        bool started = start_tool(command, ends[1]);
        close(ends[1]);
        if (started)
            f = fdopen(ends[0], "r");
        else
            close(ends[0]);
    }
    if (!f)
        pthread_mutex_unlock(&tool_lock);
    return f;
}

static void bury(pid_t id)
{
    while (id && waitpid(id, NULL, 0) < 0)
        if (errno != EINTR)
            break;
}

void lines_tool_end(FILE *f)
{
    fclose(f);
    bury(__atomic_exchange_n(&tool, 0, __ATOMIC_SEQ_CST));
    pthread_mutex_unlock(&tool_lock);
}

void lines_tool_kill(void)
{
    pid_t id = __atomic_exchange_n(&tool, 0, __ATOMIC_SEQ_CST);
    if (!id)
        return;
    kill(id, SIGKILL);
    bury(id);
}

/* ---- what addr2line says ---- */

/* As the compiler was given it, or relative to here where it is below. */
static void shorten(char *file)
{
    char cwd[4096];
    if (!getcwd(cwd, sizeof cwd))
        return;
    size_t n = strlen(cwd);
    if (!strncmp(file, cwd, n) && file[n] == '/')
        memmove(file, file + n + 1, strlen(file + n + 1) + 1);
}

/* "FILE:LINE"; 0, and nothing read, where that is not known. */
static int read_place(const char *where, char *file, size_t size)
{
    const char *colon = strrchr(where, ':');
    if (!colon || where[0] == '?')
        return 0;
    snprintf(file, size, "%.*s", (int)(colon - where), where);
    shorten(file);
    return atoi(colon + 1);
}

/* Frames come innermost first. */
static void read_frame(const char *where, const char *function, struct source_line *out)
{
    if (out->line) {
        out->caller_line = read_place(where, out->caller, sizeof out->caller);
        return;
    }
    out->line = read_place(where, out->file, sizeof out->file);
    snprintf(out->function, sizeof out->function, "%.*s", (int)sizeof out->function - 1, function);
}

/* Reads its answers: for each address "0x…", then a function and a place for each frame that is inlined there. */
static void read_answers(FILE *f, const unsigned *which, unsigned n, struct source_line *out)
{
    char *function = NULL, *where = NULL;
    size_t function_size = 0, where_size = 0;
    unsigned i = ~0u;
    while (getline(&function, &function_size, f) > 0) {
        function[strcspn(function, "\n")] = 0;
        if (!strncmp(function, "0x", 2)) {
            i++;
            continue;
        }
        if (getline(&where, &where_size, f) <= 0)
            break;
        where[strcspn(where, "\n")] = 0;
        char *note = strstr(where, " (discriminator");
        if (note)
            *note = 0;
        bool wrapper = strstr(where, "/emulator/include/") || strstr(where, "/ptx/");
        if (i >= n)
            continue;
        if (!out[which[i]].line && strstr(where, "/emulator/include/vector_types.h"))
            out[which[i]].of_vector = true;
        if (!wrapper)
            read_frame(where, function, &out[which[i]]);
    }
    free(function);
    free(where);
}

/* Addresses pcs[which[0 … n - 1]] of one object. */
static void resolve_some(const struct code_object *object, const void *const *pcs, const unsigned *which, unsigned n,
                         struct source_line *out)
{
    enum { WORDS = 7, DIGITS = 20 };
    char **command = calloc(WORDS + n + 1, sizeof *command), *text = malloc((size_t)n * DIGITS + 1);
    char *const head[WORDS] = {"addr2line", "-a", "-f", "-C", "-i", "-e", (char *)object->file};
    if (!command || !text) {
        perror("simt");
        exit(2);
    }
    memcpy(command, head, sizeof head);
    /* A return address belongs to the line after the call: step back into it. */
    for (unsigned i = 0; i < n; i++) {
        command[WORDS + i] = text + (size_t)i * DIGITS;
        snprintf(command[WORDS + i], DIGITS, "0x%lx", (unsigned long)((uintptr_t)pcs[which[i]] - object->base - 1));
    }
    FILE *f = lines_tool(command);
    if (f) {
        read_answers(f, which, n, out);
        lines_tool_end(f);
    }
    free(command);
    free(text);
}

/* The C library and its like, which may have lines too where debug symbols are installed: nobody wants to read them. */
static bool is_of_system(const struct code_object *o)
{
    static const char *const places[] = {"/lib", "/usr/lib", "linux-vdso"};
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++)
        if (!strncmp(o->file, places[i], strlen(places[i])))
            return true;
    return false;
}

/* Each object's addresses together, at most MOST at a time. */
static void resolve_all(const void *const *pcs, unsigned n, struct source_line *out)
{
    enum { MOST = 1000 };
    unsigned which[MOST];
    bool *done = calloc(n, sizeof *done);
    if (!done) {
        perror("simt");
        exit(2);
    }
    for (unsigned first = 0; first < n; first++) {
        struct code_object object, other;
        if (done[first] || !lines_object(pcs[first], &object))
            continue;
        unsigned n_which = 0;
        for (unsigned i = first; i < n && n_which < MOST; i++) {
            if (done[i] || !lines_object(pcs[i], &other) || other.base != object.base)
                continue;
            done[i] = true;
            which[n_which] = i;
            n_which++;
        }
        if (!is_of_system(&object))
            resolve_some(&object, pcs, which, n_which, out);
    }
    free(done);
}

/* ---- answers so far ---- */

static struct known {
    const void *pc;
    struct source_line line;
} *known; /* answers so far, by address */
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
    if (!known || !lines) {
        perror("simt");
        exit(2);
    }
    resolve_all(pcs, n, lines);
    for (unsigned i = 0; i < n; i++) {
        if (!lines[i].line)
            snprintf(lines[i].file, sizeof lines[i].file, "%p", pcs[i]);
        known[n_known] = (struct known){pcs[i], lines[i]};
        n_known++;
    }
    qsort(known, n_known, sizeof *known, by_pc);
    free(lines);
}

void lines_resolve(const void *const *pcs, unsigned n, struct source_line *out)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const void **new = malloc((n + 1) * sizeof *new);
    unsigned n_new = 0;
    if (!new) {
        perror("simt");
        exit(2);
    }
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < n; i++)
        if (!look_up(pcs[i]))
            new[n_new++] = pcs[i];
    if (n_new)
        learn(new, n_new);
    free(new);
    for (unsigned i = 0; i < n; i++)
        out[i] = look_up(pcs[i])->line;
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
    if (pc == other)
        return true;
    struct source_line a = lines_of(pc), b = lines_of(other);
    return a.line == b.line && !strcmp(a.file, b.file);
}

bool lines_same_call(const void *pc, const void *other)
{
    if (pc == other)
        return true;
    if (!lines_same(pc, other))
        return false;
    struct source_line a = lines_of(pc), b = lines_of(other);
    return a.caller_line == b.caller_line && !strcmp(a.caller, b.caller);
}

bool lines_of_vector(const void *pc) { return lines_of(pc).of_vector; }
