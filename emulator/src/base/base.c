/* What all rooms share: whether the program has hooks, memory for the runtime's own tables. */
#define _GNU_SOURCE
#include "base/base.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

bool simt_checked;

/* What is reserved, for base_is_reserved(); more than that is not remembered. */
#define MOST_RESERVED 4096
static struct {
    unsigned char *start;
    size_t bytes;
} reserved[MOST_RESERVED];
static unsigned n_reserved;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void remember(void *memory, size_t bytes)
{
    pthread_mutex_lock(&lock);
    if (n_reserved < MOST_RESERVED) {
        reserved[n_reserved].start = memory;
        reserved[n_reserved++].bytes = bytes;
    }
    pthread_mutex_unlock(&lock);
}

static void forget(const void *memory)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < n_reserved; i++)
        if (reserved[i].start == memory)
            reserved[i--] = reserved[--n_reserved];
    pthread_mutex_unlock(&lock);
}

bool base_is_reserved(const void *address)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < n_reserved; i++)
        found |= (size_t)((const unsigned char *)address - reserved[i].start) < reserved[i].bytes;
    pthread_mutex_unlock(&lock);
    return found;
}

void *base_reserve(size_t bytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *memory = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED) {
        base_out_of_memory();
    }
    remember(memory, bytes);
    return memory;
}

void base_release(void *memory, size_t bytes)
{
    if (!memory)
        return;
    forget(memory);
    munmap(memory, bytes ? bytes : 1);
}

/* All at once, where the kernel can (Linux 5.14), and not page by page as they are read and then written. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
void base_populate(void *memory, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)memory & ~(page - 1);
    madvise((void *)first, (uintptr_t)memory + bytes - first, MADV_POPULATE_WRITE);
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
