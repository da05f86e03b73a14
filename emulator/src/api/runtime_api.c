/* The rest of the runtime API: errors and devices. */
#define _GNU_SOURCE
#include "run/device.h"
#include "memory/memory.h"
#include "order/undefined.h"
#include "simt/runtime.h"
#include "api/work.h"
#include <stdio.h>
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
#define SIMT_ERROR(name, value, text) {name, #name, text},
#include "../../include/simt/errors.h"
#undef SIMT_ERROR
};

static const char *describe(cudaError_t error, bool name)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].error == error)
            return name ? errors[i].name : errors[i].text;
    return "unrecognized error code";
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
cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags)
{
    return (void)device_flags, (void)flags, cudaSetDevice(device);
}
cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted)
{
    return (void)wanted, cudaGetDevice(device);
}
cudaError_t cudaSetDeviceFlags(unsigned flags) { return (void)flags, cudaSuccess; }
cudaError_t cudaGetDeviceFlags(unsigned *flags) { return *flags = cudaDeviceMapHost, cudaSuccess; }

/* There is one device, and it has no peers. */
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = 0;
    return device == 0 && peer == 0 ? cudaSuccess : simt_fail(cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    return (void)peer, (void)flags, simt_fail(cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) { return (void)peer, simt_fail(cudaErrorInvalidDevice); }

static cudaError_t synchronised(void)
{
    memory_synchronised();
    work_host_waits_for_all();
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
/* There is one device; a second is none. */
cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attribute, int device, int peer)
{
    (void)value, (void)attribute, (void)device, (void)peer;
    return simt_fail(cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceGetPCIBusId(char *id, int bytes, int device)
{
    if (!id || bytes < 13 || device != 0)
        return simt_fail(device ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    snprintf(id, (size_t)bytes, "0000:00:00.0");
    return cudaSuccess;
}
cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *config)
{
    return *config = cudaSharedMemBankSizeFourByte, cudaSuccess;
}
cudaError_t cudaCtxResetPersistingL2Cache(void) { return cudaSuccess; }
cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config)
{
    return *config = cudaFuncCachePreferNone, cudaSuccess;
}
cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config) { return (void)config, cudaSuccess; }
cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config) { return (void)config, cudaSuccess; }
cudaError_t cudaDriverGetVersion(int *version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int *version) { return *version = CUDART_VERSION, cudaSuccess; }

long long simt_clock(void)
{
    struct timespec now;
    static long long ticks;
    if (undefined_on_trial) /* copies must see the same */
        return ++ticks;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* clock() of a .cu file, which simtcc gives this name: a kernel's ticks as clock64() does, the host's is the C library's. */
clock_t simt_clock_of_caller(void) { return simt_on_device() ? (clock_t)simt_clock() : clock(); }
