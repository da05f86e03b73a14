// Atomic operations on vectors and on 16 bytes, objects of <cuda/atomic>, fragments of doubles and of 4 bits, movmatrix,
// and indices that overflow. The first argument picks the kernel; `expect NAME: KIND` marks lines that a report must name.
#include <cuda/atomic>
#include <mma.h>
#include <string.h>

using namespace nvcuda;

struct __align__(16) pair {
    unsigned long long low, high;
};

__device__ int box[64], flag, table[64];

// ---- vectors in memory ----

__global__ void misaligned_vector(float *out)
{
    asm volatile("red.global.add.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(out + 2), "f"(1.0f) : "memory");  // expect misaligned_vector: misaligned access
}

__global__ void misaligned_float2(float *out)
{
    atomicAdd((float2 *)(out + 1), make_float2(1, 1));  // expect misaligned_float2: misaligned access
}

__global__ void misaligned_pair(float *out)
{
    pair one = {1, 1};
    atomicExch((pair *)(out + 2), one);  // expect misaligned_pair: misaligned access
}

__global__ void vector_past_the_end(float *out)
{
    asm volatile("red.global.add.noftz.v8.f16 [%0], {%1, %1, %1, %1, %1, %1, %1, %1};" ::"l"(out + 4 * threadIdx.x), "h"((short)0) : "memory");  // expect vector_past_the_end: out of bounds
}

__global__ void vector_in_shared(float *out)
{
    __shared__ float4 sums;
    if (threadIdx.x == 0)
        sums = make_float4(0, 0, 0, 0);
    __syncthreads();
    asm volatile("red.add.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(&sums), "f"(1.0f) : "memory");  // expect vector_in_shared: wrong memory space
    __syncthreads();
    out[0] = sums.x;
}

__global__ void vector_beside_a_store(float *out)
{
    if (threadIdx.x == 0)
        out[3] = 1;  // expect vector_beside_a_store: race in global memory
    else
        atomicAdd((float4 *)out, make_float4(1, 1, 1, 1));  // expect vector_beside_a_store: race in global memory
}

__global__ void vector_read_too_early(float *out)
{
    asm volatile("red.global.add.v2.f32 [%0], {%1, %1};" ::"l"(out), "f"(1.0f) : "memory");  // expect vector_read_too_early: race in global memory
    if (threadIdx.x == 0)
        out[10] = out[1];  // expect vector_read_too_early: race in global memory
}

__global__ void pair_beside_a_load(float *out)
{
    pair none = {0, 0}, one = {1, 1};
    if (threadIdx.x == 40)
        atomicCAS((pair *)out, none, one);  // expect pair_beside_a_load: race in global memory
    if (threadIdx.x == 0)
        out[10] = out[3];  // expect pair_beside_a_load: race in global memory
}

__global__ void unwritten_pair(float *out)
{
    __shared__ pair cell;
    pair old = atomicExch(&cell, pair{1, 1});  // expect unwritten_pair: uninitialised shared memory
    out[threadIdx.x] = old.low;
}

// ---- <cuda/atomic> ----

__global__ void relaxed_flag(float *out)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> f(flag);
    if (blockIdx.x == 0) {
        box[0] = 42;  // expect relaxed_flag: race in global memory, in box
        f.store(1, cuda::memory_order_relaxed);
    } else {
        while (f.load(cuda::memory_order_acquire) == 0) {
        }
        *out = box[0];  // expect relaxed_flag: race in global memory, in box
    }
}

__global__ void relaxed_wait(float *out)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> f(flag);
    if (blockIdx.x == 0) {
        box[0] = 42;  // expect relaxed_wait: race in global memory, in box
        f.fetch_add(1, cuda::memory_order_release);
    } else {
        while (f.load(cuda::memory_order_relaxed) == 0) {
        }
        *out = box[0];  // expect relaxed_wait: race in global memory, in box
    }
}

__global__ void failure_that_acquires_nothing(float *out)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> f(flag);
    if (blockIdx.x == 0) {
        box[0] = 42;  // expect failure_that_acquires_nothing: race in global memory, in box
        f.store(1, cuda::memory_order_release);
    } else {
        for (int expected = 0; f.compare_exchange_strong(expected, 0, cuda::memory_order_acquire, cuda::memory_order_relaxed);) {
        }
        *out = box[0];  // expect failure_that_acquires_nothing: race in global memory, in box
    }
}

__global__ void fence_left_out(float *out)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> f(flag);
    if (blockIdx.x == 0) {
        box[0] = 42;  // expect fence_left_out: race in global memory, in box
        cuda::atomic_thread_fence(cuda::memory_order_relaxed, cuda::thread_scope_device);
        f.store(1, cuda::memory_order_relaxed);
    } else {
        f.wait(0, cuda::memory_order_acquire);
        *out = box[0];  // expect fence_left_out: race in global memory, in box
    }
}

__global__ void counter_of_the_block(float *out)
{
    cuda::atomic_ref<int, cuda::thread_scope_block> f(flag);
    f.fetch_add(1);  // expect counter_of_the_block: race in global memory, in flag
}

