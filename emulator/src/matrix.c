#include "matrix.h"
#include "report.h"

unsigned matrix_registers(const struct product *p, enum operand which)
{
    (void)p, (void)which;
    return 0;
}

void matrix_multiply(const struct product *p, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t *d,
                     const void *pc)
{
    (void)p, (void)a, (void)b, (void)c, (void)d;
    report_call("unsupported", pc, "multiplies matrices", "");
}

void matrix_load(unsigned n, bool transposed, const void *row, uint32_t *registers, const void *pc)
{
    (void)n, (void)transposed, (void)row, (void)registers;
    report_call("unsupported", pc, "loads matrices", "");
}

void matrix_store(unsigned n, bool transposed, void *row, const uint32_t *registers, const void *pc)
{
    (void)n, (void)transposed, (void)row, (void)registers;
    report_call("unsupported", pc, "stores matrices", "");
}

void matrix_load_fragment(const struct product *p, enum operand which, bool column_major, const void *first,
                          unsigned stride, uint32_t *registers, const void *pc)
{
    (void)p, (void)which, (void)column_major, (void)first, (void)stride, (void)registers;
    report_call("unsupported", pc, "loads a fragment", "");
}

void matrix_store_fragment(const struct product *p, bool column_major, void *first, unsigned stride,
                           const uint32_t *registers, const void *pc)
{
    (void)p, (void)column_major, (void)first, (void)stride, (void)registers;
    report_call("unsupported", pc, "stores a fragment", "");
}
