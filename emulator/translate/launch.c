/* kernel<<<grid, block, …>>>(arguments) becomes a call that C++ understands:
 *
 *     ::simt::kernel_call("kernel", "a.cu", 12, [=](auto... simt_a) { kernel(simt_a...); })(grid, block, …)(arguments)
 *
 * The lambda is what each CUDA thread will run. It names the kernel inside, so that template arguments which the launch
 * leaves out are deduced, as in CUDA, from the arguments. Every piece keeps its place; only text is put between. */
#include "rewrite.h"

/* The launch's own work is no access of the kernel's. */
#define UNCHECKED "__attribute__((no_sanitize(\"thread\")))"

/* `k<A>`: from `>` back to `k`. */
static int before_angle(int i) { return is(i, ">") ? angle_open(i) - (angle_open(i) > 0) : i; }

/* Do the brackets at i apply to what stands in front, as in `f(x)`? Not in `return (k)`, `if (x) (k)`. */
static bool is_applied(int i)
{
    int before = i - 1;
    if (is(before, ")")) before = tokens[before].partner - 1;
    if (is_any(before, "return else do if for while switch case co_return co_yield")) return false;
    return tokens[i - 1].kind == NAME || is_any(i - 1, ") ]");
}

/* The first token of the name that ends at i: `k`, `ns::k<A, (x > y)>`, `this->k`, `table[n]`, `(*f)`. */
static int kernel_begin(int i)
{
    for (;;) {
        i = before_angle(i);
        while (is_any(i, ") ]") && tokens[i].partner < i) {
            i = tokens[i].partner;
            if (!is_applied(i)) return i;
            i = before_angle(i - 1);
        }
        if (i <= 0 || tokens[i].kind != NAME) return 0;
        if (is(i - 1, "template")) i--;
        if (is(i - 1, "::")) {
            i--;
            if (tokens[i - 1].kind != NAME && !is(i - 1, ">")) return i;
        } else if (is_any(i - 1, ". ->")) {
            i--;
        } else {
            return i;
        }
        i--;
    }
}

/* The `>>>` that closes the configuration: three that touch, followed by `(`, unless as many templates are open. Where
 * `<< <` opened it, as some formatters leave it, they need not touch. */
static int config_close(int i, bool loose)
{
    int open = 0;
    for (; !is_any(i, "; ) ] }"); i++) {
        if (is_any(i, "( [ {")) i = tokens[i].partner;
        else if (is(i, "<") && tokens[i - 1].kind == NAME) open++;
        if (!is(i, ">")) continue;
        int n = 1;
        while (is(i + n, ">") && (loose || !tokens[i + n].spaced)) n++;
        if (n >= 3 && open < n && is(i + n, "(")) return i + n - 3;
        if (open >= n) open -= n;
        i += n - 1;
    }
    return 0;
}

/* A kernel that is chosen by an expression is chosen once, on the host; a name must stay a name, to be deduced. */
static bool is_expression(int first, int last)
{
    if (is(first, "(") && tokens[first].partner == last) return false;
    for (int i = first; i <= last; i++) {
        if (is(i, "<") && angle_close(i)) i = angle_close(i);
        else if (is_any(i, "( [ . ->")) return true;
    }
    return false;
}

void launch(int i)
{
    bool loose = is(i, "<<");
    int kernel = kernel_begin(i - 1), close = config_close(i + 1 + loose, loose);
    if (!kernel) {
        refuse(i, "`<<<` does not follow the name of a kernel");
        return;
    }
    char *name = source_text(kernel, i - 1);
    if (!close) {
        refuse(i, "the launch `%s<<<…` is not closed by `>>>(…)`", name);
        return;
    }
    bool chosen = is_expression(kernel, i - 1);
    put_before(kernel, format("::simt::kernel_call(%s, \"%s\", %d, [%s", in_quotes(name), file_of(kernel),
                              tokens[kernel].line, chosen ? "simt_kernel = " : "=](auto... simt_a) " UNCHECKED " { "));
    replace(i, chosen ? "](auto... simt_a) " UNCHECKED " { simt_kernel(simt_a...); })(" : "(simt_a...); })(");
    if (loose) delete(i + 1, i + 1);
    replace(close, ")");
    delete(close + 1, close + 2);
    /* NULL has lost what makes it a pointer once it is a parameter of its own. */
    int arguments = close + 3;
    for (int j = arguments + 1; j < tokens[arguments].partner; j++) {
        if (is(j, "__null") && is_any(j - 1, "( ,") && is_any(j + 1, ") ,")) replace(j, "nullptr");
        if (is_any(j, "( [ {")) j = tokens[j].partner;
    }
}
