#define _GNU_SOURCE  // program_invocation_short_name
#include "exit.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void stop(int status, const char *format, ...)
{
    fflush(stdout);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(status);
}

void cuda_check(cudaError_t error, const char *call, const char *file, int line)
{
    if (error != cudaSuccess)
        stop(EXIT_WRONG, "%s:%d: %s failed: %s (%s)", file, line, call, cudaGetErrorString(error),
             cudaGetErrorName(error));
}
