/* The text of an inline PTX statement becomes a program: names become slots, labels become the numbers of instructions
 * (PTX ISA, "Syntax", "State Spaces, Types, and Variables"; "Inline PTX Assembly in CUDA"). */
#include "ptx.h"
#include "report.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NAMES 256
#define MOST_SLOTS 512 /* registers, the statement's operands among them */
#define MOST_WORD 64

struct name { /* of a register, or of a row of them: r<4> */
    char text[MOST_WORD];
    enum type type;
    uint16_t slot, many; /* many: 0 for a single one */
};

struct label {
    char text[MOST_WORD];
    unsigned scope, instruction; /* a branch: the one that jumps; else the one jumped to */
};

struct reader {
    const struct simt_assembly_site *site;
    const struct simt_asm_operand *arguments;
    const u64 *values; /* of the arguments, when the statement is first come to */
    struct program *program;
    const char *at, *statement; /* where it reads; where the statement began */
    unsigned n_elements;
    struct name names[MOST_NAMES];
    unsigned n_names;
    unsigned depth, scopes[32], first_name[32]; /* the scopes that are open, outermost first */
    unsigned n_scopes, parent[MOST_NAMES];      /* of each scope */
    struct label labels[MOST_NAMES], branches[MOST_NAMES];
    unsigned n_labels, n_branches;
};

static void refuse(const struct reader *r, const char *why) __attribute__((noreturn));
static void refuse(const struct reader *r, const char *why)
{
    char what[1024];
    int n = (int)strcspn(r->statement, ";");
    while (n > 0 && isspace((unsigned char)r->statement[n - 1]))
        n--;
    snprintf(what, sizeof what, "inline PTX `%.*s`: %s", n < 700 ? n : 700, r->statement, why);
    report_unsupported(what, r->site->file, r->site->line);
}

/* ---- text ---- */

static int argument_at(const struct reader *r, const char *text, size_t *length);

/* A copy without comments, with the strings that operands of constraint "C" put into the text, and with a number for %=,
 * which is another one in each statement: here no statement sees the labels of others. */
static char *clean_text(const struct reader *r)
{
    char *copy;
    size_t size;
    FILE *out = open_memstream(&copy, &size);
    if (!out)
        base_out_of_memory();
    for (const char *p = r->site->text; *p;) {
        size_t length = 1;
        int argument = *p == '%' && isdigit((unsigned char)p[1]) ? argument_at(r, p + 1, &length) : -1;
        const char *close = strncmp(p, "/*", 2) == 0 ? strstr(p + 2, "*/") : NULL;
        if (strncmp(p, "//", 2) == 0) {
            p += strcspn(p, "\n");
        } else if (close) {
            fputc(' ', out);
            p = close + 2;
        } else if (strncmp(p, "%=", 2) == 0) {
            fputc('0', out);
            p += 2;
        } else if (argument >= 0 && strchr(r->arguments[argument].constraint, 'C')) {
            fputs((const char *)(uintptr_t)r->values[argument], out);
            p += 1 + length;
        } else {
            fputc(*p++, out);
        }
    }
    if (fclose(out) != 0)
        base_out_of_memory();
    return copy;
}

static void skip_space(struct reader *r) { r->at += strspn(r->at, " \t\r\n"); }

static bool accept(struct reader *r, char c)
{
    skip_space(r);
    if (*r->at != c)
        return false;
    r->at++;
    return true;
}

static void expect(struct reader *r, char c)
{
    char why[32];
    snprintf(why, sizeof why, "`%c` is missing", c);
    if (!accept(r, c))
        refuse(r, why);
}

