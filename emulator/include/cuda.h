/* The driver API's header. What programs mostly want of it is the runtime API; its own functions, cu…(), are not offered,
 * and calling one is an error at its line. */
#define CUDA_VERSION 13000
#include "cuda_runtime.h"
