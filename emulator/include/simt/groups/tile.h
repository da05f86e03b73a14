/* Tiles: 1 to 32 neighbouring threads of a warp, or 64 to 1,024 of several, as many as the type says. */
#ifndef SIMT_GROUPS_TILE_H
#define SIMT_GROUPS_TILE_H

#include "block.h"

namespace cooperative_groups
{

template <unsigned Size, class Parent = void> class thread_block_tile;

namespace details
{

template <unsigned Size> class tile_of_lanes
{
    unsigned number, of;
    SIMT_MEMBER static unsigned first_lane() { return simt::lane() & ~(Size - 1); }

protected:
    SIMT_MEMBER tile_of_lanes(unsigned number_, unsigned of_) : number(number_), of(of_) {}

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

template <unsigned Size> class tile_of_warps
{
    unsigned number, of;

protected:
    SIMT_MEMBER tile_of_warps(unsigned number_, unsigned of_) : number(number_), of(of_) {}

public:
    SIMT_MEMBER static void sync() { simt_tile_sync(Size); }
    SIMT_MEMBER static unsigned thread_rank() { return simt::rank_in_block() % Size; }
    static constexpr unsigned num_threads() { return Size; }
    static constexpr unsigned size() { return Size; }
    SIMT_MEMBER unsigned meta_group_rank() const { return number; }
    SIMT_MEMBER unsigned meta_group_size() const { return of; }
    template <class T> SIMT_MEMBER static T shfl(T v, int rank)
    {
        offer(v);
        sync();
        T result = taken<T>((unsigned)rank % Size);
        sync();
        return result;
    }
    SIMT_MEMBER static int any(int predicate) { return count(predicate) != 0; }
    SIMT_MEMBER static int all(int predicate) { return count(!predicate) == 0; }

    /* For the functions around: a value of each thread, which others take between two syncs. */
    template <class T> SIMT_MEMBER static void offer(const T &v)
    {
        static_assert(std::is_trivially_destructible<T>::value && sizeof(T) <= 32,
                      "a group moves a trivially copyable value of at most 32 bytes");
        simt_tile_offer(__builtin_addressof(v), sizeof(T));
    }
    template <class T> SIMT_MEMBER static T taken(unsigned rank)
    {
        union {
            char bytes[sizeof(T)];
            T value;
        } u = {};
        simt_tile_take(simt::rank_in_block() / Size * Size + rank, u.bytes, sizeof(T));
        return u.value;
    }

private:
    SIMT_MEMBER static unsigned count(int predicate)
    {
        unsigned n = 0;
        offer(predicate != 0);
        sync();
        for (unsigned rank = 0; rank < Size; rank++)
            n += taken<bool>(rank);
        sync();
        return n;
    }
};

template <unsigned Size>
using tile = std::conditional_t<(Size > 32), tile_of_warps<Size>, tile_of_lanes<Size>>;

}  // namespace details

/* Whose part it is does not matter to what it does. */
template <unsigned Size> class thread_block_tile<Size, void> : public details::tile<Size>
{
    static_assert(Size >= 1 && Size <= 1024 && (Size & (Size - 1)) == 0,
                  "a tile has a power of two of threads, at most 1024");

protected:
    SIMT_MEMBER thread_block_tile(unsigned number_, unsigned of_) : details::tile<Size>(number_, of_) {}
    friend thread_block_tile<1, void> this_thread();
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
