// What this machine can do: nine kernels that each do one thing, as fast as the hardware lets them.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o machine steps/machine/machine.cu common/*.c
//   ./learn run machine

#include "device_main.h"

#include <mma.h>

// [copy] A thread moves 16 bytes; the 32 lanes of a warp move 512 that are neighbours.
constexpr int COPY_THREADS = 256;

__global__ void copy(const unsigned *in,  // [n]
                     unsigned *out,       // [n]
                     size_t n)
{
    const size_t i = (size_t)blockIdx.x * COPY_THREADS + threadIdx.x, whole = n / 4;  // whole words of 16 bytes
    // [copy_words]
    if (i < whole)
        ((uint4 *)out)[i] = ((const uint4 *)in)[i];
    if (i < n % 4)  // and the one to three of 4 bytes behind them
        out[4 * whole + i] = in[4 * whole + i];
    // [end copy_words]
}

// [fma] A chain's next multiply-add waits for its last one; the other chains and the other warps fill the wait.
__device__ float sum_of_chains(float a, float b, int rounds)
{
    float x[CHAINS], sum = 0;
    for (int chain = 0; chain < CHAINS; chain++)
        x[chain] = 1 + threadIdx.x % LANES + LANES * chain;
#pragma unroll 32  // or counting the rounds takes a tenth of the time
    for (int i = 0; i < rounds; i++)
        for (int chain = 0; chain < CHAINS; chain++)
            x[chain] = fmaf(a, x[chain], b);
    for (int chain = 0; chain < CHAINS; chain++)
        sum += x[chain];
    return sum;
}

__global__ void fma_chains(float *out,  // [threads]
                           float a, float b, int rounds)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum_of_chains(a, b, rounds);
}

// [tensor] A warp multiplies tiles of 16 × 16 on the tensor cores, and adds to four sums, none of which waits for another.
__global__ void tensor_products(const half *in,  // [4][FRAGMENT][FRAGMENT]: two tiles A, two tiles B
                                float *out,      // [warps][FRAGMENT][FRAGMENT]
                                int rounds)
{
    using namespace nvcuda;
    constexpr int ELEMENTS = FRAGMENT * FRAGMENT;
    wmma::fragment<wmma::matrix_a, FRAGMENT, FRAGMENT, FRAGMENT, half, wmma::row_major> a[2];
    wmma::fragment<wmma::matrix_b, FRAGMENT, FRAGMENT, FRAGMENT, half, wmma::row_major> b[2];
    wmma::fragment<wmma::accumulator, FRAGMENT, FRAGMENT, FRAGMENT, float> sum[PRODUCTS];
    for (int tile = 0; tile < 2; tile++) {
        wmma::load_matrix_sync(a[tile], in + tile * ELEMENTS, FRAGMENT);
        wmma::load_matrix_sync(b[tile], in + (2 + tile) * ELEMENTS, FRAGMENT);
    }
    for (int i = 0; i < PRODUCTS; i++)
        wmma::fill_fragment(sum[i], 0);
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < PRODUCTS; i++)
            wmma::mma_sync(sum[i], a[i / 2], b[i % 2], sum[i]);
    for (int i = 1; i < PRODUCTS; i++)
        for (int element = 0; element < sum[0].num_elements; element++)
            sum[0].x[element] += sum[i].x[element];
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    wmma::store_matrix_sync(out + warp * ELEMENTS, sum[0], FRAGMENT, wmma::mem_row_major);
}

// [exp2]
__global__ void exp2_chains(float *out,  // [threads]
                            int rounds)
{
    float x[CHAINS], sum[CHAINS] = {}, total = 0;
    for (int chain = 0; chain < CHAINS; chain++)
        x[chain] = 1 + threadIdx.x % LANES + LANES * chain;
    for (int i = 0; i < rounds; i++)
        for (int chain = 0; chain < CHAINS; chain++)
            sum[chain] += x[chain] = exp2f(-x[chain]);
    for (int chain = 0; chain < CHAINS; chain++)
        total += sum[chain];
    out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}

// [words] The 32-bit words of a load, summed: whole numbers, so that the order of the sum does not show.
__device__ unsigned sum_of(unsigned word) { return word; }
__device__ unsigned sum_of(uint4 word) { return word.x + word.y + word.z + word.w; }

