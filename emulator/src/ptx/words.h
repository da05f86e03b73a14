/* Opcodes. */
#ifndef SIMT_PTX_WORDS_H
#define SIMT_PTX_WORDS_H

#include "ptx/ptx.h"

/* Fills row, type and field from "ld.global.v4.f32"; what is wrong with it in a few words, else NULL. */
const char *ptx_read_opcode(const char *opcode, struct instruction *in);

#endif
