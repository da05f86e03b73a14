/* The layouts of PTX ISA, "Canonical Layouts": eight vectors of 16 bytes, as far apart as the swizzle is wide, are a core
 * matrix; the two offsets of the descriptor lead from one to the next. What the swizzle then exchanges are bits of the
 * address itself, so that a start inside of its pattern, say 32 bytes further along k, reads what was stored there. */
#include "warp/descriptor.h"
#include "warp/matrix_layout.h"
#include <string.h>

#define K_BYTES 32

struct descriptor descriptor_of(u64 bits)
{
    static const unsigned widths[] = {1, 8, 4, 2};
    return (struct descriptor){.start = (uint32_t)(bits & 0x3fff) * VECTOR_BYTES,
                               .leading = (uint32_t)(bits >> 16 & 0x3fff) * VECTOR_BYTES,
                               .stride = (uint32_t)(bits >> 32 & 0x3fff) * VECTOR_BYTES,
                               .base = (uint32_t)(bits >> 49 & 7),
                               .width = widths[bits >> 62]};
}

/* A row of 128 bytes, counted from the start of the pattern, has its vectors exchanged by its number: bits 4 to 6 of the
 * address by bits 7 to 9. */
static uint32_t swizzled(const struct descriptor *f, uint32_t address)
{
    uint32_t row = (address >> 7) - f->base;
    return address ^ (row & (f->width - 1)) * VECTOR_BYTES;
}

static uint32_t along_k(const struct descriptor *f, unsigned line, unsigned half)
{
    uint32_t pitch = f->width * VECTOR_BYTES;
    uint32_t next = f->width == 1 ? f->leading : VECTOR_BYTES;
    return line / 8 * f->stride + line % 8 * pitch + half * next;
}

static uint32_t along_lines(const struct descriptor *f, unsigned eight, unsigned k)
{
    uint32_t pitch = f->width * VECTOR_BYTES;
    uint32_t lines = f->width == 1 ? f->stride : f->leading, rows = f->width == 1 ? f->leading : f->stride;
    return eight / f->width * lines + eight % f->width * VECTOR_BYTES + k / 8 * rows + k % 8 * pitch;
}

unsigned descriptor_vectors(const struct shared_operand *o, uint32_t offsets[MOST_VECTORS])
{
    struct descriptor f = descriptor_of(o->descriptor);
    unsigned n = o->lines * (K_BYTES / VECTOR_BYTES), ks = K_BYTES / 2;
    for (unsigned i = 0; i < n; i++) {
        uint32_t at = o->mn_major ? along_lines(&f, i / ks, i % ks) : along_k(&f, i / 2, i % 2);
        offsets[i] = swizzled(&f, f.start + at);
    }
    return n;
}

void descriptor_gather(const struct shared_operand *o, const unsigned char *shared, struct dense *d,
                       union number *matrix)
{
    uint32_t offsets[MOST_VECTORS];
    unsigned n = descriptor_vectors(o, offsets), bytes = element_bits(o->type) / 8;
    unsigned in_vector = VECTOR_BYTES / bytes, ks = K_BYTES / bytes;
    unsigned char *packed = (unsigned char *)d->packed;
    for (unsigned i = 0; i < n; i++)
        memcpy(packed + i * VECTOR_BYTES, shared + offsets[i], VECTOR_BYTES);
    dense_widen(o->type, packed, n * in_vector, d->wide);
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < in_vector; j++) {
            unsigned line = o->mn_major ? i / ks * in_vector + j : i / 2;
            unsigned k = o->mn_major ? i % ks : i % 2 * in_vector + j;
            matrix[o->operand == OPERAND_A ? line * ks + k : k * o->lines + line] = d->wide[i * in_vector + j];
        }
}
