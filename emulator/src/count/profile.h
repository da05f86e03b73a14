/* What was counted, kernel by kernel and line by line. */
#ifndef SIMT_PROFILE_H
#define SIMT_PROFILE_H

#include "count/counters.h"

void profile_launch(const struct launch *l);
void profile_add(const struct launch *l, const struct line_counts *lines, unsigned n);

#endif
