/* Tensor maps in the memory that kernels see. */
#include "async/map.h"
#include "base/report.h"
#include "block/launch.h"
#include "order/access.h"
#include "order/atomic.h"
#include "warp/collective.h"
#include <stdlib.h>
#include <string.h>

#define MAP_PLACE sizeof(CUtensorMap)
#define MAP_ALIGNMENT 64
#define MOST_FENCES 128

/* ---- the fences of a block ---- */

struct acquired { /* by lanes of a warp, as long as that stood there */
    const void *map;
    u64 contents;
    unsigned warp;
    uint32_t lanes;
    uint32_t stamp; /* of the first */
};

struct map_fences {
    unsigned n; /* more than there is place for: some are forgotten */
    struct acquired acquired[MOST_FENCES];
    bool released;
    uint32_t released_then; /* the last one */
};

void map_begin_block(struct block *b)
{
    if (b->map_fences)
        *b->map_fences = (struct map_fences){0};
}

static struct map_fences *fences_of(struct block *b)
{
    if (!b->map_fences)
        b->map_fences = base_reserve(sizeof *b->map_fences);
    return b->map_fences;
}

static u64 contents_of(const void *map)
{
    u64 words[MAP_PLACE / sizeof(u64)], hash = 14695981039346656037ull;
    memcpy(words, map, sizeof words);
    for (unsigned i = 0; i < MAP_PLACE / sizeof(u64); i++) {
        hash = (hash ^ words[i]) * 1099511628211ull;
        hash ^= hash >> 32;
    }
    return hash;
}

static void note_release(struct block *b)
{
    struct map_fences *f = fences_of(b);
    f->released = true;
    f->released_then = b->now;
    __atomic_store_n(&b->launch->releases_maps, true, __ATOMIC_RELAXED);
}

void map_release(enum simt_scope scope, const void *pc)
{
    note_release(running());
    fence_do(scope, false, pc);
}

/* ---- where a map lies ---- */

/* A parameter lies as its type asks for. */
static struct place place_of_map(const struct access *a)
{
    struct place p = place_of(a->block, a->address, 1);
    if (p.space != SPACE_PARAMETERS && (uintptr_t)a->address % MAP_ALIGNMENT)
        report_access(a, "misaligned access", "A tensor map lies at a multiple of 64 bytes.");
    return p;
}

static const char not_a_map[] = "invalid tensor map";

static void check_space(const struct access *a, const struct place *p)
{
    if (p->space == SPACE_SHARED)
        report_access(a, "wrong memory space", "A copy cannot read its tensor map from shared memory.");
    if (p->space == SPACE_LOCAL)
        report_access(
            a, not_a_map,
            "A copy cannot read its tensor map from a thread's own memory, where variables are and parameters "
            "that are not const __grid_constant__.");
}

/* ---- was it changed by this launch, and fenced since? ---- */

struct change {
    struct actor who;
    uint32_t stamp;
};

/* The last one of the map's words, as far as they are of one block. */
static bool last_change(const struct access *a, const struct place *p, struct change *last)
{
    bool found = false;
    for (size_t at = 0; at < MAP_PLACE; at += 4) {
        struct place word = *p;
        struct change c;
        word.offset += at;
        if (!race_last_writer(a->block, &word, &c.who))
            continue;
        c.stamp = race_last_stamp(a->block, &word);
        if (!found || (c.who.serial == last->who.serial && c.stamp > last->stamp))
            *last = c;
        found = true;
    }
    return found;
}

static bool is_released(const struct block *b, const struct change *c)
{
    const struct map_fences *f = b->map_fences;
    if (c->who.serial != b->serial)
        return __atomic_load_n(&b->launch->releases_maps, __ATOMIC_RELAXED);
    return f && f->released && f->released_then >= c->stamp;
}

/* The fence by that warp of that map; a new one if there is none. */
static struct acquired *acquired_by(struct map_fences *f, const void *map, unsigned warp)
{
    unsigned i = 0;
    while (i < f->n && i < MOST_FENCES && (f->acquired[i].map != map || f->acquired[i].warp != warp))
        i++;
    if (i < f->n && i < MOST_FENCES)
        return &f->acquired[i];
    struct acquired *added = &f->acquired[f->n++ % MOST_FENCES];
    *added = (struct acquired){.map = map, .warp = warp};
    return added;
}

