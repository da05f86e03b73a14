/* Names that are known where the translator is: a stack, with a table to find the last one of a spelling. */
#ifndef NAMES_H
#define NAMES_H

struct name {
    int token;
    int kind;
    int previous; /* of the same row of the table; -1: none */
};
struct names {
    struct name *at;
    int n, room;
    int rows[4096]; /* 0: none, else the last name's index + 1 */
};

void names_add(struct names *names, int token, int kind);
const struct name *names_find(const struct names *names, int token); /* NULL: not known */
void names_forget(struct names *names, int n);                       /* back to n names */

#endif
