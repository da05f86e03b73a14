// Blocks and warps that hand data to each other: flags, chains, rings, barriers of the grid. Every block that another
// waits for is resident on any GPU. tests/faults/flags.cu has the same with a fence or a scope too small.
#include <string.h>
#include "right.h"

enum { BLOCKS = 4, THREADS = 64 };

__device__ int data[3], flag[3], arrived, the_word = -1;

__global__ void chain_of_three(int *out)  // 0 -> 1 -> 2, each adds to what the last one left
{
    int b = blockIdx.x;
    if (b > 0) {
        while (atomicAdd(&flag[b - 1], 0) == 0)
            ;
        __threadfence();
    }
    int before = b > 0 ? data[b - 1] : 100;
    data[b] = before + b;
    __threadfence();
    atomicExch(&flag[b], 1);
    if (b == 2)
        *out = data[2];
}

__global__ void two_hops(int *box, int *out)  // block 2 reads what block 0 wrote and hears of it from block 1
{
    if (blockIdx.x == 0) {
        box[0] = 42;
        __threadfence();
        atomicExch(&box[1], 1);
    } else if (blockIdx.x == 1) {
        while (atomicAdd(&box[1], 0) == 0)
            ;
        __threadfence();
        atomicExch(&box[2], 1);
    } else {
        while (atomicAdd(&box[2], 0) == 0)
            ;
        __threadfence();
        *out = box[0];
    }
}

__global__ void volatile_flag(int *box, volatile int *up, int *out)
{
    if (blockIdx.x == 0) {
        box[0] = 7;
        __threadfence();
        *up = 1;
    } else {
        while (*up == 0)
            ;
        __threadfence();
        *out = box[0];
    }
}

__global__ void waits_for_a_later_block(volatile int *up, int *box, int *out)
{
    if (blockIdx.x == 0) {
        while (*up == 0)
            ;
        __threadfence();
        *out = *box;
    } else {
        *box = 8;
        __threadfence();
        *up = 1;
    }
}

__global__ void flag_of_the_system(int *box, int *up, int *out)
{
    if (blockIdx.x == 0) {
        box[0] = 9;
        __threadfence_system();
        atomicExch_system(up, 1);
    } else {
        while (atomicAdd_system(up, 0) == 0)
            ;
        __threadfence_system();
        *out = box[0];
    }
}

__global__ void polled_by_compare_and_swap(int *box, int *up, int *out)  // and lowered again by who sees it
{
    if (blockIdx.x == 0) {
        box[0] = 10;
        __threadfence();
        atomicOr(up, 1);
    } else {
        while (atomicCAS(up, 1, 0) != 1)
            ;
        __threadfence();
        *out = box[0];
    }
}

__global__ void bits_of_one_word(int *box, unsigned *bits,
                                 int *out)  // a bit for each block; the last one waits for all
{
    if (blockIdx.x + 1 < gridDim.x) {
        box[blockIdx.x] = 1 + blockIdx.x;
        __threadfence();
        atomicOr(bits, 1u << blockIdx.x);
    } else {
        while (atomicOr(bits, 0) != (1u << blockIdx.x) - 1)
            ;
        __threadfence();
        int sum = 0;
        for (unsigned b = 0; b < blockIdx.x; b++)
            sum += box[b];
        *out = sum;
    }
}

__global__ void the_flag_is_the_value(volatile int *word, int *out)  // nothing else rests on it, so no fence
{
    if (blockIdx.x == 0)
        *word = 33;
    else {
        int seen;
        while ((seen = *word) < 0)
            ;
        *out = seen;
    }
}

__global__ void value_by_atomics(int *out)
{
    if (blockIdx.x == 0)
        atomicExch(&the_word, 34);
    else {
        int seen;
        while ((seen = atomicAdd(&the_word, 0)) < 0)
            ;
        *out = seen;
    }
}

__global__ void ping_pong(volatile int *turn, int *ball, int *out)
{
    int me = blockIdx.x;
    for (int round = 0; round < 10; round++) {
        while (*turn != me)
            ;
        __threadfence();
        *ball = *ball * 2 % 1000 + me + 1;
        __threadfence();
        *turn = 1 - me;
    }
    if (me == 1)
        *out = *ball;
}

