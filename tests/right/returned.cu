// Structs that functions and operators return, stored at once: every form of the assignment, every size of the struct.
// And assignments that only look like one of these: they compile, and mean, what they did.
#include <initializer_list>
#include <utility>
#include "right.h"

template <typename T, int N> struct many {
    T v[N];
};
struct four : many<int, 4> {
    __device__ four operator+(const four &other) const;
    __device__ four operator-() const;
};
struct pair {
    four a;
    int b;
};
struct flags {
    unsigned low : 4, high : 28;
};
struct moved_only {
    int v;
    __device__ moved_only(int i) : v(i) {}
    moved_only(const moved_only &) = delete;
    __device__ moved_only(moved_only &&other) : v(other.v) { other.v = 0; }
    __device__ moved_only &operator=(moved_only &&other);
};
struct fixed {  // it can be assigned, but neither copied nor moved
    int v;
    __device__ fixed(int i) : v(i) {}
    fixed(const fixed &) = delete;
    __device__ fixed &operator=(const fixed &other);
};
struct copied {  // it counts its copies, and is assigned member by member
    int v, copies;
    __device__ copied(int i) : v(i), copies(0) {}
    __device__ copied(const copied &other) : v(other.v), copies(other.copies + 1) {}
    copied &operator=(const copied &) = default;
};
struct summed {
    int v;
    __device__ summed &operator=(std::initializer_list<int> list);
};
struct reader {
    const four *base;
    __device__ four get(int i) const;
    template <int K> __device__ four next(int i) const;
    __device__ four operator[](int i) const;
    __device__ four operator()(int i) const;
    __device__ four operator*() const;
};
struct writer {
    four *to;
    __device__ void put(int i, const reader &from);
    __device__ void put_hidden(int i, const four *in);
};
enum colour { RED, GREEN };

template <typename T> __device__ __noinline__ T load(const T *a) { return *a; }
template <typename T, int K> __device__ __noinline__ T load_next(const T *a) { return a[K]; }
__device__ __noinline__ four negated(four f)
{
    for (int &v : f.v)
        v = -v;
    return f;
}
__device__ __noinline__ four &at(four *a, int i) { return a[i]; }
__device__ __noinline__ flags &flags_at(flags *a, int i) { return a[i]; }
__device__ __noinline__ int twice(int i) { return 2 * i; }
__device__ __noinline__ float twice(float f) { return 2 * f; }
__device__ __noinline__ int overwrite(int i)
{
    volatile int stack[64];
    for (int k = 0; k < 64; k++)
        stack[k] = i;
    return stack[i];
}
template <typename T> __device__ __noinline__ T load_number(T i) { return i; }
__device__ __noinline__ const char *word(int i) { return i ? "one" : "zero"; }
__device__ __noinline__ moved_only make_moved(int i) { return moved_only(i); }
__device__ __noinline__ fixed make_fixed(int i) { return fixed(i); }
__device__ __noinline__ copied make_copied(int i) { return copied(i); }
__device__ __noinline__ colour other(colour c) { return c == RED ? GREEN : RED; }
__host__ __device__ constexpr int squared(int i) { return i * i; }

__device__ __noinline__ four four::operator+(const four &other) const
{
    four sum = *this;
    for (int i = 0; i < 4; i++)
        sum.v[i] += other.v[i];
    return sum;
}
__device__ __noinline__ four four::operator-() const { return negated(*this); }
__device__ __noinline__ moved_only &moved_only::operator=(moved_only &&other)
{
    v = other.v;
    other.v = 0;
    return *this;
}
__device__ __noinline__ fixed &fixed::operator=(const fixed &other)
{
    v = other.v;
    return *this;
}
__device__ __noinline__ summed &summed::operator=(std::initializer_list<int> list)
{
    v = 0;
    for (int i : list)
        v += i;
    return *this;
}
__device__ __noinline__ four reader::get(int i) const { return base[i]; }
template <int K> __device__ __noinline__ four reader::next(int i) const { return base[i + K]; }
__device__ __noinline__ four reader::operator[](int i) const { return base[i]; }
__device__ __noinline__ four reader::operator()(int i) const { return base[i]; }
__device__ __noinline__ four reader::operator*() const { return base[0]; }
__device__ void writer::put(int i, const reader &from)
{
    this->to[i] = from.get(i);
    to[i] = from(i);
}

__device__ void writer::put_hidden(int i, const four *in)
{
    {
        four to;
        to = load(in);
    }
    auto &mine = to[i];
    mine = load(in + i);
}

// ---- sizes ----

