// Kernels defined in every shape: what stands before the name, in the parameters, in the template's list.

#include "../right/right.h"

static int *total, so_far;

// What was added to *total since the last question.
static int added(void)
{
    int before = so_far;
    finish();
    CHECK(cudaMemcpy(&so_far, total, sizeof(int), cudaMemcpyDeviceToHost));
    return so_far - before;
}

struct options {
    int n;
    float scale;
    const char *name;
};
struct converted {
    int v;
    converted(int i) : v(2 * i) {}
};

// Heads.
__global__ void plain(int *out) { atomicAdd(out, 1); }
static __global__ void is_static(int *out) { atomicAdd(out, 1); }
__global__ static void __launch_bounds__(128) bounds_before_name(int *out) { atomicAdd(out, 1); }
__launch_bounds__(64, 2) __global__ void bounds_first(int *out) { atomicAdd(out, 1); }
inline __global__ __attribute__((unused)) void with_attribute(int *out) { atomicAdd(out, 1); }
extern "C" __global__ void of_c(int *out) { atomicAdd(out, 1); }
extern "C" {
__global__ void in_c(int *out) { atomicAdd(out, 1); }
}
[[maybe_unused]] __global__ void attribute_in_brackets(int *out) { atomicAdd(out, 1); }
__global__ auto trailing(int *out) -> void { atomicAdd(out, 1); }
__global__ void is_noexcept(int *out) noexcept { atomicAdd(out, 1); }
__global__ void declared_first(int *out, int v = 1);
__global__ void declared_first(int *out, int v)
{
    atomicAdd(out, v);
}
template <int N> __global__ void __launch_bounds__(N * (3 > 2 ? 32 : 1), (N > 2)) bounds_of_template(int *out)
{
    atomicAdd(out, N);
}
template <int N, bool MORE> constexpr int BLOCKS = MORE ? N : 1;
template <int N> __global__ void __launch_bounds__(32 * BLOCKS<N, true>, BLOCKS<N, false>) bounds_with_commas(int *out)
{
    atomicAdd(out, N);
}
template <typename T> __global__ typename std::enable_if<(sizeof(T) > 2), void>::type only_large(T *out)
{
    atomicAdd(out, 1);
}
namespace outer {
__global__ void from_outside(int *out);
template <typename T> __global__ void template_from_outside(T *out);
namespace {
__global__ void unnamed(int *out) { atomicAdd(out, 1); }
}
}  // namespace outer
__global__ void outer::from_outside(int *out) { atomicAdd(out, 1); }
template <typename T> __global__ void outer::template_from_outside(T *out) { atomicAdd(out, 1); }
template <typename T, int N> struct holder {
    static __global__ void member(T *out) { atomicAdd(out, N); }
    template <int M> static __global__ void member_template(T *out) { atomicAdd(out, N + M); }
};

// Overloads, templates, specialisations.
__global__ void over(int *out) { atomicAdd(out, 1); }
__global__ void over(int *out, int v) { atomicAdd(out, v); }
__global__ void over(int *out, double) { atomicAdd(out, 100); }
template <typename T> __global__ void over(int *out, T *) { atomicAdd(out, 1000); }
template <typename T> __global__ void special(int *out, T) { atomicAdd(out, 1); }
template <> __global__ void special<float>(int *out, float) { atomicAdd(out, 10); }
template <> __global__ void special(int *out, double) { atomicAdd(out, 100); }
template <typename T, int N = 3, bool = true, typename = std::enable_if_t<(N > 0)>, typename... R>
__global__ void many(int *out, T v, R... rest)
{
    atomicAdd(out, v + N + (int)sizeof...(rest) + (0 + ... + rest));
}
template <template <typename, int> class C, typename T, T... values> __global__ void of_templates(int *out)
{
    atomicAdd(out, C<T, (0 + ... + values)>::value);
}
template <typename T, int N> struct constant {
    static const int value = N;
};
template <int (*F)(int), auto V> __global__ void of_values(int *out) { atomicAdd(out, F(V)); }
__host__ __device__ int twice(int i) { return 2 * i; }

