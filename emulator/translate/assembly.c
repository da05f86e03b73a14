/* Inline PTX in a kernel or a device function becomes a call, with its text and its operands:
 *
 *     asm volatile("add.s32 %0, %1, 1;" : "=r"(sum) : "r"(n + 1) : "memory");
 *         { static ::simt_assembly_site simt_assembly_site = {"add.s32 %0, %1, 1;", "a.cu", 12, 1, 1, nullptr};
 *           auto &simt_output_0 = (sum); TYPE simt_value_0; auto simt_value_1 = (n + 1);
 *           static_assert(::simt::has_constraint<decltype(simt_value_1), 'r'>, …); …
 *           static const ::simt_asm_operand simt_operands[] = {{"=r", sizeof …, false}, {"r", sizeof …, true}};
 *           ::simt_assembly(&simt_assembly_site, simt_operands, (void *)&simt_value_0, ::simt::bits(simt_value_1));
 *           simt_output_0 = simt_value_0; }
 *
 * Each operand is evaluated once; a "+" operand is read first. `[name]` is put in front of its constraint. Assembly in a
 * function of the host's is the host compiler's.
 *
 * The tensor core reads and writes registers of wgmma.mma_async after the statement: of its operands that are variables
 * the runtime gets the addresses, and reads and writes them itself:
 *
 *         { …; auto &simt_value_0 = (sum); auto &&simt_value_1 = (a[0]); …
 *           static const ::simt_asm_operand simt_operands[] = {{"+f", …, true, true}, {"r", …, true, IS_VARIABLE}};
 *           ::simt_assembly(&simt_assembly_site, simt_operands, ::simt::place_or_bits<true>(simt_value_0), …); }
 *
 * Where the text is empty, operands are named to the compiler and neither read nor written. */
#include "rewrite.h"
#include <ctype.h>
#include <string.h>

struct parts {
    char *operands, *arguments, *stores;
    int n_outputs, n;
    bool empty; /* the text: no operand is read or written */
    bool late;  /* registers may be read and written after the statement */
};

/* The next `:`, `::` or `,` at this level, or the closing parenthesis. */
static int next_separator(int i, int close)
{
    while (i < close && !is_any(i, ": :: ,"))
        i = is_any(i, "( [ {") ? tokens[i].partner + 1 : i + 1;
    return i;
}

/* nvcc refuses it too. */
#define WRONG_TYPE \
    "the type of an `asm` operand is not that of its constraint: h, r and l are integers of 16, 32 and 64 bits " \
    "(pointers have 64), f is float, d is double, n a constant"

#define MOST_OPERANDS 512

/* Not a constant, nor a number of 64 bits: nothing that wgmma would read late. */
static bool is_register(const char *letters) { return strpbrk(letters, "rf") && !strpbrk(letters, "nilC"); }

/* The letter of a constraint that says the type: the r of "=&r". */
static char letter_of(const char *letters)
{
    const char *letter = letters + strspn(letters, "\"=+& \t\n"); /* of several strings, too */
    return isalpha((unsigned char)*letter) ? *letter : '?';
}

/* Of `a`, `(a)[i]` or `a.x[i]`, the `a`; else 0. */
static int root_of(int first, int last)
{
    bool brackets = is(first, "(");
    int root = first + brackets, i = root + 1 + brackets;
    if (tokens[root].kind != NAME || (brackets && tokens[first].partner != root + 1))
        return 0;
    while (i <= last && (is(i, "[") || (is(i, ".") && tokens[i + 1].kind == NAME)))
        i = is(i, "[") ? tokens[i].partner + 1 : i + 2;
    return i > last ? root : 0;
}

/* Does the operand's register belong to a variable that outlives the statement? A function's own end with it, and each call
 * has others, which hold one value each; a kernel's stay, and of rows it is known when they end (registers.c). */
static char *is_lasting(int open, int close, int n)
{
    int root = scope->kernel ? 0 : root_of(open + 1, close - 1);
    char *own = root ? format(" && !::simt::is_own<decltype(%s), %s>", source_text(root, root),
                              scope->constant ? "true" : "false")
                     : "";
    return format("::simt::is_variable<decltype(simt_value_%d)>%s", n, own);
}

