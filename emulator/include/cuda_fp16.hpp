/* In the CUDA toolkit a part of cuda_fp16.h; here it leads there. */
#include "cuda_fp16.h"
