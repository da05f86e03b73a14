/* Assignments of what a function or an operator returns, in code that a kernel's thread may come to:
 *
 *     s[t] = load(in + t);
 *         s[t] = (::simt::returned, load(in + t));
 *
 * Where a function returns a struct and is not inlined, g++ stores the result by the call itself, and puts no hook in
 * front of that store. The comma is an operator of simt/launch.h that takes only a struct that was returned, and hands
 * it on: so the store is one of its own. In front of anything else it is the comma that C++ has, which changes nothing.
 * Types need not be known here, therefore, and what is rewritten in vain does no harm. */
#include "names.h"
#include "rewrite.h"
#include <stdlib.h>

#define NO_CALL \
    "sizeof alignof _Alignof __alignof__ decltype typeof __typeof__ noexcept typeid if while for switch return"

/* Does the program define operators? Then any operator may be a call. */
static bool defines_operators(void)
{
    for (int i = 1; i < end; i++)
        if (is(i, "operator"))
            return true;
    return false;
}

/* The `=` of `+=` and its like, of `operator=`, of a capture `[=]`. */
static bool is_plain(int i)
{
    if (is_any(i - 1, "+ - * / % & | ^") && !tokens[i].spaced)
        return false;
    return !is_any(i - 1, "operator [ , ( { ; .") && !is_any(i + 1, "] , ; )");
}

/* ---- what stands ahead of a token: read once, from the last token to the first ---- */

static struct ahead {
    int comma; /* the next one outside of brackets, or the closing bracket in front of it */
    int stop;  /* what ends the expression that begins here; 0: unknown */
    int calls; /* how many there are from here on, of functions and of operators that the program may define */
} *ahead;

/* Is there a comma from first to last, outside of brackets? */
static bool has_comma(int first, int last) { return ahead[first].comma <= last && is(ahead[first].comma, ","); }

/* At a `<`: the `>` of template arguments that hold a comma, else i. 0: they cannot be told from two comparisons. */
static int skip_angle(int i)
{
    int close = tokens[i - 1].kind == NAME ? angle_close(i) : 0;
    bool comma = close && has_comma(i + 1, close - 1);
    if (!comma || tokens[close + 1].kind != PUNCTUATION)
        return i;
    return tokens[i].spaced ? 0 : close;
}

static int stop_at(int i)
{
    int next = tokens[i].partner > i ? tokens[i].partner + 1 : i + 1;
    if (is_any(i, ", ; ) ] } :"))
        return i;
    if (is(i, "<")) {
        next = skip_angle(i) + 1;
        return next == 1 ? 0 : ahead[next].stop;
    }
    int stop = ahead[next].stop;
    return is(i, "?") && is(stop, ":") ? ahead[stop + 1].stop : stop;
}

/* The last token of the expression that begins at i; i - 1 where none can be told. */
static int expression_end(int i)
{
    int stop = ahead[i].stop;
    return stop == 0 || stop >= end ? i - 1 : stop - 1;
}

/* A `(` behind a function's name, or behind what may give a function; threadIdx and blockIdx are no calls. */
static bool is_call(int i)
{
    if (!is(i, "("))
        return false;
    if (tokens[i - 1].kind != NAME)
        return is_any(i - 1, "> ) ] }");
    return !is_any(i - 1, NO_CALL) && !is_any(i - 1, "simt_thread_idx simt_block_idx");
}

/* An operator that a class may define. Not the `&` and the `<` of `&load<float>`: to know which function that means, the
 * compiler must see what it is assigned to. */
static bool is_operator(int i)
{
    if (tokens[i].kind != PUNCTUATION || is_any(i, "( ) { } , :: . ? : ..."))
        return false;
    if (is(i, "&") && is_any(i - 1, "= ( { ? :"))
        return false;
    if (is(i, "<") && tokens[i - 1].kind == NAME)
        return !angle_close(i) || !is_any(angle_close(i) + 1, "; ) } , ? : ::");
    if (is(i, ">"))
        return !angle_open(i) || is_operator(angle_open(i));
    return true;
}

static bool may_call(int first, int last) { return ahead[first].calls > ahead[last + 1].calls; }

