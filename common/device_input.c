#include "device_input.h"

#include "exit.h"
#include "parallel.h"
#include "random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

uint32_t *allocate_words(size_t words)
{
    uint32_t *memory = malloc(words * sizeof *memory);
    if (!memory)
        stop(EXIT_USAGE, "not enough host memory for %zu words: ask for less by -n", words);
    return memory;
}

struct fill {
    uint32_t *words;
    size_t count;
    uint64_t seed;
};

enum { CHUNK = 1 << 16 };

static void fill_chunks(void *context, size_t first, size_t last)
{
    const struct fill *fill = context;
    size_t end = last * CHUNK < fill->count ? last * CHUNK : fill->count;
    for (size_t i = first * CHUNK; i < end; i++)
        fill->words[i] = (uint32_t)random_bits(fill->seed, 0, i);
}

uint32_t *random_input(const struct session *session, size_t count, struct buffer *in)
{
    struct fill fill = {allocate_words(count), count, session->options->seed};
    parallel_for((count + CHUNK - 1) / CHUNK, fill_chunks, &fill);
    *in = buffer_allocate(&session->device, "the input", count * sizeof(uint32_t), 1);
    // Not poison around it: a copy that goes too far must leave a mark in the output's guard zone.
    if (in->guard > 0)
        CUDA(cudaMemset(in->memory, 0, in->guard + in->stride));
    buffer_upload(in, fill.words);
    return fill.words;
}

uint32_t sum_of_words(const uint32_t *words, size_t count)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += words[i];
    return sum;
}

void chains_of_lanes(uint32_t *want, int rounds, bool powers)
{
    for (int lane = 0; lane < LANES; lane++) {
        float sum = 0;
        double powers_sum = 0;
        for (int chain = 0; chain < CHAINS; chain++) {
            float x = (float)(1 + lane + LANES * chain);
            double power = x;
            for (int i = 0; i < rounds; i++)
                if (powers)
                    powers_sum += power = exp2(-power);
                else
                    x = fmaf(CHAIN_A, x, CHAIN_B);
            sum += x;
        }
        if (powers)
            sum = (float)powers_sum;
        memcpy(&want[lane], &sum, sizeof sum);
    }
}

struct buffer tiles_input(const struct session *session, int rounds, uint32_t *want)
{
    enum { ELEMENTS = FRAGMENT * FRAGMENT, TILES = 4 };
    float values[TILES * ELEMENTS];
    const float(*tiles)[FRAGMENT][FRAGMENT] = (const float(*)[FRAGMENT][FRAGMENT])values;
    uint16_t halves[TILES * ELEMENTS];
    for (int i = 0; i < TILES * ELEMENTS; i++)
        values[i] = (float)(random_bits(session->options->seed, 2, (uint64_t)i) % 17) - 8;
    dtype_encode(FP16, values, halves, TILES * ELEMENTS);
    // The sum over all products of one of two A and one of two B is the product of the sums.
    for (int row = 0; row < FRAGMENT; row++)
        for (int col = 0; col < FRAGMENT; col++) {
            float sum = 0;
            for (int i = 0; i < FRAGMENT; i++)
                sum += (tiles[0][row][i] + tiles[1][row][i]) * (tiles[2][i][col] + tiles[3][i][col]);
            sum *= (float)rounds;
            memcpy(&want[row * FRAGMENT + col], &sum, sizeof sum);
        }
    struct buffer in = buffer_allocate(&session->device, "the tiles", sizeof halves, 1);
    buffer_upload(&in, halves);
    return in;
}

uint32_t *ring_order(size_t places, uint64_t seed)
{
    uint32_t *order = allocate_words(places);
    for (size_t i = 0; i < places; i++)
        order[i] = (uint32_t)i;
    for (size_t i = places - 1; i > 0; i--) {
        size_t other = random_bits(seed, 1, i) % (i + 1);
        uint32_t kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    return order;
}

struct buffer ring_input(const struct session *session, const uint32_t *ring, size_t places)
{
    struct buffer in = buffer_allocate(&session->device, "the ring", places * LINE, 1);
    char *lines = calloc(places, LINE);
    if (!lines)
        stop(EXIT_USAGE, "not enough host memory for a ring of %zu bytes", places * LINE);
    for (size_t i = 0; i < places; i++) {
        const char *next = in.first + (size_t)LINE * ring[(i + 1) % places];
        memcpy(lines + (size_t)LINE * ring[i], &next, sizeof next);
    }
    buffer_upload(&in, lines);
    free(lines);
    return in;
}
