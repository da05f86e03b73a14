/* The kinds of rewriting, and what they need to know of where they are. */
#ifndef REWRITE_H
#define REWRITE_H

#include "source.h"

enum scope_kind { NAMESPACE, CLASS, FUNCTION }; /* FUNCTION: initialisers and enumerations too */

#define UNKNOWN (-1)
struct scope {
    enum scope_kind kind;
    bool device;     /* may a kernel's thread come here? */
    bool constant;   /* is it in a function that is constexpr? */
    int kernel;      /* of a kernel's own body: its brace; else 0 */
    int brace;       /* that opened it */
    int jumps;       /* registers.c: are there labels in it? UNKNOWN at first */
    int n_arrays;    /* how many shared arrays were known when it began */
    int n_locals;    /* and how many local variables */
    int first_local; /* in a function: its own are those from here on */
};

/* ---- scopes.c ---- */
extern struct scope *scope; /* the innermost */
extern int head;            /* where the current declaration or statement begins */
void scope_open(int brace);
void scope_close(void);
void scope_mark_lambda(int i); /* at any `[` */

/* ---- statements.c ---- */
void statements_read(void);
int statement_begin(
    int i); /* the first token of the statement around i; of `for (`, of what stands in its parentheses */

/* ---- arch.c ---- */
void arch_merge(const char *host, const char *device, const char *runtime); /* reads both, leaves one text, lexed */

/* ---- declarator.c ---- */
struct parameter {
    int first; /* its first token */
    char *name;
    bool pack;
};
/* The parameters between two brackets; those without a name are given prefix0, prefix1, … */
int parameter_names(int open, int close, struct parameter *list, int most, const char *prefix);

/* ---- kernel.c ---- */
void kernel_declaration(int i); /* at `__global__` */

/* ---- assembly.c ---- */
void assembly(int i); /* at `asm` */

/* ---- registers.c ---- */
void registers_declaration(int i); /* at any name */

/* ---- launch.c ---- */
void launch(int i); /* at `<<<` */

/* ---- shared.c ---- */
extern int n_arrays;                       /* shared arrays whose names are known here */
int shared_declaration(int i);             /* at `__shared__`; returns the declaration's last token */
void shared_use(int i);                    /* at any name, while n_arrays > 0 */
bool is_declarator(int i, bool class_key); /* is this the name that a declaration declares? */
void shared_capture(int open);             /* at a lambda's `[`, while n_arrays > 0 */
void shared_binding(int open);             /* at any `[`: `auto [a, b]` hides arrays */
void shared_hide(int first, int last);     /* parameters hide arrays of the same name */
void shared_forget(int n);                 /* back to n arrays */
#define NO_TYPE "return else do case goto throw new delete sizeof co_return co_yield if while switch using typedef"
bool begins_declaration(int i); /* a type, then a name, then what follows a declared name? */

/* ---- returned.c ---- */
int locals_begin(int token);     /* how many local variables were known before this token */
void locals_forget(int n);       /* back to n */
void local_declaration(int i);   /* at any name */
void local_hide(int i);          /* a name of no local variable */
void returned_assignment(int i); /* at any `=` */

/* ---- device.c ---- */
void device_declaration(int i); /* at `__device__`, `__constant__`, `__managed__` */
int skip_attribute(int i);      /* the last token of an attribute that begins here; else i - 1 */

#endif
