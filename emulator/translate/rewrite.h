/* The three kinds of rewriting, and what they need to know of where they are. */
#ifndef REWRITE_H
#define REWRITE_H

#include "source.h"

enum scope_kind { NAMESPACE, CLASS, FUNCTION }; /* FUNCTION: initialisers and enumerations too */

struct scope {
    enum scope_kind kind;
    int boundary; /* how many lambdas and local classes stand around this place */
    int n_arrays; /* how many shared arrays were known when it began */
};

/* ---- scopes.c ---- */
extern struct scope *scope;                           /* the innermost */
extern int head;                                      /* where the current declaration or statement begins */
void scope_open(int brace);
void scope_close(void);
void scope_mark_lambda(int i);                        /* at any `[` */

/* ---- launch.c ---- */
void launch(int i);                                   /* at `<<<` */

/* ---- shared.c ---- */
extern int n_arrays;                                  /* shared arrays whose names are known here */
int shared_declaration(int i);                        /* at `__shared__`; returns the declaration's last token */
void shared_use(int i);                               /* at any name, while n_arrays > 0 */
void shared_hide(int first, int last);                /* parameters hide arrays of the same name */
void shared_forget(int n);                            /* back to n arrays */

/* ---- device.c ---- */
void device_declaration(int i);                       /* at `__device__`, `__constant__`, `__managed__` */
int skip_attribute(int i);                            /* the last token of an attribute that begins here; else i - 1 */

#endif
