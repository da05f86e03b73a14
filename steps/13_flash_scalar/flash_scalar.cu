// O = softmax(Q Kᵀ / √D) V in one kernel: online softmax also rescales O, and nothing of size N² is left.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o flash_scalar steps/13_flash_scalar/flash_scalar.cu common/*.c
//   ./learn run 13

#include "attention.h"

constexpr int THREADS = 128;  // of a block
constexpr int KEYS = 8;       // that a thread takes at a time

// A row of Q, and of O, lies in the registers of so many threads: none holds more than 32 columns.
template <int D> constexpr int STRIPS = D <= 32 ? 1 : D <= 64 ? 2 : 4;

// Keys in a tile of K, and of V. Both tiles together are 32 KB of shared memory at the most.
template <int D> constexpr int TILE = D <= 64 ? 64 : 32;

// Rows of Q that a block computes, when each thread has a strip of so many.
template <int D, int ROWS> constexpr int BLOCK_ROWS = THREADS / STRIPS<D> * ROWS;

__device__ float add_dot(float sum, float4 a, float4 b) { return sum + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

__device__ float4 add_scaled(float4 sum, float a, float4 b)
{
    return make_float4(sum.x + a * b.x, sum.y + a * b.y, sum.z + a * b.z, sum.w + a * b.w);
}

__device__ float4 scaled(float a, float4 b) { return make_float4(a * b.x, a * b.y, a * b.z, a * b.w); }

// [kernel] A float4 is 4 columns, 16 bytes: C of them make a row.
template <int D, int ROWS>
__global__ void __launch_bounds__(THREADS) flash_scalar(const float4 *Q,  // [heads, n, C]
                                                        const float4 *K,  // [heads, n, C]
                                                        const float4 *V,  // [heads, n, C]
                                                        float4 *O,        // [heads, n, C]
                                                        int n, float scale)
{
    constexpr int C = D / 4, CHUNKS = C / STRIPS<D>, LANES = 32 / STRIPS<D>;
    static_assert(C % STRIPS<D> == 0 && TILE<D> % KEYS == 0,
                  "strips are whole float4s, tiles are taken KEYS at a time");
    __shared__ float4 K_smem[TILE<D>][C], V_smem[TILE<D>][C];

    // [index] Lanes l, l + LANES, … share ROWS rows, LANES apart; each has every STRIPSth float4 of them.
    const int lane = threadIdx.x % 32, strip = lane / LANES;
    const int row = blockIdx.x * BLOCK_ROWS<D, ROWS> + threadIdx.x / 32 * LANES * ROWS + lane % LANES;
    const size_t head = (size_t)blockIdx.y * n * C;

    // [query] Rows beyond the last are 0, and never stored.
    float4 q[ROWS][CHUNKS], o[ROWS][CHUNKS];
    float m[ROWS], l[ROWS];  // m is the largest scaled score so far
    for (int r = 0; r < ROWS; r++) {
        const float4 *from = Q + head + (size_t)(row + r * LANES) * C + strip;
        for (int c = 0; c < CHUNKS; c++) {
            q[r][c] = row + r * LANES < n ? from[c * STRIPS<D>] : make_float4(0, 0, 0, 0);
            o[r][c] = make_float4(0, 0, 0, 0);
        }
        m[r] = -INFINITY;
        l[r] = 0;
    }

    for (int tile = 0; tile < n; tile += TILE<D>) {
        // [load] Keys beyond the last are 0 here, and their scores −∞ below.
        const float4 *K_tile = K + head + (size_t)tile * C, *V_tile = V + head + (size_t)tile * C;
        for (int i = threadIdx.x; i < TILE<D> * C; i += THREADS) {
            const bool inside = tile + i / C < n;
            K_smem[i / C][i % C] = inside ? K_tile[i] : make_float4(0, 0, 0, 0);
            V_smem[i / C][i % C] = inside ? V_tile[i] : make_float4(0, 0, 0, 0);
        }
        __syncthreads();  // both tiles are whole before any thread reads them

#pragma unroll 1
        for (int first = 0; first < TILE<D>; first += KEYS) {
            // [rounds] S = Q Kᵀ: each lane sums its strip, then those that share a row add up.
            float s[ROWS][KEYS] = {};
            // [scores]
            for (int c = 0; c < CHUNKS; c++)
                for (int key = 0; key < KEYS; key++) {
                    const float4 k = K_smem[first + key][c * STRIPS<D> + strip];
                    for (int r = 0; r < ROWS; r++)
                        s[r][key] = add_dot(s[r][key], q[r][c], k);
                }
            for (int offset = LANES; offset < 32; offset *= 2)
                for (int r = 0; r < ROWS; r++)
                    for (int key = 0; key < KEYS; key++)
                        s[r][key] += __shfl_xor_sync(0xffffffff, s[r][key], offset);
            for (int key = 0; key < KEYS; key++)
                for (int r = 0; r < ROWS; r++)
                    if (tile + first + key >= n)
                        s[r][key] = -INFINITY;

            // [softmax] The max may have grown: what was summed up under the old one shrinks by `factor`.
            float factor[ROWS];
            for (int r = 0; r < ROWS; r++) {
                float largest = s[r][0], weights = 0;
                for (int key = 1; key < KEYS; key++)
                    largest = fmaxf(largest, s[r][key]);
                // [update]
                const float m_new = fmaxf(m[r], largest * scale);
                for (int key = 0; key < KEYS; key++) {
                    s[r][key] = exp2f(fmaf(s[r][key], scale, -m_new));  // from here on it is P
                    weights += s[r][key];
                }
                factor[r] = exp2f(m[r] - m_new);
                l[r] = l[r] * factor[r] + weights;
                m[r] = m_new;
                // [end update]
            }

            // [output] O = O factor + P V.
            for (int c = 0; c < CHUNKS; c++) {
                float4 sum[ROWS] = {};
                for (int key = 0; key < KEYS; key++) {
                    const float4 v = V_smem[first + key][c * STRIPS<D> + strip];
                    for (int r = 0; r < ROWS; r++)
                        sum[r] = add_scaled(sum[r], s[r][key], v);
                }
                // [rescale]
                for (int r = 0; r < ROWS; r++)
                    o[r][c] = add_scaled(sum[r], factor[r], o[r][c]);
                // [end rescale]
            }
        }
        // [barrier]
        __syncthreads();  // every thread has read both tiles before the next two replace them
        // [end barrier]
    }

    // [store]
    for (int r = 0; r < ROWS; r++) {
        float4 *to = O + head + (size_t)(row + r * LANES) * C + strip;
        for (int c = 0; c < CHUNKS; c++)
            if (row + r * LANES < n)
                to[c * STRIPS<D>] = scaled(1 / l[r], o[r][c]);
    }
}

// [launch]
enum { ONE_ROW, TWO_ROWS };

template <int D, int ROWS>
static void start(const struct attention_args *args, cudaStream_t stream)
{
    const int n = args->seqlen;
    const dim3 blocks(ceil_div(n, BLOCK_ROWS<D, ROWS>), args->batch * args->heads);
    const float scale = LOG2_E * args->scale;  // exp(x) is exp2(x log2 e)
    flash_scalar<D, ROWS><<<blocks, THREADS, 0, stream>>>((const float4 *)args->Q, (const float4 *)args->K,
                                                          (const float4 *)args->V, (float4 *)args->O, n, scale);
}

template <int D>
static int choose(const struct attention_args *args, cudaStream_t stream)
{
    if (args->variant == ONE_ROW)
        start<D, 1>(args, stream);
    else
        start<D, 2>(args, stream);
    return cudaGetLastError();
}

int launch(const struct attention_args *args, cudaStream_t stream)
{
    if (!attention_is_plain(args, FP32))
        return cudaErrorInvalidValue;
    switch (args->head_dim) {
    case 32: return choose<32>(args, stream);
    case 64: return choose<64>(args, stream);
    case 96: return choose<96>(args, stream);
    case 128: return choose<128>(args, stream);
    default: return cudaErrorInvalidValue;
    }
}

// [main]
static const struct variant variants[] = {
    {"one_row", "a thread has one row of Q and O: what it reads of K and V serves one row"},
    {"two_rows", "a thread has two rows: half as many reads, and twice the registers"},
    {},
};

int main(int argc, char **argv)
{
    const struct attention_step step = {
        .name = "13_flash_scalar",
        .dtypes = {FP32},
        .arch = "75",
        .head_dims = {32, 64, 96, 128},
        .causal = false,
        .grouped = false,
        .variants = variants,
        .workspace = NULL,
        .launch = launch,
    };
    return attention_main(argc, argv, &step);
}
