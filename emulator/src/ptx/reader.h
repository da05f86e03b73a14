/* How the text of an inline PTX statement is read: text.c its words, operands.c the operands of an instruction, read.c
 * instructions, names, labels and scopes. */
#ifndef SIMT_PTX_READER_H
#define SIMT_PTX_READER_H

#include "ptx/ptx.h"

#define MOST_NAMES 256
#define MOST_WORD 64

struct name { /* of a register, or of a row of them: r<4> */
    char text[MOST_WORD];
    enum type type;
    uint16_t slot, many; /* many: 0 for a single one */
};

static inline unsigned reader_slots(enum type t) { return ptx_types[t].bytes > 8 ? 2 : 1; } /* of a register */

struct label {
    char text[MOST_WORD];
    unsigned scope, instruction; /* a branch: the one that jumps; else the one jumped to */
};

enum use { UNUSED, USED_AT_ONCE, USED_LATE };

struct reader {
    const struct simt_assembly_site *site;
    const struct simt_asm_operand *arguments;
    const u64 *values; /* of the arguments, when the statement is first come to */
    const void *pc;    /* where the program continues behind it */
    struct program *program;
    enum use *uses;             /* of each argument */
    const char *at, *statement; /* where it reads; where the statement began */
    unsigned n_elements;
    struct name names[MOST_NAMES];
    unsigned n_names;
    unsigned depth, scopes[32], first_name[32]; /* the scopes that are open, outermost first */
    unsigned n_scopes, parent[MOST_NAMES];      /* of each scope */
    struct label labels[MOST_NAMES], branches[MOST_NAMES];
    unsigned n_labels, n_branches;
};

#endif
