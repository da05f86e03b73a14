/* Faults in plain words. The first line can be read by a program, `simt: KIND: FILE:LINE`; those that follow say who,
 * what and why. A race lets the launch go on to its end, since others may follow; so does an uninitialised read, which
 * is told only if no race explains it. Anything else stops at once. Always the program ends with status 1. */
#define _GNU_SOURCE
#include "simt.h"
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define MOST_RACES 8

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held for good by a report that ends the program */
static unsigned n_races;
static struct { const void *a, *b; } told[MOST_RACES];

static void stop(void)
{
    fflush(NULL);
    _exit(1);
}

static const char *where(const void *pc)
{
    static char text[4][600];
    static unsigned next;
    struct source_line l = lines_of(pc);
    char *out = text[next++ % 4];
    if (l.line) snprintf(out, sizeof text[0], "%s:%d", l.file, l.line);
    else snprintf(out, sizeof text[0], "%s", l.file);
    return out;
}

const char *report_thread_name(struct worker *w, unsigned thread, char *out, size_t size)
{
    const unsigned *i = w->threads[thread].idx;
    snprintf(out, size, "thread (%u,%u,%u)", i[0], i[1], i[2]);
    return out;
}

static void say_kernel(FILE *f, struct worker *w)
{
    fprintf(f, "  kernel %s, block (%u,%u,%u)\n", w->launch->call->kernel, w->block[0], w->block[1], w->block[2]);
}

/* Has this pair of places been told already? Called with the lock held; if not, it now has. */
static bool told_before(const void *pc, const void *other_pc)
{
    if (n_races >= MOST_RACES) return true;
    for (unsigned i = 0; i < n_races; i++)
        if ((told[i].a == pc && told[i].b == other_pc) || (told[i].b == pc && told[i].a == other_pc)) return true;
    told[n_races].a = pc, told[n_races++].b = other_pc;
    return false;
}

void report_race(struct worker *w, const void *address, unsigned bytes, const char *now, const void *pc, unsigned other,
                 const char *before, const void *other_pc)
{
    char name[256], here[64], there[64];
    pthread_mutex_lock(&lock);
    if (!told_before(pc, other_pc)) {
        fflush(stdout);
        shared_name(w->launch, (unsigned)((const unsigned char *)address - w->arena), name, sizeof name);
        fprintf(stderr, "simt: race in shared memory: %s\n", where(pc));
        say_kernel(stderr, w);
        fprintf(stderr, "  %s %s %s (%u byte%s) at %s\n", report_thread_name(w, w->cur, here, sizeof here), now, name,
                bytes, bytes == 1 ? "" : "s", where(pc));
        fprintf(stderr, "  %s %s it at %s\n", report_thread_name(w, other, there, sizeof there), before, where(other_pc));
        fprintf(stderr, other / WARP == w->cur / WARP
                            ? "  Nothing orders the two lanes of this warp: a __syncwarp() or __syncthreads() is missing between.\n"
                            : "  Nothing orders the two: a __syncthreads() is missing between them.\n");
    }
    pthread_mutex_unlock(&lock);
}

static void say_allocation(FILE *f, const void *address, unsigned bytes)
{
    const struct allocation *a = memory_nearest(address);
    const unsigned char *p = address;
    if (!a) return;
    if (p < a->base) fprintf(f, "  %zu bytes before", (size_t)(a->base - p));
    else if (p + bytes <= a->base + a->bytes) fprintf(f, "  at byte %zu of", (size_t)(p - a->base));
    else if (p < a->base + a->bytes) fprintf(f, "  across the end of");
    else if (p == a->base + a->bytes) fprintf(f, "  right behind the end of");
    else fprintf(f, "  %zu bytes behind the end of", (size_t)(p - a->base - a->bytes));
    fprintf(f, " the %zu-byte allocation made at %s", a->bytes, where(a->made_at));
    if (a->freed) fprintf(f, ", freed at %s", where(a->freed_at));
    fprintf(f, "\n");
}

