/* A kernel's definition. Called by a launch, on the host, it starts the threads; called by one of those, it is the
 * function that the author wrote. So its body begins with
 *
 *     if (!::simt::on_device()) { using simt_stub = ::simt::Stub<decltype(a), decltype(n)>;
 *         static ::simt_kernel simt_kernel_info = {"k", "a.cu", 12, k<T>, …, "a n", …}; (void)&::simt::Known<&simt_kernel_info>::known;
 *         simt_stub::launch(k<T>, &simt_kernel_info, __builtin_return_address(0), a, n);
 *         return; }
 *
 * on the line of its `{`. The stub's parameter types choose between overloads of `k`.
 *
 * A parameter that is __grid_constant__ is the launch's own, not a thread's copy: behind that,
 *
 *     const auto &simt_c0 = ::simt::of_launch<0>(a, n); { const auto &a = simt_c0;
 *
 * and the body's `}` is said twice. */
#include "rewrite.h"

#define MOST 256

struct kernel {
    int open, close;   /* the parentheses around its parameters */
    int name;          /* its last word */
    char *self;        /* what it is called inside of itself */
    int template_open; /* the `<` of the innermost template parameters; 0: none */
    int bounds;        /* the `(` of __launch_bounds__; 0: none */
    int cluster;       /* of __cluster_dims__; likewise */
    int registers;     /* of __maxnreg__; likewise */
    bool of_friend;    /* cannot be defined there: a name that only its arguments find */
};

/* Walks from the declaration's first word to its parameters. */
static bool find_parameters(struct kernel *k)
{
    for (int i = head; !is_any(i, "; { } ="); i++) {
        int attribute = skip_attribute(i);
        if (attribute >= i) {
            i = attribute;
        } else if (is_any(i, "__launch_bounds__ __cluster_dims__ __maxnreg__") && is(i + 1, "(")) {
            if (is(i, "__launch_bounds__"))
                k->bounds = i + 1;
            if (is(i, "__cluster_dims__"))
                k->cluster = i + 1;
            if (is(i, "__maxnreg__"))
                k->registers = i + 1;
            i = tokens[i + 1].partner;
        } else if (is(i, "template") && is(i + 1, "<") && angle_close(i + 1)) {
            k->template_open = i + 1;
            i = angle_close(i + 1);
        } else if (is(i, "friend")) {
            k->of_friend = true;
        } else if (is(i, "<") && tokens[i - 1].kind == NAME && angle_close(i)) {
            i = angle_close(i);
        } else if (is(i, "(")) {
            k->open = i;
            k->close = tokens[i].partner;
            return true;
        }
    }
    return false;
}

/* The body's `{`; 0 for a declaration, -1 where it cannot be found. */
static int find_body(int i)
{
    for (;; i++) {
        if (is_any(i, "; , ="))
            return 0;
        if (is(i, "{"))
            return i;
        if (is_any(i, "try }") || i >= end)
            return -1;
        if (is_any(i, "( ["))
            i = tokens[i].partner;
        else if (is(i, "<") && angle_close(i))
            i = angle_close(i);
    }
}

static const char *template_arguments(int open)
{
    struct parameter list[MOST];
    int n = parameter_names(open, angle_close(open), list, MOST, "simt_t");
    const char *text = "";
    for (int i = 0; i < n; i++)
        text = format("%s%s%s%s", text, i ? ", " : "", list[i].name, list[i].pack ? "..." : "");
    return text;
}

/* The kernel's name as its own body would write it, with its template arguments. */
static bool find_name(struct kernel *k)
{
    int last = k->open - 1, first = before_angle(last);
    bool instance = first != last;
    k->name = first;
    if (tokens[first].kind != NAME || is_any(first, "operator if while for"))
        return false;
    while (is(first - 1, "::")) {
        first--;
        if (is(first - 1, ">") && angle_open(first - 1))
            first = before_angle(first - 1);
        else if (tokens[first - 1].kind == NAME && !is_any(first - 1, "void"))
            first--;
        else
            break;
    }
    k->self = source_text(first, last);
    if (instance || !k->template_open)
        return true;
    k->self = format("%s<%s>", k->self, template_arguments(k->template_open));
    return true;
}

/* The comma, or the closing parenthesis, that ends the argument which begins at i. */
static int argument_end(int i, int close)
{
    for (; i < close && !is(i, ","); i++) {
        if (is_any(i, "( [ {"))
            i = tokens[i].partner;
        else if (is(i, "<") && tokens[i - 1].kind == NAME && angle_close(i))
            i = angle_close(i);
    }
    return i;
}

