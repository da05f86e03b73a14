// Locks of every make, each with the fences that the memory model asks for: what one holder wrote, the next one reads.
// tests/faults/locks.cu has the same locks with something left out.
#include "right.h"

enum { BLOCKS = 4, THREADS = 64, ALL = BLOCKS * THREADS };

__device__ int the_lock, the_total;

__global__ void cas_in_shared(int *out)
{
    __shared__ int lock, total;
    if (threadIdx.x == 0)
        lock = total = 0;
    __syncthreads();
    for (bool done = false; !done;)
        if (atomicCAS(&lock, 0, 1) == 0) {
            __threadfence_block();
            total = total + 1;
            __threadfence_block();
            atomicExch(&lock, 0);
            done = true;
        }
    __syncthreads();
    if (threadIdx.x == 0)
        out[blockIdx.x] = total;
}

__global__ void by_one_thread(int *lock, int *total)  // who knows what it wrote itself
{
    for (int turn = 0; turn < 3; turn++) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        *total += 1;
        __threadfence();
        atomicExch(lock, 0);
    }
}

__global__ void exch_in_shared(int *out)
{
    __shared__ int lock, total;
    if (threadIdx.x == 0)
        lock = total = 0;
    __syncthreads();
    for (bool done = false; !done;)
        if (!atomicExch(&lock, 1)) {
            __threadfence_block();
            total += 1;
            __threadfence_block();
            atomicExch(&lock, 0);
            done = true;
        }
    __syncthreads();
    if (threadIdx.x == 0)
        out[blockIdx.x] = total;
}

__global__ void cas_in_global(int *lock, int *total)
{
    for (bool done = false; !done;)
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *total += 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
}

__global__ void of_the_whole_system(int *lock, int *total)  // a scope larger than needed
{
    for (bool done = false; !done;)
        if (atomicCAS_system(lock, 0, 1) == 0) {
            __threadfence_system();
            *total += 1;
            __threadfence_system();
            atomicExch_system(lock, 0);
            done = true;
        }
}

__global__ void in_variables()
{
    for (bool done = false; !done;)
        if (atomicCAS(&the_lock, 0, 1) == 0) {
            __threadfence();
            the_total += 1;
            __threadfence();
            atomicExch(&the_lock, 0);
            done = true;
        }
}

__global__ void one_per_block(int *locks, int *totals)  // scope and fences of a block suffice: no other block comes
{
    int *lock = &locks[blockIdx.x], *total = &totals[blockIdx.x];
    for (bool done = false; !done;)
        if (atomicCAS_block(lock, 0, 1) == 0) {
            __threadfence_block();
            *total += 1;
            __threadfence_block();
            atomicExch_block(lock, 0);
            done = true;
        }
}

__global__ void mixed_scopes_of_one_block(int *lock, int *total)
{
    for (bool done = false; !done;) {
        int taken = threadIdx.x % 2 ? atomicCAS_block(lock, 0, 1) : atomicCAS(lock, 0, 1);
        if (taken == 0) {
            __threadfence_block();
            *total += 1;
            __threadfence();
            if (threadIdx.x % 3)
                atomicExch_block(lock, 0);
            else
                atomicExch(lock, 0);
            done = true;
        }
    }
}

__global__ void volatile_unlock(int *lock, int *total)  // one thread a block
{
    while (atomicCAS(lock, 0, 1) != 0)
        ;
    __threadfence();
    *total += 1;
    __threadfence();
    *(volatile int *)lock = 0;
}

__global__ void leader_of_a_warp(int *lock, int *totals)
{
    int lane = threadIdx.x % 32;
    if (lane == 0) {
        while (atomicCAS(lock, 0, 1) != 0)
            ;
        __threadfence();
    }
    __syncwarp();
    totals[lane] += 1;
    __syncwarp();
    if (lane == 0) {
        __threadfence();
        atomicExch(lock, 0);
    }
}

__global__ void leader_of_a_block(int *lock, int *totals)
{
    if (threadIdx.x == 0) {
        while (atomicExch(lock, 1) != 0)
            ;
        __threadfence();
    }
    __syncthreads();
    totals[threadIdx.x] += 1;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicExch(lock, 0);
    }
}

__global__ void unlocked_by_another(int *lock, int *totals)  // thread 0 takes it, thread 63 gives it back
{
    if (threadIdx.x == 0) {
        while (atomicExch(lock, 1) != 0)
            ;
        __threadfence();
    }
    __syncthreads();
    totals[threadIdx.x] += 1;
    __syncthreads();
    if (threadIdx.x == THREADS - 1) {
        __threadfence();
        atomicExch(lock, 0);
    }
}

