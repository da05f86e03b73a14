/* Stacks, and the switch between them.
 *
 * A CUDA thread gets a 64 KiB slot: a guard page, then its stack. A switch saves the registers that the ABI asks a
 * callee to keep, changes the stack pointer and restores: about ten nanoseconds on x86-64 and aarch64. Elsewhere, or
 * with SIMT_UCONTEXT defined, ucontext does the same at some twenty times the cost. A thread that ends hands its
 * stack to the next that starts, so a kernel without barriers runs on one warm stack. */
#define _GNU_SOURCE
#include "simt.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define GUARD 4096u

static void fiber_main(void);

#if !defined(SIMT_UCONTEXT) && defined(__x86_64__)
#define SWITCH "x86-64 assembly"
void simt_switch(void **save, void *to);
__asm__(".text\n.globl simt_switch\n.type simt_switch, @function\nsimt_switch:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
        "  ret\n.size simt_switch, .-simt_switch\n");

static void *first_frame(unsigned char *top)
{
    void **sp = (void **)((uintptr_t)top & ~(uintptr_t)15);
    *--sp = NULL;               /* fiber_main's return address: it has none */
    *--sp = (void *)fiber_main; /* where `ret` goes; the six registers below it are don't-cares */
    return sp - 6;
}
#elif !defined(SIMT_UCONTEXT) && defined(__aarch64__)
#define SWITCH "aarch64 assembly"
void simt_switch(void **save, void *to);
__asm__(".text\n.globl simt_switch\n.type simt_switch, %function\nsimt_switch:\n"
        "  sub sp, sp, #160\n"
        "  stp x19, x20, [sp, #0]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n"
        "  stp x25, x26, [sp, #48]\n  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
        "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
        "  mov x2, sp\n  str x2, [x0]\n  mov sp, x1\n"
        "  ldp x19, x20, [sp, #0]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n"
        "  ldp x25, x26, [sp, #48]\n  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
        "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
        "  add sp, sp, #160\n  ret\n.size simt_switch, .-simt_switch\n");

static void *first_frame(unsigned char *top)
{
    void **sp = (void **)((uintptr_t)top & ~(uintptr_t)15) - 20;
    sp[10] = NULL;               /* x29: the end of the frame chain */
    sp[11] = (void *)fiber_main; /* x30: where `ret` goes */
    return sp;
}
#else
#define SWITCH "ucontext"
#include <ucontext.h>
/* The saved "stack pointer" is the address of a ucontext_t: at the stack's top, or on the saver's own stack. */
static void simt_switch(void **save, void *to)
{
    ucontext_t here;
    *save = &here;
    swapcontext(&here, to);
}

static void *first_frame(unsigned char *top)
{
    ucontext_t *context = (ucontext_t *)((uintptr_t)(top - sizeof *context) & ~(uintptr_t)63);
    getcontext(context);
    context->uc_stack.ss_sp = (void *)(((uintptr_t)top & ~(uintptr_t)(STACK_SLOT - 1)) + GUARD);
    context->uc_stack.ss_size = (size_t)((unsigned char *)context - (unsigned char *)context->uc_stack.ss_sp);
    context->uc_link = NULL;
    makecontext(context, fiber_main, 0);
    return context;
}
#endif

static unsigned char *all_stacks; /* every worker's slots, so that a faulting address can be recognised */

const char *fiber_kind(void) { return SWITCH; }

void fiber_init(struct worker *w)
{
    static unsigned n_workers;
    size_t span = (size_t)MAX_THREADS * STACK_SLOT;
    if (!all_stacks) {
        unsigned char *m = mmap(NULL, (MAX_WORKERS + 1) * span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (m == MAP_FAILED) perror("simt: no address space for the threads' stacks"), exit(2);
        all_stacks = (unsigned char *)(((uintptr_t)m + STACK_SLOT - 1) & ~(uintptr_t)(STACK_SLOT - 1));
    }
    w->stacks = all_stacks + n_workers++ * span;
}

static unsigned char *take_stack(struct worker *w)
{
    if (w->n_free_stacks) return w->free_stacks[--w->n_free_stacks];
    unsigned char *slot = w->stacks + (size_t)w->n_stacks++ * STACK_SLOT;
    if (mprotect(slot + GUARD, STACK_SLOT - GUARD, PROT_READ | PROT_WRITE))
        perror("simt: cannot make a thread's stack"), exit(2);
    return slot;
}

/* Tops differ in cache set and in page, or the hot ends of all the stacks would evict each other. It costs up to 15 KiB. */
static void *start_frame(struct worker *w, unsigned thread)
{
    struct thread *t = &w->threads[thread];
    t->stack = take_stack(w);
    unsigned slot = (unsigned)((t->stack - w->stacks) / STACK_SLOT);
    return first_frame(t->stack + STACK_SLOT - slot % 47 * 320);
}

static void run_kernel(struct worker *w)
{
    w->launch->call->thread(w->launch->call->params);
    block_thread_done(w); /* returns when this fiber is to run another thread from its start */
}

static void fiber_main(void)
{
    for (;;) run_kernel(simt_worker);
}

void fiber_start(struct worker *w, unsigned thread)
{
    w->cur = thread;
    simt_switch(&w->main_sp, start_frame(w, thread));
}

void fiber_switch(struct worker *w, unsigned from, unsigned to)
{
    struct thread *t = &w->threads[to];
    void *sp = t->stack ? t->sp : start_frame(w, to);
    w->cur = to;
    simt_switch(&w->threads[from].sp, sp);
}

void fiber_exit(struct worker *w, unsigned next)
{
    void *unused;
    struct thread *t = current(w);
    w->free_stacks[w->n_free_stacks++] = t->stack;
    t->stack = NULL;
    if (next == NO_THREAD) simt_switch(&unused, w->main_sp);
    w->cur = next;
    simt_switch(&unused, w->threads[next].sp);
    __builtin_unreachable();
}

bool fiber_guard_hit(const void *address)
{
    size_t offset = (size_t)((const unsigned char *)address - all_stacks);
    return all_stacks && offset < (size_t)MAX_WORKERS * MAX_THREADS * STACK_SLOT && offset % STACK_SLOT < GUARD;
}
