// half and bfloat16: conversions round to nearest even, arithmetic is that of 16 bits, pairs move together.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include "right.h"

__global__ void arithmetic(const half *a, const half *b, half *out)
{
    int i = threadIdx.x;
    out[8 * i + 0] = __hadd(a[i], b[i]);
    out[8 * i + 1] = __hsub(a[i], b[i]);
    out[8 * i + 2] = __hmul(a[i], b[i]);
    out[8 * i + 3] = __hfma(a[i], b[i], a[i]);
    out[8 * i + 4] = __hmax(a[i], b[i]);
    out[8 * i + 5] = __float2half(__half2float(a[i]) * 3.0f);
    out[8 * i + 6] = __hlt(a[i], b[i]) ? a[i] : b[i];
    out[8 * i + 7] = __hneg(a[i]);
}

__global__ void pairs(const half2 *a, half2 *out, float *sums)
{
    int i = threadIdx.x;
    half2 v = a[i];
    out[i] = __hfma2(v, v, __float2half2_rn(1.0f));
    sums[i] = __low2float(v) + __high2float(v);
}

__global__ void packed(const float *in, unsigned *out)
{
    const __nv_bfloat162 both = __floats2bfloat162_rn(in[threadIdx.x], in[blockDim.x - 1 - threadIdx.x]);
    out[threadIdx.x] = *(const unsigned *)&both;
}

__global__ void brain(const __nv_bfloat16 *a, __nv_bfloat16 *out)
{
    out[threadIdx.x] = __hmul(a[threadIdx.x], __float2bfloat16(1.5f));
}

int main()
{
    const int N = 32;
    half a[N], b[N];
    __nv_bfloat16 c[N];
    for (int i = 0; i < N; i++) {
        a[i] = __float2half(0.125f * i);
        b[i] = __float2half(2.0f - 0.25f * i);
        c[i] = __float2bfloat16(2.0f * i);
    }
    half *in_a = to_device(a, N), *in_b = to_device(b, N), *out = to_device<half>(NULL, 8 * N);
    arithmetic<<<1, N>>>(in_a, in_b, out);
    half *r = to_host(out, 8 * N);
    for (int i = 0; i < N; i++) {
        double x = 0.125 * i, y = 2 - 0.25 * i;
        const double want[8] = {x + y, x - y, x * y, x * y + x, fmax(x, y), 3 * x, fmin(x, y), -x};
        for (int j = 0; j < 8; j++)
            SAME(__half2float(r[8 * i + j]), want[j]);
    }

    half2 *two = to_device<half2>(NULL, N / 2);
    float *sums = to_device<float>(NULL, N / 2);
    pairs<<<1, N / 2>>>((const half2 *)in_a, two, sums);
    half2 *p = to_host(two, N / 2);
    float *s = to_host(sums, N / 2);
    for (int i = 0; i < N / 2; i++) {
        double x = 0.125 * (2 * i), y = 0.125 * (2 * i + 1);
        SAME(__low2float(p[i]), __half2float(__float2half(x * x + 1)));
        SAME(__high2float(p[i]), __half2float(__float2half(y * y + 1)));
        SAME(s[i], x + y);
    }

    __nv_bfloat16 *in_c = to_device(c, N), *out_c = to_device<__nv_bfloat16>(NULL, N);
    brain<<<1, N>>>(in_c, out_c);
    __nv_bfloat16 *q = to_host(out_c, N);
    for (int i = 0; i < N; i++)
        SAME(__bfloat162float(q[i]), 3.0 * i);

    // Rounding, to even where two are equally near; the least, the largest, beyond them.
    const struct {
        float from;
        unsigned short bits;
    } rounded[] = {{1.0f, 0x3c00},     {1.00048828125f, 0x3c00}, {1.00146484375f, 0x3c02}, {-2.0f, 0xc000},
                   {65504.0f, 0x7bff}, {65519.9f, 0x7bff},       {65520.0f, 0x7c00},       {5.9604645e-8f, 0x0001},
                   {2.98e-8f, 0x0000}, {3e-8f, 0x0001},          {6.1035156e-5f, 0x0400},  {6.0975552e-5f, 0x03ff},
                   {0.0f, 0x0000},     {0.333333333f, 0x3555}};
    for (auto r : rounded)
        SAME(__half_as_ushort(__float2half(r.from)), r.bits);
    const struct {
        float from;
        unsigned bits;
    } brains[] = {{1.00390625f, 0x3f80},
                  {1.01171875f, 0x3f82},
                  {1.0039064f, 0x3f81},
                  {-1.01171875f, 0xbf82},
                  {32768, 0x4700},
                  {32703.9f, 0x46ff},
                  {32704.0f, 0x4700},
                  {0x1.fep127f, 0x7f7f},
                  {0x1.fefffep127f, 0x7f7f},
                  {0x1.ffp127f, 0x7f80},
                  {-0x1.fffffep127f, 0xff80},
                  {-INFINITY, 0xff80},
                  {NAN, 0x7fff},
                  {-0.0f, 0x8000},
                  {0x1p-133f, 0x0001},
                  {0x1p-134f, 0x0000},
                  {0x1.8p-133f, 0x0002},
                  {0x1.fp-127f, 0x007c}};
    const int n_brains = sizeof brains / sizeof *brains;
    float from[n_brains];
    for (int i = 0; i < n_brains; i++)
        from[i] = brains[i].from;
    float *in_f = to_device(from, n_brains);
    unsigned *out_f = to_device<unsigned>(NULL, n_brains);
    packed<<<1, n_brains>>>(in_f, out_f);
    unsigned *pairs = to_host(out_f, n_brains);
    for (int i = 0; i < n_brains; i++) {
        SAME(__bfloat16_as_ushort(__float2bfloat16(from[i])), brains[i].bits);
        SAME(pairs[i], brains[i].bits | brains[n_brains - 1 - i].bits << 16);  // the first is in the lower half
    }
    for (unsigned bits = 0; bits < 65536; bits++) {  // every number survives float and back
        half h = __ushort_as_half((unsigned short)bits);
        if ((bits & 0x7fff) <= 0x7c00)
            SAME(__half_as_ushort(__float2half(__half2float(h))), bits);
    }
    return 0;
}
