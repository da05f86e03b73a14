/* As NVTX 3 names it. */
#include "../nvToolsExt.h"
