/* In which space an address lies, and in which object of it. */
#include "memory/place.h"
#include "block/block.h"
#include "block/fiber.h"
#include "block/launch.h"
#include "memory/constant.h"
#include "memory/memory.h"
#include "memory/registered.h"
#include "memory/shared.h"
#include "memory/symbols.h"

static bool within(const void *address, const void *start, size_t bytes)
{
    return (size_t)((const unsigned char *)address - (const unsigned char *)start) < bytes;
}

static struct place in_object(enum space space, const struct object *o, const void *address)
{
    size_t offset = o ? (size_t)((const unsigned char *)address - o->base) : 0;
    return (struct place){.space = space, .object = o, .offset = offset};
}

struct place place_of(struct block *b, const void *address, unsigned bytes)
{
    struct block *owner = shared_owner(b, address);
    if (owner)
        return in_object(SPACE_SHARED, shared_find(owner, shared_offset(b, address), bytes), address);
    const struct object *o = memory_find(address);
    if (o || memory_covers(address))
        return in_object(SPACE_GLOBAL, o, address);
    if (fiber_is_stack(address))
        return (struct place){.space = SPACE_LOCAL};
    if (within(address, b->launch->params, b->launch->params_bytes) ||
        within(address, simt_block_dim, sizeof simt_block_dim) || within(address, simt_grid_dim, sizeof simt_grid_dim))
        return (struct place){.space = SPACE_PARAMETERS};
    const struct object *variable = symbol_find(address);
    if (variable)
        return in_object(variable->symbol->kind == SIMT_CONSTANT ? SPACE_CONSTANT : SPACE_GLOBAL, variable, address);
    if (symbol_nearest(address))
        return (struct place){.space = SPACE_GLOBAL};
    if (memory_is_constant(address))
        return (struct place){.space = SPACE_CONSTANT};
    const struct object *registered = registered_find(address);
    if (registered)
        return in_object(SPACE_GLOBAL, registered, address);
    return (struct place){.space = SPACE_NOWHERE};
}
