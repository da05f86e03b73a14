/* Which bytes of an object has anybody written? A bit for each, in words of 64. The workers set them without a lock. */
#include "memory/written.h"

static size_t bitmap_bytes(size_t object_bytes) { return (object_bytes / 64 + 1) * sizeof(u64); }

void *written_reserve(size_t object_bytes) { return base_reserve(bitmap_bytes(object_bytes)); }

void written_release(void *written, size_t object_bytes) { base_release(written, bitmap_bytes(object_bytes)); }

/* `count` set bits, at most 64, from bit `first` on. */
static u64 ones(unsigned first, size_t count)
{
    u64 low = count >= 64 ? ~0ull : (1ull << count) - 1;
    return low << first;
}

static u64 *word_of(const struct object *object, size_t offset) { return (u64 *)(void *)object->written + offset / 64; }

static size_t piece_of(size_t offset, size_t bytes)
{
    size_t room = 64 - offset % 64;
    return bytes < room ? bytes : room;
}

void written_mark(const struct object *object, size_t offset, size_t bytes)
{
    if (!object->written)
        return;
    while (bytes) {
        size_t piece = piece_of(offset, bytes);
        u64 *word = word_of(object, offset), bits = ones(offset % 64, piece);
        if ((__atomic_load_n(word, __ATOMIC_RELAXED) & bits) != bits)
            __atomic_fetch_or(word, bits, __ATOMIC_RELAXED);
        offset += piece;
        bytes -= piece;
    }
}

void written_clear(const struct object *object, size_t offset, size_t bytes)
{
    if (!object->written)
        return;
    while (bytes) {
        size_t piece = piece_of(offset, bytes);
        u64 *word = word_of(object, offset), bits = ones(offset % 64, piece);
        if (__atomic_load_n(word, __ATOMIC_RELAXED) & bits)
            __atomic_fetch_and(word, ~bits, __ATOMIC_RELAXED);
        offset += piece;
        bytes -= piece;
    }
}

bool written_any(const struct object *object, size_t offset, size_t bytes)
{
    if (!object->written)
        return true;
    while (bytes) {
        size_t piece = piece_of(offset, bytes);
        u64 bits = ones(offset % 64, piece);
        if (__atomic_load_n(word_of(object, offset), __ATOMIC_RELAXED) & bits)
            return true;
        offset += piece;
        bytes -= piece;
    }
    return false;
}

/* The bits of `count` bytes, at most 64, from any offset on. */
static u64 bits_from(const struct object *object, size_t offset, size_t count)
{
    size_t first = piece_of(offset, count);
    u64 bits = __atomic_load_n(word_of(object, offset), __ATOMIC_RELAXED) >> offset % 64;
    if (first < count)
        bits |= __atomic_load_n(word_of(object, offset + first), __ATOMIC_RELAXED) << first;
    return bits & ones(0, count);
}

void written_copy(const struct object *to, size_t to_offset, const struct object *from, size_t from_offset,
                  size_t bytes)
{
    if (!to->written)
        return;
    if (!from->written) {
        written_mark(to, to_offset, bytes);
        return;
    }
    while (bytes) {
        size_t piece = piece_of(to_offset, bytes);
        u64 mask = ones(to_offset % 64, piece), *word = word_of(to, to_offset);
        u64 bits = bits_from(from, from_offset, piece) << to_offset % 64;
        __atomic_fetch_or(word, bits, __ATOMIC_RELAXED);
        __atomic_fetch_and(word, bits | ~mask, __ATOMIC_RELAXED);
        to_offset += piece;
        from_offset += piece;
        bytes -= piece;
    }
}
