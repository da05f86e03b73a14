/* In the CUDA toolkit a part of cuda_bf16.h; here it leads there. */
#include "cuda_bf16.h"
