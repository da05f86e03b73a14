// The shortest ways by one stop: C[row][col] is the least A[row][i] + B[i][col] over all i, computed as step 05 computes
// a product of matrices, with + for × and the smaller of two for +.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o min_plus steps/05_matmul_register/exercises/min_plus.cu common/*.c

#include "exit.h"
#include "program.h"
#include "random.h"
#include "step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

constexpr int TILE = 128;                 // rows and columns of C that one block computes
constexpr int TILE_K = 8;                 // columns of A, rows of B in the tiles that it does so from
constexpr int THREAD_TILE = 8;            // rows and columns of C that one thread computes
constexpr int SIDE = TILE / THREAD_TILE;  // threads along a row of the block's tile, and along a column
constexpr int THREADS = SIDE * SIDE;      // in a block
constexpr int LONGEST = 100;              // of the distances in A and B, which are whole numbers from 1
constexpr int MOST = 1024;                // of m, n and k

// [tiles]
struct tiles {
    float A[TILE][TILE_K];  // [row][i]
    float B[TILE_K][TILE];  // [i][col]
};

// [kernel]
__global__ void min_plus(const float *A,  // [m, k]
                         const float *B,  // [k, n]
                         float *C,        // [m, n]
                         int m, int n, int k)
{
    const int row = threadIdx.x / SIDE;
    const int col = threadIdx.x % SIDE;

    __shared__ struct tiles smem;

    float least[THREAD_TILE][THREAD_TILE];
    // [first]
    for (int y = 0; y < THREAD_TILE; y++)
        for (int x = 0; x < THREAD_TILE; x++)
            least[y][x] = INFINITY;
    // [end first]

    for (int tile = 0; tile < k; tile += TILE_K) {
        for (int element = threadIdx.x; element < TILE * TILE_K; element += THREADS) {
            const int A_row = blockIdx.y * TILE + element / TILE_K, A_col = tile + element % TILE_K;
            const int B_row = tile + element / TILE, B_col = blockIdx.x * TILE + element % TILE;
            // [load]
            const float a = A_row < m && A_col < k ? A[(size_t)A_row * k + A_col] : INFINITY;
            const float b = B_row < k && B_col < n ? B[(size_t)B_row * n + B_col] : INFINITY;
            // [end load]
            smem.A[element / TILE_K][element % TILE_K] = a;
            smem.B[element / TILE][element % TILE] = b;
        }
        __syncthreads();  // both tiles are whole before any thread reads them

        // [combine]
        for (int i = 0; i < TILE_K; i++) {
            float a[THREAD_TILE], b[THREAD_TILE];
            for (int y = 0; y < THREAD_TILE; y++)
                a[y] = smem.A[row + y * SIDE][i];
            for (int x = 0; x < THREAD_TILE; x++)
                b[x] = smem.B[i][col + x * SIDE];
            for (int y = 0; y < THREAD_TILE; y++)
                for (int x = 0; x < THREAD_TILE; x++)
                    least[y][x] = fminf(least[y][x], a[y] + b[x]);
        }
        // [end combine]
        __syncthreads();  // every thread has read both tiles before the next two replace them
    }

    for (int y = 0; y < THREAD_TILE; y++)
        for (int x = 0; x < THREAD_TILE; x++) {
            const int C_row = blockIdx.y * TILE + row + y * SIDE;
            const int C_col = blockIdx.x * TILE + col + x * SIDE;
            if (C_row < m && C_col < n)
                C[(size_t)C_row * n + C_col] = least[y][x];
        }
}

// [check]
static int check(const float *A, const float *B, const float *C, int m, int n, int k)
{
    for (int row = 0; row < m; row++)
        for (int col = 0; col < n; col++) {
            float wanted = INFINITY;
            for (int i = 0; i < k; i++)
                wanted = fminf(wanted, A[row * k + i] + B[i * n + col]);
            const float got = C[row * n + col];
            if (got != wanted) {
                printf("WRONG: row %d, column %d is %g, should be %g\n", row, col, got, wanted);
                return EXIT_WRONG;
            }
        }
    printf("right: each of the %d shortest ways\n", m * n);
    return EXIT_RIGHT;
}

// [main]
static float *random_distances(uint64_t seed, int stream, int count)
{
    float *distances = (float *)malloc(count * sizeof(float));
    for (int i = 0; i < count; i++)
        distances[i] = (float)(1 + random_bits(seed, stream, i) % LONGEST);
    return distances;
}

static float *to_device(const float *host, int count)
{
    float *device;
    CUDA(cudaMalloc(&device, count * sizeof(float)));
    CUDA(cudaMemcpy(device, host, count * sizeof(float), cudaMemcpyHostToDevice));
    return device;
}

int main(int argc, char **argv)
{
    struct number numbers[] = {{"m", "rows of A and C", 100, 1, MOST},
                               {"n", "columns of B and C", 70, 1, MOST},
                               {"k", "columns of A, rows of B", 36, 1, MOST},
                               {}};
    const struct program program = program_begin(argc, argv, "The shortest ways by one stop, checked one by one.",
                                                 numbers);
    const int m = numbers[0].value, n = numbers[1].value, k = numbers[2].value;

    float *A = random_distances(program.seed, 0, m * k), *B = random_distances(program.seed, 1, k * n);
    float *C = (float *)malloc(m * n * sizeof(float));
    for (int i = 0; i < m * n; i++)
        C[i] = NAN;  // what is never stored shows
    float *A_device = to_device(A, m * k), *B_device = to_device(B, k * n), *C_device = to_device(C, m * n);

    min_plus<<<dim3(ceil_div(n, TILE), ceil_div(m, TILE)), THREADS>>>(A_device, B_device, C_device, m, n, k);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());

    CUDA(cudaMemcpy(C, C_device, m * n * sizeof(float), cudaMemcpyDeviceToHost));
    CUDA(cudaFree(A_device));
    CUDA(cudaFree(B_device));
    CUDA(cudaFree(C_device));
    program_output(&program, C, sizeof(float) * m * n);
    const int status = check(A, B, C, m, n, k);
    free(A);
    free(B);
    free(C);
    return program_end(&program, status);
}
