/* `__shared__`. Every declaration gets a place in the block's shared memory, so that its bounds are known and two
 * blocks on one core stay apart. In a function, the first line becomes the next three, and so for p:
 *
 *     __shared__ float A[4][5], *p;
 *         typedef float simt_T_A[4][5], *simt_T_p;
 *         static ::simt_shared_site simt_site_A = ::simt::site<simt_T_A>("A", "file", line);
 *         simt_T_A &A = *(simt_T_A *)::simt_shared(&simt_site_A);
 *     extern __shared__ float A[];
 *         typedef float simt_T_A[];
 *         simt_T_A &A = *(simt_T_A *)::simt_shared_dynamic();
 *
 * Outside of functions there is no block yet to refer to: the typedef and the site stay, and each use of the name
 * becomes the expression on the right. The same is done to uses in lambdas and local classes, where a reference would
 * be captured, or copied, and a shared array is not. Alignments are dropped: the runtime places every array at a
 * multiple of 1 KiB. */
#include "rewrite.h"
#include <stdlib.h>

struct array {
    int name;      /* a token */
    int boundary;  /* of the place where it was declared; -1: outside of functions */
    bool dynamic;
    bool hides;    /* no array, but something else of that name */
};

int n_arrays;
static struct array *arrays;

static void know(struct array array)
{
    arrays = realloc(arrays, ((size_t)n_arrays + 1) * sizeof *arrays);
    if (!arrays) abort();
    arrays[n_arrays++] = array;
}

void shared_forget(int n) { n_arrays = n; }

static const struct array *known(int i)
{
    for (int a = n_arrays; a-- > 0;)
        if (same_text(arrays[a].name, i)) return &arrays[a];
    return NULL;
}

/* ---- declarations ---------------------------------------------------------------------------------------- */

/* Is the name at i the one that is being declared? Then its declarator goes on, or ends, right behind it. */
static bool is_declarator(int i, bool class_key)
{
    int next = i + 1;
    while (skip_attribute(next) >= next) next = skip_attribute(next) + 1;
    if (is(next, "(")) return !is_any(next + 1, "* &");
    return is_any(next, "[ , ; ) =") || (is(next, "{") && !class_key);
}

static void declare(int i, int semicolon, bool dynamic)
{
    const char *name = source_text(i, i);
    char *type = format("simt_T_%s", name);
    bool outside = scope->kind == NAMESPACE;
    replace(i, type);
    if (!dynamic)
        put_after(semicolon, format(" static ::simt_shared_site simt_site_%s = ::simt::site<%s>(\"%s\", \"%s\", %d);",
                                    name, type, name, file_of(i), tokens[i].line));
    if (!outside && dynamic)
        put_after(semicolon, format(" %s &%s = *(%s *)::simt_shared_dynamic();", type, name, type));
    else if (!outside)
        put_after(semicolon, format(" %s &%s = *(%s *)::simt_shared(&simt_site_%s);", type, name, type, name));
    know((struct array){i, outside ? -1 : scope->boundary, dynamic, false});
}

int shared_declaration(int i)
{
    int first = head, semicolon = i;
    bool dynamic = false, class_key = false;
    for (int j = head; j < i; j++)
        if (is(j, ":")) first = j + 1; /* a label */
    while (!is(semicolon, ";")) semicolon = is_any(semicolon, "( [ {") ? tokens[semicolon].partner + 1 : semicolon + 1;
    for (int j = first; j < semicolon; j++) dynamic |= is(j, "extern");
    if (scope->kind == CLASS) {
        refuse(i, "a member of a class cannot be __shared__");
        return semicolon;
    }
    put_before(first, "typedef ");
    for (int j = first, declared = 0; j < semicolon; j++) {
        int attribute = skip_attribute(j);
        if (attribute >= j) {
            bool of_type = is_any(j - 1, "struct union class enum }") || is_any(j, "decltype typeof __typeof__");
            if (!of_type) delete(j, attribute);
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

/* Is another thing of that name declared at i? Only what is plain is seen: `float smem`, `T<int> *smem`. */
static bool is_redeclared(int i)
{
    int j = i - 1, names = 0;
    while (is_any(j, "* & && const volatile __restrict__")) j--;
    for (; tokens[j].kind == NAME || is_any(j, ":: >"); j--) {
        if (is_any(j, "return else do case goto throw new delete sizeof co_return co_yield")) return false;
        if (is(j, ">") && !(j = angle_open(j))) return false;
        names++;
    }
    return names && (is_any(j, "; { }") || (is(j, "(") && is(j - 1, "for")));
}

void shared_use(int i)
{
    const struct array *array = known(i);
    if (!array || array->hides || array->boundary == scope->boundary || scope->kind == NAMESPACE) return;
    if (tokens[i].edit || tokens[i].lambda || is_any(i - 1, ". -> ::")) return;
    if (is_redeclared(i)) {
        know((struct array){.name = i, .hides = true});
        return;
    }
    if (scope->kind == CLASS) return;
    const char *name = source_text(i, i);
    replace(i, array->dynamic ? format("(*(simt_T_%s *)::simt_shared_dynamic())", name)
                              : format("(*(simt_T_%s *)::simt_shared(&simt_site_%s))", name, name));
}

void shared_hide(int first, int last)
{
    for (int i = first, n = n_arrays; n && i <= last; i++)
        if (tokens[i].kind == NAME && known(i)) know((struct array){.name = i, .hides = true});
}
