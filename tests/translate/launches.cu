// Launches in every shape: what stands left of <<<, what stands inside, where the launch stands.

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

// Every thread adds: a wrong configuration shows, too.
__global__ void add(int *out, int v) { atomicAdd(out, v); }

__global__ void add_if(int *out, const int *condition, int v)
{
    if (condition)
        v += *condition;
    atomicAdd(out, v);
}

__global__ void defaults(int *out, int v = 7, double scale = 2.0) { atomicAdd(out, (int)(v * scale)); }

template <int A, int B, bool C> __global__ void sizes(int *out) { atomicAdd(out, C ? A + B : 0); }

template <typename T> __global__ void deduced(T *out, T v) { atomicAdd(out, v); }

template <typename T, typename U = int> struct pair {
    T first;
    U second;
};
template <typename T> struct size_of {
    static constexpr int value = sizeof(T);
    operator int() const { return value; }
};
template <typename T> int width_of(int) { return sizeof(T); }

template <typename T> __global__ void typed(int *out) { atomicAdd(out, (int)sizeof(T)); }

namespace outer {
namespace inner {
__global__ void add(int *out, int v) { atomicAdd(out, 100 * v); }
template <int N> __global__ void add_n(int *out) { atomicAdd(out, N); }
}  // namespace inner
}  // namespace outer

typedef void (*kernel)(int *, int);
static kernel chosen(int which) { return which ? outer::inner::add : add; }
static int times_chosen;
static kernel count_choices(void) { times_chosen++; return add; }

struct runner {
    kernel run;
    kernel table[2];
    int v;
    void by_name(int *out) { run<<<1, 2>>>(out, v); }
    void by_this(int *out)
    {
        this->run<<<1, 2>>>(out, this->v);
        this->table[v > 1]<<<1, 2>>>(out, v);
    }
    template <int N> void of_template(int *out) { outer::inner::add_n<N><<<1, N>>>(out); }
    template <typename T> static void static_launch(T *out) { deduced<<<1, 1>>>(out, T(v_of<T>())); }
    template <typename T> static int v_of() { return 3; }
};

template <typename T, int N> static void launch_all(T *out, int blocks)
{
    sizes<N, (N >> 1), true><<<blocks, N>>>(out);
    typed<pair<T, pair<T>>><<<blocks, 1>>>(out);
    auto later = [=](int threads) { sizes<N, N, (N > 2)><<<blocks, threads>>>(out); };
    later(1);
}

#define LAUNCH(k, blocks, threads, ...)         \
    do {                                        \
        k<<<(blocks), (threads)>>>(__VA_ARGS__); \
        CHECK(cudaGetLastError());              \
    } while (0)
#define IN_PARENTHESES(k, ...) (k)<<<1, 1>>>(__VA_ARGS__)

template <typename F> __global__ void call(int n, F f)
{
    if (threadIdx.x < n)
        f(threadIdx.x);
}

