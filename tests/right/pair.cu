// common/ptx/pair.h: two numbers in a register, each rounded to nearest even, the first in the lower half; pairs stored as far as C
// has elements; and the exchange of four lanes, of every row in every warp.
#include "../../common/ptx/pair.h"
#include "right.h"

const int THREADS = 64;
const int ROWS = 3, COLS = 5, PITCH = 6;  // of C: its last row's last pair is half in it

template <typename T>
__global__ void packs(const float *x, T *out)
{
    *(uint32_t *)&out[2 * threadIdx.x] = pack(x[2 * threadIdx.x], x[2 * threadIdx.x + 1], T());
}

// Pairs of four rows, of which there is one more than C has, and one column of pairs more.
template <typename T>
__global__ void stores(T *C)
{
    const int row = threadIdx.x / 4, col = threadIdx.x % 4 * 2;
    const float sum[2] = {(float)(10 * row + col), (float)(10 * row + col + 1)};
    store_pair(C, sum, row, col, ROWS, COLS, PITCH);
}

// Register i of a lane says whose it is, and which.
__global__ void gathers(uint32_t *out)
{
    uint32_t pairs[4];
    for (int i = 0; i < 4; i++)
        pairs[i] = 16 * threadIdx.x + i;
    gather_row(pairs);
    for (int i = 0; i < 4; i++)
        out[4 * threadIdx.x + i] = pairs[i];
}

template <typename T>
static void check_pairs(double between)  // halfway between 1 and the next number of T
{
    const double step = 2 * (between - 1);
    float x[2 * THREADS];
    for (int i = 0; i < 2 * THREADS; i++)
        x[i] = i % 4 == 0 ? between : i % 4 == 1 ? between + step : i % 4 == 2 ? -0.5 * i : INFINITY;
    T *rounded = to_device<T>(NULL, 2 * THREADS);
    packs<<<1, THREADS>>>(to_device(x, 2 * THREADS), rounded);
    T *got = to_host(rounded, 2 * THREADS);
    for (int i = 0; i < 2 * THREADS; i++) {
        const double want[4] = {1, 1 + 2 * step, -0.5 * i, INFINITY};
        if (i % 4 < 3)
            SAME((float)got[i], want[i % 4]);
        else
            SAME(isinf((float)got[i]), 1);
    }

    T none[(ROWS + 1) * PITCH];
    for (int i = 0; i < (ROWS + 1) * PITCH; i++)
        none[i] = T(-1.0f);
    T *C = to_device(none, (ROWS + 1) * PITCH);
    stores<<<1, 16>>>(C);
    got = to_host(C, (ROWS + 1) * PITCH);
    for (int row = 0; row <= ROWS; row++)
        for (int col = 0; col < PITCH; col++)
            SAME((float)got[row * PITCH + col], row < ROWS && col < COLS ? 10 * row + col : -1);
}

int main()
{
    check_pairs<half>(1 + 1.0 / 2048);
    check_pairs<__nv_bfloat16>(1 + 1.0 / 256);

    uint32_t *out = to_device<uint32_t>(NULL, 4 * THREADS);
    gathers<<<1, THREADS>>>(out);
    uint32_t *got = to_host(out, 4 * THREADS);
    for (int thread = 0; thread < THREADS; thread++)
        for (int i = 0; i < 4; i++)
            SAME(got[4 * thread + i], 16 * (thread / 4 * 4 + i) + thread % 4);
    return 0;
}
