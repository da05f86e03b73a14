/* A CUDA thread gets an 80 KiB slot: a guard page, then its stack. A switch saves the registers that the ABI asks a
 * callee to keep, changes the stack pointer and restores: about ten nanoseconds on x86-64 and aarch64. Elsewhere, or
 * with SIMT_UCONTEXT defined, ucontext does the same at some twenty times the cost. A thread that ends hands its
 * stack to the next that starts, so a kernel without barriers runs on one warm stack. */
#define _GNU_SOURCE
#include "block/fiber.h"
#include "block/launch.h"
#include "block/worker.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GUARD 4096u

static void fiber_main(void);
static unsigned char *slot_of(unsigned char *address) __attribute__((unused)); /* the portable switch asks */

#if !defined(SIMT_UCONTEXT) && defined(__x86_64__)
#define SWITCH "x86-64 assembly"
#define FRAME_SAVED 5 /* the frame pointer's place among what a switch saves */
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
#define FRAME_SAVED 10
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
    sp[FRAME_SAVED] = NULL;      /* x29: the end of the frame chain */
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
    context->uc_stack.ss_sp = slot_of(top) + GUARD;
    context->uc_stack.ss_size = (size_t)((unsigned char *)context - (unsigned char *)context->uc_stack.ss_sp);
    context->uc_link = NULL;
    makecontext(context, fiber_main, 0);
    return context;
}
#endif

/* ---- slots: all in one range, so that an address in it can be recognised ---- */

#define MOST_SLOTS (1u << 19)
#define MADE_TOGETHER 32u      /* slots: threads come by warps, and each system call for memory takes microseconds */
#define MOST_GUARDS (1u << 14) /* Linux allows 65,530 mappings, and a guard page may be one: stacks beyond have none */
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102 /* Linux 6.13: a guard page that is no mapping of its own */
#endif
#define STAGGER 192u /* tops differ in cache set and in page, or the hot ends of all stacks would evict each other */
#define STAGGERS 47u
#define POISONED 2048u /* bytes of a stack that a new thread finds overwritten: what others left is not for it */

struct stacks {
    unsigned char **unused;
    unsigned n_unused, capacity;
};

static unsigned char *all_slots;
static unsigned n_slots;

const char *fiber_kind(void) { return SWITCH; }

unsigned fiber_stack_bytes(void) { return STACK_SLOT - GUARD - STAGGERS * STAGGER; }

