/* The text of an inline PTX statement becomes a program: names become slots, labels become the numbers of instructions
 * (PTX ISA, "Syntax", "State Spaces, Types, and Variables"; "Inline PTX Assembly in CUDA"). */
#include "ptx/read.h"
#include "ptx/operands.h"
#include "ptx/text.h"
#include "ptx/words.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SLOTS 512 /* registers, the statement's operands among them */

/* ---- instructions ---- */

static bool is_branch(const char *opcode) { return strcmp(opcode, "bra") == 0 || strcmp(opcode, "bra.uni") == 0; }

static void note_label(struct reader *r, struct label *labels, unsigned *n, const char *word)
{
    if (*n == MOST_NAMES)
        reader_refuse(r, "there are too many labels");
    labels[*n] = (struct label){.scope = r->scopes[r->depth], .instruction = r->program->n};
    strcpy(labels[(*n)++].text, word);
}

static void read_guard(struct reader *r, struct instruction *in)
{
    struct ptx_operand p = {0};
    if (!reader_accept(r, '@'))
        return;
    in->guard_negated = reader_accept(r, '!');
    reader_single(r, &p);
    if (!p.predicate)
        reader_refuse(r, "what stands behind `@` is not a predicate");
    reader_use(r, &p, false);
    in->guarded = true;
    in->guard = p.slot;
}

static void read_instruction(struct reader *r, struct instruction *in)
{
    char opcode[256], word[MOST_WORD];
    read_guard(r, in);
    reader_word(r, "_.:", opcode, sizeof opcode);
    const char *why = ptx_read_opcode(opcode, in);
    if (why)
        reader_refuse(r, why);
    if (is_branch(opcode)) {
        reader_word(r, "_$", word, sizeof word);
        note_label(r, r->branches, &r->n_branches, word);
    } else if (!reader_accept(r, ';')) {
        do {
            if (in->n == MOST_OPERANDS)
                reader_refuse(r, "there are too many operands");
            reader_operand(r, &in->operand[in->n++]);
        } while (reader_accept(r, ','));
    } else {
        r->at--;
    }
    reader_check_operands(r, in);
    reader_expect(r, ';');
    r->program->n++;
}

/* ---- declarations, labels and scopes ---- */

static void declare(struct reader *r, enum type type)
{
    struct name *name = &r->names[r->n_names];
    if (r->n_names == MOST_NAMES)
        reader_refuse(r, "there are too many names");
    reader_word(r, "_$", name->text, sizeof name->text);
    for (unsigned i = r->first_name[r->depth]; i < r->n_names; i++)
        if (strcmp(r->names[i].text, name->text) == 0)
            reader_refuse(r, "a name is declared twice");
    name->type = type;
    name->many = 0;
    if (reader_accept(r, '<')) {
        char count[16];
        reader_word(r, "", count, sizeof count);
        name->many = (uint16_t)strtoul(count, NULL, 10);
        reader_expect(r, '>');
    }
    name->slot = (uint16_t)r->program->n_slots;
    r->program->n_slots += (name->many ? name->many : 1) * reader_slots(type);
    if (r->program->n_slots > MOST_SLOTS)
        reader_refuse(r, "there are too many registers");
    r->n_names++;
}

/* .reg .b32 a, b<4>; */
static void read_declaration(struct reader *r)
{
    char word[MOST_WORD];
    enum type type = T_NONE;
    reader_word(r, "._", word, sizeof word);
    if (strncmp(word, ".pragma", 7) == 0) { /* advice to ptxas */
        r->at += strcspn(r->at, ";");
        reader_expect(r, ';');
        return;
    }
    if (strncmp(word, ".reg", 4) != 0)
        reader_refuse(r, "of declarations, only .reg is known");
    if (!word[4])
        reader_word(r, "._", word + 4, sizeof word - 4);
    for (enum type t = T_PRED; t < TYPES; t++)
        if (strcmp(word + 5, ptx_types[t].name) == 0)
            type = t;
    if (!type)
        reader_refuse(r, "registers of that type are not known");
    do
        declare(r, type);
    while (reader_accept(r, ','));
    reader_expect(r, ';');
}

