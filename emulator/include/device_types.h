/* In the CUDA toolkit a part of cuda_runtime.h; here it leads there. */
#include "cuda_runtime.h"
