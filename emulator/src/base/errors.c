/* The errors of the runtime API: their names, and the last one of each thread of the host. */
#include "base/errors.h"

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
