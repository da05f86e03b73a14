// Structs with bytes that belong to no member: set by their members, copied whole. And structs that functions return.
#include <string.h>
#include "right.h"

struct mixed {
    double d;
    float f;
    char c;
};  // three bytes at the end
struct holes {
    char a;
    int b;
    char c;
    double d;
};
struct nested {
    holes h[2];
    short s;
};
struct three {
    char a, b, c;
};
struct four {
    int v[4];
};
struct alignas(16) wide {
    float x, y, z;
};  // four bytes at the end
union number {
    char c;
    double d;
};

__device__ __noinline__ four load(const four *a) { return *a; }
__device__ __noinline__ mixed make(double d) { return {d, (float)d + 1, 'm'}; }
__device__ nested kept;

__global__ void shared_to_global(mixed *out)
{
    __shared__ mixed s[32];
    int t = threadIdx.x;
    s[t].d = t;
    s[t].f = t + 1;
    s[t].c = t + 2;
    __syncthreads();
    out[t] = s[t ^ 1];
}

__global__ void set_members(holes *a)
{
    int t = threadIdx.x;
    a[t].a = t;
    a[t].b = 2 * t;
    a[t].c = 3;
    a[t].d = 4 * t;
}

__global__ void copy(const holes *a, holes *b) { b[threadIdx.x] = a[threadIdx.x]; }

__global__ void copy_bytes(const holes *a, holes *b) { memcpy(&b[threadIdx.x], &a[threadIdx.x], sizeof(holes)); }

__global__ void through_shared(const holes *a, int *out)
{
    __shared__ holes tile[32];
    int t = threadIdx.x;
    tile[t] = a[t];
    __syncthreads();
    holes h = tile[31 - t];
    out[t] = h.a + h.b + h.c + (int)h.d;
}

__global__ void bytes_through_shared(const holes *a, int *out)
{
    __shared__ holes tile[32];
    int t = threadIdx.x;
    memcpy(&tile[t], &a[t], sizeof(holes));
    __syncthreads();
    out[t] = tile[31 - t].b;
}

__global__ void nest(nested *a, nested *b)
{
    nested n;
    for (int i = 0; i < 2; i++) {
        n.h[i].a = 1;
        n.h[i].b = 2;
        n.h[i].c = 3;
        n.h[i].d = 4;
    }
    n.s = 5;
    a[threadIdx.x] = n;
    __syncthreads();
    b[threadIdx.x] = a[threadIdx.x ^ 1];
    if (threadIdx.x == 0)
        kept = b[0];
}

__global__ void odd_size(three *a, three *b)
{
    __shared__ three tile[32];
    int t = threadIdx.x;
    tile[t] = {(char)t, (char)(t + 1), (char)(t + 2)};
    __syncthreads();
    a[t] = tile[t ^ 1];
    b[t] = a[t];
}

__global__ void returned(const four *in, four *out)
{
    extern __shared__ __align__(16) char memory[];
    four *s = reinterpret_cast<four *>(memory);
    int t = threadIdx.x;
    s[t] = load(in + t);
    __syncthreads();
    out[t] = s[31 - t];
}

__global__ void returned_with_padding(mixed *out)
{
    __shared__ mixed s[32];
    int t = threadIdx.x;
    s[t] = make(t);
    __syncthreads();
    out[t] = s[31 - t];
}

__global__ void aligned(wide *a, wide *b)
{
    int t = threadIdx.x;
    a[t].x = t;
    a[t].y = t;
    a[t].z = t;
    b[t] = a[t];
}

__global__ void local_array(const mixed *in, mixed *out)
{
    mixed list[4];
    for (int i = 0; i < 4; i++) {
        list[i].d = i;
        list[i].f = in[i].f;
        list[i].c = 1;
    }
    out[threadIdx.x] = list[threadIdx.x % 4];
}

__global__ void unions(number *a, number *b)
{
    a[threadIdx.x].d = threadIdx.x;
    b[threadIdx.x] = a[threadIdx.x];
}

int main()
{
    mixed *m = to_device<mixed>(NULL, 32), *m2 = to_device<mixed>(NULL, 32);
    shared_to_global<<<1, 32>>>(m);
    SAME(to_host(m, 32)[4].f, 6);
    holes *a = to_device<holes>(NULL, 32), *b = to_device<holes>(NULL, 32);
    set_members<<<1, 32>>>(a);
    copy<<<1, 32>>>(a, b);
    SAME(to_host(b, 32)[7].d, 28);
    copy_bytes<<<1, 32>>>(a, b);
    CHECK(cudaMemcpy(a, b, 32 * sizeof(holes), cudaMemcpyDeviceToDevice));
    int *out = to_device<int>(NULL, 32);
    through_shared<<<1, 32>>>(a, out);
    SAME(to_host(out, 32)[30], 1 + 2 + 3 + 4);
    bytes_through_shared<<<1, 32>>>(a, out);
    SAME(to_host(out, 32)[30], 2);
    nested *n = to_device<nested>(NULL, 32), *n2 = to_device<nested>(NULL, 32);
    nest<<<1, 32>>>(n, n2);
    SAME(to_host(n2, 32)[9].s, 5);
    three *t = to_device<three>(NULL, 32), *t2 = to_device<three>(NULL, 32);
    odd_size<<<1, 32>>>(t, t2);
    SAME(to_host(t2, 32)[31].c, 32);
    four host[32] = {}, *f = to_device(host, 32), *f2 = to_device<four>(NULL, 32);
    returned<<<1, 32, 32 * sizeof(four)>>>(f, f2);
    SAME(to_host(f2, 32)[3].v[2], 0);
    returned_with_padding<<<1, 32>>>(m2);
    SAME(to_host(m2, 32)[31].f, 1);
    wide *w = to_device<wide>(NULL, 32), *w2 = to_device<wide>(NULL, 32);
    aligned<<<1, 32>>>(w, w2);
    SAME(to_host(w2, 32)[5].z, 5);
    local_array<<<1, 32>>>(m2, m);
    SAME(to_host(m, 32)[6].d, 2);
    number *u = to_device<number>(NULL, 32), *u2 = to_device<number>(NULL, 32);
    unions<<<1, 32>>>(u, u2);
    SAME(to_host(u2, 32)[8].d, 8);
    return 0;
}