static bool happened_before(const struct access *a, const struct acquired *fence)
{
    if (fence->warp == a->thread / WARP && fence->lanes >> a->thread % WARP & 1)
        return true;
    for (unsigned lane = 0; lane < WARP; lane++)
        if (fence->lanes >> lane & 1 &&
            order_before(a->block, a->thread, a->block->serial, fence->warp * WARP + lane, fence->stamp))
            return true;
    return false;
}

/* NULL: it is fenced, or fences are forgotten. */
static const char *missing_fence(const struct access *a, const struct change *c)
{
    const struct map_fences *f = a->block->map_fences;
    bool acquired = false, stands = false;
    for (unsigned i = 0; f && i < f->n && i < MOST_FENCES && !stands; i++) {
        const struct acquired *fence = &f->acquired[i];
        bool counts = fence->map == a->address && happened_before(a, fence);
        acquired = acquired || counts;
        stands = counts && fence->contents == contents_of(a->address);
    }
    if (stands ? is_released(a->block, c) : f && f->n > MOST_FENCES)
        return NULL;
    if (stands)
        return "Copies read maps by a proxy of their own: behind the change, fence.proxy.tensormap::generic.release is missing, "
               "or tensormap.cp_fenceproxy, which is both.";
    if (acquired)
        return "The map was changed behind the last fence.proxy.tensormap::generic.acquire of it.";
    return "Copies read maps by a proxy of their own: in front of the copy, fence.proxy.tensormap::generic.acquire of this "
           "map is missing.";
}

static void check_fences(const struct access *a, const struct place *p)
{
    struct change change;
    if (p->space != SPACE_GLOBAL || !p->object || !p->object->cells || !last_change(a, p, &change))
        return;
    const char *why = missing_fence(a, &change);
    if (why)
        report_meeting(a, "stale tensor map", &change.who, "wrote to the map", why);
}

void map_acquire(const void *address, enum simt_scope scope, const void *pc)
{
    struct block *b = running();
    struct access a = access_of(b, pc, address, MAP_PLACE, ACCESS_LOAD);
    struct map_fences *f = fences_of(b);
    place_of_map(&a);
    fence_do(scope, false, pc);
    struct acquired *fence = acquired_by(f, address, b->cur / WARP);
    u64 contents = contents_of(address);
    if (!fence->lanes || fence->contents != contents)
        *fence = (struct acquired){.map = address, .contents = contents, .warp = b->cur / WARP, .stamp = b->now};
    fence->lanes |= 1u << b->cur % WARP;
}

/* ---- reading ---- */

static void check_map(const struct tensor_map *m, unsigned coordinates, const void *pc)
{
    char did[96];
    snprintf(did, sizeof did, "begins a copy of a place of %u coordinates by a map of %u dimensions", coordinates,
             m->rank);
    if (m->mark != MAP_MARK)
        report_call(not_a_map, pc, "begins a copy of a tensor",
                    "What stands there was not made by cuTensorMapEncodeTiled().");
    const char *why = tensor_map_fault(m);
    if (why)
        report_call(not_a_map, pc, "begins a copy by a tensor map that was changed", why);
    if (m->rank != coordinates)
        report_call("wrong rank", pc, did, "A tensor copy names as many coordinates as its map has.");
    if (m->interleave)
        report_unsupported_at("interleaved tensors", pc);
}

void map_read(struct tensor_map *m, const void *address, unsigned coordinates, const void *pc)
{
    struct access a = access_of(running(), pc, address, MAP_PLACE, ACCESS_LOAD);
    struct place p = place_of_map(&a);
    if (simt_checked) {
        check_space(&a, &p);
        access_touch(&a);
        check_fences(&a, &p);
    }
    memcpy(m, address, sizeof *m);
    check_map(m, coordinates, pc);
}

/* ---- changing ---- */

