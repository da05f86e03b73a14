// Which element of its matrix does each lane of a warp hold in x[i] of a WMMA fragment? The guide leaves it open; a GPU
// knows. Prints a line of JSON for each kind of fragment:
//
//   nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a lanes.cu -o lanes && ./lanes > lanes_h200.jsonl
//
// "elements": for each lane, "row,column" of x[0], x[1], …; "used": which x[i] of A or B mma_sync looks at, where the
// fragment holds an element several times.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../matrices.h"

using namespace nvcuda;

enum { MOST_ELEMENTS = 16, MATRIX = 512, WARP = 32 };

#define CHECK(call) \
    do { \
        cudaError_t error_ = (call); \
        if (error_ != cudaSuccess) { \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_)); \
            exit(1); \
        } \
    } while (0)

// Numbers are put into matrices as bits, which a load moves as they are.
template <typename T> __host__ __device__ T from_bits(unsigned bits)
{
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
template <typename T> __device__ unsigned to_bits(T value)
{
    unsigned bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

template <typename F, typename T> __device__ void load(F &fragment, const T *matrix, int rows, int columns)
{
    wmma::load_matrix_sync(fragment, matrix, columns);
}
template <int M, int N, int K, typename T>
__device__ void load(wmma::fragment<wmma::matrix_a, M, N, K, T, wmma::col_major> &fragment, const stored_t<T> *matrix,
                     int rows, int columns)
{
    wmma::load_matrix_sync(fragment, matrix, rows);
}
template <int M, int N, int K, typename T>
__device__ void load(wmma::fragment<wmma::matrix_b, M, N, K, T, wmma::col_major> &fragment, const stored_t<T> *matrix,
                     int rows, int columns)
{
    wmma::load_matrix_sync(fragment, matrix, rows);
}
template <int M, int N, int K, typename T>
__device__ void load(wmma::fragment<wmma::accumulator, M, N, K, T> &fragment, const T *matrix, int rows, int columns)
{
    wmma::load_matrix_sync(fragment, matrix, columns, wmma::mem_row_major);
}

// Writes the bits of each x[i]: where the matrix holds row numbers the row, and so on.
template <typename F, typename T> __global__ void dump(const T *matrix, unsigned *out, int rows, int columns)
{
    F fragment;
    load(fragment, matrix, rows, columns);
    for (int i = 0; i < fragment.num_elements; i++)
        out[threadIdx.x * MOST_ELEMENTS + i] = to_bits(fragment.x[i]);
}

// The sum over the product of two matrices of ones, but that of the first only x[i] are: 0 where nobody looks at x[i].
template <typename A, typename B, typename C, typename One> __global__ void use_a(float *sums, One one, One zero)
{
    A a;
    B b;
    for (int i = 0; i < a.num_elements; i++) {
        C c;
        wmma::fill_fragment(c, 0);
        wmma::fill_fragment(b, one);
        for (int j = 0; j < a.num_elements; j++)
            a.x[j] = i == j ? one : zero;
        wmma::mma_sync(c, a, b, c);
        for (int j = 0; j < c.num_elements; j++)
            atomicAdd(&sums[i], (float)c.x[j]);
    }
}
template <typename A, typename B, typename C, typename One> __global__ void use_b(float *sums, One one, One zero)
{
    A a;
    B b;
    for (int i = 0; i < b.num_elements; i++) {
        C c;
        wmma::fill_fragment(c, 0);
        wmma::fill_fragment(a, one);
        for (int j = 0; j < b.num_elements; j++)
            b.x[j] = i == j ? one : zero;
        wmma::mma_sync(c, a, b, c);
        for (int j = 0; j < c.num_elements; j++)
            atomicAdd(&sums[i], (float)c.x[j]);
    }
}

static void *device(size_t bytes)
{
    void *memory;
    CHECK(cudaMalloc(&memory, bytes));
    CHECK(cudaMemset(memory, 0, bytes));
    return memory;
}

enum order { ROWS, COLUMNS };

template <typename F, typename T>
static void print_elements(const char *name, int rows, int columns, enum order order)
{
    static unsigned found[2][WARP * MOST_ELEMENTS];
    T host[MATRIX], *matrix = (T *)device(sizeof host);
    unsigned *out = (unsigned *)device(sizeof found[0]);
    for (int what = 0; what < 2; what++) {
        for (int row = 0; row < rows; row++)
            for (int column = 0; column < columns; column++)
                host[order == ROWS ? row * columns + column : column * rows + row] = from_bits<T>(what ? column : row);
        CHECK(cudaMemcpy(matrix, host, sizeof host, cudaMemcpyHostToDevice));
        dump<F><<<1, WARP>>>(matrix, out, rows, columns);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(found[what], out, sizeof found[what], cudaMemcpyDeviceToHost));
    }
    printf("{\"fragment\": \"%s\", \"elements\": [", name);
    for (int lane = 0; lane < WARP; lane++) {
        printf("%s\"", lane ? ", " : "");
        for (int i = 0; i < F::num_elements; i++)
            printf("%s%u,%u", i ? " " : "", found[0][lane * MOST_ELEMENTS + i], found[1][lane * MOST_ELEMENTS + i]);
        printf("\"");
    }
    printf("]}\n");
    CHECK(cudaFree(matrix));
    CHECK(cudaFree(out));
}

static void print_used(const char *name, const float *sums, int n)
{
    float host[MOST_ELEMENTS];
    CHECK(cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost));
    printf("{\"fragment\": \"%s\", \"used\": [", name);
    for (int i = 0; i < n; i++)
        printf("%s%d", i ? ", " : "", host[i] != 0);
    printf("]}\n");
}

