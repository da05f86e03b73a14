/* Tensors and boxes of them: what a tensor map may say, and which bytes a copy of a box moves. */
#include "async/tensor.h"
#include "base/gpu.h"
#include <stdlib.h>

#define STRIDES_END (1ull << 40)
#define MOST_BOX 256
#define MOST_STEP 8
#define UNIT 16 /* bytes: of a swizzle, of a store */

const struct tensor_type tensor_types[] = {
    [CU_TENSOR_MAP_DATA_TYPE_UINT8] = {"u8", 1, false, SIMT_U8},
    [CU_TENSOR_MAP_DATA_TYPE_UINT16] = {"u16", 2, false, SIMT_U16},
    [CU_TENSOR_MAP_DATA_TYPE_UINT32] = {"u32", 4, false, SIMT_U32},
    [CU_TENSOR_MAP_DATA_TYPE_INT32] = {"s32", 4, false, SIMT_I32},
    [CU_TENSOR_MAP_DATA_TYPE_UINT64] = {"u64", 8, false, SIMT_U64},
    [CU_TENSOR_MAP_DATA_TYPE_INT64] = {"s64", 8, false, SIMT_I64},
    [CU_TENSOR_MAP_DATA_TYPE_FLOAT16] = {"f16", 2, true, SIMT_F16},
    [CU_TENSOR_MAP_DATA_TYPE_FLOAT32] = {"f32", 4, true, SIMT_F32},
    [CU_TENSOR_MAP_DATA_TYPE_FLOAT64] = {"f64", 8, true, SIMT_F64},
    [CU_TENSOR_MAP_DATA_TYPE_BFLOAT16] = {"bf16", 2, true, SIMT_BF16},
    [CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ] = {"f32.ftz", 4, true, SIMT_F32},
    [CU_TENSOR_MAP_DATA_TYPE_TFLOAT32] = {"tf32", 4, true, SIMT_F32},
    [CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ] = {"tf32.ftz", 4, true, SIMT_F32},
};

/* ---- what a map may say ---- */

static unsigned swizzle_span(const struct tensor_map *m)
{
    static const unsigned spans[] = {0, 32, 64, 128, 128, 128, 128};
    return spans[m->swizzle];
}

static const char *fault_of_modes(const struct tensor_map *m)
{
    if (m->type >= TENSOR_TYPES)
        return "There is no such type of elements, or it is of 4 or 6 bits, of which the GPU described has none.";
    if (m->interleave > CU_TENSOR_MAP_INTERLEAVE_32B)
        return "There is no such interleave.";
    if (m->swizzle > CU_TENSOR_MAP_SWIZZLE_128B)
        return "There is no such swizzle on the GPU described.";
    if (m->promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B)
        return "There is no such promotion of L2.";
    if (m->fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)
        return "There is no such fill of what lies beyond the edges.";
    if (m->fill && !tensor_types[m->type].floating)
        return "What lies beyond the edges can be NaN only where elements are floating point.";
    if (m->interleave && m->rank < 3)
        return "An interleaved tensor has at least 3 dimensions.";
    return NULL;
}

static const char *fault_of_memory(const struct tensor_map *m)
{
    bool of_32 = m->interleave == CU_TENSOR_MAP_INTERLEAVE_32B;
    unsigned alignment = of_32 ? 32 : 16;
    if ((uintptr_t)m->address % alignment)
        return of_32 ? "A tensor interleaved by 32 bytes begins at a multiple of 32 bytes."
                     : "A tensor begins at a multiple of 16 bytes.";
    for (unsigned i = 0; i < m->rank; i++) {
        if (m->sizes[i] == 0 || m->sizes[i] > TENSOR_MOST_SIZE)
            return "A dimension has 1 to 2^32 elements.";
        if (i + 1u == m->rank)
            continue;
        if (m->strides[i] % alignment)
            return of_32 ? "Strides of a tensor interleaved by 32 bytes are multiples of 32."
                         : "Strides are multiples of 16 bytes.";
        if (m->strides[i] >= STRIDES_END)
            return "Strides are less than 2^40 bytes.";
    }
    return NULL;
}

static unsigned stepped(const struct tensor_map *m, unsigned i) { return (m->box[i] + m->steps[i] - 1u) / m->steps[i]; }

/* As the driver counts, which leaves out neighbours, too. */
static u64 bytes_with_steps(const struct tensor_map *m)
{
    u64 bytes = tensor_types[m->type].bytes;
    for (unsigned i = 0; i < m->rank; i++)
        bytes *= stepped(m, i);
    return bytes;
}

/* Elements that are copied along a dimension: all neighbours. */
static unsigned steps_of(const struct tensor_map *m, unsigned i) { return i == 0 ? m->box[0] : stepped(m, i); }

u64 tensor_box_bytes(const struct tensor_map *m)
{
    u64 bytes = tensor_types[m->type].bytes;
    for (unsigned i = 0; i < m->rank; i++)
        bytes *= steps_of(m, i);
    return bytes;
}

static const char *fault_of_box(const struct tensor_map *m)
{
    unsigned row = m->box[0] * tensor_types[m->type].bytes, span = swizzle_span(m);
    for (unsigned i = 0; i < m->rank; i++) {
        if (m->box[i] == 0 || m->box[i] > MOST_BOX)
            return "A box has 1 to 256 elements in each dimension.";
        if (m->steps[i] == 0 || m->steps[i] > MOST_STEP)
            return "Element strides are 1 to 8.";
    }
    if (row % 16)
        return "The box's first dimension has a multiple of 16 bytes.";
    if (span && row > span && !m->interleave)
        return "The box's first dimension has at most as many bytes as the swizzle's span: 32, 64 or 128.";
    if (bytes_with_steps(m) > gpu_described()->shared_per_sm)
        return "A box has no more bytes than an SM has shared memory, 228 KiB.";
    return NULL;
}