static void say_access(FILE *f, struct worker *w, const char *kind, const void *pc, const void *address, unsigned bytes,
                       enum access access)
{
    char name[256], who[64];
    const char *verb = access == ACCESS_LOAD || access == ACCESS_VOLATILE_LOAD ? "reads"
                       : access == ACCESS_ATOMIC                                ? "atomically changes"
                                                                                : "writes";
    size_t offset = (size_t)((const unsigned char *)address - w->arena);
    fprintf(f, "simt: %s: %s\n", kind, where(pc));
    say_kernel(f, w);
    report_thread_name(w, w->cur, who, sizeof who);
    if (offset >= SHARED_BYTES) {
        fprintf(f, "  %s %s %u byte%s at %p\n", who, verb, bytes, bytes == 1 ? "" : "s", address);
        if (memory_is_device(address) || memory_is_unified(address)) say_allocation(f, address, bytes);
        return;
    }
    shared_name(w->launch, (unsigned)offset, name, sizeof name);
    fprintf(f, "  %s %s %u byte%s of %s\n", who, verb, bytes, bytes == 1 ? "" : "s", name);
    for (unsigned i = 0; i < w->launch->n_regions; i++) {
        const struct region *r = &w->launch->regions[i];
        if (r->site) fprintf(f, "  %s holds %u bytes, declared at %s:%d\n", r->site->name, r->bytes, r->site->file, r->site->line);
        else if (r->bytes || w->launch->n_regions == 1)
            fprintf(f, "  the launch asked for %u bytes of dynamic shared memory\n", r->bytes);
    }
}

void report_access(struct worker *w, const char *kind, const void *pc, const void *address, unsigned bytes,
                   enum access access, const char *why)
{
    unsigned beyond = (unsigned)((uintptr_t)address & (bytes - 1));
    pthread_mutex_lock(&lock);
    fflush(stdout);
    say_access(stderr, w, kind, pc, address, bytes, access);
    if (beyond)
        fprintf(stderr, "  An access of %u bytes needs an address that is a multiple of %u; this one is %u beyond.\n", bytes,
                bytes, beyond);
    else if (*why)
        fprintf(stderr, "  %s\n", why);
    stop();
    __builtin_unreachable();
}

void report_global_race(struct worker *w, const void *pc, const void *address, unsigned bytes, bool store, unsigned other_block,
                        const char *before, const void *other_pc)
{
    const unsigned *grid = w->launch->call->grid;
    pthread_mutex_lock(&lock);
    if (!told_before(pc, other_pc)) {
        fflush(stdout);
        say_access(stderr, w, "race in global memory", pc, address, bytes, store ? ACCESS_STORE : ACCESS_LOAD);
        fprintf(stderr, "  block (%u,%u,%u) %s it at %s\n", other_block % grid[0], other_block / grid[0] % grid[1],
                other_block / grid[0] / grid[1], before, where(other_pc));
        fprintf(stderr, "  Nothing orders two blocks of a launch: use an atomic operation, or a second launch.\n");
    }
    pthread_mutex_unlock(&lock);
}

/* The first uninitialised read of a launch, kept until its end. */
static char *uninitialised;