static unsigned char type_of(u64 number)
{
    static const unsigned char types[] = {
        CU_TENSOR_MAP_DATA_TYPE_UINT8,       CU_TENSOR_MAP_DATA_TYPE_UINT16,   CU_TENSOR_MAP_DATA_TYPE_UINT32,
        CU_TENSOR_MAP_DATA_TYPE_INT32,       CU_TENSOR_MAP_DATA_TYPE_UINT64,   CU_TENSOR_MAP_DATA_TYPE_INT64,
        CU_TENSOR_MAP_DATA_TYPE_FLOAT16,     CU_TENSOR_MAP_DATA_TYPE_FLOAT32,  CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
        CU_TENSOR_MAP_DATA_TYPE_FLOAT64,     CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
        CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ};
    return number < sizeof types ? types[number] : UINT8_MAX;
}

/* What a field cannot hold is no number that it may have, and found when a copy reads the map. */
static unsigned char small(u64 value) { return value < UINT8_MAX ? (unsigned char)value : UINT8_MAX; }

static void set_field(struct tensor_map *m, enum map_field field, unsigned place, u64 value)
{
    switch (field) {
    case MAP_ADDRESS: m->address = (unsigned char *)(uintptr_t)value; break;
    case MAP_RANK: m->rank = small(value + 1); break;
    case MAP_BOX: m->box[place] = (uint32_t)value; break;
    case MAP_SIZE: m->sizes[place] = value; break;
    case MAP_STRIDE: m->strides[place] = value; break;
    case MAP_STEP: m->steps[place] = small(value); break;
    case MAP_TYPE: m->type = type_of(value); break;
    case MAP_INTERLEAVE: m->interleave = small(value); break;
    case MAP_SWIZZLE: m->swizzle = small(value); break;
    case MAP_FILL: m->fill = small(value); break;
    }
}

/* It is a load and a store of the whole map. */
void map_replace(void *address, enum map_field field, unsigned place, u64 value, const void *pc)
{
    struct access a = access_of(running(), pc, address, MAP_PLACE, ACCESS_LOAD);
    struct tensor_map m;
    place_of_map(&a);
    if (simt_checked) {
        access_touch(&a);
        a.kind = ACCESS_STORE;
        access_touch(&a);
    }
    memcpy(&m, address, sizeof m);
    if (m.mark != MAP_MARK)
        report_call(not_a_map, pc, "changes a tensor map",
                    "What stands there was not made by cuTensorMapEncodeTiled().");
    set_field(&m, field, place, value);
    memcpy(address, &m, sizeof m);
}

struct map_move { /* what a lane comes with */
    void *to;
    const void *from;
    enum simt_scope scope;
    const void *pc;
};

/* In the name of the lowest lane. */
static void move_map(const struct exchange *x)
{
    const struct map_move *first = collective_payload(x, 0);
    for (unsigned lane = 1; lane < WARP; lane++) {
        const struct map_move *other = collective_payload(x, lane);
        if (other->to != first->to || other->from != first->from)
            report_call_of(x->b, x->warp * WARP + lane, "divergent collective", other->pc,
                           "is in tensormap.cp_fenceproxy with other addresses than the first lane of its warp",
                           "All lanes of a warp name the same maps.");
    }
    struct access a = access_of(x->b, first->pc, first->from, MAP_PLACE, ACCESS_LOAD);
    a.thread = x->warp * WARP;
    place_of_map(&a);
    if (simt_checked)
        access_touch(&a);
    a.address = first->to;
    a.kind = ACCESS_STORE;
    place_of_map(&a);
    if (simt_checked)
        access_touch(&a);
    memcpy(first->to, first->from, MAP_PLACE);
    race_judge(x->b);
}

void map_copy(void *to, const void *from, enum simt_scope scope, const void *pc)
{
    static const struct collective_op op = {COLLECTIVE("tensormap.cp_fenceproxy"), .event = EVENTS, .orders = true,
                                            .whole = true, .exchange = move_map};
    struct map_move m = {to, from, scope, pc};
    collective_join(&op, ~0u, &m, pc);
    map_release(scope, pc);
}
