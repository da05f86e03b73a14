/* The driver API, as far as programs of the runtime API use it beside tensor maps (tensor_map.c): results, the device, its
 * context, and how the runtime API finds the driver's functions. */
#include "base/errors.h"
#include "base/gpu.h"
#include "../../include/cuda.h"
#include <string.h>

static const struct {
    CUresult result;
    const char *name;
} results[] = {
#define SIMT_RESULT(name, value) {name, #name},
#include "../../include/simt/results.h"
#undef SIMT_RESULT
};

CUresult cuGetErrorName(CUresult result, const char **name)
{
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (results[i].result == result)
            return *name = results[i].name, CUDA_SUCCESS;
    return *name = NULL, CUDA_ERROR_INVALID_VALUE;
}

/* Errors of the same number are the same in both API's. */
CUresult cuGetErrorString(CUresult result, const char **text)
{
    const char *name;
    CUresult known = cuGetErrorName(result, &name);
    *text = known == CUDA_SUCCESS ? cudaGetErrorString((cudaError_t)result) : NULL;
    return known;
}

CUresult cuInit(unsigned flags) { return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS; }

CUresult cuDriverGetVersion(int *version)
{
    return version ? (CUresult)cudaDriverGetVersion(version) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- the device ---- */

static CUresult check_device(const void *result, CUdevice device)
{
    if (!result)
        return CUDA_ERROR_INVALID_VALUE;
    return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetCount(int *count) { return count ? (*count = 1, CUDA_SUCCESS) : CUDA_ERROR_INVALID_VALUE; }

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    CUresult error = check_device(device, ordinal);
    if (error == CUDA_SUCCESS)
        *device = ordinal;
    return error;
}

CUresult cuDeviceGetName(char *name, int bytes, CUdevice device)
{
    struct cudaDeviceProp p;
    CUresult error = check_device(name, device);
    if (error != CUDA_SUCCESS || bytes <= 0)
        return error != CUDA_SUCCESS ? error : CUDA_ERROR_INVALID_VALUE;
    cudaGetDeviceProperties(&p, device);
    snprintf(name, (size_t)bytes, "%s", p.name);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    CUresult error = check_device(value, device);
    if (error != CUDA_SUCCESS)
        return error;
    if (attribute == CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED)
        return *value = gpu_described()->major >= 9, CUDA_SUCCESS;
    return (CUresult)cudaDeviceGetAttribute(value, (enum cudaDeviceAttr)attribute, device);
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
    CUresult error = check_device(bytes, device);
    if (error == CUDA_SUCCESS)
        *bytes = gpu_described()->memory;
    return error;
}

/* ---- its context ---- */

static struct CUctx_st {
    int device;
} context;

CUresult cuDevicePrimaryCtxRetain(CUcontext *of, CUdevice device)
{
    CUresult error = check_device(of, device);
    if (error == CUDA_SUCCESS)
        *of = &context;
    return error;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) { return check_device(&context, device); }
CUresult cuCtxGetCurrent(CUcontext *current) { return cuDevicePrimaryCtxRetain(current, 0); }
CUresult cuCtxSetCurrent(CUcontext current)
{
    return current && current != &context ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice *device) { return cuDeviceGet(device, 0); }
CUresult cuCtxSynchronize(void) { return (CUresult)cudaDeviceSynchronize(); }

/* ---- how they are found ---- */

typedef void function_t(void);

static const struct {
    const char *name;
    function_t *function;
    unsigned since; /* the version of CUDA that has it first */
} functions[] = {
#define FUNCTION(name, since) {#name, (function_t *)name, since}
    FUNCTION(cuInit, 2000),
    FUNCTION(cuDriverGetVersion, 2020),
    FUNCTION(cuGetErrorName, 6000),
    FUNCTION(cuGetErrorString, 6000),
    FUNCTION(cuDeviceGet, 2000),
    FUNCTION(cuDeviceGetCount, 2000),
    FUNCTION(cuDeviceGetName, 2000),
    FUNCTION(cuDeviceGetAttribute, 2000),
    FUNCTION(cuDeviceTotalMem, 2000),
    FUNCTION(cuDevicePrimaryCtxRetain, 7000),
    FUNCTION(cuDevicePrimaryCtxRelease, 7000),
    FUNCTION(cuCtxGetCurrent, 4000),
    FUNCTION(cuCtxSetCurrent, 4000),
    FUNCTION(cuCtxGetDevice, 2000),
    FUNCTION(cuCtxSynchronize, 2000),
    FUNCTION(cuTensorMapEncodeTiled, 12000),
    FUNCTION(cuTensorMapEncodeIm2col, 12000),
    FUNCTION(cuTensorMapReplaceAddress, 12000),
#undef FUNCTION
};

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                             unsigned long long flags, enum cudaDriverEntryPointQueryResult *result)
{
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    if (!symbol || !function || flags > cudaEnablePerThreadDefaultStream)
        return simt_fail(cudaErrorInvalidValue);
    *function = NULL;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, symbol) == 0) {
            bool enough = version >= functions[i].since;
            found = enough ? cudaDriverEntryPointSuccess : cudaDriverEntryPointVersionNotSufficent;
            if (enough)
                memcpy(function, &functions[i].function, sizeof *function);
        }
    if (result)
        *result = found;
    return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult *result)
{
    return cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, result);
}
