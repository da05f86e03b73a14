/* Tensor maps in the memory that kernels see: how a copy reads one, and how a kernel changes one.
 *
 * Copies read maps by a proxy of their own. A change by a kernel is visible to it behind fence.proxy.tensormap::generic, .release by
 * who has changed it and .acquire of that map by who begins the copy, ordered one behind the other. */
#ifndef SIMT_MAP_H
#define SIMT_MAP_H

#include "async/tensor.h"

struct block;

void map_begin_block(struct block *b);

/* Reads the map for a copy that the running thread begins at pc, which names places of that many coordinates. */
void map_read(struct tensor_map *m, const void *address, unsigned coordinates, const void *pc);

enum map_field {
    MAP_ADDRESS,
    MAP_RANK, /* one less than there are dimensions */
    MAP_BOX,
    MAP_SIZE,
    MAP_STRIDE,
    MAP_STEP,
    MAP_TYPE, /* these by the numbers of the PTX ISA */
    MAP_INTERLEAVE,
    MAP_SWIZZLE,
    MAP_FILL
};
/* tensormap.replace; place: of a dimension, or of a stride */
void map_replace(void *address, enum map_field field, unsigned place, u64 value, const void *pc);

void map_release(enum simt_scope scope, const void *pc);
void map_acquire(const void *address, enum simt_scope scope, const void *pc);
/* tensormap.cp_fenceproxy: all lanes of the warp take part; the map is copied, and that released. */
void map_copy(void *to, const void *from, enum simt_scope scope, const void *pc);

#endif
