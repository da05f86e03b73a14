// C = A B with 8 × 8 elements of C in each thread's registers: a value, once loaded, serves eight multiply-adds.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o matmul_register steps/05_matmul_register/matmul_register.cu common/*.c
//   ./learn run 05

#include "matmul.h"

constexpr int TILE = 128;  // rows and columns of C that one block computes
constexpr int TILE_K = 8;  // columns of A, rows of B in the tiles that it does so from
constexpr int PART = 8;    // rows and columns of C that one thread computes
constexpr int SIDE = TILE / PART, THREADS = SIDE * SIDE;
constexpr int BLOCKS = 2;  // on one SM: at most 128 registers for each of 2 × 256 threads

// [register]
__global__ void __launch_bounds__(THREADS, BLOCKS) matmul_register(const float *A,  // [m, k]
                                                                   const float *B,  // [k, n]
                                                                   float *C,        // [m, n]
                                                                   int m, int n, int k)
{
    // [index] A thread's rows are SIDE apart, its columns too: a warp walks along rows of C, as before.
    const int thread_row = threadIdx.x / SIDE, thread_col = threadIdx.x % SIDE;
    const int row = blockIdx.y * TILE + thread_row, col = blockIdx.x * TILE + thread_col;

    __shared__ float A_smem[TILE][TILE_K];  // [row][i]
    __shared__ float B_smem[TILE_K][TILE];  // [i][col]

    float sum[PART][PART] = {};
    for (int tile = 0; tile < k; tile += TILE_K) {
        // [load] Each thread brings four elements of either tile; beyond the edge of a matrix it brings 0.
        for (int at = threadIdx.x; at < TILE * TILE_K; at += THREADS) {
            const int A_row = blockIdx.y * TILE + at / TILE_K, A_col = tile + at % TILE_K;
            const int B_row = tile + at / TILE, B_col = blockIdx.x * TILE + at % TILE;
            A_smem[at / TILE_K][at % TILE_K] = A_row < m && A_col < k ? A[(size_t)A_row * k + A_col] : 0;
            B_smem[at / TILE][at % TILE] = B_row < k && B_col < n ? B[(size_t)B_row * n + B_col] : 0;
        }
        __syncthreads();  // both tiles are whole before any thread reads them

        // [product] Eight elements of a column of A's tile times eight of a row of B's.
        // exercise: begin product
        for (int i = 0; i < TILE_K; i++) {
            float a[PART], b[PART];
            for (int y = 0; y < PART; y++)
                a[y] = A_smem[thread_row + y * SIDE][i];
            for (int x = 0; x < PART; x++)
                b[x] = B_smem[i][thread_col + x * SIDE];
            for (int y = 0; y < PART; y++)
                for (int x = 0; x < PART; x++)
                    sum[y][x] += a[y] * b[x];
        }
        // exercise: end product
        __syncthreads();  // every thread has read both tiles before the next two replace them
    }

    // [store]
    for (int y = 0; y < PART; y++)
        for (int x = 0; x < PART; x++)
            if (row + y * SIDE < m && col + x * SIDE < n)
                C[(size_t)(row + y * SIDE) * n + col + x * SIDE] = sum[y][x];
}

// ---- b to d: 16 bytes at a time, and a rectangle of C for each warp ----

constexpr int WARP_M = 32, WARP_N = 64;  // rows and columns of C that a warp computes

// [tiles] A's tile is transposed: in a row are the elements of one column of A, and a thread's are neighbours.
struct tiles {
    float A[TILE_K][TILE + 4];  // [i][row]; with the 4, the 32 stores of a warp's lanes meet 32 banks
    float B[TILE_K][TILE];      // [i][col]
};

// [load4] Four neighbours in a row that has `left` elements from here to its end; beyond it, zeros.
template <bool aligned>
__device__ float4 load4(const float *from, int left)
{
    if (aligned)  // then all four are inside, or none
        return left > 0 ? *(const float4 *)from : make_float4(0, 0, 0, 0);
    return make_float4(left > 0 ? from[0] : 0, left > 1 ? from[1] : 0, left > 2 ? from[2] : 0, left > 3 ? from[3] : 0);
}

