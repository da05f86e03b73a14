// Inline PTX that does nothing: only the operands are seen, each once. And assembly that is the host's.

#include "../right/right.h"

static __device__ int next(int *count) { return ++*count; }
__device__ int *same(int *p, int *count)
{
    ++*count;
    return p;
}

template <typename T> __device__ T through(T v)
{
    T in = v;
    asm("" : "+r"(in));
    asm volatile("// a comment\n\t/* and another */" : [in] "+r"(in) : [v] "r"(v), "n"(sizeof(T)) : "memory");
    return in;
}

__global__ void use(int *out)
{
    __shared__ int s[2];
    int count = 0, a = 5, unwritten = 6;
    volatile int v = 7;
    const int constant = 8;
    s[1] = 9;
    asm volatile("" ::: "memory");
    asm volatile("");
    asm volatile("" : : : "memory");
    asm volatile(
        "{\n\t"
        ".reg .pred p;\n\t"
        "}"
        : "+r"(*same(&a, &count)), "+r"(v)
        : "r"(next(&count)), "l"(out), "r"(s[1]), "f"((float)constant) "h"((short)3), "n"(-1));  // no comma: nvcc is content
    if (a == 5) asm volatile("// nothing");
    else __asm__ __volatile__("bar.sync 0;");
    if (a != 5) asm volatile("mov.u32 %0, %%laneid;" : "=" "r"(unwritten));
    auto lambda = [&](int i) {
        asm("" : "+r"(i) : "r"(count));
        return i;
    };
    asm("" : "+r"(s[0 * a + 1]));
    out[0] = count + a + v + lambda(1) + through(2) + through(3u) + s[1] + unwritten;
}

static int on_host(int i)
{
    asm("" : "+r"(i));
    return i;
}

int main(void)
{
    int *out = to_device<int>(NULL, 1);
    use<<<1, 1>>>(out);
    SAME(to_host(out, 1)[0], 2 + 5 + 7 + 1 + 2 + 3 + 9 + 6);
    SAME(on_host(3), 3);
    return 0;
}
