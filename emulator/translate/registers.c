/* Local variables that may be registers of wgmma.mma_async, in a text that has this instruction:
 *
 *     uint32_t a[4];
 *         uint32_t a[4]; ::simt::begin_registers<decltype(a), …>(&a); ::simt::Registers<decltype(a), …> simt_registers_1{&a};
 *
 * Nobody has written it, though clang++ fills it with a pattern. And when the loop around it or a call of its function begins again,
 * it is another variable: on a GPU another register, and what products do with the first is nothing to it. Only operands of `asm` are meant, and arguments; and
 * whether one of these can be a row of registers, its type says. */
#include "rewrite.h"
#include <stdlib.h>
#include <string.h>

#define MOST_WORDS 32 /* of a type */

/* Where a name is handed on next, behind each token that is one: as an argument or an operand, and as an operand of `asm`. Read
 * once, from the last token to the first. */
static struct ahead {
    int argument, operand; /* 0: nowhere */
} *ahead;

static bool has_products(void)
{
    static int answer = -1;
    for (int i = 1; i < end && answer < 0; i++)
        if (tokens[i].kind == STRING && strstr(source_text(i, i), "wgmma"))
            answer = 1;
    if (answer < 0)
        answer = 0;
    return answer;
}

static void look_ahead(void)
{
    size_t size = 1;
    while (size < 2 * (size_t)end)
        size *= 2;
    int *last = calloc(size, sizeof *last); /* by its hash, the token of that name which was read last */
    ahead = calloc((size_t)end + 1, sizeof *ahead);
    if (!ahead || !last)
        abort();
    for (int i = end - 1; i > 0; i--) {
        if (tokens[i].kind != NAME)
            continue;
        size_t at = token_hash(i) & (size - 1);
        while (last[at] && !same_text(last[at], i))
            at = (at + 1) & (size - 1);
        int next = last[at];
        if (next) {
            bool operand = is(next - 1, "(") && tokens[next - 2].kind == STRING;
            ahead[i] = ahead[next];
            if (is_any(next - 1, "( , & )"))
                ahead[i].argument = next;
            if (operand)
                ahead[i].operand = next;
        }
        last[at] = i;
    }
    free(last);
}

static int next_in_block(int i) { return is_any(i, "( [ {") ? tokens[i].partner + 1 : i + 1; }

/* Does the innermost block have places to jump to, perhaps over a declaration? Asked of each once. */
static bool has_jumps(void)
{
    int close = tokens[scope->brace].partner;
    for (int i = scope->brace + 1; i < close && scope->jumps == UNKNOWN; i = next_in_block(i))
        if (is_any(i, "case default") || (tokens[i].kind == NAME && is(i + 1, ":") && statement_begin(i) == i))
            scope->jumps = 1;
    if (scope->jumps == UNKNOWN)
        scope->jumps = 0;
    return scope->jumps;
}

static bool is_initialised(int name)
{
    do
        name = next_in_block(name);
    while (is(name, "["));
    return is(name, "=");
}

#define NO_VARIABLE \
    "static extern constexpr thread_local __shared__ using typedef namespace template typename friend struct class union " \
    "enum operator ( {"
#define NO_NAME "auto const volatile unsigned signed int long short char float double bool"

void registers_declaration(int i)
{
    static int n, head_end; /* of a `for (` */
    int begin = statement_begin(i), semicolon = i;
    bool type = tokens[i - 1].kind == NAME ? !is_any(i - 1, NO_TYPE) : is(i - 1, ">") && angle_open(i - 1);
    if (is(i, "for") && is(i + 1, "("))
        head_end = tokens[i + 1].partner;
    if (!type || is_any(i, NO_NAME) || i < head_end || i - begin > MOST_WORDS || !is_any(i + 1, "; = [ ,") ||
        scope->kind != FUNCTION || !scope->device || scope->constant)
        return;
    if (!is_any(begin - 1, "; { }") || !has_products() || has_jumps())
        return;
    for (int word = begin; word < i; word++) {
        if (skip_attribute(word) >= word)
            word = skip_attribute(word);
        else if (is_any(word, NO_VARIABLE))
            return;
    }
    while (semicolon < end && !is_any(semicolon, "; ) ] }"))
        semicolon = next_in_block(semicolon);
    if (!is(semicolon, ";"))
        return;
    if (!ahead)
        look_ahead();
    int close = tokens[scope->brace].partner;
    /* Behind a `<` of the first one's value a comma may stand between arguments of a template. */
    for (int name = i; name < semicolon && !is(name, "<"); name = next_in_block(name)) {
        bool declared = (name == i || (tokens[name].kind == NAME && is(name - 1, ","))) && is_any(name + 1, "; = [ ,");
        if (!declared || !ahead[name].argument || ahead[name].argument > close)
            continue;
        bool operand = ahead[name].operand && ahead[name].operand < close;
        const char *variable = source_text(name, name);
        const char *of = format("decltype(%s), ::simt::is_row<decltype(%s)> || %s", variable, variable,
                                operand ? "true" : "false");
        if (!is_initialised(name))
            put_after(semicolon, format(" ::simt::begin_registers<%s>(&%s);", of, variable));
        n++;
        if (scope->brace != scope->kernel) /* else it stays until the kernel ends */
            put_after(semicolon, format(" ::simt::Registers<%s> simt_registers_%d{&%s};", of, n, variable));
    }
}
