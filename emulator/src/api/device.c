/* The one device of the runtime API, cudaDevice…: its properties, its limits, waiting for it. */
#include "base/errors.h"
#include "base/gpu.h"
#include "memory/heap.h"
#include "memory/protection.h"
#include "order/work.h"

#define KB ((size_t)1 << 10)
#define STACK_BYTES ((size_t)60 << 10) /* of a thread of a kernel: a stack without its guard page */

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
    const struct gpu *g = gpu_described();
    if (device != 0)
        return simt_fail(cudaErrorInvalidDevice);
    *p = (struct cudaDeviceProp){.totalGlobalMem = g->memory,
                                 .sharedMemPerBlock = 48 * KB,
                                 .regsPerBlock = 65536,
                                 .warpSize = WARP,
                                 .memPitch = 2147483647,
                                 .maxThreadsPerBlock = MAX_THREADS,
                                 .maxThreadsDim = {1024, 1024, 64},
                                 .maxGridSize = {2147483647, 65535, 65535},
                                 .clockRate = (int)(g->clock_ghz * 1e6),
                                 .totalConstMem = 64 * KB,
                                 .major = g->major,
                                 .minor = g->minor,
                                 .textureAlignment = 512,
                                 .multiProcessorCount = gpu_sms(),
                                 .canMapHostMemory = 1,
                                 .computeMode = cudaComputeModeDefault,
                                 .deviceOverlap = 1,
                                 .asyncEngineCount = 3,
                                 .concurrentKernels = 1,
                                 .streamPrioritiesSupported = 1,
                                 .unifiedAddressing = 1,
                                 .memoryClockRate = g->memory_clock_khz,
                                 .memoryBusWidth = g->bus_width_bits,
                                 .l2CacheSize = (int)g->l2,
                                 .maxThreadsPerMultiProcessor = g->threads_per_sm,
                                 .globalL1CacheSupported = 1,
                                 .localL1CacheSupported = 1,
                                 .sharedMemPerMultiprocessor = g->shared_per_sm,
                                 .regsPerMultiprocessor = 65536,
                                 .managedMemory = 1,
                                 .cooperativeLaunch = 1,
                                 .clusterLaunch = g->groups != NULL,
                                 .maxBlocksPerMultiProcessor = g->blocks_per_sm,
                                 .sharedMemPerBlockOptin = g->shared_optin,
                                 .reservedSharedMemPerBlock = g->major >= 8 ? KB : 0,
                                 .maxTexture1D = 131072,
                                 .maxTexture2D = {131072, 65536},
                                 .maxTexture3D = {16384, 16384, 16384},
                                 .maxTextureCubemap = 32768,
                                 .maxTexture1DLayered = {32768, 2048},
                                 .maxTexture2DLayered = {32768, 32768, 2048},
                                 .maxTextureCubemapLayered = {32768, 2046},
                                 .maxTexture1DLinear = 268435456,
                                 .maxTexture2DLinear = {131072, 65000, 2097120},
                                 .maxSurface1D = 32768,
                                 .maxSurface2D = {131072, 65536},
                                 .maxSurface3D = {16384, 16384, 16384},
                                 .surfaceAlignment = 512,
                                 .texturePitchAlignment = 32,
                                 .hostRegisterSupported = 1,
                                 .memoryPoolsSupported = 1};
    snprintf(p->name, sizeof p->name, "SIMT emulator%s (%s)", simt_checked ? "" : " without checks", g->title);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    struct cudaDeviceProp p;
    cudaError_t error = cudaGetDeviceProperties(&p, device);
    if (error != cudaSuccess)
        return error;
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = p.maxThreadsPerBlock; break;
    case cudaDevAttrMaxBlockDimX: *value = p.maxThreadsDim[0]; break;
    case cudaDevAttrMaxBlockDimY: *value = p.maxThreadsDim[1]; break;
    case cudaDevAttrMaxBlockDimZ: *value = p.maxThreadsDim[2]; break;
    case cudaDevAttrMaxGridDimX: *value = p.maxGridSize[0]; break;
    case cudaDevAttrMaxGridDimY: *value = p.maxGridSize[1]; break;
    case cudaDevAttrMaxGridDimZ: *value = p.maxGridSize[2]; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = (int)p.sharedMemPerBlock; break;
    case cudaDevAttrTotalConstantMemory: *value = (int)p.totalConstMem; break;
    case cudaDevAttrWarpSize: *value = p.warpSize; break;
    case cudaDevAttrMaxPitch: *value = (int)p.memPitch; break;
    case cudaDevAttrMaxRegistersPerBlock: *value = p.regsPerBlock; break;
    case cudaDevAttrClockRate: *value = p.clockRate; break;
    case cudaDevAttrTextureAlignment: *value = (int)p.textureAlignment; break;
    case cudaDevAttrGpuOverlap: *value = p.deviceOverlap; break;
    case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; break;
    case cudaDevAttrKernelExecTimeout: *value = p.kernelExecTimeoutEnabled; break;
    case cudaDevAttrIntegrated: *value = p.integrated; break;
    case cudaDevAttrCanMapHostMemory: *value = p.canMapHostMemory; break;
    case cudaDevAttrComputeMode: *value = p.computeMode; break;
    case cudaDevAttrConcurrentKernels: *value = p.concurrentKernels; break;
    case cudaDevAttrEccEnabled: *value = p.ECCEnabled; break;
    case cudaDevAttrPciBusId: *value = p.pciBusID; break;
    case cudaDevAttrPciDeviceId: *value = p.pciDeviceID; break;
    case cudaDevAttrPciDomainId: *value = p.pciDomainID; break;
    case cudaDevAttrTccDriver: *value = 0; break;
    case cudaDevAttrMemoryClockRate: *value = p.memoryClockRate; break;
    case cudaDevAttrGlobalMemoryBusWidth: *value = p.memoryBusWidth; break;
    case cudaDevAttrL2CacheSize: *value = p.l2CacheSize; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = p.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrAsyncEngineCount: *value = p.asyncEngineCount; break;
    case cudaDevAttrUnifiedAddressing: *value = p.unifiedAddressing; break;
    case cudaDevAttrStreamPrioritiesSupported: *value = p.streamPrioritiesSupported; break;
    case cudaDevAttrGlobalL1CacheSupported: *value = p.globalL1CacheSupported; break;
    case cudaDevAttrLocalL1CacheSupported: *value = p.localL1CacheSupported; break;
    case cudaDevAttrComputeCapabilityMajor: *value = p.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = p.minor; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = (int)p.sharedMemPerMultiprocessor; break;
    case cudaDevAttrMaxRegistersPerMultiprocessor: *value = p.regsPerMultiprocessor; break;
    case cudaDevAttrManagedMemory: *value = p.managedMemory; break;
    case cudaDevAttrIsMultiGpuBoard: *value = p.isMultiGpuBoard; break;
    case cudaDevAttrHostNativeAtomicSupported: *value = 0; break;
    case cudaDevAttrPageableMemoryAccess: *value = p.pageableMemoryAccess; break;
    case cudaDevAttrPageableMemoryAccessUsesHostPageTables: *value = 0; break;
    case cudaDevAttrDirectManagedMemAccessFromHost: *value = 0; break;
    case cudaDevAttrConcurrentManagedAccess: *value = p.concurrentManagedAccess; break;
    case cudaDevAttrComputePreemptionSupported: *value = 1; break;
    case cudaDevAttrCanUseHostPointerForRegisteredMem: *value = 1; break;
    case cudaDevAttrHostRegisterSupported: *value = 1; break;
    case cudaDevAttrMemoryPoolsSupported: *value = 1; break;
    case cudaDevAttrCooperativeLaunch: *value = p.cooperativeLaunch; break;
    case cudaDevAttrClusterLaunch: *value = p.clusterLaunch; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = (int)p.sharedMemPerBlockOptin; break;
    case cudaDevAttrReservedSharedMemoryPerBlock: *value = (int)p.reservedSharedMemPerBlock; break;
    case cudaDevAttrMaxPersistingL2CacheSize: *value = p.persistingL2CacheMaxSize; break;
    case cudaDevAttrMaxAccessPolicyWindowSize: *value = 0; break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *value = p.maxBlocksPerMultiProcessor; break;
    default: return simt_fail(cudaErrorInvalidValue);
    }
    return cudaSuccess;
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
    return limit == cudaLimitMallocHeapSize ? simt_fail(heap_set_limit(value)) : cudaSuccess;
}
cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit)
{
    switch (limit) {
    case cudaLimitStackSize: *value = STACK_BYTES; break;
    case cudaLimitMallocHeapSize: *value = heap_limit(); break;
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
