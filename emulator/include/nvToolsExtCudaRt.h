/* A part of NVTX; here it leads there. */
#include "nvToolsExt.h"
