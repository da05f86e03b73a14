// What NVIDIA's own cuda_occupancy.h says of each kernel on a line of the standard input.
#include <cstdio>
#include <cuda_occupancy.h>

int main()
{
    int arch, warps, threads, registers, shared;
    int shared_per_sm, shared_per_block, reserved;
    while (scanf("%d %d %d %d %d %d %d %d", &arch, &warps, &shared_per_sm, &shared_per_block, &reserved, &threads,
                 &registers, &shared) == 8) {
        cudaOccDeviceProp gpu;
        gpu.computeMajor = arch / 10;
        gpu.computeMinor = arch % 10;
        gpu.maxThreadsPerBlock = 1024;
        gpu.maxThreadsPerMultiprocessor = 32 * warps;
        gpu.regsPerBlock = gpu.regsPerMultiprocessor = 65536;
        gpu.warpSize = 32;
        gpu.sharedMemPerBlock = 48 << 10;
        gpu.sharedMemPerMultiprocessor = (size_t)shared_per_sm;
        gpu.sharedMemPerBlockOptin = (size_t)shared_per_block;
        gpu.reservedSharedMemPerBlock = (size_t)reserved;
        gpu.numSms = 1;

        cudaOccFuncAttributes kernel;
        kernel.maxThreadsPerBlock = 1024;
        kernel.numRegs = registers;
        kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        kernel.maxDynamicSharedSizeBytes = (size_t)shared_per_block;

        cudaOccDeviceState state;
        state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
        cudaOccResult result;
        const cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &gpu, &kernel, &state, threads,
                                                                           (size_t)shared);
        printf("%d %d %d %d\n", error, result.activeBlocksPerMultiprocessor, result.blockLimitRegs,
               result.blockLimitSharedMem);
    }
}
