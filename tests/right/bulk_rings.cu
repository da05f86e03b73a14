// Rings of stages, filled by bulk copies of a producer and read by consumers, as CUTLASS arranges them: a barrier for each
// stage that is full and one for each that is empty, a stage and a phase that go round, 1 to 7 stages, loops over many tiles.

#include "../hopper.h"
#include "right.h"

#define TILE 64
#define BYTES (TILE * 4)

struct state {  // where in the ring a thread is
    int stage;
    unsigned phase;

    template <int STAGES> __device__ void next()
    {
        if (++stage == STAGES) {
            stage = 0;
            phase ^= 1;
        }
    }
};

template <int STAGES> struct ring {
    alignas(128) float tile[STAGES][TILE];
    uint64_t full[STAGES], empty[STAGES];

    __device__ void set_up(unsigned producers, unsigned consumers)
    {
        if (threadIdx.x == 0) {
            for (int i = 0; i < STAGES; i++) {
                MBARRIER_INIT(&full[i], producers);
                MBARRIER_INIT(&empty[i], consumers);
            }
            FENCE_MBARRIER_INIT();
        }
        __syncthreads();
    }
    __device__ void acquire(state s) { MBARRIER_WAIT(&empty[s.stage], s.phase); }  // the producer's phase begins with 1
    __device__ void fill(state s, const float *from)
    {
        MBARRIER_ARRIVE_EXPECT(&full[s.stage], BYTES);
        BULK_LOAD(tile[s.stage], from, BYTES, &full[s.stage]);
    }
    __device__ void wait(state s) { MBARRIER_WAIT(&full[s.stage], s.phase); }
    __device__ void release(state s) { MBARRIER_ARRIVE(&empty[s.stage]); }
};

// Warp 0 fills, the others read; all of a warp's lanes are behind its elected lane's arrival by __syncwarp.
template <int STAGES> __global__ void specialized(const float *in, float *out, int tiles, int per_tile)
{
    __shared__ ring<STAGES> r;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, consumers = blockDim.x / 32 - 1;
    r.set_up(1, consumers);
    if (warp == 0) {
        state s = {0, 1};
        for (int t = blockIdx.x; t < tiles; t += gridDim.x)
            for (int k = 0; k < per_tile; k++) {
                if (lane == 0) {
                    r.acquire(s);
                    r.fill(s, in + (t * per_tile + k) * TILE);
                }
                s.next<STAGES>();
            }
    } else {
        state s = {0, 0};
        for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
            float sum[2] = {0, 0};
            for (int k = 0; k < per_tile; k++) {
                r.wait(s);
                sum[0] += r.tile[s.stage][lane];
                sum[1] += r.tile[s.stage][lane + 32];
                __syncwarp();
                if (lane == 0)
                    r.release(s);
                s.next<STAGES>();
            }
            if (warp == 1) {
                out[t * TILE + lane] = sum[0];
                out[t * TILE + lane + 32] = sum[1];
            }
        }
    }
}

// The same, with every consumer's own arrival, and with consumers that take turns: each reads every other tile. The number of
// stages is even, so that each has its own: a parity says nothing of a stage whose tile before was the other's.
template <int STAGES> __global__ void in_turns(const float *in, float *out, int tiles)
{
    __shared__ ring<STAGES> r;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    r.set_up(1, 32);
    if (warp == 2) {
        state s = {0, 1};
        for (int t = 0; t < tiles; t++, s.next<STAGES>())
            if (lane == 0) {
                r.acquire(s);
                r.fill(s, in + t * TILE);
            }
        for (int i = 0; i < STAGES; i++, s.next<STAGES>())  // the producer's tail: all stages are let go of
            if (lane == 0)
                r.acquire(s);
    } else {
        state s = {0, 0};
        for (int t = 0; t < tiles; t++, s.next<STAGES>())
            if (t % 2 == warp) {
                r.wait(s);
                for (int i = lane; i < TILE; i += 32)
                    out[t * TILE + i] = 2 * r.tile[s.stage][i];
                r.release(s);
            }
    }
}

