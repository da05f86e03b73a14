/* The layouts of fragments, by formulas that are evaluated once for each product that a program uses.
 *
 * mma.sync: PTX ISA, "Warp-level matrix instructions", where for each shape a figure and a formula say it: lane l belongs
 * to group l / 4, a row of A and of the sums and a column of B, and is number l % 4 in it. WMMA leaves its layouts open;
 * from sm_80 on ptxas makes a WMMA product of two products of mma.sync (four for tf32), side by side, and the fragments
 * are theirs. tests/conformance/lanes.cu asks a GPU. m8n32k16 is m32n8k16 with every matrix transposed. */
#include "warp/matrix_layout.h"
#include <pthread.h>
#include <stdlib.h>

#define WMMA_HALVES 16 /* elements of each fragment of half, whatever its shape */
#define WGMMA_M 64
#define WGMMA_MOST_N 256

unsigned element_numbers(enum element_type type)
{
    switch (type) {
    case E_B1: return 32;
    case E_S4:
    case E_U4: return 2;
    default: return 1;
    }
}

/* ---- which products there are ---- */

static bool is_int8(enum element_type t) { return t == E_S8 || t == E_U8; }
static bool is_int4(enum element_type t) { return t == E_S4 || t == E_U4; }
static bool is_fp8(enum element_type t) { return t == E_E4M3 || t == E_E5M2; }
static bool is_sum16(enum element_type t) { return t == E_F16 || t == E_F32; }

static bool has_shape(const struct product *p, unsigned m, unsigned n, unsigned k)
{
    return p->m == m && p->n == n && p->k == k;
}

static bool is_mma(const struct product *p)
{
    bool to_float = p->c == E_F32 && p->d == E_F32;
    bool k8 = has_shape(p, 16, 8, 8), k16 = has_shape(p, 16, 8, 16), k32 = has_shape(p, 16, 8, 32);
    bool to_whole = p->c == E_S32 && p->d == E_S32;
    if (is_int4(p->a))
        return is_int4(p->b) && to_whole && (has_shape(p, 8, 8, 32) || k32 || has_shape(p, 16, 8, 64));
    if (p->a == E_B1)
        return p->b == E_B1 && to_whole &&
               (has_shape(p, 8, 8, 128) || has_shape(p, 16, 8, 128) || has_shape(p, 16, 8, 256));
    if (is_int8(p->a))
        return is_int8(p->b) && to_whole && (has_shape(p, 8, 8, 16) || k16 || k32);
    if (is_fp8(p->a))
        return is_fp8(p->b) && is_sum16(p->c) && p->c == p->d && (k16 || k32);
    if (p->a != p->b)
        return false;
    if (p->a == E_F64)
        return p->c == E_F64 && p->d == E_F64 && (has_shape(p, 8, 8, 4) || has_shape(p, 16, 8, 4) || k8 || k16);
    if (p->a == E_F16)
        return is_sum16(p->c) && p->c == p->d && (k8 || k16);
    if (p->a == E_BF16)
        return to_float && (k8 || k16);
    return p->a == E_TF32 && to_float && (has_shape(p, 16, 8, 4) || k8);
}

static bool is_wmma(const struct product *p)
{
    bool to_float = p->c == E_F32 && p->d == E_F32;
    bool k16 = has_shape(p, 16, 16, 16) || has_shape(p, 32, 8, 16) || has_shape(p, 8, 32, 16);
    bool to_whole = p->c == E_S32 && p->d == E_S32;
    if (p->a != p->b)
        return false;
    if (p->a == E_F64)
        return p->c == E_F64 && p->d == E_F64 && has_shape(p, 8, 8, 4);
    if (is_int4(p->a) || p->a == E_B1)
        return to_whole && has_shape(p, 8, 8, p->a == E_B1 ? 128 : 32);
    if (is_int8(p->a))
        return to_whole && k16;
    if (p->a == E_F16)
        return is_sum16(p->c) && is_sum16(p->d) && k16;
    if (p->a == E_BF16)
        return to_float && k16;
    return p->a == E_TF32 && to_float && has_shape(p, 16, 16, 8);
}

/* Of a warpgroup: A in registers or, with B, in shared memory. k is 32 bytes. */
static bool is_wgmma(const struct product *p)
{
    bool to_float = is_sum16(p->c) && p->c == p->d, to_whole = p->c == E_S32 && p->d == E_S32;
    bool n8 = p->m == WGMMA_M && p->n && p->n <= WGMMA_MOST_N && p->n % 8 == 0;
    bool n16 = n8 && (p->n <= 32 || p->n % 16 == 0);
    if (is_int8(p->a))
        return is_int8(p->b) && to_whole && n16 && p->k == 32;
    if (is_fp8(p->a))
        return is_fp8(p->b) && to_float && n8 && p->k == 32;
    if (p->a != p->b)
        return false;
    if (p->a == E_B1)
        return to_whole && n16 && p->k == 256;
    if (p->a == E_F16)
        return to_float && n8 && p->k == 16;
    to_float &= p->d == E_F32;
    return to_float && n8 && ((p->a == E_BF16 && p->k == 16) || (p->a == E_TF32 && p->k == 8));
}

/* ---- where each element is ---- */

struct position {
    unsigned row, column;
};

/* Of one operand of tiles of mma.sync, as many as m and n hold, of m rows (8, or 16 each), 8 columns and all of k: where
 * is the i-th element of that lane? `packed`: elements in 32 bits. */
static struct position in_a(unsigned m, unsigned k, unsigned packed, unsigned lane, unsigned i)
{
    unsigned group = lane / 4, number = lane % 4;
    unsigned halves = m == 8 ? 1 : 2; /* of a tile, 8 rows each */
    unsigned in_tile = halves * k / (4 * packed);
    unsigned tile = i / packed / in_tile, r = i / packed % in_tile;
    return (struct position){.row = 16 * tile + 8 * (r % halves) + group,
                             .column = 4 * packed * (r / halves) + packed * number + i % packed};
}

