// How a step's program ends: the statuses, and the two ways to stop before the end.
#ifndef EXIT_H
#define EXIT_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    EXIT_RIGHT = 0,
    EXIT_WRONG = 1,        // a wrong result, or a CUDA call that failed
    EXIT_USAGE = 2,        // what was asked for cannot be done; the message says what can
    EXIT_CANNOT_RUN = 77,  // this machine cannot run it; CTest counts that as skipped
};

// Says why on stderr and exits.
void stop(int status, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));

// Around every CUDA call. A failed one is reported with the call, the place and CUDA's message.
#define CUDA(call) cuda_check((call), #call, __FILE__, __LINE__)
void cuda_check(cudaError_t error, const char *call, const char *file, int line);

#ifdef __cplusplus
}
#endif
#endif
