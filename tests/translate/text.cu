// Text that only looks like CUDA, and C++ that a careless translator would break.

#include <map>
#include <string>
#include <vector>
#include "../right/right.h"

template <typename T> struct A {
    T v;
    static constexpr int depth = sizeof(T);
};
template <typename T> using nested = A<A<A<T>>>;
static std::vector<std::vector<A<A<int>>>> grid;
static std::map<int, std::vector<A<int>>> names{{1, {}}};

struct stream {
    int n;
    template <typename T> stream &operator<<(T v) { return n += v, *this; }
    template <typename T> friend stream operator>>(stream s, T v) { return s.n -= v, s; }
};

// extern __shared__ int comment[]; k<<<1, 1>>>(x);
/* __shared__ int comment; k<<<1, 1>>>(x); asm("nothing"); */
static const char *const quoted = "k<<<1, 1>>>(x); __shared__ int a; \" // not a comment \\";
static const char *const raw = R"x(
k<<<1, 1>>>(x); )" __shared__ int a; asm("mov");
# 999 "nowhere.cu" 3
)x";
static const char quotes[] = {'"', '\'', '\\', '{', u8'}', (char)L'('};
static const int digits = 1'000'000 + 0x1'0 + 0b1'0;
static const double exponents = 1e+3 + 0x1p-2 + .5e1 + 1.f;

__global__ void unrolled(int *out)
{
    int sum = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) sum += i;
#pragma unroll 2
    for (int i = 0; i < 4; i++) {
#pragma unroll (4)
        for (int j = 0; j < 4; j++) sum += j;
    }
    _Pragma("unroll") for (int i = 0; i < 4; i++) sum += i;
#pragma nounroll
    while (sum < 100) sum++;
#pragma unroll 1
    do sum++; while (sum < 103);
    asm volatile("" ::: "memory");
    __asm__ __volatile__("" : "+r"(sum));
    out[0] = sum;
}

enum class color : int { red, green };
enum { COUNT = (1 << 3) >> 1 };

static int line_of_call(void) { return __LINE__; }

int main(void)
{
    int a = 5, b = 3;
    grid.push_back({{{{7}}}});
    SAME(grid[0][0].v.v, 7);
    SAME(names.size(), 1);
    SAME(nested<char>::depth + A<A<A<int>>>::depth, 1 + 4);
    SAME(a >> 1 > b >> 1 ? 1 : 0, 1);
    SAME(a < b || a > (b), 1);
    stream s{0};
    s << a << (a < b) << b;
    s.operator<<<long>(2);
    SAME((s >> 1 >> 2).n, 7);
    SAME(std::string(quoted).size(), 54);
    SAME(std::string(raw).find("999"), 52);
    SAME(quotes[3], '{');
    SAME(digits, 1000018);
    SAME(exponents, 1006.25);
    SAME((int)color::green + COUNT, 5);
    auto [first, second] = std::pair<int, int>(1, 2);
    int array[2] = {[0] = 1, [1] = 2};
    SAME(first + second + array[1], 5);
    [[maybe_unused]] int unused[2][2] = {};
    int *out = to_device<int>(NULL, 1);
    unrolled<<<1, 1>>>(out);
    SAME(to_host(out, 1)[0], 103);
    SAME(line_of_call(), 56);
    return 0;
}
