// Tiles of tensors of 1 to 5 dimensions, loaded, stored and added by tensor maps: inside, at every edge and beyond it, with
// every swizzle, several element types, elements that are skipped, fills by zeros and by NaN. A box begins at a multiple of
// 16 bytes of its tensor's rows; of a load it may begin in front of the tensor.

#include <cuda_fp16.h>
#include "../hopper.h"
#include "right.h"

#define MAP const __grid_constant__ CUtensorMap
#define MOST 16384  // bytes of a box

struct at {
    int x[5];
};

static __device__ void load(void *to, const CUtensorMap *map, int rank, struct at at, uint64_t *bar)
{
    switch (rank) {
    case 1: TMA_LOAD_1D(to, map, at.x[0], bar); break;
    case 2: TMA_LOAD_2D(to, map, at.x[0], at.x[1], bar); break;
    case 3: TMA_LOAD_3D(to, map, at.x[0], at.x[1], at.x[2], bar); break;
    case 4: TMA_LOAD_4D(to, map, at.x[0], at.x[1], at.x[2], at.x[3], bar); break;
    case 5: TMA_LOAD_5D(to, map, at.x[0], at.x[1], at.x[2], at.x[3], at.x[4], bar); break;
    }
}

__global__ void box(MAP map, int rank, struct at at, unsigned bytes, unsigned char *out)
{
    extern __shared__ __align__(1024) unsigned char tile[];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        TMA_PREFETCH_MAP(&map);
        MBARRIER_ARRIVE_EXPECT(&bar, bytes);
        load(tile, &map, rank, at, &bar);
    }
    MBARRIER_WAIT(&bar, 0);
    for (unsigned i = threadIdx.x; i < bytes; i += blockDim.x)
        out[i] = tile[i];
}

// Where a box's byte lies in shared memory: its 16-byte chunk's number within a row of 8 is XORed with bits of its address.
static unsigned swizzled(unsigned at, CUtensorMapSwizzle swizzle)
{
    unsigned mask = swizzle == CU_TENSOR_MAP_SWIZZLE_128B  ? 7
                    : swizzle == CU_TENSOR_MAP_SWIZZLE_64B ? 3
                    : swizzle == CU_TENSOR_MAP_SWIZZLE_32B ? 1
                                                           : 0;
    return at ^ (at >> 7 & mask) << 4;
}

// Loads the box at those coordinates, and compares each element with the tensor's.
static void try_box(const char *name, const unsigned char *host, const void *memory, struct tensor t, struct at at)
{
    CUtensorMap map = tensor_map(memory, t);
    unsigned elements = 1, counts[5], index[5] = {};
    cuuint64_t pitch[5] = {t.element};
    for (unsigned d = 0; d < t.rank; d++) {
        unsigned step = t.step[d] ? t.step[d] : 1;
        counts[d] = (t.box[d] + step - 1) / step;
        elements *= counts[d];
        if (d > 0)
            pitch[d] = t.pitch[d - 1] ? t.pitch[d - 1] : pitch[d - 1] * t.dims[d - 1];
    }
    unsigned bytes = elements * t.element;
    unsigned char *out = to_device<unsigned char>(NULL, MOST);
    box<<<1, 32, bytes>>>(map, t.rank, at, bytes, out);
    unsigned char *got = to_host(out, bytes);
    for (unsigned i = 0; i < elements; i++) {
        bool inside = true;
        long from = 0;
        for (unsigned d = 0; d < t.rank; d++) {
            long x = at.x[d] + (long)index[d] * (t.step[d] ? t.step[d] : 1);
            inside = inside && x >= 0 && x < (long)t.dims[d];
            from += x * (long)pitch[d];
        }
        for (unsigned b = 0; b < t.element; b++) {
            unsigned char is = got[swizzled(i * t.element + b, t.swizzle)], want = inside ? host[from + b] : 0;
            if (!inside && t.fill)
                continue;  // a NaN
            if (is != want) {
                printf("%s: byte %u of element %u is %u, not %u\n", name, b, i, is, want);
                exit(1);
            }
        }
        if (!inside && t.fill && t.element == 4) {
            float x;
            memcpy(&x, got + swizzled(i * 4, t.swizzle), 4);
            if (!isnan(x)) {
                printf("%s: element %u is %g, not NaN\n", name, i, x);
                exit(1);
            }
        }
        for (unsigned d = 0; d < t.rank && ++index[d] == counts[d]; d++)
            index[d] = 0;
    }
    free(got);
    CHECK(cudaFree(out));
}

