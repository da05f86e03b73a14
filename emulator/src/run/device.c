/* The GPU that the emulator describes: its properties, and the published rates from which floors are computed.
 * SIMT_GPU picks one of the table; the first is the default. */
#include "run/device.h"
#include <stdlib.h>
#include <string.h>

#define GB ((size_t)1 << 30)
#define KB ((size_t)1 << 10)

static const struct gpu gpus[] = {
    {"h200", "NVIDIA H200", "NVIDIA H200 datasheet; CUDA C++ Programming Guide, compute capability 9.0", 9, 0, 132, 128,
     1.98, 989.4, 3201000, 6016, 141 * GB, 60 << 20, 228 * KB, 227 * KB, 2048, 32},
    {"a100", "NVIDIA A100", "NVIDIA A100 40GB datasheet; compute capability 8.0", 8, 0, 108, 64, 1.41, 312, 1215000,
     5120, 40 * GB, 40 << 20, 164 * KB, 163 * KB, 2048, 32},
    {"rtx4090", "NVIDIA GeForce RTX 4090", "NVIDIA Ada architecture whitepaper; compute capability 8.9", 8, 9, 128, 128,
     2.52, 165.2, 10501000, 384, 24 * GB, 72 << 20, 100 * KB, 99 * KB, 1536, 24},
    {"t4", "Tesla T4", "NVIDIA T4 datasheet; compute capability 7.5", 7, 5, 40, 64, 1.59, 65, 5001000, 256, 16 * GB,
     4 << 20, 64 * KB, 64 * KB, 1024, 16},
};

const struct gpu *device_gpu(void)
{
    static const struct gpu *chosen;
    const char *wish = getenv("SIMT_GPU");
    if (chosen)
        return chosen;
    chosen = &gpus[0];
    if (!wish)
        return chosen;
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++)
        if (!strcmp(wish, gpus[i].name))
            return chosen = &gpus[i];
    fprintf(stderr, "simt: SIMT_GPU=%s is not known; accepted are", wish);
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++)
        fprintf(stderr, " %s", gpus[i].name);
    fprintf(stderr, "\n");
    exit(2);
}

double device_dram_gbps(void)
{
    const struct gpu *g = device_gpu();
    return 2e-6 * g->memory_clock_khz * (g->bus_width_bits / 8);
}

int device_sms(void)
{
    const char *wish = getenv("SIMT_SMS");
    return wish && atoi(wish) > 0 ? atoi(wish) : device_gpu()->sms;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
    const struct gpu *g = device_gpu();
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
                                 .multiProcessorCount = device_sms(),
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
    case cudaDevAttrClusterLaunch: *value = 0; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = (int)p.sharedMemPerBlockOptin; break;
    case cudaDevAttrReservedSharedMemoryPerBlock: *value = (int)p.reservedSharedMemPerBlock; break;
    case cudaDevAttrMaxPersistingL2CacheSize: *value = p.persistingL2CacheMaxSize; break;
    case cudaDevAttrMaxAccessPolicyWindowSize: *value = 0; break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *value = p.maxBlocksPerMultiProcessor; break;
    default: return simt_fail(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}
