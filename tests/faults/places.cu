// Memory that is not the thread's to touch: another thread's stack, constants, the neighbour of a __device__ array, the
// end of what a function stores. The first argument picks the kernel; `expect NAME: KIND` marks the line that the report
// must name, and a word after `, in` must stand in the report.
#include <string.h>

__device__ int before[64], middle[64], after[64];
__device__ int matrix[4][16], one_word;
__constant__ int constants[32];
struct four {
    int v[4];
};

// ---- local memory ----

__global__ void read_anothers_local(const int *in, int *out)
{
    __shared__ int *p;
    int mine = in[threadIdx.x];
    if (threadIdx.x == 5)
        p = &mine;
    __syncthreads();
    out[threadIdx.x] = *p;  // expect read_anothers_local: another thread's local memory
}

__global__ void write_anothers_local(const int *in, int *out)
{
    __shared__ int *p;
    int mine = in[threadIdx.x];
    if (threadIdx.x == 5)
        p = &mine;
    __syncthreads();
    if (threadIdx.x == 9)
        *p = 3;  // expect write_anothers_local: another thread's local memory
    __syncthreads();
    out[threadIdx.x] = mine;
}

__global__ void array_of_a_neighbour(const int *in, int *out)
{
    int list[8];
    for (int i = 0; i < 8; i++)
        list[i] = in[threadIdx.x] + i;
    unsigned long long next = __shfl_down_sync(0xffffffff, (unsigned long long)list, 1);
    out[threadIdx.x] = ((int *)next)[in[0] + 2] + list[in[1]];  // expect array_of_a_neighbour: another thread's local memory
}

__global__ void local_through_global(int **slot, int *out)
{
    int mine = threadIdx.x;
    slot[threadIdx.x] = &mine;
    __syncthreads();
    out[threadIdx.x] = *slot[threadIdx.x ^ 32];  // expect local_through_global: another thread's local memory
}

__device__ int sum_of(const int *list)
{
    return list[0] + list[1];  // expect local_given_to_a_function: another thread's local memory
}

__global__ void local_given_to_a_function(const int *in, int *out)
{
    __shared__ const int *p;
    int mine[2] = {in[threadIdx.x], 1};
    if (threadIdx.x == 0)
        p = mine;
    __syncthreads();
    out[threadIdx.x] = sum_of(p);
}

// ---- constants ----

__global__ void write_to_a_constant(const int *in, int *out)
{
    int *p = const_cast<int *>(constants);
    p[threadIdx.x] = in[threadIdx.x] + 1;  // expect write_to_a_constant: write to constant memory
}

__global__ void atomic_on_a_constant(const int *in, int *out)
{
    atomicAdd(const_cast<int *>(&constants[3]), 1);  // expect atomic_on_a_constant: write to constant memory
}

__global__ void beyond_the_constants(const int *in, int *out)
{
    out[threadIdx.x] = constants[threadIdx.x + 1];  // expect beyond_the_constants: out of bounds, in constants
}

// ---- __device__ arrays ----

__global__ void write_to_the_neighbour(const int *in, int *out)
{
    middle[threadIdx.x + 1] = in[threadIdx.x];  // expect write_to_the_neighbour: out of bounds, in middle
}

__global__ void read_before_the_first(const int *in, int *out)
{
    out[threadIdx.x] = middle[(int)threadIdx.x - 1];  // expect read_before_the_first: out of bounds
}

__global__ void row_too_many(const int *in, int *out)
{
    out[threadIdx.x] = matrix[1 + threadIdx.x / 16][threadIdx.x % 16];  // expect row_too_many: out of bounds, in matrix
}

__global__ void vector_over_the_end(const int *in, int *out)
{
    int2 v = *(int2 *)&after[2 * threadIdx.x + 2];  // perhaps vector_over_the_end: out of bounds, in after
    out[threadIdx.x] = v.x;                         // perhaps vector_over_the_end: out of bounds, in after
}

