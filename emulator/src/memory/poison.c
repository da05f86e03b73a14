/* Fresh global memory holds no zeros but bytes 0xff: a float is then a NaN, an index far out. Large ranges are private
 * mappings of one file of such bytes, over and over, and so cost nothing until they are written. */
#define _GNU_SOURCE
#include "memory/poison.h"
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE ((size_t)1 << 20)
#define CHUNK ((size_t)16 << 20)

static int file = -1;

static bool fill(int descriptor)
{
    char bytes[16384];
    memset(bytes, 0xff, sizeof bytes);
    for (size_t at = 0; at < CHUNK; at += sizeof bytes)
        if (pwrite(descriptor, bytes, sizeof bytes, (off_t)at) != (ssize_t)sizeof bytes)
            return false;
    return true;
}

static int temporary_file(void)
{
    FILE *f = tmpfile();
    return f ? fileno(f) : -1; /* left open to the program's end */
}

static void make_file(void)
{
    int descriptor = memfd_create("simt-fresh-memory", MFD_CLOEXEC);
    if (descriptor < 0)
        descriptor = temporary_file();
    if (descriptor >= 0 && fill(descriptor))
        file = descriptor;
}

/* Returns how many bytes it has mapped: fewer than asked for where the system allows no more mappings. */
static size_t map_chunks(unsigned char *start, size_t bytes)
{
    int flags = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
    for (size_t at = 0; at < bytes; at += CHUNK) {
        size_t piece = bytes - at < CHUNK ? bytes - at : CHUNK;
        if (mmap(start + at, piece, PROT_READ | PROT_WRITE, flags, file, 0) == MAP_FAILED)
            return at;
    }
    return bytes;
}

void poison(unsigned char *start, size_t bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    size_t mapped = 0;
    if (bytes >= LARGE) {
        pthread_once(&once, make_file);
        if (file >= 0)
            mapped = map_chunks(start, bytes);
    }
    memset(start + mapped, 0xff, bytes - mapped);
}
