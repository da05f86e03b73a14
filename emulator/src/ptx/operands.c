/* The operands of inline PTX: what they mean, and whether they are what the instruction takes (PTX ISA, "Operands",
 * "Constants"). */
#include "ptx/operands.h"
#include "ptx/convert.h"
#include "ptx/text.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static bool read_argument(struct reader *r, struct ptx_operand *o)
{
    size_t length;
    reader_skip_space(r);
    if (*r->at != '%' || !isdigit((unsigned char)r->at[1]))
        return false;
    int argument = reader_argument(r, r->at + 1, &length);
    if (argument < 0)
        reader_refuse(r, "the statement has no such operand");
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
    o->enters = r->arguments[argument].enters;
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
        o->slot = (uint16_t)(name->slot + index * reader_slots(name->type));
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
        reader_refuse(r, "a number cannot be read");
    r->at = end;
}

/* "h1", "b3210": the lowest place is written last. */
static bool find_selection(const char *word, struct selection *s)
{
    size_t n = word[0] ? strspn(word + 1, "01234567") : 0;
    if (!strchr("bh", word[0]) || !n || n > sizeof s->at || word[1 + n])
        return false;
    s->bytes = word[0] == 'b' ? 1 : 2;
    s->n = (uint8_t)n;
    for (size_t i = 0; i < n; i++)
        s->at[i] = (uint8_t)(word[n - i] - '0');
    return true;
}

/* r.h1 */
static bool find_part(const struct reader *r, char *word, struct ptx_operand *o)
{
    char *dot = strrchr(word, '.');
    if (!dot)
        return false;
    *dot = 0;
    bool found = find_name(r, word, o) && !o->predicate && find_selection(dot + 1, &o->selection);
    *dot = '.';
    return found;
}

/* %1.h1 */
static void read_selection(struct reader *r, struct ptx_operand *o)
{
    char word[MOST_WORD];
    if (*r->at != '.')
        return;
    r->at++;
    reader_word(r, "", word, sizeof word);
    if (!find_selection(word, &o->selection))
        reader_refuse(r, "parts of a register are chosen by .b or .h and their numbers");
}

void reader_single(struct reader *r, struct ptx_operand *o)
{
    char word[MOST_WORD];
    o->second = NO_SLOT;
    o->n = 1;
    o->elements = o;
    if (read_argument(r, o)) {
        read_selection(r, o);
        return;
    }
    reader_skip_space(r);
    if (isdigit((unsigned char)*r->at) || *r->at == '-' || *r->at == '+') {
        read_number(r, o);
        return;
    }
    reader_word(r, "_$.", word, sizeof word);
    if (strcmp(word, "_") == 0) {
        o->kind = O_SINK;
        return;
    }
    if (find_name(r, word, o) || find_part(r, word, o) || find_constant(word, o))
        return;
    o->kind = O_SPECIAL;
    o->special = word[0] == '%' ? special_find(word + 1) : NULL;
    o->predicate = strcmp(word, "%is_explicit_cluster") == 0;
    if (!o->special) {
        char why[MOST_WORD + 64];
        snprintf(why, sizeof why, "`%s` is not a register that the emulator knows", word);
        reader_refuse(r, why);
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
        reader_single(r, &elements[o->n - 1]);
    } while (reader_accept(r, ','));
    reader_expect(r, '}');
}

/* [register], [register+4], [register+-4], [4]; of a place in a tensor [register, {coordinates}] */
static void read_address(struct reader *r, struct ptx_operand *o)
{
    struct ptx_operand offset = {0};
    reader_single(r, o);
    reader_skip_space(r);
    u64 value = o->kind == O_CONSTANT ? o->value : 0;
    if (*r->at == '+' || *r->at == '-') {
        r->at += *r->at == '+';
        reader_single(r, &offset);
    }
    struct ptx_operand corner = {0};
    if (reader_accept(r, ',')) {
        reader_expect(r, '{');
        read_vector(r, &corner);
    }
    reader_expect(r, ']');
    if (offset.kind > O_NONE && offset.kind != O_CONSTANT)
        reader_refuse(r, "what is added to an address must be a constant");
    if ((o->kind != O_SLOT && o->kind != O_CONSTANT) || o->selection.n)
        reader_refuse(r, "an address is a register, a number, or their sum");
    if (o->kind == O_CONSTANT)
        o->slot = NO_SLOT;
    o->kind = O_ADDRESS;
    o->value = value + offset.value;
    if (corner.n) {
        o->kind = O_PLACE;
        o->n = corner.n;
        o->elements = corner.elements;
    }
}

void reader_operand(struct reader *r, struct ptx_operand *o)
{
    o->negated = reader_accept(r, '!');
    if (reader_accept(r, '{')) {
        read_vector(r, o);
    } else if (reader_accept(r, '[')) {
        read_address(r, o);
    } else {
        reader_skip_space(r);
        o->minus = *r->at == '-' && !isdigit((unsigned char)r->at[1]);
        r->at += o->minus;
        reader_single(r, o);
        struct ptx_operand second = {0};
        if (reader_accept(r, '|')) {
            reader_single(r, &second);
            if (!second.predicate && second.kind != O_SINK)
                reader_refuse(r, "what stands behind `|` is not a predicate");
            o->second = second.kind == O_SINK ? NO_SLOT : second.slot;
        }
    }
}

/* ---- do they fit? ---- */

/* A constant written as 1.5 takes the type of the instruction, the last where it has several. */
static void settle_decimal(const struct reader *r, const struct instruction *in, struct ptx_operand *o)
{
    double value;
    enum type t = in->n_types ? in->type[in->n_types - 1] : T_NONE;
    if (t == T_B64)
        t = T_F64;
    if (t != T_F32 && t != T_F64)
        reader_refuse(r, "a decimal number needs an instruction of type .f32, .f64 or .b64");
    memcpy(&value, &o->value, sizeof value);
    o->value = ptx_from_double(value, t, R_RN);
    o->decimal = false;
}

