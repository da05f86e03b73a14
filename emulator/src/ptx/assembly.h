/* What only the loop that runs a program can do. */
#ifndef SIMT_PTX_ASSEMBLY_H
#define SIMT_PTX_ASSEMBLY_H

#include "ptx/ptx.h"

void ptx_branch(struct running *r, const struct instruction *in); /* bra */

#endif
