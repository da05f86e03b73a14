/* `__device__`, `__constant__` and `__managed__`. On a function they say where it runs, which here is everywhere: they
 * are removed. On a variable they say whose memory it is: it goes to the section simt_device, simt_constant or
 * simt_managed, with a gap behind it that belongs to no variable, and a record of it is left where the emulator finds it:
 *
 *     __device__ int a[4], b;
 *         __attribute__((section("simt_device"), no_reorder, used)) int a[4]; RECORD of a GAP
 *         __attribute__((section("simt_device"), no_reorder, used)) int b; RECORD of b GAP
 *     RECORD  static ::simt_symbol simt_symbol_7 = {&a, sizeof a, "a", "a.cu", 1, SIMT_DEVICE};
 *             static ::simt_symbol *simt_symbol_at_7 __attribute__((section("simt_symbols"))) = &simt_symbol_7;
 *     GAP     static char simt_gap_7[256] __attribute__((section("simt_device")));
 *
 * A const variable can be in no section that holds others: it stays where the compiler puts it, and is recorded. Nor can
 * the variables of functions, which may be templates: those are recorded when a thread comes to their declaration. */
#include "rewrite.h"

#define MEMORY_SPACES "__device__ __constant__ __managed__"
#define TAKE_PARENTHESES "alignas _Alignas __attribute__ __attribute decltype __typeof__ typeof explicit requires"

int skip_attribute(int i)
{
    if (is(i, "[") && is(i + 1, "["))
        return tokens[i].partner;
    if (is_any(i, TAKE_PARENTHESES) && is(i + 1, "("))
        return tokens[i + 1].partner;
    return i - 1;
}

/* At a `(` in a declaration: do parameters begin here? Not in `int (*f)(int)`, `int (&r)[2]`, `struct point p(1)`. */
static bool parameters(int i)
{
    int first = i + 1;
    if (tokens[first].kind == NUMBER || tokens[first].kind == STRING || is_any(first, "- + ! ~ true false nullptr"))
        return false;
    if (!is_any(first, "* &"))
        return true;
    while (is_any(first, "* & const volatile"))
        first++;
    return tokens[first].kind == NAME && is(first + 1, "(");
}

enum what { A_FUNCTION, A_VARIABLE, A_CONSTANT };
struct declared {
    bool is_static, is_extern, template;
    int inlined; /* the word `inline`, if any */
};

/* What the declaration from `first` on declares, and its words that matter. */
static enum what declaration(int first, struct declared *words)
{
    bool constant = false, class_key = false;
    for (int i = first;; i++) {
        int attribute = skip_attribute(i);
        if (attribute >= i) {
            i = attribute;
            continue;
        }
        if (is_any(i, "operator using typedef friend }"))
            return A_FUNCTION;
        if (is(i, "(") && parameters(i))
            return A_FUNCTION;
        if (is(i, "{") && class_key) {
            i = tokens[i].partner;
            class_key = false;
            continue;
        }
        if (is_any(i, "; = [ , { )") || (is(i, "(") && !is_any(i + 1, "* &")))
            break;
        if (is_any(i, "const constexpr"))
            constant = true;
        if (is(i, "*"))
            constant = false;
        if (is_any(i, "struct class union enum"))
            class_key = true;
        if (is(i, "inline"))
            words->inlined = i;
        if (is(i, "static"))
            words->is_static = true;
        if (is(i, "extern"))
            words->is_extern = true;
        if (is(i, "template"))
            words->template = true;
        if (is(i, "<") && tokens[i - 1].kind == NAME && angle_close(i))
            i = angle_close(i);
    }
    return constant ? A_CONSTANT : A_VARIABLE;
}

/* ---- the variables of a declaration ---- */

#define GAP_BYTES 256

struct variable {
    int name, begin, end; /* tokens; its declarator, and the `,` or `;` behind it */
    bool initialised, reference;
};

/* The next name that is declared at or after i, in a declaration whose first variable begins there or later. */
static bool next_variable(int i, struct variable *v)
{
    bool class_key = false;
    *v = (struct variable){0};
    for (; !v->name; i++) {
        int attribute = skip_attribute(i);
        if (is(i, ";"))
            return false;
        if (attribute >= i)
            i = attribute;
        else if (is_any(i, "struct union class enum"))
            class_key = true;
        else if (is(i, "{") && class_key)
            i = tokens[i].partner;
        else if (is(i, "<") && tokens[i - 1].kind == NAME && angle_close(i))
            i = angle_close(i);
        else if (tokens[i].kind == NAME && is_declarator(i, class_key))
            v->name = i;
    }
    for (v->begin = v->name;;) {
        int before = v->begin - 1;
        while (is_any(before, "const volatile __restrict__"))
            before--;
        if (is(v->begin - 1, "::"))
            v->begin = tokens[before_angle(before - 1)].kind == NAME ? before_angle(before - 1) : before;
        else if (is_any(before, "* & &&"))
            v->begin = before;
        else if (is(v->begin - 1, "("))
            v->begin--;
        else
            break;
        v->reference |= is_any(v->begin, "& &&");
    }
    for (v->end = v->name + 1; !is_any(v->end, ", ;"); v->end++) {
        if (is(v->end, "=") || is(v->end, "{") || (is(v->end, "(") && v->end == v->name + 1))
            v->initialised = true;
        if (is_any(v->end, "( [ {"))
            v->end = tokens[v->end].partner;
        else if (is(v->end, "<") && tokens[v->end - 1].kind == NAME && angle_close(v->end))
            v->end = angle_close(v->end);
    }
    return true;
}

