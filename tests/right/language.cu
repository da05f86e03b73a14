// Corners of the language in kernels: shared variables in odd places, __device__ variables of a template, lambdas.
#include "right.h"

template <int N> struct numbers_of {
    float v[N];
    __device__ float *begin() { return v; }
    __device__ float *end() { return v + N; }
};
template <class T, size_t N> __device__ constexpr size_t length(T (&)[N]) { return N; }

__global__ void around_shared_arrays(float *out)
{
    __shared__ numbers_of<4> a;
    __shared__ float s[4], t[4];
    if (threadIdx.x < 4)
        s[threadIdx.x] = t[threadIdx.x] = a.v[threadIdx.x] = 1;
    __syncthreads();
    float sum = 0;
    for (float x : s)
        sum += x;
    for (auto &x : a)
        sum += x;
    auto &[p, q, r, z] = t;
    sum += p + q + r + z;
    static_assert(sizeof(s) == 16 && sizeof s == 16, "an array, not a pointer");
    decltype(s) *whole = &s;
    sum += (*whole)[0] + length(s);
    float(&ref)[4] = s;
    auto f = [&ref, n = sizeof(t)](int i) { return ref[i] + t[i] + n; };
    sum += f(1);
    auto g = [&](auto self, int n) -> float { return n ? self(self, n - 1) + s[0] : 0; };
    sum += g(g, 2);
    out[threadIdx.x] = sum;
}

__global__ void shared_in_a_case(float *out, int which)
{
    switch (which) {
    case 0:
        __shared__ float a[4];
        a[threadIdx.x] = 1;
        out[threadIdx.x] = a[threadIdx.x];
        break;
    case 1: out[threadIdx.x] = 2; break;
    }
}

__global__ void shared_in_branches(int *out, int n)  // two of one name
{
    if (n % 2) {
        __shared__ int word[32];
        word[threadIdx.x] = 1;
        __syncthreads();
        out[threadIdx.x] = word[31 - threadIdx.x];
    } else {
        __shared__ int word[64];
        word[threadIdx.x] = 2;
        __syncthreads();
        out[threadIdx.x] = word[31 - threadIdx.x];
    }
}

template <int N> __device__ int *kept()
{
    static __device__ int words[N];
    return words;
}

__global__ void static_in_a_template(int *out)
{
    kept<3>()[2] = 4;
    kept<5>()[2] = 6;
    *out = kept<3>()[2] * 10 + kept<5>()[2] + kept<7>()[6];
}

template <typename T> __device__ T sum_of_block(T mine)
{
    __shared__ T words[64];
    words[threadIdx.x] = mine;
    __syncthreads();
    T sum = 0;
    for (unsigned i = 0; i < blockDim.x; i++)
        sum += words[i];
    __syncthreads();
    return sum;
}

__global__ void shared_of_a_template(double *out)
{
    out[threadIdx.x] = sum_of_block<int>(threadIdx.x) + sum_of_block<double>(0.5) + sum_of_block<int>(1);
}

template <class F> __global__ void apply(F f, int *out) { out[threadIdx.x] = f(threadIdx.x); }

struct times {
    int n;
    __device__ int operator()(int i) const { return n * i; }
};

template <int N> struct layout {
    static constexpr int size = N;
};
template <int N> struct tile {
    using layout = layout<2 * N>;
};
__global__ void named_as_its_type(int *out) { *out = tile<3>::layout::size; }

__global__ void assumptions(int *out, int n)
{
    __builtin_assume(n > 0);
    *out = __builtin_expect(n > 1, 1) ? n : 0;
}

int main()
{
    float *d = to_device<float>(NULL, 32);
    around_shared_arrays<<<1, 4>>>(d);
    SAME(to_host(d, 4)[3], 37);
    for (int which = 0; which < 2; which++) {
        shared_in_a_case<<<1, 4>>>(d, which);
        SAME(to_host(d, 4)[3], which + 1);
    }
    int *out = to_device<int>(NULL, 32);
    for (int n = 0; n < 2; n++) {
        shared_in_branches<<<1, 32>>>(out, n);
        SAME(to_host(out, 32)[9], 2 - n);
    }
    static_in_a_template<<<1, 1>>>(out);
    SAME(to_host(out, 1)[0], 46);
    double *wide = to_device<double>(NULL, 64);
    shared_of_a_template<<<1, 64>>>(wide);
    SAME(to_host(wide, 64)[63], 63 * 32 + 32 + 64);
    apply<<<1, 32>>>(times{3}, out);
    SAME(to_host(out, 32)[10], 30);
    named_as_its_type<<<1, 1>>>(out);
    SAME(to_host(out, 1)[0], 6);
    assumptions<<<1, 1>>>(out, 5);
    SAME(to_host(out, 1)[0], 5);
    return 0;
}