__global__ void copied(MAP from, MAP to, int width, int height)  // tile by tile, whatever hangs over the edges
{
    __shared__ alignas(128) float tile[2][8][32];
    __shared__ uint64_t bar[2];
    SET_UP(bar, 1);
    int s = 0;
    unsigned phase = 0;
    if (threadIdx.x == 0) {
        for (int y = 8 * blockIdx.x; y < height; y += 8 * gridDim.x)
            for (int x = 0; x < width; x += 32) {
                BULK_WAIT_READ(1);
                MBARRIER_ARRIVE_EXPECT(&bar[s], (unsigned)sizeof tile[0]);
                TMA_LOAD_2D(tile[s], &from, x, y, &bar[s]);
                MBARRIER_WAIT(&bar[s], phase);
                TMA_STORE_2D(&to, x, y, tile[s]);
                BULK_COMMIT();
                s = 1 - s;
                phase ^= s == 0;
            }
        BULK_WAIT(0);
    }
}

__global__ void transposed(MAP from, MAP to)  // threads read and write swizzled tiles of 32 x 32 floats
{
    __shared__ alignas(1024) float a[32][32], b[32][32];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    int x = 32 * blockIdx.x, y = 32 * blockIdx.y;
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, (unsigned)sizeof a);
        TMA_LOAD_2D(a, &from, x, y, &bar);
    }
    MBARRIER_WAIT(&bar, 0);
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) {
        int row = i / 32, column = i % 32;
        b[column][((row / 4) ^ (column % 8)) * 4 + row % 4] = a[row][((column / 4) ^ (row % 8)) * 4 + column % 4];
    }
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        TMA_STORE_2D(&to, y, x, b);
        BULK_COMMIT();
        BULK_WAIT_READ(0);
    }
}