/* A name or an opcode: letters, digits and the signs given. %% of a text with operands is %. */
static void read_word(struct reader *r, const char *signs, char *word, size_t size)
{
    size_t n = 0;
    skip_space(r);
    if (*r->at == '%') {
        word[n++] = '%';
        r->at += r->at[1] == '%' ? 2 : 1;
    }
    while (isalnum((unsigned char)*r->at) || (*r->at && strchr(signs, *r->at))) {
        if (n + 1 == size)
            refuse(r, "a name is too long");
        word[n++] = *r->at++;
    }
    word[n] = 0;
    if (!n)
        refuse(r, "a name or a number is missing");
}

/* ---- operands ---- */

/* The number behind a %; -1: the statement has no such operand. (nvcc does not know %[name].) */
static int argument_at(const struct reader *r, const char *text, size_t *length)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    *length = (size_t)(end - text);
    return *length && number < (unsigned long)(r->site->n_outputs + r->site->n_inputs) ? (int)number : -1;
}

static bool read_argument(struct reader *r, struct ptx_operand *o)
{
    size_t length;
    skip_space(r);
    if (*r->at != '%' || !isdigit((unsigned char)r->at[1]))
        return false;
    int argument = argument_at(r, r->at + 1, &length);
    if (argument < 0)
        refuse(r, "the statement has no such operand");
    r->at += 1 + length;
    o->bytes = (uint8_t)r->arguments[argument].bytes;
    if (strpbrk(r->arguments[argument].constraint, "ni")) { /* a constant, which nvcc writes into the text */
        u64 value = r->values[argument];
        o->kind = O_CONSTANT;
        o->value = o->bytes == 4 ? (u64)(int32_t)value : value;
        return true;
    }
    o->kind = O_SLOT;
    o->floating = strpbrk(r->arguments[argument].constraint, "fd");
    o->slot = (uint16_t)argument;
    o->value = ptx_bits(o->bytes);
    return true;
}

/* r or, of a row r<4>, r3. */
static bool find_name(const struct reader *r, const char *word, struct ptx_operand *o)
{
    for (unsigned i = r->n_names; i-- > 0;) {
        const struct name *name = &r->names[i];
        size_t n = strlen(name->text);
        char *end = "";
        unsigned long index = 0;
        if (strncmp(word, name->text, n) != 0)
            continue;
        if (name->many && isdigit((unsigned char)word[n]))
            index = strtoul(word + n, &end, 10);
        else if (name->many || word[n])
            continue;
        if (*end || (name->many && index >= name->many))
            continue;
        o->kind = O_SLOT;
        o->slot = (uint16_t)(name->slot + index);
        o->bytes = (uint8_t)ptx_types[name->type].bytes;
        o->value = ptx_bits(o->bytes);
        o->predicate = name->type == T_PRED;
        o->floating = name->type == T_F32 || name->type == T_F64;
        return true;
    }
    return false;
}

/* Some names stand for numbers (PTX ISA, "Constants"). */
static bool find_constant(const char *word, struct ptx_operand *o)
{
    bool warp_size = strcmp(word, "WARP_SZ") == 0;
    o->kind = O_CONSTANT;
    o->value = WARP;
    return warp_size;
}

static void read_number(struct reader *r, struct ptx_operand *o)
{
    const char *start = r->at;
    char *end;
    bool minus = *start == '-';
    const char *digits = start + (minus || *start == '+');
    o->kind = O_CONSTANT;
    if (digits[0] == '0' && digits[1] && strchr("fFdD", digits[1])) { /* the bits of a number */
        o->value = strtoull(digits + 2, &end, 16);
        if (minus)
            o->value ^= (u64)1 << (strchr("fF", digits[1]) ? 31 : 63);
    } else if (digits[0] == '0' && digits[1] && strchr("bB", digits[1])) {
        o->value = strtoull(digits + 2, &end, 2);
    } else {
        o->value = strtoull(digits, &end, 0);
        if (*end == '.' || ((*end == 'e' || *end == 'E') && digits[1] != 'x')) {
            double value = strtod(digits, &end);
            o->decimal = true;
            memcpy(&o->value, &value, sizeof value);
        }
        end += *end == 'U';
        if (minus)
            o->value = o->decimal ? o->value ^ (u64)1 << 63 : -o->value;
    }
    if (end == digits || isalnum((unsigned char)*end))
        refuse(r, "a number cannot be read");
    r->at = end;
}