void report_uninitialised(struct worker *w, unsigned offset, unsigned bytes, const void *pc, enum access access)
{
    if (__atomic_load_n(&uninitialised, __ATOMIC_ACQUIRE)) return;
    pthread_mutex_lock(&lock);
    size_t size;
    char *text = NULL;
    FILE *f = uninitialised ? NULL : open_memstream(&text, &size);
    if (f) {
        say_access(f, w, "uninitialised shared memory", pc, w->arena + offset, bytes, access);
        fprintf(f, "  No thread of this block has written it.\n");
        fclose(f);
        __atomic_store_n(&uninitialised, text, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
}

void report_finish_launch(void)
{
    if (!n_races && !uninitialised) return;
    fflush(stdout);
    if (n_races == MOST_RACES) fprintf(stderr, "simt: further races are not listed.\n");
    if (!n_races) fputs(uninitialised, stderr);
    stop();
}

/* assert in a kernel; simtcc leads __assert_fail here. On the host it is C's own. */
void simt_assert_fail(const char *condition, const char *file, unsigned line, const char *function)
{
    struct worker *w = simt_worker;
    char who[64];
    fflush(stdout);
    if (!w) {
        fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, condition);
        abort();
    }
    pthread_mutex_lock(&lock);
    fprintf(stderr, "simt: assertion failed: %s:%u\n", file, line);
    say_kernel(stderr, w);
    fprintf(stderr, "  %s found that this does not hold: %s\n", report_thread_name(w, w->cur, who, sizeof who), condition);
    stop();
}

void simt_trap(void)
{
    struct worker *w = simt_worker;
    char who[64];
    pthread_mutex_lock(&lock);
    fflush(stdout);
    fprintf(stderr, "simt: trap: %s\n", where(CALLER()));
    say_kernel(stderr, w);
    fprintf(stderr, "  %s called __trap()\n", report_thread_name(w, w->cur, who, sizeof who));
    stop();
}

static const char *call_name(const struct thread *t)
{
    if (t->wait == WAIT_BLOCK) return "__syncthreads()";
    switch (t->call->kind) {
    case COLLECTIVE_SYNC: return "__syncwarp()";
    case COLLECTIVE_SHUFFLE: return "a shuffle";
    case COLLECTIVE_BALLOT: return "a vote";
    case COLLECTIVE_MATCH: return "a match";
    case COLLECTIVE_REDUCE: return "a warp reduction";
    case COLLECTIVE_ACTIVE: return "__activemask()";
    }
    return "";
}

/* No thread can run: say who waits where, and who has left. */
void report_waiting(struct worker *w)
{
    char first_name[64], last_name[64];
    unsigned n = w->launch->threads, said = 0;
    bool block = false;
    const struct thread *first = NULL;
    struct thread *self = current(w);
    pthread_mutex_lock(&lock);
    fflush(stdout);
    for (unsigned t = 0; t < n; t++) {
        if (w->threads[t].wait == WAIT_NONE || !(warp_of(w, t)->live >> t % WARP & 1)) continue;
        if (w->threads[t].wait == WAIT_BLOCK) block = true;
        if (!first) first = &w->threads[t];
    }
    if (self->wait == WAIT_WARP && !(self->call->mask >> w->cur % WARP & 1)) {
        fprintf(stderr, "simt: divergent collective: %s\n", where(self->pc));
        say_kernel(stderr, w);
        fprintf(stderr, "  %s, lane %u, calls %s with the mask 0x%08x, which does not name it.\n",
                report_thread_name(w, w->cur, first_name, sizeof first_name), w->cur % WARP, call_name(self), self->call->mask);
        stop();
    }
    fprintf(stderr, "simt: %s: %s\n", block ? "barrier deadlock" : "divergent collective", where(first->pc));
    say_kernel(stderr, w);
    for (unsigned t = 0; t < n && said < 12;) {
        const struct thread *a = &w->threads[t];
        bool left = !(warp_of(w, t)->live >> t % WARP & 1);
        unsigned end = t + 1;
        while (end < n && left == !(warp_of(w, end)->live >> end % WARP & 1) &&
               (left || (w->threads[end].pc == a->pc && w->threads[end].wait == a->wait &&
                         (a->wait == WAIT_BLOCK || w->threads[end].call->mask == a->call->mask))))
            end++;
        report_thread_name(w, t, first_name, sizeof first_name);
        report_thread_name(w, end - 1, last_name, sizeof last_name);
        fprintf(stderr, "  %s", first_name);
        if (end - t > 1) fprintf(stderr, " to %s", last_name + strlen("thread "));
        if (left) fprintf(stderr, " %s left the kernel\n", end - t > 1 ? "have" : "has");
        else if (a->wait == WAIT_BLOCK) fprintf(stderr, " wait%s in __syncthreads() at %s\n", end - t > 1 ? "" : "s", where(a->pc));
        else fprintf(stderr, " wait%s in %s, mask 0x%08x, at %s\n", end - t > 1 ? "" : "s", call_name(a), a->call->mask, where(a->pc));
        t = end;
        said++;
    }
    fprintf(stderr, block ? "  Each waits for threads that wait elsewhere: no thread of the block can go on.\n"
                          : "  All lanes that a mask names must make the same call with the same mask.\n");
    stop();
    __builtin_unreachable();
}

/* Two threads in what looks like one barrier, or one collective, but at different lines. */
void report_divergence(struct worker *w, unsigned thread, unsigned other)
{
    char a[64], b[64];
    bool block = w->threads[thread].wait == WAIT_BLOCK;
    pthread_mutex_lock(&lock);
    fflush(stdout);
    fprintf(stderr, "simt: divergent %s: %s\n", block ? "barrier" : "collective", where(w->threads[thread].pc));
    say_kernel(stderr, w);
    fprintf(stderr, "  %s is in %s at %s\n", report_thread_name(w, thread, a, sizeof a), call_name(&w->threads[thread]),
            where(w->threads[thread].pc));
    fprintf(stderr, "  %s is in the one at %s\n", report_thread_name(w, other, b, sizeof b), where(w->threads[other].pc));
    fprintf(stderr, block ? "  A barrier in a branch is right only if all threads of the block take the branch.\n"
                          : "  Lanes that are to meet in a collective must come to it at one place.\n");
    stop();
    __builtin_unreachable();
}

void report_host(const char *kind, const void *pc, const char *why)
{
    pthread_mutex_lock(&lock);
    fflush(stdout);
    fprintf(stderr, "simt: %s: %s\n  %s\n", kind, where(pc), why);
    stop();
    __builtin_unreachable();
}

void report_unsupported(const char *what, const char *file, int line)
{
    fflush(stdout);
    fprintf(stderr, "simt: not supported: %s:%d\n  The emulator does not offer %s.\n", file, line, what);
    _exit(2);
}

/* ---- signals: accesses that no hook saw (plain builds, the host, the C library) ---- */

/* The innermost frame that belongs to the program's own source. */
static const void *own_frame(const void *pc)
{
    void *frames[64];
    int n = backtrace(frames, 64);
    struct source_line l = lines_of((const char *)pc + 1);
    if (l.line) return (const char *)pc + 1;
    for (int i = 0; i < n; i++) {
        l = lines_of(frames[i]);
        if (l.line && !strstr(l.file, "emulator/src/")) return frames[i];
    }
    return (const char *)pc + 1;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
#if defined(__x86_64__)
    const void *pc = (const void *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    const void *pc = (const void *)((ucontext_t *)context)->uc_mcontext.pc;
#else
    const void *pc = NULL;
    (void)context;
#endif
    struct worker *w = simt_worker;
    char who[64];
    pthread_mutex_lock(&lock);
    const void *frame = number == SIGFPE ? (const char *)pc + 1 : own_frame(pc);
    const char *kind = "invalid address", *why = "No memory is mapped there.";
    if (number == SIGFPE) kind = "division by zero", why = "An integer was divided by zero.";
    else if (fiber_guard_hit(info->si_addr))
        kind = "stack overflow", why = "The thread's local variables and calls need more than the emulator's 45 KiB of stack.";
    else if (!w && memory_is_device(info->si_addr))
        kind = "device pointer on the host", why = "Only kernels and the CUDA API may touch that memory: copy it with cudaMemcpy first.";
    fprintf(stderr, "simt: %s: %s\n", kind, where(frame));
    if (w) {
        say_kernel(stderr, w);
        fprintf(stderr, "  %s", report_thread_name(w, w->cur, who, sizeof who));
    } else {
        fprintf(stderr, "  The host");
    }
    if (number == SIGFPE) fprintf(stderr, " divides\n");
    else fprintf(stderr, " touches address %p\n", info->si_addr);
    if (memory_is_device(info->si_addr) || memory_is_unified(info->si_addr)) say_allocation(stderr, info->si_addr, 1);
    fprintf(stderr, "  %s\n", why);
    _exit(1);
}

void report_thread_handlers(void)
{
    size_t bytes = 1 << 18;
    stack_t stack = {.ss_size = bytes};
    stack.ss_sp = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack.ss_sp != MAP_FAILED) sigaltstack(&stack, NULL);
}

void report_install_handlers(void)
{
    static bool done;
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    if (done) return;
    done = true;
    report_thread_handlers();
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
}
