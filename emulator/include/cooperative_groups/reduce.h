/* cooperative_groups::reduce over a tile of a warp: every thread gets the result. */
#ifndef SIMT_COOPERATIVE_GROUPS_REDUCE_H
#define SIMT_COOPERATIVE_GROUPS_REDUCE_H

#include "../cooperative_groups.h"

namespace cooperative_groups
{

template <class T> struct plus {
    T operator()(T a, T b) const { return a + b; }
};
template <class T> struct less {
    T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T> struct greater {
    T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T> struct bit_and {
    T operator()(T a, T b) const { return a & b; }
};
template <class T> struct bit_or {
    T operator()(T a, T b) const { return a | b; }
};
template <class T> struct bit_xor {
    T operator()(T a, T b) const { return a ^ b; }
};

template <unsigned Size, class Parent, class T, class Op>
__attribute__((always_inline)) inline T reduce(const thread_block_tile<Size, Parent> &tile, T value, Op op)
{
    for (unsigned by = Size / 2; by; by /= 2)
        value = op(value, tile.shfl_xor(value, by));
    return value;
}

}  // namespace cooperative_groups
#endif
