/* The operands of inline PTX. */
#ifndef SIMT_PTX_OPERANDS_H
#define SIMT_PTX_OPERANDS_H

#include "ptx/reader.h"

void reader_single(struct reader *r, struct ptx_operand *o); /* a register or a number */
void reader_operand(struct reader *r, struct ptx_operand *o);
/* Refuses an instruction whose operands are not those of its row, and lets the row look at it. */
void reader_check_operands(const struct reader *r, struct instruction *in);

#endif
