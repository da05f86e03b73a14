/* How the text of an inline PTX statement is read: ptx_text.c its words, ptx_operands.c the operands of an instruction,
 * ptx_read.c instructions, names, labels and scopes. */
#ifndef SIMT_PTX_READ_H
#define SIMT_PTX_READ_H

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

struct reader {
    const struct simt_assembly_site *site;
    const struct simt_asm_operand *arguments;
    const u64 *values; /* of the arguments, when the statement is first come to */
    const void *pc;    /* where the program continues behind it */
    struct program *program;
    const char *at, *statement; /* where it reads; where the statement began */
    unsigned n_elements;
    struct name names[MOST_NAMES];
    unsigned n_names;
    unsigned depth, scopes[32], first_name[32]; /* the scopes that are open, outermost first */
    unsigned n_scopes, parent[MOST_NAMES];      /* of each scope */
    struct label labels[MOST_NAMES], branches[MOST_NAMES];
    unsigned n_labels, n_branches;
};

/* Ends the program: what is wrong with the statement that is being read. */
void reader_refuse(const struct reader *r, const char *why) __attribute__((noreturn));

/* A copy of the text without comments, with the strings that operands of constraint "C" put into it, and with a number for
 * %=, which is another one in each statement: here no statement sees the labels of others. */
char *reader_text(const struct reader *r);

void reader_skip_space(struct reader *r);
bool reader_accept(struct reader *r, char c); /* is that next? Then it is read */
void reader_expect(struct reader *r, char c);
/* A name or an opcode: letters, digits and the signs given. %% of a text with operands is %. */
void reader_word(struct reader *r, const char *signs, char *word, size_t size);
/* The number behind a %; -1: the statement has no such operand. (nvcc does not know %[name].) */
int reader_argument(const struct reader *r, const char *text, size_t *length);

void reader_single(struct reader *r, struct ptx_operand *o); /* a register or a number */
void reader_operand(struct reader *r, struct ptx_operand *o);
/* Refuses an instruction whose operands are not those of its row, and lets the row look at it. */
void reader_check_operands(const struct reader *r, struct instruction *in);

#endif