template <typename T> __global__ void of_size(const T *in, T *out)
{
    __shared__ T s[32];
    int t = threadIdx.x;
    s[t] = load(in + t);
    __syncthreads();
    out[t] = load<T>(&s[31 - t]);
}

template <typename T> static void try_size(void)
{
    T host[32];
    for (int i = 0; i < 32; i++)
        for (auto &v : host[i].v)
            v = i;
    T *in = to_device(host, 32), *out = to_device<T>(NULL, 32);
    of_size<<<1, 32>>>(in, out);
    finish();
    auto got = to_host(out, 32);
    for (int i = 0; i < 32; i++)
        for (auto &v : got[i].v)
            SAME(v, 31 - i);
}

// ---- forms ----

enum { FORMS = 25 };

__global__ void forms(const four *in, four *out, bool no, int one)
{
    __shared__ four s[FORMS][32];
    __shared__ pair p[32];
    extern __shared__ __align__(16) char memory[];
    four *dynamic = reinterpret_cast<four *>(memory);
    int t = threadIdx.x, n = 0, i;
    reader r{in};
    writer w{dynamic};
    four got[2];
    auto lambda = [=](int k) { return load(in + k); };
    four (*function)(const four *) = load<four>;

    s[n++][t] = load(in + t);
    s[n++][t] = r.get(t);
    s[n++][t] = r[t] + negated(negated(*r)) + -*r;
    s[n++][t] = no ? negated(in[t]) : load(in + t);
    s[n++][t] = (twice(1), load(in + t));
    s[n][t] = s[n + 1][t] = load(in + t);
    n += 2;
    four &reference = s[n++][t];
    reference = load(in + t);
    p[t].a = load(in + t);
    s[n++][t] = p[t].a;
    (&p[t])->a = r(t);
    s[n++][t] = at(&p[t].a, 0);
    at(s[n++], t) = load(in + t);
    *(s[n++] + t) = static_cast<four>(load(in + t));
    s[n++][t] = {load(in + t)};
    s[n++][t] = four{load(in + t)};
    p[t] = {load(in + t), twice(t)};
    s[n++][t] = p[t].a;
    for (i = 0, s[n][t] = negated(in[t]); i < one; i++, s[n][t] = load(in + t)) {
    }
    n++;
    if ((s[n][t] = load(in + t)).v[0] == t)
        n++;
    s[n++][t] = lambda(t);
    s[n++][t] = [&] { return load(in + t); }();
    s[n++][t] = function(in + t);
    s[n++][t] = load_next<four, 0>(in + t);
    s[n++][t] = r.next<0>(t);
    w.put(t, r);
    s[n][t] = at(dynamic, t);
    got[0] = load(&s[n++][t]);
    auto store = [&](int k) {
        s[k][t] = got[0];
        s[k][t] = load(in + t);
    };
    store(n - 1);
    writer{s[n++]}.put_hidden(t, in);
    four mine;
    s[n++][t] = mine = load(in + t);
    __syncthreads();
    if (n != FORMS)
        __trap();
    for (i = 0; i < FORMS; i++)
        out[FORMS * t + i] = load(&s[i][31 - t]);
}

// The same words with several meanings: a variable in shared memory, a member of it, a variable of the thread's.
struct holder {
    four v, *link;
    __device__ void set(const four *in) { v = load(in); }
};

__device__ four global;

__global__ void variables(const four *in, four *out)
{
    __shared__ four total;
    __shared__ holder h;
    if (threadIdx.x == 0) {
        total = load(in + 1);
        h.set(in + 2);
        global = load(in + 3);
    }
    __syncthreads();
    four v = total;
    v = v + h.v;
    out[threadIdx.x] = global + v;
}

// ---- what only looks like it ----

template <typename T> __device__ T dependent(T a, T b)
{
    T c, d = twice(a);
    c = twice(b);
    return c = d + twice(c);
}

