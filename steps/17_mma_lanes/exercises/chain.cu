// O = (Q Kᵀ) V, a warp for each 16 rows of Q: attention without its softmax. The scores Q Kᵀ never leave the registers.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o chain steps/17_mma_lanes/exercises/chain.cu common/*.c

#include "exit.h"
#include "program.h"
#include "ptx/ldmatrix.h"
#include "ptx/mma.h"
#include "ptx/pair.h"
#include "random.h"
#include "step.h"

#include <cuda_fp16.h>
#include <stdio.h>
#include <stdlib.h>

constexpr int ROWS = 16;    // of Q, and of O, that a warp has
constexpr int KEYS = 16;    // rows of K and of V in a tile
constexpr int DIM = 16;     // columns of Q and of K
constexpr int VALUES = 8;   // columns of V and of O
constexpr int VECTOR = 8;   // elements in 16 bytes
constexpr int LARGEST = 2;  // of the elements, which are whole numbers: so scores are exact in 16 bits, and O is in 32
constexpr int MOST = 4096;  // rows of Q, or of K

// [vector] Eight elements of a row; 0 where there is no such row.
__device__ uint4 vector(const half *matrix, int row, int rows, int col, int cols)
{
    return row < rows ? *(const uint4 *)&matrix[(size_t)row * cols + col] : make_uint4(0, 0, 0, 0);
}

// [kernel]
__global__ void chain(const half *Q,  // [m, DIM]
                      const half *K,  // [n, DIM]
                      const half *V,  // [n, VALUES]
                      float *O,       // [m, VALUES]
                      int m, int n)
{
    const int lane = threadIdx.x, first_row = blockIdx.x * ROWS;
    __shared__ alignas(16) half Q_smem[ROWS][DIM], K_smem[KEYS][DIM], V_smem[KEYS][VALUES];
    *(uint4 *)&Q_smem[lane / 2][lane % 2 * VECTOR] = vector(Q, first_row + lane / 2, m, lane % 2 * VECTOR, DIM);
    __syncwarp();  // Q's tile is whole before any lane reads it
    uint32_t q[4];
    ldmatrix_x4(q, &Q_smem[lane % 16][lane / 16 * 8]);

    float o[4] = {};
    for (int tile = 0; tile < n; tile += KEYS) {
        *(uint4 *)&K_smem[lane / 2][lane % 2 * VECTOR] = vector(K, tile + lane / 2, n, lane % 2 * VECTOR, DIM);
        if (lane < KEYS)
            *(uint4 *)&V_smem[lane][0] = vector(V, tile + lane, n, 0, VALUES);
        __syncwarp();  // both tiles are whole before any lane reads them

        // [scores] 16 × 16 of them are two accumulators: s[0] for the tile's first eight keys, s[1] for the other eight. A row
        // of K is a column of Kᵀ, so a pair of neighbours in a row of K is what a lane needs: no .trans.
        uint32_t k[4], v[2];
        float s[2][4] = {};
        ldmatrix_x4(k, &K_smem[lane % 8 + lane / 16 * 8][lane / 8 % 2 * 8]);
        mma_m16n8k16(s[0], q, &k[0], half());
        mma_m16n8k16(s[1], q, &k[2], half());

        // [operand] The scores become the A operand of the next product. V is stored row by row: its matrices are transposed.
        uint32_t p[4];
        // [chain]
        for (int i = 0; i < 4; i++)
            p[i] = pack(s[i / 2][i % 2 * 2], s[i / 2][i % 2 * 2 + 1], half());
        // [end chain]
        ldmatrix_x2_trans(v, &V_smem[lane % 16][0]);
        mma_m16n8k16(o, p, v, half());
        __syncwarp();  // every lane has its pairs before the next tiles replace these
    }

    // [store]
    for (int i = 0; i < 4; i++) {
        const int row = first_row + lane / 4 + i / 2 * 8, col = lane % 4 * 2 + i % 2;
        if (row < m)
            O[(size_t)row * VALUES + col] = o[i];
    }
}

// [main]
enum { Q_STREAM, K_STREAM, V_STREAM };

static int number(uint64_t seed, int stream, int i)
{
    return (int)(random_bits(seed, stream, i) % (2 * LARGEST + 1)) - LARGEST;
}

// One row of O: the elements are sums of whole numbers.
static void row_of(uint64_t seed, int row, int n, long wanted[VALUES])
{
    for (int col = 0; col < VALUES; col++)
        wanted[col] = 0;
    for (int key = 0; key < n; key++) {
        long score = 0;
        for (int i = 0; i < DIM; i++)
            score += number(seed, Q_STREAM, row * DIM + i) * number(seed, K_STREAM, key * DIM + i);
        for (int col = 0; col < VALUES; col++)
            wanted[col] += score * number(seed, V_STREAM, key * VALUES + col);
    }
}

static int check(uint64_t seed, const float *O, int m, int n)
{
    for (int row = 0; row < m; row++) {
        long wanted[VALUES];
        row_of(seed, row, n, wanted);
        for (int col = 0; col < VALUES; col++)
            if (O[row * VALUES + col] != (float)wanted[col]) {
                printf("WRONG: O[%d][%d] is %g, should be %ld\n", row, col, O[row * VALUES + col], wanted[col]);
                return EXIT_WRONG;
            }
    }
    printf("right: O[%d,%d] is exact\n", m, VALUES);
    return EXIT_RIGHT;
}

// A matrix of random whole numbers in device memory, to be freed with cudaFree.
static half *matrix(uint64_t seed, int stream, int count)
{
    half *host = (half *)malloc(count * sizeof(half)), *device;
    for (int i = 0; i < count; i++)
        host[i] = half(number(seed, stream, i));
    CUDA(cudaMalloc(&device, count * sizeof(half)));
    CUDA(cudaMemcpy(device, host, count * sizeof(half), cudaMemcpyHostToDevice));
    free(host);
    return device;
}

int main(int argc, char **argv)
{
    struct number numbers[] = {{"m", "rows of Q", 33, 1, MOST}, {"n", "rows of K and V", 40, 1, MOST}, {}};
    const struct program program = program_begin(argc, argv, "O = (Q K^T) V, checked element by element.", numbers);
    const int m = numbers[0].value, n = numbers[1].value;

    half *Q = matrix(program.seed, Q_STREAM, m * DIM), *K = matrix(program.seed, K_STREAM, n * DIM);
    half *V = matrix(program.seed, V_STREAM, n * VALUES);
    const size_t bytes = (size_t)m * VALUES * sizeof(float);
    float *O, *host = (float *)malloc(bytes);
    CUDA(cudaMalloc(&O, bytes));
    CUDA(cudaMemset(O, 0xff, bytes));  // what is never stored stays a NaN

    chain<<<ceil_div(m, ROWS), 32>>>(Q, K, V, O, m, n);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(host, O, bytes, cudaMemcpyDeviceToHost));
    CUDA(cudaFree(Q));
    CUDA(cudaFree(K));
    CUDA(cudaFree(V));
    CUDA(cudaFree(O));

    program_output(&program, host, bytes);
    const int status = check(program.seed, host, m, n);
    free(host);
    return program_end(&program, status);
}
