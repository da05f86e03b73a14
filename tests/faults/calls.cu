// Kernels called as if they were functions: nothing is launched. The first argument picks the fault; `expect NAME: KIND`
// marks the line that the report must name.
#include <string.h>

__global__ void fill(int *a) { a[threadIdx.x] = 1; }
__global__ void add(int *a, int n) { a[threadIdx.x] += n; }

template <class F, class... A> void call(F f, A... a)
{
    f(a...);  // expect through_a_template: kernel called without a launch
}

struct task {
    void (*work)(int *);
    void run(int *a)
    {
        work(a);  // expect from_a_struct: kernel called without a launch
    }
};

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int *a;
    cudaMalloc(&a, 64 * sizeof(int));
    cudaMemset(a, 0, 64 * sizeof(int));
    if (strcmp(name, "through_a_template") == 0)
        call(fill, a);
    if (strcmp(name, "through_a_pointer") == 0) {
        void (*volatile f)(int *, int) = add;
        f(a, 3);  // expect through_a_pointer: kernel called without a launch
    }
    if (strcmp(name, "from_a_struct") == 0) {
        task t = {fill};
        t.run(a);
    }
    return cudaDeviceSynchronize();
}
