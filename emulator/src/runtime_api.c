/* The rest of the runtime API: errors, devices, streams, events. Work completes before a call returns. */
#define _GNU_SOURCE
#include "device.h"
#include "memory.h"
#include <stdlib.h>
#include <time.h>

#define STACK_BYTES ((size_t)60 << 10) /* of a thread of a kernel: a stack without its guard page */

static __thread cudaError_t last; /* of this host thread */

cudaError_t simt_fail(cudaError_t error)
{
    if (error != cudaSuccess)
        last = error;
    return error;
}

static const struct {
    cudaError_t error;
    const char *name, *text;
} errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {cudaErrorInvalidDevicePointer, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
};

static const char *describe(cudaError_t error, bool name)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].error == error)
            return name ? errors[i].name : errors[i].text;
    return name ? "cudaErrorUnknown" : "unknown error";
}

const char *cudaGetErrorName(cudaError_t error) { return describe(error, true); }
const char *cudaGetErrorString(cudaError_t error) { return describe(error, false); }
cudaError_t cudaPeekAtLastError(void) { return last; }
cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last;
    last = cudaSuccess;
    return error;
}

cudaError_t cudaGetDeviceCount(int *count) { return *count = 1, cudaSuccess; }
cudaError_t cudaGetDevice(int *device) { return *device = 0, cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : simt_fail(cudaErrorInvalidDevice); }
cudaError_t cudaSetDeviceFlags(unsigned flags) { return (void)flags, cudaSuccess; }

static cudaError_t synchronised(void)
{
    memory_synchronised();
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void) { return synchronised(); }
cudaError_t cudaThreadSynchronize(void) { return synchronised(); }
cudaError_t cudaDeviceReset(void) { return synchronised(); }
cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
    return limit == cudaLimitMallocHeapSize ? simt_fail(memory_heap_limit(value)) : cudaSuccess;
}
cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit)
{
    switch (limit) {
    case cudaLimitStackSize: *value = STACK_BYTES; break;
    case cudaLimitMallocHeapSize: *value = memory_heap_limit_now(); break;
    default: *value = 1u << 20; break;
    }
    return cudaSuccess;
}
cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config) { return (void)config, cudaSuccess; }
cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config) { return (void)config, cudaSuccess; }
cudaError_t cudaDriverGetVersion(int *version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int *version) { return *version = CUDART_VERSION, cudaSuccess; }

/* ---- streams and events ---- */

struct CUstream_st {
    int unused;
};
struct CUevent_st {
    double ms;
    bool recorded;
    unsigned long launches; /* how many came before it was recorded */
};

static cudaError_t make(void **out, size_t bytes)
{
    *out = calloc(1, bytes);
    return *out ? cudaSuccess : simt_fail(cudaErrorMemoryAllocation);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream) { return make((void **)stream, sizeof **stream); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    return (void)flags, cudaStreamCreate(stream);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    return (void)flags, (void)priority, cudaStreamCreate(stream);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return free(stream), cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    (void)stream;
    return synchronised();
}
cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    (void)stream;
    return synchronised();
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    return (void)stream, (void)event, (void)flags, cudaSuccess;
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned flags)
{
    (void)flags;
    memory_synchronised(); /* it is called once the stream's kernels are done */
    callback(stream, cudaSuccess, data);
    return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    (void)stream;
    memory_synchronised();
    function(data);
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event) { return make((void **)event, sizeof **event); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) { return (void)flags, cudaEventCreate(event); }
cudaError_t cudaEventDestroy(cudaEvent_t event) { return free(event), cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    struct timespec now;
    (void)stream;
    clock_gettime(CLOCK_MONOTONIC, &now);
    event->ms = (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
    event->launches = memory_launches();
    event->recorded = true;
    return cudaSuccess;
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    return (void)flags, cudaEventRecord(event, stream);
}

/* An event says nothing of a kernel that was launched after it. */
cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    if (!event)
        return simt_fail(cudaErrorInvalidResourceHandle);
    if (event->recorded && event->launches == memory_launches())
        memory_synchronised();
    return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    if (!start || !end || !start->recorded || !end->recorded)
        return simt_fail(cudaErrorInvalidResourceHandle);
    *ms = (float)(end->ms - start->ms);
    return cudaSuccess;
}

long long simt_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}
