/* Numbers of inline PTX in all their types. */
#ifndef SIMT_PTX_CONVERT_H
#define SIMT_PTX_CONVERT_H

#include "ptx/ptx.h"

/* A number of that type as a double, which holds each of them, and back. */
double ptx_to_double(u64 bits, enum type t);
u64 ptx_from_double(double x, enum type t, enum ptx_rounding how);
u64 ptx_nan(enum type t); /* the one that results are */

static inline u64 ptx_flush_bits(enum type t, u64 bits)
{
    if (t == T_F32)
        return bits & 0x7f800000 ? bits : bits & 0x80000000;
    if (t == T_F16)
        return bits & 0x7c00 ? bits : bits & 0x8000;
    return bits;
}
/* A number of that type; subnormal ones are 0 where the instruction says .ftz. */
static inline u64 ptx_flush(const struct instruction *in, enum type t, u64 bits)
{
    return in->field[FTZ] ? ptx_flush_bits(t, bits) : bits;
}

/* .sat: between 0 and 1; .relu: at least 0. NaN becomes 0, or stays. */
u64 ptx_clamp(const struct instruction *in, enum type t, u64 bits);

enum simt_rounding ptx_host_rounding(enum ptx_rounding how);

#endif