static struct position in_b(unsigned k, unsigned packed, unsigned lane, unsigned i)
{
    unsigned in_tile = k / (4 * packed);
    unsigned tile = i / packed / in_tile, r = i / packed % in_tile;
    return (struct position){.row = 4 * packed * r + packed * (lane % 4) + i % packed, .column = 8 * tile + lane / 4};
}

static struct position in_sums(unsigned n, unsigned lane, unsigned i)
{
    unsigned tile = i / 4, row = 8 * (i % 4 / 2) + lane / 4, column = 2 * (lane % 4) + i % 2;
    return n == 8 ? (struct position){16 * tile + row, column} : (struct position){row, 8 * tile + column};
}

static unsigned layout_k(const struct product *p) { return p->k / element_numbers(p->a); }

static struct position position_of(const struct product *p, enum operand which, unsigned lane, unsigned i)
{
    unsigned packed = p->a == E_F64 ? 1 : 32 / element_bits(p->a);
    if (p->family == LAYOUT_WGMMA) { /* each warp has 16 rows, as mma.sync has them */
        struct product of_warp = *p;
        of_warp.family = LAYOUT_MMA, of_warp.m = 16;
        struct position at = position_of(&of_warp, which, lane % WARP, i);
        return (struct position){lane / WARP * 16 + at.row, at.column};
    }
    if (p->family == LAYOUT_WMMA && has_shape(p, 8, 32, p->k)) {
        struct product transposed = *p;
        transposed.m = 32, transposed.n = 8;
        enum operand of = which == OPERAND_A ? OPERAND_B : which == OPERAND_B ? OPERAND_A : which;
        struct position at = position_of(&transposed, of, lane, i);
        return (struct position){at.column, at.row};
    }
    switch (which) {
    case OPERAND_A: return in_a(p->m, layout_k(p), packed, lane, i);
    case OPERAND_B: return in_b(layout_k(p), packed, lane, i);
    case OPERAND_C:
    case OPERAND_D: break;
    }
    return in_sums(p->n, lane, i);
}

static void *need(void *memory)
{
    if (!memory)
        base_out_of_memory();
    return memory;
}

static void build(const struct product *p, enum operand which, struct layout *l)
{
    bool sums = which == OPERAND_C || which == OPERAND_D;
    const enum element_type types[] = {p->a, p->b, p->c, p->d};
    l->type = types[which];
    l->rows = which == OPERAND_B ? layout_k(p) : p->m;
    l->columns = which == OPERAND_A ? layout_k(p) : p->n;
    l->lanes = p->family == LAYOUT_WGMMA ? 4 * WARP : WARP;
    /* wgmma has B in shared memory alone */
    l->distinct = p->family == LAYOUT_WGMMA && which == OPERAND_B ? 0 : l->rows * l->columns / l->lanes;
    /* mma.h and PTX give every WMMA fragment of half 16 elements, as sm_70 needed; bf16 came later. */
    l->elements = p->family == LAYOUT_WMMA && l->type == E_F16 && !sums ? WMMA_HALVES : l->distinct;
    l->at = need(calloc(l->lanes * l->distinct, sizeof *l->at));
    l->row = need(calloc(l->lanes * l->distinct, sizeof *l->row));
    l->column = need(calloc(l->lanes * l->distinct, sizeof *l->column));
    for (unsigned lane = 0; lane < l->lanes; lane++)
        for (unsigned i = 0; i < l->distinct; i++) {
            struct position at = position_of(p, which, lane, i);
            l->at[lane * l->distinct + i] = (uint16_t)(at.row * l->columns + at.column);
            l->row[lane * l->distinct + i] = (uint8_t)at.row;
            l->column[lane * l->distinct + i] = (uint8_t)at.column;
        }
}

/* ---- those in use ---- */

static struct known {
    struct product_layouts layouts;
    struct known *next;
} *known;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool same(const struct product *p, const struct product *q)
{
    return p->family == q->family && has_shape(p, q->m, q->n, q->k) && p->a == q->a && p->b == q->b && p->c == q->c &&
           p->d == q->d;
}

static const struct product_layouts *find(const struct product *p)
{
    for (const struct known *k = __atomic_load_n(&known, __ATOMIC_ACQUIRE); k; k = k->next)
        if (same(&k->layouts.product, p))
            return &k->layouts;
    return NULL;
}

static const struct product_layouts *make(const struct product *p)
{
    struct known *k = need(malloc(sizeof *k));
    k->layouts.product = *p;
    for (enum operand which = OPERAND_A; which <= OPERAND_D; which++)
        build(p, which, &k->layouts.operands[which]);
    k->next = known;
    __atomic_store_n(&known, k, __ATOMIC_RELEASE);
    return &k->layouts;
}

static bool is_offered(const struct product *p)
{
    switch (p->family) {
    case LAYOUT_MMA: return is_mma(p);
    case LAYOUT_WMMA: return is_wmma(p);
    case LAYOUT_WGMMA: return is_wgmma(p);
    }
    return false;
}

const struct product_layouts *matrix_layouts(const struct product *p)
{
    const struct product_layouts *found = find(p);
    if (found || !is_offered(p))
        return found;
    pthread_mutex_lock(&lock);
    found = find(p);
    if (!found)
        found = make(p);
    pthread_mutex_unlock(&lock);
    return found;
}

unsigned matrix_registers(const struct product *p, enum operand which)
{
    const struct product_layouts *layouts = matrix_layouts(p);
    return layouts ? layout_registers(&layouts->operands[which]) : 0;
}
