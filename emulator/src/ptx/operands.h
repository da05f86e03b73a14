/* The operands of inline PTX. */
#ifndef SIMT_PTX_OPERANDS_H
#define SIMT_PTX_OPERANDS_H

#include "ptx/reader.h"

void reader_single(struct reader *r, struct ptx_operand *o); /* a register or a number */
void reader_operand(struct reader *r, struct ptx_operand *o);
/* Refuses an instruction whose operands are not those of its row, and lets the row look at it. */
void reader_check_operands(struct reader *r, struct instruction *in);
/* An instruction has that register, which it writes when the statement is over, or uses at once. */
void reader_use(struct reader *r, const struct ptx_operand *o, bool late);

#endif
