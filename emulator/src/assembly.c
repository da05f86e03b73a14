/* Inline PTX: special registers, barriers and fences, as many instructions as an `asm` holds. Anything else is refused when
 * a thread comes to it. A text is read once, into instructions with their operands. */
#define _GNU_SOURCE
#include "base.h"
#include "block.h"
#include "collective.h"
#include "device.h"
#include "launch.h"
#include "report.h"
#include "special.h"
#include "worker.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OPERANDS 2

struct operand {
    enum { CONSTANT, ARGUMENT, SPECIAL } kind; /* ARGUMENT: %0, %1, … of the statement */
    u64 value;                                 /* or the number of the argument */
    special_register *special;
};

struct running { /* an instruction that is being done */
    struct simt_asm_operand *arguments;
    const struct operand *operands;
    unsigned n;
    const void *pc;
};

struct row {
    const char *name;
    unsigned least, most; /* operands */
    void (*run)(const struct running *r);
};

struct instruction {
    const struct row *row;
    struct operand operands[MOST_OPERANDS];
    unsigned n;
};

struct program {
    unsigned n;
    struct instruction instructions[];
};

/* ---- instructions ---- */

static u64 read_operand(const struct running *r, unsigned i)
{
    const struct operand *o = &r->operands[i];
    u64 value = o->value;
    if (o->kind == SPECIAL)
        return o->special(running());
    if (o->kind == ARGUMENT) {
        const struct simt_asm_operand *a = &r->arguments[o->value];
        value = 0;
        memcpy(&value, a->value, a->bytes < sizeof value ? a->bytes : sizeof value);
    }
    return value;
}

static void move(const struct running *r)
{
    u64 value = read_operand(r, 1);
    const struct simt_asm_operand *a = &r->arguments[r->operands[0].value];
    memcpy(a->value, &value, a->bytes < sizeof value ? a->bytes : sizeof value);
}

static void barrier(const struct running *r)
{
    block_barrier((unsigned)read_operand(r, 0), r->n > 1 ? (unsigned)read_operand(r, 1) : 0, r->pc);
}
static void warp_barrier(const struct running *r) { collective_sync((unsigned)read_operand(r, 0), r->pc); }
static void fence_block(const struct running *r) { (void)r, simt_fence(SIMT_SCOPE_BLOCK); }
static void fence_device(const struct running *r) { (void)r, simt_fence(SIMT_SCOPE_DEVICE); }
static void fence_system(const struct running *r) { (void)r, simt_fence(SIMT_SCOPE_SYSTEM); }
static void trap(const struct running *r) { report_call("trap", r->pc, "came to the instruction trap", ""); }
static void pause(const struct running *r) { give_way(running(), r->pc); }

static const struct row rows[] = {
    {"mov.u32", 2, 2, move},
    {"mov.s32", 2, 2, move},
    {"mov.b32", 2, 2, move},
    {"mov.u64", 2, 2, move},
    {"mov.s64", 2, 2, move},
    {"mov.b64", 2, 2, move},
    {"bar.sync", 1, 2, barrier},
    {"barrier.sync", 1, 2, barrier},
    {"barrier.sync.aligned", 1, 2, barrier},
    {"bar.warp.sync", 1, 1, warp_barrier},
    {"membar.cta", 0, 0, fence_block},
    {"membar.gl", 0, 0, fence_device},
    {"membar.sys", 0, 0, fence_system},
    {"fence.acq_rel.cta", 0, 0, fence_block},
    {"fence.acq_rel.gpu", 0, 0, fence_device},
    {"fence.acq_rel.sys", 0, 0, fence_system},
    {"fence.sc.cta", 0, 0, fence_block},
    {"fence.sc.gpu", 0, 0, fence_device},
    {"fence.sc.sys", 0, 0, fence_system},
    {"nanosleep.u32", 1, 1, pause},
    {"trap", 0, 0, trap},
};