template <int M, int N, int K, typename T, typename Sum> static void print_shape(const char *type, const char *sum_type)
{
    using A = wmma::fragment<wmma::matrix_a, M, N, K, T, wmma::row_major>;
    using B = wmma::fragment<wmma::matrix_b, M, N, K, T, wmma::row_major>;
    using C = wmma::fragment<wmma::accumulator, M, N, K, Sum>;
    using One = stored_t<T>;
    char name[128];
    auto named = [&](const char *what) {
        snprintf(name, sizeof name, "m%dn%dk%d %s", M, N, K, what);
        return name;
    };
    char what[64];
    auto typed = [&](const char *operand, const char *order) {
        snprintf(what, sizeof what, "%s %s%s", operand, type, order);
        return named(what);
    };
    print_elements<A, One>(typed("a", " row"), M, K, ROWS);
    print_elements<wmma::fragment<wmma::matrix_a, M, N, K, T, wmma::col_major>, One>(typed("a", " col"), M, K, COLUMNS);
    print_elements<B, One>(typed("b", " row"), K, N, ROWS);
    print_elements<wmma::fragment<wmma::matrix_b, M, N, K, T, wmma::col_major>, One>(typed("b", " col"), K, N, COLUMNS);
    float *sums = (float *)device(2 * MOST_ELEMENTS * sizeof(float));
    use_a<A, B, C, One><<<1, WARP>>>(sums, One(1), One(0));
    print_used(typed("a", ""), sums, A::num_elements);
    use_b<A, B, C, One><<<1, WARP>>>(sums + MOST_ELEMENTS, One(1), One(0));
    print_used(typed("b", ""), sums + MOST_ELEMENTS, B::num_elements);
    CHECK(cudaFree(sums));
    snprintf(what, sizeof what, "c %s", sum_type);
    print_elements<C, Sum>(named(what), M, N, ROWS);
}

int main(void)
{
    print_shape<16, 16, 16, half, float>("half", "float");
    print_shape<32, 8, 16, half, float>("half", "float");
    print_shape<8, 32, 16, half, float>("half", "float");
    print_elements<wmma::fragment<wmma::accumulator, 16, 16, 16, half>, half>("m16n16k16 c half", 16, 16, ROWS);
    print_elements<wmma::fragment<wmma::accumulator, 32, 8, 16, half>, half>("m32n8k16 c half", 32, 8, ROWS);
    print_elements<wmma::fragment<wmma::accumulator, 8, 32, 16, half>, half>("m8n32k16 c half", 8, 32, ROWS);
    print_shape<16, 16, 16, __nv_bfloat16, float>("bf16", "float");
    print_shape<32, 8, 16, __nv_bfloat16, float>("bf16", "float");
    print_shape<8, 32, 16, __nv_bfloat16, float>("bf16", "float");
    print_shape<16, 16, 8, wmma::precision::tf32, float>("tf32", "float");
    print_shape<16, 16, 16, signed char, int>("s8", "int");
    print_shape<32, 8, 16, signed char, int>("s8", "int");
    print_shape<8, 32, 16, signed char, int>("s8", "int");
    print_shape<16, 16, 16, unsigned char, int>("u8", "int");
    print_shape<32, 8, 16, unsigned char, int>("u8", "int");
    print_shape<8, 32, 16, unsigned char, int>("u8", "int");
    return 0;
}
