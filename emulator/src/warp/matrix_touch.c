/* Accesses of a collective, each in the name of the lane whose address it is. */
#include "warp/matrix_touch.h"
#include "base/report.h"
#include "memory/place.h"
#include "memory/shared.h"
#include "order/access.h"
#include <string.h>

static void check_row(const struct access *a)
{
    if ((uintptr_t)a->address % ROW_BYTES)
        report_access(a, "misaligned access", "");
    if (place_of(a->block, a->address, 1).space != SPACE_SHARED)
        report_access(a, "wrong memory space", "ldmatrix and stmatrix take rows of shared memory.");
    if (shared_owner(a->block, a->address) != a->block)
        report_access(a, "wrong memory space", "ldmatrix and stmatrix take rows of their own block's shared memory.");
}

void touch_check(const struct exchange *x, const struct lane_touch *t, enum access_kind kind)
{
    struct access a = access_of(x->b, t->pc, t->address, t->bytes, kind);
    if (!simt_checked)
        return;
    a.thread = x->warp * WARP + t->lane;
    if (kind == ACCESS_MATRIX_LOAD || kind == ACCESS_MATRIX_STORE)
        check_row(&a);
    access_check(&a);
}

void touch_load(const struct exchange *x, const struct lane_touch *t, enum access_kind kind, void *value)
{
    touch_check(x, t, kind);
    memcpy(value, t->address, t->bytes);
}

void touch_store(const struct exchange *x, const struct lane_touch *t, enum access_kind kind, const void *value)
{
    touch_check(x, t, kind);
    memcpy(t->address, value, t->bytes);
    race_judge(x->b);
}
