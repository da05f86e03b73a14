/* The arrive-wait barriers' primitives; their experimental class is refused where it is used. */
#include "cuda_awbarrier_primitives.h"
#pragma simt_refuse <cuda_awbarrier.h> the experimental barrier: experimental