// Nobody but one thread fills, and everybody reads: loads run STAGES - 1 tiles ahead, a barrier of the block lets go.
template <int STAGES> __global__ void multistage(const float *in, float *out, int tiles)
{
    __shared__ ring<STAGES> r;
    r.set_up(1, 1);
    state filled = {0, 0}, read = {0, 0};
    for (int t = 0; t < STAGES - 1 && t < tiles; t++, filled.next<STAGES>())
        if (threadIdx.x == 0)
            r.fill(filled, in + t * TILE);
    for (int t = 0; t < tiles; t++, read.next<STAGES>(), filled.next<STAGES>()) {
        __syncthreads();  // everybody has read the tile before, whose stage is filled now
        if (threadIdx.x == 0 && t + STAGES - 1 < tiles)
            r.fill(filled, in + (t + STAGES - 1) * TILE);
        r.wait(read);
        for (int i = threadIdx.x; i < TILE; i += blockDim.x)
            out[t * TILE + i] = 2 * r.tile[read.stage][TILE - 1 - i];
    }
}

// Two rings, of keys and values, with one producer; a query tile that is loaded once, on its own barrier.
__global__ void two_rings(const float *in, float *out, int tiles)
{
    __shared__ ring<2> k;
    __shared__ ring<3> v;
    __shared__ alignas(128) float q[TILE];
    __shared__ uint64_t q_full;
    SET_UP(q_full, 1);
    k.set_up(1, 64);
    v.set_up(1, 64);
    if (threadIdx.x >= 64) {
        if (threadIdx.x == 64) {
            state of_k = {0, 1}, of_v = {0, 1};
            MBARRIER_ARRIVE_EXPECT(&q_full, BYTES);
            BULK_LOAD(q, in, BYTES, &q_full);
            for (int t = 0; t < tiles; t++, of_k.next<2>(), of_v.next<3>()) {
                k.acquire(of_k);
                k.fill(of_k, in + t * TILE);
                v.acquire(of_v);
                v.fill(of_v, in + (tiles - 1 - t) * TILE);
            }
        }
        return;
    }
    state of_k = {0, 0}, of_v = {0, 0};
    float sum = 0;
    MBARRIER_WAIT(&q_full, 0);
    for (int t = 0; t < tiles; t++, of_k.next<2>(), of_v.next<3>()) {
        k.wait(of_k);
        float product = q[threadIdx.x] * k.tile[of_k.stage][threadIdx.x];
        k.release(of_k);
        v.wait(of_v);
        sum += product * v.tile[of_v.stage][threadIdx.x];
        v.release(of_v);
    }
    out[threadIdx.x] = sum;
}

// Two halves of a tile by two producer warps: each expects its own bytes, and the phase ends with both.
__global__ void two_producers(const float *in, float *out, int tiles)
{
    __shared__ ring<3> r;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    r.set_up(2, 64);
    if (warp >= 2) {
        state s = {0, 1};
        if (lane == 0)
            for (int t = 0; t < tiles; t++, s.next<3>()) {
                int half = (warp - 2) * TILE / 2;
                r.acquire(s);
                BULK_LOAD(r.tile[s.stage] + half, in + t * TILE + half, BYTES / 2, &r.full[s.stage]);
                MBARRIER_ARRIVE_EXPECT(&r.full[s.stage], BYTES / 2);
            }
    } else {
        state s = {0, 0};
        for (int t = 0; t < tiles; t++, s.next<3>()) {
            r.wait(s);
            out[t * TILE + threadIdx.x] = 2 * r.tile[s.stage][TILE - 1 - threadIdx.x];
            r.release(s);
        }
    }
}

// A try first, and a wait only where it fails, as CUTLASS does to hide the latency of the test.
__global__ void tries_first(const float *in, float *out, int tiles)
{
    __shared__ ring<2> r;
    r.set_up(1, 32);
    if (threadIdx.x == 32) {
        state s = {0, 1};
        for (int t = 0; t < tiles; t++, s.next<2>()) {
            unsigned ready;
            MBARRIER_TRY(ready, &r.empty[s.stage], s.phase);
            if (!ready)
                r.acquire(s);
            r.fill(s, in + t * TILE);
        }
    }
    if (threadIdx.x < 32) {
        state s = {0, 0};
        unsigned ready;
        MBARRIER_TRY(ready, &r.full[s.stage], s.phase);
        for (int t = 0; t < tiles; t++) {
            if (!ready)
                r.wait(s);
            for (int i = threadIdx.x; i < TILE; i += 32)
                out[t * TILE + i] = 2 * r.tile[s.stage][i];
            r.release(s);
            s.next<2>();
            if (t + 1 < tiles)
                MBARRIER_TRY(ready, &r.full[s.stage], s.phase);
        }
    }
}