__global__ void from_block_to_block(int *box, int *up,
                                    int *out)  // written and read by whole blocks, led by two threads
{
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        box[t] = 3 * t;
        __syncthreads();
        if (t == 40) {
            __threadfence();
            atomicExch(up, 1);
        }
    } else {
        if (t == 3) {
            while (atomicAdd(up, 0) == 0)
                ;
            __threadfence();
        }
        __syncthreads();
        out[t] = box[THREADS - 1 - t];
    }
}

__global__ void in_the_block_then_out(int *box, int *near, int *far, int *out)  // a small scope, then a large one
{
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        box[0] = 55;
        __threadfence_block();
        atomicExch_block(near, 1);
    } else if (blockIdx.x == 0 && threadIdx.x == 32) {
        while (atomicAdd_block(near, 0) == 0)
            ;
        __threadfence();
        atomicExch(far, 1);
    } else if (blockIdx.x == 1 && threadIdx.x == 0) {
        while (atomicAdd(far, 0) == 0)
            ;
        __threadfence();
        *out = box[0];
    }
}

__global__ void from_warp_to_warp(int *out)
{
    __shared__ int box[32];
    __shared__ volatile int up;
    int t = threadIdx.x;
    if (t == 0)
        up = 0;
    __syncthreads();
    if (t < 32) {
        box[t] = 5 * t;
        __syncwarp();
        if (t == 0) {
            __threadfence_block();
            up = 1;
        }
    } else {
        if (t == 32) {
            while (!up)
                ;
            __threadfence_block();
        }
        __syncwarp();
        out[t - 32] = box[63 - t];
    }
}

__global__ void ring_of_warps(int *out)  // four warps hand a token round, three times; the token is an atomic
{
    __shared__ int turn, sum;
    int warp = threadIdx.x / 32;
    if (threadIdx.x == 0)
        turn = sum = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        for (int round = 0; round < 3; round++) {
            while (atomicAdd(&turn, 0) != 4 * round + warp)
                ;
            __threadfence_block();
            sum = sum * 3 % 1009 + warp;
            __threadfence_block();
            atomicAdd(&turn, 1);
        }
    __syncthreads();
    if (threadIdx.x == 0)
        *out = sum;
}

__global__ void producer_and_consumer(int *slots, int *written, int *taken, int *out)  // a ring of four slots
{
    const int N = 20;
    if (blockIdx.x == 0) {
        for (int i = 0; i < N; i++) {
            while (i - atomicAdd(taken, 0) >= 4)
                ;
            __threadfence();
            slots[i % 4] = i * i;
            __threadfence();
            atomicExch(written, i + 1);
        }
    } else {
        int sum = 0;
        for (int i = 0; i < N; i++) {
            while (atomicAdd(written, 0) <= i)
                ;
            __threadfence();
            sum += slots[i % 4];
            __threadfence();
            atomicExch(taken, i + 1);
        }
        *out = sum;
    }
}

__global__ void queue_of_work(int *items, int *ready, int *next, int *out)  // one fills it, three take from it
{
    const int N = 24;
    if (blockIdx.x == 0) {
        for (int i = 0; i < N; i++) {
            items[i] = 2 * i + 1;
            __threadfence();
            atomicExch(&ready[i], 1);
        }
    } else {
        for (int i; (i = atomicAdd(next, 1)) < N;) {
            while (atomicAdd(&ready[i], 0) == 0)
                ;
            __threadfence();
            atomicAdd(out, items[i]);
        }
    }
}

__global__ void last_block_of_many_threads(const int *in, int *part, unsigned *done, int *out)
{
    __shared__ bool last;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[i] = in[i] * 2;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(done, 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last)
        atomicAdd(out, part[(i + THREADS) % (BLOCKS * THREADS)] + part[(i + 2 * THREADS) % (BLOCKS * THREADS)] +
                           part[(i + 3 * THREADS) % (BLOCKS * THREADS)] + part[i]);
}

__global__ void last_block_every_thread_fences(const int *in, int *part, unsigned *done, int *out)
{
    __shared__ bool last;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[i] = in[i];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();  // no fence after the counter: as in NVIDIA's sample threadFenceReduction
    if (last)
        for (int b = 0; b < BLOCKS; b++)
            atomicAdd(out, part[b * THREADS + threadIdx.x]);
}

