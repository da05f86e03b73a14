/* From the text of an inline PTX statement to a program. */
#ifndef SIMT_PTX_READ_H
#define SIMT_PTX_READ_H

#include "ptx/ptx.h"

/* Reads a statement's text; what it does not know ends the program (report_unsupported). values: of the operands, as the
 * first thread comes with them, at pc; constants of the text among them. */
struct program *ptx_read_program(const struct simt_assembly_site *site, const struct simt_asm_operand *operands,
                                 const u64 *values, const void *pc);

#endif
