/* The host's own memory that cudaHostRegister has opened to kernels. */
#include "memory/registered.h"
#include "memory/records.h"
#include <pthread.h>
#include <stdlib.h>

struct registered {
    struct object object;
    struct registered *next;
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct registered *first;

/* The first that shares a byte with these. Called with the lock held. */
static struct registered *overlapping(const void *address, size_t bytes)
{
    uintptr_t start = (uintptr_t)address;
    struct registered *r = first;
    while (r && (start + bytes <= (uintptr_t)r->object.base || (uintptr_t)r->object.base + r->object.bytes <= start))
        r = r->next;
    return r;
}

const struct object *registered_find(const void *address)
{
    if (!__atomic_load_n(&first, __ATOMIC_ACQUIRE))
        return NULL;
    pthread_rwlock_rdlock(&lock);
    const struct registered *r = overlapping(address, 1);
    pthread_rwlock_unlock(&lock);
    return r ? &r->object : NULL;
}

void registered_each(void (*visit)(const struct object *object))
{
    pthread_rwlock_rdlock(&lock);
    for (const struct registered *r = first; r; r = r->next)
        if (r->object.cells)
            visit(&r->object);
    pthread_rwlock_unlock(&lock);
}

cudaError_t registered_add(void *host, size_t bytes, unsigned flags, const void *pc)
{
    cudaError_t error = cudaSuccess;
    pthread_rwlock_wrlock(&lock);
    struct registered *r = NULL;
    if (overlapping(host, bytes))
        error = cudaErrorHostMemoryAlreadyRegistered;
    else if (!(r = calloc(1, sizeof *r)))
        error = cudaErrorMemoryAllocation;
    if (r) {
        r->object = (struct object){.base = host, .bytes = bytes, .unified = true, .host_flags = flags, .made_at = pc};
        r->object.cells = simt_checked ? race_cells(bytes, GLOBAL_READERS) : NULL;
        r->next = first;
        __atomic_store_n(&first, r, __ATOMIC_RELEASE);
    }
    pthread_rwlock_unlock(&lock);
    return error;
}

bool registered_remove(void *host)
{
    pthread_rwlock_wrlock(&lock);
    struct registered **at = &first;
    while (*at && (*at)->object.base != host)
        at = &(*at)->next;
    struct registered *r = *at;
    if (r)
        __atomic_store_n(at, r->next, __ATOMIC_RELEASE);
    pthread_rwlock_unlock(&lock);
    if (!r)
        return false;
    race_cells_free(r->object.cells);
    free(r);
    return true;
}