// [shared] The tile's first words follow once more behind its end, so that a read has its offset in the instruction.
template <typename Word>
__global__ void shared(const Word *in,  // [TILE]
                       unsigned *out,   // [threads]
                       int rounds)
{
    __shared__ Word tile_smem[TILE + READS * LANES];
    for (int i = threadIdx.x; i < TILE + READS * LANES; i += TILE)
        tile_smem[i] = in[i % TILE];
    __syncthreads();  // the tile is whole before any thread reads it

    unsigned sum = 0;
    for (int i = 0; i < rounds; i++) {
        const Word *first = tile_smem + (threadIdx.x + LANES * i) % TILE;
        for (int read = 0; read < READS; read++)
            sum += sum_of(first[LANES * read]);
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// [latency] The address of a load is what the previous load returned: no two are ever under way.
__global__ void latency(void *const *place,  // a pointer to the next place, and so on, in a ring
                        void **out, int rounds)
{
    // [ring]
    for (int i = 0; i < rounds; i++)
        place = (void *const *)*place;
    *out = (void *)place;
    // [end ring]
}

// [littles_law] A thread starts LOADS loads and waits for them: that many bytes under way, times the threads.
template <typename Word, int LOADS>
__global__ void __launch_bounds__(1024) littles_law(const Word *in,  // [n]
                                                    unsigned *out,   // [threads]
                                                    size_t n)
{
    const size_t threads = (size_t)gridDim.x * blockDim.x, thread = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = 0;
#pragma unroll 1  // or the compiler starts more loads than it was told
    for (size_t i = thread; i < n; i += LOADS * threads) {
        Word word[LOADS];
#pragma unroll
        for (int j = 0; j < LOADS; j++)
            word[j] = i + j * threads < n ? in[i + j * threads] : Word{};
#pragma unroll
        for (int j = 0; j < LOADS; j++)
            sum += sum_of(word[j]);
    }
    out[thread] = sum;
}

// [divergence] Every thread does the same work once. Those of one path do it together, the paths one after the other.
__global__ void divergence(float *out,  // [threads]
                           float a, float b, int rounds, int paths, int width)
{
    const int mine = threadIdx.x / width % paths;
    for (int path = 0; path < paths; path++)
        if (path == mine)
            out[blockIdx.x * blockDim.x + threadIdx.x] = sum_of_chains(a, b, rounds);
}

// [nothing] The smallest kernel that leaves a trace.
__global__ void nothing(unsigned *out)  // [blocks]
{
    if (threadIdx.x == 0)
        out[blockIdx.x] = blockIdx.x;
}

// [launch]
static void launch_littles_law(const struct device_args *args, cudaStream_t stream)
{
    const uint4 *wide = (const uint4 *)args->in;
    unsigned *out = (unsigned *)args->out;
    if (args->bytes == 4)
        littles_law<unsigned, 1><<<args->blocks, args->threads, 0, stream>>>((const unsigned *)args->in, out, args->n);
    else if (args->loads == 1)
        littles_law<uint4, 1><<<args->blocks, args->threads, 0, stream>>>(wide, out, args->n / 4);
    else
        littles_law<uint4, 4><<<args->blocks, args->threads, 0, stream>>>(wide, out, args->n / 4);
}

int launch(const struct device_args *args, cudaStream_t stream)
{
    const int blocks = args->blocks, threads = args->threads, rounds = args->rounds;
    const unsigned *in = (const unsigned *)args->in;
    unsigned *out = (unsigned *)args->out;
    float *sums = (float *)args->out;
    switch (args->variant) {
    case COPY: copy<<<(args->n - 1) / (4 * COPY_THREADS) + 1, COPY_THREADS, 0, stream>>>(in, out, args->n); break;
    case FMA: fma_chains<<<blocks, threads, 0, stream>>>(sums, args->a, args->b, rounds); break;
    case TENSOR: tensor_products<<<blocks, threads, 0, stream>>>((const half *)args->in, sums, rounds); break;
    case EXP2: exp2_chains<<<blocks, threads, 0, stream>>>(sums, rounds); break;
    case SHARED:
        if (args->bytes == 4)
            shared<unsigned><<<blocks, TILE, 0, stream>>>(in, out, rounds);
        else
            shared<uint4><<<blocks, TILE, 0, stream>>>((const uint4 *)args->in, out, rounds);
        break;
    case LATENCY: latency<<<1, 1, 0, stream>>>((void *const *)args->in, (void **)args->out, rounds); break;
    case LITTLES_LAW: launch_littles_law(args, stream); break;
    case DIVERGENCE:
        divergence<<<blocks, threads, 0, stream>>>(sums, args->a, args->b, rounds, args->paths, args->width);
        break;
    default: nothing<<<blocks, threads, 0, stream>>>(out);
    }
    return cudaGetLastError();
}

// [main]
static const struct variant variants[] = {
    {"copy", "from one buffer to another: what DRAM can move"},
    {"fma", "multiply-adds in registers, nothing else: what fp32 can compute"},
    {"tensor", "products of 16-bit tiles, summed in fp32: what the tensor cores can compute by WMMA"},
    {"exp2", "powers of two, for the softmax: what the special function units can compute"},
    {"shared", "one tile in shared memory, read again and again without conflicts"},
    {"latency", "one thread follows pointers through a ring: how long one load takes"},
    {"littles_law", "all of DRAM read by more and more warps: how many loads must be under way"},
    {"divergence", "the same work in more and more paths, chosen by lane or by warp"},
    {"launch", "a kernel that does nothing: what a launch costs"},
    {},
};

int main(int argc, char **argv)
{
    const struct device_step step = {
        .name = "machine",
        .dtype = FP32,
        .arch = "75",
        .variants = variants,
        .launch = launch,
    };
    return device_main(argc, argv, &step);
}
