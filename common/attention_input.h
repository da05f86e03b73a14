// The numbers that an attention step is run on: ordinary ones, and those that break careless kernels.
#ifndef ATTENTION_INPUT_H
#define ATTENTION_INPUT_H

#include "attention.h"
#include "options.h"

#include <stdint.h>

enum { INPUT_NORMAL, INPUT_SCALED, INPUT_HUGE, INPUT_EQUAL };

// What --input takes, in that order; ends with {}.
extern const struct input_kind attention_inputs[];

// Fills Q, K and V, on the host, with the shape of args and no gaps. Scores stay within |S| ≤ 1024.
void attention_input(const struct attention_args *args, int kind, uint64_t seed, float *Q, float *K, float *V);

#endif
