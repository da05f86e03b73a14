// fp8: every number to half and back, and what lies between two numbers to the nearer, on a tie to the even one.
#include <cuda_fp8.h>
#include "right.h"

struct results {
    float widened[2][256];
    unsigned char same[2][256], lower[2][256], middle[2][256], upper[2][256], overflow[2][4];
};

__device__ float between(const float *numbers, int i, double where)
{
    return (float)(numbers[i] + where * ((double)numbers[i + 1] - numbers[i]));
}

template <class T> __device__ void convert(results *r, int type, __nv_fp8_interpretation_t kind, int i, int largest)
{
    T number;
    number.__x = (unsigned char)i;
    r->widened[type][i] = (float)number;
    r->same[type][i] = T(half(number)).__x;
    __syncthreads();
    if (i < largest) {
        r->lower[type][i] = T(between(r->widened[type], i, 0.49)).__x;
        r->middle[type][i] = __nv_cvt_float_to_fp8(between(r->widened[type], i, 0.5), __NV_NOSAT, kind);
        r->upper[type][i] = __nv_cvt_double_to_fp8(-between(r->widened[type], i, 0.51), __NV_SATFINITE, kind);
    }
    if (i == 0) {
        r->overflow[type][0] = T(1e6f).__x;
        r->overflow[type][1] = __nv_cvt_float_to_fp8(-1e6f, __NV_NOSAT, kind);
        r->overflow[type][2] = T(-INFINITY).__x;
        r->overflow[type][3] = T(NAN).__x;
    }
}

__global__ void all(results *r)
{
    convert<__nv_fp8_e4m3>(r, 0, __NV_E4M3, threadIdx.x, 0x7e);
    convert<__nv_fp8_e5m2>(r, 1, __NV_E5M2, threadIdx.x, 0x7b);
}

__global__ void vectors(float *out)
{
    __nv_fp8x4_e4m3 four(make_float4(1, -2, 0.3f, 1000));
    float4 f = four.operator float4();
    *out++ = f.x, *out++ = f.y, *out++ = f.z, *out++ = f.w;
    __nv_fp8x2_e5m2 two(half2(half(3), half(-0.4f)));
    float2 g = two.operator float2();
    *out++ = g.x, *out++ = g.y;
    half2 h = __nv_cvt_fp8x2_to_halfraw2(two.__x, __NV_E5M2);
    *out++ = h.x, *out++ = h.y;
    __nv_fp8x4_e5m2 low_high(__floats2bfloat162_rn(1, 2), __floats2bfloat162_rn(3, 4));
    *out++ = low_high.__x >> 24, *out++ = (low_high.__x & 0xff);
    *out++ = (int)__nv_fp8_e4m3(-3.9f), *out++ = (unsigned char)__nv_fp8_e5m2(1000),
    *out++ = bool(__nv_fp8_e5m2(-0.0f));
    *out++ = (float)(__nv_bfloat16)__nv_fp8_e4m3(17ll), *out++ = __nv_fp8_e4m3(__nv_bfloat16(2.0f)).__x;
}

// The sign, the exponent, the fraction, as the OCP's specification has them.
static double value(int bits, int fraction, int bias)
{
    int magnitude = bits & 127, exponent = magnitude >> fraction, rest = magnitude & ((1 << fraction) - 1);
    double x = exponent ? ldexp(1 + ldexp(rest, -fraction), exponent - bias) : ldexp(rest, 1 - bias - fraction);
    return bits & 128 ? -x : x;
}

int main()
{
    results *r = to_device<results>(NULL, 1);
    CHECK(cudaMemset(r, 0, sizeof *r));
    all<<<1, 256>>>(r);
    r = to_host(r, 1);
    const int largest[] = {0x7e, 0x7b}, fraction[] = {3, 2}, bias[] = {7, 15};
    const int overflow[][4] = {{0x7e, 0xff, 0xfe, 0x7f}, {0x7b, 0xfc, 0xfb, 0x7f}};
    for (int type = 0; type < 2; type++) {
        for (int i = 0; i < 256; i++)
            if ((i & 127) <= largest[type]) {
                SAME(r->widened[type][i] == value(i, fraction[type], bias[type]), 1);
                SAME(r->same[type][i], i);
            } else {
                SAME(type == 1 && (i & 127) == 0x7c ? isinf(r->widened[type][i]) : isnan(r->widened[type][i]), 1);
            }
        for (int i = 0; i < largest[type]; i++) {
            SAME(r->lower[type][i], i);
            SAME(r->middle[type][i], i + i % 2);
            SAME(r->upper[type][i], 0x80 | (i + 1));
        }
        for (int i = 0; i < 3; i++)
            SAME(r->overflow[type][i], overflow[type][i]);
        SAME((r->overflow[type][3] & 0x7f) > (type ? 0x7c : 0x7e), 1);
    }

    float *out = to_device<float>(NULL, 15);
    vectors<<<1, 1>>>(out);
    float *v = to_host(out, 15);
    const double want[] = {1, -2, 0.3125, 448, 3, -0.375, 3, -0.375, 0x44, 0x3c, -4, 255, 0, 16, 0x40};
    for (int i = 0; i < 15; i++)
        SAME(v[i], want[i]);
    return 0;
}
