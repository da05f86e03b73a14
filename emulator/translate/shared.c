/* `__shared__`. Every declaration gets a place in the block's shared memory, so that its bounds are known and two
 * blocks on one core stay apart. The first line becomes the next two, and so for p:
 *
 *     __shared__ float A[4][5], *p;
 *         typedef float simt_T_A[4][5], *simt_T_p;
 *         static ::simt_shared_site simt_site_A = ::simt::site<simt_T_A>("A", "file", line);
 *     extern __shared__ float A[];
 *         typedef float simt_T_A[];
 *
 * and each use of the name an expression:
 *
 *     A            (*(simt_T_A *)::simt_shared(&simt_site_A)), or (*(simt_T_A *)::simt_shared_dynamic())
 *     decltype(A)  simt_T_A
 *
 * No variable is made of it: a lambda would capture it, or copy it, and a case label could not jump over it. The
 * compiler asks for the place once, since the functions are declared const. Alignments are dropped: the runtime places
 * every array at a multiple of 1 KiB. */
#include "names.h"
#include "rewrite.h"

enum { ARRAY, DYNAMIC, HIDES }; /* HIDES: no array, but something else of that name */

int n_arrays;
static struct names arrays;

static void know(int token, int kind)
{
    names_add(&arrays, token, kind);
    n_arrays = arrays.n;
}

void shared_forget(int n)
{
    names_forget(&arrays, n);
    n_arrays = n;
}

static bool is_array(int i)
{
    const struct name *name = names_find(&arrays, i);
    return name && name->kind != HIDES;
}

/* ---- declarations ---------------------------------------------------------------------------------------- */

/* Is the name at i the one that is being declared? Then its declarator goes on, or ends, right behind it. */
bool is_declarator(int i, bool class_key)
{
    int next = i + 1;
    while (skip_attribute(next) >= next)
        next = skip_attribute(next) + 1;
    if (is(next, "("))
        return !is_any(next + 1, "* &");
    return is_any(next, "[ , ; ) =") || (is(next, "{") && !class_key);
}

static void declare(int i, int semicolon, bool dynamic)
{
    const char *name = source_text(i, i);
    char *type = format("simt_T_%s", name);
    replace(i, type);
    if (!dynamic)
        put_after(semicolon, format(" static ::simt_shared_site simt_site_%s = ::simt::site<%s>(\"%s\", \"%s\", %d);",
                                    name, type, name, file_of(i), tokens[i].line));
    know(i, dynamic ? DYNAMIC : ARRAY);
    local_hide(i);
}

int shared_declaration(int i)
{
    int first = head, semicolon = i;
    bool dynamic = false, class_key = false;
    for (int j = head; j < i; j++)
        if (is(j, ":"))
            first = j + 1; /* a label */
    while (!is(semicolon, ";"))
        semicolon = is_any(semicolon, "( [ {") ? tokens[semicolon].partner + 1 : semicolon + 1;
    for (int j = first; j < semicolon; j++)
        dynamic |= is(j, "extern");
    if (scope->kind == CLASS) {
        refuse(i, "a member of a class cannot be __shared__");
        return semicolon;
    }
    put_before(first, "typedef ");
    for (int j = first, declared = 0; j < semicolon; j++) {
        int attribute = skip_attribute(j);
        if (attribute >= j) {
            bool of_type = is_any(j - 1, "struct union class enum }") || is_any(j, "decltype typeof __typeof__");
            if (!of_type)
                delete (j, attribute);
            j = attribute;
        } else if (is_any(j, "__shared__ static extern inline")) {
            replace(j, "");
        } else if (is_any(j, "struct union class enum")) {
            class_key = true;
        } else if (is(j, "[") || (is(j, "{") && class_key) || (is(j, "(") && is(j - 1, ")"))) {
            class_key = false;
            j = tokens[j].partner;
        } else if (is(j, "<") && tokens[j - 1].kind == NAME && angle_close(j)) {
            j = angle_close(j);
        } else if (is_any(j, "= {") || (is(j, "(") && declared && declared == j - 1)) {
            refuse(i, "a __shared__ variable cannot have an initialiser: `%s`", source_text(declared, declared));
            return semicolon;
        } else if (tokens[j].kind == NAME && is_declarator(j, class_key)) {
            declare(declared = j, semicolon, dynamic);
        }
    }
    return semicolon;
}

