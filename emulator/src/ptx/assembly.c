/* Runs inline PTX: an `asm` statement of a kernel comes here with its operands, each time that a thread comes to it. */
#include "ptx/assembly.h"
#include "order/access.h"
#include "ptx/ptx.h"
#include "ptx/read.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define QUIET_BRANCH (1u << 8) /* 4,096 jumps back, and others run: the thread may be polling */

/* Reads the operands as simt_assembly() gets them: addresses of what leaves, bits of what enters. What only leaves holds
 * no number that could be right by chance. */
static void begin(va_list list, const struct simt_assembly_site *site, const struct simt_asm_operand *operands,
                  void **outputs, u64 *slots)
{
    for (int i = 0; i < site->n_outputs + site->n_inputs; i++) {
        if (i < site->n_outputs)
            outputs[i] = va_arg(list, void *);
        slots[i] = operands[i].enters ? va_arg(list, u64) : ~0ull;
    }
}

static void end(const u64 *slots, const struct simt_asm_operand *operands, void *const *outputs, int n)
{
    for (int i = 0; i < n; i++)
        switch (operands[i].bytes) {
        case 4: __builtin_memcpy(outputs[i], &slots[i], 4); break;
        case 8: __builtin_memcpy(outputs[i], &slots[i], 8); break;
        default: memcpy(outputs[i], &slots[i], operands[i].bytes); break;
        }
}

/* A statement's program is read when the first thread comes to it; several may at once, and one of the results stays. */
static const struct program *read_program(struct simt_assembly_site *site, const struct simt_asm_operand *operands,
                                          va_list list, const void *pc)
{
    u64 values[site->n_outputs + site->n_inputs + 1];
    void *outputs[site->n_outputs + 1], *none = NULL;
    begin(list, site, operands, outputs, values);
    struct program *p = ptx_read_program(site, operands, values, pc);
    if (__atomic_compare_exchange_n(&site->parsed, &none, p, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return p;
    free(p->instructions);
    free(p->elements);
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
    void *outputs[site->n_outputs + 1];
    va_start(list, operands);
    begin(list, site, operands, outputs, slots);
    va_end(list);
    for (unsigned i = p->n_arguments; i < p->n_slots; i++)
        slots[i] = ~0ull;
    struct running r = {.slots = slots, .pc = CALLER()};
    while (r.next < p->n) {
        const struct instruction *in = &p->instructions[r.next++];
        if (holds(&r, in))
            in->run(&r, in);
    }
    end(slots, operands, outputs, site->n_outputs);
}

void ptx_branch(struct running *r, const struct instruction *in)
{
    bool back = in->target < r->next;
    r->next = in->target;
    if (!back)
        return;
    may_poll(running(), QUIET_BRANCH, r->pc);
}