__global__ void grid_barrier(int *a, int *b, int *count, int *out)  // three phases, each reads what the others wrote
{
    int *from = a, *to = b, n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int phase = 1; phase <= 3; phase++) {
        to[i] = from[(i + 1) % n] + from[(i + n - THREADS) % n];
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(count, 1);
            while (atomicAdd(count, 0) < phase * (int)gridDim.x)
                ;
            __threadfence();
        }
        __syncthreads();
        int *other = from;
        from = to;
        to = other;
    }
    out[i] = from[i];
}

__global__ void grid_barrier_with_volatile(int *a, volatile int *count_seen, int *count, int *out)
{
    int b = blockIdx.x;
    a[b] = b + 1;
    __threadfence();
    if (atomicAdd(count, 1) == (int)gridDim.x - 1) {
        __threadfence();
        *count_seen = 1;
    } else {
        while (*count_seen == 0)
            ;
    }
    __threadfence();
    out[b] = a[(b + 1) % gridDim.x];
}

// A scan in one pass: each block publishes its sum and then its prefix in one word with its state, so that the value
// never comes without it.
__global__ void look_back(const int *in, volatile unsigned long long *status, int *out)
{
    __shared__ int sums[THREADS], before;
    int t = threadIdx.x, b = blockIdx.x;
    sums[t] = in[b * THREADS + t];
    __syncthreads();
    for (int step = 1; step < THREADS; step *= 2) {
        int add = t >= step ? sums[t - step] : 0;
        __syncthreads();
        sums[t] += add;
        __syncthreads();
    }
    if (t == THREADS - 1) {
        int mine = sums[t], sum = 0;
        status[b] = (b ? 1ull : 2ull) << 32 | (unsigned)mine;
        for (int p = b - 1; p >= 0;) {
            unsigned long long s = status[p];
            if (s >> 32 == 0)
                continue;
            sum += (int)s;
            if (s >> 32 == 2)
                break;
            p--;
        }
        status[b] = 2ull << 32 | (unsigned)(sum + mine);
        before = sum;
    }
    __syncthreads();
    out[b * THREADS + t] = before + sums[t];
}

__global__ void look_back_with_fences(const int *in, int *state, int *sum_of, int *prefix_of,
                                      int *out)  // one thread a block
{
    int b = blockIdx.x, mine = in[b], before = 0;
    sum_of[b] = mine;
    __threadfence();
    atomicExch(&state[b], 1);
    for (int p = b - 1; p >= 0;) {
        int s = atomicAdd(&state[p], 0);
        if (s == 0)
            continue;
        __threadfence();
        before += s == 2 ? prefix_of[p] : sum_of[p];
        if (s == 2)
            break;
        p--;
    }
    prefix_of[b] = before + mine;
    __threadfence();
    atomicExch(&state[b], 2);
    out[b] = before + mine;
}

__global__ void arrive_and_leave(int *out)  // a latch: the last of the block's warps finds all the others' words
{
    __shared__ int words[8], left;
    int warp = threadIdx.x / 32;
    if (threadIdx.x == 0)
        left = 8;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        words[warp] = warp + 1;
        __threadfence_block();
        if (atomicSub(&left, 1) == 1) {
            __threadfence_block();
            int sum = 0;
            for (int w = 0; w < 8; w++)
                sum += words[w];
            *out = sum;
        }
    }
}

__global__ void watched(volatile int *progress, int *seen)  // a word that others look at while it grows
{
    if (blockIdx.x == 0)
        for (int i = 1; i <= 50; i++)
            *progress = i;
    else
        for (int i = 0; i < 50; i++)
            *seen = max(*seen, *progress);
}

static int *zeros(int count) { return to_device((int *)calloc(count, sizeof(int)), count); }
static int first(const int *device) { return *to_host(device, 1); }