__global__ void added(MAP map)  // by every block, at the lower edge, where half of the box is outside
{
    __shared__ alignas(128) float tile[8][32];
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        tile[i / 32][i % 32] = i / 32 + 1;
    __syncthreads();
    if (threadIdx.x == 0) {
        FENCE_ASYNC_SHARED();
        TMA_PREFETCH_2D(&map, 0, 0);
        TMA_ADD_2D(&map, 0, 36, tile);
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void vector_and_volume(MAP line, MAP volume, float *out)
{
    __shared__ alignas(128) float tile[256];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, 1024);
        TMA_LOAD_1D(tile, &line, 100, &bar);
        MBARRIER_WAIT(&bar, 0);
        TMA_STORE_3D(&volume, 12, 2, 3, tile);
        BULK_COMMIT();
        BULK_WAIT(0);
        MBARRIER_ARRIVE_EXPECT(&bar, 1024);
        TMA_LOAD_3D(tile, &volume, 4, 0, 0, &bar);
    }
    __syncthreads();
    MBARRIER_WAIT(&bar, 1);
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        out[i] = tile[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        TMA_STORE_1D(&line, 900, tile);
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

int main(void)
{
    enum { BYTES = 1 << 17 };
    unsigned char *host = (unsigned char *)malloc(BYTES);
    for (int i = 0; i < BYTES; i++)
        host[i] = (i * 37 + (i >> 8) * 11) & 0x3f;  // no NaN of any type
    void *memory = to_device(host, BYTES);
    const CUtensorMapDataType f32 = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    const CUtensorMapSwizzle none = CU_TENSOR_MAP_SWIZZLE_NONE;

    for (int x : {0, 4, 36, -8, 992, 1000, 5000, -300})
        try_box("1d", host, memory, {f32, 4, 1, {1000}, {}, {256}}, {{x}});
    struct tensor matrix = {f32, 4, 2, {100, 70}, {}, {32, 16}};
    for (int x : {0, 4, 68, 72, 96, 100, -28, -32})
        for (int y : {0, 3, 54, 60, 69, 70, -7})
            try_box("2d", host, memory, matrix, {{x, y}});
    matrix.pitch[0] = 1024;
    try_box("2d with a pitch", host, memory, matrix, {{92, 60}});
    matrix.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    try_box("2d filled by NaN", host, memory, matrix, {{92, -4}});
    for (int z : {-1, 0, 4, 6})
        try_box("3d", host, memory, {f32, 4, 3, {20, 30, 6}, {}, {8, 8, 3}}, {{16, -2, z}});
    for (int w : {-1, 1, 2})
        try_box("4d", host, memory, {f32, 4, 4, {12, 10, 6, 3}, {}, {8, 4, 2, 2}}, {{-4, 8, 5, w}});
    for (int v : {0, 2, 3})
        try_box("5d", host, memory, {f32, 4, 5, {8, 6, 5, 4, 3}, {}, {4, 3, 2, 3, 2}}, {{4, 4, 3, -1, v}});
    for (int step : {2, 3})
        try_box("every other", host, memory,
                {f32, 4, 2, {64, 64}, {}, {16, 18}, none, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE, {1, (cuuint32_t)step}},
                {{8, 50}});

    struct {
        CUtensorMapDataType type;
        unsigned bytes;
    } types[] = {{CU_TENSOR_MAP_DATA_TYPE_UINT8, 1},   {CU_TENSOR_MAP_DATA_TYPE_UINT16, 2},
                 {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2}, {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2},
                 {CU_TENSOR_MAP_DATA_TYPE_INT32, 4},   {CU_TENSOR_MAP_DATA_TYPE_UINT32, 4},
                 {CU_TENSOR_MAP_DATA_TYPE_INT64, 8},   {CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8}};
    struct {
        CUtensorMapSwizzle swizzle;
        unsigned bytes;  // of a row of the box
    } swizzles[] = {{none, 64},
                    {CU_TENSOR_MAP_SWIZZLE_32B, 32},
                    {CU_TENSOR_MAP_SWIZZLE_64B, 64},
                    {CU_TENSOR_MAP_SWIZZLE_128B, 128}};
    for (auto type : types)
        for (auto s : swizzles) {
            struct tensor t = {type.type, type.bytes, 2, {512 / type.bytes, 60}, {}, {s.bytes / type.bytes, 24},
                               s.swizzle};
            try_box("swizzle", host, memory, t, {{(int)(16 / type.bytes), 5}});
            try_box("swizzle at the edge", host, memory, t, {{(int)(448 / type.bytes), 50}});
        }

    const int width = 100, height = 40;
    float *x = numbers(width * height, 4), *in = to_device(x, width * height),
          *out = to_device<float>(NULL, width * height);
    CHECK(cudaMemset(out, 0, width * height * 4));
    copied<<<2, 32>>>(matrix_map(in, width, height, 32, 8), matrix_map(out, width, height, 32, 8), width, height);
    float *got = to_host(out, width * height);
    for (int i = 0; i < width * height; i++)
        SAME(got[i], x[i]);

    float *square = numbers(64 * 96, 6), *from = to_device(square, 64 * 96), *to = to_device<float>(NULL, 64 * 96);
    struct tensor a = {f32, 4, 2, {64, 96}, {}, {32, 32}, CU_TENSOR_MAP_SWIZZLE_128B}, b = a;
    b.dims[0] = 96, b.dims[1] = 64;
    transposed<<<dim3(2, 3), 64>>>(tensor_map(from, a), tensor_map(to, b));
    got = to_host(to, 64 * 96);
    for (int i = 0; i < 64 * 96; i++)
        SAME(got[i], square[i % 96 * 64 + i / 96]);

    CHECK(cudaMemset(out, 0, width * height * 4));
    added<<<5, 64>>>(matrix_map(out, width, height, 32, 8));
    got = to_host(out, width * height);
    for (int i = 0; i < width * height; i++)
        SAME(got[i], i % width < 32 && i / width >= 36 ? 5 * (i / width - 35) : 0);

    float *line = numbers(1000, 8), *line_gmem = to_device(line, 1000), *volume = to_device<float>(NULL, 16 * 10 * 6);
    CHECK(cudaMemset(volume, 0, 16 * 10 * 6 * 4));
    vector_and_volume<<<1, 64>>>(tensor_map(line_gmem, {f32, 4, 1, {1000}, {}, {256}}),
                                 tensor_map(volume, {f32, 4, 3, {16, 10, 6}, {}, {8, 8, 4}}), out);
    got = to_host(volume, 16 * 10 * 6);
    for (int z = 0; z < 6; z++)
        for (int y = 0; y < 10; y++)
            for (int c = 0; c < 16; c++) {
                bool inside = c >= 12 && y >= 2 && z >= 3;
                SAME(got[(z * 10 + y) * 16 + c], inside ? line[100 + ((z - 3) * 8 + y - 2) * 8 + c - 12] : 0);
            }
    return 0;
}
