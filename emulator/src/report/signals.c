/* Signals: accesses that no hook saw, in plain builds, on the host, in the C library; and stacks that are too small. */
#define _GNU_SOURCE
#include "base/signals.h"
#include "base/lines.h"
#include "base/report.h"
#include "block/block.h"
#include "block/fiber.h"
#include "block/worker.h"
#include "memory/memory.h"
#include "memory/protection.h"
#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define MOST_FRAMES 64

/* The innermost frame that belongs to the program's own source. */
static const void *own_frame(const void *pc)
{
    void *frames[MOST_FRAMES];
    int n = backtrace(frames, MOST_FRAMES);
    struct source_line l = lines_of((const char *)pc + 1);
    if (l.line && !strstr(l.file, "emulator/src/"))
        return (const char *)pc + 1;
    for (int i = 0; i < n; i++) {
        l = lines_of(frames[i]);
        if (l.line && !strstr(l.file, "emulator/src/"))
            return frames[i];
    }
    return (const char *)pc + 1;
}

/* Does some function call itself? Frames are linked through the frame pointer (simtcc compiles them so). */
static bool is_recursion(const void **frame, const struct block *b)
{
    const void *returns[MOST_FRAMES];
    unsigned n = 0;
    while (n < MOST_FRAMES && block_is_own_stack(b, b->cur, frame)) {
        for (unsigned i = 0; i < n; i++)
            if (returns[i] == frame[1])
                return true;
        returns[n++] = frame[1];
        frame = (const void **)frame[0];
    }
    return false;
}

static void report_stack(const void *pc, const void **frame)
{
    static char need[128];
    const void *place = own_frame(pc);
    unsigned kib = fiber_stack_bytes() / 1024;
    if (is_recursion(frame, block_here())) {
        snprintf(need, sizeof need,
                 "The thread's local variables and calls need more than the emulator's %u KiB of stack.", kib);
        report_signal("stack overflow", place, NULL, "calls too deeply", need);
    }
    struct source_line l = lines_of(place);
    snprintf(need, sizeof need, "a thread more than %u KiB of local variables", kib);
    report_unsupported(need, l.file, l.line);
}

static void report_host_fault(const void *pc, const void *address)
{
    const struct object *object = NULL;
    const char *kind = "invalid address", *why = "No memory is mapped there.";
    switch (memory_host_fault(address, &object)) {
    case MEMORY_FINE: break;
    case MEMORY_NOT_SYNCHRONISED:
        kind = "managed memory before synchronising";
        why = "A kernel has been launched and may still be using it: call cudaDeviceSynchronize first.";
        break;
    case MEMORY_FREED:
        kind = "use after free";
        why = "That memory has been given back.";
        break;
    case MEMORY_BEYOND:
        kind = "out of bounds";
        why = "That lies outside of every allocation.";
        break;
    case MEMORY_OF_KERNELS:
        kind = "device pointer on the host";
        why = "Only kernels and the CUDA API may touch that memory: copy it with cudaMemcpy first.";
        break;
    }
    report_signal(kind, own_frame(pc), address, "touches address", why);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    const void *pc = NULL, *frame = NULL;
#if defined(__x86_64__)
    pc = (const void *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    frame = (const void *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RBP];
#elif defined(__aarch64__)
    pc = (const void *)((ucontext_t *)context)->uc_mcontext.pc;
    frame = (const void *)((ucontext_t *)context)->uc_mcontext.regs[29];
#else
    (void)context;
#endif
    if (number == SIGFPE)
        report_signal("division by zero", (const char *)pc + 1, NULL, "divides", "An integer was divided by zero.");
    if (!simt_worker)
        report_host_fault(pc, info->si_addr);
    if (fiber_is_stack(info->si_addr))
        report_stack(pc, (const void **)frame);
    report_signal("invalid address", own_frame(pc), info->si_addr, "touches address", "No memory is mapped there.");
}

void signals_install_stack(void)
{
    size_t bytes = 1 << 18;
    stack_t stack = {.ss_size = bytes};
    stack.ss_sp = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack.ss_sp != MAP_FAILED)
        sigaltstack(&stack, NULL);
}

void signals_install(void)
{
    static bool done;
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    if (done)
        return;
    done = true;
    signals_install_stack();
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
}
