// Attention by mma with a warp for each 32 rows of Q: one fragment of K or V can serve two tiles of 16 rows.

#include "attention.h"

#include "ptx/ex2.h"
#include "ptx/ldmatrix.h"
#include "ptx/mma.h"
#include "ptx/pair.h"

#include <cuda_fp16.h>

constexpr int D = 64;                     // columns of a head
constexpr int MMA_M = 16, MMA_N = 8;      // rows and columns of what one mma computes
constexpr int MMA_K = 16;                 // and the products that it sums for each element
constexpr int ROWS = 2;                   // tiles of 16 rows of Q that a warp computes
constexpr int BLOCK_ROWS = ROWS * MMA_M;  // rows of Q that a block, which is one warp, computes
constexpr int TILE = 32;                  // keys in a tile of K, and of V
constexpr int VECTOR = 8;                 // elements in 16 bytes
constexpr int PAD = VECTOR;               // elements between rows of shared memory
constexpr float P_LARGEST = 15;           // log2 of the largest P in a row: a half holds no more than 65504

// The first `count` rows of 32 are there; the others count as 0.
__device__ void load_tile(half tile[TILE][D + PAD],
                          const half *from,  // [count, D]
                          int count)
{
    constexpr int C = D / VECTOR;
    for (int i = threadIdx.x; i < TILE * C; i += 32)
        *(uint4 *)&tile[i / C][i % C * VECTOR] = i / C < count ? *(const uint4 *)&from[i * VECTOR]
                                                               : make_uint4(0, 0, 0, 0);
}

__global__ void __launch_bounds__(32) flash_rows(const half *Q,  // [heads, n, D]
                                                 const half *K,  // [heads, n, D]
                                                 const half *V,  // [heads, n, D]
                                                 half *O,        // [heads, n, D]
                                                 int n, float scale)
{
    __shared__ alignas(16) half Q_smem[BLOCK_ROWS][D + PAD], K_smem[TILE][D + PAD], V_smem[TILE][D + PAD];
    const int lane = threadIdx.x, first_row = blockIdx.x * BLOCK_ROWS;
    const size_t head = (size_t)blockIdx.y * n * D;
    // The row and column, of 16 keys by 16 columns of K, that this lane addresses for ldmatrix.
    const int key_row = lane / 16 * 8 + lane % 8, key_col = lane / 8 % 2 * 8;

    load_tile(Q_smem, &Q[head + (size_t)first_row * D], n - first_row);
    float o[ROWS][D / MMA_N][4] = {}, m[ROWS][2], l[ROWS][2] = {};
    for (int y = 0; y < ROWS; y++)
        m[y][0] = m[y][1] = -INFINITY;

    for (int tile = 0; tile < n; tile += TILE) {
        load_tile(K_smem, &K[head + (size_t)tile * D], n - tile);
        load_tile(V_smem, &V[head + (size_t)tile * D], n - tile);
        __syncwarp();  // Q and both tiles are whole before any lane reads them

        float s[ROWS][TILE / MMA_N][4] = {};
        // [scores]
        for (int d = 0; d < D; d += MMA_K) {
            uint32_t q[ROWS][4], k[4];
            for (int y = 0; y < ROWS; y++)
                ldmatrix_x4(q[y], &Q_smem[y * MMA_M + lane % 16][d + lane / 16 * 8]);
            for (int key = 0; key < TILE; key += 2 * MMA_N) {
                ldmatrix_x4(k, &K_smem[key + key_row][d + key_col]);
                for (int y = 0; y < ROWS; y++) {
                    mma_m16n8k16(s[y][key / MMA_N], q[y], &k[0], half());
                    mma_m16n8k16(s[y][key / MMA_N + 1], q[y], &k[2], half());
                }
            }
        }
        // [end scores]
        for (int y = 0; y < ROWS; y++)
            for (int x = 0; x < TILE / MMA_N; x++)
                for (int i = 0; i < 4; i++)
                    if (tile + x * MMA_N + lane % 4 * 2 + i % 2 >= n)
                        s[y][x][i] = -INFINITY;

        uint32_t p[ROWS][TILE / MMA_K][4];
        for (int y = 0; y < ROWS; y++)
            for (int i = 0; i < 2; i++) {
                float largest = -INFINITY;
                for (int x = 0; x < TILE / MMA_N; x++)
                    largest = fmaxf(largest, fmaxf(s[y][x][2 * i], s[y][x][2 * i + 1]));
                largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 1));
                largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 2));
                const float m_new = fmaxf(m[y][i], largest * scale), factor = ex2(m[y][i] - m_new);
                m[y][i] = m_new;
                l[y][i] *= factor;
                for (int x = 0; x < TILE / MMA_N; x++) {
                    const float first = ex2(fmaf(s[y][x][2 * i], scale, P_LARGEST - m_new));
                    const float second = ex2(fmaf(s[y][x][2 * i + 1], scale, P_LARGEST - m_new));
                    l[y][i] += first + second;
                    p[y][x / 2][x % 2 * 2 + i] = pack(first, second, half());
                }
                for (int x = 0; x < D / MMA_N; x++) {
                    o[y][x][2 * i] *= factor;
                    o[y][x][2 * i + 1] *= factor;
                }
            }

        // [output]
        for (int key = 0; key < TILE; key += MMA_K)
            for (int col = 0; col < D; col += 2 * MMA_N) {
                uint32_t v[4];
                ldmatrix_x4_trans(v, &V_smem[key + lane % 16][col + lane / 16 * 8]);
                for (int y = 0; y < ROWS; y++) {
                    mma_m16n8k16(o[y][col / MMA_N], p[y][key / MMA_K], &v[0], half());
                    mma_m16n8k16(o[y][col / MMA_N + 1], p[y][key / MMA_K], &v[2], half());
                }
            }
        // [end output]
        __syncwarp();  // every lane has read both tiles before the next two replace them
    }

    for (int y = 0; y < ROWS; y++)
        for (int i = 0; i < 2; i++) {
            float sum = l[y][i];
            sum += __shfl_xor_sync(0xffffffff, sum, 1);
            sum += __shfl_xor_sync(0xffffffff, sum, 2);
            const int row = first_row + y * MMA_M + lane / 4 + i * 8;
            for (int x = 0; x < D / MMA_N && row < n; x++)
                *(uint32_t *)&O[head + (size_t)row * D + x * MMA_N + lane % 4 * 2] = pack(
                    o[y][x][2 * i] / sum, o[y][x][2 * i + 1] / sum, half());
        }
}

int launch(const struct attention_args *args, cudaStream_t stream)
{
    if (!attention_is_plain(args, FP16) || args->head_dim != D)
        return cudaErrorInvalidValue;
    const dim3 blocks(ceil_div(args->seqlen, BLOCK_ROWS), args->batch * args->heads);
    const float scale = LOG2_E * args->scale;  // exp(x) is exp2(x log2 e)
    flash_rows<<<blocks, 32, 0, stream>>>((const half *)args->Q, (const half *)args->K, (const half *)args->V,
                                          (half *)args->O, args->seqlen, scale);
    return cudaGetLastError();
}

static const struct variant variants[] = {
    {"rows", "a warp has two tiles of 16 rows"},
    {},
};

int main(int argc, char **argv)
{
    const struct attention_step step = {
        .name = "25_flash_mma_split_q",
        .dtypes = {FP16},
        .arch = "80",
        .head_dims = {D},
        .variants = variants,
        .launch = launch,
    };
    return attention_main(argc, argv, &step);
}