/* ---- reading ---- */

/* Blanks the text's comments. */
static void drop_comments(char *text)
{
    for (char *p = text; *p; p++) {
        char *end = NULL;
        if (p[0] == '/' && p[1] == '/') {
            end = p + strcspn(p, "\n");
        } else if (p[0] == '/' && p[1] == '*') {
            char *close = strstr(p + 2, "*/");
            end = close ? close + 2 : p + strlen(p);
        }
        while (end && p < end)
            *p++ = ' ';
        if (!*p)
            return;
    }
}

static char *trimmed(char *text)
{
    text += strspn(text, " \t\r\n");
    for (size_t n = strlen(text); n && isspace((unsigned char)text[n - 1]); n--)
        text[n - 1] = 0;
    return text;
}

static bool read_one(const char *text, const struct simt_assembly_site *site, struct operand *o)
{
    char *end = NULL;
    const char *name = text + strspn(text, "%"); /* %%laneid; nvcc takes %laneid as well */
    if (name > text && isalpha((unsigned char)*name)) {
        o->kind = SPECIAL;
        o->special = special_find(name);
        return o->special != NULL;
    }
    o->kind = text[0] == '%' ? ARGUMENT : CONSTANT;
    const char *digits = text + (o->kind == ARGUMENT);
    if (!isdigit((unsigned char)*digits))
        return false;
    o->value = strtoull(digits, &end, 0);
    if (end && *end == 'U')
        end++;
    return !*end && (o->kind == CONSTANT || o->value < (u64)(site->n_outputs + site->n_inputs));
}

static bool read_instruction(char *text, const struct simt_assembly_site *site, struct instruction *out)
{
    char *rest = text + strcspn(text, " \t"), *operand;
    if (*rest)
        *rest++ = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !out->row; i++)
        if (!strcmp(rows[i].name, text))
            out->row = &rows[i];
    if (!out->row)
        return false;
    while ((operand = strsep(&rest, ",")) && *trimmed(operand)) {
        if (out->n == MOST_OPERANDS || !read_one(trimmed(operand), site, &out->operands[out->n]))
            return false;
        out->n++;
    }
    bool writes = out->row->run == move;
    if (writes && (out->operands[0].kind != ARGUMENT || out->operands[0].value >= (u64)site->n_outputs))
        return false;
    return out->n >= out->row->least && out->n <= out->row->most;
}

static struct program *read_program(const struct simt_assembly_site *site)
{
    char *copy = strdup(site->text), *rest = copy, *part;
    struct program *p = calloc(1, sizeof *p + (strlen(site->text) + 1) * sizeof *p->instructions);
    if (!copy || !p)
        base_out_of_memory();
    drop_comments(copy);
    while ((part = strsep(&rest, ";{}"))) {
        char what[512];
        part = trimmed(part);
        if (!*part || *part == '.') /* .reg and its like declare, and do nothing */
            continue;
        snprintf(what, sizeof what, "inline PTX `%s`", part);
        if (!read_instruction(part, site, &p->instructions[p->n]))
            report_unsupported(what, site->file, site->line);
        p->n++;
    }
    free(copy);
    return p;
}

/* Several threads may read it at once; one of the results stays. */
static const struct program *program_of(struct simt_assembly_site *site)
{
    struct program *p = __atomic_load_n(&site->parsed, __ATOMIC_ACQUIRE);
    void *none = NULL;
    if (p)
        return p;
    p = read_program(site);
    if (!__atomic_compare_exchange_n(&site->parsed, &none, p, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        free(p);
        p = none;
    }
    return p;
}

void simt_assembly(struct simt_assembly_site *site, struct simt_asm_operand *operands)
{
    const struct program *p = program_of(site);
    for (unsigned i = 0; i < p->n; i++) {
        const struct instruction *in = &p->instructions[i];
        in->row->run(&(struct running){operands, in->operands, in->n, CALLER()});
    }
}