// Readers by ldmatrix, let go of by one lane behind __syncwarp, and results that leave by bulk copies from a ring of their own.
__global__ void in_and_out(const float *in, float *out, int tiles)
{
    __shared__ ring<2> r;
    __shared__ alignas(128) unsigned result[2][32];
    int lane = threadIdx.x % 32;
    r.set_up(1, 1);
    if (threadIdx.x == 32) {
        state s = {0, 1};
        for (int t = 0; t < tiles; t++, s.next<2>()) {
            r.acquire(s);
            r.fill(s, in + t * TILE);
        }
    }
    if (threadIdx.x < 32) {
        state s = {0, 0};
        for (int t = 0; t < tiles; t++, s.next<2>()) {
            unsigned x;
            r.wait(s);
            asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                         : "=r"(x)
                         : "r"(in_shared(r.tile[s.stage]) + lane % 8 * 16)
                         : "memory");
            __syncwarp();
            if (lane == 0) {
                r.release(s);
                BULK_WAIT_READ(1);
            }
            __syncwarp();
            result[t % 2][lane] = x;
            FENCE_ASYNC_SHARED();
            __syncwarp();
            if (lane == 0) {
                BULK_STORE(out + t * 32, result[t % 2], 128);
                BULK_COMMIT();
            }
        }
        if (lane == 0)
            BULK_WAIT(0);
    }
}

template <int STAGES> static void every_kind(const float *x, const float *in, float *out)
{
    for (int tiles : {1, 2, 5, 12})
        for (int per_tile : {1, 3}) {
            specialized<STAGES><<<2, 96>>>(in, out, tiles, per_tile);
            float *got = to_host(out, tiles * TILE);
            for (int i = 0; i < tiles * TILE; i++) {
                float sum = 0;
                for (int k = 0; k < per_tile; k++)
                    sum += x[(i / TILE * per_tile + k) * TILE + i % TILE];
                SAME(got[i], sum);
            }
            free(got);
        }
    for (int tiles : {1, 7, 16}) {
        in_turns<STAGES + STAGES % 2><<<1, 96>>>(in, out, tiles);
        float *got = to_host(out, tiles * TILE);
        for (int i = 0; i < tiles * TILE; i++)
            SAME(got[i], 2 * x[i]);
        multistage<STAGES><<<1, 64>>>(in, out, tiles);
        got = to_host(out, tiles * TILE);
        for (int i = 0; i < tiles * TILE; i++)
            SAME(got[i], 2 * x[i / TILE * TILE + TILE - 1 - i % TILE]);
    }
}

int main(void)
{
    const int n = 40 * TILE;
    float *x = numbers(n, 3), *in = to_device(x, n), *out = to_device<float>(NULL, n);
    every_kind<2>(x, in, out);
    every_kind<3>(x, in, out);
    every_kind<4>(x, in, out);
    every_kind<7>(x, in, out);
    specialized<1><<<3, 64>>>(in, out, 5, 2);
    float *got = to_host(out, 5 * TILE);
    for (int i = 0; i < 5 * TILE; i++)
        SAME(got[i], x[i / TILE * 2 * TILE + i % TILE] + x[(i / TILE * 2 + 1) * TILE + i % TILE]);

    two_rings<<<1, 96>>>(in, out, 9);
    got = to_host(out, TILE);
    for (int i = 0; i < TILE; i++) {
        float sum = 0;
        for (int t = 0; t < 9; t++)
            sum += x[i] * x[t * TILE + i] * x[(8 - t) * TILE + i];
        SAME(got[i], sum);
    }
    two_producers<<<1, 128>>>(in, out, 10);
    got = to_host(out, 10 * TILE);
    for (int i = 0; i < 10 * TILE; i++)
        SAME(got[i], 2 * x[i / TILE * TILE + TILE - 1 - i % TILE]);
    tries_first<<<1, 64>>>(in, out, 11);
    got = to_host(out, 11 * TILE);
    for (int i = 0; i < 11 * TILE; i++)
        SAME(got[i], 2 * x[i]);
    in_and_out<<<1, 64>>>(in, out, 7);
    got = to_host(out, 7 * 32);
    for (int i = 0; i < 7 * 32; i++)
        SAME(got[i], x[i / 32 * TILE + i % 32]);
    return 0;
}
