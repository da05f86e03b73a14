// A warp that fills a ring of tiles, and two warpgroups that multiply them: who waits for whom is known, event by event. With an
// argument the first warp of each warpgroup does more between its products.
#include <cuda_profiler_api.h>
#include <stdio.h>

#include "../wgmma.h"

constexpr int STAGES = 2, TILES = 4, CONSUMERS = 2, THREADS = (1 + CONSUMERS) * 128;

struct stage {
    alignas(128) unsigned char A[CONSUMERS][2048], B[256];  // core matrices, one behind the other
};

template <bool MORE> __global__ void __launch_bounds__(THREADS, 1)
    ring(const unsigned char *A, const unsigned char *B, float *out)
{
    __shared__ struct stage tiles[STAGES];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    const int group = threadIdx.x / 128;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            MBARRIER_INIT(&full[i], 1);
            MBARRIER_INIT(&empty[i], CONSUMERS * 128);
        }
        FENCE_MBARRIER_INIT();
    }
    __syncthreads();
    if (group == 0) {
        SETMAXNREG_DEC(24);
        for (int i = 0; i < TILES && threadIdx.x == 0; i++) {
            struct stage *s = &tiles[i % STAGES];
            MBARRIER_WAIT(&empty[i % STAGES], i / STAGES % 2 ^ 1);
            MBARRIER_ARRIVE_EXPECT(&full[i % STAGES], (unsigned)(sizeof s->A + sizeof s->B));
            BULK_LOAD(s->A, A, (unsigned)sizeof s->A, &full[i % STAGES]);
            BULK_LOAD(s->B, B, (unsigned)sizeof s->B, &full[i % STAGES]);
        }
        return;
    }
    SETMAXNREG_INC(240);
    float d[4];
    for (int i = 0; i < TILES; i++) {
        struct stage *s = &tiles[i % STAGES];
        MBARRIER_WAIT(&full[i % STAGES], i / STAGES % 2);
        stay(d);
        WGMMA_FENCE();
        WGMMA_SS("m64n8k16.f32.f16.f16", 4, "+f", ", 1, 1, 0, 0", d, descriptor(s->A[group - 1], 128, 256, PLAIN),
                 descriptor(s->B, 128, 256, PLAIN), i);
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        stay(d);
        MBARRIER_ARRIVE(&empty[i % STAGES]);
        if (MORE && threadIdx.x % 128 < 32)
            out[threadIdx.x] = exp2f(d[0]);
    }
    NAMED_SYNC(1, CONSUMERS * 128);
    out[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}

int main(int argc, char **)
{
    unsigned char *in;
    float *out;
    cudaMalloc(&in, 8192);
    cudaMalloc(&out, THREADS * sizeof *out);
    cudaMemset(in, 0, 8192);
    if (argc > 1)
        ring<true><<<1, THREADS>>>(in, in + 4096, out);
    else
        ring<false><<<1, THREADS>>>(in, in + 4096, out);
    return cudaDeviceSynchronize() != cudaSuccess;
}
