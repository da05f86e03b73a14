// Structs that functions and operators return are stored beyond the end, in every form of the assignment. The first
// argument picks the kernel; `expect NAME: KIND` marks the line that the report must name.
#include <string.h>

template <typename T, int N> struct many {
    T v[N];
};
struct four {
    int v[4];
    __device__ four operator+(const four &other) const;
};
struct reader {
    const four *base;
    __device__ four get(int i) const;
    __device__ four operator[](int i) const;
};
struct pair {
    four a, b;
};

template <typename T> __device__ __noinline__ T load(const T *a) { return *a; }
__device__ __noinline__ four four::operator+(const four &other) const { return {v[0] + other.v[0], v[1], v[2], v[3]}; }
__device__ __noinline__ four reader::get(int i) const { return base[i]; }
__device__ __noinline__ four reader::operator[](int i) const { return base[i]; }

// ---- sizes: the array has room for 32 bytes ----

__global__ void of_4(const many<short, 2> *in, many<short, 2> *out)
{
    out[threadIdx.x + 8] = load(in);  // expect of_4: out of bounds
}

__global__ void of_8(const many<int, 2> *in, many<int, 2> *out)
{
    out[threadIdx.x + 3] = load(in);  // expect of_8: out of bounds
}

__global__ void of_12(const many<float, 3> *in, many<float, 3> *out)
{
    out[threadIdx.x + 1] = load(in);  // expect of_12: out of bounds
}

__global__ void of_16(const many<double, 2> *in, many<double, 2> *out)
{
    out[threadIdx.x + 1] = load(in);  // expect of_16: out of bounds
}

__global__ void of_24(const many<double, 3> *in, many<double, 3> *out)
{
    out[threadIdx.x] = load(in);  // expect of_24: out of bounds
}

__global__ void of_64(const many<int, 16> *in, many<int, 16> *out)
{
    *out = load(in);  // expect of_64: out of bounds
}

// ---- forms: the array has room for two ----

__global__ void inlined_nowhere(const four *in, four *out)
{
    auto get = [=](int i) { return load(in + i); };
    four first = get(0);
    out[1] = first;
    out[2] = get(1);  // expect inlined_nowhere: out of bounds
}

__global__ void by_a_member(const four *in, four *out)
{
    reader r{in};
    out[threadIdx.x + 1] = r.get(0);  // expect by_a_member: out of bounds
}

__global__ void by_an_operator(const four *in, four *out)
{
    out[threadIdx.x + 1] = in[0] + in[1];  // expect by_an_operator: out of bounds
}

__global__ void by_a_subscript(const four *in, four *out)
{
    reader r{in};
    out[threadIdx.x + 1] = r[0];  // expect by_a_subscript: out of bounds
}

__global__ void by_a_pointer(const four *in, four *out)
{
    four (*function)(const four *) = load<four>;
    out[threadIdx.x + 1] = (*function)(in);  // expect by_a_pointer: out of bounds
}

__global__ void by_either(const four *in, four *out)
{
    out[threadIdx.x + 1] = in[0].v[0] == 0 ? load(in) : in[0] + in[1];  // expect by_either: out of bounds
}

__global__ void through_a_reference(const four *in, four *out)
{
    four &last = out[threadIdx.x + 1];
    last = load(in);  // expect through_a_reference: out of bounds
}

__global__ void to_a_member(const four *in, pair *out)
{
    (&out[threadIdx.x])->b = load(in);  // expect to_a_member: out of bounds
}

__global__ void in_a_chain(const four *in, four *out)
{
    __shared__ four s[2];
    out[threadIdx.x] = s[threadIdx.x + 1] = load(in);  // expect in_a_chain: out of bounds, in s
}

__global__ void in_a_loop(const four *in, four *out)
{
    for (int i = 0; i < 2; i++, out[i] = load(in)) {  // expect in_a_loop: out of bounds
    }
}

__global__ void in_a_condition(const four *in, four *out)
{
    if ((out[2] = load(in)).v[0])  // expect in_a_condition: out of bounds
        out[0] = load(in);
}

__global__ void in_a_list(const four *in, four *out)
{
    out[threadIdx.x + 1] = {load(in)};  // expect in_a_list: out of bounds
}

template <typename T> __device__ void store(const T *in, T *out)
{
    *out = load(in);  // expect in_a_template: out of bounds
}

__global__ void in_a_template(const four *in, four *out)
{
    store(in, out + threadIdx.x + 1);
}

#define CASE(kernel, n) \
    if (strcmp(name, #kernel) == 0) \
    run(kernel, n)

template <typename T, typename O> static void run(void (*kernel)(const T *, O *), int threads)
{
    void *in, *out;
    cudaMalloc(&in, 64);
    cudaMemset(in, 0, 64);
    cudaMalloc(&out, 32);
    kernel<<<1, threads>>>((T *)in, (O *)out);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    CASE(of_4, 1);
    CASE(of_8, 2);
    CASE(of_12, 2);
    CASE(of_16, 2);
    CASE(of_24, 2);
    CASE(of_64, 1);
    CASE(inlined_nowhere, 1);
    CASE(by_a_member, 2);
    CASE(by_an_operator, 2);
    CASE(by_a_subscript, 2);
    CASE(by_a_pointer, 2);
    CASE(by_either, 2);
    CASE(through_a_reference, 2);
    CASE(to_a_member, 2);
    CASE(in_a_chain, 2);
    CASE(in_a_loop, 1);
    CASE(in_a_condition, 1);
    CASE(in_a_list, 2);
    CASE(in_a_template, 2);
    return cudaDeviceSynchronize();
}