/* NAME: before a statement. */
static bool read_label(struct reader *r)
{
    const char *p = r->at + strspn(r->at, "%");
    size_t n = 0;
    while (isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == '$')
        n++;
    const char *colon = p + n + strspn(p + n, " \t\r\n");
    char word[MOST_WORD];
    if (!n || *colon != ':')
        return false;
    reader_word(r, "_$", word, sizeof word);
    note_label(r, r->labels, &r->n_labels, word);
    r->at = colon + 1;
    return true;
}

static void open_scope(struct reader *r)
{
    if (r->depth + 1 == sizeof r->scopes / sizeof *r->scopes || r->n_scopes == MOST_NAMES)
        reader_refuse(r, "there are too many scopes");
    r->parent[r->n_scopes] = r->scopes[r->depth++];
    r->scopes[r->depth] = r->n_scopes++;
    r->first_name[r->depth] = r->n_names;
}

static void close_scope(struct reader *r)
{
    if (!r->depth)
        reader_refuse(r, "`}` closes nothing");
    r->n_names = r->first_name[r->depth--];
}

static void read_statements(struct reader *r)
{
    for (reader_skip_space(r); *r->at; reader_skip_space(r)) {
        r->statement = r->at;
        if (reader_accept(r, '{'))
            open_scope(r);
        else if (reader_accept(r, '}'))
            close_scope(r);
        else if (*r->at == '.')
            read_declaration(r);
        else if (!reader_accept(r, ';') && !read_label(r))
            read_instruction(r, &r->program->instructions[r->program->n]);
    }
    if (r->depth)
        reader_refuse(r, "a `{` is not closed");
}

/* A label is seen in its own scope and in those within. */
static void resolve_branch(struct reader *r, const struct label *branch)
{
    for (unsigned scope = branch->scope;; scope = r->parent[scope]) {
        for (unsigned i = 0; i < r->n_labels; i++) {
            const struct label *label = &r->labels[i];
            if (label->scope == scope && strcmp(label->text, branch->text) == 0) {
                r->program->instructions[branch->instruction].target = label->instruction;
                return;
            }
        }
        if (!scope)
            break;
    }
    char why[MOST_WORD + 32];
    snprintf(why, sizeof why, "there is no label `%s`", branch->text);
    r->statement = "bra";
    reader_refuse(r, why);
}

static size_t count(const char *text, const char *of)
{
    size_t n = 1;
    for (; *text; text++)
        n += strchr(of, *text) != NULL;
    return n;
}

struct program *ptx_read_program(const struct simt_assembly_site *site, const struct simt_asm_operand *operands,
                                 const u64 *values, const void *pc)
{
    struct reader *r = calloc(1, sizeof *r);
    struct program *p = calloc(1, sizeof *p);
    if (!r || !p)
        base_out_of_memory();
    r->site = site;
    r->arguments = operands;
    r->values = values;
    r->pc = pc;
    r->program = p;
    r->n_scopes = 1;
    p->n_slots = p->n_arguments = (unsigned)(site->n_outputs + site->n_inputs);
    char *text = reader_text(r);
    p->instructions = calloc(count(text, ";"), sizeof *p->instructions);
    p->elements = calloc(count(text, ",{"), sizeof *p->elements);
    p->late = calloc(p->n_arguments + 1, sizeof *p->late);
    r->uses = calloc(p->n_arguments + 1, sizeof *r->uses);
    if (!p->instructions || !p->elements || !p->late || !r->uses)
        base_out_of_memory();
    r->at = text;
    read_statements(r);
    for (unsigned i = 0; i < r->n_branches; i++)
        resolve_branch(r, &r->branches[i]);
    for (unsigned i = 0; i < p->n_arguments; i++)
        p->late[i] = r->uses[i] == USED_LATE;
    free(r->uses);
    free(text);
    free(r);
    return p;
}
