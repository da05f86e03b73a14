// WMMA: every shape and type of inputs and sums, each matrix stored by rows and by columns, in shared and global memory.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "right.h"

using namespace nvcuda;

enum { ROOM = 1024 };  // elements of the largest matrix, its stride included

template <typename T> struct stored {
    using type = T;
};
template <> struct stored<wmma::precision::tf32> {
    using type = float;
};
template <typename T> using stored_t = typename stored<T>::type;

template <typename Layout> constexpr bool is_by_columns() { return std::is_same<Layout, wmma::col_major>::value; }

// C = 2 (A B + C), from global memory, or through shared memory: there nothing stands between what the warp reads of C as
// one, and what it stores over it.
template <int M, int N, int K, typename T, typename S, typename LA, typename LB>
__global__ void multiply(const stored_t<T> *A,  // [M, K]
                         const stored_t<T> *B,  // [K, N]
                         S *C,                  // [M, N], in and out
                         int lda, int ldb, int ldc, wmma::layout_t layout, bool shared)
{
    __shared__ __align__(128) unsigned char tile[3][ROOM * 4];
    stored_t<T> *A_smem = (stored_t<T> *)tile[0], *B_smem = (stored_t<T> *)tile[1];
    S *C_smem = (S *)tile[2];
    for (int i = threadIdx.x; i < ROOM; i += 32) {
        A_smem[i] = A[i];
        B_smem[i] = B[i];
        C_smem[i] = C[i];
    }
    __syncwarp();
    wmma::fragment<wmma::matrix_a, M, N, K, T, LA> a;
    wmma::fragment<wmma::matrix_b, M, N, K, T, LB> b;
    wmma::fragment<wmma::accumulator, M, N, K, S> c;
    wmma::load_matrix_sync(a, shared ? A_smem : A, lda);
    wmma::load_matrix_sync(b, shared ? B_smem : B, ldb);
    wmma::load_matrix_sync(c, shared ? C_smem : C, ldc, layout);
    wmma::mma_sync(c, a, b, c);
    for (int i = 0; i < c.num_elements; i++)
        c.x[i] = c.x[i] * S(2);
    wmma::store_matrix_sync(shared ? C_smem : C, c, ldc, layout);
    __syncwarp();
    for (int i = threadIdx.x; shared && i < ROOM; i += 32)
        C[i] = C_smem[i];
}

static float draw(int least, int most) { return (float)(rand() % (most - least + 1) + least); }

template <int M, int N, int K, typename T, typename S, typename LA, typename LB> static void product(bool shared,
                                                                                                     bool c_by_rows)
{
    int lda = (is_by_columns<LA>() ? M : K) + 16, ldb = (is_by_columns<LB>() ? K : N) + 16,
        ldc = (c_by_rows ? N : M) + 8;
    int least = std::is_same<T, unsigned char>::value ? 0 : -7;
    stored_t<T> *A, *B;
    S *C;
    CHECK(cudaMallocManaged(&A, ROOM * sizeof *A));
    CHECK(cudaMallocManaged(&B, ROOM * sizeof *B));
    CHECK(cudaMallocManaged(&C, ROOM * sizeof *C));
    for (int i = 0; i < ROOM; i++) {
        A[i] = stored_t<T>(draw(least, 7));
        B[i] = stored_t<T>(draw(least, 7));
        C[i] = S(draw(-4, 4));
    }
    float want[M][N];
    for (int row = 0; row < M; row++)
        for (int col = 0; col < N; col++) {
            want[row][col] = (float)C[c_by_rows ? row * ldc + col : col * ldc + row];
            for (int i = 0; i < K; i++)
                want[row][col] += (float)A[is_by_columns<LA>() ? i * lda + row : row * lda + i] *
                                  (float)B[is_by_columns<LB>() ? col * ldb + i : i * ldb + col];
        }
    wmma::layout_t layout = c_by_rows ? wmma::mem_row_major : wmma::mem_col_major;
    multiply<M, N, K, T, S, LA, LB><<<1, 32>>>(A, B, C, lda, ldb, ldc, layout, shared);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    for (int row = 0; row < M; row++)
        for (int col = 0; col < N; col++)
            SAME((float)C[c_by_rows ? row * ldc + col : col * ldc + row], 2 * want[row][col]);
    CHECK(cudaFree(A));
    CHECK(cudaFree(B));
    CHECK(cudaFree(C));
}

using rows = wmma::row_major;
using columns = wmma::col_major;

template <int M, int N, int K, typename T, typename S> static void by_rows(void)
{
    product<M, N, K, T, S, rows, columns>(false, true);
    product<M, N, K, T, S, rows, columns>(true, true);
}

template <int M, int N, int K, typename T, typename S> static void by_columns(void)
{
    product<M, N, K, T, S, columns, rows>(false, false);
    product<M, N, K, T, S, columns, rows>(true, false);
}

template <typename T, typename S> static void shapes(void)
{
    by_rows<16, 16, 16, T, S>();
    by_columns<16, 16, 16, T, S>();
    by_rows<32, 8, 16, T, S>();
    by_columns<8, 32, 16, T, S>();
}

// Sums of another type than the first ones; integers that stop at the largest.
__global__ void mixed_sums(float *out, int *limits)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, half> c;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> d;
    wmma::fill_fragment(a, __float2half(0.5f));
    wmma::fill_fragment(b, 2.0f);
    wmma::fill_fragment(c, 1.0f);
    wmma::mma_sync(d, a, b, c);
    wmma::store_matrix_sync(out, d, 16, wmma::mem_row_major);
    wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> ia;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> ib;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> ic, id;
    wmma::fill_fragment(ia, (signed char)127);
    wmma::fill_fragment(ib, (signed char)127);
    wmma::fill_fragment(ic, 2147483647);
    wmma::mma_sync(id, ia, ib, ic, true);
    if (threadIdx.x == 0)
        limits[0] = id.x[0];
    wmma::mma_sync(id, ia, ib, ic);
    if (threadIdx.x == 0)
        limits[1] = id.x[0];
}

// What nobody has written is carried, and not used: rows behind the last, as an attention tile has them.
__global__ void unfilled_rows(float *out)
{
    __shared__ __align__(32) half tile[16][16];
    if (threadIdx.x < 16)
        tile[3][threadIdx.x] = __float2half((float)threadIdx.x);
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::load_matrix_sync(a, tile[0], 16);
    wmma::fill_fragment(b, 1.0f);
    wmma::fill_fragment(c, 0.0f);
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(out, c, 16, wmma::mem_row_major);
}

int main(void)
{
    shapes<half, float>();
    shapes<half, half>();
    shapes<__nv_bfloat16, float>();
    shapes<signed char, int>();
    shapes<unsigned char, int>();
    by_rows<16, 16, 8, wmma::precision::tf32, float>();
    by_columns<16, 16, 8, wmma::precision::tf32, float>();
    float *out;
    int *limits;
    CHECK(cudaMallocManaged(&out, 256 * sizeof *out));
    CHECK(cudaMallocManaged(&limits, 2 * sizeof *limits));
    mixed_sums<<<1, 32>>>(out, limits);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 256; i++)
        SAME(out[i], 17);
    SAME(limits[0], 2147483647.0);
    SAME(limits[1], -2147483648.0 + 16 * 127 * 127 - 1);
    unfilled_rows<<<1, 32>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 256; i++)
        if (i / 16 == 3)
            SAME(out[i], 120);
    finish();
}
