#include "output.h"

#include "exit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The file that a variable of the environment names, opened by the first call; NULL: there is no such variable.
static FILE *file_of(const char *variable, const char *mode, FILE **file)
{
    const char *name = getenv(variable);
    if (name && !*file && !(*file = fopen(name, mode)))
        stop(EXIT_USAGE, "%s=%s: %s", variable, name, strerror(errno));
    return *file;
}

void output_exchange(void *data, size_t bytes)
{
    static FILE *written, *read;
    if (file_of("FLASH_STEPS_WRITE_OUTPUT", "wb", &written) &&
        (fwrite(data, 1, bytes, written) != bytes || fflush(written) != 0))
        stop(EXIT_USAGE, "the output cannot be written: %s", strerror(errno));
    if (file_of("FLASH_STEPS_CHECK_OUTPUT", "rb", &read)) {
        size_t found = fread(data, 1, bytes, read);
        memset((char *)data + found, 0xff, bytes - found);
    }
}