// Parameters.
struct T {
    int n;
};
__global__ void shapes(int *const out, const int array[], int (*rows)[4], int (*function)(int), T const t,
                       const volatile unsigned, float *__restrict__, const int *__restrict__ const in, long long,
                       struct options o, [[maybe_unused]] int unused, const __grid_constant__ converted c, int T::*,
                       int (*)[2], int seven = 7, holder<int, (3 > 2)> = {}, bool last = true)
{
    atomicAdd(out, array[1] + rows[1][0] + t.n + in[0] + o.n + (int)o.scale + c.v + seven + last);
}
__global__ void braced(int *out, options o, dim3 d, const float *p, size_t n = 5, unsigned char letter = 'a')
{
    atomicAdd(out, o.n + (int)(d.x + d.y + d.z) + (p != nullptr) + (int)n + letter - 'a');
}
__global__ void nothing(void) {}
__global__ void nothing_at_all() {}
struct counted {
    static int copies;
    int v;
    counted(int i) : v(i) {}
    __host__ __device__ counted(const counted &other) : v(other.v) {}
};
__global__ void of_class(int *out, counted c) { atomicAdd(out, c.v); }
template <typename F, typename... A> __global__ void call(F f, A... a) { f(a...); }
__global__ void changes(int *out, int v)
{
    v += threadIdx.x;
    atomicAdd(out, v);
}

static int launched_in_an_argument(int v)
{
    plain<<<1, 1>>>(total);
    return v;
}

int main(void)
{
    const int zero = 0, ints[4] = {1, 2, 3, 4};
    total = to_device(&zero, 1);
    int *in = to_device(ints, 4);

    plain<<<1, 1>>>(total);
    is_static<<<1, 1>>>(total);
    bounds_before_name<<<1, 1>>>(total);
    bounds_first<<<1, 1>>>(total);
    with_attribute<<<1, 1>>>(total);
    of_c<<<1, 1>>>(total);
    in_c<<<1, 1>>>(total);
    attribute_in_brackets<<<1, 1>>>(total);
    trailing<<<1, 1>>>(total);
    is_noexcept<<<1, 1>>>(total);
    declared_first<<<1, 1>>>(total);
    bounds_of_template<4><<<1, 1>>>(total);
    bounds_with_commas<4><<<1, 128>>>(total);
    only_large<<<1, 1>>>(total);
    outer::from_outside<<<1, 1>>>(total);
    outer::template_from_outside<<<1, 1>>>(total);
    outer::unnamed<<<1, 1>>>(total);
    SAME(added(), 19 + 4 * 128);
    holder<int, 5>::member<<<1, 1>>>(total);
    holder<int, 5>::member_template<2><<<1, 1>>>(total);
    SAME(added(), 12);

    over<<<1, 1>>>(total);
    over<<<1, 1>>>(total, 2);
    over<<<1, 1>>>(total, 2.0);
    over<<<1, 1>>>(total, in);
    SAME(added(), 1103);
    special<<<1, 1>>>(total, 1);
    special<<<1, 1>>>(total, 1.0f);
    special<<<1, 1>>>(total, 1.0);
    SAME(added(), 111);
    many<<<1, 1>>>(total, 1);
    many<int, 4><<<1, 1>>>(total, 1, 5, 6);
    SAME(added(), 4 + 18);
    of_templates<constant, int, 1, 2, 3><<<1, 1>>>(total);
    of_values<twice, 4><<<1, 1>>>(total);
    SAME(added(), 14);

    shapes<<<1, 1>>>(total, in, (int (*)[4])(in - 3), twice, {5}, 6, NULL, in, 0, {7, 8.0f, ""}, 9, 10, &T::n, nullptr);
    SAME(added(), 2 + 2 + 5 + 1 + 7 + 8 + 20 + 7 + 1);
    braced<<<1, 1>>>(total, {1, 2.0f, ""}, {2, 3}, 0);
    braced<<<{1, 1}, {2}>>>(total, {1}, 5, NULL, 6, 'b');
    SAME(added(), 12 + 2 * 15);
    nothing<<<1, 1>>>();
    nothing_at_all<<<1, 1>>>();
    of_class<<<1, 2>>>(total, 3);
    of_class<<<1, 2>>>(total, counted(4));
    SAME(added(), 14);
    call<<<1, 1>>>([=] __device__(int *out, int v) { atomicAdd(out, v); }, total, 5);
    changes<<<1, 4>>>(total, 10);
    SAME(added(), 51);
    over<<<1, 1>>>(total, launched_in_an_argument(3));
    SAME(added(), 4);

    void (*pointer)(int *) = plain, (*by_type)(int *, double) = over;
    pointer<<<1, 1>>>(total);
    by_type<<<1, 1>>>(total, 1);
    SAME(added(), 101);
    SAME((const void *)plain == (void *)pointer, 1);
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, plain));
    CHECK(cudaFuncSetAttribute(bounds_of_template<4>, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024));
    CHECK(cudaFuncSetAttribute((const void *)pointer, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024));
    return 0;
}
