#include "device.h"

#include "exit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int version_number(int major, int minor) { return 10 * major + minor; }

// An architecture with an `a` runs nowhere but on exactly that compute capability.
static bool can_run(const struct cudaDeviceProp *device, const char *arch)
{
    char *suffix;
    int needed = (int)strtol(arch, &suffix, 10);
    int have = version_number(device->major, device->minor);
    return *suffix == 'a' ? have == needed : have >= needed;
}

static int count_devices(void)
{
    int count = 0, driver = 0, runtime = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaErrorInsufficientDriver) {
        CUDA(cudaDriverGetVersion(&driver));
        CUDA(cudaRuntimeGetVersion(&runtime));
        if (driver == 0)
            stop(EXIT_CANNOT_RUN, "no NVIDIA driver on this machine; `./learn run` takes the emulator instead");
        stop(EXIT_CANNOT_RUN,
             "the NVIDIA driver serves CUDA up to %d.%d, this program needs %d.%d: update the driver, "
             "or build with an older toolkit",
             driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    }
    if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0))
        stop(EXIT_CANNOT_RUN, "no CUDA device is visible (%s); `./learn run` takes the emulator instead",
             getenv("CUDA_VISIBLE_DEVICES") ? "CUDA_VISIBLE_DEVICES is set" : "cudaErrorNoDevice");
    cuda_check(error, "cudaGetDeviceCount(&count)", __FILE__, __LINE__);
    return count;
}

// CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions": fp32 results per clock and SM.
static int fp32_lanes(int major, int minor)
{
    int version = version_number(major, minor);
    return version <= 80 ? 64 : 128;
}

// Vendor's architecture whitepapers: 16-bit operations of the tensor cores per boost clock and SM, dense, with sums in fp32.
// Hopper's are stated for a clock of 1830 MHz where its boost clock is 1980, and GeForce boards have half the rate.
static double tensor_operations(const struct cudaDeviceProp *prop)
{
    int version = version_number(prop->major, prop->minor);
    if (version == 90)
        return 4096 * 1830.0 / 1980;
    if (version == 80)
        return 2048;
    if (version < 75 || version > 90)
        return 0;
    return strstr(prop->name, "GeForce") ? 512 : 1024;
}

static double attribute(enum cudaDeviceAttr attribute, int index)
{
    int value;
    CUDA(cudaDeviceGetAttribute(&value, attribute, index));
    return value;
}

static struct device describe(const struct cudaDeviceProp *prop, int index)
{
    struct device device = {.major = prop->major, .minor = prop->minor};
    snprintf(device.name, sizeof device.name, "%s", prop->name);
    snprintf(device.bus_id, sizeof device.bus_id, "%08x:%02x:%02x.0", (unsigned)prop->pciDomainID,
             (unsigned)prop->pciBusID, (unsigned)prop->pciDeviceID);
    const char emulator[] = "SIMT emulator";
    device.emulated = strncmp(prop->name, emulator, strlen(emulator)) == 0;
    device.checks_bounds = device.emulated && !strstr(prop->name, "without checks");
    device.l2_bytes = (size_t)attribute(cudaDevAttrL2CacheSize, index);
    device.shared_bytes = (int)attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, index);

    device.sms = (int)attribute(cudaDevAttrMultiProcessorCount, index);
    device.threads_per_sm = (int)attribute(cudaDevAttrMaxThreadsPerMultiProcessor, index);
    device.clock = 1e3 * attribute(cudaDevAttrClockRate, index);               // the attribute is in kHz
    double memory_clock = 1e3 * attribute(cudaDevAttrMemoryClockRate, index);  // two transfers a clock
    device.fp32_flops = 2.0 * fp32_lanes(prop->major, prop->minor) * device.sms * device.clock;
    device.tensor_flops = tensor_operations(prop) * device.sms * device.clock;
    device.dram_bytes = 2.0 * memory_clock * attribute(cudaDevAttrGlobalMemoryBusWidth, index) / 8;
    return device;
}

struct device device_open(const char *arch)
{
    int count = count_devices();
    struct cudaDeviceProp prop;
    for (int index = 0; index < count; index++) {
        CUDA(cudaGetDeviceProperties(&prop, index));
        if (!can_run(&prop, arch))
            continue;
        CUDA(cudaSetDevice(index));
        return describe(&prop, index);
    }
    CUDA(cudaGetDeviceProperties(&prop, 0));
    int needed = (int)strtol(arch, NULL, 10);
    stop(EXIT_CANNOT_RUN, "this step needs %s compute capability %d.%d; %s has %d.%d",
         strchr(arch, 'a') ? "exactly" : "at least", needed / 10, needed % 10, prop.name, prop.major, prop.minor);
}
