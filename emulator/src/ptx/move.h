/* What does nothing, for other tables. */
#ifndef SIMT_PTX_MOVE_H
#define SIMT_PTX_MOVE_H

#include "ptx/ptx.h"

void ptx_nothing(struct running *r, const struct instruction *in);

#endif
