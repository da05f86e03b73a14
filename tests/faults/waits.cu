// Waits that end a turn too early, readers and threads that nobody waits for, loads whose scope is too small. However the
// emulator happens to run them, they are found. The first argument picks the kernel; a comment `expect NAME: KIND` marks a
// line that the report on it must name, `perhaps NAME: KIND` one that it may. tests/right/waits.cu has the right ways.
#include <mma.h>
#include <stdio.h>
#include <string.h>

__device__ int lock, data, slot, head, tail, ring[4], done, ready, taken;
__device__ int *a_pointer;

__device__ int acquire(const int *p)
{
    int v;
    asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

__device__ void release(int *p, int v) { asm volatile("st.release.gpu.s32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }

// ---- a turn too early ----

__global__ void turn_by_acquire(int *sum)
{
    int z = blockIdx.x, t = threadIdx.x;
    if (t == 0)
        while (acquire(&lock) < z - 1) {
        }
    __syncthreads();
    sum[t] += z;  // expect turn_by_acquire: race in global memory
    __syncthreads();
    if (t == 0)
        asm volatile("red.release.gpu.add.s32 [%0], 1;" ::"l"(&lock) : "memory");
}

__global__ void turn_by_volatile(int *sum)
{
    int z = blockIdx.x, t = threadIdx.x;
    if (t == 0) {
        while (*(volatile int *)&lock < z - 1) {
        }
        __threadfence();
    }
    __syncthreads();
    sum[t] += z;  // expect turn_by_volatile: race in global memory
    __threadfence();
    __syncthreads();
    if (t == 0)
        *(volatile int *)&lock = z + 1;
}

__global__ void turn_by_atomic(int *sum)
{
    int z = blockIdx.x, t = threadIdx.x;
    if (t == 0) {
        while (atomicAdd(&lock, 0) < z - 1) {
        }
        __threadfence();
    }
    __syncthreads();
    sum[t] += z;  // expect turn_by_atomic: race in global memory
    __threadfence();
    __syncthreads();
    if (t == 0)
        atomicAdd(&lock, 1);
}

__global__ void ring_of_blocks(int *out)
{
    int sum = 0;
    for (int i = 0; i < 12; i++)
        if (blockIdx.x == 0) {
            while (i - acquire(&tail) > 4) {
            }
            ring[i % 4] = i;  // expect ring_of_blocks: race in global memory
            release(&head, i + 1);
        } else {
            while (acquire(&head) <= i) {
            }
            sum += ring[i % 4];  // expect ring_of_blocks: race in global memory
            release(&tail, i + 1);
        }
    out[blockIdx.x] = sum;
}

__global__ void ring_of_warps(int *out)
{
    __shared__ int cells[4][32];
    __shared__ volatile int full, empty;
    int lane = threadIdx.x % 32, sum = 0;
    if (threadIdx.x == 0)
        full = 0, empty = 0;
    __syncthreads();
    for (int i = 0; i < 12; i++)
        if (threadIdx.x < 32) {
            while (lane == 0 && i - empty > 4) {
            }
            __threadfence_block();
            __syncwarp();
            cells[i % 4][lane] = i;  // expect ring_of_warps: race in shared memory
            __threadfence_block();
            __syncwarp();
            if (lane == 0)
                full = i + 1;
        } else {
            while (lane == 0 && full <= i) {
            }
            __threadfence_block();
            __syncwarp();
            sum += cells[i % 4][31 - lane];  // expect ring_of_warps: race in shared memory
            __threadfence_block();
            __syncwarp();
            if (lane == 0)
                empty = i + 1;
        }
    out[threadIdx.x] = sum;
}

__global__ void looked_once(int *out)  // says that it is ready before it is
{
    if (!acquire(&ready)) {
        while (atomicCAS(&taken, 0, 1)) {
        }
        __threadfence();
        if (!*(volatile int *)&ready) {
            release(&ready, 1);
            data = 42;  // expect looked_once: race in global memory
        }
        __threadfence();
        atomicExch(&taken, 0);
    }
    out[blockIdx.x] = data;  // expect looked_once: race in global memory
}

// ---- readers ----

__global__ void one_of_nine_warps(int *out)
{
    __shared__ int word, read;
    int w = threadIdx.x / 32, lane = threadIdx.x % 32, value = 0;
    if (threadIdx.x == 0)
        word = 5, read = 0;
    __syncthreads();
    if (w == 9) {
        while (lane == 0 && atomicAdd(&read, 0) < 9) {
        }
        __threadfence_block();
        if (lane == 0)
            word = 6;  // expect one_of_nine_warps: race in shared memory
    } else {
        if (w != 2)
            value = word;
        __threadfence_block();
        __syncwarp();
        if (lane == 0)
            atomicAdd(&read, 1);
        if (w == 2)
            value = word;  // expect one_of_nine_warps: race in shared memory
    }
    out[threadIdx.x] = value;
}

__global__ void one_of_eleven_blocks(int *out)
{
    int b = blockIdx.x, value = 0;
    if (b == 11) {
        while (acquire(&done) < 11) {
        }
        slot = 9;  // expect one_of_eleven_blocks: race in global memory
        return;
    }
    if (b != 2)
        value = slot;
    asm volatile("red.release.gpu.add.s32 [%0], 1;" ::"l"(&done) : "memory");
    if (b == 2)
        value = slot;  // expect one_of_eleven_blocks: race in global memory
    out[b] = value;
}

// ---- threads that have left ----

__global__ void left_without_a_barrier(int *out)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t >= 32) {
        s[t] = t;  // expect left_without_a_barrier: race in shared memory
        return;
    }
    __syncthreads();
    out[t] = s[t + 32];  // expect left_without_a_barrier: race in shared memory
}

__global__ void left_without_a_counted_barrier(int *out)
{
    __shared__ int s[96];
    int t = threadIdx.x;
    s[t] = t;  // expect left_without_a_counted_barrier: race in shared memory
    if (t >= 64)
        return;
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[t] = s[95 - t];  // expect left_without_a_counted_barrier: race in shared memory
}

__global__ void left_after_a_barrier(int *out)  // and wrote behind it
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = t;
    __syncthreads();
    if (t == 63) {
        s[5] = 7;  // expect left_after_a_barrier: race in shared memory
        return;
    }
    for (int i = 0; i < 4; i++)
        __syncthreads();
    out[t] = s[5];  // expect left_after_a_barrier: race in shared memory
}