void fiber_init(struct worker *w)
{
    if (!all_slots) {
        size_t span = (size_t)MOST_SLOTS * STACK_SLOT;
        unsigned char *m = mmap(NULL, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (m == MAP_FAILED)
            perror("simt: no address space for the threads' stacks"), exit(2);
        all_slots = m;
    }
    w->stacks = base_reserve(sizeof *w->stacks);
}

static void give_slot(struct stacks *s, unsigned char *slot)
{
    if (s->n_unused == s->capacity) {
        s->capacity = s->capacity ? 2 * s->capacity : MAX_THREADS;
        s->unused = realloc(s->unused, s->capacity * sizeof *s->unused);
        if (!s->unused)
            perror("simt"), exit(2);
    }
    s->unused[s->n_unused++] = slot;
}

/* One that is no mapping of its own costs a tenth of one that is. */
static bool make_guard(unsigned char *slot)
{
    return !madvise(slot, GUARD, MADV_GUARD_INSTALL) || !mprotect(slot, GUARD, PROT_NONE);
}

static void make_slots(struct stacks *s)
{
    unsigned first = __atomic_fetch_add(&n_slots, MADE_TOGETHER, __ATOMIC_RELAXED);
    unsigned char *slots = all_slots + (size_t)first * STACK_SLOT;
    bool made = first + MADE_TOGETHER <= MOST_SLOTS &&
                !mprotect(slots, (size_t)MADE_TOGETHER * STACK_SLOT, PROT_READ | PROT_WRITE);
    for (unsigned i = MADE_TOGETHER; made && i > 0; i--) {
        unsigned char *slot = slots + (size_t)(i - 1) * STACK_SLOT;
        made = first >= MOST_GUARDS || make_guard(slot);
        give_slot(s, slot);
    }
    if (!made) {
        perror("simt: cannot make a thread's stack");
        exit(2);
    }
}

static unsigned char *take_slot(struct stacks *s)
{
    if (!s->n_unused)
        make_slots(s);
    return s->unused[--s->n_unused];
}

static unsigned char *slot_of(unsigned char *address)
{
    return all_slots + (size_t)(address - 1 - all_slots) / STACK_SLOT * STACK_SLOT;
}

static unsigned char *top_of(unsigned char *slot)
{
    size_t number = (size_t)(slot - all_slots) / STACK_SLOT;
    return slot + STACK_SLOT - number % STAGGERS * STAGGER;
}

static void *start_frame(struct block *b, unsigned thread)
{
    struct thread *t = &b->threads[thread];
    t->stack = take_slot(b->worker->stacks);
    return first_frame(top_of(t->stack));
}

/* ---- running ---- */

/* On x86-64 and aarch64 the stack grows down, so all below this frame is free. */
static __attribute__((noinline)) void poison_stack(void)
{
    unsigned char below[POISONED];
    memset(below, 0xff, sizeof below);
    __asm__ volatile("" : : "r"(below) : "memory");
}

static void run_kernel(struct block *b)
{
    if (simt_checked)
        poison_stack();
    b->launch->thread(b->launch->params);
    block_thread_done(running()); /* returns when this fiber is to run another thread from its start */
}

static void fiber_main(void)
{
    for (;;)
        run_kernel(block_here());
}

/* The hooks are told whose stack is the running thread's. */
static void show_stack(struct block *b)
{
    const struct thread *t = current(b);
    b->worker->stack = t->watched ? NO_STACK : t->stack;
    b->worker->watched = t->watched ? t->stack : NO_STACK;
}

void fiber_watch(struct block *b, unsigned thread)
{
    b->threads[thread].watched = true;
    show_stack(b);
}

void fiber_run(struct worker *w, struct block *b)
{
    void *sp = b->started ? current(b)->sp : start_frame(b, b->cur);
    b->started = true;
    w->unsettled = true; /* perhaps, of the block that comes back */
    show_stack(b);
    simt_switch(&w->main_sp, sp);
}

void fiber_switch(struct block *b, unsigned from, unsigned to)
{
    struct thread *t = &b->threads[to];
    void *sp = t->stack ? t->sp : start_frame(b, to);
    b->cur = to;
    show_stack(b);
    simt_switch(&b->threads[from].sp, sp);
}

void fiber_suspend(struct block *b) { simt_switch(&current(b)->sp, b->worker->main_sp); }

void fiber_exit(struct block *b, unsigned next)
{
    void *unused;
    struct thread *t = current(b);
    give_slot(b->worker->stacks, t->stack);
    t->stack = NULL;
    if (next == NO_THREAD)
        simt_switch(&unused, b->worker->main_sp);
    b->cur = next;
    show_stack(b);
    simt_switch(&unused, b->threads[next].sp);
    __builtin_unreachable();
}

void fiber_hand_over(struct block *b, unsigned from, unsigned to)
{
    b->threads[to].stack = b->threads[from].stack;
    b->threads[from].stack = NULL;
    b->cur = to;
    show_stack(b);
    b->quiet = 0;
}

void fiber_abandon(struct block *b)
{
    void *unused;
    simt_switch(&unused, b->worker->main_sp);
    __builtin_unreachable();
}

void fiber_free_stacks(struct block *b)
{
    for (unsigned t = 0; t < b->launch->threads; t++) {
        if (b->threads[t].stack)
            give_slot(b->worker->stacks, b->threads[t].stack);
        b->threads[t].stack = NULL;
    }
}

/* Everything of the emulator and of kernels keeps frame pointers: [frame] is the caller's, [frame + 1] where it goes on. */
unsigned fiber_callers(const struct block *b, unsigned thread, const void *pc, const void **out, unsigned most)
{
    unsigned n = 0;
    bool inside = false;
    const struct thread *t = &b->threads[thread];
#ifdef FRAME_SAVED
    bool runs = thread == b->cur && b == b->worker->block;
    if (!t->stack)
        return 0; /* it has ended */
    const void **frame = runs ? __builtin_frame_address(0) : ((const void ***)t->sp)[FRAME_SAVED];
#else
    const void **frame = NULL;
#endif
    while ((size_t)((const unsigned char *)frame - t->stack) < STACK_SLOT - 2 * sizeof *frame && n < most) {
        const void **next = (const void **)frame[0];
        if (inside)
            out[n++] = frame[1];
        inside |= frame[1] == pc;
        if (next <= frame)
            break;
        frame = next;
    }
    return n;
}

static bool within(const void *address, unsigned slots)
{
    return all_slots && (size_t)((const unsigned char *)address - all_slots) < (size_t)slots * STACK_SLOT;
}

/* Slots that no thread has had yet are nobody's memory. */
bool fiber_is_stack(const void *address) { return within(address, __atomic_load_n(&n_slots, __ATOMIC_RELAXED)); }
bool fiber_is_reserved(const void *address) { return within(address, MOST_SLOTS); }
