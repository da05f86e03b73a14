/* Local variables that may be registers of wgmma.mma_async, in a text that has this instruction:
 *
 *     uint32_t a[4];
 *         uint32_t a[4]; ::simt::begin_registers<decltype(a), …>(&a); ::simt::Registers<decltype(a), …> simt_registers_1{&a};
 *
 * Nobody has written it, though clang++ fills it with a pattern. And when the loop around it or a call of its function begins again,
 * it is another variable: on a GPU another register, and what products do with the first is nothing to it. Only operands of `asm` are meant, and arguments; and
 * whether one of these can be a row of registers, its type says. */
#include "rewrite.h"
#include <string.h>

#define MOST_LOOKED_AT 4096 /* tokens: the time is to grow with the length of the text */

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

static int next_in_block(int i) { return is_any(i, "( [ {") ? tokens[i].partner + 1 : i + 1; }

/* The `}` of the block around a declaration; 0: there may be jumps over it, or it is far away, or stands in a `for (`. */
static int end_of_block(int semicolon)
{
    int n = 0, i = semicolon;
    for (; n < MOST_LOOKED_AT && i < end && !is_any(i, ") ] }"); i = next_in_block(i), n++)
        if (is_any(i, "case default") || (tokens[i].kind == NAME && is(i + 1, ":")))
            return 0;
    return n < MOST_LOOKED_AT && i < end && is(i, "}") ? i : 0;
}

/* As an argument, or as an operand of `asm`. */
enum use { KEPT, HANDED_ON, OPERAND };
static enum use use_of(int name, int last)
{
    enum use use = KEPT;
    for (int i = name + 1; i < last && use != OPERAND; i++) {
        if (i - name == MOST_LOOKED_AT)
            return HANDED_ON;
        if (same_text(i, name) && is_any(i - 1, "( , & )"))
            use = is(i - 1, "(") && tokens[i - 2].kind == STRING ? OPERAND : HANDED_ON;
    }
    return use;
}

static bool is_initialised(int name)
{
    do
        name = next_in_block(name);
    while (is(name, "["));
    return is(name, "=");
}

void registers_declaration(int i)
{
    static int n;
    int begin = statement_begin(i), semicolon = i;
    bool type = tokens[i - 1].kind == NAME ? !is_any(i - 1, NO_TYPE) : is(i - 1, ">") && angle_open(i - 1);
    if (!type || !is_any(i + 1, "; = [ ,") || scope->kind != FUNCTION || !scope->device || scope->constant)
        return;
    if (!is_any(begin - 1, "; { }") || !has_products())
        return;
    for (int word = begin; word < i; word++)
        if (is_any(word,
                   "static extern constexpr struct class union enum typename __shared__ thread_local operator ( {"))
            return;
    while (semicolon < end && !is_any(semicolon, "; ) ] }"))
        semicolon = next_in_block(semicolon);
    int close = is(semicolon, ";") ? end_of_block(semicolon + 1) : 0;
    if (!close)
        return;
    bool stays = tokens[close].partner == scope->kernel; /* until the kernel ends */
    for (int name = i; name < semicolon; name = next_in_block(name)) {
        bool declared = name == i || (tokens[name].kind == NAME && is(name - 1, ","));
        enum use use = declared && is_any(name + 1, "; = [ ,") ? use_of(name, close) : KEPT;
        if (use == KEPT)
            continue;
        const char *variable = source_text(name, name);
        const char *of = format("decltype(%s), ::simt::is_row<decltype(%s)> || %s", variable, variable,
                                use == OPERAND ? "true" : "false");
        if (!is_initialised(name))
            put_after(semicolon, format(" ::simt::begin_registers<%s>(&%s);", of, variable));
        n++;
        if (!stays)
            put_after(semicolon, format(" ::simt::Registers<%s> simt_registers_%d{&%s};", of, n, variable));
    }
}