/* A register or a number. */
static void read_single(struct reader *r, struct ptx_operand *o)
{
    char word[MOST_WORD];
    o->second = NO_SLOT;
    o->n = 1;
    o->elements = o;
    if (read_argument(r, o))
        return;
    skip_space(r);
    if (isdigit((unsigned char)*r->at) || *r->at == '-' || *r->at == '+') {
        read_number(r, o);
        return;
    }
    read_word(r, "_$.", word, sizeof word);
    if (strcmp(word, "_") == 0) {
        o->kind = O_SINK;
        return;
    }
    if (find_name(r, word, o) || find_constant(word, o))
        return;
    o->kind = O_SPECIAL;
    o->special = word[0] == '%' ? special_find(word + 1) : NULL;
    if (!o->special) {
        char why[MOST_WORD + 64];
        snprintf(why, sizeof why, "`%s` is not a register that the emulator knows", word);
        refuse(r, why);
    }
}

static void read_vector(struct reader *r, struct ptx_operand *o)
{
    struct ptx_operand *elements = &r->program->elements[r->n_elements];
    o->kind = O_VECTOR;
    o->elements = elements;
    do {
        o->n++;
        r->n_elements++;
        read_single(r, &elements[o->n - 1]);
    } while (accept(r, ','));
    expect(r, '}');
}

/* [register], [register+4], [register+-4], [4] */
static void read_address(struct reader *r, struct ptx_operand *o)
{
    struct ptx_operand offset = {0};
    read_single(r, o);
    skip_space(r);
    u64 value = o->kind == O_CONSTANT ? o->value : 0;
    if (*r->at == '+' || *r->at == '-') {
        r->at += *r->at == '+';
        read_single(r, &offset);
    }
    expect(r, ']');
    if (offset.kind > O_NONE && offset.kind != O_CONSTANT)
        refuse(r, "what is added to an address must be a constant");
    if (o->kind != O_SLOT && o->kind != O_CONSTANT)
        refuse(r, "an address is a register, a number, or their sum");
    if (o->kind == O_CONSTANT)
        o->slot = NO_SLOT;
    o->kind = O_ADDRESS;
    o->value = value + offset.value;
}

static void read_operand(struct reader *r, struct ptx_operand *o)
{
    o->negated = accept(r, '!');
    if (accept(r, '{')) {
        read_vector(r, o);
    } else if (accept(r, '[')) {
        read_address(r, o);
    } else {
        read_single(r, o);
        struct ptx_operand second = {0};
        if (accept(r, '|')) {
            read_single(r, &second);
            if (!second.predicate && second.kind != O_SINK)
                refuse(r, "what stands behind `|` is not a predicate");
            o->second = second.kind == O_SINK ? NO_SLOT : second.slot;
        }
    }
}

/* ---- instructions ---- */

/* A constant written as 1.5 takes the type of the instruction, the last where it has several. */
static void settle_decimals(const struct reader *r, struct instruction *in)
{
    for (unsigned i = 0; i < in->n; i++) {
        struct ptx_operand *o = &in->operand[i];
        double value;
        if (!o->decimal)
            continue;
        enum type t = in->n_types ? in->type[in->n_types - 1] : T_NONE;
        if (t == T_B64)
            t = T_F64;
        if (t != T_F32 && t != T_F64)
            refuse(r, "a decimal number needs an instruction of type .f32, .f64 or .b64");
        memcpy(&value, &o->value, sizeof value);
        o->value = ptx_from_double(value, t, R_RN);
        o->decimal = false;
    }
}

