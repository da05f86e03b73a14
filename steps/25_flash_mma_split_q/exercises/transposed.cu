// Attention by mma with a warp for each 16 rows of Q, and 16 keys at a time: the second product is Oᵀ = Vᵀ Pᵀ.

#include "attention.h"

#include "ptx/ex2.h"
#include "ptx/ldmatrix.h"
#include "ptx/mma.h"
#include "ptx/pair.h"

#include <cuda_fp16.h>

constexpr int D = 64;                 // columns of a head
constexpr int MMA_M = 16, MMA_N = 8;  // rows and columns of what one mma computes
constexpr int MMA_K = 16;             // and the products that it sums for each element
constexpr int ROWS = MMA_M;           // of Q that a block, which is one warp, computes
constexpr int KEYS = MMA_K;           // in a tile of K, and of V
constexpr int VECTOR = 8;             // elements in 16 bytes
constexpr int PAD = VECTOR;           // elements between rows of shared memory
constexpr float P_LARGEST = 15;       // log2 of the largest P in a row: a half holds no more than 65504

// The first `count` rows of 16 are there; the others count as 0.
__device__ void load_tile(half tile[KEYS][D + PAD],
                          const half *from,  // [count, D]
                          int count)
{
    constexpr int C = D / VECTOR;
    for (int i = threadIdx.x; i < KEYS * C; i += 32) {
        const int row = i / C, col = i % C * VECTOR;
        *(uint4 *)&tile[row][col] = row < count ? *(const uint4 *)&from[i * VECTOR] : make_uint4(0, 0, 0, 0);
    }
}

__global__ void __launch_bounds__(32) flash_transposed(const half *Q,  // [heads, n, D]
                                                       const half *K,  // [heads, n, D]
                                                       const half *V,  // [heads, n, D]
                                                       half *O,        // [heads, n, D]
                                                       int n, float scale)
{
    __shared__ alignas(16) half Q_smem[ROWS][D + PAD], K_smem[KEYS][D + PAD], V_smem[KEYS][D + PAD];
    const int lane = threadIdx.x, first_row = blockIdx.x * ROWS;
    const size_t head = (size_t)blockIdx.y * n * D;
    // The row and column, of 16 keys by 16 columns of K, or of V, that this lane addresses for ldmatrix.
    const int key_row = lane / 16 * 8 + lane % 8, key_col = lane / 8 % 2 * 8;

    load_tile(Q_smem, &Q[head + (size_t)first_row * D], n - first_row);
    float o[D / MMA_M][2][4] =
        {};  // 16 columns of V by 8 rows of Q each: o[c][0] is of rows 0 to 7, o[c][1] of rows 8 to 15
    float m[2] = {-INFINITY, -INFINITY}, l[2] = {};  // of row lane / 4, and of row lane / 4 + 8

    for (int tile = 0; tile < n; tile += KEYS) {
        load_tile(K_smem, &K[head + (size_t)tile * D], n - tile);
        load_tile(V_smem, &V[head + (size_t)tile * D], n - tile);
        __syncwarp();  // Q and both tiles are whole before any lane reads them

        // s[0] is of keys 0 to 7, s[1] of keys 8 to 15.
        float s[2][4] = {};
        for (int d = 0; d < D; d += MMA_K) {
            uint32_t q[4], k[4];
            ldmatrix_x4(q, &Q_smem[lane % 16][d + lane / 16 * 8]);
            ldmatrix_x4(k, &K_smem[key_row][d + key_col]);
            mma_m16n8k16(s[0], q, &k[0], half());
            mma_m16n8k16(s[1], q, &k[2], half());
        }
        for (int x = 0; x < 2; x++)
            for (int i = 0; i < 4; i++)
                if (tile + x * MMA_N + lane % 4 * 2 + i % 2 >= n)
                    s[x][i] = -INFINITY;

        // The scores become weights where they are. A column of Oᵀ is a row of Q, so the factor of a lane's column comes from
        // another lane.
        for (int i = 0; i < 2; i++) {
            float largest = fmaxf(fmaxf(s[0][2 * i], s[0][2 * i + 1]), fmaxf(s[1][2 * i], s[1][2 * i + 1]));
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 1));
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 2));
            const float m_new = fmaxf(m[i], largest * scale), factor = ex2(m[i] - m_new);
            m[i] = m_new;
            l[i] *= factor;
            for (int x = 0; x < 2; x++)
                for (int j = 2 * i; j < 2 * i + 2; j++) {
                    s[x][j] = ex2(fmaf(s[x][j], scale, P_LARGEST - m_new));
                    l[i] += s[x][j];
                }
            for (int j = 0; j < 2; j++) {
                const float of_col = __shfl_sync(0xffffffff, factor, (lane % 4 * 2 + j) * 4);
                for (int c = 0; c < D / MMA_M; c++) {
                    o[c][i][j] *= of_col;
                    o[c][i][j + 2] *= of_col;
                }
            }
        }

        // [product]
        uint32_t p[2][2];
        for (int i = 0; i < 2; i++)
            for (int x = 0; x < 2; x++)
                p[i][x] = pack(s[x][2 * i], s[x][2 * i + 1], half());
        for (int col = 0; col < D; col += MMA_M) {
            uint32_t v[4];
            ldmatrix_x4_trans(v, &V_smem[key_row][col + key_col]);
            for (int i = 0; i < 2; i++)
                mma_m16n8k16(o[col / MMA_M][i], v, p[i], half());
        }
        // [end product]
        __syncwarp();  // every lane has read both tiles before the next two replace them
    }

    for (int i = 0; i < 2; i++) {
        l[i] += __shfl_xor_sync(0xffffffff, l[i], 1);
        l[i] += __shfl_xor_sync(0xffffffff, l[i], 2);
        for (int j = 0; j < 2; j++) {
            const int col = lane % 4 * 2 + j, row = first_row + i * 8 + col;
            const float sum = __shfl_sync(0xffffffff, l[i], col * 4);
            for (int c = 0; c < D / MMA_M && row < n; c++)
                for (int lower = 0; lower < 2; lower++)
                    O[head + (size_t)row * D + c * MMA_M + lower * 8 + lane / 4] = half(o[c][i][lower * 2 + j] / sum);
        }
    }
}

int launch(const struct attention_args *args, cudaStream_t stream)
{
    if (!attention_is_plain(args, FP16) || args->head_dim != D)
        return cudaErrorInvalidValue;
    const dim3 blocks(ceil_div(args->seqlen, ROWS), args->batch * args->heads);
    const float scale = LOG2_E * args->scale;  // exp(x) is exp2(x log2 e)
    flash_transposed<<<blocks, 32, 0, stream>>>((const half *)args->Q, (const half *)args->K, (const half *)args->V,
                                                (half *)args->O, args->seqlen, scale);
    return cudaGetLastError();
}

static const struct variant variants[] = {
    {"transposed", "the second product is transposed"},
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
