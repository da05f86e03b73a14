/* What every program begins with: simtcc --precompile parses it once for all. */
#include <cuda_runtime.h>
