#include "random.h"

#include "parallel.h"

// SplitMix64 (Steele, Lea, Flood 2014): a counter times an odd constant, mixed until every input bit moves every
// output bit.
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

static uint64_t key_of(uint64_t seed, uint64_t stream) { return mix(mix(seed) + stream); }

static uint64_t bits_at(uint64_t key, uint64_t position) { return mix(key + (position + 1) * 0x9e3779b97f4a7c15); }

uint64_t random_bits(uint64_t seed, uint64_t stream, uint64_t position)
{
    return bits_at(key_of(seed, stream), position);
}

// The sum of the four 16-bit pieces of a word.
static int sum_of_pieces(uint64_t word)
{
    return (int)((word & 0xffff) + (word >> 16 & 0xffff) + (word >> 32 & 0xffff) + (word >> 48));
}

struct normal {
    float *values;
    size_t count;
    uint64_t key;
    double mean, deviation;
};

enum { CHUNK = 1 << 16 };

// The sum of eight uniform numbers: its density is within 0.008 of the normal's everywhere. And it takes only integer
// arithmetic, no logarithm that two C libraries round differently.
static void fill_chunks(void *context, size_t first, size_t last)
{
    const struct normal *normal = context;
    const double middle = 4 * 65535;             // of the sum of eight pieces
    const double deviation = 53509.91992145008;  // sqrt(8 (2^32 - 1) / 12)
    size_t end = last * CHUNK < normal->count ? last * CHUNK : normal->count;
    for (size_t i = first * CHUNK; i < end; i++) {
        int sum = sum_of_pieces(bits_at(normal->key, 2 * i)) + sum_of_pieces(bits_at(normal->key, 2 * i + 1));
        normal->values[i] = (float)(normal->mean + normal->deviation * ((sum - middle) / deviation));
    }
}

void random_normal(float *values, size_t count, uint64_t seed, uint64_t stream, float mean, float deviation)
{
    struct normal normal = {values, count, key_of(seed, stream), mean, deviation};
    parallel_for((count + CHUNK - 1) / CHUNK, fill_chunks, &normal);
}
