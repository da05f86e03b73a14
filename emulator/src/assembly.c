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
    free(p->enters);
    free(p);
    return none;
}

/* Widths are told apart here, since a memcpy() of unknown length would cost more than all the rest. */
static u64 load_value(const void *value, unsigned bytes)
{
    u64 bits = 0;
    switch (bytes) {
    case 2: memcpy(&bits, value, 2); break;
    case 4: memcpy(&bits, value, 4); break;
    case 8: memcpy(&bits, value, 8); break;
    default: memcpy(&bits, value, bytes < sizeof bits ? bytes : sizeof bits);
    }
    return bits;
}

static void store_value(void *value, u64 bits, unsigned bytes)
{
    switch (bytes) {
    case 2: memcpy(value, &bits, 2); break;
    case 4: memcpy(value, &bits, 4); break;
    case 8: memcpy(value, &bits, 8); break;
    default: memcpy(value, &bits, bytes < sizeof bits ? bytes : sizeof bits);
    }
}

/* What only leaves the statement, and its own registers, hold no number that could be right by chance. */
static void begin(u64 *slots, const struct program *p, const struct simt_asm_operand *operands)
{
    for (unsigned i = 0; i < p->n_arguments; i++)
        slots[i] = p->enters[i] ? load_value(operands[i].value, operands[i].bytes) : ~0ull;
    for (unsigned i = p->n_arguments; i < p->n_slots; i++)
        slots[i] = ~0ull;
}

static void end(const u64 *slots, const struct simt_asm_operand *operands, unsigned n_outputs)
{
    for (unsigned i = 0; i < n_outputs; i++)
        store_value(operands[i].value, slots[i], operands[i].bytes);
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
    begin(slots, p, operands);
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
