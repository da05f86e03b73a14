// For the programs of this folder that multiply matrices: elements of every type as bits, drawn from a seed, and what comes
// out, as JSON.
#pragma once

#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call) \
    do { \
        cudaError_t error_ = (call); \
        if (error_ != cudaSuccess) { \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_)); \
            exit(1); \
        } \
    } while (0)

template <typename T> static T *managed(size_t count)
{
    T *memory;
    CHECK(cudaMallocManaged(&memory, count * sizeof(T)));
    memset(memory, 0, count * sizeof(T));
    return memory;
}

static void finish(void)
{
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
}

// ---- elements as bits ----

enum type { F16, BF16, TF32, F32, E4M3, E5M2, S8, U8, S32 };
// Small whole numbers; all bits of the fraction; now and then infinities, NaN, subnormals; about half of them subnormal, of A and
// C, or of B, too.
enum kind { WHOLE, RANDOM, SPECIAL, SMALL, TINY };

static const struct format {
    int bits, fraction, bias;  // fraction 0: an integer
    unsigned specials[6];
} formats[] = {
    [F16] = {16, 10, 15, {0x7c00, 0xfc00, 0x7e01, 0x0001, 0x83ff, 0x7bff}},
    [BF16] = {16, 7, 127, {0x7f80, 0xff80, 0x7fc1, 0x0001, 0x807f, 0x7f7f}},
    [TF32] = {32, 23, 127, {0x7f800000, 0xff800000, 0x7fc00001, 0x00002000, 0x807fe000, 0x7f7fe000}},
    [F32] = {32, 23, 127, {0x7f800000, 0xff800000, 0x7fc00001, 0x00000001, 0x807fffff, 0x7f7fffff}},
    [E4M3] = {8, 3, 7, {0x7f, 0xff, 0x01, 0x87, 0x7e, 0xfe}},
    [E5M2] = {8, 2, 15, {0x7c, 0xfc, 0x7e, 0x01, 0x83, 0x7b}},
    [S8] = {8},
    [U8] = {8},
    [S32] = {32},
};

static uint64_t seed;

static unsigned draw(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 32);
}

static unsigned mask_of(int bits) { return bits == 32 ? ~0u : (1u << bits) - 1; }

// sign * 1.fraction * 2^exponent
static unsigned number(const format &f, unsigned sign, int exponent, unsigned fraction)
{
    return sign << (f.bits - 1) | (unsigned)(exponent + f.bias) << f.fraction | (fraction & mask_of(f.fraction));
}

static unsigned whole(const format &f, unsigned sign, unsigned value)
{
    int exponent = 0;
    if (!value)
        return 0;
    while (value >> (exponent + 1))
        exponent++;
    unsigned fraction = value ^ 1u << exponent;
    return number(f, sign, exponent, f.fraction >= exponent ? fraction << (f.fraction - exponent) : 0);
}

static unsigned element(enum type type, enum kind kind)
{
    const format &f = formats[type];
    unsigned r = draw();
    if (f.fraction == 0)
        return type == S32 ? r % 4 ? r % 1000 : 0x7fffff00 + r % 256 : r & mask_of(f.bits);
    if (kind == SPECIAL && r % 64 == 0)
        return f.specials[r / 64 % 6];
    if (kind == SMALL || kind == TINY)
        return (r & 1) << (f.bits - 1) | (r / 2 & mask_of(f.fraction + 1));
    if (kind == RANDOM)
        return number(f, r & 1, (int)(r / 2 % 5) - 3, r / 16);
    return whole(f, r & 1, r / 2 % 5);
}

// A register of such elements.
static unsigned packed(enum type type, enum kind kind)
{
    unsigned word = 0;
    for (int at = 0; at < 32; at += formats[type].bits)
        word |= element(type, kind) << at;
    return word;
}

static unsigned without_signs(enum type type, unsigned word)
{
    unsigned signs = 0;
    for (int at = formats[type].bits; at <= 32; at += formats[type].bits)
        signs |= 1u << (at - 1);
    return formats[type].fraction ? word & ~signs : word;
}

// ---- what came out ----

static uint64_t hash(const void *bytes, size_t n)
{
    uint64_t h = 14695981039346656037u;  // FNV-1a
    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return h;
}

static void print_hash(const char *name, const void *bytes, size_t n)
{
    printf("{\"case\": \"%s\", \"hash\": \"%016llx\"}\n", name, (unsigned long long)hash(bytes, n));
}

static void print_words(const char *key, const unsigned *words, int n)
{
    printf(", \"%s\": \"", key);
    for (int i = 0; i < n; i++)
        printf("%s%08x", i ? " " : "", words[i]);
    printf("\"");
}

static const char *const kinds[] = {"whole", "random", "special", "small", "tiny"};
