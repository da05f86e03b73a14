/* `__device__`, `__constant__` and `__managed__`. On a function they say where it runs, which here is everywhere: they
 * are removed. On a variable they say whose memory it is: it goes to the section simt_device, or simt_managed, by whose
 * bounds the emulator knows it. A constant can be in no section that holds variables, and need not: both sides may read
 * it. */
#include "rewrite.h"

#define MEMORY_SPACES "__device__ __constant__ __managed__"
#define TAKE_PARENTHESES "alignas _Alignas __attribute__ __attribute decltype __typeof__ typeof explicit requires"

int skip_attribute(int i)
{
    if (is(i, "[") && is(i + 1, "[")) return tokens[i].partner;
    if (is_any(i, TAKE_PARENTHESES) && is(i + 1, "(")) return tokens[i + 1].partner;
    return i - 1;
}

/* At a `(` in a declaration: do parameters begin here? Not in `int (*f)(int)`, `int (&r)[2]`, `struct point p(1)`. */
static bool parameters(int i)
{
    int first = i + 1;
    if (tokens[first].kind == NUMBER || tokens[first].kind == STRING || is_any(first, "- + ! ~ true false nullptr"))
        return false;
    if (!is_any(first, "* &")) return true;
    while (is_any(first, "* & const volatile")) first++;
    return tokens[first].kind == NAME && is(first + 1, "(");
}

enum what { A_FUNCTION, A_VARIABLE, A_CONSTANT, A_TEMPLATE };
struct declared { bool is_static, is_extern; int inlined; /* the word `inline`, if any */ };

/* What the declaration from `first` on declares, and its words that matter. */
static enum what declaration(int first, struct declared *words)
{
    bool constant = false, template = false, class_key = false;
    for (int i = first;; i++) {
        int attribute = skip_attribute(i);
        if (attribute >= i) {
            i = attribute;
            continue;
        }
        if (is_any(i, "operator using typedef friend }")) return A_FUNCTION;
        if (is(i, "(") && parameters(i)) return A_FUNCTION;
        if (is(i, "{") && class_key) {
            i = tokens[i].partner;
            class_key = false;
            continue;
        }
        if (is_any(i, "; = [ , { )") || (is(i, "(") && !is_any(i + 1, "* &"))) break;
        if (is_any(i, "const constexpr")) constant = true;
        if (is(i, "*")) constant = false;
        if (is_any(i, "struct class union enum")) class_key = true;
        if (is(i, "inline")) words->inlined = i;
        if (is(i, "static")) words->is_static = true;
        if (is(i, "extern")) words->is_extern = true;
        if (is(i, "template")) template = true;
        if (is(i, "<") && tokens[i - 1].kind == NAME && angle_close(i)) i = angle_close(i);
    }
    return constant ? A_CONSTANT : template ? A_TEMPLATE : A_VARIABLE;
}

void device_declaration(int i)
{
    if (tokens[i].edit) return; /* seen with the first of several: `__device__ __constant__` */
    struct declared words = {0};
    enum what what = tokens[i].lambda ? A_FUNCTION : declaration(head, &words);
    bool managed = false;
    for (int j = i; is_any(j, MEMORY_SPACES); j++) {
        managed |= is(j, "__managed__");
        replace(j, "");
    }
    if (what == A_TEMPLATE) {
        refuse(i, "a `%s` variable that is a template is not supported by the emulator", source_text(i, i));
    } else if (what == A_VARIABLE && scope->kind == FUNCTION && !words.is_static && !words.is_extern) {
        refuse(i, "a `%s` variable in a function must be static", source_text(i, i));
    } else if (what == A_VARIABLE && scope->kind != CLASS) {
        replace(i, format("__attribute__((section(\"simt_%s\")))", managed ? "managed" : "device"));
        /* Inline variables have sections of their own; a weak one is merged by the linker all the same. */
        if (words.inlined) replace(words.inlined, words.is_static ? "" : "__attribute__((weak))");
    }
}
