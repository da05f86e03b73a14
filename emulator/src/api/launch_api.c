/* Launches by the API's functions: what <<<…>>> says, in arguments. */
#include "api/launch_api.h"
#include "base/errors.h"
#include "block/functions.h"
#include "block/launch.h"

static cudaError_t launch(const void *function, const struct simt_configuration *asked, void **arguments,
                          const void *caller)
{
    struct simt_kernel *kernel = function_find(function);
    if (!kernel)
        return function_missing(function);
    simt_configure(asked);
    return kernel->launch(kernel, caller, arguments);
}

static struct simt_configuration configuration(dim3 grid, dim3 block, size_t dynamic_shared, cudaStream_t stream)
{
    return (struct simt_configuration){.grid = {grid.x, grid.y, grid.z},
                                       .block = {block.x, block.y, block.z},
                                       .dynamic_shared = dynamic_shared,
                                       .stream = stream,
                                       .text = "cudaLaunchKernel",
                                       .file = "cudaLaunchKernel"};
}

cudaError_t launch_at(const void *function, dim3 grid, dim3 block, void **arguments, size_t dynamic_shared,
                      cudaStream_t stream, const void *pc)
{
    struct simt_configuration asked = configuration(grid, block, dynamic_shared, stream);
    return launch(function, &asked, arguments, pc);
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t dynamic_shared,
                             cudaStream_t stream)
{
    return launch_at(function, grid, block, arguments, dynamic_shared, stream, CALLER());
}

cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                                        size_t dynamic_shared, cudaStream_t stream)
{
    struct simt_configuration asked = configuration(grid, block, dynamic_shared, stream);
    asked.cooperative = true;
    return launch(function, &asked, arguments, CALLER());
}

/* Attributes that change no result are passed over: priorities, the split of shared memory and L1. */
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **arguments)
{
    if (!config)
        return simt_fail(cudaErrorInvalidValue);
    struct simt_configuration asked = configuration(config->gridDim, config->blockDim, config->dynamicSmemBytes,
                                                    config->stream);
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const cudaLaunchAttribute *a = &config->attrs[i];
        if (a->id == cudaLaunchAttributeCooperative)
            asked.cooperative = a->val.cooperative != 0;
        if (a->id == cudaLaunchAttributeProgrammaticStreamSerialization)
            asked.programmatic = a->val.programmaticStreamSerializationAllowed != 0;
        if (a->id == cudaLaunchAttributeClusterDimension) {
            asked.cluster[0] = a->val.clusterDim.x;
            asked.cluster[1] = a->val.clusterDim.y;
            asked.cluster[2] = a->val.clusterDim.z;
        }
    }
    return launch(function, &asked, arguments, CALLER());
}
