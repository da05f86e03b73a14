// What machine's kernels are given, and what they must make of it.
#ifndef DEVICE_INPUT_H
#define DEVICE_INPUT_H

#include "device_point.h"

static const float CHAIN_A = 1 - 0x1p-16f, CHAIN_B = 0x1p-16f;  // x goes to 1, so slowly that a lost round shows

uint32_t *allocate_words(size_t words);

// Random words on the host, to be freed, and the same on the device.
uint32_t *random_input(const struct session *session, size_t count, struct buffer *in);
uint32_t sum_of_words(const uint32_t *words, size_t count);

// want: [LANES] floats: what each lane's chains come to, of multiply-adds or of powers of two.
void chains_of_lanes(uint32_t *want, int rounds, bool powers);

// The tiles of TENSOR on the device: whole numbers from -8 to 8. want: [FRAGMENT * FRAGMENT] floats, what a warp's sums come to
// together: exact, as everything on the way to them, for at most PRODUCT_ROUNDS.
enum { PRODUCT_ROUNDS = 1 << 12 };
struct buffer tiles_input(const struct session *session, int rounds, uint32_t *want);

// The places of a ring, one in each line, in a random order that no cache can guess: [places], to be freed.
uint32_t *ring_order(size_t places, uint64_t seed);
// The ring on the device: at each place, a pointer to the next.
struct buffer ring_input(const struct session *session, const uint32_t *ring, size_t places);

#endif
