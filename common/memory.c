#include "memory.h"

#include "exit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    GUARD = 16 << 10,  // bytes: a few rows of a tile
    ALIGN = 256,       // as cudaMalloc's own
    MAX_COPIES = 256,  // tiny tensors stay in L2 whatever one does
};

// Where the emulator checks bounds, it sees every access beyond an allocation, at the line that made it: a guard zone
// would only hide it.
static size_t guard_bytes(const struct device *device) { return device->checks_bounds ? 0 : GUARD; }

static size_t stride_of(const struct device *device, size_t bytes)
{
    return device->checks_bounds ? bytes : (bytes + ALIGN - 1) / ALIGN * ALIGN + GUARD;
}

// What programs may still take, by the kernel's own estimate; unknown is no limit.
static double host_available(void)
{
    double kib = -1;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && kib < 0 && fgets(line, sizeof line, file))
        sscanf(line, "MemAvailable: %lf kB", &kib);
    if (file)
        fclose(file);
    return kib < 0 ? 1e18 : kib * 1024;
}

static void require(double needed, double available, const char *whose)
{
    if (!(needed <= available))
        stop(EXIT_USAGE, "this shape needs %.2f GB of %s memory, %.2f GB are free: ask for a smaller one", needed / 1e9,
             whose, available / 1e9);
}

int memory_plan(const struct device *device, const size_t *bytes, int tensors, bool rotate, double host_bytes)
{
    size_t free_bytes, total_bytes;
    CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
    // One copy's bytes, and what CUDA itself and the flush of --cold will want.
    double copy_bytes = 0, reserve = 2.0 * device->l2_bytes + (64 << 20);
    for (int i = 0; i < tensors; i++)
        copy_bytes += (double)bytes[i] + ALIGN + 2 * GUARD;
    if (device->emulated) {
        require(copy_bytes + host_bytes, host_available(), "this machine's");
        return 1;
    }
    require(copy_bytes + reserve, (double)free_bytes, "the GPU's");
    require(host_bytes, host_available(), "the host's");
    if (!rotate)
        return 1;
    double wanted = 2 + (double)device->l2_bytes / copy_bytes;
    double fit = ((double)free_bytes - reserve) / copy_bytes;
    double copies = wanted < fit ? wanted : fit;
    return copies < MAX_COPIES ? (int)copies : MAX_COPIES;
}

struct buffer buffer_allocate(const struct device *device, const char *name, size_t bytes, int copies)
{
    struct buffer buffer = {.name = name, .bytes = bytes, .copies = copies};
    buffer.guard = guard_bytes(device);
    buffer.stride = stride_of(device, bytes);
    size_t total = buffer.guard + (size_t)copies * buffer.stride;
    CUDA(cudaMalloc((void **)&buffer.memory, total));
    CUDA(cudaMemset(buffer.memory, BUFFER_POISON, total));
    buffer.first = buffer.memory + buffer.guard;
    return buffer;
}

void buffer_free(struct buffer *buffer)
{
    CUDA(cudaFree(buffer->memory));
    buffer->memory = NULL;
}

void *buffer_copy(const struct buffer *buffer, int copy) { return buffer->first + (size_t)copy * buffer->stride; }

void buffer_upload_rows(const struct buffer *buffer, const void *host, size_t rows, size_t width, size_t pitch)
{
    if (width == pitch)
        CUDA(cudaMemcpy(buffer->first, host, rows * width, cudaMemcpyHostToDevice));
    else
        CUDA(cudaMemcpy2D(buffer->first, pitch, host, width, width, rows, cudaMemcpyHostToDevice));
    for (int copy = 1; copy < buffer->copies; copy++)
        CUDA(cudaMemcpy(buffer_copy(buffer, copy), buffer->first, buffer->bytes, cudaMemcpyDeviceToDevice));
}

void buffer_upload(const struct buffer *buffer, const void *host)
{
    buffer_upload_rows(buffer, host, 1, buffer->bytes, buffer->bytes);
}

void buffer_download(const struct buffer *buffer, void *host)
{
    CUDA(cudaMemcpy(host, buffer->first, buffer->bytes, cudaMemcpyDeviceToHost));
}

void buffer_poison(const struct buffer *buffer) { CUDA(cudaMemset(buffer->first, BUFFER_POISON, buffer->bytes)); }

static bool is_poison(const char *zone, size_t bytes)
{
    unsigned char host[ALIGN + GUARD];
    CUDA(cudaMemcpy(host, zone, bytes, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < bytes; i++)
        if (host[i] != BUFFER_POISON)
            return false;
    return true;
}

const char *buffer_overrun(const struct buffer *buffer)
{
    static char where[96];
    if (buffer->guard == 0)
        return NULL;
    if (!is_poison(buffer->memory, buffer->guard)) {
        snprintf(where, sizeof where, "the launch wrote in front of %s", buffer->name);
        return where;
    }
    for (int copy = 0; copy < buffer->copies; copy++) {
        const char *end = (const char *)buffer_copy(buffer, copy) + buffer->bytes;
        if (!is_poison(end, buffer->stride - buffer->bytes)) {
            snprintf(where, sizeof where, "the launch wrote past the end of %s", buffer->name);
            return where;
        }
    }
    return NULL;
}
