/* Names in parameter lists: of functions, `const float *__restrict__ in, int (*f)(int), T... rest`, and of templates,
 * `typename T, int N = 3, typename... R`. A parameter without a name is given one. */
#include "rewrite.h"
#include <string.h>

#define QUALIFIERS "const volatile __restrict__ __restrict restrict __grid_constant__ register"
#define TYPE_WORDS \
    "void bool char short int long float double signed unsigned auto wchar_t char8_t char16_t char32_t __int128 " \
    "typename class struct union enum"

/* The end of the parameter that begins at i: a `,` at its level, or `end`. */
static int parameter_end(int i, int end)
{
    for (; i < end && !is(i, ","); i++) {
        if (is_any(i, "( [ {"))
            i = tokens[i].partner;
        else if (is(i, "<") && tokens[i - 1].kind == NAME && angle_close(i))
            i = angle_close(i);
    }
    return i;
}

/* The `=` of a default argument, or `end`. */
static int default_begin(int i, int end)
{
    for (; i < end && !is(i, "="); i++) {
        if (is_any(i, "( [ {"))
            i = tokens[i].partner;
        else if (is(i, "<") && (tokens[i - 1].kind == NAME) && angle_close(i))
            i = angle_close(i);
    }
    return i;
}

/* Back from i, over attributes and qualifiers. */
static int before_words(int i, int first, bool qualifiers)
{
    for (;;) {
        int open = i;
        if (i >= first && is_any(i, ") ]"))
            open = tokens[i].partner;
        if (is(open, "(") && open > first && is_any(open - 1, "__attribute__ __attribute alignas")) {
            i = open - 2;
        } else if (is(open, "[") && is(open + 1, "[")) {
            i = open - 1;
        } else if (qualifiers && i >= first && is_any(i, QUALIFIERS)) {
            i--;
        } else {
            return i;
        }
    }
}

/* Is the word at i the parameter's name, and not the last word of its type? */
static bool is_name(int i, int first)
{
    if (tokens[i].kind != NAME || is_any(i, QUALIFIERS) || is_any(i, TYPE_WORDS))
        return false;
    if (is(i - 1, "::"))
        return false;
    int before = before_words(i - 1, first, true);
    if (before < first)
        return false;
    return is_any(before, "* & && ... > ) ]") || (tokens[before].kind == NAME && !is_any(before, "struct union enum"));
}

/* The name in `int (*f)(int)`, `int (&r)[2]`, `int (T::*m)`: in the first parentheses with a `*` or `&` in them. Where
 * there is none, *place is the token to put it behind. */
static int inner_name(int first, int last, int *place)
{
    for (int i = first; i <= last; i++) {
        int attribute = skip_attribute(i);
        if (attribute >= i) {
            i = attribute;
            continue;
        }
        if (is(i, "<") && tokens[i - 1].kind == NAME && angle_close(i))
            i = angle_close(i);
        if (!is(i, "("))
            continue;
        int j = i + 1;
        while (tokens[j].kind == NAME && is(j + 1, "::"))
            j += 2;
        if (!is_any(j, "* & &&"))
            return 0;
        while (is_any(j, "* & && ( ...") || is_any(j, QUALIFIERS))
            j++;
        *place = j - 1;
        return tokens[j].kind == NAME ? j : -1;
    }
    return 0;
}

/* Notes the parameter of tokens first to last, and names it where it has no name. */
static void note(struct parameter *p, int first, int last, const char *prefix, int number)
{
    int place = 0, name = inner_name(first, last, &place);
    *p = (struct parameter){.first = first};
    for (int i = first; i <= last; i++) {
        if (is(i, "..."))
            p->pack = true;
        if (is(i, "<") && tokens[i - 1].kind == NAME && angle_close(i))
            i = angle_close(i);
        else if (is(i, "("))
            i = tokens[i].partner;
    }
    if (name == 0) {
        int at = before_words(last, first, false);
        while (at > first && is(at, "]"))
            at = before_words(tokens[at].partner - 1, first, false);
        place = at;
        if (is_name(at, first))
            name = at;
    }
    if (name > 0) {
        p->name = source_text(name, name);
        return;
    }
    p->name = format("%s%d", prefix, number);
    put_after(place, format(" %s", p->name));
}

int parameter_names(int open, int close, struct parameter *list, int most, const char *prefix)
{
    int n = 0;
    if (open + 1 == close || (open + 2 == close && is(open + 1, "void")))
        return 0;
    for (int i = open + 1; i < close && n < most; n++) {
        int end = parameter_end(i, close), last = default_begin(i, end) - 1;
        if (is(i, "...")) {
            refuse(i, "a kernel cannot take `...`");
            return n;
        }
        note(&list[n], i, last, prefix, n);
        i = end + 1;
    }
    return n;
}
