/* kernel<<<grid, block, …>>>(arguments) becomes a configuration and a call, as nvcc has it:
 *
 *     (::simt::configure("kernel", "a.cu", 12, grid, block, …), kernel(arguments))
 *
 * The arguments are thus converted, and template arguments deduced, as in any call; what a kernel does when the host
 * calls it stands in kernel.c. */
#include "rewrite.h"

/* Do the brackets at i apply to what stands in front, as in `f(x)`? Not in `return (k)`, `if (x) (k)`. */
static bool is_applied(int i)
{
    int before = i - 1;
    if (is(before, ")"))
        before = tokens[before].partner - 1;
    if (is_any(before, "return else do if for while switch case co_return co_yield"))
        return false;
    return tokens[i - 1].kind == NAME || is_any(i - 1, ") ]");
}

/* The first token of the name that ends at i: `k`, `ns::k<A, (x > y)>`, `this->k`, `table[n]`, `(*f)`. */
static int kernel_begin(int i)
{
    for (;;) {
        i = before_angle(i);
        while (is_any(i, ") ]") && tokens[i].partner < i) {
            i = tokens[i].partner;
            if (!is_applied(i))
                return i;
            i = before_angle(i - 1);
        }
        if (i <= 0 || tokens[i].kind != NAME)
            return 0;
        if (is(i - 1, "template"))
            i--;
        if (is(i - 1, "::")) {
            i--;
            if (tokens[i - 1].kind != NAME && !is(i - 1, ">"))
                return i;
        } else if (is_any(i - 1, ". ->")) {
            i--;
        } else {
            return i;
        }
        i--;
    }
}

/* The `>>>` that closes the configuration: three in a row, followed by `(`, unless as many templates are open. They need
 * not touch: some formatters leave `>> >`. */
#define MOST_LAUNCHES 16 /* one in the configuration of another */
static int config_close(int i)
{
    int open = 0, launches = 0;
    for (; !is_any(i, "; ) ] }"); i++) {
        launches += is(i, "<<<");
        if (launches == MOST_LAUNCHES)
            return 0;
        if (is_any(i, "( [ {"))
            i = tokens[i].partner;
        else if (is(i, "<") && tokens[i - 1].kind == NAME)
            open++;
        if (!is(i, ">"))
            continue;
        int n = 1;
        while (is(i + n, ">"))
            n++;
        if (n >= 3 && open < n && is(i + n, "("))
            return i + n - 3;
        if (open >= n)
            open -= n;
        i += n - 1;
    }
    return 0;
}

void launch(int i)
{
    bool loose = is(i, "<<");
    int kernel = kernel_begin(i - 1), close = config_close(i + 1 + loose);
    if (!kernel) {
        refuse(i, "`<<<` does not follow the name of a kernel");
        return;
    }
    char *name = source_text(kernel, i - 1);
    if (!close) {
        refuse(i, "the launch `%s<<<…` is not closed by `>>>(…)`", name);
        return;
    }
    char *function = edited_text(kernel, i - 1);
    delete (kernel, i - 1);
    put_before(kernel, "(");
    replace(i, format("::simt::configure(%s, \"%s\", %d, ", in_quotes(name), file_of(kernel), tokens[kernel].line));
    if (loose)
        delete (i + 1, i + 1);
    replace(close, format("), %s", function));
    delete (close + 1, close + 2);
    put_after(tokens[close + 3].partner, ")");
}
