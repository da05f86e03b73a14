/* Memory for the runtime's own tables. */
#define _GNU_SOURCE
#include "base.h"
#include <stdlib.h>
#include <sys/mman.h>

void *base_reserve(size_t bytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *memory = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED) {
        base_out_of_memory();
    }
    return memory;
}

void base_release(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes ? bytes : 1);
}

void base_forget(void *memory, size_t bytes) { madvise(memory, bytes, MADV_DONTNEED); }

void base_out_of_memory(void)
{
    perror("simt: no memory for the emulator's tables");
    exit(2);
}

void base_json_string(FILE *f, const char *s)
{
    fputc('"', f);
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            fputc('\\', f);
        fputc(*s, f);
    }
    fputc('"', f);
}
