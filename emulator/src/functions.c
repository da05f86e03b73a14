/* Attributes of kernels: a table of those that a program has set any of. */
#include "functions.h"
#include "device.h"
#include <pthread.h>
#include <stdlib.h>

#define DYNAMIC_LIMIT ((size_t)48 << 10)

struct function {
    const void *address;
    size_t static_bytes, dynamic_limit;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct function *functions;
static size_t n_functions, room;

static struct function *find(const void *address)
{
    for (size_t i = 0; i < n_functions; i++)
        if (functions[i].address == address)
            return &functions[i];
    return NULL;
}

static struct function *find_or_add(const void *address)
{
    struct function *f = find(address);
    if (f)
        return f;
    if (n_functions == room) {
        room = room ? 2 * room : 16;
        functions = realloc(functions, room * sizeof *functions);
    }
    if (!functions) {
        perror("simt: no memory for a list of kernels");
        exit(2);
    }
    f = &functions[n_functions];
    n_functions++;
    *f = (struct function){.address = address, .dynamic_limit = DYNAMIC_LIMIT};
    return f;
}

size_t function_dynamic_limit(const void *function)
{
    pthread_mutex_lock(&lock);
    const struct function *f = find(function);
    size_t limit = f ? f->dynamic_limit : DYNAMIC_LIMIT;
    pthread_mutex_unlock(&lock);
    return limit;
}

void function_has_static(const void *function, size_t bytes)
{
    pthread_mutex_lock(&lock);
    struct function *f = bytes ? find_or_add(function) : NULL;
    if (f && bytes > f->static_bytes)
        f->static_bytes = bytes;
    pthread_mutex_unlock(&lock);
}

static cudaError_t set_dynamic_limit(const void *function, int value)
{
    cudaError_t error = cudaErrorInvalidValue;
    pthread_mutex_lock(&lock);
    struct function *f = find_or_add(function);
    if (value >= 0 && (size_t)value + f->static_bytes <= device_gpu()->shared_optin) {
        f->dynamic_limit = (size_t)value;
        error = cudaSuccess;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

cudaError_t simt_set_attribute(const void *function, enum cudaFuncAttribute attribute, int value)
{
    cudaError_t error = cudaErrorInvalidValue;
    if (!function)
        return simt_fail(cudaErrorInvalidDeviceFunction);
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize)
        error = set_dynamic_limit(function, value);
    else if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout && value >= -1 && value <= 100)
        error = cudaSuccess; /* a hint, which changes no result */
    return simt_fail(error);
}

/* Registers and local memory, which the emulator does not know, are given as none. */
cudaError_t simt_get_attributes(struct cudaFuncAttributes *attributes, const void *function)
{
    const struct gpu *gpu = device_gpu();
    pthread_mutex_lock(&lock);
    const struct function *f = find(function);
    *attributes = (struct cudaFuncAttributes){.sharedSizeBytes = f ? f->static_bytes : 0, .maxThreadsPerBlock = 1024};
    attributes->maxDynamicSharedSizeBytes = (int)(f ? f->dynamic_limit : DYNAMIC_LIMIT);
    attributes->ptxVersion = 10 * gpu->major + gpu->minor;
    attributes->binaryVersion = attributes->ptxVersion;
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}
