// Reads 32-bit patterns of floats, in hexadecimal; prints for each what fp16 and bf16 make of it: their bits, and the bits
// of the float that those stand for.

#include "dtype.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void show(enum dtype dtype, float value)
{
    uint16_t bits;
    float back, rounded = value;
    uint32_t back_bits, rounded_bits;
    dtype_encode(dtype, &value, &bits, 1);
    dtype_decode(dtype, &bits, &back, 1);
    dtype_round(dtype, &rounded, 1);
    memcpy(&back_bits, &back, sizeof back_bits);
    memcpy(&rounded_bits, &rounded, sizeof rounded_bits);
    printf("%04x %08x %08x ", bits, back_bits, rounded_bits);
}

int main(void)
{
    uint32_t pattern;
    while (scanf("%x", &pattern) == 1) {
        float value;
        memcpy(&value, &pattern, sizeof value);
        show(FP16, value);
        show(BF16, value);
        putchar('\n');
    }
    return 0;
}
