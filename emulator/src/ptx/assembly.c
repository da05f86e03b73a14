/* Runs inline PTX: an `asm` statement of a kernel comes here with its operands, each time that a thread comes to it. */
#include "ptx/assembly.h"
#include "base/report.h"
#include "order/access.h"
#include "order/registers.h"
#include "ptx/ptx.h"
#include "ptx/read.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define QUIET_BRANCH (1u << 8) /* 4,096 jumps back, and others run: the thread may be polling */

/* Reads the operands as simt_assembly() gets them: addresses of what leaves, bits of what enters. What only leaves holds no
 * number that could be right by chance. */
static inline __attribute__((always_inline)) void begin(va_list list, const struct simt_assembly_site *site,
                                                        const struct simt_asm_operand *operands, void **places,
                                                        u64 *slots)
{
    const int n_outputs = site->n_outputs, n = n_outputs + site->n_inputs;
    for (int i = 0; i < n_outputs; i++) {
        places[i] = va_arg(list, void *);
        slots[i] = operands[i].enters ? va_arg(list, u64) : ~0ull;
    }
    for (int i = n_outputs; i < n; i++)
        slots[i] = va_arg(list, u64);
}

static void write_output(const struct simt_asm_operand *o, void *place, u64 slot)
{
    switch (o->bytes) {
    case 4: __builtin_memcpy(place, &slot, 4); break;
    case 8: __builtin_memcpy(place, &slot, 8); break;
    default: memcpy(place, &slot, o->bytes); break;
    }
}

static void end(const u64 *slots, const struct simt_asm_operand *operands, void *const *places, int n)
{
    for (int i = 0; i < n; i++)
        write_output(&operands[i], places[i], slots[i]);
}

/* ---- variables, and threads that are watched ---- */

static bool has_variables(const struct simt_assembly_site *site, const struct simt_asm_operand *operands)
{
    bool any = false;
    for (int i = 0; i < site->n_outputs + site->n_inputs; i++)
        any |= operands[i].variable;
    return any;
}

static u64 read_variable(const void *place, unsigned bytes)
{
    u64 value = 0;
    memcpy(&value, place, bytes);
    return value;
}

static void report_foreign(const void *pc)
{
    report_unsupported_at("`wgmma.mma_async` with a result that is no local variable of its thread", pc);
}

/* The same of a statement with variables, of which the addresses come. They stand for registers if they are the thread's own.
 * What lies elsewhere is loaded: its value is in a register that no variable stands for; and sums that go elsewhere would have
 * to be stored behind a wait, so that ptxas would wait at once. late: of those that are left to their instructions nothing is
 * read; NULL: it is not known yet. */
static __attribute__((noinline)) void begin_variables(va_list list, const struct simt_assembly_site *site,
                                                      const struct simt_asm_operand *operands, const bool *late,
                                                      void **places, u64 *slots, const void *pc)
{
    const unsigned char *stack = current(running())->stack;
    const int n = site->n_outputs + site->n_inputs;
    bool all_own = true;
    int first = 0;
    va_list rest;
    va_copy(rest, list);
    for (; late && first < site->n_outputs && late[first]; first++) { /* mostly, all outputs */
        places[first] = va_arg(rest, void *);
        all_own &= (size_t)((const unsigned char *)places[first] - stack) < STACK_SLOT;
    }
    if (!all_own)
        report_foreign(pc);
    for (int i = first; i < n; i++) {
        const struct simt_asm_operand *o = &operands[i];
        places[i] = o->variable ? va_arg(rest, void *) : NULL;
        bool own = (size_t)((const unsigned char *)places[i] - stack) < STACK_SLOT;
        if (!own && i < site->n_outputs)
            report_foreign(pc);
        if (!own && o->variable && simt_checked)
            access_in_manner(places[i], o->bytes, ACCESS_LOAD, AS_WRITTEN, SIMT_SCOPE_SYSTEM, pc);
        slots[i] = ~0ull;
        if (o->enters && !(late && late[i]))
            slots[i] = o->variable ? read_variable(places[i], o->bytes) : va_arg(rest, u64);
        if (!own)
            places[i] = NULL;
    }
    va_end(rest);
}

/* Of such a statement, or of a thread whose stores to its own stack are looked at: where its compiler does without a copy, an
 * output is a variable of the program's. One that nothing has changed is left alone. */
static __attribute__((noinline)) void end_variables(const u64 *slots, const struct simt_asm_operand *operands,
                                                    const bool *late, void *const *places, int n, const void *pc)
{
    struct block *b = running();
    for (int i = 0; i < n; i++) {
        const struct simt_asm_operand *o = &operands[i];
        bool unchanged = late[i] || (o->variable && o->enters &&
                                     read_variable(places[i], o->bytes) == (slots[i] & ptx_bits(o->bytes)));
        if (unchanged)
            continue;
        if (current(b)->watched && block_is_own_stack(b, b->cur, places[i]))
            registers_access(b, places[i], o->bytes, true, pc);
        write_output(o, places[i], slots[i]);
    }
}

/* A statement's program is read when the first thread comes to it; several may at once, and one of the results stays. */
static const struct program *read_program(struct simt_assembly_site *site, const struct simt_asm_operand *operands,
                                          va_list list, const void *pc)
{
    u64 values[site->n_outputs + site->n_inputs + 1];
    void *places[site->n_outputs + site->n_inputs + 1], *none = NULL;
    bool variables = has_variables(site, operands);
    if (variables)
        begin_variables(list, site, operands, NULL, places, values, pc);
    else
        begin(list, site, operands, places, values);
    struct program *p = ptx_read_program(site, operands, values, pc);
    p->variables = variables;
    if (__atomic_compare_exchange_n(&site->parsed, &none, p, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return p;
    free(p->instructions);
    free(p->elements);
    free(p->late);
    free(p);
    return none;
}

static bool holds(const struct running *r, const struct instruction *in)
{
    return !in->guarded || (r->slots[in->guard] & 1) != in->guard_negated;
}

void simt_assembly(struct simt_assembly_site *site, const struct simt_asm_operand *operands, ...)
{
    const struct program *p = __atomic_load_n(&site->parsed, __ATOMIC_ACQUIRE);
    va_list list;
    if (!p) {
        va_start(list, operands);
        p = read_program(site, operands, list, CALLER());
        va_end(list);
    }
    u64 slots[p->n_slots + 1]; /* of a few registers; ptx_read.c limits them */
    void *places[p->n_arguments + 1];
    va_start(list, operands);
    if (p->variables)
        begin_variables(list, site, operands, p->late, places, slots, CALLER());
    else
        begin(list, site, operands, places, slots);
    va_end(list);
    for (unsigned i = p->n_arguments; i < p->n_slots; i++)
        slots[i] = ~0ull;
    bool watched = simt_worker->watched != NO_STACK;
    if (watched)
        registers_check_frames(block_here(), __builtin_frame_address(0), CALLER());
    struct running r = {
        .slots = slots, .places = places, .n_places = p->variables ? p->n_arguments : 0, .pc = CALLER()};
    while (r.next < p->n) {
        const struct instruction *in = &p->instructions[r.next++];
        if (holds(&r, in))
            in->run(&r, in);
    }
    if (p->variables || watched)
        end_variables(slots, operands, p->late, places, site->n_outputs, CALLER());
    else
        end(slots, operands, places, site->n_outputs);
}

void ptx_branch(struct running *r, const struct instruction *in)
{
    bool back = in->target < r->next;
    r->next = in->target;
    if (!back)
        return;
    may_poll(running(), QUIET_BRANCH, r->pc);
}
