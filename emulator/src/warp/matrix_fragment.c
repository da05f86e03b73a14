/* wmma.load and wmma.store: fragments between memory and the registers of a warp.
 *
 * Checked and counted are the accesses that ptxas makes of them for sm_80 and later (tests/conformance/wmma_sass.cu shows
 * which). Where a register's elements are neighbours in memory, they are one access of 4 bytes, and two sums of 32 bits are
 * one of 8. Where they are not, elements of 16 bits are moved as pairs all the same, by other lanes, and exchanged between
 * lanes (MOVM); others one by one. Inputs of half or of 8 bits in shared memory are read by ldmatrix where it can. */
#include "warp/matrix_fragment.h"
#include "base/report.h"
#include "block/worker.h"
#include "memory/place.h"
#include "order/access.h"
#include "warp/collective.h"
#include "warp/matrix_layout.h"
#include "warp/matrix_touch.h"
#include <string.h>

struct fragment { /* what a lane comes with */
    const struct layout *layout;
    bool sums, column_major;
    unsigned char *first;
    unsigned stride; /* in elements of the layout */
    bool uneven;     /* or would be, if it were a whole number of them */
    uint32_t *registers;
    const void *pc;
};

/* ---- how it is cut into accesses ---- */

struct piece { /* of one access: so many elements, neighbours in memory, from that one on */
    unsigned lane, row, column, elements;
};

static unsigned element_bytes(const struct fragment *f) { return element_bits(f->layout->type) / 8; }

/* Are a lane's first two elements neighbours in memory? */
static bool runs_along(const struct fragment *f)
{
    bool in_a_row = layout_at(f->layout, 0, 1) == layout_at(f->layout, 0, 0) + 1;
    return in_a_row != f->column_major;
}

static bool by_ldmatrix(const struct exchange *x, const struct fragment *f)
{
    enum element_type type = f->layout->type;
    bool of_bytes = (type == E_S8 || type == E_U8) && runs_along(f);
    return !f->sums && (type == E_F16 || of_bytes) && place_of(x->b, f->first, 1).space == SPACE_SHARED;
}

/* That begins with the i-th element of the lane; or, where 16-bit elements are exchanged, with the one that stands for it
 * in its 8 × 8 matrix transposed. */
static struct piece piece_at(const struct fragment *f, unsigned lane, unsigned i)
{
    unsigned at = lane * f->layout->distinct + i, row = f->layout->row[at], column = f->layout->column[at];
    if (element_bytes(f) == 2 && !runs_along(f))
        return (struct piece){.lane = lane, .row = row / 8 * 8 + column % 8, .column = column / 8 * 8 + row % 8};
    return (struct piece){.lane = lane, .row = row, .column = column};
}

static unsigned elements_in_piece(const struct fragment *f)
{
    switch (element_bytes(f)) {
    case 1: return runs_along(f) ? 4 : 1;
    case 2: return 2;
    }
    return f->sums && runs_along(f) ? 2 : 1;
}

#define MOST_PIECES MOST_OF_WARP

static unsigned cut(const struct fragment *f, struct piece *pieces)
{
    unsigned n = 0, elements = elements_in_piece(f);
    for (unsigned i = 0; i < f->layout->distinct; i += elements)
        for (unsigned lane = 0; lane < WARP; lane++) {
            pieces[n] = piece_at(f, lane, i);
            pieces[n++].elements = elements;
        }
    return n;
}

/* The rows that ldmatrix reads, one matrix for each register: row r of a matrix is that of which lane 4r holds the first
 * elements. One ldmatrix reads up to four matrices of half, or two of bytes. */
static unsigned cut_rows(const struct fragment *f, struct piece *pieces)
{
    unsigned n = 0, elements = ROW_BYTES / element_bytes(f), packed = 4 / element_bytes(f);
    unsigned at_once = element_bytes(f) == 2 ? 4 : 2;
    for (unsigned matrix = 0; matrix < f->layout->distinct / packed; matrix++)
        for (unsigned row = 0; row < 8; row++) {
            pieces[n] = piece_at(f, 4 * row, matrix * packed);
            pieces[n].lane = matrix % at_once * 8 + row;
            pieces[n++].elements = elements;
        }
    return n;
}

/* Which element from the first one on, in memory? */
static size_t place_in_memory(const struct fragment *f, unsigned row, unsigned column)
{
    return f->column_major ? (size_t)column * f->stride + row : (size_t)row * f->stride + column;
}

static struct lane_touch touch_of(const struct fragment *f, const struct piece *p)
{
    return (struct lane_touch){.lane = p->lane,
                               .address = f->first + place_in_memory(f, p->row, p->column) * element_bytes(f),
                               .bytes = p->elements * element_bytes(f),
                               .pc = f->pc};
}

/* ---- what the guide asks of a call ---- */

#define FRAGMENT_ALIGNMENT 32
#define RULES "WMMA (CUDA C++ Programming Guide): "

static void check_call(const struct exchange *x, enum access_kind kind)
{
    const struct fragment *f = collective_payload(x, 0);
    char did[96];
    struct access a = access_of(x->b, f->pc, f->first, FRAGMENT_ALIGNMENT, kind);
    if (!simt_checked)
        return;
    a.thread = x->warp * WARP;
    for (unsigned lane = 1; lane < WARP; lane++) {
        const struct fragment *other = collective_payload(x, lane);
        if (other->first != f->first || other->stride != f->stride)
            report_call_of(x->b, a.thread, "divergent collective", f->pc,
                           "moves a fragment whose place is another in other lanes",
                           RULES "the pointer and the stride must be the same in all lanes of a warp.");
    }
    bool counts = element_bytes(f) > 1 || element_numbers(f->layout->type) > 1;
    if (f->uneven || (counts && f->stride * element_bytes(f) % 16)) {
        snprintf(did, sizeof did, "moves a fragment with a stride of %u elements of %u bytes", f->stride,
                 element_bytes(f));
        report_call_of(x->b, a.thread, "invalid stride", f->pc, did,
                       RULES "the stride is a multiple of 16 bytes: of 8 elements of 16 bits, or 4 of 32.");
    }
    if ((uintptr_t)f->first % FRAGMENT_ALIGNMENT)
        report_access(&a, "misaligned access", "");
}