// ---- scopes and fences, in words ----

__global__ void load_of_the_block(int *out)
{
    int v;
    if (blockIdx.x == 0) {
        data = 5;                                                              // perhaps load_of_the_block: race in global memory
        asm volatile("st.release.gpu.s32 [%0], 1;" ::"l"(&ready) : "memory");  // expect load_of_the_block: race in global memory
        return;
    }
    do
        asm volatile("ld.relaxed.cta.u32 %0, [%1];" : "=r"(v) : "l"(&ready) : "memory");  // expect load_of_the_block: race in global memory
    while (!v);
    __threadfence();
    *out = data;  // perhaps load_of_the_block: race in global memory
}

__global__ void fence_of_the_block(int *out)
{
    if (blockIdx.x == 0) {
        data = 5;  // expect fence_of_the_block: race in global memory, in stands
        __threadfence_block();
        *(volatile int *)&ready = 1;
        return;
    }
    while (!*(volatile int *)&ready) {
    }
    __threadfence();
    *out = data;  // expect fence_of_the_block: race in global memory
}

__global__ void flag_of_the_block(int *out)
{
    if (blockIdx.x == 0) {
        data = 5;  // perhaps flag_of_the_block: race in global memory
        __threadfence();
        atomicExch_block(&ready, 1);  // expect flag_of_the_block: race in global memory
        return;
    }
    while (!atomicAdd(&ready, 0)) {  // expect flag_of_the_block: race in global memory, in scope
    }
    __threadfence();
    *out = data;  // perhaps flag_of_the_block: race in global memory
}

