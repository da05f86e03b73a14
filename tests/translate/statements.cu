// Every kind of loop as the one statement behind every head: what the translator writes into a kernel must leave it one.
// The host's function, which it leaves alone, says what each should do.
#include "../right/right.h"

__host__ __device__ bool step(int *t, int *n)
{
    *n += 3;
    return --*t > 0;
}

#define HEADS(L) \
    C(if (c) L else n += 100;) \
    C(if (!c) n += 50; else L) \
    C(for (int j = 0; j < 2; j++) L) \
    C(while (c--) L) \
    C(if (t) if (c) L else n += 7; else n += 9;) \
    C(here: L if (c-- > 0) goto here;) \
    C(switch (c) { case 1 ? 2 : 3: n++; case 1: L break; default: L }) \
    C(switch (c) default: L) \
    C(if (c) for (int j = 0; j < 2; j++) if (j) L else n++;) \
    C(do L while (c-- > 0);) \
    C(if (c) { L } else L) \
    C({ L }) \
    C(if (int m = c; m) while (m--) L else L) \
    C(if constexpr (sizeof(int) == 4) L else n += 100;) \
    C(for (int j : {1, 2}) if (j > c) L) \
    C(for (auto f = [](int i) { do i--; while (i > 2); return i; }; f(c) > n; n++) L)

#define ALL \
    HEADS(do n += 3; while (--t > 0);) \
    HEADS(do { n += 3; } while (--t > 0);) \
    HEADS(do ; while (step(&t, &n));) \
    HEADS(do {} while (step(&t, &n));) \
    HEADS(do { continue; } while (step(&t, &n));) \
    HEADS(while (step(&t, &n));) \
    HEADS(while (step(&t, &n)) {}) \
    HEADS(while (step(&t, &n)) { ; { } continue; }) \
    HEADS(while (step(&t, &n)) continue;) \
    HEADS(for (; step(&t, &n););) \
    HEADS(for (; step(&t, &n);) {}) \
    HEADS(do if (t & 1) n++; else n += 2; while (--t > 0);) \
    HEADS(do do n++; while (n % 3); while (--t > 0);) \
    HEADS(do while (++n % 4); while (--t > 0);) \
    HEADS(do for (int i = 0; i < 2; i++) n++; while (--t > 0);) \
    HEADS(do switch (t) case 1: n += 5; while (--t > 0);) \
    HEADS(do { do ; while (step(&t, &n)); } while (t > 0);) \
    HEADS(do n++; while ([&] { do t--; while (t % 2); return t > 0; }());) \
    HEADS(while ([&] { while (--t > 4); return t > 0; }()) n++;) \
    HEADS(do [&] { if (t) do n++; while (n % 5); }(); while (--t > 0);) \
    HEADS(do [[maybe_unused]] int i = n++; while (--t > 0);)

#define C(...) out[cases++] = [=]() mutable { int n = 0; __VA_ARGS__ return 100 * n + t; }();
#define MOST 512

static int on_the_host(int *out, int c, int t)
{
    int cases = 0;
    ALL return cases;
}

__global__ void on_the_device(int *out, int c, int t)
{
    int cases = 0;
    ALL out[cases] = -1;
}

// What a loop with nothing in it does while a constant is computed.
__host__ __device__ constexpr int digits(int n)
{
    int r = 1;
    for (; n /= 10; r++)
        ;
    do
        ;
    while (n > 10);
    return r;
}

__global__ void constants(int *out)
{
    __shared__ int room[digits(12345)];
    static_assert(sizeof room == 20, "five digits");
    out[0] = digits(threadIdx.x + 100);
}

__global__ void handshake(volatile int *flag, int *out)
{
    if (threadIdx.x < 32)
        do
            ;
        while (*flag == 0);
    else if (threadIdx.x < 64)
        *flag = 1;
    else if (threadIdx.x < 96)
        while (*flag == 0)
            continue;
    else
        do {
            if (*flag)
                break;
        } while (true);
    out[threadIdx.x] = 1;
}

int main()
{
    static int want[MOST];
    int *out = to_device<int>(NULL, MOST), *flag = to_device<int>(NULL, 1);
    for (int c = 0; c < 4; c++) {
        int n = on_the_host(want, c, 5 + c);
        on_the_device<<<1, 1>>>(out, c, 5 + c);
        for (int i = 0; i < n; i++)
            SAME(to_host(out, n + 1)[i], want[i]);
        SAME(to_host(out, n + 1)[n], -1);
    }
    constants<<<1, 1>>>(out);
    SAME(to_host(out, 1)[0], 3);
    CHECK(cudaMemset(flag, 0, 4));
    handshake<<<1, 128>>>(flag, out);
    SAME(to_host(out, 128)[0] + to_host(out, 128)[64] + to_host(out, 128)[96], 3);
    return 0;
}