__global__ void object_read_plainly(float *out)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> f(flag);
    if (threadIdx.x == 40)
        f.store(1);  // expect object_read_plainly: race in global memory, in flag
    else
        out[threadIdx.x] = flag;  // expect object_read_plainly: race in global memory, in flag
}

__global__ void unwritten_object(float *out)
{
    __shared__ cuda::atomic<int, cuda::thread_scope_block> count;
    out[threadIdx.x] = ++count;  // expect unwritten_object: uninitialised shared memory
}

// ---- fragments and matrices ----

__global__ void uneven_rows(float *out)
{
    wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> a;
    wmma::load_matrix_sync(a, (const double *)out, 5);  // expect uneven_rows: invalid stride
    out[threadIdx.x] = a.x[0];
}

__global__ void half_bytes(float *out)
{
    wmma::fragment<wmma::matrix_a, 8, 8, 32, wmma::experimental::precision::s4, wmma::row_major> a;
    wmma::load_matrix_sync(a, out, 33);  // expect half_bytes: invalid stride
    out[threadIdx.x] = a.x[0];
}

__global__ void doubles_past_the_end(float *out)
{
    wmma::fragment<wmma::accumulator, 8, 8, 4, double> c;
    wmma::load_matrix_sync(c, (const double *)out, 8, wmma::mem_row_major);  // expect doubles_past_the_end: out of bounds
    out[threadIdx.x] = c.x[0];
}

__global__ void half_a_transpose(float *out)
{
    unsigned x = threadIdx.x;
    if (x < 16)
        asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(x));  // expect half_a_transpose: divergent collective
    out[threadIdx.x] = x;
}

__global__ void half_a_product(float *out)
{
    double a = 1, c = 0, d = 0;
    if (threadIdx.x >= 16)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%2}, {%0, %1};" : "+d"(c), "+d"(d) : "d"(a));  // expect half_a_product: divergent collective
    out[threadIdx.x] = c + d;
}

// ---- indices that overflow ----

__device__ int large(float *out) { return *out == 0 ? 40000 : 1; }

__global__ void overflowed(float *out)
{
    int n = large(out), i = n * n * 2;  // 3.2e9 becomes negative
    out[i] = 1;                         // expect overflowed: out of bounds, in out
}

__global__ void far_before(float *out)
{
    long long i = -2147483648ll * large(out) / 40000;
    out[i] = 1;  // expect far_before: out of bounds, in out
}

__global__ void far_behind(float *out)
{
    long long i = 1000000000000ll * large(out) / 40000;
    out[1] = out[i];  // expect far_behind: out of bounds, in out
}

__global__ void far_from_a_variable(float *out)
{
    unsigned i = (unsigned)-large(out);
    table[i] = 1;  // expect far_from_a_variable: out of bounds, in table
}

__global__ void no_address(float *out)
{
    float *p = (float *)(0x0123456789abcdc0ull + large(out) / 40000 * 64);
    *p = 1;  // expect no_address: out of bounds
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    float *out;
    cudaMalloc(&out, 64 * sizeof(float));
    cudaMemset(out, 0, 64 * sizeof(float));
#define CASE(NAME) \
    if (strcmp(name, #NAME) == 0) \
    NAME
    CASE(misaligned_vector)<<<1, 32>>>(out);
    CASE(misaligned_float2)<<<1, 32>>>(out);
    CASE(misaligned_pair)<<<1, 32>>>(out);
    CASE(vector_past_the_end)<<<1, 32>>>(out);
    CASE(vector_in_shared)<<<1, 32>>>(out);
    CASE(vector_beside_a_store)<<<1, 64>>>(out);
    CASE(vector_read_too_early)<<<1, 64>>>(out);
    CASE(pair_beside_a_load)<<<1, 64>>>(out);
    CASE(unwritten_pair)<<<1, 32>>>(out);
    CASE(relaxed_flag)<<<2, 1>>>(out);
    CASE(relaxed_wait)<<<2, 1>>>(out);
    CASE(failure_that_acquires_nothing)<<<2, 1>>>(out);
    CASE(fence_left_out)<<<2, 1>>>(out);
    CASE(counter_of_the_block)<<<2, 1>>>(out);
    CASE(object_read_plainly)<<<1, 64>>>(out);
    CASE(unwritten_object)<<<1, 32>>>(out);
    CASE(uneven_rows)<<<1, 32>>>(out);
    CASE(half_bytes)<<<1, 32>>>(out);
    CASE(doubles_past_the_end)<<<1, 32>>>(out);
    CASE(half_a_transpose)<<<1, 32>>>(out);
    CASE(half_a_product)<<<1, 32>>>(out);
    CASE(overflowed)<<<1, 32>>>(out);
    CASE(far_before)<<<1, 32>>>(out);
    CASE(far_behind)<<<1, 32>>>(out);
    CASE(far_from_a_variable)<<<1, 32>>>(out);
    CASE(no_address)<<<1, 32>>>(out);
    return cudaDeviceSynchronize();
}
