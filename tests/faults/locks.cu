// Locks with a fence, a scope, a barrier or an atomic left out; tests/right/locks.cu has them whole. The first argument
// picks the kernel. `expect NAME: KIND` marks lines that the report must name, `perhaps NAME: KIND` such that it may.
#include <stdio.h>
#include <string.h>

__device__ int lock, total, other_lock, serving, next_ticket, ready, head = -1, readers;
__device__ int sums[64], bins[8], locks[8], table[8], next[64];

// ---- shared memory ----

__global__ void shared_no_acquire(int *out)
{
    __shared__ int lock, total;
    if (threadIdx.x == 0)
        lock = total = 0;
    __syncthreads();
    for (bool done = false; !done;)
        if (atomicCAS(&lock, 0, 1) == 0) {
            total += 1;  // expect shared_no_acquire: race in shared memory
            __threadfence_block();
            atomicExch(&lock, 0);
            done = true;
        }
    __syncthreads();
    out[threadIdx.x] = total;
}

__global__ void shared_no_release(int *out)
{
    __shared__ int lock, total;
    if (threadIdx.x == 0)
        lock = total = 0;
    __syncthreads();
    for (bool done = false; !done;)
        if (atomicCAS(&lock, 0, 1) == 0) {
            __threadfence_block();
            total += 1;  // expect shared_no_release: race in shared memory
            atomicExch(&lock, 0);
            done = true;
        }
    __syncthreads();
    out[threadIdx.x] = total;
}

__global__ void shared_no_fences(int *out)
{
    __shared__ int lock, total;
    if (threadIdx.x == 0)
        lock = total = 0;
    __syncthreads();
    for (bool done = false; !done;)
        if (atomicExch(&lock, 1) == 0) {
            total += 1;  // expect shared_no_fences: race in shared memory
            atomicExch(&lock, 0);
            done = true;
        }
    __syncthreads();
    out[threadIdx.x] = total;
}

__global__ void shared_plain_unlock(int *out)
{
    __shared__ int lock, total;
    if (threadIdx.x == 0)
        lock = total = 0;
    __syncthreads();
    for (bool done = false; !done;)
        if (atomicCAS(&lock, 0, 1) == 0) {  // perhaps shared_plain_unlock: race in shared memory
            __threadfence_block();
            total += 1;  // perhaps shared_plain_unlock: race in shared memory
            __threadfence_block();
            lock = 0;  // perhaps shared_plain_unlock: race in shared memory
            done = true;
        }
    __syncthreads();
    out[threadIdx.x] = total;
}

__global__ void shared_read_outside(int *out)
{
    __shared__ int lock, total;
    if (threadIdx.x == 0)
        lock = total = 0;
    __syncthreads();
    for (bool done = false; !done;)
        if (atomicCAS(&lock, 0, 1) == 0) {
            __threadfence_block();
            total += 1;  // expect shared_read_outside: race in shared memory
            __threadfence_block();
            atomicExch(&lock, 0);
            done = true;
        }
    out[threadIdx.x] = total;  // expect shared_read_outside: race in shared memory
}

__global__ void shared_two_locks(int *out)
{
    __shared__ int lock[2], total;
    if (threadIdx.x == 0)
        lock[0] = lock[1] = total = 0;
    __syncthreads();
    for (bool done = false; !done;)
        if (atomicCAS(&lock[threadIdx.x % 2], 0, 1) == 0) {
            __threadfence_block();
            total += 1;  // expect shared_two_locks: race in shared memory
            __threadfence_block();
            atomicExch(&lock[threadIdx.x % 2], 0);
            done = true;
        }
    __syncthreads();
    out[threadIdx.x] = total;
}

__global__ void shared_last_word_unlocked(int *out)
{
    __shared__ int lock, total;
    if (threadIdx.x == 0)
        lock = total = 0;
    __syncthreads();
    for (bool done = false; !done;)
        if (atomicCAS(&lock, 0, 1) == 0) {
            __threadfence_block();
            total += 1;  // perhaps shared_last_word_unlocked: race in shared memory
            __threadfence_block();
            atomicExch(&lock, 0);
            done = true;
        }
    if (threadIdx.x % 2 == 0)
        total = 1000 + threadIdx.x;  // expect shared_last_word_unlocked: race in shared memory
    __syncthreads();
    out[threadIdx.x] = total;
}

