/* Where statements begin, and which `while` ends a do-while. Read once, from the first token to the last, before anything
 * is translated: so that nobody has to look back over a program to know it. */
#include "rewrite.h"
#include <stdlib.h>

/* ---- beginnings ------------------------------------------------------------------------------------------ */

int statement_begin(int i) { return tokens[i].begin; }

static void read_beginnings(void)
{
    for (int i = 0; i < end; i++) {
        struct token *t = &tokens[i];
        if (is_any(i, "; { }"))
            t->begin = i + 1;
        else if (is(i, "("))
            t->begin = is_any(i - 1, "for if while switch") ? i + 1 : i;
        else
            t->begin = tokens[is_any(i, ") ]") && t->partner < i ? t->partner - 1 : i - 1].begin;
    }
}

/* ---- statements in statements ------------------------------------------------------------------------------ */

/* What is open: brackets, and in the innermost of them statements that wait for the end of another. */
enum open {
    BRACKET,  /* of an expression, a type, a function's body */
    COMPOUND, /* the `{` of a statement */
    HEAD,     /* the `(` of `if (`, `while (` and their like: a statement begins behind its `)` */
    BRANCH,   /* `if`: an `else` may follow */
    LOOP,     /* `for`, `while`, `switch`, `else`, `catch` */
    DO
};
static enum open *open;
static int n_open;
static bool begins; /* a statement, at the next token? */

/* A statement has ended; and with it those that it was the last part of. Another begins at `next`. */
static void complete(int next)
{
    begins = true;
    while (!is(next, "catch")) {
        enum open last = open[n_open - 1];
        if (last == BRACKET || last == COMPOUND || last == HEAD)
            return;
        n_open--;
        if (last == BRANCH && is(next, "else")) {
            open[n_open++] = LOOP;
            return;
        }
        if (last == DO) {
            tokens[next].ends_do = is(next, "while");
            return; /* the `;` behind its condition is the end */
        }
    }
}

/* At a closing bracket: what it closes. */
static enum open close(void)
{
    while (open[n_open - 1] >= BRANCH)
        n_open--;
    return n_open > 1 ? open[--n_open] : BRACKET;
}

static void read_statements(void)
{
    bool head = false; /* does the next `(` begin one? */
    bool label = false;
    int questions = 0;
    n_open = 0;
    open[n_open++] = BRACKET; /* the file */
    begins = false;
    for (int i = 1; i < end; i++) {
        bool began = begins;
        char c = tokens[i].kind == STRING || tokens[i].kind == NUMBER ? '0' : first_char(i);
        begins = false;
        if (c == '{') {
            open[n_open++] = began ? COMPOUND : BRACKET;
            begins = true;
        } else if (c == '(' || (c == '[' && !(began && is(i + 1, "[")))) {
            open[n_open++] = c == '(' && head ? HEAD : BRACKET;
            head = false;
        } else if (c == '[') { /* an attribute of a statement */
            i = tokens[i].partner;
            begins = true;
        } else if (c == ')' || c == ']') {
            begins = close() == HEAD;
        } else if (c == '}') {
            if (close() == COMPOUND)
                complete(i + 1);
        } else if (c == ';') {
            label = false;
            complete(i + 1);
        } else if (label && (is(i, "?") || is(i, ":"))) {
            questions += is(i, "?") ? 1 : -1;
            begins = questions < 0;
            label = !begins;
        } else if (head && is(i, "consteval")) {
            head = false;
            begins = true;
        } else if (began && tokens[i].kind == NAME && !tokens[i].ends_do) {
            if (is_any(i, "if for while switch catch"))
                open[n_open++] = is(i, "if") ? BRANCH : LOOP;
            head = is_any(i, "if for while switch catch");
            if (is(i, "do"))
                open[n_open++] = DO;
            begins = is_any(i, "do else try");
            if (is(i, "case")) {
                label = true;
                questions = 0;
            } else if (is(i + 1, ":")) {
                i++;
                begins = true;
            }
        }
    }
}

void statements_read(void)
{
    open = malloc(2 * ((size_t)end + 1) * sizeof *open); /* `case` aside, a token opens one at most */
    if (!open)
        abort();
    read_beginnings();
    read_statements();
    free(open);
}