/* ---- uses ------------------------------------------------------------------------------------------------ */

#define MOST_WORDS 32 /* of a type */

bool begins_declaration(int i)
{
    int words = 0, first = i;
    if (is(i, "auto") || is_any(i, "const constexpr static volatile unsigned signed struct"))
        return true;
    while (tokens[i].kind == NAME && !is_any(i, NO_TYPE)) {
        words++;
        i++;
        if (is(i, "<") && angle_close(i))
            i = angle_close(i) + 1;
        if (is(i, "::")) {
            i++;
            words--;
        }
        while (is_any(i, "* & && const volatile __restrict__") && i - first < 10 * MOST_WORDS)
            i++;
    }
    return words > 1 && is_any(i, "= , ; [ { ( :");
}

/* Is another thing of that name declared at i: `float smem`, `T<int> *smem`, `int i = 0, smem`? */
static bool is_redeclared(int i)
{
    int j = i - 1, names = 0;
    while (is_any(j, "* & && const volatile __restrict__"))
        j--;
    if (is(j, ",") && is_any(i + 1, "= , ; [ { :"))
        return begins_declaration(statement_begin(j));
    for (; tokens[j].kind == NAME || is_any(j, ":: >"); j--) {
        if (is_any(j, NO_TYPE))
            return false;
        if (is(j, ">"))
            j = angle_open(j);
        if (j == 0 || names++ == MOST_WORDS)
            return false;
    }
    return names && (is_any(j, "; { }") || (is(j, "(") && is_any(j - 1, "for if while switch catch")));
}

void shared_use(int i)
{
    if (!is_array(i) || scope->kind == NAMESPACE)
        return;
    if (tokens[i].edit || tokens[i].lambda || is_any(i - 1, ". -> ::"))
        return;
    if (is_redeclared(i)) {
        know(i, HIDES);
        return;
    }
    if (scope->kind == CLASS)
        return;
    const char *name = source_text(i, i);
    if (is(i - 1, "(") && is(i + 1, ")") && is_any(i - 2, "decltype typeof __typeof__")) {
        delete (i - 2, i + 1);
        replace(i, format("simt_T_%s", name));
        return;
    }
    replace(i, names_find(&arrays, i)->kind == DYNAMIC ? format("(*(simt_T_%s *)::simt_shared_dynamic())", name)
                              : format("(*(simt_T_%s *)::simt_shared(&simt_site_%s))", name, name));
}

/* A lambda need not capture what is no local variable: `[&A, n]` becomes `[n]`. */
void shared_capture(int open)
{
    int close = tokens[open].partner;
    bool kept = false;
    for (int first = open + 1, after; first < close; first = after + 1) {
        after = first;
        while (after < close && !is(after, ","))
            after = is_any(after, "( [ {") ? tokens[after].partner + 1 : after + 1;
        int name = after - 1;
        bool by_name = name == first || (name == first + 1 && is(first, "&"));
        if (!by_name || tokens[name].kind != NAME || !is_array(name)) {
            kept = true;
            continue;
        }
        delete (first, name);
        if (kept)
            replace(first - 1, "");
        else if (after < close)
            replace(after, "");
    }
}

void shared_hide(int first, int last)
{
    for (int i = first; n_arrays && i <= last; i++)
        if (tokens[i].kind == NAME && is_array(i))
            know(i, HIDES);
}

void shared_binding(int open)
{
    int type = open - 1;
    while (is_any(type, "& &&"))
        type--;
    if (is(type, "auto"))
        shared_hide(open + 1, tokens[open].partner);
}
