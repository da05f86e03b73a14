// Attention with one row of Q for each block, whose warps share the keys: each copies ahead the keys that its own lanes read.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o row steps/26_flash_mma_stages/exercises/row.cu common/*.c

#include "attention.h"

#include "ptx/cp_async.h"
#include "ptx/ex2.h"

#include <cuda_fp16.h>

constexpr int WARPS = 4;             // of a block
constexpr int THREADS = 32 * WARPS;  // of a block
constexpr int D = 32;                // a lane for each column
constexpr int TILE = 32;             // keys in a warp's tile: a lane for each
constexpr int VECTOR = 8;            // elements in 16 bytes
constexpr int PAD = VECTOR;          // elements between rows of shared memory

struct stage {
    alignas(16) half K[TILE][D + PAD];
    alignas(16) half V[TILE][D + PAD];
};

// [copy_stage] The lanes of a warp begin to copy the warp's tiles from a key on; rows beyond the last become 0. Each lane's
// copies are a group.
__device__ void copy_stage(struct stage *to, const half *K, const half *V,  // [n, D]
                           int key, int n)
{
    constexpr int C = D / VECTOR;
    for (int i = threadIdx.x % 32; i < TILE * C; i += 32) {
        const int row = i / C, col = i % C * VECTOR, bytes = key + row < n ? VECTOR * sizeof(half) : 0;
        cp_async_16(&to->K[row][col], &K[(size_t)(key + row) * D + col], bytes);
        cp_async_16(&to->V[row][col], &V[(size_t)(key + row) * D + col], bytes);
    }
    cp_async_commit_group();
}

__device__ float largest_of(float x)
{
    for (int offset = 16; offset > 0; offset /= 2)
        x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, offset));
    return x;
}

__device__ float sum_of(float x)
{
    for (int offset = 16; offset > 0; offset /= 2)
        x += __shfl_xor_sync(0xffffffff, x, offset);
    return x;
}

// [kernel]
__global__ void __launch_bounds__(THREADS) attention_row(const half *Q,  // [heads, rows, D]
                                                         const half *K,  // [heads, n, D]
                                                         const half *V,  // [heads, n, D]
                                                         half *O,        // [heads, rows, D]
                                                         int n, float scale)
{
    __shared__ struct stage ring[WARPS][2];  // two stages for each warp
    __shared__ float Q_smem[D], m_smem[WARPS], l_smem[WARPS], O_smem[WARPS][D];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const size_t head = (size_t)blockIdx.y * n * D, row = ((size_t)blockIdx.y * gridDim.x + blockIdx.x) * D;
    K += head;
    V += head;

    if (warp == 0)
        Q_smem[lane] = __half2float(Q[row + lane]);
    __syncthreads();  // the row of Q is whole before any warp reads it

    // [loop] The warp takes every WARPSth tile. m is the row's largest scaled score so far, l the sum of this lane's weights, and
    // o column `lane` of the row of O.
    float m = -INFINITY, l = 0, o = 0;
    int stage = 0;
    // [ahead]
    copy_stage(&ring[warp][0], K, V, warp * TILE, n);
    // [end ahead]
    for (int tile = warp * TILE; tile < n; tile += WARPS * TILE) {
        // [wait]
        cp_async_wait_group<0>();
        __syncwarp();  // both tiles are whole, and every lane has read those that the next copies replace
        copy_stage(&ring[warp][1 - stage], K, V, tile + WARPS * TILE, n);
        // [end wait]

        // [scores] A lane has the score of one key, then its weight.
        float s = 0;
        for (int d = 0; d < D; d++)
            s += Q_smem[d] * __half2float(ring[warp][stage].K[lane][d]);
        s = tile + lane < n ? s * scale : -INFINITY;
        const float m_new = fmaxf(m, largest_of(s)), factor = ex2(m - m_new), p = ex2(s - m_new);
        m = m_new;
        l = l * factor + p;
        o *= factor;
        for (int key = 0; key < TILE; key++)
            o += __shfl_sync(0xffffffff, p, key) * __half2float(ring[warp][stage].V[key][lane]);
        // [next]
        stage = 1 - stage;
        // [end next]
    }

    // [merge] A warp that had no key has m = −∞, and its weight is 0.
    l = sum_of(l);
    O_smem[warp][lane] = o;
    m_smem[warp] = m;
    l_smem[warp] = l;
    __syncthreads();  // the parts of all warps are whole before the first reads them
    if (warp == 0) {
        for (int other = 1; other < WARPS; other++)
            m = fmaxf(m, m_smem[other]);
        o = l = 0;
        for (int other = 0; other < WARPS; other++) {
            const float weight = ex2(m_smem[other] - m);
            o += weight * O_smem[other][lane];
            l += weight * l_smem[other];
        }
        O[row + lane] = __float2half(o / l);
    }
}

// [launch]
int launch(const struct attention_args *args, cudaStream_t stream)
{
    const bool is_packed = attention_is_packed(args, FP16), has_own_keys = args->kv_heads == args->heads;
    if (!is_packed || !has_own_keys || args->causal || args->lse || args->head_dim != D)
        return cudaErrorInvalidValue;
    const dim3 blocks(args->seqlen, args->batch * args->heads);
    attention_row<<<blocks, THREADS, 0, stream>>>((const half *)args->Q, (const half *)args->K, (const half *)args->V,
                                                  (half *)args->O, args->kv_seqlen, LOG2_E * args->scale);
    return cudaGetLastError();
}

// [main]
static const struct variant variants[] = {
    {"row", "each warp copies ahead the keys that its own lanes read"},
    {},
};

int main(int argc, char **argv)
{
    const struct attention_step step = {
        .name = "26_flash_mma_stages",
        .dtypes = {FP16},
        .arch = "80",
        .head_dims = {D},
        .lengths = true,
        .variants = variants,
        .launch = launch,
    };
    return attention_main(argc, argv, &step);
}
