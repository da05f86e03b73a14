/* cudaProfilerStart and cudaProfilerStop: the emulator counts between them (see cuda_runtime_api.h). */
#include "cuda_runtime_api.h"