// [bring] A thread brings four elements of either tile: two lanes share a row of A's, a warp has a row of B's.
// `left` is how many columns of A, or rows of B, there still are.
template <bool aligned>
__device__ float4 load_A(const float *from, int m, int left)
{
    const int row = blockIdx.y * TILE + threadIdx.x / 2;
    return load4<aligned>(from, row < m ? left - (int)threadIdx.x % 2 * 4 : 0);
}

template <bool aligned>
__device__ float4 load_B(const float *from, int n, int left)
{
    const int row = threadIdx.x / 32, col = blockIdx.x * TILE + threadIdx.x % 32 * 4;
    return load4<aligned>(from, row < left ? n - col : 0);
}

// [keep] Where they go. `ordered` swaps neighbouring rows of A, and so the registers that they will be read into.
template <bool ordered>
__device__ void keep(struct tiles *smem, float4 a, float4 b)
{
    const int row = threadIdx.x / 2 ^ ordered, i = threadIdx.x % 2 * 4;
    smem->A[i][row] = a.x;
    smem->A[i + 1][row] = a.y;
    smem->A[i + 2][row] = a.z;
    smem->A[i + 3][row] = a.w;
    *(float4 *)&smem->B[threadIdx.x / 32][threadIdx.x % 32 * 4] = b;
}

// [multiply] For each i, eight elements of A and eight of B in four loads, and their 64 products.
template <bool ordered>
__device__ void multiply(const struct tiles *smem, int row, int col, float sum[PART][PART])
{
#pragma unroll
    for (int i = 0; i < TILE_K; i++) {
        alignas(16) float a[PART], b[PART];
        for (int half = 0; half < 2; half++) {
            *(float4 *)&a[4 * half] = *(const float4 *)&smem->A[i][row + half * WARP_M / 2];
            *(float4 *)&b[4 * half] = *(const float4 *)&smem->B[i][col + half * WARP_N / 2];
        }
        for (int y = 0; y < PART; y++)
            for (int turn = 0; turn < PART; turn++) {
                const int x = ordered && y % 2 ? PART - 1 - turn : turn;  // back again along every second row
                sum[y][x] += a[y ^ ordered] * b[x];
            }
    }
}