/* The first n arguments, as numbers; the last of those that are not given are `missing`. */
static const char *numbers_of(int open, int n, const char *missing)
{
    const char *text = "";
    int close = tokens[open].partner, at = open;
    for (int i = 0; i < n; i++) {
        int end = at == close ? close : argument_end(at + 1, close);
        const char *number = at == close ? missing : source_text(at + 1, end - 1);
        text = format("%s%s(unsigned)(%s)", text, i ? ", " : "", number);
        at = end;
    }
    return text;
}

/* "a n"; nothing where a pack stands among them, since an index would then mean no one parameter. */
static const char *names_of(const struct parameter *list, int n)
{
    const char *names = "";
    for (int i = 0; i < n; i++) {
        if (list[i].pack)
            return "";
        names = format("%s%s%s", names, i ? " " : "", list[i].name);
    }
    return names;
}

static bool is_grid_constant(const struct kernel *k, const struct parameter *p)
{
    for (int i = p->first; i < argument_end(p->first, k->close); i++)
        if (is(i, "__grid_constant__"))
            return true;
    return false;
}

static const char *grid_constants(const struct kernel *k, const struct parameter *list, int n)
{
    const char *values = "", *outer = "", *inner = "", *packed = "";
    for (int i = 0; i < n; i++)
        values = format("%s%s%s%s", values, i ? ", " : "", list[i].name, list[i].pack ? "..." : "");
    for (int i = 0, number = 0; i < n; i++) {
        if (list[i].pack) {
            packed = format("%s + sizeof...(%s)", packed, list[i].name);
            continue;
        }
        if (is_grid_constant(k, &list[i])) {
            outer = format("%sconst auto &simt_c%d = ::simt::of_launch<%d%s>(%s); ", outer, i, number, packed, values);
            inner = format("%s [[maybe_unused]] const auto &%s = simt_c%d;", inner, list[i].name, i);
        }
        number++;
    }
    return *outer ? format("%s{%s ", outer, inner) : "";
}

static void prologue(const struct kernel *k, int brace)
{
    struct parameter list[MOST];
    int n = parameter_names(k->open, k->close, list, MOST, "simt_p");
    const char *constants = grid_constants(k, list, n);
    const char *types = "", *values = "";
    for (int i = 0; i < n; i++) {
        const char *dots = list[i].pack ? "..." : "";
        types = format("%s%sdecltype(%s)%s", types, i ? ", " : "", list[i].name, dots);
        values = format("%s, %s%s", values, list[i].name, dots);
    }
    char *name = source_text(k->name, k->name);
    for (int i = 0; i < n; i++)
        if (is(k->name, list[i].name))
            refuse(list[i].first, "a parameter of the kernel `%s` has the kernel's name", name);
    put_after(brace, format(" if (!::simt::on_device()) { using simt_stub = ::simt::Stub<%s>; "
                            "static ::simt_kernel simt_kernel_info = {\"%s\", \"%s\", %d, "
                            "(const void *)(typename simt_stub::Function *)%s, simt_stub::relaunch, \"%s\", "
                            "simt_stub::pointer, %s, {%s}, %s, "
                            "0, 0, nullptr, false, {}}; (void)&::simt::Known<&simt_kernel_info>::known; "
                            "simt_stub::launch(%s, &simt_kernel_info, __builtin_return_address(0)%s); return; } %s",
                            types, name, file_of(k->name), tokens[k->name].line, k->self, names_of(list, n),
                            k->bounds ? numbers_of(k->bounds, 3, "0") : "0, 0, 0",
                            k->cluster ? numbers_of(k->cluster, 3, "1") : "0, 0, 0",
                            k->registers ? numbers_of(k->registers, 1, "0") : "0", k->self, values, constants));
    if (*constants)
        put_after(tokens[brace].partner, " }");
}

void kernel_declaration(int i)
{
    static int last; /* the word may be said twice */
    struct kernel k = {0};
    if (last == head) {
        replace(i, "");
        return;
    }
    last = head;
    /* noipa: g++ must not reason from a kernel to its launch, and drop a store through a null argument. used: what
     * Known<…> speaks of must be there, also when nobody calls the kernel. */
    replace(i, "__attribute__((noinline, noipa, used))");
    bool found = find_parameters(&k) && find_name(&k);
    int brace = found ? find_body(k.close + 1) : -1;
    if (brace < 0 || (brace > 0 && k.of_friend))
        refuse(i, "the emulator cannot read this `__global__` function's declaration");
    if (brace <= 0)
        return;
    if (scope->kind == FUNCTION)
        refuse(i, "a `__global__` function cannot be defined in a function");
    else
        prologue(&k, brace);
}
