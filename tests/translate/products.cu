// Statements whose text names wgmma.mma_async get the addresses of their variables. Here the name stands in a comment, and what
// the statements do is done at once: each operand is seen once, whatever its form is.

#include "../right/right.h"

#define PRODUCT "// wgmma.mma_async\n"
#define LIST(X) "+f"(X[0]), "+f"(X[1])

namespace nothing
{
constexpr int zero = 0;
}
struct part {
    float x[2];
    unsigned words[2];
};
template <typename T> struct view {
    T *p;
    __device__ T &operator()(int i, int j) const { return p[2 * i + j]; }
};
template <typename A, typename B> __device__ B second(A, B b) { return b; }

static __device__ int next(int *count) { return ++*count; }
static __device__ float &same(float &x, int *count)
{
    ++*count;
    return x;
}

// References, constants, values and a default, as CuTe has them.
static __device__ void add(unsigned const &a0, unsigned const (&a)[2], unsigned a2, float &d0, float &d1,
                           int const scale = 1)
{
    asm volatile(
        "{\n"
        ".reg .pred p;\n" PRODUCT
        "setp.ne.b32 p, %6, 0;\n"
        "@p add.f32 %0, %0, 0f3f800000;\n"
        "{ .reg .b32 t; add.u32 t, %2, %3; add.u32 t, t, %4; add.u32 t, t, %5; cvt.rn.f32.u32 %1, t; }\n"
        "}\n"
        : "+f"(d0), "+f"(d1)
        : "r"(a0), "r"(a[0]), "r"(a[1]), "r"(a2), "r"(int32_t(scale)), "n"(int32_t(1)), "l"(7ull));
}

template <int N> static __device__ constexpr int twice()
{
    return 2 * N;
}

__global__ void use(float *out)
{
    __shared__ float s[2];
    __shared__ unsigned words[2];
    int count = 0;
    float d[2] = {1, 2}, e = 0;
    part p = {{3, 4}, {5, 6}};
    const unsigned a[2] = {10, 20};
    unsigned unwritten = 7;
    s[0] = 8;
    words[1] = 9;
    add(a[1], a, 3u, d[0], p.x[1]);
    out[0] = d[0];    // 2
    out[1] = p.x[1];  // 53

    auto lambda = [&](int i) {
        unsigned own = i, others[2] = {1, 2};
        asm volatile("// wgmma" ".mma_async\n" R"(add.u32 %0, %1, %2; add.u32 %0, %0, %3;)"
                     : "=r"(p.words[0])
                     : "r"(own), "r"((others)[1]), "r"([&] { return second<int, int>(1, 4); }()));
        return p.words[0];
    };
    out[2] = lambda(5);  // 11

    asm volatile(PRODUCT "add.f32 %0, %0, %2; mov.u32 %1, %%laneid;"
                 : "+f"(same(d[1], &count)), "=r"(unwritten)
                 : "f"(((float)next(&count), e = 5.0f)), "n"(twice<3>()), "r"(words[1]), "f"(s[0]));
    out[3] = d[1];            // 2 + 5
    out[4] = count;           // 2
    out[5] = unwritten + e;  // 0 + 5

    view<float> v = {d};
    asm volatile(PRODUCT "mul.f32 %0, %0, %1; add.f32 %0, %0, %2;" : "+f"(v(0, 1)) : "f"(v(0, 0)), "f"(s[0]));
    out[6] = d[1];  // 7 * 2 + 8
    if (count == 2) asm volatile(PRODUCT "add.u32 %0, %0, %1;" : "+r"(*(unsigned *)&p.words[1]) : "r"(words[1]) "r"(3));  // no comma: nvcc is content
    else asm("" : "+r"(p.words[1]));
    out[7] = p.words[1];  // 6 + 9

    switch (count) {  // a jump past what is declared
    case 1: unsigned skipped[2]; skipped[0] = 1; asm volatile(PRODUCT "mov.u32 %0, %1;" : "=r"(count) : "r"(skipped[0])); break;
    case 2:
        unsigned held[2] = {4, 5};
        for (unsigned i = 0, one[1] = {1}; i < 2; i += one[0])
            asm volatile(PRODUCT "add.u32 %0, %0, %1;" : "+r"(held[i]) : "r"(one[0]));
        out[8] = held[0] + held[1];  // 11
    }
    if (out[8] != 11)
        goto end;
    {
        volatile float w = 1;
        asm volatile(PRODUCT "add.f32 %0, %0, %0;" : "+f"(w));
        unsigned few[1], x[2] = {1, 1}, *pointer = x;
        asm volatile(PRODUCT "mov.b32 %0, %1;" : "=r"(few[0]) : "r"(pointer[1]));
        out[9] = w + few[0];  // 3
    }
    {
        using namespace nothing;
        const auto [first, last] = p;
        __align__(16) unsigned aligned[4] = {1, 2, 3, 4};
        part other;
        other = p;
        auto sum = [](auto x, const unsigned *y) { return 0 * x.words[0] + y[3] + (nothing::zero, 0u); };
        out[0] += sum(other, aligned) - second(&first, aligned)[3];
    }
    asm volatile("" : LIST(d) : "f"(d[0]), "n"(3) : "memory");
end:;
}

int main(void)
{
    const float want[] = {2, 53, 11, 7, 2, 5, 22, 15, 11, 3};
    float *out = to_device<float>(NULL, 10);
    use<<<1, 1>>>(out);
    float *got = to_host(out, 10);
    for (int i = 0; i < 10; i++)
        check_same(got[i], want[i], "a result", __FILE__, __LINE__ + i);
    return 0;
}
