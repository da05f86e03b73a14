// __CUDA_ARCH__: defined in device code only, so one source has two texts.

#include "../right/right.h"
#include "arch.h"

__global__ void in_kernel(int *out)
{
#if __CUDA_ARCH__ >= 700
    out[0] = __CUDA_ARCH__;
#endif
    out[1] = __LINE__;
}

// Host and device each have their own.
__host__ __device__ int where(void)
{
#ifdef __CUDA_ARCH__
    return 1;
#else
    return 2;
#endif
}
__host__ __device__ constexpr int where_constant(int i)
{
#ifdef __CUDA_ARCH__
    return 10 + i;
#else
    return 20 + i;
#endif
}
static_assert(where_constant(1) == 21, "");
static int line_after(void) { return __LINE__; }

// What stands outside of functions.
#if __CUDA_ARCH__ < 600
__device__ double atomicAdd(double *address, double v) { return nothing_of_that_name(address, v); }
#endif
#ifdef __CUDA_ARCH__
__device__ int only_on_device(int i)
{
    return i + 100;
}
__constant__ int table[2] = {5, 6};
#else
static int only_on_host(int i) { return i + 200; }
#endif
__device__ int differs =
#ifdef __CUDA_ARCH__
    3;
#else
    4;
#endif

namespace outer {
template <typename T> struct vector {
    T x;
    int y = 1;
    __host__ __device__ vector(T v) : x(v), y{2}
    {
#ifdef __CUDA_ARCH__
        y = 3;
#endif
    }
    __host__ __device__ T get() const
    {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        return x + 1;
#else
        return x + 2;
#endif
    }
#ifdef __CUDA_ARCH__
    __device__ int only() const { return 7; }
#endif
    __device__ int line() const { return __LINE__; }
    __host__ __device__ vector &operator+=(const vector &other)
    {
#ifdef __CUDA_ARCH__
        x += other.x;
#else
        x += 2 * other.x;
#endif
        return *this;
    }
    __host__ __device__ int operator()(int i) const
    {
#ifdef __CUDA_ARCH__
        return i;
#else
        return 2 * i;
#endif
    }
};
enum color { red, green };
struct { int n; } settings = {1};
}  // namespace outer

template <typename F> __global__ void call(int *out, F f) { out[0] = f(1); }

__global__ void use(int *out)
{
    outer::vector<int> v(10);
    out[0] = where() + where_constant(1) + only_on_device(1) + table[1] + differs;
    out[1] = v.get() + v.y + v.only() + of_header(1);
    out[2] = v.line();
    v += v;
    out[3] = v.x + v(1);
}

// Of a constant of the device's that is constexpr on the host, both are true.
#ifdef __CUDA_ARCH__
#define CONSTANT static const __device__
#else
#define CONSTANT static constexpr
#endif
struct nothing {
};
CONSTANT int count = 3, counts[2] = {4, 5};
CONSTANT nothing none;
namespace outer
{
CONSTANT unsigned width{6};
template <int N> struct of_constant {
    int n[N];
};
}  // namespace outer
__host__ __device__ int take(nothing) { return 7; }
__global__ void constants(int *out, int i)
{
    const int *at = &count;
    outer::of_constant<sizeof(none)> one;
    one.n[0] = *at + counts[i];
    out[0] = one.n[0] + outer::width + take(none);
}

int main(void)
{
    int *out = to_device<int>(NULL, 4);
    constants<<<1, 1>>>(out, 1);
    SAME(to_host(out, 1)[0], 21);
    outer::of_constant<outer::width + count> nine;
    SAME(sizeof nine / sizeof *nine.n + take(none), 16);
    in_kernel<<<1, 1>>>(out);
    int *got = to_host(out, 4);
    SAME(got[0], GPU);
    SAME(got[1], 11);
    use<<<1, 1>>>(out);
    got = to_host(out, 4);
    SAME(got[0], 1 + 11 + 101 + 6 + 3);
    SAME(got[1], (GPU >= 800 ? 11 : 12) + 3 + 7 + 1001);
    SAME(got[2], 75);
    SAME(got[3], 21);
    outer::vector<int> on_host(1);
    on_host += on_host;
    SAME(on_host.x + on_host(1), 5);
    SAME(where() + where_constant(1) + only_on_host(1) + of_header(1), 2 + 21 + 201 + 2001);
    SAME(outer::vector<int>(10).get() + outer::vector<int>(1).y + outer::settings.n + outer::green, 16);
    SAME(line_after(), 32);
    int n = 5;
    call<<<1, 1>>>(out, [=] __device__(int i) {
#ifdef __CUDA_ARCH__
        return n + i;
#else
        return 0;
#endif
    });
    SAME(to_host(out, 4)[0], 6);
    auto both = [] __host__ __device__(int i) {
#ifdef __CUDA_ARCH__
        return i + 1;
#else
        return i + 2;
#endif
    };
    call<<<1, 1>>>(out, both);
    SAME(to_host(out, 4)[0], 2);
    SAME(both(1), 3);
    SAME(__LINE__, 178);
    return 0;
}