/* The words that all variables of the declaration have in common, to be said again. A struct without a name is the type
 * of the first variable, which must be of no other type then; NULL if it is. */
static char *common_words(int first, const struct variable *v)
{
    int last = v->begin - 1;
    bool of_that_type = v->begin == v->name && !is_any(v->name + 1, "[ (");
    int class_key = 0, brace = 0;
    for (int i = first; i <= last && !brace; i++) {
        int attribute = skip_attribute(i);
        if (attribute >= i)
            i = attribute;
        else if (is_any(i, "struct union class enum"))
            class_key = i;
        else if (is(i, "{"))
            brace = i;
        else if (is(i, "<") && tokens[i - 1].kind == NAME && angle_close(i))
            i = angle_close(i);
    }
    if (!brace)
        return edited_text(first, last);
    int name = class_key + 1;
    while (skip_attribute(name) >= name)
        name = skip_attribute(name) + 1;
    if (class_key && is(name, "{") && of_that_type)
        return format("%s decltype(%s) %s", class_key > first ? edited_text(first, class_key - 1) : "",
                      source_text(v->name, v->name), edited_text(tokens[brace].partner + 1, last));
    if (!class_key || tokens[name].kind != NAME)
        return NULL;
    return format("%s %s %s", edited_text(first, class_key), source_text(name, name),
                  edited_text(tokens[brace].partner + 1, last));
}

struct space {
    const char *section, *kind;
};

static char *record(const struct variable *v, struct space space, bool in_function)
{
    char *name = source_text(v->name, v->name), *whole = name;
    if (is(v->name - 1, "::"))
        whole = source_text(v->begin, v->name);
    char *text = format(
        " static ::simt_symbol simt_symbol_%d = {(void *)__builtin_addressof(%s), sizeof(%s), \"%s\", \"%s\", "
        "%d, ::%s, nullptr};",
        v->name, whole, whole, name, file_of(v->name), tokens[v->name].line, space.kind);
    if (in_function)
        return format("%s ::simt_symbol_here(&simt_symbol_%d);", text, v->name);
    return format("%s static ::simt_symbol *simt_symbol_at_%d __attribute__((section(\"simt_symbols\"), used)) = "
                  "&simt_symbol_%d;",
                  text, v->name, v->name);
}

#define IN_ORDER "no_reorder, used"
static char *gap(const struct variable *v, struct space space)
{
    return format(" static char simt_gap_%d[%d] __attribute__((section(\"%s\"), " IN_ORDER "));", v->name, GAP_BYTES,
                  space.section);
}

static void variables(struct space space, bool constant, const struct declared *words)
{
    bool in_function = scope->kind == FUNCTION;
    struct variable v;
    char *common = NULL, *behind = "";
    for (int i = head; next_variable(i, &v); i = v.end + 1) {
        if (!v.reference && (!words->is_extern || v.initialised)) {
            behind = format("%s%s", behind, record(&v, space, in_function));
            if (!in_function && !constant)
                behind = format("%s%s", behind, gap(&v, space));
        }
        if (i == head && !in_function)
            common = common_words(head, &v);
        if (is(v.end, ";")) {
            put_after(v.end, behind);
            return;
        }
        if (!common)
            continue;
        replace(v.end, format(";%s %s", behind, common));
        behind = "";
    }
}

/* Blanks the words that name a memory space, up to the declared variables, and says which it is. */
static struct space take_space(int first)
{
    struct space space = {"simt_device", "SIMT_DEVICE"};
    for (int i = first; !is_any(i, "; = {"); i++) {
        if (is(i, "__constant__"))
            space = (struct space){"simt_constant", "SIMT_CONSTANT"};
        if (is(i, "__managed__"))
            space = (struct space){"simt_managed", "SIMT_MANAGED"};
        if (is_any(i, MEMORY_SPACES))
            replace(i, "");
    }
    return space;
}

static void variable_declaration(int i, bool constant, struct declared *words)
{
    const char *word = source_text(i, i);
    bool in_function = scope->kind == FUNCTION, automatic = in_function && !words->is_static && !words->is_extern;
    struct space space = take_space(head);
    if (words->template || automatic) {
        if (!constant && automatic)
            refuse(i, "a `%s` variable in a function must be static", word);
        else if (!constant)
            refuse(i, "a `%s` variable that is a template is not supported by the emulator", word);
        return;
    }
    if (!constant && !in_function) {
        replace(i, format("__attribute__((section(\"%s\"), " IN_ORDER "))", space.section));
        /* Inline variables have sections of their own; a weak one is merged by the linker all the same. */
        if (words->inlined)
            replace(words->inlined, words->is_static ? "" : "__attribute__((weak))");
    }
    variables(space, constant, words);
}

void device_declaration(int i)
{
    static int last; /* what this declaration is has been found at the first of its words: `__device__ __constant__` */
    struct declared words = {0};
    enum what what = A_FUNCTION;
    if (!tokens[i].lambda && last != head)
        what = declaration(last = head, &words);
    if (what == A_FUNCTION || scope->kind == CLASS) {
        replace(i, "");
    } else {
        variable_declaration(i, what == A_CONSTANT, &words);
    }
}
