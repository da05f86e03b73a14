// Idioms of real kernels with bulk copies and mbarriers: staging rows that nobody has filled, two groups of consumers that take tiles
// in turns, a poll of two barriers at once; and the names that CUDA 13 has for wide vectors.

#include "right.h"
#include <cuda/ptx>

namespace ptx = cuda::ptx;

constexpr int ROW = 32, ROWS = 8, TILE = 128, PARTS = 3, STAGES = 2, GROUP = 64;

__device__ void initialise(uint64_t *bar, unsigned arrivals)
{
    ptx::mbarrier_init(bar, arrivals);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
}

__device__ void load(float *to, const float *from, unsigned bytes, uint64_t *bar)
{
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, bar, bytes);
    ptx::cp_async_bulk(ptx::space_shared, ptx::space_global, to, from, bytes, bar);
}

__device__ void wait_for(uint64_t *bar, unsigned parity)
{
    while (!ptx::mbarrier_try_wait_parity(bar, parity)) {
    }
}

__device__ void store(float *to, const float *from, unsigned bytes)
{
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, to, from, bytes);
    ptx::cp_async_bulk_commit_group();
}

// Rows behind the last are stored as they are: the program never looks at them.
__global__ void rows_behind_the_last(const float *in, float *out)
{
    __shared__ alignas(128) float staged[2][ROWS][ROW];
    staged[1][threadIdx.x / ROW][threadIdx.x % ROW] = in[threadIdx.x];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        store(out, staged[1][0], sizeof staged[1]);
        store(out + ROWS * ROW, staged[0][0], sizeof staged[0]);
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

// Groups 0 and 1 take every other tile from one ring; a barrier for each says when the other has taken its parts, so that a group
// asks only for phases that it may ask for.
__global__ void in_turns(const float *in, float *out, int tiles)
{
    __shared__ alignas(128) float stage[STAGES][TILE];
    __shared__ uint64_t full[STAGES], empty[STAGES], turn[2];
    int group = threadIdx.x / GROUP, lane = threadIdx.x % GROUP;
    if (threadIdx.x < STAGES) {
        initialise(&full[threadIdx.x], 1);
        initialise(&empty[threadIdx.x], GROUP);
        initialise(&turn[threadIdx.x], GROUP);
    }
    __syncthreads();
    if (group == 2) {
        for (int i = 0; i < tiles * PARTS; i++) {
            wait_for(&empty[i % STAGES], i / STAGES % 2 ^ 1);
            load(stage[i % STAGES], in + i * TILE, sizeof stage[0], &full[i % STAGES]);
        }
        return;
    }
    for (int tile = group; tile < tiles; tile += 2) {
        float sum = 0;
        wait_for(&turn[group], tile / 2 % 2 ^ (group == 0));
        for (int i = tile * PARTS; i < (tile + 1) * PARTS; i++) {
            wait_for(&full[i % STAGES], i / STAGES % 2);
            sum += stage[i % STAGES][lane] + stage[i % STAGES][GROUP + lane];
            ptx::mbarrier_arrive(&empty[i % STAGES]);
        }
        ptx::mbarrier_arrive(&turn[group ^ 1]);
        out[tile * GROUP + lane] = sum;
    }
}

// The second copy is begun when the first has been seen, by a thread that polls for both.
__global__ void polls_for_both(const float *in, float *out)
{
    __shared__ alignas(128) float halves[2][ROW];
    __shared__ uint64_t full[2], go_on;
    if (threadIdx.x == 0) {
        initialise(&full[0], 1);
        initialise(&full[1], 1);
        initialise(&go_on, ROW);
    }
    __syncthreads();
    if (threadIdx.x == ROW) {
        load(halves[1], in + ROW, sizeof halves[1], &full[1]);
        wait_for(&go_on, 0);
        load(halves[0], in, sizeof halves[0], &full[0]);
    }
    if (threadIdx.x >= ROW)
        return;
    bool have[2] = {false, false};
    while (!have[0] || !have[1]) {
        have[0] = have[0] || ptx::mbarrier_test_wait_parity(&full[0], 0);
        if (!have[1] && ptx::mbarrier_test_wait_parity(&full[1], 0)) {
            have[1] = true;
            ptx::mbarrier_arrive(&go_on);
        }
    }
    for (int i = 0; i < 2; i++)
        out[i * ROW + threadIdx.x] = halves[i][threadIdx.x];
}

static_assert(alignof(double4_16a) == 16 && alignof(double4_32a) == 32 && sizeof(longlong4_32a) == 32, "");

__global__ void wide(double4_32a *out) { *out = make_double4_32a(1, 2, 3, make_ulonglong4_16a(4, 5, 6, 7).x); }

int main()
{
    const int tiles = 7, count = tiles * PARTS * TILE;
    float host[count];
    for (int i = 0; i < count; i++)
        host[i] = i * 7 % 1021;
    float *in = to_device(host, count), *out = to_device<float>(NULL, count);

    rows_behind_the_last<<<1, 5 * ROW>>>(in, out);
    float *got = to_host(out, 5 * ROW);
    for (int i = 0; i < 5 * ROW; i++)
        SAME(got[i], host[i]);

    in_turns<<<1, 2 * GROUP + 1>>>(in, out, tiles);
    got = to_host(out, tiles * GROUP);
    for (int i = 0; i < tiles * GROUP; i++) {
        float sum = 0;
        for (int part = 0; part < 2 * PARTS; part++)
            sum += host[i / GROUP * PARTS * TILE + part * GROUP + i % GROUP];
        SAME(got[i], sum);
    }

    polls_for_both<<<1, 2 * ROW>>>(in, out);
    got = to_host(out, 2 * ROW);
    for (int i = 0; i < 2 * ROW; i++)
        SAME(got[i], host[i]);

    double4_32a *vector = to_device<double4_32a>(NULL, 1);
    wide<<<1, 1>>>(vector);
    SAME(to_host(vector, 1)->w, 4);
    finish();
    printf("ok\n");
    return 0;
}