const char *tensor_map_fault(const struct tensor_map *m)
{
    if (m->rank == 0 || m->rank > MOST_RANK)
        return "A tensor has 1 to 5 dimensions.";
    const char *why = fault_of_modes(m);
    if (!why)
        why = fault_of_memory(m);
    return why ? why : fault_of_box(m);
}

/* ---- which bytes a copy moves ---- */

static __thread struct {
    struct piece *pieces;
    unsigned n, capacity;
} list;

/* Neighbours become one piece. */
static void add_piece(unsigned char *to, const unsigned char *from, unsigned bytes)
{
    struct piece *last = list.n ? &list.pieces[list.n - 1] : NULL;
    bool goes_on = last && (to ? last->to && last->to + last->bytes == to : !last->to) &&
                   (from ? last->from && last->from + last->bytes == from : !last->from);
    if (goes_on) {
        last->bytes += bytes;
        return;
    }
    if (list.n == list.capacity) {
        list.capacity = list.capacity ? 2 * list.capacity : 256;
        list.pieces = realloc(list.pieces, list.capacity * sizeof *list.pieces);
        if (!list.pieces)
            base_out_of_memory();
    }
    list.pieces[list.n++] = (struct piece){.to = to, .from = from, .bytes = bytes};
}

struct boxed { /* a copy of a box */
    const struct tensor_map *map;
    enum tensor_way way;
    unsigned char *shared;
    unsigned address;   /* of it in shared memory */
    unsigned exchanged; /* of the address's bits from 4 on, those that a swizzle changes */
};

/* Swizzled, 16 bytes stand where bits 4 to 6 of their address are XORed with bits 7 to 9: of 32 bytes the lowest of these, of
 * 64 the lowest two, of 128 all three. */
static unsigned char *place_in_box(const struct boxed *c, unsigned offset)
{
    unsigned address = c->address + offset;
    return c->shared + ((long)(address ^ (address >> 3 & c->exchanged)) - (long)c->address);
}

/* Elements of a row of the box from `first` to before `end`; element 0 lies at row, which is NULL where they lie beyond the
 * tensor's edge. */
static void add_elements(const struct boxed *c, unsigned row_offset, unsigned char *row, long long first, long long end)
{
    unsigned bytes = tensor_types[c->map->type].bytes;
    unsigned at = (unsigned)first * bytes, stop = (unsigned)end * bytes;
    while (at < stop) {
        unsigned left = stop - at, whole = c->exchanged ? UNIT - (row_offset + at) % UNIT : left;
        unsigned n = whole < left ? whole : left;
        unsigned char *there = row ? row + at : NULL;
        if (c->way == TENSOR_PREFETCH)
            add_piece(NULL, there, n);
        else if (c->way == TENSOR_LOAD)
            add_piece(place_in_box(c, row_offset + at), there, n);
        else
            add_piece(there, place_in_box(c, row_offset + at), n);
        at += n;
    }
}

static long long clamp(long long x, long long least, long long most) { return x < least ? least : x > most ? most : x; }

/* inside: does the row cross the tensor at all? A store writes 16 bytes at a time, and so up to 15 bytes behind the tensor's edge. */
static void add_row(const struct boxed *c, unsigned row_offset, unsigned char *start, bool inside, int corner)
{
    long long n = c->map->box[0], size = (long long)c->map->sizes[0], unit = UNIT / tensor_types[c->map->type].bytes;
    long long first = inside ? clamp(-(long long)corner, 0, n) : n;
    long long end = inside ? clamp(size - corner, first, n) : n;
    unsigned char *row = start + (long long)corner * tensor_types[c->map->type].bytes;
    if (c->way == TENSOR_LOAD)
        add_elements(c, row_offset, NULL, 0, first);
    if (c->way == TENSOR_STORE)
        end = (end + unit - 1) / unit * unit;
    add_elements(c, row_offset, row, first, end);
    if (c->way == TENSOR_LOAD)
        add_elements(c, row_offset, NULL, end, n);
}

/* The next row of the box, as an odometer counts. False: there is none. */
static bool next_row(const struct tensor_map *m, unsigned *at)
{
    for (unsigned i = 1; i < m->rank; i++) {
        at[i]++;
        if (at[i] < steps_of(m, i))
            return true;
        at[i] = 0;
    }
    return false;
}

unsigned tensor_pieces(const struct tensor_map *m, const int *corner, enum tensor_way way, unsigned char *shared,
                       unsigned shared_address, struct piece **pieces)
{
    unsigned span = swizzle_span(m), pitch = span ? span : m->box[0] * tensor_types[m->type].bytes;
    struct boxed c = {.map = m, .way = way, .shared = shared, .address = shared_address};
    unsigned at[MOST_RANK] = {0}, offset = 0;
    bool more = true;
    c.exchanged = span ? span - 16 : 0;
    list.n = 0;
    while (more) {
        unsigned char *row = m->address;
        bool inside = true;
        for (unsigned i = 1; i < m->rank; i++) {
            long long place = corner[i] + (long long)at[i] * m->steps[i];
            inside = inside && place >= 0 && (u64)place < m->sizes[i];
            row += inside ? (u64)place * m->strides[i - 1] : 0;
        }
        add_row(&c, offset, row, inside, corner[0]);
        offset += pitch;
        more = next_row(m, at);
    }
    *pieces = list.pieces;
    return list.n;
}
