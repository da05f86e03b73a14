/* What fresh memory holds. */
#ifndef SIMT_POISON_H
#define SIMT_POISON_H

#include "base/base.h"

void poison(unsigned char *start, size_t bytes); /* whole pages that may be written: their bytes become 0xff */

#endif