/* One register or number: is it what this letter of a row stands for? */
static bool is_single(const struct ptx_operand *o, bool written, bool predicate)
{
    if (o->kind == O_SLOT)
        return o->predicate == predicate;
    return written ? o->kind == O_SINK : !predicate && (o->kind == O_CONSTANT || o->kind == O_SPECIAL);
}

static bool fits(const struct instruction *in, char letter, const struct ptx_operand *o)
{
    bool of_predicates = in->type[0] == T_PRED, written = strchr("dpw", letter);
    if (letter == 'a' || o->kind == O_ADDRESS)
        return letter == 'a' && o->kind == O_ADDRESS;
    if (letter == 'x')
        return is_single(o, false, o->predicate);
    if (letter == 'n')
        return is_single(o, false, false);
    if (letter == 'p' || letter == 'q')
        return is_single(o, written, true);
    if (o->kind == O_VECTOR && (letter == 'd' || letter == 's'))
        return false;
    for (unsigned i = 0; i < o->n; i++)
        if (!is_single(&o->elements[i], written, of_predicates))
            return false;
    return true;
}

static void check_operands(const struct reader *r, struct instruction *in)
{
    const char *letter = in->row->operands;
    bool optional = false;
    for (unsigned i = 0; i < in->n || *letter; i++) {
        char why[64];
        optional |= *letter == '?';
        letter += *letter == '?';
        bool policy = in->field[CACHE_POLICY] && i + 1 == in->n && (!*letter || optional);
        if (i == in->n && optional)
            break;
        if (i == in->n)
            refuse(r, "an operand is missing");
        if (!*letter && !policy)
            refuse(r, "there are too many operands");
        snprintf(why, sizeof why, "operand %u is not of the kind that belongs there", i + 1);
        if (!fits(in, policy ? 's' : *letter, &in->operand[i]))
            refuse(r, why);
        letter += *letter != 0;
    }
    settle_decimals(r, in);
    const char *why = in->row->prepare ? in->row->prepare(in) : NULL;
    if (why)
        refuse(r, why);
}

static bool is_branch(const char *opcode) { return strcmp(opcode, "bra") == 0 || strcmp(opcode, "bra.uni") == 0; }

static void note_label(struct reader *r, struct label *labels, unsigned *n, const char *word)
{
    if (*n == MOST_NAMES)
        refuse(r, "there are too many labels");
    labels[*n] = (struct label){.scope = r->scopes[r->depth], .instruction = r->program->n};
    strcpy(labels[(*n)++].text, word);
}

static void read_guard(struct reader *r, struct instruction *in)
{
    struct ptx_operand p = {0};
    if (!accept(r, '@'))
        return;
    in->guard_negated = accept(r, '!');
    read_single(r, &p);
    if (!p.predicate)
        refuse(r, "what stands behind `@` is not a predicate");
    in->guarded = true;
    in->guard = p.slot;
}

static void read_instruction(struct reader *r, struct instruction *in)
{
    char opcode[256], word[MOST_WORD];
    read_guard(r, in);
    read_word(r, "_.:", opcode, sizeof opcode);
    const char *why = ptx_read_opcode(opcode, in);
    if (why)
        refuse(r, why);
    if (is_branch(opcode)) {
        read_word(r, "_$", word, sizeof word);
        note_label(r, r->branches, &r->n_branches, word);
    } else if (!accept(r, ';')) {
        do {
            if (in->n == MOST_OPERANDS)
                refuse(r, "there are too many operands");
            read_operand(r, &in->operand[in->n++]);
        } while (accept(r, ','));
    } else {
        r->at--;
    }
    check_operands(r, in);
    expect(r, ';');
    r->program->n++;
}

/* ---- declarations, labels and scopes ---- */

