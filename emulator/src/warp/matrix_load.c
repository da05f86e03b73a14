/* ldmatrix and stmatrix: rows of 8 × 8 matrices, between shared memory and the registers of a warp; movmatrix: one of them
 * between registers. */
#include "warp/matrix_load.h"
#include "warp/collective.h"
#include "warp/matrix_touch.h"

struct rows { /* what a lane comes with */
    unsigned n;
    bool transposed;
    void *row;
    uint32_t *registers;
    const void *pc;
};

typedef uint16_t matrix8[8][8];

/* The two elements that a lane holds of a matrix: in row lane / 4 columns 2 (lane % 4) and the next; of a transposed one, in
 * that column those rows (PTX ISA, "ldmatrix"). */
static uint16_t *element(matrix8 m, bool transposed, unsigned lane, unsigned i)
{
    unsigned row = lane / 4, column = 2 * (lane % 4) + i;
    return transposed ? &m[column][row] : &m[row][column];
}

static struct lane_touch touch_of(const struct rows *r, unsigned lane)
{
    return (struct lane_touch){.lane = lane, .address = r->row, .bytes = ROW_BYTES, .pc = r->pc};
}

static void load_rows(const struct exchange *x)
{
    matrix8 matrices[4];
    const struct rows *first = collective_payload(x, 0);
    for (unsigned lane = 0; lane < 8 * first->n; lane++) {
        struct lane_touch t = touch_of(collective_payload(x, lane), lane);
        touch_load(x, &t, ACCESS_MATRIX_LOAD, matrices[lane / 8][lane % 8]);
    }
    for (unsigned lane = 0; lane < WARP; lane++) {
        uint32_t *registers = ((struct rows *)collective_payload(x, lane))->registers;
        for (unsigned i = 0; i < first->n; i++)
            registers[i] = *element(matrices[i], first->transposed, lane, 0) |
                           (uint32_t)*element(matrices[i], first->transposed, lane, 1) << 16;
    }
}

static void store_rows(const struct exchange *x)
{
    matrix8 matrices[4];
    const struct rows *first = collective_payload(x, 0);
    for (unsigned lane = 0; lane < WARP; lane++) {
        const uint32_t *registers = ((const struct rows *)collective_payload(x, lane))->registers;
        for (unsigned i = 0; i < first->n; i++) {
            *element(matrices[i], first->transposed, lane, 0) = (uint16_t)registers[i];
            *element(matrices[i], first->transposed, lane, 1) = (uint16_t)(registers[i] >> 16);
        }
    }
    for (unsigned lane = 0; lane < 8 * first->n; lane++) {
        struct lane_touch t = touch_of(collective_payload(x, lane), lane);
        touch_store(x, &t, ACCESS_MATRIX_STORE, matrices[lane / 8][lane % 8]);
    }
}

/* Each payload is a register, which comes back as that of the matrix transposed. */
static void transpose(const struct exchange *x)
{
    matrix8 matrix;
    for (unsigned lane = 0; lane < WARP; lane++) {
        uint32_t word = *(const uint32_t *)collective_payload(x, lane);
        *element(matrix, false, lane, 0) = (uint16_t)word;
        *element(matrix, false, lane, 1) = (uint16_t)(word >> 16);
    }
    for (unsigned lane = 0; lane < WARP; lane++)
        *(uint32_t *)collective_payload(x, lane) = *element(matrix, true, lane, 0) |
                                                   (uint32_t)*element(matrix, true, lane, 1) << 16;
}

static const struct collective_op movmatrix_op = {COLLECTIVE("movmatrix"), .event = EVENTS, .whole = true,
                                                  .exchange = transpose};
static const struct collective_op ldmatrix_op = {COLLECTIVE("ldmatrix"), .event = EVENTS, .whole = true,
                                                 .exchange = load_rows};
static const struct collective_op stmatrix_op = {COLLECTIVE("stmatrix"), .event = EVENTS, .whole = true,
                                                 .exchange = store_rows};

void matrix_load(unsigned n, bool transposed, const void *row, uint32_t *registers, const void *pc)
{
    struct rows r = {n, transposed, (void *)(uintptr_t)row, registers, pc};
    collective_join(&ldmatrix_op, ~0u, &r, pc);
}

void matrix_store(unsigned n, bool transposed, void *row, const uint32_t *registers, const void *pc)
{
    struct rows r = {n, transposed, row, (uint32_t *)(uintptr_t)registers, pc};
    collective_join(&stmatrix_op, ~0u, &r, pc);
}

uint32_t matrix_transpose(uint32_t word, const void *pc)
{
    collective_join(&movmatrix_op, ~0u, &word, pc);
    return word;
}