static void look_ahead(void)
{
    bool operators = defines_operators();
    ahead = calloc((size_t)end + 2, sizeof *ahead);
    if (!ahead)
        abort();
    ahead[end] = ahead[end + 1] = (struct ahead){end, end, 0};
    for (int i = end - 1; i > 0; i--) {
        int next = is_any(i, "( [ {") && tokens[i].partner > i ? tokens[i].partner + 1 : i + 1;
        ahead[i].comma = is_any(i, ", ) ] }") ? i : ahead[next].comma;
        ahead[i].stop = stop_at(i);
        ahead[i].calls = ahead[i + 1].calls + (is_call(i) || (operators && is_operator(i)));
    }
}

/* The end of a label that begins at i, else i - 1. */
static int skip_label(int i)
{
    if (tokens[i].kind == NAME && is(i + 1, ":"))
        return i + 1;
    if (!is(i, "case"))
        return i - 1;
    int colon = i;
    for (int questions = 0; !is_any(colon, "; { }"); colon++) {
        if (is_any(colon, "( ["))
            colon = tokens[colon].partner;
        else if (is(colon, "?"))
            questions++;
        else if (is(colon, ":") && questions-- == 0)
            return colon;
    }
    return i - 1;
}

/* Does the statement from i on declare something? A reference is to be bound to the very value that is returned. */
static bool declares_at(int i)
{
    for (int next = i;; i = next) {
        if (is(i, "(") || is(i, "::"))
            next = i + 1;
        if (skip_label(i) >= i)
            next = skip_label(i) + 1;
        if (is_any(i, "decltype typeof __typeof__ using typedef enum template"))
            return true;
        if (skip_attribute(i) >= i)
            next = skip_attribute(i) + 1;
        if (next == i)
            return begins_declaration(i);
    }
}

static bool declares(int i)
{
    static int last;
    static bool answer;
    if (i != last)
        answer = declares_at(i);
    last = i;
    return answer;
}

/* ---- local variables ---- */

/* A variable or a parameter of a function, as a name behind a type. Not a reference or a pointer, and not what stands in a
 * list, `part a, b`: those are not looked for. SHARED: of several threads. */
enum { LOCAL, SHARED };
static struct names locals;
static int storage; /* the last word that makes one of several threads */

int locals_begin(int token) /* how many were known before this token */
{
    int n = locals.n;
    while (n && locals.at[n - 1].token >= token)
        n--;
    return n;
}

void locals_forget(int n) { names_forget(&locals, n); }

void local_hide(int i) { names_add(&locals, i, SHARED); }

void local_declaration(int i)
{
    if (is_any(i, "__shared__ extern static"))
        storage = i;
    bool type = tokens[i - 1].kind == NAME ? !is_any(i - 1, NO_TYPE) : is(i - 1, ">") && angle_open(i - 1);
    if (type && is_any(i + 1, "; = , { ) ("))
        names_add(&locals, i, storage >= statement_begin(i) ? SHARED : LOCAL);
}

/* Is it a name alone that is assigned, that of a variable or a parameter of this very function? Other threads have no
 * part in it. */
static bool is_local(int i)
{
    if (tokens[i].kind != NAME || !is_any(i - 1, "; { } ( ) = , ? : else do"))
        return false;
    const struct name *name = names_find(&locals, i);
    return name && name->kind == LOCAL && name - locals.at >= scope->first_local;
}

void returned_assignment(int i)
{
    if (scope->kind != FUNCTION || !scope->device || !is_plain(i))
        return;
    if (!ahead)
        look_ahead();
    int begin = statement_begin(i - 1), first = i + 1;
    if (is(begin, ".") || declares(begin) || is_local(i - 1))
        return;
    int last = expression_end(first);
    /* Of a list, only one with a single value can be that value itself: `s[t] = {load(in)}`. */
    while (first < last && is(first, "{") && tokens[first].partner == last) {
        first++;
        last--;
        if (has_comma(first, last) || is(first, "."))
            return;
    }
    if (first > last || is(first, "{") || !may_call(first, last))
        return;
    /* Not at the value's own tokens: a word that has an edit counts as rewritten. */
    put_after(first - 1, " (::simt::returned,");
    put_before(last + 1, ")");
}