// ---- global memory ----

__global__ void no_acquire(int *)
{
    for (bool done = false; !done;)
        if (atomicCAS(&lock, 0, 1) == 0) {
            total += 1;  // expect no_acquire: race in global memory, in total
            __threadfence();
            atomicExch(&lock, 0);
            done = true;
        }
}

__global__ void no_release(int *)
{
    for (bool done = false; !done;)
        if (atomicCAS(&lock, 0, 1) == 0) {
            __threadfence();
            total += 1;  // expect no_release: race in global memory, in total
            atomicExch(&lock, 0);
            done = true;
        }
}

__global__ void no_fences(int *)
{
    for (bool done = false; !done;)
        if (atomicCAS(&lock, 0, 1) == 0) {
            total += 1;  // expect no_fences: race in global memory, in total
            atomicExch(&lock, 0);
            done = true;
        }
}

__global__ void fence_after_the_unlock(int *)
{
    for (bool done = false; !done;)
        if (atomicCAS(&lock, 0, 1) == 0) {
            __threadfence();
            total += 1;  // expect fence_after_the_unlock: race in global memory, in total
            atomicExch(&lock, 0);
            __threadfence();
            done = true;
        }
}

__global__ void fence_before_the_lock(int *)
{
    for (bool done = false; !done;) {
        __threadfence();
        if (atomicCAS(&lock, 0, 1) == 0) {
            total += 1;  // expect fence_before_the_lock: race in global memory, in total
            __threadfence();
            atomicExch(&lock, 0);
            done = true;
        }
    }
}

__global__ void acquire_of_the_block(int *)  // one thread in each of eight blocks
{
    while (atomicCAS(&lock, 0, 1) != 0)
        ;
    __threadfence_block();
    total += 1;  // expect acquire_of_the_block: race in global memory, in total
    __threadfence();
    atomicExch(&lock, 0);
}

__global__ void release_of_the_block(int *)
{
    while (atomicCAS(&lock, 0, 1) != 0)
        ;
    __threadfence();
    total += 1;  // expect release_of_the_block: race in global memory, in total
    __threadfence_block();
    atomicExch(&lock, 0);
}

__global__ void fences_of_the_block(int *)
{
    while (atomicExch(&lock, 1) != 0)
        ;
    __threadfence_block();
    total += 1;  // expect fences_of_the_block: race in global memory, in total
    __threadfence_block();
    atomicExch(&lock, 0);
}

__global__ void one_block_fences_less(int *)
{
    while (atomicCAS(&lock, 0, 1) != 0)
        ;
    if (blockIdx.x != 3)
        __threadfence();
    total += 1;  // expect one_block_fences_less: race in global memory, in total
    if (blockIdx.x != 3)
        __threadfence();
    atomicExch(&lock, 0);
}

__global__ void lock_of_the_block(int *)
{
    while (atomicCAS_block(&lock, 0, 1) != 0)  // perhaps lock_of_the_block: race in global memory
        ;
    __threadfence();
    total += 1;  // perhaps lock_of_the_block: race in global memory
    __threadfence();
    atomicExch_block(&lock, 0);  // perhaps lock_of_the_block: race in global memory
}

__global__ void unlock_of_the_block(int *)
{
    while (atomicCAS(&lock, 0, 1) != 0)  // perhaps unlock_of_the_block: race in global memory
        ;
    __threadfence();
    total += 1;  // perhaps unlock_of_the_block: race in global memory
    __threadfence();
    atomicExch_block(&lock, 0);  // perhaps unlock_of_the_block: race in global memory
}

__global__ void plain_unlock(int *)
{
    while (atomicCAS(&lock, 0, 1) != 0)  // perhaps plain_unlock: race in global memory
        ;
    __threadfence();
    total += 1;  // perhaps plain_unlock: race in global memory
    __threadfence();
    lock = 0;  // perhaps plain_unlock: race in global memory
}