// [vector]
template <int buffers, bool ordered, bool aligned>
__global__ void __launch_bounds__(THREADS, BLOCKS) matmul_vector(const float *A,  // [m, k]
                                                                 const float *B,  // [k, n]
                                                                 float *C,        // [m, n]
                                                                 int m, int n, int k)
{
    // [place] 4 × 8 lanes cover a quarter of the warp's rectangle; each has 4 × 4 elements of all four quarters.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / (TILE / WARP_N) * WARP_M + (lane / 16 * 2 + lane % 2) * 4;
    const int col = warp % (TILE / WARP_N) * WARP_N + lane / 2 % 8 * 4;

    __shared__ alignas(16) struct tiles smem[buffers];

    const float *A_from = A + (blockIdx.y * TILE + threadIdx.x / 2) * (size_t)k + threadIdx.x % 2 * 4;
    const float *B_from = B + threadIdx.x / 32 * (size_t)n + blockIdx.x * TILE + threadIdx.x % 32 * 4;
    const size_t A_step = TILE_K, B_step = TILE_K * (size_t)n;
    float sum[PART][PART] = {};
    if (buffers == 1) {
        // [single]
        for (int left = k; left > 0; left -= TILE_K, A_from += A_step, B_from += B_step) {
            keep<ordered>(&smem[0], load_A<aligned>(A_from, m, left), load_B<aligned>(B_from, n, left));
            __syncthreads();  // both tiles are whole before any thread reads them
            multiply<ordered>(&smem[0], row, col, sum);
            __syncthreads();  // every thread has read both tiles before the next two replace them
        }
    } else {
        // [double] The next tiles travel, from memory to registers, while these are multiplied.
        keep<ordered>(&smem[0], load_A<aligned>(A_from, m, k), load_B<aligned>(B_from, n, k));
        __syncthreads();  // the first two tiles are whole
        for (int left = k; left > 0; left -= buffers * TILE_K)
#pragma unroll
            for (int now = 0; now < buffers; now++) {
                const int next = left - (now + 1) * TILE_K;
                A_from += A_step, B_from += B_step;
                const float4 a = load_A<aligned>(A_from, m, next), b = load_B<aligned>(B_from, n, next);
                multiply<ordered>(&smem[now], row, col, sum);
                keep<ordered>(&smem[1 - now], a, b);
                __syncthreads();  // these tiles are read, the next are whole
            }
    }

    // [store16] Four neighbours at once where rows of C are aligned, and one by one where they are not.
    for (int y = 0; y < PART; y++)
        for (int x = 0; x < PART; x += 4) {
            const int C_row = blockIdx.y * TILE + row + y / 4 * (WARP_M / 2) + y % 4;
            const int C_col = blockIdx.x * TILE + col + x / 4 * (WARP_N / 2);
            float *to = C + (size_t)C_row * n + C_col;
            if (aligned && C_row < m && C_col < n)
                *(float4 *)to = make_float4(sum[y][x], sum[y][x + 1], sum[y][x + 2], sum[y][x + 3]);
            for (int i = 0; !aligned && i < 4; i++)
                if (C_row < m && C_col + i < n)
                    to[i] = sum[y][x + i];
        }
}

// [launch]
enum { REGISTER, VECTOR, DOUBLE_BUFFERED, OPERAND_ORDER };

template <bool aligned>
static void start(const struct matmul_args *args, dim3 blocks, cudaStream_t stream)
{
    const float *A = (const float *)args->A, *B = (const float *)args->B;
    float *C = (float *)args->C;
    const int m = args->m, n = args->n, k = args->k;
    if (args->variant == REGISTER)
        matmul_register<<<blocks, THREADS, 0, stream>>>(A, B, C, m, n, k);
    else if (args->variant == VECTOR)
        matmul_vector<1, false, aligned><<<blocks, THREADS, 0, stream>>>(A, B, C, m, n, k);
    else if (args->variant == DOUBLE_BUFFERED)
        matmul_vector<2, false, aligned><<<blocks, THREADS, 0, stream>>>(A, B, C, m, n, k);
    else
        matmul_vector<2, true, aligned><<<blocks, THREADS, 0, stream>>>(A, B, C, m, n, k);
}

int launch(const struct matmul_args *args, cudaStream_t stream)
{
    if (!matmul_is_plain(args, FP32))
        return cudaErrorInvalidValue;
    const dim3 blocks(ceil_div(args->n, TILE), ceil_div(args->m, TILE));
    const size_t places = (size_t)args->A | (size_t)args->B | (size_t)args->C;
    if (args->n % 4 == 0 && args->k % 4 == 0 && places % 16 == 0)  // then every row begins at a multiple of 16 bytes
        start<true>(args, blocks, stream);
    else
        start<false>(args, blocks, stream);
    return cudaGetLastError();
}

// [main]
static const struct variant variants[] = {
    {"register", "8 × 8 elements of C in a thread's registers: 16 loads for 64 multiply-adds"},
    {"vector", "16 bytes a load or store, and warps that compute 32 × 64: 4 loads for 64 multiply-adds"},
    {"double_buffered", "the next tiles are on their way while these are multiplied; one barrier a tile"},
    {"operand_order", "the 64 multiply-adds in an order, and with operands, that the register banks can serve"},
    {},
};

int main(int argc, char **argv)
{
    const struct matmul_step step = {
        .name = "05_matmul_register",
        .dtypes = {FP32},
        .arch = "75",
        .variants = variants,
        .launch = launch,
    };
    return matmul_main(argc, argv, &step);
}
