/* Names that are known where the translator is. */
#include "names.h"
#include "source.h"
#include <stdlib.h>

static int *row_of(const struct names *names, int token)
{
    unsigned n = sizeof names->rows / sizeof *names->rows;
    return (int *)&names->rows[token_hash(token) % n];
}

void names_add(struct names *names, int token, int kind)
{
    if (names->n == names->room) {
        names->room = names->room ? 2 * names->room : 64;
        names->at = realloc(names->at, (size_t)names->room * sizeof *names->at);
        if (!names->at)
            abort();
    }
    int *row = row_of(names, token);
    names->at[names->n] = (struct name){token, kind, *row - 1};
    *row = ++names->n;
}

const struct name *names_find(const struct names *names, int token)
{
    for (int i = *row_of(names, token) - 1; i >= 0; i = names->at[i].previous)
        if (same_text(names->at[i].token, token))
            return &names->at[i];
    return NULL;
}

void names_forget(struct names *names, int n)
{
    while (names->n > n) {
        names->n--;
        *row_of(names, names->at[names->n].token) = names->at[names->n].previous + 1;
    }
}
