// __shared__ in every shape.

#include "../right/right.h"

#define BM 8
#define BK 16

template <typename T, int N> struct tile {
    typedef T element;
    T data[N];
};
template <int N> __host__ __device__ constexpr bool large() { return N > 8; }
union word {
    unsigned u;
    float f;
};

__global__ void declarators(int *out)
{
    __shared__ float a[BM * BK + 4], b, *p, (*rows)[4], c[2][3][4];
    __shared__ int (*functions[2])(int), x [ 5 ] ,
        y[0x1'0];
    __shared__ unsigned long long wide;
    __shared__ unsigned
        flags[2];
    if (threadIdx.x == 0) {
        a[BM * BK + 3] = 1, b = 2, p = a + 1, rows = (float (*)[4])c, c[1][2][3] = 3;
        functions[1] = [](int i) { return i + 1; };
        x[4] = 4, y[15] = 5, wide = 1ull << 40, flags[1] = 6;
        p[2] = 9;
        out[0] = a[BM * BK + 3] + b + rows[5][3] + functions[1](3) + x[4] + y[15] + (wide >> 38) + flags[1] + a[3];
        out[1] = sizeof(a) + sizeof(b) + sizeof(p) + sizeof(rows) + sizeof(c) + sizeof(y) + sizeof flags;
    }
}

__global__ void types(int *out)
{
    __shared__ struct tile<int, 4> of_struct[2];
    __shared__ tile<tile<int, 2>, (3 > 2) ? 2 : 1> nested, pair[large<16>() ? 2 : 1];
    __shared__ struct { float a[3]; int n; } anonymous;
    __shared__ union { int i; float f; } u, v[2];
    __shared__ struct inner {
        int n;
        struct { int m; } deep;
    } named;
    __shared__ union word w;
    __shared__ decltype(out[0] + 1) of_expression;
    __shared__ typename tile<float, 2>::element of_member[2];
    of_struct[1].data[3] = 1;
    nested.data[1].data[1] = 2;
    pair[1].data[0].data[1] = 3;
    anonymous.a[2] = 4, anonymous.n = 5;
    u.f = 1.0f, v[1].i = 6;
    named.deep.m = 7;
    w.f = 1.0f;
    of_expression = 8;
    of_member[1] = 9;
    struct inner copy = named;
    out[0] = of_struct[1].data[3] + nested.data[1].data[1] + pair[1].data[0].data[1] + anonymous.a[2] + anonymous.n +
             (u.i == 0x3f800000) + v[1].i + copy.deep.m + (w.u == 0x3f800000) + of_expression + of_member[1];
}

// Alignment, qualifiers and storage on either side of the type.
__global__ void decorated(int *out)
{
    __shared__ alignas(16) unsigned char a[16];
    alignas(float4) __shared__ unsigned char b[16];
    __shared__ __align__(16) float c[4];
    __align__(8) __shared__ float d[4];
    __shared__ float __attribute__((aligned(16))) e[4];
    __shared__ float f[4] __attribute__((aligned(16))), g;
    volatile __shared__ int h[2];
    __shared__ volatile int i;
    static __shared__ int j[2];
    __shared__ static int k;
    int __shared__ l[2];
    __shared__ struct alignas(32) { char c; } m[2];
    if (threadIdx.x == 0) {
        *(float4 *)a = make_float4(1, 2, 3, 4);
        *(float4 *)b = *(float4 *)a;
        *(float4 *)c = *(float4 *)b;
        d[0] = 1, g = 2, h[1] = 3, i = 4, j[1] = 5, k = 6, l[1] = 7;
        *(float4 *)e = *(float4 *)f = *(float4 *)c;
        m[1].c = 8;
        out[0] = e[3] + d[0] + g + h[1] + i + j[1] + k + l[1] + m[1].c;
        out[1] = sizeof(m);
    }
}

template <typename T, int N> __device__ T in_template(T v)
{
    __shared__ T a[N], b;
    __shared__ tile<T, N> c[N > 2 ? N : 2];
    __shared__ typename tile<T, N>::element d;
    a[N - 1] = v, b = v, c[N - 1].data[N - 1] = v, d = v;
    __syncwarp();
    return a[N - 1] + b + c[N - 1].data[N - 1] + d + sizeof(a) / sizeof(a[0]);
}

__global__ void templates(int *out)
{
    out[0] = in_template<int, 1>(1) + in_template<int, 2>(2) + in_template<double, 2>(3);
}

// Two scopes, two arrays of one name; a loop and a switch.
__global__ void scopes(int *out)
{
    int sum = 0;
    {
        __shared__ int a[2];
        a[0] = 1, a[1] = 2;
        sum += sizeof(a) + a[1];
    }
    for (int i = 0; i < 2; i++) {
        __shared__ int a[3];
        a[i] = i;
        sum += sizeof(a) + a[i];
    }
    switch (sum) {
    case 35: {
        __shared__ int a[4];
        a[3] = 1;
        sum += sizeof(a) + a[3];
        break;
    }
    default: sum = 0;
    }
    out[0] = sum;
}

// A shared array is no local variable: a lambda and a local class reach it without a capture, and never copy it.
__global__ void in_lambdas(int *out)
{
    __shared__ int a[4], count;
    __shared__ struct { int n; } s;
    a[1] = 1, count = 0, s.n = 0;
    auto plain = []() { a[1] += 10; };
    auto copies = [=](int by) { a[1] += by; };
    auto refers = [&](int by) mutable -> int { return a[1] += by; };
    auto hidden = [](int *a, int count) { return a[0] + count; };
    auto nested = [=] { return [=] { return ++s.n; }(); };
    struct local {
        int count;
        static __device__ int get() { return a[1]; }
        __device__ int twice() { return 2 * this->count + count; }
    };
    plain();
    copies(100);
    int one = 5;
    out[0] = refers(1000) + hidden(&one, 6) + local::get() + local{3}.twice() + [n = a[1]] { return n; }();
    nested();
    auto redeclared = [=] { int n = 3; int *a = &n; return a[0]; };
    out[1] = a[1] + count + redeclared() + s.n;
}

// In a function, too, its type is its type, a case label may jump over it, and what hides it hides it.
template <int N> struct list {
    float v[N];
    __device__ float *begin() { return v; }
    __device__ float *end() { return v + N; }
};
template <typename T, size_t N> __device__ constexpr int length(T (&)[N]) { return N; }
__device__ int by_case(int which)
{
    switch (which) {
    case 0:
        __shared__ int a[4];
        a[1] = 7;
        return a[1];
    case 1:
        return 2;
    }
    return 3;
}
__global__ void type_and_scope(int *out)
{
    __shared__ list<4> l;
    __shared__ float s[4], t[4];
    for (int i = 0; i < 4; i++) s[i] = t[i] = l.v[i] = i;
    float sum = 0;
    for (float x : s) sum += x;
    for (float &x : l) sum += x;
    auto &[p, q, r, z] = t;
    sum += p + q + r + z;
    decltype(s) *whole = &s, copy = {1, 2};
    __typeof__(t) typed = {3};
    sum += (*whole)[3] + copy[1] + typed[0] + length(s) + sizeof(decltype(s)) + sizeof s;
    static_assert(std::is_same<decltype(s), float[4]>::value && std::is_same<decltype((s)), float(&)[4]>::value, "");
    auto captured = [&s, n = sizeof(t)](int i) { return s[i] + n; };
    auto last_captured = [&sum, &t, s] { return sum + t[0] + s[1]; };
    auto self = [&](auto f, int n) -> float { return n ? f(f, n - 1) + s[1] : 0; };
    out[0] = sum + captured(2) + self(self, 2) + by_case(0) + by_case(1);
    out[1] = last_captured();
    {
        int n = 2, s = 3;
        for (int i = 0, t = 4; i < n; i++) out[1] += t + s;
    }
    for (float s : t) out[1] += s;
    {
        struct pair { int a, b; } whole = {5, 6};
        auto [s, t] = whole;
        out[1] += s + t;
    }
    if (int t = by_case(1)) out[1] += t;
}

extern __shared__ float at_namespace[];
static __shared__ int fixed[3];
namespace deep {
extern __shared__ double dynamic[];
__shared__ struct { int a, b; } both;
__global__ void use(int *out)
{
    dynamic[3] = 4;
    both.b = 5;
    out[0] = dynamic[3] + both.b + sizeof(both);
}
}  // namespace deep

struct holder {
    int fixed;
    __device__ int at_namespace(int v) { return v; }
};

__device__ float last_of(int n) { return at_namespace[n - 1] + fixed[2]; }
__device__ int hides(const int *fixed, int at_namespace) { return fixed[0] + at_namespace; }

__global__ void of_namespace(int *out)
{
    struct holder h = {.fixed = 1}, *to_h = &h;
    fixed[2] = 2;
    at_namespace[threadIdx.x] = threadIdx.x;
    __syncthreads();
    int v = 7;
    if (threadIdx.x == 0) {
        float *p = &at_namespace[1];
        out[0] = last_of(32) + *p + hides(&v, 3) + h.fixed + to_h->fixed + h.at_namespace(3) + *(at_namespace + 2);
        int fixed = 100;
        out[1] = fixed + sizeof(::holder);
    }
}

__global__ void dynamic_bytes(int *out)
{
    extern __shared__ __align__(16) unsigned char smem[];
    float *f = (float *)smem;
    int *i = reinterpret_cast<int *>(smem + 64);
    f[15] = 1, i[3] = 2;
    out[0] = f[15] + i[3];
}

template <typename T> __global__ void dynamic_typed(T *out)
{
    __shared__ extern T items[], alias[];
    items[1] = 3;
    auto f = [=] { items[1] += 1; };
    f();
    out[0] = alias[1];
}

// One name cannot have two types: CUDA programs hide each in a class of its own.
template <typename T> struct dynamic_of {
    __device__ operator T *()
    {
        extern __shared__ int as_int[];
        return (T *)as_int;
    }
};
template <> struct dynamic_of<double> {
    __device__ inline operator double *() const
    {
        extern __shared__ double as_double[];
        return as_double;
    }
};
__global__ void dynamic_by_class(int *out)
{
    double *d = dynamic_of<double>();
    float *f = dynamic_of<float>();
    d[1] = 2, f[0] = 1;
    out[0] = d[1] + f[0];
}

#define RUN(k, threads, bytes, want0, want1)        \
    do {                                            \
        CHECK(cudaMemset(out, 0, 2 * sizeof(int))); \
        k<<<1, threads, bytes>>>(out);              \
        int *got = to_host(out, 2);                 \
        SAME(got[0], want0);                        \
        SAME(got[1], want1);                        \
    } while (0)

int main(void)
{
    int *out = to_device<int>(NULL, 2);
    RUN(declarators, 32, 0, 1 + 2 + 3 + 4 + 4 + 5 + 4 + 6 + 9, 132 * 4 + 4 + 8 + 8 + 96 + 64 + 8);
    RUN(types, 1, 0, 1 + 2 + 3 + 4 + 5 + 1 + 6 + 7 + 1 + 8 + 9, 0);
    RUN(decorated, 32, 0, 4 + 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8, 64);
    RUN(templates, 1, 0, 4 + 1 + 8 + 2 + 12 + 2, 0);
    RUN(scopes, 1, 0, 10 + 12 + 13 + 17, 0);
    RUN(in_lambdas, 1, 0, 1111 + 11 + 1111 + 9 + 1111, 1111 + 3 + 1);
    RUN(type_and_scope, 1, 0, 18 + 3 + 2 + 3 + 4 + 16 + 16 + 18 + 2 + 7 + 2, 62 + 1 + 14 + 6 + 11 + 2);
    RUN(deep::use, 1, 4 * sizeof(double), 4 + 5 + 8, 0);
    RUN(of_namespace, 32, 32 * sizeof(float), 33 + 1 + 10 + 1 + 1 + 3 + 2, 104);
    RUN(dynamic_bytes, 1, 80, 3, 0);
    RUN(dynamic_typed, 1, 2 * sizeof(int), 4, 0);
    RUN(dynamic_by_class, 1, 16, 3, 0);
    return 0;
}
