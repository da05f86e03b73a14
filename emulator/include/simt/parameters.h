/* Of addresses of parameters: what is not offered is refused where it is used. */
#pragma simt_refuse <cuda_runtime.h> addresses of parameters: __isGridConstant* __cvta_generic_to_grid_constant* __cvta_grid_constant*
