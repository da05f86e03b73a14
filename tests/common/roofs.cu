// The roofs that results are held against on this device; and, by SIMT_PROFILE_JSON, what the emulator says of it.

#include <cuda_profiler_api.h>
#include <stdio.h>

extern "C" {
#include "device.h"
}

int main()
{
    const struct device device = device_open("75");
    cudaProfilerStart();
    cudaProfilerStop();
    printf("%g %g %g\n", device.fp32_flops, device.tensor_flops, device.dram_bytes);
}
