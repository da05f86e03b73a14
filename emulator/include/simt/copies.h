/* Asynchronous copies of many bytes, as the copy functions of libcu++ and of cooperative groups make them: by cp.async in
 * pieces of 16, 8 or 4 bytes, which the threads of a group take in turn; where cp.async cannot, by plain accesses. */
#ifndef SIMT_COPIES_H
#define SIMT_COPIES_H

#include "async.h"
#include "groups/lanes.h"

namespace cuda
{

/* A number of bytes that is a multiple of Alignment, as both addresses are. */
template <size_t Alignment> struct aligned_size_t {
    static constexpr size_t align = Alignment;
    size_t value;
    SIMT_MEMBER explicit constexpr aligned_size_t(size_t bytes) : value(bytes) {}
    SIMT_MEMBER constexpr operator size_t() const { return value; }
};

}  // namespace cuda

namespace simt
{

/* Has the GPU that is compiled for bulk copies? */
#if SIMT_ARCH >= 900
constexpr bool has_bulk_copies = true;
#else
constexpr bool has_bulk_copies = false;
#endif

struct one_thread { /* where no group is named */
    static constexpr unsigned size() { return 1; }
    static constexpr unsigned thread_rank() { return 0; }
};

/* What the types say of the addresses: at least this many bytes divide both. */
template <class T> constexpr size_t alignment_of_type = alignof(T);
template <> constexpr size_t alignment_of_type<void> = 1;
template <class Size> constexpr size_t alignment_of_size = 1;
template <size_t Alignment> constexpr size_t alignment_of_size<cuda::aligned_size_t<Alignment>> = Alignment;
template <class T, class Size>
constexpr size_t alignment_of = alignment_of_type<T> > alignment_of_size<Size> ? alignment_of_type<T>
                                                                               : alignment_of_size<Size>;

template <class Unit, class Group>
SIMT_INLINE void copy_plainly(const Group &group, char *to, const char *from, size_t bytes)
{
    for (size_t i = group.thread_rank(); i < bytes / sizeof(Unit); i += group.size())
        ((Unit *)to)[i] = ((const Unit *)from)[i];
}

/* In pieces of `unit` bytes, the rest in pieces of 4, and what is left of that byte by byte. */
template <class Group>
SIMT_INLINE void copy_asynchronously(const Group &group, char *to, const char *from, size_t bytes, size_t unit)
{
    size_t wide = bytes / unit * unit, whole = bytes / 4 * 4;
    for (size_t i = group.thread_rank() * unit; i < wide; i += group.size() * unit)
        simt_async_copy(to + i, from + i, (unsigned)unit, (unsigned)unit);
    for (size_t i = wide + group.thread_rank() * 4; i < whole; i += group.size() * 4)
        simt_async_copy(to + i, from + i, 4, 4);
    copy_plainly<char>(group, to + whole, from + whole, bytes - whole);
}

/* Both addresses are multiples of Alignment. */
template <size_t Alignment, class Group>
SIMT_INLINE void copy(const Group &group, void *to, const void *from, size_t bytes)
{
    if (Alignment >= 4 && simt_async_may(to, from))
        copy_asynchronously(group, (char *)to, (const char *)from, bytes, Alignment >= 16 ? 16 : Alignment);
    else if (Alignment >= 4 && bytes % 4 == 0)
        copy_plainly<unsigned>(group, (char *)to, (const char *)from, bytes);
    else
        copy_plainly<char>(group, (char *)to, (const char *)from, bytes);
}

}  // namespace simt
#endif