__global__ void volatile_unlock_no_fence(int *)
{
    while (atomicCAS(&lock, 0, 1) != 0)
        ;
    __threadfence();
    total += 1;  // expect volatile_unlock_no_fence: race in global memory, in total
    *(volatile int *)&lock = 0;
}

__global__ void volatile_total_no_fence(int *)  // volatile is no fence
{
    while (atomicCAS(&lock, 0, 1) != 0)
        ;
    *(volatile int *)&total += 1;  // expect volatile_total_no_fence: race in global memory, in total
    atomicExch(&lock, 0);
}

__global__ void data_after_the_unlock(int *)
{
    while (atomicCAS(&lock, 0, 1) != 0)
        ;
    __threadfence();
    sums[0] += 1;
    __threadfence();
    atomicExch(&lock, 0);
    total += 1;  // expect data_after_the_unlock: race in global memory, in total
}

__global__ void odd_blocks_do_not_lock(int *)
{
    if (blockIdx.x % 2 == 0)
        while (atomicCAS(&lock, 0, 1) != 0)
            ;
    __threadfence();
    total += 1;  // expect odd_blocks_do_not_lock: race in global memory, in total
    __threadfence();
    if (blockIdx.x % 2 == 0)
        atomicExch(&lock, 0);
}

__global__ void two_locks_for_one_word(int *)
{
    int *mine = blockIdx.x % 2 ? &other_lock : &lock;
    while (atomicCAS(mine, 0, 1) != 0)
        ;
    __threadfence();
    total += 1;  // expect two_locks_for_one_word: race in global memory, in total
    __threadfence();
    atomicExch(mine, 0);
}

__global__ void taken_without_an_atomic(int *)
{
    if (lock == 0) {  // perhaps taken_without_an_atomic: race in global memory
        lock = 1;     // perhaps taken_without_an_atomic: race in global memory
        total += 1;   // perhaps taken_without_an_atomic: race in global memory
        lock = 0;     // perhaps taken_without_an_atomic: race in global memory
    }
}

// ---- taken by one, used by many ----

__global__ void warp_comes_too_early(int *)
{
    int lane = threadIdx.x % 32;
    if (lane == 0) {
        while (atomicCAS(&lock, 0, 1) != 0)
            ;
        __threadfence();
    }
    sums[lane] += 1;  // expect warp_comes_too_early: race in global memory, in sums
    __syncwarp();
    if (lane == 0) {
        __threadfence();
        atomicExch(&lock, 0);
    }
}

__global__ void leader_leaves_too_early(int *)
{
    int lane = threadIdx.x % 32;
    if (lane == 0) {
        while (atomicCAS(&lock, 0, 1) != 0)
            ;
        __threadfence();
    }
    __syncwarp();
    sums[lane] += 1;  // expect leader_leaves_too_early: race in global memory, in sums
    if (lane == 0) {
        __threadfence();
        atomicExch(&lock, 0);
    }
}

__global__ void block_comes_too_early(int *)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(&lock, 0, 1) != 0)
            ;
        __threadfence();
    }
    sums[threadIdx.x] += 1;  // expect block_comes_too_early: race in global memory, in sums
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicExch(&lock, 0);
    }
}

__global__ void block_leaves_too_early(int *)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(&lock, 0, 1) != 0)
            ;
        __threadfence();
    }
    __syncthreads();
    sums[threadIdx.x] += 1;  // expect block_leaves_too_early: race in global memory, in sums
    if (threadIdx.x == 0) {
        __threadfence();
        atomicExch(&lock, 0);
    }
}

__global__ void leader_forgets_the_fence(int *)  // __syncwarp() is none
{
    if (threadIdx.x == 0) {
        while (atomicCAS(&lock, 0, 1) != 0)
            ;
        __threadfence();
    }
    __syncthreads();
    if (threadIdx.x == 5)
        total += 1;  // expect leader_forgets_the_fence: race in global memory, in total
    __syncwarp();
    if (threadIdx.x == 0)
        atomicExch(&lock, 0);
}