__global__ void no_fence_before_the_flag(int *out)
{
    if (blockIdx.x == 0) {
        data = 5;  // expect no_fence_before_the_flag: race in global memory, in before
        atomicExch(&ready, 1);
        return;
    }
    while (!atomicAdd(&ready, 0)) {
    }
    __threadfence();
    *out = data;  // expect no_fence_before_the_flag: race in global memory
}

// ---- memory ----

__global__ void shared_memory_of_another_block(int *out)
{
    __shared__ int s[32];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *(int *volatile *)&a_pointer = s;
        __threadfence();
        atomicExch(&ready, 1);
    } else if (blockIdx.x == 1 && threadIdx.x == 0) {
        while (!atomicAdd(&ready, 0)) {
        }
        __threadfence();
        *out = *a_pointer;  // expect shared_memory_of_another_block: another block's shared memory
    }
}

__global__ void constant_path(int *out)
{
    int t = threadIdx.x;
    out[t] = t;  // expect constant_path: read-only load of what the kernel writes
    __syncthreads();
    int v = __ldg(&out[63 - t]);  // expect constant_path: read-only load of what the kernel writes
    __syncthreads();
    out[64 + t] = v;
}

__global__ void constant_path_by_ptx(int *out)
{
    int t = threadIdx.x, v;
    asm volatile("ld.global.nc.s32 %0, [%1];" : "=r"(v) : "l"(out + 63 - t));  // expect constant_path_by_ptx: read-only load of what the kernel writes
    __syncthreads();
    out[t] = v + 1;  // expect constant_path_by_ptx: read-only load of what the kernel writes
}

__global__ void fragment_misaligned(int *out)
{
    using namespace nvcuda;
    __shared__ __align__(32) half tile[512];
    for (int i = threadIdx.x; i < 512; i += 32)
        tile[i] = __float2half(0);
    __syncthreads();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::load_matrix_sync(a, tile + 8, 16);  // expect fragment_misaligned: misaligned access
    out[threadIdx.x] = (int)__half2float(a.x[0]);
}

// ---- a guess that is more than that ----

__global__ void result_beside_attempts(int *out)
{
    int t = threadIdx.x, old = out[0];
    while (old < t) {
        int assumed = old;
        old = atomicCAS(&out[0], assumed, t);  // expect result_beside_attempts: race in global memory
        if (old == assumed)
            break;
    }
    out[1 + t] = out[0];  // expect result_beside_attempts: race in global memory
}

#define CASE(kernel) \
    if (strcmp(name, #kernel) == 0) \
    kernel

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int *out;
    cudaMalloc(&out, 512 * sizeof(int));
    cudaMemset(out, 0, 512 * sizeof(int));
    CASE(turn_by_acquire)<<<6, 32>>>(out);
    CASE(turn_by_volatile)<<<6, 32>>>(out);
    CASE(turn_by_atomic)<<<6, 32>>>(out);
    CASE(ring_of_blocks)<<<2, 1>>>(out);
    CASE(ring_of_warps)<<<1, 64>>>(out);
    CASE(looked_once)<<<8, 1>>>(out);
    CASE(one_of_nine_warps)<<<1, 320>>>(out);
    CASE(one_of_eleven_blocks)<<<12, 1>>>(out);
    CASE(left_without_a_barrier)<<<1, 64>>>(out);
    CASE(left_without_a_counted_barrier)<<<1, 96>>>(out);
    CASE(left_after_a_barrier)<<<1, 64>>>(out);
    CASE(load_of_the_block)<<<2, 1>>>(out);
    CASE(fence_of_the_block)<<<2, 1>>>(out);
    CASE(flag_of_the_block)<<<2, 1>>>(out);
    CASE(no_fence_before_the_flag)<<<2, 1>>>(out);
    CASE(shared_memory_of_another_block)<<<2, 32>>>(out);
    CASE(constant_path)<<<1, 64>>>(out);
    CASE(constant_path_by_ptx)<<<1, 64>>>(out);
    CASE(fragment_misaligned)<<<1, 32>>>(out);
    CASE(result_beside_attempts)<<<1, 128>>>(out);
    return cudaDeviceSynchronize();
}
