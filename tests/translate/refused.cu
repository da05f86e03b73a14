// What cannot be translated is refused with its line and its name, all of it at once.

struct member {
    __shared__ int count;  // expect: a member of a class cannot be __shared__
};

template <typename T> __device__ T of_each_type;  // expect: `__device__` variable that is a template
template <typename T> __device__ const T fine = T(1);

__global__ void __cluster_dims__(2, 1, 1) cluster(int *out)  // expect: `__cluster_dims__` (thread block clusters)
{
    __shared__ int a = 3;                    // expect: a __shared__ variable cannot have an initialiser: `a`
    __shared__ int b[2], c(4);               // expect: initialiser: `c`
    __shared__ struct { int n; } d{5};       // expect: initialiser: `d`
    __device__ int local;                    // expect: a `__device__` variable in a function must be static
    int lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));  // expect: inline PTX `mov.u32 %0, %%laneid`
    asm("{\n\t"                              // expect: inline PTX `setp.eq.u32 p, %0, 0`
        ".reg .pred p;\n\t"
        "setp.eq.u32 p, %0, 0;\n"
        "}" ::"r"(lane));
    if (lane) asm("bar.sync 0;");            // expect: inline PTX `bar.sync 0`
    else __asm__ __volatile__("exit;");      // expect: inline PTX `exit`
    asm volatile("" ::: "memory");
}

int renamed(int) asm("another_name");

__global__ void texture(unsigned long long image, float *out)
{
    out[0] = tex2D<float>(image, 0.5f, 0.5f);  // expect: `tex2D` (textures and surfaces)
    surf1Dwrite(1.0f, image, 0);               // expect: `surf1Dwrite` (textures and surfaces)
}

int main(void)
{
    cluster<<<2, 1>>(nullptr);        // expect: the launch `cluster<<<…` is not closed by `>>>(…)`
    3 + <<<1, 1>>>(nullptr);          // expect: `<<<` does not follow the name of a kernel
    cluster<<<1, 1>>>;                // expect: not closed
}