__global__ void look_alikes(flags *f, int *out, const four *in)
{
    enum { NINE = squared(3), TEN = NINE + 1 };
    static constexpr int sixteen = squared(4);
    flags other_flags{};
    int n = 0, x, y = twice(1), list[2] = {twice(2), (x = twice(3))};
    const four &kept = load(in);
    const char *text;
    float scale;
    int (*chosen)(int);
    int(&row)[2] = list;
    int *p;
    colour c = RED;
    moved_only m(1);
    fixed fx(1);
    copied cp(1);
    summed sum;
    volatile int v;
    auto with_capture = [z = twice(y), w = at(const_cast<four *>(in), 1)](int k = squared(2)) {
        return z + w.v[0] + k;
    };

    flags_at(f, 0).low = twice(3);
    f[0].high = flags_at(f, 0).low;
    other_flags.low = (twice(1), f[0].high);
    out[n++] = other_flags.low;                         // 6
    out[n++] = x = twice(x);                            // 12
    out[n++] = x < y, n += twice(0), x = twice(1) > 0;  // 0
    x += twice(1);
    x <<= squared(1);
    x -= twice(1);
    out[n++] = x;  // 4
    p = (twice(1), row);
    out[n++] = p[0];  // 4
    p = twice(1) ? nullptr : p;
    out[n++] = p == nullptr;  // 1
    text = word(1);
    out[n++] = text[0];  // 'o'
    scale = twice(1.5f);
    out[n++] = (int)scale;  // 3
    chosen = twice;
    chosen = &load_number<int>;
    chosen = (load_number<int>);
    chosen = squared(1) ? static_cast<int (*)(int)>(twice) : nullptr;
    out[n++] = chosen(5);  // 10
    c = other(c);
    out[n++] = c;  // 1
    m = make_moved(7);
    m = std::move(m);
    m = make_moved(8);
    out[n++] = m.v;  // 8
    fx = make_fixed(9);
    out[n++] = fx.v;  // 9
    cp = make_copied(3);
    out[n++] = 10 * cp.v + cp.copies;  // 30
    sum = {twice(1), twice(2)};
    out[n++] = sum.v;  // 6
    sum = {twice(4)};
    out[n++] = sum.v;  // 8
    v = twice(10);
    out[n++] = v;                                           // 20
    out[n++] = with_capture() + kept.v[0];                  // 4 + 1 + 4
    out[n++] = dependent(1, 2) + (int)dependent(1.f, 2.f);  // 20
    out[n++] = NINE + TEN + sixteen;                        // 35
    if (int z = twice(3))
        out[n++] = z;  // 6
    while ((x = twice(x)) < 100)
        ;
    out[n++] = x;  // 128
    switch (x = twice(2)) {
    case squared(2): x = twice(x);
    default: y = twice(x);
    }
    out[n++] = y;  // 16
    switch (y) {
    case true ? 16:
        0 : const four &first = load(in);
    last:
        four &&second = load(in + 1);
        [[maybe_unused]] ::four &&third = load(in + 2);
        decltype(in[0]) fourth = load(in + 3);
        typename std::remove_const<const four>::type &&fifth = load(in + 4);
        for (const four &sixth = load(in + 5);;) {
            overwrite(12);
            out[n++] = first.v[0] + second.v[1] + third.v[2] + fourth.v[3] + fifth.v[0] + sixth.v[0];  // 15
            break;
        }
        if (n < 0)
            goto last;
    }
    x = y < 3 ? y = twice(1) : twice(4);
    y == 16 ? y = twice(3) : x = twice(0);
    out[n++] = 10 * x + y;  // 86
}

int main()
{
    try_size<many<short, 1>>();
    try_size<many<char, 3>>();
    try_size<many<int, 2>>();
    try_size<many<float, 3>>();
    try_size<many<int, 4>>();
    try_size<many<double, 2>>();
    try_size<many<double, 3>>();
    try_size<many<long long, 8>>();
    try_size<many<int, 31>>();

    four host[32] = {};
    for (int i = 0; i < 32; i++)
        for (int &v : host[i].v)
            v = i;
    four *in = to_device(host, 32), *out = to_device<four>(NULL, 32 * FORMS);
    forms<<<1, 32, 32 * sizeof(four)>>>(in, out, false, 1);
    finish();
    auto got = to_host(out, 32 * FORMS);
    for (int i = 0; i < 32 * FORMS; i++)
        for (int v : got[i].v)
            SAME(v, 31 - i / FORMS);

    variables<<<1, 32>>>(in, out);
    SAME(to_host(out, 32)[31].v[3], 1 + 2 + 3);

    const int want[] = {6, 12, 0, 4, 4, 1, 'o', 3, 10, 1, 8, 9, 30, 6, 8, 20, 9, 20, 35, 6, 128, 16, 15, 86};
    const int n = sizeof want / sizeof *want;
    flags no_flags[1] = {};
    flags *f = to_device(no_flags, 1);
    int *numbers = to_device<int>(NULL, n);
    look_alikes<<<1, 1>>>(f, numbers, in);
    finish();
    auto found = to_host(numbers, n);
    for (int i = 0; i < n; i++)
        SAME(found[i], want[i]);
    return 0;
}