static void settle_decimals(const struct reader *r, struct instruction *in)
{
    for (unsigned i = 0; i < in->n; i++)
        for (unsigned e = 0; e < in->operand[i].n; e++) {
            struct ptx_operand *each = (struct ptx_operand *)&in->operand[i].elements[e];
            if (each->decimal && in->operand[i].kind == O_VECTOR)
                reader_refuse(
                    r, "of a decimal number in a vector hardware takes other bits: write it as 0f or 0d and its bits");
            if (each->decimal)
                settle_decimal(r, in, each);
        }
}

/* One register or number: is it what this letter of a row stands for? */
static bool is_single(const struct ptx_operand *o, bool written, bool predicate)
{
    if (o->kind == O_SLOT)
        return o->predicate == predicate;
    if (o->kind == O_SPECIAL)
        return !written && o->predicate == predicate;
    return written ? o->kind == O_SINK : !predicate && o->kind == O_CONSTANT;
}

static bool fits(const struct instruction *in, char letter, const struct ptx_operand *o)
{
    bool written = strchr("dDmMpwWeGL", letter), predicate = in->type[0] == T_PRED && strchr("dswv", letter);
    if (strchr("ak", letter) && o->kind == O_ADDRESS)
        return true;
    if ((letter == 'k') != (o->kind == O_PLACE) || letter == 'a' || o->kind == O_ADDRESS)
        return false;
    if (letter == 'p' || letter == 'q')
        predicate = true;
    if (letter == 'x')
        predicate = o->predicate;
    if (o->kind == O_VECTOR && !strchr("wWvVMNGHL", letter))
        return false;
    for (unsigned i = 0; i < o->n; i++) {
        const struct ptx_operand *each = &o->elements[i];
        if (!is_single(each, written, predicate) || (each->selection.n && !strchr("ef", letter)) ||
            (each->minus && !strchr("fc", letter)))
            return false;
    }
    return true;
}

/* Bytes of a register that stands there; 0: any. Of .wide the result, and what is added, are twice as wide. */
static unsigned width(const struct instruction *in, unsigned i, char letter)
{
    const struct type_info *first = &ptx_types[in->type[0]],
                           *last = &ptx_types[in->n_types ? in->type[in->n_types - 1] : 0];
    bool twice = in->field[PART] == PART_WIDE && (i == 0 || i == 3);
    switch (letter) {
    case 'm':
    case 'M':
    case 'n':
    case 'N':
    case 'e':
    case 'f':
    case 'c':
    case 'k':
    case 'x': return 4;
    case 'h': return 2;
    case 'l': return 8;
    case 'G':
    case 'H':
    case 'L': return 0;
    case 't':
    case 'T': return last->bytes;
    case 'w':
    case 'v': return first->bytes / in->operand[i].n;
    }
    return twice ? 2 * first->bytes : first->bytes;
}

/* ptxas takes no register of another width (PTX ISA, "Type Checking Rules"), and a wider one only for what is loaded,
 * stored and converted ("Operand Size Exceeding Instruction-Type Size"). */
static void check_widths(const struct reader *r, const struct instruction *in, unsigned i, char letter)
{
    const struct ptx_operand *o = &in->operand[i];
    unsigned needed = width(in, i, letter);
    char why[96];
    for (unsigned e = 0; e < o->n; e++) {
        unsigned has = o->elements[e].bytes;
        bool is_register = o->elements[e].kind == O_SLOT && !o->elements[e].predicate;
        bool wider = strchr("DTWV", letter) && has <= 8;
        if (!is_register || !needed || has == needed || (wider && has > needed))
            continue;
        snprintf(why, sizeof why, "operand %u is a register of %u bits; %s%u are needed", i + 1, 8 * has,
                 wider ? "at least " : "", 8 * needed);
        reader_refuse(r, why);
    }
}

void reader_use(struct reader *r, const struct ptx_operand *o, bool late)
{
    if (o->kind != O_SLOT && o->kind != O_ADDRESS && o->kind != O_PLACE)
        return;
    if (late && (o->slot >= r->site->n_outputs || !r->arguments[o->slot].variable))
        reader_refuse(r, "registers that are written when the statement is over are outputs of it");
    if (o->slot >= r->program->n_arguments)
        return;
    enum use *use = &r->uses[o->slot];
    if (*use == (late ? USED_AT_ONCE : USED_LATE))
        reader_refuse(
            r, "a register that is written when the statement is over belongs to another of its instructions, too");
    *use = late ? USED_LATE : USED_AT_ONCE;
}

static void use_all(struct reader *r, const struct ptx_operand *o, bool late)
{
    reader_use(r, o, late);
    for (unsigned i = 0; i < o->n && o->elements != o; i++)
        reader_use(r, &o->elements[i], late);
}

void reader_check_operands(struct reader *r, struct instruction *in)
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
            reader_refuse(r, "an operand is missing");
        if (!*letter && !policy)
            reader_refuse(r, "there are too many operands");
        snprintf(why, sizeof why, "operand %u is not of the kind that belongs there", i + 1);
        if (!fits(in, policy ? 'l' : *letter, &in->operand[i]))
            reader_refuse(r, why);
        check_widths(r, in, i, policy ? 'l' : *letter);
        use_all(r, &in->operand[i], *letter == 'L');
        letter += *letter != 0;
    }
    settle_decimals(r, in);
    const char *why = in->row->prepare ? in->row->prepare(in) : NULL;
    if (why)
        reader_refuse(r, why);
}