int main(void)
{
    const int zero = 0, n = 64;
    total = to_device(&zero, 1);

    add<<<1, 1>>>(total, 1);
    SAME(added(), 1);
    add <<< 2, 32 >>> (total, 1);
    SAME(added(), 64);
    add<<<n >> 5, 3 >> > (total, 1);
    SAME(added(), 6);
    add<<<dim3(2, 2), dim3{2, 2, 2}, 0, cudaStream_t(0)>>>(total, 1);
    SAME(added(), 32);
    add<<<1, 1, 0, NULL>>>(total, 1), add<<<1, 1>>>(total, 2);
    SAME(added(), 3);

    // On several lines.
    sizes<
        128,
        (256 >> 2),
        true
    >
    <<<
        dim3(1,
             2),
        n / 32
    >>>
    (
        total
    );
    SAME(added(), 4 * 192);

    // Inside: shifts, comparisons, templates that close in >>.
    add<<<n >> 5, n >> 4>>>(total, 1);
    SAME(added(), 2 * 4);
    add<<<1 << 1, (n>>2)>>>(total, 1);
    SAME(added(), 2 * 16);
    add<<<n < 3 ? 1 : 2, n > 3 ? 4 : 8>>>(total, 1);
    SAME(added(), 2 * 4);
    add<<<size_of<pair<int>>::value, size_of<pair<pair<int>>>() + 0>>>(total, 1);
    SAME(added(), 8 * 12);
    add<<<1, size_of<pair<pair<int>>>::value>>>(total, 1);
    SAME(added(), 12);
    add<<<1, width_of<pair<pair<int>>>(3)>>>(total, 1);
    SAME(added(), 12);
    add<<<[&] { return n < 65 ? 2 : 1; }(), 1>>>(total, 1);
    SAME(added(), 2);

    // Left of it.
    sizes<128, (n >> 2), true><<<1, 1>>>(total);
    SAME(added(), 144);
    sizes<n * 2, n - 1, !(n < 3)><<<1, 1>>>(total);
    SAME(added(), 191);
    typed<pair<int, pair<double>>><<<1, 1>>>(total);
    SAME(added(), 24);
    deduced<<<1, 3>>>(total, 5);
    SAME(added(), 15);
    deduced<int><<<1, 3>>>(total, 5.9);
    SAME(added(), 15);
    outer::inner::add<<<1, 1>>>(total, 1);
    ::outer::inner::add_n<5><<<1, 1>>>(total);
    ::add<<<1, 1>>>(total, 1);
    SAME(added(), 106);
    kernel pointer = add, pointers[2][2] = {{add, add}, {add, outer::inner::add}};
    pointer<<<1, 1>>>(total, 4);
    (*pointer)<<<1, 1>>>(total, 4);
    (&add)<<<1, 1>>>(total, 4);
    pointers[1][pointer == add]<<<1, 1>>>(total, 1);
    SAME(added(), 112);
    auto instance = sizes<1, 2, true>;
    instance<<<1, 1>>>(total);
    (sizes<1, 2, true>)<<<1, 1>>>(total);
    SAME(added(), 6);
    chosen(1)<<<1, 2>>>(total, 1);
    chosen(0)<<<1, 2>>>(total, 1);
    SAME(added(), 202);
    count_choices()<<<2, 32>>>(total, 1);
    SAME(added(), 64);
    SAME(times_chosen, 1);

    struct runner r = {add, {add, outer::inner::add}, 3}, *to_r = &r;
    r.run<<<1, 1>>>(total, 1);
    to_r->run<<<1, 1>>>(total, 1);
    to_r->table[1]<<<1, 1>>>(total, 1);
    SAME(added(), 102);
    r.by_name(total);
    r.by_this(total);
    r.of_template<4>(total);
    runner::static_launch(total);
    SAME(added(), 6 + 6 + 600 + 16 + 3);

    // Around it.
    launch_all<int, 8>(total, 2);
    SAME(added(), 2 * 8 * 12 + 2 * 12 + 2 * 16);
    LAUNCH(add, 2, 2, total, 1);
    LAUNCH((sizes<3, 4, true>), 1, 1, total);
    IN_PARENTHESES(deduced, total, 5);
    SAME(added(), 4 + 7 + 5);
    for (int i = 0; i < 3; i++) add<<<1, 1>>>(total, i);
    if (n > 3) add<<<1, 1>>>(total, 1);
    else add<<<1, 1>>>(total, 1000);
    n > 3 ? add<<<1, 1>>>(total, 1) : (void)0;
    switch (n) {
    case 64: add<<<1, 1>>>(total, 1);
    }
    SAME(added(), 6);
    if (n > 3) (add)<<<1, 1>>>(total, 1);
    if (n < 3);
    else (add)<<<1, 1>>>(total, 2);
    for (int i = 0; i < 3; i++) (*chosen(0))<<<1, 1>>>(total, 1);
    SAME(added(), 6);
    [=] { add<<<1, 1>>>(total, n); }();
    SAME(added(), 64);

    // Its arguments.
    defaults<<<1, 1>>>(total);
    defaults<<<1, 1>>>(total, 4);
    defaults<<<1, 1>>>(total, 4, 0.5);
    SAME(added(), 24);
    add_if<<<1, 1>>>(total, NULL, 2);
    add_if<<<1, 1>>>(total, nullptr, ((2), 2));
    add_if<<<1, 1>>>(total,
                     NULL, 1 << 2);
    SAME(added(), 8);
    int *out = total;
    call<<<1, 32>>>(20, [=] __device__(int i) { atomicAdd(out, i); });
    call<<<1, 32>>>(20, [out, n] __device__(int i) mutable -> void { atomicAdd(out, n); });
    SAME(added(), 190 + 20 * 64);
    return 0;
}
