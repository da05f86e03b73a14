/* What the linker has put into read-only parts of the program: constants of a kernel, texts. */
#define _GNU_SOURCE
#include "memory/constant.h"
#include <link.h>

struct segment {
    uintptr_t address, start, bytes; /* of which the address lies in */
};

static int find_read_only(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct segment *s = arg;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        bool read_only = (ph->p_type == PT_LOAD && !(ph->p_flags & PF_W)) || ph->p_type == PT_GNU_RELRO;
        uintptr_t start = info->dlpi_addr + ph->p_vaddr;
        if (!read_only || s->address - start >= ph->p_memsz)
            continue;
        s->start = start;
        s->bytes = ph->p_memsz;
        return 1;
    }
    return 0;
}

bool memory_is_constant(const void *address)
{
    static __thread struct segment last; /* found before */
    if ((uintptr_t)address - last.start < last.bytes)
        return true;
    struct segment s = {.address = (uintptr_t)address};
    if (!dl_iterate_phdr(find_read_only, &s))
        return false;
    last = s;
    return true;
}
