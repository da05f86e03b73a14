/* Launches by the API's functions: what <<<…>>> says, in arguments. */
#include "api/launch_api.h"
#include "base/errors.h"
#include "base/report.h"
#include "block/cluster_size.h"
#include "block/functions.h"
#include "block/launch.h"
#include <string.h>

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
static cudaError_t read_attribute(struct simt_configuration *asked, const cudaLaunchAttribute *a, const void *caller)
{
    const cudaLaunchAttributeValue *v = &a->val;
    switch (a->id) {
    case cudaLaunchAttributeCooperative: asked->cooperative = v->cooperative != 0; break;
    case cudaLaunchAttributeProgrammaticStreamSerialization:
        asked->programmatic = v->programmaticStreamSerializationAllowed != 0;
        break;
    case cudaLaunchAttributeClusterDimension: memcpy(asked->cluster, &v->clusterDim, sizeof asked->cluster); break;
    case cudaLaunchAttributePreferredClusterDimension: /* an H200 takes the others */
        memcpy(asked->preferred, &v->preferredClusterDim, sizeof asked->preferred);
        break;
    case cudaLaunchAttributeClusterSchedulingPolicyPreference:
        if ((unsigned)v->clusterSchedulingPolicyPreference > cudaClusterSchedulingPolicyLoadBalancing)
            return cudaErrorInvalidValue;
        break;
    case cudaLaunchAttributeProgrammaticEvent:
        report_unsupported_at("an event within a launch (cudaLaunchAttributeProgrammaticEvent)", caller);
        break;
    case cudaLaunchAttributeLaunchCompletionEvent:
        report_unsupported_at("an event within a launch (cudaLaunchAttributeLaunchCompletionEvent)", caller);
        break;
    default: break;
    }
    return cudaSuccess;
}

static cudaError_t read_configuration(struct simt_configuration *asked, const cudaLaunchConfig_t *config,
                                      const void *caller)
{
    if (!config)
        return cudaErrorInvalidValue;
    *asked = configuration(config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream);
    cudaError_t error = cudaSuccess;
    for (unsigned i = 0; i < config->numAttrs && error == cudaSuccess; i++)
        error = read_attribute(asked, &config->attrs[i], caller);
    return error;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **arguments)
{
    struct simt_configuration asked;
    cudaError_t error = read_configuration(&asked, config, CALLER());
    return error == cudaSuccess ? launch(function, &asked, arguments, CALLER()) : simt_fail(error);
}

typedef cudaError_t answer(int *n, const struct simt_kernel *kernel, const struct simt_configuration *asked);

static cudaError_t ask(answer *of, int *n, const void *function, const cudaLaunchConfig_t *config, const void *caller)
{
    struct simt_configuration asked;
    const struct simt_kernel *kernel = function_find(function);
    if (!kernel)
        return function_missing(function);
    cudaError_t error = n ? read_configuration(&asked, config, caller) : cudaErrorInvalidValue;
    return simt_fail(error == cudaSuccess ? of(n, kernel, &asked) : error);
}

cudaError_t simt_active_clusters(int *clusters, const void *function, const cudaLaunchConfig_t *config)
{
    return ask(cluster_most_active, clusters, function, config, CALLER());
}

cudaError_t simt_largest_cluster(int *blocks, const void *function, const cudaLaunchConfig_t *config)
{
    return ask(cluster_largest, blocks, function, config, CALLER());
}