// ---- tickets ----

__global__ void tickets_no_acquire(int *)
{
    int mine = atomicAdd(&next_ticket, 1);
    while (atomicAdd(&serving, 0) != mine)
        ;
    total += 1;  // expect tickets_no_acquire: race in global memory, in total
    __threadfence();
    atomicAdd(&serving, 1);
}

__global__ void tickets_no_release(int *)
{
    int mine = atomicAdd(&next_ticket, 1);
    while (atomicAdd(&serving, 0) != mine)
        ;
    __threadfence();
    total += 1;  // expect tickets_no_release: race in global memory, in total
    atomicAdd(&serving, 1);
}

__global__ void tickets_fenced_for_the_block(int *)
{
    int mine = atomicAdd(&next_ticket, 1);
    while (*(volatile int *)&serving != mine)
        ;
    __threadfence_block();
    total += 1;  // expect tickets_fenced_for_the_block: race in global memory, in total
    __threadfence_block();
    *(volatile int *)&serving = mine + 1;
}

__global__ void tickets_served_plainly(int *)
{
    int mine = atomicAdd(&next_ticket, 1);
    while (atomicAdd(&serving, 0) != mine)  // perhaps tickets_served_plainly: race in global memory
        ;
    __threadfence();
    total += 1;  // perhaps tickets_served_plainly: race in global memory
    __threadfence();
    serving = mine + 1;  // perhaps tickets_served_plainly: race in global memory
}

__global__ void nobody_waits_for_his_turn(int *)
{
    atomicAdd(&next_ticket, 1);
    __threadfence();
    total += 1;  // expect nobody_waits_for_his_turn: race in global memory, in total
    __threadfence();
    atomicAdd(&serving, 1);
}

// ---- several locks, readers, stacks ----

__global__ void bin_of_the_neighbour(int *)  // odd blocks hold the lock beside the bin
{
    int b = blockIdx.x / 2, *mine = &locks[blockIdx.x % 2 ? b + 1 : b];
    while (atomicCAS(mine, 0, 1) != 0)
        ;
    __threadfence();
    bins[b] += 1;  // expect bin_of_the_neighbour: race in global memory, in bins
    __threadfence();
    atomicExch(mine, 0);
}

__global__ void writer_ignores_readers(int *out)
{
    if (blockIdx.x == 0) {
        while (atomicAdd(&readers, 0) == 0)
            ;
        __threadfence();
        total = 5;  // expect writer_ignores_readers: race in global memory, in total
    } else {
        __threadfence();
        atomicAdd(&readers, 1);
        out[blockIdx.x] = total;  // expect writer_ignores_readers: race in global memory, in total
    }
}

__global__ void ready_before_it_is(int *out)  // the flag goes up first
{
    if (atomicExch(&lock, 1) == 0) {
        atomicExch(&ready, 1);
        table[3] = 13;  // expect ready_before_it_is: race in global memory, in table
    }
    while (atomicAdd(&ready, 0) == 0)
        ;
    __threadfence();
    out[blockIdx.x] = table[3];  // expect ready_before_it_is: race in global memory, in table
}

__global__ void filled_in_without_a_fence(int *out)
{
    if (atomicExch(&lock, 1) == 0) {
        table[3] = 13;  // expect filled_in_without_a_fence: race in global memory, in table
        atomicExch(&ready, 1);
    }
    while (atomicAdd(&ready, 0) == 0)
        ;
    __threadfence();
    out[blockIdx.x] = table[3];  // expect filled_in_without_a_fence: race in global memory, in table
}

__global__ void push_without_a_fence(int *out)
{
    int me = blockIdx.x, seen = atomicAdd(&head, 0), assumed, n = 0;
    do {
        assumed = seen;
        next[me] = assumed;  // expect push_without_a_fence: race in global memory, in next
        seen = atomicCAS(&head, assumed, me);
    } while (seen != assumed);
    __threadfence();
    for (int at = seen; at >= 0 && n < 64; at = next[at])  // expect push_without_a_fence: race in global memory, in next
        n++;
    out[me] = n;
}

