// Device variables: each is recorded, and between any two lie at least 256 bytes that belong to none.

#include "../right/right.h"
#include <algorithm>
#include <vector>

extern "C" simt_symbol *__start_simt_symbols[], *__stop_simt_symbols[];

__device__ int a[64], *b = nullptr, c = 3, (*d)[2] = {nullptr}, deduced[] = {1, 2, 3};
static __device__ struct point { int x, y; } origin = {1, 2}, points[2] = {{3, 4}, {5, 6}};
__constant__ float weights[100], scale = 2;
__constant__ const int first_prime = 2, primes[] = {2, 3, 5};
__device__ int const twice_const = 4, also_const = 5;
__managed__ int managed, also_managed = 7;
alignas(64) __device__ char aligned;
__device__ static char unused_byte;
__device__ __align__(128) float aligned_more[2];
inline __device__ int inlined = 8;
extern __device__ int declared_only;
__device__ int declared_only = 9;
extern "C" __device__ int of_c = 10;
namespace {
__device__ int unnamed = 11;
}
struct owner {
    static __device__ int member;
    static __constant__ float table[2];
};
__device__ int owner::member = 12;
__constant__ float owner::table[2] = {13, 14};
template <typename A, typename B> struct two {
    A first;
    B second;
};
__device__ two<int, float> of_template = two<int, float>{1, 2}, second_of_template;

__device__ struct { int n; } nameless = {15}, also_nameless = {16};

template <int N> __device__ int in_template()
{
    static __device__ int counter[N];
    return atomicAdd(&counter[N - 1], 1);
}
inline __device__ int in_inline()
{
    static __device__ int calls = 20, step = 2;
    static __constant__ const int constant = 1;
    return atomicAdd(&calls, step) + constant;
}

__global__ void use(int *out)
{
    int sum = a[63] + (b == nullptr) + c + (d == nullptr) + deduced[2] + origin.y + points[1].x + (int)(weights[99] + scale);
    sum += first_prime + primes[2] + twice_const + also_const + managed + also_managed + aligned + (int)aligned_more[1];
    sum += inlined + declared_only + of_c + unnamed + owner::member + (int)owner::table[1] + of_template.first;
    out[0] = sum + (int)second_of_template.second + nameless.n + also_nameless.n;
    out[1] = in_template<3>() + in_template<3>() + in_template<4>() + in_inline() + in_inline();
}

static const simt_symbol *find(const std::vector<simt_symbol *> &all, const char *name)
{
    for (const simt_symbol *s : all)
        if (!strcmp(s->name, name)) return s;
    printf("%s is not recorded\n", name);
    exit(1);
}

#define RECORDED(NAME, LINE, KIND)                  \
    do {                                            \
        const simt_symbol *s = find(all, #NAME);    \
        SAME(s->address == (void *)&NAME, 1);       \
        SAME(s->bytes, sizeof(NAME));               \
        SAME(s->line, LINE);                        \
        SAME(s->kind, KIND);                        \
        SAME(strstr(s->file, "symbols.cu") != 0, 1); \
    } while (0)

int main(void)
{
    int *out = to_device<int>(NULL, 2);
    use<<<1, 1>>>(out);
    int *got = to_host(out, 2);
    SAME(got[0], 0 + 1 + 3 + 1 + 3 + 2 + 5 + 2 + 2 + 5 + 4 + 5 + 7 + 8 + 9 + 10 + 11 + 12 + 14 + 1 + 15 + 16);
    SAME(got[1], 0 + 1 + 0 + 21 + 23);

    std::vector<simt_symbol *> all(__start_simt_symbols, __stop_simt_symbols);
    RECORDED(a, 9, SIMT_DEVICE);
    RECORDED(b, 9, SIMT_DEVICE);
    RECORDED(c, 9, SIMT_DEVICE);
    RECORDED(d, 9, SIMT_DEVICE);
    RECORDED(deduced, 9, SIMT_DEVICE);
    RECORDED(points, 10, SIMT_DEVICE);
    RECORDED(weights, 11, SIMT_CONSTANT);
    RECORDED(scale, 11, SIMT_CONSTANT);
    RECORDED(primes, 12, SIMT_CONSTANT);
    RECORDED(also_const, 13, SIMT_DEVICE);
    RECORDED(also_managed, 14, SIMT_MANAGED);
    RECORDED(unused_byte, 16, SIMT_DEVICE);
    RECORDED(inlined, 18, SIMT_DEVICE);
    RECORDED(declared_only, 20, SIMT_DEVICE);
    RECORDED(of_c, 21, SIMT_DEVICE);
    RECORDED(unnamed, 23, SIMT_DEVICE);
    SAME(find(all, "member")->address == (void *)&owner::member, 1);
    SAME(find(all, "table")->kind, SIMT_CONSTANT);
    SAME(find(all, "second_of_template")->bytes, 8);
    SAME((size_t)&aligned % 64 + (size_t)&aligned_more % 128, 0);
    SAME(all.size(), 28);

    std::sort(all.begin(), all.end(), [](simt_symbol *x, simt_symbol *y) { return x->address < y->address; });
    for (size_t i = 1; i < all.size(); i++) {
        bool in_constants = strstr(" first_prime primes twice_const also_const ", all[i]->name) != 0;
        long space = (char *)all[i]->address - (char *)all[i - 1]->address - (long)all[i - 1]->bytes;
        if (space < 256 && !in_constants) {
            printf("%ld bytes between %s and %s\n", space, all[i - 1]->name, all[i]->name);
            return 1;
        }
    }
    return 0;
}
