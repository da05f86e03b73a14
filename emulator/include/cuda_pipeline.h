/* The pipeline primitives (CUDA C++ Programming Guide, "Pipeline Primitives Interface"). */
#ifndef _CUDA_PIPELINE_H_
#define _CUDA_PIPELINE_H_

#include "cuda_pipeline_primitives.h"

/* What is not offered: refused where it is used. */
#pragma simt_refuse <cuda_pipeline.h> the experimental pipeline: experimental
#endif
