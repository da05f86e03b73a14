/* When may the host touch what kernels use? A launch or a copy opens it. */
#ifndef SIMT_PROTECTION_H
#define SIMT_PROTECTION_H

#include "memory/memory.h"

/* Opens global memory to this process while a launch or a copy runs; calls nest, and host threads may call at once. */
void memory_open(void);
void memory_close(void);

/* Managed memory belongs to the kernels from a launch until the host synchronises; what they have touched by atomic
 * operations of system scope alone, the host may go on with. */
static inline void memory_touched(const struct object *managed, bool by_system_atomic)
{
    unsigned char bit = by_system_atomic ? TOUCHED_BY_SYSTEM_ATOMICS : TOUCHED_OTHERWISE;
    if (!(__atomic_load_n(&managed->touched, __ATOMIC_RELAXED) & bit))
        __atomic_fetch_or((unsigned char *)&managed->touched, bit, __ATOMIC_RELAXED);
}
void memory_launched(void);
void memory_synchronised(void);
bool memory_is_synchronised(void);
/* Managed memory that begins there belongs to the host from now on, whatever kernels run; or does so no longer. False: there
 * is none. */
bool memory_attach(const void *pointer, bool to_host);
unsigned long memory_launches(void); /* so far: an event that is older than a launch does not end it */

/* Why may the host not touch that address? *object: the one there or nearest, or NULL. For signal handlers too. */
enum memory_state {
    MEMORY_FINE,             /* it may, or the address is not ours */
    MEMORY_NOT_SYNCHRONISED, /* managed, and kernels may still use it */
    MEMORY_FREED,
    MEMORY_BEYOND,    /* in no allocation */
    MEMORY_OF_KERNELS /* live, but not the host's */
};
enum memory_state memory_host_fault(const void *address, const struct object **object);

/* ---- for the areas, with their lock held ---- */

static inline bool protection_is_guarded(const struct object *o) { return o->managed && !o->attached; }
/* A new range becomes accessible if it is to be, and poisoned, or waits for that until memory is opened. False: it cannot. */
bool protection_prepare(uint32_t index, size_t start, size_t bytes);
void protection_count(const struct object *o, uint32_t change); /* of live objects, by 1 or -1 */
void protection_give_pages_back(const struct object *o);        /* it has been freed */

#endif
