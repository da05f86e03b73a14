/* The arrive-wait barriers' primitives. */
#ifndef _CUDA_AWBARRIER_H_
#define _CUDA_AWBARRIER_H_

#include "cuda_awbarrier_primitives.h"

/* What is not offered: refused where it is used. */
#pragma simt_refuse <cuda_awbarrier.h> the experimental barrier: experimental
#endif