int main()
{
    int *out = zeros(1), *box;
    chain_of_three<<<3, 1>>>(out);
    SAME(first(out), 103);
    two_hops<<<3, 1>>>(zeros(3), out);
    SAME(first(out), 42);
    volatile_flag<<<2, 1>>>(zeros(1), zeros(1), out);
    SAME(first(out), 7);
    waits_for_a_later_block<<<2, 1>>>(zeros(1), zeros(1), out);
    SAME(first(out), 8);
    flag_of_the_system<<<2, 1>>>(zeros(1), zeros(1), out);
    SAME(first(out), 9);
    polled_by_compare_and_swap<<<2, 1>>>(zeros(1), zeros(1), out);
    SAME(first(out), 10);
    bits_of_one_word<<<5, 1>>>(zeros(4), (unsigned *)zeros(1), out);
    SAME(first(out), 10);
    int minus = -1;
    the_flag_is_the_value<<<2, 1>>>(to_device(&minus, 1), out);
    SAME(first(out), 33);
    value_by_atomics<<<2, 1>>>(out);
    SAME(first(out), 34);
    ping_pong<<<2, 1>>>(zeros(1), zeros(1), out);
    int ball = 0;
    for (int i = 0; i < 20; i++)
        ball = ball * 2 % 1000 + i % 2 + 1;
    SAME(first(out), ball);
    box = zeros(THREADS);
    from_block_to_block<<<2, THREADS>>>(zeros(THREADS), zeros(1), box);
    SAME(to_host(box, THREADS)[1], 3 * (THREADS - 2));
    in_the_block_then_out<<<2, 33>>>(zeros(1), zeros(1), zeros(1), out);
    SAME(first(out), 55);
    from_warp_to_warp<<<1, 64>>>(box);
    SAME(to_host(box, 32)[1], 5 * 30);
    ring_of_warps<<<1, 128>>>(out);
    int sum = 0;
    for (int i = 0; i < 12; i++)
        sum = sum * 3 % 1009 + i % 4;
    SAME(first(out), sum);
    producer_and_consumer<<<2, 1>>>(zeros(4), zeros(1), zeros(1), out);
    SAME(first(out), 19 * 20 * 39 / 6);
    queue_of_work<<<4, 1>>>(zeros(24), zeros(24), zeros(1), out = zeros(1));
    SAME(first(out), 24 * 24);

    const int N = BLOCKS * THREADS;
    int host[N], total = 0;
    for (int i = 0; i < N; i++)
        total += host[i] = i % 13 - 3;
    int *in = to_device(host, N), *many = zeros(N);
    last_block_of_many_threads<<<BLOCKS, THREADS>>>(in, many, (unsigned *)zeros(1), out = zeros(1));
    SAME(first(out), 2 * total);
    last_block_every_thread_fences<<<BLOCKS, THREADS>>>(in, many, (unsigned *)zeros(1), out = zeros(1));
    SAME(first(out), total);

    grid_barrier<<<BLOCKS, THREADS>>>(in, many, zeros(1), box = zeros(N));
    int now[N], then[N];
    memcpy(now, host, sizeof now);
    for (int phase = 0; phase < 3; phase++) {
        for (int i = 0; i < N; i++)
            then[i] = now[(i + 1) % N] + now[(i + N - THREADS) % N];
        memcpy(now, then, sizeof now);
    }
    int *got = to_host(box, N);
    for (int i = 0; i < N; i++)
        SAME(got[i], now[i]);
    grid_barrier_with_volatile<<<BLOCKS, 1>>>(zeros(BLOCKS), zeros(1), zeros(1), box);
    SAME(to_host(box, BLOCKS)[BLOCKS - 1], 1);

    in = to_device(host, N);
    look_back<<<BLOCKS, THREADS>>>(in, (volatile unsigned long long *)zeros(2 * BLOCKS), box);
    got = to_host(box, N);
    SAME(got[N - 1], total);
    SAME(got[2], host[0] + host[1] + host[2]);
    look_back_with_fences<<<BLOCKS, 1>>>(in, zeros(BLOCKS), zeros(BLOCKS), zeros(BLOCKS), box);
    SAME(to_host(box, BLOCKS)[3], host[0] + host[1] + host[2] + host[3]);
    arrive_and_leave<<<1, 256>>>(out);
    SAME(first(out), 36);
    watched<<<2, 1>>>(zeros(1), out = zeros(1));
    SAME(first(out) <= 50, 1);
    return 0;
}