/* ---- matrices of packed elements, row by row ---- */

static inline void copy_element(unsigned bytes, void *to, size_t at, const void *from, size_t from_at)
{
    char *t = (char *)to + at * bytes;
    const char *s = (const char *)from + from_at * bytes;
    switch (bytes) { /* known to the compiler, a copy is one move */
    case 1: memcpy(t, s, 1); break;
    case 2: memcpy(t, s, 2); break;
    case 4: memcpy(t, s, 4); break;
    case 8: memcpy(t, s, 8); break;
    }
}

/* Where the i-th element of a piece stands in the matrix. */
static unsigned index_in(const struct fragment *f, const struct piece *p, unsigned i)
{
    return f->column_major ? (p->row + i) * f->layout->columns + p->column
                           : p->row * f->layout->columns + p->column + i;
}

static void check_loads(const struct exchange *x, const struct fragment *f)
{
    struct piece pieces[MOST_PIECES];
    bool rows = by_ldmatrix(x, f);
    check_call(x, ACCESS_FRAGMENT_LOAD);
    unsigned n = rows ? cut_rows(f, pieces) : cut(f, pieces);
    for (unsigned i = 0; i < n; i++) {
        struct lane_touch t = touch_of(f, &pieces[i]);
        touch_check(x, &t, rows ? ACCESS_MATRIX_LOAD : ACCESS_FRAGMENT_LOAD);
    }
}

static void load_fragment(const struct exchange *x)
{
    const struct fragment *f = collective_payload(x, 0);
    const struct layout *l = f->layout;
    unsigned bytes = element_bytes(f);
    if (simt_checked)
        check_loads(x, f);
    for (unsigned lane = 0; lane < WARP; lane++) {
        uint32_t *registers = ((struct fragment *)collective_payload(x, lane))->registers;
        unsigned first = lane * l->distinct;
        for (unsigned i = 0; i < l->distinct; i++)
            copy_element(bytes, registers, i, f->first, place_in_memory(f, l->row[first + i], l->column[first + i]));
        for (unsigned i = l->distinct; i < l->elements; i++)
            copy_element(bytes, registers, i, registers, i - l->distinct);
    }
}

static void store_fragment(const struct exchange *x)
{
    const struct fragment *f = collective_payload(x, 0);
    const struct layout *l = f->layout;
    struct piece pieces[MOST_PIECES];
    uint32_t matrix[MOST_OF_WARP];
    unsigned bytes = element_bytes(f);
    check_call(x, ACCESS_STORE);
    for (unsigned lane = 0; lane < WARP; lane++)
        for (unsigned i = 0; i < l->elements; i++)
            copy_element(bytes, matrix, layout_at(l, lane, i),
                         ((struct fragment *)collective_payload(x, lane))->registers, i);
    unsigned n = cut(f, pieces);
    for (unsigned i = 0; i < n; i++) {
        unsigned char value[ROW_BYTES];
        struct lane_touch t = touch_of(f, &pieces[i]);
        for (unsigned e = 0; e < pieces[i].elements; e++)
            copy_element(bytes, value, e, matrix, index_in(f, &pieces[i], e));
        touch_store(x, &t, ACCESS_STORE, value);
    }
}

/* ---- as the program calls them ---- */

static const struct collective_op load_op = {COLLECTIVE("wmma::load_matrix_sync"), .event = EVENTS, .whole = true,
                                             .exchange = load_fragment};
static const struct collective_op store_op = {COLLECTIVE("wmma::store_matrix_sync"), .event = EVENTS, .whole = true,
                                              .exchange = store_fragment};

void matrix_load_fragment(const struct product *p, enum operand which, bool column_major, const void *first,
                          unsigned stride, uint32_t *registers, const void *pc)
{
    const struct layout *layout = &matrix_layouts(p)->operands[which];
    struct fragment f = {.layout = layout,
                         .sums = which == OPERAND_C || which == OPERAND_D,
                         .column_major = column_major,
                         .first = (unsigned char *)(uintptr_t)first,
                         .stride = stride / element_numbers(layout->type),
                         .uneven = stride % element_numbers(layout->type),
                         .registers = registers,
                         .pc = pc};
    collective_join(&load_op, ~0u, &f, pc);
}

void matrix_store_fragment(const struct product *p, bool column_major, void *first, unsigned stride,
                           const uint32_t *registers, const void *pc)
{
    struct fragment f = {.layout = &matrix_layouts(p)->operands[OPERAND_D],
                         .sums = true,
                         .column_major = column_major,
                         .first = first,
                         .stride = stride,
                         .registers = (uint32_t *)(uintptr_t)registers,
                         .pc = pc};
    collective_join(&store_op, ~0u, &f, pc);
}

void simt_wmma_load(const struct product *p, enum operand which, bool column_major, const void *first, unsigned stride,
                    void *fragment)
{
    matrix_load_fragment(p, which, column_major, first, stride, fragment, CALLER());
}

void simt_wmma_store(const struct product *p, bool column_major, void *first, unsigned stride, const void *fragment)
{
    matrix_store_fragment(p, column_major, first, stride, fragment, CALLER());
}