__global__ void walk_without_a_fence(int *out)  // block 0 walks what the others push
{
    int me = blockIdx.x, n = 0, seen, assumed;
    if (me == 0) {
        while ((seen = atomicAdd(&head, 0)) < 0)
            ;
        for (int at = seen; at >= 0; at = next[at])  // expect walk_without_a_fence: race in global memory, in next
            n++;
        out[0] = n;
        return;
    }
    seen = atomicAdd(&head, 0);
    do {
        assumed = seen;
        next[me] = assumed;  // expect walk_without_a_fence: race in global memory, in next
        __threadfence();
        seen = atomicCAS(&head, assumed, me);
    } while (seen != assumed);
}

#define CASE(kernel) \
    if (strcmp(name, #kernel) == 0) \
    kernel

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int *out;
    cudaMalloc(&out, 64 * sizeof(int));
    CASE(shared_no_acquire)<<<1, 64>>>(out);
    CASE(shared_no_release)<<<1, 64>>>(out);
    CASE(shared_no_fences)<<<1, 64>>>(out);
    CASE(shared_plain_unlock)<<<1, 64>>>(out);
    CASE(shared_read_outside)<<<1, 64>>>(out);
    CASE(shared_two_locks)<<<1, 64>>>(out);
    CASE(shared_last_word_unlocked)<<<1, 64>>>(out);
    CASE(no_acquire)<<<2, 32>>>(out);
    CASE(no_release)<<<1, 64>>>(out);
    CASE(no_fences)<<<2, 32>>>(out);
    CASE(fence_after_the_unlock)<<<1, 2>>>(out);
    CASE(fence_before_the_lock)<<<2, 1>>>(out);
    CASE(acquire_of_the_block)<<<8, 1>>>(out);
    CASE(release_of_the_block)<<<8, 1>>>(out);
    CASE(fences_of_the_block)<<<8, 1>>>(out);
    CASE(one_block_fences_less)<<<8, 1>>>(out);
    CASE(lock_of_the_block)<<<8, 1>>>(out);
    CASE(unlock_of_the_block)<<<8, 1>>>(out);
    CASE(plain_unlock)<<<8, 1>>>(out);
    CASE(volatile_unlock_no_fence)<<<8, 1>>>(out);
    CASE(volatile_total_no_fence)<<<8, 1>>>(out);
    CASE(data_after_the_unlock)<<<8, 1>>>(out);
    CASE(odd_blocks_do_not_lock)<<<8, 1>>>(out);
    CASE(two_locks_for_one_word)<<<8, 1>>>(out);
    CASE(taken_without_an_atomic)<<<8, 1>>>(out);
    CASE(warp_comes_too_early)<<<2, 64>>>(out);
    CASE(leader_leaves_too_early)<<<2, 64>>>(out);
    CASE(block_comes_too_early)<<<4, 64>>>(out);
    CASE(block_leaves_too_early)<<<4, 64>>>(out);
    CASE(leader_forgets_the_fence)<<<4, 32>>>(out);
    CASE(tickets_no_acquire)<<<8, 1>>>(out);
    CASE(tickets_no_release)<<<8, 1>>>(out);
    CASE(tickets_fenced_for_the_block)<<<8, 1>>>(out);
    CASE(tickets_served_plainly)<<<8, 1>>>(out);
    CASE(nobody_waits_for_his_turn)<<<8, 1>>>(out);
    CASE(bin_of_the_neighbour)<<<8, 1>>>(out);
    CASE(writer_ignores_readers)<<<3, 1>>>(out);
    CASE(ready_before_it_is)<<<4, 1>>>(out);
    CASE(filled_in_without_a_fence)<<<4, 1>>>(out);
    CASE(push_without_a_fence)<<<8, 1>>>(out);
    CASE(walk_without_a_fence)<<<8, 1>>>(out);
    return cudaDeviceSynchronize();
}
