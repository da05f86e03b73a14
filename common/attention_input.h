// The numbers that an attention step is run on: ordinary ones, and those that break careless kernels.
#ifndef ATTENTION_INPUT_H
#define ATTENTION_INPUT_H

#include "attention.h"

#include <stdint.h>

enum attention_input { INPUT_NORMAL, INPUT_SCALED, INPUT_HUGE, INPUT_EQUAL, INPUT_KINDS };

// By the names that --input takes.
extern const char *const attention_input_names[INPUT_KINDS];

// Fills Q, K and V, on the host, with the shape of args. Scores stay within |S| ≤ 1024.
void attention_input(const struct attention_args *args, enum attention_input kind, uint64_t seed, float *Q, float *K,
                     float *V);

#endif
