// __device__, __constant__ and __managed__: which are functions, which are variables.

#include "../right/right.h"

template <typename T, int N = 2> struct box {
    T data[N];
    static const int bound = N;
    static constexpr int twice = 2 * N;
    T lead;
    __host__ __device__ explicit constexpr box(T first) : data{first}, lead(first) {}
    constexpr __device__ box() : data{}, lead{} {}
    __device__ ~box() = default;
    __device__ box(const box &) = default;
    __device__ box &operator=(const box &) = default;
    __device__ T operator()(int i) const { return data[i]; }
    __device__ bool operator<(const box &other) const { return data[0] < other.data[0]; }
    __device__ operator T() const { return data[0]; }
    __host__ __device__ T &operator[](int i) { return data[i]; }
    friend __device__ T first(const box &b) { return b.data[0]; }
    template <typename U> __device__ U as() const { return (U)data[0]; }
    __device__ auto begin() -> T * { return data; }
};

__device__ int plain, with_value = 3, several[2] = {1, 2}, *to_plain;
static __device__ float table[4][2] = {{1, 2}, {3}};
__device__ static unsigned char bytes[3];
extern __device__ int declared;
__device__ int declared = 4;
__device__ const float ratio = 0.5f;
__device__ const int primes[3] = {2, 3, 5};
const __device__ int first_const = 1;
__device__ constexpr int squares[] = {0, 1, 4};
__device__ const int *to_const;
__device__ int *const const_pointer = nullptr;
__constant__ float coefficients[16];
__constant__ struct { int a; float b; } settings = {1, 2.0f};
__device__ __constant__ int limit = 6;
static __constant__ const int fixed_limit = 7;
__device__ __managed__ int shared_by_both = 8;
__managed__ int also_shared;
__device__ box<int, (3 > 2) ? 3 : 1> boxed;
__device__ box<box<int>> boxes[2];
__device__ struct point { int x, y; } origin = {1, 2};
__device__ __align__(16) float aligned[4];
alignas(32) __device__ char also_aligned[32];
__device__ volatile int flag;
__device__ int braces{9};
__device__ float2 made(1.5f, 2.5f);
__device__ unsigned long long int
    on_two_lines[2] = {10,
                       11};
static inline __device__ int inlined = 12;
namespace {
__device__ int unnamed = 13;
}
namespace named {
__device__ int of_namespace = 14;
struct counted {
    static __device__ int get() { return 15; }
};
}  // namespace named
extern "C" {
__device__ int of_c = 16;
__device__ int function_of_c(int i) { return i; }
}

__device__ int add(int a, int b) { return a + b; }
__device__ int subtract(int a, int b) { return a - b; }
__device__ int (*function)(int, int) = add;
__device__ int (*functions[2])(int, int) = {add, subtract};
__device__ int (*choose(int i))(int, int) { return functions[i]; }
__device__ int (&row(int i))[2];
__device__ int rows[2][2] = {{1, 2}, {3, 4}};
__device__ int (&row(int i))[2] { return rows[i]; }
__device__ inline auto trailing(int i) -> int { return i + 1; }
__device__ decltype(1.0f) of_type() { return 2; }
__host__ __device__ constexpr int both_sides(int i) { return 2 * i; }
__forceinline__ __device__ int forced(int i) { return i; }
__noinline__ __device__ int never_inlined(int i) { return i; }
template <typename T, int N = (3 > 2)> __device__ T of_template(T v) { return v + N; }
template <> __device__ float of_template<float>(float v) { return v; }
__device__ box<int> returns_box(int i) { return box<int>(i); }
__device__ void no_parameters(void) {}
__device__ [[nodiscard]] int nodiscarded(int i) { return i; }
__device__ int only_declared(int);
__device__ int only_declared(int i) { return i; }

template <typename F> __device__ int apply(F f) { return f(3); }

__device__ int counter()
{
    static __device__ int calls = 20;
    static __constant__ int step[1] = {2};
    return atomicAdd(&calls, step[0]);
}

__global__ void use(int *out)
{
    box<int> b(4), smaller(3);
    auto lambda = [] __device__(int i) { return i + 1; };
    auto captured = [=] __device__ __host__(int i) -> int { return i + b.lead; };
    no_parameters();
    plain = 1;
    to_plain = &plain;
    to_const = primes;
    bytes[2] = 2;
    boxed[2] = 5;
    boxes[1][0][1] = 6;
    flag = 7;
    also_shared = 8;
    aligned[3] = 3;
    also_aligned[31] = 4;
    int sum = *to_plain + with_value + several[1] + table[1][0] + bytes[2] + declared + (int)(2 * ratio) + to_const[2];
    out[0] = sum + first_const + squares[2] + (const_pointer == nullptr) + settings.b + limit + fixed_limit;
    out[1] = coefficients[15] + shared_by_both + boxed[2] + boxes[1][0][1] + origin.y + aligned[3] + also_aligned[31] + flag +
             braces + made.x * 2 + on_two_lines[1] + inlined + unnamed + named::of_namespace + named::counted::get() + of_c;
    out[2] = function(1, 2) + choose(1)(5, 2) + row(1)[1] + trailing(1) + of_type() + both_sides(4) + forced(1) +
             never_inlined(1) + of_template(3) + (int)of_template(2.0f) + returns_box(4)(0) + nodiscarded(1) +
             only_declared(1) + function_of_c(1);
    out[3] = apply(lambda) + captured(1) + (smaller < b) + (int)b + first(b) + b.as<int>() + b.begin()[0] + box<int, 3>::bound +
             box<int, 3>::twice + counter() + counter();
}

int main(void)
{
    float c[16] = {};
    c[15] = 15;
    CHECK(cudaMemcpyToSymbol(coefficients, c, sizeof(c)));
    int *out = to_device<int>(NULL, 4);
    use<<<1, 1>>>(out);
    int *got = to_host(out, 4);
    SAME(got[0], 1 + 3 + 2 + 3 + 2 + 4 + 1 + 5 + 1 + 4 + 1 + 2 + 6 + 7);
    SAME(got[1], 15 + 8 + 5 + 6 + 2 + 3 + 4 + 7 + 9 + 3 + 11 + 12 + 13 + 14 + 15 + 16);
    SAME(got[2], 3 + 3 + 4 + 2 + 2 + 8 + 1 + 1 + 4 + 2 + 4 + 1 + 1 + 1);
    SAME(got[3], 4 + 5 + 1 + 4 + 4 + 4 + 4 + 3 + 6 + 20 + 22);
    SAME(also_shared + shared_by_both, 16);
    int value;
    CHECK(cudaMemcpyFromSymbol(&value, inlined, sizeof(int)));
    SAME(value, 12);
    box<int> on_host(3);
    SAME(on_host[0], 3);
    return 0;
}