static void declare(struct reader *r, enum type type)
{
    struct name *name = &r->names[r->n_names];
    if (r->n_names == MOST_NAMES)
        refuse(r, "there are too many names");
    read_word(r, "_$", name->text, sizeof name->text);
    for (unsigned i = r->first_name[r->depth]; i < r->n_names; i++)
        if (strcmp(r->names[i].text, name->text) == 0)
            refuse(r, "a name is declared twice");
    name->type = type;
    name->many = 0;
    if (accept(r, '<')) {
        char count[16];
        read_word(r, "", count, sizeof count);
        name->many = (uint16_t)strtoul(count, NULL, 10);
        expect(r, '>');
    }
    name->slot = (uint16_t)r->program->n_slots;
    r->program->n_slots += name->many ? name->many : 1;
    if (r->program->n_slots > MOST_SLOTS)
        refuse(r, "there are too many registers");
    r->n_names++;
}

/* .reg .b32 a, b<4>; */
static void read_declaration(struct reader *r)
{
    char word[MOST_WORD];
    enum type type = T_NONE;
    read_word(r, "._", word, sizeof word);
    if (strncmp(word, ".pragma", 7) == 0) { /* advice to ptxas */
        r->at += strcspn(r->at, ";");
        expect(r, ';');
        return;
    }
    if (strncmp(word, ".reg", 4) != 0)
        refuse(r, "of declarations, only .reg is known");
    if (!word[4])
        read_word(r, "._", word + 4, sizeof word - 4);
    for (enum type t = T_PRED; t < TYPES; t++)
        if (strcmp(word + 5, ptx_types[t].name) == 0)
            type = t;
    if (!type || type == T_B128)
        refuse(r, "registers of that type are not known");
    do
        declare(r, type);
    while (accept(r, ','));
    expect(r, ';');
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
    read_word(r, "_$", word, sizeof word);
    note_label(r, r->labels, &r->n_labels, word);
    r->at = colon + 1;
    return true;
}

static void open_scope(struct reader *r)
{
    if (r->depth + 1 == sizeof r->scopes / sizeof *r->scopes || r->n_scopes == MOST_NAMES)
        refuse(r, "there are too many scopes");
    r->parent[r->n_scopes] = r->scopes[r->depth++];
    r->scopes[r->depth] = r->n_scopes++;
    r->first_name[r->depth] = r->n_names;
}

static void close_scope(struct reader *r)
{
    if (!r->depth)
        refuse(r, "`}` closes nothing");
    r->n_names = r->first_name[r->depth--];
}

static void read_statements(struct reader *r)
{
    for (skip_space(r); *r->at; skip_space(r)) {
        r->statement = r->at;
        if (accept(r, '{'))
            open_scope(r);
        else if (accept(r, '}'))
            close_scope(r);
        else if (*r->at == '.')
            read_declaration(r);
        else if (!accept(r, ';') && !read_label(r))
            read_instruction(r, &r->program->instructions[r->program->n]);
    }
    if (r->depth)
        refuse(r, "a `{` is not closed");
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
    refuse(r, why);
}

static size_t count(const char *text, const char *of)
{
    size_t n = 1;
    for (; *text; text++)
        n += strchr(of, *text) != NULL;
    return n;
}

struct program *ptx_read_program(const struct simt_assembly_site *site, const struct simt_asm_operand *operands,
                                 const u64 *values)
{
    struct reader *r = calloc(1, sizeof *r);
    struct program *p = calloc(1, sizeof *p);
    if (!r || !p)
        base_out_of_memory();
    r->site = site;
    r->arguments = operands;
    r->values = values;
    r->program = p;
    r->n_scopes = 1;
    p->n_slots = p->n_arguments = (unsigned)(site->n_outputs + site->n_inputs);
    char *text = clean_text(r);
    p->instructions = calloc(count(text, ";"), sizeof *p->instructions);
    p->elements = calloc(count(text, ",{"), sizeof *p->elements);
    if (!p->instructions || !p->elements)
        base_out_of_memory();
    r->at = text;
    read_statements(r);
    for (unsigned i = 0; i < r->n_branches; i++)
        resolve_branch(r, &r->branches[i]);
    free(text);
    free(r);
    return p;
}
