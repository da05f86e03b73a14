/* Code address → source line. */
#ifndef SIMT_LINES_H
#define SIMT_LINES_H

#include "base/base.h"

struct source_line {
    char file[512], function[256];
    int line;
    char caller[512]; /* of an inlined function: where the kernel calls it, or a function between the two */
    int caller_line;  /* 0: nothing is inlined there */
    bool of_vector;   /* a load or store of float4 or another of CUDA's vectors */
};

void lines_resolve(const void *const *pcs, unsigned n, struct source_line *out);
struct source_line lines_of(const void *pc);
bool lines_of_vector(const void *pc);
bool lines_same(const void *pc, const void *other);
bool lines_same_call(const void *pc,
                     const void *other); /* and the function that holds the line is called at one line */

struct code_object {
    char file[4096];
    uintptr_t base;
}; /* the program or a shared object, and where it was loaded */
bool lines_object(const void *pc, struct code_object *out); /* the one that holds this address */

FILE *lines_tool(char *const *command); /* what a program of binutils says; NULL: it cannot be started. One at a time */
void lines_tool_end(FILE *f);
void lines_tool_kill(void); /* before the program ends at once: leaves no process behind */

#endif
