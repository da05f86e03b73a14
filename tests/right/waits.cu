// Waits that are right however old a value a load may return, and programs that lean on what it may not return: a value
// older than one that the thread has read or knows of, or that fences on both sides rule out. tests/faults/waits.cu has the
// same with a turn too few.
#include "right.h"

enum { BLOCKS = 6, ITEMS = 40 };

__device__ int lock, head, tail, ring[4], ready, taken, data, x, y, z, left, right, done, slot;
__device__ int states[8], sums[8], totals[8];
__device__ volatile int sequence, first, second;

__device__ int acquire(const int *p)
{
    int v;
    asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
__device__ int relaxed(const int *p)
{
    int v;
    asm volatile("ld.relaxed.gpu.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
__device__ void release(int *p, int v) { asm volatile("st.release.gpu.s32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }
__device__ void store_relaxed(int *p, int v)
{
    asm volatile("st.relaxed.gpu.s32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

__global__ void turns(int *sum, int way)
{
    int turn = blockIdx.x, t = threadIdx.x;
    if (t == 0) {
        while ((way == 0 ? acquire(&lock) : way == 1 ? *(volatile int *)&lock : atomicAdd(&lock, 0)) < turn) {
        }
        __threadfence();
    }
    __syncthreads();
    sum[t] = sum[t] * 2 + turn;
    __threadfence();
    __syncthreads();
    if (t == 0)
        atomicAdd(&lock, 1);
}

__global__ void ring_of_blocks(int *out)
{
    int sum = 0;
    if (threadIdx.x)
        return;
    for (int i = 0; i < ITEMS; i++)
        if (blockIdx.x == 0) {
            while (i - acquire(&tail) >= 4) {
            }
            ring[i % 4] = i;
            release(&head, i + 1);
        } else {
            while (acquire(&head) <= i) {
            }
            sum += ring[i % 4];
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
    for (int i = 0; i < ITEMS; i++)
        if (threadIdx.x < 32) {
            while (lane == 0 && i - empty >= 4) {
            }
            __threadfence_block();
            __syncwarp();
            cells[i % 4][lane] = i;
            __threadfence_block();
            __syncwarp();
            if (lane == 0)
                full = i + 1;
        } else {
            while (lane == 0 && full <= i) {
            }
            __threadfence_block();
            __syncwarp();
            sum += cells[i % 4][31 - lane];
            __threadfence_block();
            __syncwarp();
            if (lane == 0)
                empty = i + 1;
        }
    out[threadIdx.x] = sum;
}

__global__ void initialised_once(int *out)
{
    if (!acquire(&ready)) {
        while (atomicCAS(&taken, 0, 1)) {
        }
        __threadfence();
        if (!relaxed(&ready)) {
            data = 42;
            release(&ready, 1);
        }
        __threadfence();
        atomicExch(&taken, 0);
    }
    out[blockIdx.x] = data;
}

__global__ void scan(const int *in, int *out)  // each block looks back: at a sum (1), or at a total (2)
{
    int b = blockIdx.x, before = 0, state = 0;
    sums[b] = in[b];
    release(&states[b], 1);
    for (int p = b - 1; p >= 0 && state != 2; p--) {
        do
            state = acquire(&states[p]);
        while (!state);
        before += state == 2 ? totals[p] : sums[p];
    }
    totals[b] = before + in[b];
    release(&states[b], 2);
    out[b] = before + in[b];
}

__global__ void either_sees_the_other(int *out)  // store buffering
{
    int *mine = blockIdx.x ? &right : &left, *other = blockIdx.x ? &left : &right;
    *(volatile int *)mine = 1;
    __threadfence();
    out[blockIdx.x] = *(volatile int *)other;
}

__global__ void never_back(int *out)  // loads of one word by one thread, and by threads that a barrier orders
{
    __shared__ int seen;
    int last = 0;
    if (blockIdx.x == 0 && threadIdx.x == 0)
        for (int i = 1; i <= 30; i++)
            store_relaxed(&x, i);
    if (blockIdx.x == 0)
        return;
    for (int i = 0; i < 40; i++) {
        if (threadIdx.x == i % 64)
            seen = relaxed(&x);
        __syncthreads();
        if (seen < last)
            *out = 1;
        last = seen;
        __syncthreads();
    }
}

__global__ void told_by_another(int *out)  // block 2 knows of block 0's write from block 1
{
    if (blockIdx.x == 0) {
        store_relaxed(&x, 1);
        store_relaxed(&x, 2);
        release(&y, 1);
    } else if (blockIdx.x == 1) {
        while (!acquire(&y)) {
        }
        release(&z, 1);
    } else {
        while (!acquire(&z)) {
        }
        *out = relaxed(&x);
    }
}

__global__ void sequence_lock(int *out)
{
    if (blockIdx.x == 0) {
        for (int i = 1; i <= 10; i++) {
            sequence = 2 * i - 1;
            __threadfence();
            first = i;
            second = i;
            __threadfence();
            sequence = 2 * i;
        }
        return;
    }
    for (int n = 0; n < 30; n++) {
        int before = sequence;
        __threadfence();
        int a = first, b = second;
        __threadfence();
        if (before % 2 == 0 && sequence == before && a != b)
            *out = 1;
    }
}

__global__ void all_have_read(int *out)
{
    int b = blockIdx.x, n = gridDim.x - 1;
    if (b < n) {
        out[b] = slot;
        asm volatile("red.release.gpu.add.s32 [%0], 1;" ::"l"(&done) : "memory");
        return;
    }
    while (acquire(&done) < n) {
    }
    slot = 9;
}

__global__ void nine_warps_have_read(int *out)
{
    __shared__ int word, read;
    int w = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0)
        word = 5, read = 0;
    __syncthreads();
    if (w < 9) {
        out[threadIdx.x] = word;
        __threadfence_block();
        __syncwarp();
        if (lane == 0)
            atomicAdd(&read, 1);
    } else if (lane == 0) {
        while (atomicAdd(&read, 0) < 9) {
        }
        __threadfence_block();
        word = 6;
    }
}

__global__ void left_and_released(int *out)  // who leaves has told one thread, and that one tells all
{
    __shared__ int word;
    __shared__ volatile int flag;
    int t = threadIdx.x;
    if (t == 0)
        flag = 0;
    __syncthreads();
    if (t == 255) {
        word = 7;
        __threadfence_block();
        flag = 1;
        return;
    }
    if (t == 32) {
        while (!flag) {
        }
        __threadfence_block();
    }
    __syncthreads();
    int value = word;
    __syncthreads();
    word = value + t / 512;
    out[t] = value;
}

__global__ void left_at_once(int *out, int n)  // and the rest go on meeting
{
    __shared__ int s[128];
    int t = threadIdx.x;
    if (t >= n)
        return;
    s[t] = t;
    for (int i = 0; i < 20; i++) {
        __syncthreads();
        int next = s[(t + 1) % n];
        __syncthreads();
        s[t] = next;
    }
    out[t] = s[t];
}

__global__ void constant_in_place(int *out) { out[threadIdx.x] = __ldg(&out[threadIdx.x]) + 1; }

static int *zeros(int count)
{
    int *p = to_device<int>(NULL, count);
    CHECK(cudaMemset(p, 0, count * sizeof(int)));
    return p;
}

int main()
{
    int *out, zero = 0;
    for (int way = 0; way < 3; way++) {
        CHECK(cudaMemcpyToSymbol(lock, &zero, sizeof zero));
        turns<<<BLOCKS, 32>>>(out = zeros(32), way);
        SAME(to_host(out, 32)[31], 57);
    }
    ring_of_blocks<<<2, 32>>>(out = zeros(2));
    SAME(to_host(out, 2)[1], ITEMS * (ITEMS - 1) / 2);
    ring_of_warps<<<1, 64>>>(out = zeros(64));
    SAME(to_host(out, 64)[40], ITEMS * (ITEMS - 1) / 2);
    initialised_once<<<8, 1>>>(out = zeros(8));
    SAME(to_host(out, 8)[7], 42);
    int in[8] = {3, 1, 4, 1, 5, 9, 2, 6};
    scan<<<8, 1>>>(to_device(in, 8), out = zeros(8));
    SAME(to_host(out, 8)[7], 31);
    either_sees_the_other<<<2, 1>>>(out = zeros(2));
    int *both = to_host(out, 2);
    SAME(both[0] || both[1], 1);
    never_back<<<3, 64>>>(out = zeros(1));
    SAME(to_host(out, 1)[0], 0);
    told_by_another<<<3, 1>>>(out = zeros(1));
    SAME(to_host(out, 1)[0], 2);
    sequence_lock<<<3, 1>>>(out = zeros(1));
    SAME(to_host(out, 1)[0], 0);
    all_have_read<<<12, 1>>>(out = zeros(12));
    SAME(to_host(out, 12)[3], 0);
    nine_warps_have_read<<<1, 320>>>(out = zeros(320));
    SAME(to_host(out, 320)[287], 5);
    left_and_released<<<1, 256>>>(out = zeros(256));
    SAME(to_host(out, 256)[9], 7);
    left_at_once<<<1, 128>>>(out = zeros(128), 99);
    SAME(to_host(out, 128)[98], 19);
    constant_in_place<<<1, 64>>>(out = zeros(64));
    SAME(to_host(out, 64)[63], 1);
    return 0;
}
