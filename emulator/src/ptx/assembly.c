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

static u64 read_variable(const void *place, unsigned bytes)
{
    u64 value = 0;
    if (bytes == 4)
        __builtin_memcpy(&value, place, 4);
    else
        memcpy(&value, place, bytes);
    return value;
}

/* Reads the operands as simt_assembly() gets them: addresses of what leaves and of variables, bits of what enters. What
 * only leaves holds no number that could be right by chance. late: of those that are left to their instructions nothing is read;
 * NULL: it is not known yet. */
static void begin(va_list list, const struct simt_assembly_site *site, const struct simt_asm_operand *operands,
                  const bool *late, void **places, u64 *slots)
{
    for (int i = 0; i < site->n_outputs + site->n_inputs; i++) {
        const struct simt_asm_operand *o = &operands[i];
        if (late && late[i]) {
            places[i] = va_arg(list, void *);
            continue;
        }
        bool addressed = i < site->n_outputs || o->variable;
        places[i] = addressed ? va_arg(list, void *) : NULL;
        slots[i] = ~0ull;
        if (o->enters)
            slots[i] = o->variable ? read_variable(places[i], o->bytes) : va_arg(list, u64);
    }
}

/* A variable that nothing has changed is left alone. */
static bool is_left(const struct simt_asm_operand *o, const void *place, u64 slot)
{
    return o->variable && o->enters && read_variable(place, o->bytes) == (slot & ptx_bits(o->bytes));
}

/* watched: the thread's stores to its own stack are looked at, and where the compiler does without a copy an output is a variable
 * of the program's. */
static void end(const u64 *slots, const struct simt_asm_operand *operands, const bool *late, void *const *places, int n,
                bool watched, const void *pc)
{
    for (int i = 0; i < n; i++) {
        if (late[i] || is_left(&operands[i], places[i], slots[i]))
            continue;
        if (watched && block_is_own_stack(block_here(), block_here()->cur, places[i]))
            registers_access(block_here(), places[i], operands[i].bytes, ACCESS_STORE, pc);
        switch (operands[i].bytes) {
        case 4: __builtin_memcpy(places[i], &slots[i], 4); break;
        case 8: __builtin_memcpy(places[i], &slots[i], 8); break;
        default: memcpy(places[i], &slots[i], operands[i].bytes); break;
        }
    }
}

/* Variables stand for registers if they are the thread's own. What lies elsewhere is loaded: its value is in a register that no
 * variable stands for; and the sums of a product, which would have to be stored behind a wait, ptxas would make wait at once. */
static void check_variables(const struct simt_assembly_site *site, const struct simt_asm_operand *operands,
                            void **places, const void *pc)
{
    struct block *b = running();
    for (int i = 0; i < site->n_outputs + site->n_inputs; i++) {
        if (!operands[i].variable || block_is_own_stack(b, b->cur, places[i]))
            continue;
        if (i < site->n_outputs)
            report_unsupported_at("`wgmma.mma_async` with a result that is no local variable of its thread", pc);
        if (simt_checked)
            access_in_manner(places[i], operands[i].bytes, ACCESS_LOAD, AS_WRITTEN, SIMT_SCOPE_SYSTEM, pc);
        places[i] = NULL;
    }
}

/* A statement's program is read when the first thread comes to it; several may at once, and one of the results stays. */
static const struct program *read_program(struct simt_assembly_site *site, const struct simt_asm_operand *operands,
                                          va_list list, const void *pc)
{
    u64 values[site->n_outputs + site->n_inputs + 1];
    void *places[site->n_outputs + site->n_inputs + 1], *none = NULL;
    begin(list, site, operands, NULL, places, values);
    struct program *p = ptx_read_program(site, operands, values, pc);
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
    begin(list, site, operands, p->late, places, slots);
    va_end(list);
    if (p->n_arguments && operands[0].variable)
        check_variables(site, operands, places, CALLER());
    for (unsigned i = p->n_arguments; i < p->n_slots; i++)
        slots[i] = ~0ull;
    bool watched = simt_checked && current(block_here())->watched;
    if (watched)
        registers_check_frames(block_here(), __builtin_frame_address(0), CALLER());
    struct running r = {.slots = slots, .places = places, .n_places = p->n_arguments, .pc = CALLER()};
    while (r.next < p->n) {
        const struct instruction *in = &p->instructions[r.next++];
        if (holds(&r, in))
            in->run(&r, in);
    }
    end(slots, operands, p->late, places, site->n_outputs, watched, CALLER());
}

void ptx_branch(struct running *r, const struct instruction *in)
{
    bool back = in->target < r->next;
    r->next = in->target;
    if (!back)
        return;
    may_poll(running(), QUIET_BRANCH, r->pc);
}
