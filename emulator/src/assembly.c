/* Runs inline PTX: an `asm` statement of a kernel comes here with its operands, each time that a thread comes to it. */
#include "access.h"
#include "ptx.h"
#include "report.h"
#include <stdlib.h>
#include <string.h>

#define QUIET_BRANCH (1u << 8) /* 4,096 jumps back, and others run: the thread may be polling */

/* A statement's program is read when the first thread comes to it; several may at once, and one of the results stays. */
static const struct program *program_of(struct simt_assembly_site *site, const struct simt_asm_operand *operands)
{
    struct program *p = __atomic_load_n(&site->parsed, __ATOMIC_ACQUIRE);
    void *none = NULL;
    if (p)
        return p;
    p = ptx_read_program(site, operands);
    if (__atomic_compare_exchange_n(&site->parsed, &none, p, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return p;
    free(p->instructions);
    free(p->elements);
    free(p);
    return none;
}

static u64 load_operand(const struct simt_asm_operand *o)
{
    u64 value = 0;
    memcpy(&value, o->value, o->bytes < sizeof value ? o->bytes : sizeof value);
    return value;
}

/* What only leaves the statement, and its own registers, hold no number that could be right by chance. */
static void begin(u64 *slots, const struct program *p, const struct simt_asm_operand *operands, unsigned n_outputs)
{
    for (unsigned i = 0; i < p->n_slots; i++) {
        bool enters = i < p->n_arguments && (i >= n_outputs || strchr(operands[i].constraint, '+'));
        slots[i] = enters ? load_operand(&operands[i]) : ~0ull;
    }
}

static void end(const u64 *slots, const struct simt_asm_operand *operands, unsigned n_outputs)
{
    for (unsigned i = 0; i < n_outputs; i++)
        memcpy(operands[i].value, &slots[i], operands[i].bytes < sizeof *slots ? operands[i].bytes : sizeof *slots);
}

static bool holds(const struct running *r, const struct instruction *in)
{
    return !in->guarded || (r->slots[in->guard] & 1) != in->guard_negated;
}

void simt_assembly(struct simt_assembly_site *site, struct simt_asm_operand *operands)
{
    const struct program *p = program_of(site, operands);
    unsigned n_outputs = (unsigned)site->n_outputs;
    u64 slots[p->n_slots + 1]; /* of a few registers; ptx_read.c limits them */
    struct running r = {.slots = slots, .pc = CALLER()};
    begin(slots, p, operands, n_outputs);
    while (r.next < p->n) {
        const struct instruction *in = &p->instructions[r.next++];
        if (holds(&r, in))
            in->run(&r, in);
    }
    end(slots, operands, n_outputs);
}

void ptx_branch(struct running *r, const struct instruction *in)
{
    bool back = in->target < r->next;
    r->next = in->target;
    if (!back)
        return;
    moves_on(simt_worker);
    may_poll(running(), QUIET_BRANCH, r->pc);
}
