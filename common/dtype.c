#include "dtype.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

// ---- one element ----

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// Drops the lowest bits of a pattern, to the nearest, of two equally near to the even one. A carry into the exponent is
// as it should be: the next number up.
static uint32_t drop_bits(uint32_t bits, int count)
{
    uint32_t half = (1u << (count - 1)) - 1, odd = bits >> count & 1;
    return (bits + half + odd) >> count;
}

// 1 bit of sign, 5 of exponent, 10 of mantissa; fp32 has 1, 8 and 23. Numbers below 2^-14 are multiples of 2^-24.
static uint16_t fp16_of(float value)
{
    uint32_t sign = bits_of(value) >> 16 & 0x8000, magnitude = bits_of(value) & 0x7fffffff;
    if (isnan(value))
        return (uint16_t)(sign | 0x7e00);
    if (magnitude >= bits_of(65520))  // halfway from the largest number, 65504, to what would be the next
        return (uint16_t)(sign | 0x7c00);
    if (magnitude < bits_of(0x1p-14f))
        return (uint16_t)(sign | (uint32_t)rintf(float_of(magnitude) * 0x1p24f));
    return (uint16_t)(sign | drop_bits(magnitude - (112u << 23), 13));  // 112 = 127 − 15: the exponents' biases
}

static float float_of_fp16(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, magnitude = bits & 0x7fff;
    if (magnitude >= 0x7c00)  // infinite, or NaN
        return float_of(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    if (magnitude < 0x400)
        return float_of(sign | bits_of((float)magnitude * 0x1p-24f));
    return float_of(sign | ((magnitude << 13) + (112u << 23)));
}

static uint16_t bf16_of(float value)
{
    return isnan(value) ? (uint16_t)(bits_of(value) >> 16 | 0x40) : (uint16_t)drop_bits(bits_of(value), 16);
}

static float float_of_bf16(uint16_t bits) { return float_of((uint32_t)bits << 16); }

// ---- the types ----

static const struct type {
    const char *name;
    size_t bytes;
    uint16_t (*encode)(float value);  // NULL: as it is
    float (*decode)(uint16_t bits);
    int digits;
    double row_bound;
} types[DTYPE_COUNT] = {
    [FP32] = {.name = "fp32", .bytes = 4, .digits = 24},
    [FP16] =
        {.name = "fp16", .bytes = 2, .encode = fp16_of, .decode = float_of_fp16, .digits = 11, .row_bound = 0x1p-9},
    [BF16] = {.name = "bf16", .bytes = 2, .encode = bf16_of, .decode = float_of_bf16, .digits = 8, .row_bound = 0x1p-7},
};

const char *dtype_name(enum dtype dtype) { return types[dtype].name; }

int dtype_digits(enum dtype dtype) { return types[dtype].digits; }

struct bound dtype_bound(enum dtype dtype, int terms, double rounded)
{
    if (dtype == FP32) {
        double bound = fmax(2 * sqrt(terms) * 0x1p-24, 0x1p-20);
        return (struct bound){.all = bound, .row = bound};
    }
    return (struct bound){.all = fmax(2 * rounded, 0x1p-12), .row = types[dtype].row_bound};
}

// ---- many elements ----

void dtype_round(enum dtype dtype, float *values, size_t count)
{
    const struct type *type = &types[dtype];
    for (size_t i = 0; type->encode && i < count; i++)
        values[i] = type->decode(type->encode(values[i]));
}

void dtype_encode(enum dtype dtype, const float *values, void *bits, size_t count)
{
    const struct type *type = &types[dtype];
    uint16_t *narrow = bits;
    if (!type->encode)
        memcpy(bits, values, count * sizeof *values);
    for (size_t i = 0; type->encode && i < count; i++)
        narrow[i] = type->encode(values[i]);
}

void dtype_decode(enum dtype dtype, const void *bits, float *values, size_t count)
{
    const struct type *type = &types[dtype];
    const uint16_t *narrow = bits;
    if (!type->decode)
        memcpy(values, bits, count * sizeof *values);
    for (size_t i = 0; type->decode && i < count; i++)
        values[i] = narrow[i] == UINT16_MAX ? float_of(UINT32_MAX) : type->decode(narrow[i]);
}
