// What cannot be translated is refused with its line and its name, all of it at once.

struct member {
    __shared__ int count;  // expect: a member of a class cannot be __shared__
};

template <typename T> __device__ T of_each_type;  // expect: `__device__` variable that is a template
template <typename T> __device__ const T fine = T(1);

__global__ void cluster(int *out)
{
    __shared__ int a = 3;                    // expect: a __shared__ variable cannot have an initialiser: `a`
    __shared__ int b[2], c(4);               // expect: initialiser: `c`
    __shared__ struct { int n; } d{5};       // expect: initialiser: `d`
    __device__ int local;                    // expect: a `__device__` variable in a function must be static
    int lane;
    asm goto("bra %l0;" ::::out);            // expect: `asm goto` is not supported
out:
    asm volatile("" ::: "memory");
}

__global__ void named(int *named) {}  // expect: a parameter of the kernel `named` has the kernel's name
struct befriends {
    friend __global__ void befriended(befriends) {}  // expect: cannot read this `__global__` function's declaration
};
__global__ void variadic(int n, ...) {}  // expect: a kernel cannot take `...`

int renamed(int) asm("another_name");

int main(void)
{
    cluster<<<2, 1>>(nullptr);        // expect: the launch `cluster<<<…` is not closed by `>>>(…)`
    3 + <<<1, 1>>>(nullptr);          // expect: `<<<` does not follow the name of a kernel
    cluster<<<1, 1>>>;                // expect: not closed
}
