/* In the CUDA toolkit a part of cuda_fp8.h; here it leads there. */
#include "cuda_fp8.h"
