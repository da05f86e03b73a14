// Attention by WMMA with a warp for each 16 rows, and 16 keys at a time: the sums of the weights, too, come from a product.

#include "attention.h"

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

constexpr int D = 64;         // columns of a head
constexpr int FRAGMENT = 16;  // rows and columns of a fragment: also rows of Q in a block, and keys in a tile
constexpr int CHUNKS = D / FRAGMENT;
constexpr int VECTOR = 8;        // elements in 16 bytes
constexpr int PAD = VECTOR;      // elements between the rows of an array
constexpr float P_LARGEST = 15;  // log2 of the largest P in a row: a half holds no more than 65504

// The first `count` rows of 16 are there; the others count as 0.
__device__ void load_tile(half tile[FRAGMENT][D + PAD],
                          const uint4 *from,  // [count, C]
                          int count)
{
    constexpr int C = D / VECTOR;
    for (int i = threadIdx.x; i < FRAGMENT * C; i += 32)
        *(uint4 *)&tile[i / C][i % C * VECTOR] = i / C < count ? from[i] : make_uint4(0, 0, 0, 0);
}

__global__ void __launch_bounds__(32) flash_ones(const uint4 *Q,  // [heads, n, C]
                                                 const uint4 *K,  // [heads, n, C]
                                                 const uint4 *V,  // [heads, n, C]
                                                 half *O,         // [heads, n, D]
                                                 int n, float scale)
{
    __shared__ alignas(32) half K_smem[FRAGMENT][D + PAD], V_smem[FRAGMENT][D + PAD], P[FRAGMENT][FRAGMENT + PAD];
    __shared__ alignas(32) float S[FRAGMENT][FRAGMENT + PAD], factor[FRAGMENT];
    const int row = threadIdx.x / 2, strip = threadIdx.x % 2, first_row = blockIdx.x * FRAGMENT;
    const size_t head = (size_t)blockIdx.y * n * (D / VECTOR);

    wmma::fragment<wmma::matrix_a, FRAGMENT, FRAGMENT, FRAGMENT, half, wmma::row_major> q[CHUNKS], p;
    wmma::fragment<wmma::matrix_b, FRAGMENT, FRAGMENT, FRAGMENT, half, wmma::col_major> k;
    wmma::fragment<wmma::matrix_b, FRAGMENT, FRAGMENT, FRAGMENT, half, wmma::row_major> v;
    wmma::fragment<wmma::accumulator, FRAGMENT, FRAGMENT, FRAGMENT, float> o[CHUNKS], s, factors;
    float m = -INFINITY, l = 0;
    // [declare]
    wmma::fragment<wmma::matrix_b, FRAGMENT, FRAGMENT, FRAGMENT, half, wmma::row_major> ones;
    wmma::fragment<wmma::accumulator, FRAGMENT, FRAGMENT, FRAGMENT, float> total;
    wmma::fill_fragment(ones, 1);
    wmma::fill_fragment(total, 0);
    // [end declare]

    load_tile(K_smem, Q + head + (size_t)first_row * (D / VECTOR), n - first_row);
    __syncwarp();  // Q is whole before the warp reads it
    for (int c = 0; c < CHUNKS; c++) {
        wmma::load_matrix_sync(q[c], &K_smem[0][c * FRAGMENT], D + PAD);
        wmma::fill_fragment(o[c], 0);
    }

    for (int tile = 0; tile < n; tile += FRAGMENT) {
        __syncwarp();  // the warp has read Q, or both tiles, before the next replace them
        load_tile(K_smem, K + head + (size_t)tile * (D / VECTOR), n - tile);
        load_tile(V_smem, V + head + (size_t)tile * (D / VECTOR), n - tile);
        __syncwarp();  // both tiles are whole before the warp reads them

        wmma::fill_fragment(s, 0);
        for (int c = 0; c < CHUNKS; c++) {
            wmma::load_matrix_sync(k, &K_smem[0][c * FRAGMENT], D + PAD);
            wmma::mma_sync(s, q[c], k, s);
        }
        wmma::store_matrix_sync(&S[0][0], s, FRAGMENT + PAD, wmma::mem_row_major);
        __syncwarp();  // the scores are whole before any lane reads them

        float largest = -INFINITY;
        for (int key = strip; key < FRAGMENT && tile + key < n; key += 2)
            largest = fmaxf(largest, S[row][key]);
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 1));
        const float m_new = fmaxf(m, largest * scale);
        for (int key = strip; key < FRAGMENT; key += 2)
            P[row][key] = half(tile + key < n ? exp2f(fmaf(S[row][key], scale, P_LARGEST - m_new)) : 0);
        if (strip == 0)
            factor[row] = exp2f(m - m_new);
        m = m_new;
        __syncwarp();  // P and the factors are whole before the warp reads them

        wmma::load_matrix_sync(factors, factor, 0, wmma::mem_col_major);
        wmma::load_matrix_sync(p, &P[0][0], FRAGMENT + PAD);
        for (int c = 0; c < CHUNKS; c++) {
            for (int i = 0; i < factors.num_elements; i++)
                o[c].x[i] *= factors.x[i];
            wmma::load_matrix_sync(v, &V_smem[0][c * FRAGMENT], D + PAD);
            wmma::mma_sync(o[c], p, v, o[c]);
        }
        // [add]
        for (int i = 0; i < factors.num_elements; i++)
            total.x[i] *= factors.x[i];
        wmma::mma_sync(total, p, ones, total);
        // [end add]
    }

    // [take]
    wmma::store_matrix_sync(&S[0][0], total, FRAGMENT + PAD, wmma::mem_row_major);
    __syncwarp();  // the sums are whole before any lane reads them
    l = S[row][0];
    // [end take]
    for (int c = 0; c < CHUNKS; c++) {
        __syncwarp();  // every lane has read what was in S before the next fragment replaces it
        wmma::store_matrix_sync(&S[0][0], o[c], FRAGMENT + PAD, wmma::mem_row_major);
        __syncwarp();  // the fragment is whole before any lane reads it
        for (int col = strip; col < FRAGMENT && first_row + row < n; col += 2)
            O[head * VECTOR + (size_t)(first_row + row) * D + c * FRAGMENT + col] = half(S[row][col] * (1 / l));
    }
}

int launch(const struct attention_args *args, cudaStream_t stream)
{
    if (!attention_is_plain(args, FP16) || args->head_dim != D)
        return cudaErrorInvalidValue;
    const dim3 blocks(ceil_div(args->seqlen, FRAGMENT), args->batch * args->heads);
    const float scale = LOG2_E * args->scale;  // exp(x) is exp2(x log2 e)
    flash_ones<<<blocks, 32, 0, stream>>>((const uint4 *)args->Q, (const uint4 *)args->K, (const uint4 *)args->V,
                                          (half *)args->O, args->seqlen, scale);
    return cudaGetLastError();
}

static const struct variant variants[] = {
    {"ones", "the sums of the weights are a product with a matrix of ones"},
    {},
};

int main(int argc, char **argv)
{
    const struct attention_step step = {
        .name = "15_flash_wmma",
        .dtypes = {FP16},
        .arch = "75",
        .head_dims = {D},
        .causal = false,
        .grouped = false,
        .variants = variants,
        .workspace = NULL,
        .launch = launch,
    };
    return attention_main(argc, argv, &step);
}
