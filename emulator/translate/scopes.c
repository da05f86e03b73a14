/* Where in the program the translator is: in a namespace, a class or a function; in how many lambdas. */
#include "rewrite.h"
#include <stdlib.h>

static struct scope scopes[MOST_NESTED + 1] = {{.kind = NAMESPACE}};
static int depth;
struct scope *scope = scopes;
int head = 1;

/* What the brace opens, from the tokens in front of it. */
static enum scope_kind kind_of(int brace)
{
    bool class_key = false;
    for (int i = head; i < brace; i++) {
        int attribute = skip_attribute(i);
        if (attribute >= i)
            i = attribute;
        else if (is(i, "namespace"))
            return NAMESPACE;
        else if (is(i, "extern") && tokens[i + 1].kind == STRING && i + 2 == brace)
            return NAMESPACE;
        else if (is_any(i, "= ( enum"))
            return FUNCTION;
        else if (is(i, ":") && class_key)
            return CLASS;
        else if (is_any(i, "struct class union"))
            class_key = true;
        else if (is(i, "<") && tokens[i - 1].kind == NAME && angle_close(i))
            i = angle_close(i);
    }
    return class_key ? CLASS : FUNCTION;
}

void scope_open(int brace)
{
    const struct scope *around = scope;
    enum scope_kind kind = kind_of(brace);
    bool of_function = kind == FUNCTION && around->kind != FUNCTION;
    int lambda = tokens[brace].lambda;
    if (depth == MOST_NESTED)
        refuse(brace, "braces are nested too deeply"), exit(2);
    scope = &scopes[++depth];
    *scope = *around;
    scope->kind = kind;
    scope->brace = brace;
    scope->jumps = UNKNOWN;
    scope->n_arrays = n_arrays;
    scope->n_locals = locals_begin(lambda               ? lambda
                                   : of_function        ? head
                                   : is(brace - 1, ")") ? tokens[brace - 1].partner
                                                        : brace);
    if (of_function)
        scope->first_local = scope->n_locals;
    if (lambda || of_function)
        scope->kernel = 0;
    for (int i = lambda ? lambda : head; i < brace && (lambda || of_function); i++) {
        if (is_any(i, "__global__ __device__"))
            scope->device = true;
        if (is(i, "__global__"))
            scope->kernel = brace;
        if (is_any(i, "constexpr consteval"))
            scope->constant = true;
    }
    if (lambda)
        shared_hide(tokens[lambda].partner + 1, brace);
    else if (of_function)
        shared_hide(head, brace);
}

void scope_close(void)
{
    if (depth == 0)
        return;
    if (scope->kind != NAMESPACE)
        shared_forget(scope->n_arrays); /* a namespace can be opened again */
    locals_forget(scope->n_locals);
    scope = &scopes[--depth];
}

/* `[` begins a lambda where no array stands in front of it, and a body follows. */
void scope_mark_lambda(int i)
{
    bool subscript = tokens[i - 1].kind == NAME ? !is_any(i - 1, "return else do case throw co_return co_yield")
                                                : tokens[i - 1].kind != PUNCTUATION || is_any(i - 1, ") ] > [");
    if (subscript || is(i + 1, "["))
        return;
    int first = tokens[i].partner + 1, j = first;
    while (!is(j, "{")) {
        if (is(j, "(") || (is(j, "[") && is(j + 1, "[")))
            j = tokens[j].partner;
        else if (is(j, "<") && angle_close(j))
            j = angle_close(j);
        else if (is_any(j, "; , ) = ] } : [") || j == end)
            return;
        j++;
    }
    tokens[j].lambda = i;
    if (n_arrays)
        shared_capture(i);
    while (--j >= first)
        if (tokens[j].kind == NAME)
            tokens[j].lambda = IN_LAMBDA_HEAD;
}