struct ticket_lock {
    int next, serving;
};

__global__ void tickets(ticket_lock *lock, int *total)  // by the leaders of warps
{
    if (threadIdx.x % 32)
        return;
    int mine = atomicAdd(&lock->next, 1);
    while (atomicAdd(&lock->serving, 0) != mine)
        ;
    __threadfence();
    *total += 1;
    __threadfence();
    atomicAdd(&lock->serving, 1);
}

__global__ void tickets_of_all_lanes(ticket_lock *lock, int *total)
{
    int mine = atomicAdd(&lock->next, 1);
    for (bool done = false; !done;)
        if (atomicAdd(&lock->serving, 0) == mine) {
            __threadfence();
            *total += 1;
            __threadfence();
            atomicExch(&lock->serving, mine + 1);
            done = true;
        }
}

__global__ void volatile_tickets_in_shared(int *out)  // leaders: one thread a warp reads and writes `serving`
{
    __shared__ int next, total;
    __shared__ volatile int serving;
    if (threadIdx.x == 0) {
        next = total = 0;
        serving = 0;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        int mine = atomicAdd(&next, 1);
        while (serving != mine)
            ;
        __threadfence_block();
        total += 1;
        __threadfence_block();
        serving = mine + 1;
    }
    __syncthreads();
    if (threadIdx.x == 0)
        out[blockIdx.x] = total;
}

__global__ void one_per_bin(int *out)
{
    __shared__ int locks[8], bins[8];
    if (threadIdx.x < 8)
        locks[threadIdx.x] = bins[threadIdx.x] = 0;
    __syncthreads();
    int b = threadIdx.x * 7 % 8;
    for (bool done = false; !done;)
        if (atomicCAS(&locks[b], 0, 1) == 0) {
            __threadfence_block();
            bins[b] += 1;
            __threadfence_block();
            atomicExch(&locks[b], 0);
            done = true;
        }
    __syncthreads();
    if (threadIdx.x < 8)
        atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

__global__ void two_at_once(int *locks, int *accounts)  // the lower one first, so nobody waits in a circle
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, low = i % 3, high = low + 1 + i % 2;
    for (bool done = false; !done;)
        if (atomicCAS(&locks[low], 0, 1) == 0) {
            if (atomicCAS(&locks[high], 0, 1) == 0) {
                __threadfence();
                accounts[low] -= 1;
                accounts[high] += 1;
                __threadfence();
                atomicExch(&locks[high], 0);
                done = true;
            }
            __threadfence();
            atomicExch(&locks[low], 0);
        }
}

__global__ void readers_and_writers(int *state, int *data, int *out)  // leaders; state: readers inside, or -1
{
    if (threadIdx.x % 32)
        return;
    if (threadIdx.x == 0) {  // writes both words, always the same number
        while (atomicCAS(state, 0, -1) != 0)
            ;
        __threadfence();
        data[0] += 1;
        data[1] += 1;
        __threadfence();
        atomicExch(state, 0);
    } else {
        for (bool done = false; !done;) {
            int seen = atomicAdd(state, 0);
            if (seen >= 0 && atomicCAS(state, seen, seen + 1) == seen) {
                __threadfence();
                out[blockIdx.x] = data[0] == data[1];
                __threadfence();
                atomicSub(state, 1);
                done = true;
            }
        }
    }
}

__global__ void first_comer_fills_in(int *lock, int *ready, int *table, int *out)  // checked twice
{
    if (threadIdx.x % 32)
        return;
    if (atomicAdd(ready, 0) == 0) {
        while (atomicCAS(lock, 0, 1) != 0)
            ;
        __threadfence();
        if (atomicAdd(ready, 0) == 0) {
            for (int i = 0; i < 8; i++)
                table[i] = 10 + i;
            __threadfence();
            atomicExch(ready, 1);
        }
        __threadfence();
        atomicExch(lock, 0);
    }
    __threadfence();
    int sum = 0;
    for (int i = 0; i < 8; i++)
        sum += table[i];
    out[blockIdx.x * 2 + threadIdx.x / 32] = sum;
}

__global__ void push(int *head, int *next)  // a stack without a lock: whoever reads the head reads `next` behind it
{
    int me = blockIdx.x * blockDim.x + threadIdx.x, seen = atomicAdd(head, 0), assumed;
    do {
        assumed = seen;
        next[me] = assumed;
        __threadfence();
        seen = atomicCAS(head, assumed, me);
    } while (seen != assumed);
}

