// The line that a run appends to --json FILE: what tools, plots and tables read.
#ifndef JSON_H
#define JSON_H

#include "report.h"

void json_append(FILE *file, const struct result *result);

#endif
