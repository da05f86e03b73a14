// Which lane of a warp holds which element of the matrices of mma.sync.m16n8k16: measured, checked and printed.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o lanes steps/17_mma_lanes/lanes.cu
//   ./learn emulate steps/17_mma_lanes/lanes.cu -I common

#include "ptx/ldmatrix.h"
#include "ptx/mma.h"

#include <cstdio>
#include <cstring>
#include <cuda_fp16.h>

constexpr int M = 16, N = 8, K = 16;  // A is [M, K], B is [K, N], C is [M, N]
constexpr int LANES = 32;             // of a warp

// What a lane holds. A register of a and of b has two elements, one of c has one.
struct held {
    half2 a[4], b[2], b_untransposed[2];
    float c[4], sum[4];
};

// [measure] One warp. Each element of A and of B is the number of its place, row by row, so that its value tells where it is from.
__global__ void measure(struct held *held)  // [LANES]
{
    const int lane = threadIdx.x;
    __shared__ alignas(16) half A[M][K], unit[M][K], B[K][N], B_transposed[N][K];
    for (int i = lane; i < M * K; i += LANES) {
        A[i / K][i % K] = half(i);
        unit[i / K][i % K] = half(i / K == i % K);
    }
    for (int i = lane; i < K * N; i += LANES)
        B[i / N][i % N] = B_transposed[i % N][i / N] = half(i);
    __syncwarp();  // the matrices are whole before any lane reads them

    // [fragments] B comes the two ways in which it may be stored.
    uint32_t a[4], one[4], b[2], b_untransposed[2];
    ldmatrix_x4(a, &A[lane % 16][lane / 16 * 8]);
    ldmatrix_x4(one, &unit[lane % 16][lane / 16 * 8]);
    ldmatrix_x2_trans(b, &B[lane % 16][0]);
    ldmatrix_x2(b_untransposed, &B_transposed[lane % 8][lane / 8 % 2 * 8]);

    // [products] The unit matrix times B is B: the value of a sum is the number of its place in C.
    float c[4] = {}, sum[4] = {};
    mma_m16n8k16(c, one, b, half());
    mma_m16n8k16(sum, a, b, half());

    // [hold]
    memcpy(held[lane].a, a, sizeof a);
    memcpy(held[lane].b, b, sizeof b);
    memcpy(held[lane].b_untransposed, b_untransposed, sizeof b);
    memcpy(held[lane].c, c, sizeof c);
    memcpy(held[lane].sum, sum, sizeof sum);
}

// [places] The lane and the register that hold an element, and how many times it was found; row by row.
struct place {
    int lane, number, times;
};

static struct place a_of[M * K], b_of[K * N], c_of[M * N];
static int mistakes;

// A register of a lane holds the element that has this value.
static void note(struct place *of, int count, float value, int lane, int number)
{
    const int element = (int)value;
    if (element == value && element >= 0 && element < count)
        of[element] = {lane, number, of[element].times + 1};
    else
        mistakes++;
}

static void check_places(const struct place *of, int count)
{
    for (int i = 0; i < count; i++)
        mistakes += of[i].times != 1;
}

// An element of A B: row by row, the elements of A are 0 to 255, and those of B are 0 to 127.
static float product(int row, int col)
{
    float sum = 0;
    for (int i = 0; i < K; i++)
        sum += (float)(row * K + i) * (float)(i * N + col);
    return sum;
}

static void print(struct place place) { printf(" %2d.%d", place.lane, place.number); }

int main()
{
    struct held *held, host[LANES];
    cudaMalloc(&held, sizeof host);
    measure<<<1, LANES>>>(held);
    const cudaError_t error = cudaMemcpy(host, held, sizeof host, cudaMemcpyDeviceToHost);
    cudaFree(held);
    if (error != cudaSuccess) {
        fprintf(stderr, "the launch failed: %s\n", cudaGetErrorString(error));
        return 1;
    }

    for (int lane = 0; lane < LANES; lane++) {
        const struct held *of = &host[lane];
        for (int i = 0; i < 4; i++) {
            note(a_of, M * K, __low2float(of->a[i]), lane, i);
            note(a_of, M * K, __high2float(of->a[i]), lane, i);
            note(c_of, M * N, of->c[i], lane, i);
            mistakes += of->sum[i] != product((int)of->c[i] / N, (int)of->c[i] % N);
        }
        for (int i = 0; i < 2; i++) {
            note(b_of, K * N, __low2float(of->b[i]), lane, i);
            note(b_of, K * N, __high2float(of->b[i]), lane, i);
        }
        mistakes += memcmp(of->b, of->b_untransposed, sizeof of->b) != 0;
    }
    check_places(a_of, M * K);
    check_places(b_of, K * N);
    check_places(c_of, M * N);

    printf("31.3 is lane 31, register 3: two neighbours in a row of A, two in a column of B, one element of C.\n\n");
    printf("%52s columns 0 to 7 of B\n", "");
    for (int row = 0; row < K; row += 2) {
        printf("%37s rows %2d, %2d ", "", row, row + 1);
        for (int col = 0; col < N; col++)
            print(b_of[row * N + col]);
        printf("\n");
    }
    printf("\n        columns 0, 1 to 14, 15 of A %17s columns 0 to 7 of C\n", "");
    for (int row = 0; row < M; row++) {
        printf("row %2d ", row);
        for (int col = 0; col < K; col += 2)
            print(a_of[row * K + col]);
        printf("    ");
        for (int col = 0; col < N; col++)
            print(c_of[row * N + col]);
        printf("\n");
    }
    if (mistakes)
        printf("\nWRONG: %d mistakes\n", mistakes);
    else
        printf("\nright: each element has one place, and all %d sums are exact\n", M * N);
    return mistakes != 0;
}