__global__ void push_and_walk(int *head, int *next, int *length)  // walked while others still push
{
    int me = blockIdx.x * blockDim.x + threadIdx.x, seen = atomicAdd(head, 0), assumed;
    do {
        assumed = seen;
        next[me] = assumed;
        __threadfence();
        seen = atomicCAS(head, assumed, me);
    } while (seen != assumed);
    int n = 0, at = atomicAdd(head, 0);
    __threadfence();
    for (; at >= 0; at = next[at])
        n++;
    length[me] = n;
}

__global__ void pop(int *head, const int *next, int *popped)
{
    int seen = atomicAdd(head, 0), assumed;
    do {
        assumed = seen;
        seen = atomicCAS(head, assumed, next[assumed]);
    } while (seen != assumed);
    popped[assumed] = 1;
}

static int *words(int count, int value = 0)
{
    int host[ALL];
    for (int i = 0; i < count; i++)
        host[i] = value;
    return to_device(host, count);
}

static void all_are(const int *device, int count, int want)
{
    int *host = to_host(device, count);
    for (int i = 0; i < count; i++)
        SAME(host[i], want);
    free(host);
}

int main()
{
    int *out = words(BLOCKS);
    cas_in_shared<<<BLOCKS, THREADS>>>(out);
    all_are(out, BLOCKS, THREADS);
    exch_in_shared<<<BLOCKS, THREADS>>>(out);
    all_are(out, BLOCKS, THREADS);
    volatile_tickets_in_shared<<<BLOCKS, 4 * 32>>>(out);
    all_are(out, BLOCKS, 4);

    int *lock = words(1), *total = words(1);
    cas_in_global<<<BLOCKS, THREADS>>>(lock, total);
    all_are(total, 1, ALL);
    of_the_whole_system<<<BLOCKS, THREADS>>>(lock, total);
    all_are(total, 1, 2 * ALL);
    mixed_scopes_of_one_block<<<1, THREADS>>>(lock, total);
    all_are(total, 1, 2 * ALL + THREADS);
    volatile_unlock<<<BLOCKS, 1>>>(lock, total);
    all_are(total, 1, 2 * ALL + THREADS + BLOCKS);
    in_variables<<<BLOCKS, THREADS>>>();
    int sum;
    finish();
    CHECK(cudaMemcpyFromSymbol(&sum, the_total, sizeof sum));
    SAME(sum, ALL);

    by_one_thread<<<1, 1>>>(words(1), total = words(1));
    all_are(total, 1, 3);
    one_per_block<<<BLOCKS, THREADS>>>(words(BLOCKS), out = words(BLOCKS));
    all_are(out, BLOCKS, THREADS);
    int *totals = words(THREADS);
    leader_of_a_warp<<<BLOCKS, THREADS>>>(lock, totals);
    all_are(totals, 32, BLOCKS * THREADS / 32);
    leader_of_a_block<<<BLOCKS, THREADS>>>(lock, totals = words(THREADS));
    all_are(totals, THREADS, BLOCKS);
    unlocked_by_another<<<BLOCKS, THREADS>>>(lock, totals = words(THREADS));
    all_are(totals, THREADS, BLOCKS);

    ticket_lock none = {0, 0};
    tickets<<<BLOCKS, THREADS>>>(to_device(&none, 1), total = words(1));
    all_are(total, 1, BLOCKS * THREADS / 32);
    tickets_of_all_lanes<<<BLOCKS, 32>>>(to_device(&none, 1), total = words(1));
    all_are(total, 1, BLOCKS * 32);
    one_per_bin<<<BLOCKS, THREADS>>>(out = words(8));
    all_are(out, 8, BLOCKS * THREADS / 8);

    int *accounts = words(5, 1000), *host;
    two_at_once<<<2, 32>>>(words(5), accounts);
    host = to_host(accounts, 5);
    SAME(host[0] + host[1] + host[2] + host[3] + host[4], 5000);
    readers_and_writers<<<BLOCKS, THREADS>>>(words(1), words(2), out = words(BLOCKS));
    all_are(out, BLOCKS, 1);
    first_comer_fills_in<<<BLOCKS, THREADS>>>(words(1), words(1), words(8), out = words(2 * BLOCKS));
    all_are(out, 2 * BLOCKS, 108);

    int *head = words(1, -1), *next = words(ALL), *popped = words(ALL);
    push<<<BLOCKS, THREADS>>>(head, next);
    pop<<<BLOCKS, THREADS>>>(head, next, popped);
    all_are(popped, ALL, 1);
    all_are(head, 1, -1);
    int *length = words(ALL), longest = 0;
    push_and_walk<<<2, 32>>>(head, next, length);
    host = to_host(length, 64);
    for (int i = 0; i < 64; i++)
        longest = host[i] > longest ? host[i] : longest;
    SAME(longest, 64);
    return 0;
}