/* One operand, of tokens first to last: its expression becomes a variable. */
static bool operand(int first, int last, bool output, struct parts *p)
{
    int constraint = is(first, "[") ? tokens[first].partner + 1 : first, open = constraint;
    while (tokens[open].kind == STRING)
        open++;
    if (open == constraint || !is(open, "("))
        return false;
    if (tokens[open].partner != last || p->n == MOST_OPERANDS)
        return false;
    char *name = constraint > first ? format("\"%s\" ", source_text(first, constraint - 1)) : "";
    char *letters = source_text(constraint, open - 1);
    delete (first, open - 1);
    bool enters = !output || strchr(letters, '+');
    bool bound = p->empty ||
                 (p->late && (output || is_register(letters))); /* to the operand itself, not to its value */
    const char *variable = "false";
    if (p->empty) {
        p->stores = format("%sasm volatile(\"\" %s\"m\"(simt_value_%d)%s : \"memory\"); ", p->stores,
                           output ? ": \"+\" " : ": : ", p->n, output ? " :" : "");
    } else if (bound) {
        variable = output ? "true" : is_lasting(open, last, p->n);
        p->arguments = format("%s, ::simt::place_or_bits<%s>(simt_value_%d)", p->arguments, variable, p->n);
    } else if (output) {
        replace(first, format("auto &simt_output_%d = ", p->n));
        put_after(
            last,
            format(
                "; std::remove_cv_t<std::remove_reference_t<decltype(simt_output_%d)>> simt_value_%d __attribute__((uninitialized))",
                p->n, p->n));
        p->stores = format("%ssimt_output_%d = simt_value_%d; ", p->stores, p->n, p->n);
        p->arguments = format("%s, (void *)&simt_value_%d", p->arguments, p->n);
    }
    if (bound || !output)
        replace(first, format("auto %ssimt_value_%d = ", !bound ? "" : output ? "&" : "&&", p->n));
    if (enters && !bound)
        p->arguments = format("%s, ::simt::bits(simt_%s_%d)", p->arguments, output ? "output" : "value", p->n);
    put_after(last, format("; static_assert(::simt::has_constraint<decltype(simt_value_%d), '%c'>, \"%s\");", p->n,
                           letter_of(letters), WRONG_TYPE));
    p->operands = format("%s%s{%s%s, sizeof simt_value_%d, %s, %s}", p->operands, p->n ? ", " : "", name, letters, p->n,
                         enters ? "true" : "false", variable);
    p->n++;
    p->n_outputs += output;
    return true;
}

/* Operands with a comma between two, which nvcc does not need. */
static bool operands_between(int first, int last, bool output, struct parts *p)
{
    for (int end; first <= last; first = end + 1) {
        end = is(first, "[") ? tokens[first].partner + 1 : first;
        while (end < last && !is(end, "("))
            end++;
        end = tokens[end].partner;
        if (end > last || !operand(first, end, output, p))
            return false;
    }
    return true;
}

static bool has_operands(int string, int close)
{
    for (int i = string; i < close; i++)
        if (is(i, "("))
            return true;
    return false;
}

/* Without text it is no more than a barrier to the compiler. */
static bool is_empty(int string)
{
    for (; tokens[string].kind == STRING; string++) {
        const char *quote = strchr(source_text(string, string), '"');
        if (!quote || quote[1 + strspn(quote + 1, " \t;\"")])
            return false;
    }
    return true;
}

/* Does the text, of strings from first on, have that word? */
static bool text_has(int first, const char *word)
{
    char *text = "";
    for (int i = first; tokens[i].kind == STRING; i++) {
        const char *string = source_text(i, i), *open = strchr(string, '"');
        if (open)
            text = format("%s%.*s", text, (int)(strrchr(string, '"') - open) - 1, open + 1);
    }
    return strstr(text, word);
}

static bool operands(int colon, int close, struct parts *p)
{
    int section = 0;
    for (int i = colon; i < close; i = next_separator(i + 1, close)) {
        if (!is(i, ","))
            section += is(i, "::") ? 2 : 1;
        if (i > colon)
            replace(i, "");
        int last = next_separator(i + 1, close) - 1;
        if (last == i)
            continue;
        if (section > 2)
            delete (i + 1, last);
        else if (!operands_between(i + 1, last, section == 1, p))
            return false;
    }
    return true;
}

void assembly(int i)
{
    int open = i + 1;
    bool renames = tokens[i - 1].kind == NAME && !is_any(i - 1, "else do"); /* int f asm("g") */
    bool jumps = false;
    for (; is_any(open, "volatile __volatile__ goto inline"); open++)
        jumps |= is(open, "goto");
    if (scope->kind != FUNCTION || !scope->device || renames || !is(open, "("))
        return;
    int close = tokens[open].partner, colon = next_separator(open + 1, close);
    bool empty = is_empty(open + 1);
    if (empty && !has_operands(open + 1, close))
        return;
    struct parts p = {"", "", "", 0, 0, empty, text_has(open + 1, "wgmma.mma_async")};
    if (jumps || !is(close + 1, ";") || !operands(colon, close, &p)) {
        refuse(i,
               jumps ? "`asm goto` is not supported by the emulator" : "the emulator cannot read this `asm` statement");
        return;
    }
    if (empty) {
        delete (i, colon);
        put_before(i, "{ ");
        replace(close, format("%s}", p.stores));
        replace(close + 1, "");
        return;
    }
    delete (i, open);
    replace(i, "{ static ::simt_assembly_site simt_assembly_site = {");
    char *site = format(", \"%s\", %d, %d, %d, nullptr}; ", file_of(i), tokens[i].line, p.n_outputs, p.n - p.n_outputs);
    char *call = p.n ? format("static const ::simt_asm_operand simt_operands[] = {%s}; "
                              "::simt_assembly(&simt_assembly_site, simt_operands%s); %s}",
                              p.operands, p.arguments, p.stores)
                     : "::simt_assembly(&simt_assembly_site, nullptr); }";
    if (colon < close)
        replace(colon, site);
    replace(close, colon < close ? call : format("%s%s", site, call));
    replace(close + 1, "");
}
