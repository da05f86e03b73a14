/* Tiles: 1 to 32 neighbouring threads of a warp, as many as the type says. */
#ifndef SIMT_GROUPS_TILE_H
#define SIMT_GROUPS_TILE_H

#include "block.h"

namespace cooperative_groups
{

template <unsigned Size, class Parent = void> class thread_block_tile;

/* Whose part it is does not matter to what it does. */
template <unsigned Size> class thread_block_tile<Size, void>
{
    static_assert(Size <= 32, "the emulator offers tiles of up to 32 threads, none of several warps");
    static_assert(Size >= 1 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");
    unsigned number, of;
    SIMT_MEMBER static unsigned first_lane() { return simt::lane() & ~(Size - 1); }

protected:
    SIMT_MEMBER thread_block_tile(unsigned number_, unsigned of_) : number(number_), of(of_) {}
    friend thread_block_tile<1, void> this_thread();

public:
    SIMT_MEMBER static unsigned get_mask() { return simt::lanes_from(first_lane(), Size); }
    SIMT_MEMBER operator thread_group() const { return thread_group(thread_group::OF_LANES, get_mask()); }
    SIMT_MEMBER static void sync() { __syncwarp(get_mask()); }
    SIMT_MEMBER static unsigned thread_rank() { return simt::rank_in_block() % Size; }
    static constexpr unsigned num_threads() { return Size; }
    static constexpr unsigned size() { return Size; }
    SIMT_MEMBER unsigned meta_group_rank() const { return number; }
    SIMT_MEMBER unsigned meta_group_size() const { return of; }
    template <class T> SIMT_MEMBER static T shfl(T v, int rank)
    {
        return simt::shuffle_any(SIMT_SHUFFLE_INDEX, get_mask(), v, rank, Size);
    }
    template <class T> SIMT_MEMBER static T shfl_up(T v, unsigned by)
    {
        return simt::shuffle_any(SIMT_SHUFFLE_UP, get_mask(), v, (int)by, Size);
    }
    template <class T> SIMT_MEMBER static T shfl_down(T v, unsigned by)
    {
        return simt::shuffle_any(SIMT_SHUFFLE_DOWN, get_mask(), v, (int)by, Size);
    }
    template <class T> SIMT_MEMBER static T shfl_xor(T v, unsigned by)
    {
        return simt::shuffle_any(SIMT_SHUFFLE_XOR, get_mask(), v, (int)by, Size);
    }
    SIMT_MEMBER static int any(int predicate) { return __any_sync(get_mask(), predicate); }
    SIMT_MEMBER static int all(int predicate) { return __all_sync(get_mask(), predicate); }
    /* Masks have a bit for each rank, not for each lane. */
    SIMT_MEMBER static unsigned ballot(int predicate) { return __ballot_sync(get_mask(), predicate) >> first_lane(); }
    template <class T> SIMT_MEMBER static unsigned match_any(T v)
    {
        return __match_any_sync(get_mask(), v) >> first_lane();
    }
    template <class T> SIMT_MEMBER static unsigned match_all(T v, int &all)
    {
        return __match_all_sync(get_mask(), v, &all) >> first_lane();
    }
};

template <unsigned Size, class Parent> class thread_block_tile : public thread_block_tile<Size, void>
{
public:
    SIMT_MEMBER explicit thread_block_tile(const Parent &parent)
        : thread_block_tile<Size, void>(parent.thread_rank() / Size, (parent.num_threads() + Size - 1) / Size)
    {
    }
};

template <unsigned Size, class Parent> SIMT_MEMBER inline thread_block_tile<Size, Parent> tiled_partition(
    const Parent &p)
{
    return thread_block_tile<Size, Parent>(p);
}
SIMT_MEMBER inline thread_block_tile<1, void> this_thread() { return thread_block_tile<1, void>(0, 1); }

}  // namespace cooperative_groups
#endif