__global__ void word_as_an_array(const int *in, int *out)
{
    (&one_word)[threadIdx.x] = 1;  // expect word_as_an_array: out of bounds, in one_word
}

__global__ void atomic_beyond(const int *in, int *out)
{
    atomicAdd(&before[threadIdx.x + 1], 1);  // expect atomic_beyond: out of bounds, in before
}

__device__ void put(int *row, int i, int v)
{
    row[i] = v;  // expect through_a_pointer: out of bounds, in after
}

__global__ void through_a_pointer(const int *in, int *out)
{
    put(after, 64 + threadIdx.x, 1);
}

template <int N> __device__ int kept()
{
    static __device__ int words[N];
    return words[threadIdx.x];  // expect static_in_a_template: out of bounds
}

__global__ void static_in_a_template(const int *in, int *out)
{
    out[threadIdx.x] = kept<8>();
}

// ---- structs that a function returns ----

__device__ __noinline__ four load(const four *a) { return *a; }

__global__ void struct_beyond(const four *in, four *out)
{
    four v = load(in + threadIdx.x % 2);
    out[threadIdx.x + 15] = v;  // expect struct_beyond: out of bounds
}

__global__ void struct_returned_beyond(const four *in, four *out)
{
    out[threadIdx.x + 15] = load(in);  // expect struct_returned_beyond: out of bounds
}

__device__ __noinline__ four load_far(const four *a)
{
    return a[16];  // expect struct_read_beyond: out of bounds
}

__global__ void struct_read_beyond(const four *in, four *out)
{
    out[0] = load_far(in);
}

__global__ void struct_to_shared_beyond(const four *in, four *out)
{
    __shared__ four tile[8];
    tile[threadIdx.x] = load(in);  // expect struct_to_shared_beyond: out of bounds, in tile
    __syncthreads();
    out[0] = tile[0];
}

#define CASE(kernel) \
    if (strcmp(name, #kernel) == 0) \
    kernel

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int *in, *out, **slots;
    cudaMalloc(&in, 64 * sizeof(int));
    cudaMemset(in, 0, 64 * sizeof(int));
    cudaMalloc(&out, 64 * sizeof(int));
    cudaMalloc(&slots, 64 * sizeof(int *));
    CASE(read_anothers_local)<<<1, 32>>>(in, out);
    CASE(write_anothers_local)<<<1, 32>>>(in, out);
    CASE(array_of_a_neighbour)<<<1, 32>>>(in, out);
    CASE(local_through_global)<<<1, 64>>>(slots, out);
    CASE(local_given_to_a_function)<<<1, 32>>>(in, out);
    CASE(write_to_a_constant)<<<1, 32>>>(in, out);
    CASE(atomic_on_a_constant)<<<1, 1>>>(in, out);
    CASE(beyond_the_constants)<<<1, 32>>>(in, out);
    CASE(write_to_the_neighbour)<<<1, 64>>>(in, out);
    CASE(read_before_the_first)<<<1, 64>>>(in, out);
    CASE(row_too_many)<<<1, 64>>>(in, out);
    CASE(vector_over_the_end)<<<1, 32>>>(in, out);
    CASE(word_as_an_array)<<<1, 2>>>(in, out);
    CASE(atomic_beyond)<<<1, 64>>>(in, out);
    CASE(through_a_pointer)<<<1, 1>>>(in, out);
    CASE(static_in_a_template)<<<1, 32>>>(in, out);
    CASE(struct_beyond)<<<1, 2>>>((four *)in, (four *)out);
    CASE(struct_returned_beyond)<<<1, 2>>>((four *)in, (four *)out);
    CASE(struct_read_beyond)<<<1, 1>>>((four *)in, (four *)out);
    CASE(struct_to_shared_beyond)<<<1, 9>>>((four *)in, (four *)out);
    return cudaDeviceSynchronize();
}
