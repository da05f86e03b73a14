/* Accesses of a collective, each in the name of the lane whose address it is. */
#include "warp/matrix_touch.h"
#include "order/access.h"
#include "memory/place.h"
#include "report/report.h"
#include <string.h>

static void check_row(struct block *b, const struct touch *t, enum access_kind kind)
{
    if ((uintptr_t)t->address % ROW_BYTES)
        report_access(b, "misaligned access", t->pc, t->address, t->bytes, kind, "");
    if (place_of(b, t->address, 1).space != SPACE_SHARED)
        report_access(b, "wrong memory space", t->pc, t->address, t->bytes, kind,
                      "ldmatrix and stmatrix take rows of shared memory.");
}

void touch_check(const struct exchange *x, const struct touch *t, enum access_kind kind)
{
    struct block *b = x->b;
    unsigned cur = b->cur;
    if (!simt_checked)
        return;
    b->cur = x->warp * WARP + t->lane;
    if (kind == ACCESS_MATRIX_LOAD || kind == ACCESS_MATRIX_STORE)
        check_row(b, t, kind);
    access_check(b, t->pc, t->address, t->bytes, kind, SIMT_SCOPE_SYSTEM);
    b->cur = cur;
}

void touch_load(const struct exchange *x, const struct touch *t, enum access_kind kind, void *value)
{
    touch_check(x, t, kind);
    memcpy(value, t->address, t->bytes);
}

void touch_store(const struct exchange *x, const struct touch *t, enum access_kind kind, const void *value)
{
    touch_check(x, t, kind);
    memcpy(t->address, value, t->bytes);
    if (x->b->suspicion->pending)
        race_judge(x->b);
}
