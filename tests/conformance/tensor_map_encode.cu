// Which arguments does the driver take for a tensor map? Calls cuTensorMapEncodeTiled with a thousand sets of them, good ones
// and bad ones, and prints a line of JSON for each: the arguments and the CUresult. Then cuTensorMapReplaceAddress, what the
// driver calls its errors, and which of its functions the runtime finds. No kernel runs; a GPU of compute capability 9.0 is
// asked for all the same, since others have no tensor maps.
//
//   nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a tensor_map_encode.cu -o tensor_map_encode &&
//       ./tensor_map_encode > tensor_map_encode_h200.jsonl
//
// "map": type, rank, and the tensor's distance from a multiple of 4,096; sizes; strides; box; element strides; interleave, swizzle,
// promotion and fill.

#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call) \
    do { \
        cudaError_t error_ = (call); \
        if (error_ != cudaSuccess) { \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_)); \
            exit(1); \
        } \
    } while (0)

enum { MOST = 6, PAGE = 4096 };

struct arguments {
    int type;
    unsigned rank;
    long address;
    cuuint64_t sizes[MOST], strides[MOST];
    cuuint32_t box[MOST], steps[MOST];
    int interleave, swizzle, promotion, fill;
};

typedef CUresult encode_t(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                          const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave,
                          CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
typedef CUresult replace_t(CUtensorMap *, void *);
typedef CUresult error_t(CUresult, const char **);

static encode_t *encode;
static replace_t *replace;
static error_t *error_name, *error_string;
static char *page;  // of device memory

static void *found(const char *name, unsigned version, cudaDriverEntryPointQueryResult *query)
{
    void *function = NULL;
    CHECK(cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, query));
    return function;
}

static void *needed(const char *name)
{
    cudaDriverEntryPointQueryResult query;
    void *function = found(name, 12000, &query);
    if (query != cudaDriverEntryPointSuccess || !function) {
        fprintf(stderr, "the driver has no %s\n", name);
        exit(1);
    }
    return function;
}

// ---- a call ----

template <typename T> static void print_row(const T *numbers, unsigned n)
{
    printf(" |");
    for (unsigned i = 0; i < n; i++)
        printf(" %llu", (unsigned long long)numbers[i]);
}

static CUresult encoded(CUtensorMap *map, const arguments &a)
{
    return encode(map, (CUtensorMapDataType)a.type, a.rank, page + a.address, a.sizes, a.strides, a.box, a.steps,
                  (CUtensorMapInterleave)a.interleave, (CUtensorMapSwizzle)a.swizzle,
                  (CUtensorMapL2promotion)a.promotion, (CUtensorMapFloatOOBfill)a.fill);
}

static void tried(const char *about, const arguments &a)
{
    alignas(128) static CUtensorMap map;
    CUresult result = encoded(&map, a);
    unsigned n = a.rank < MOST ? a.rank : MOST;
    printf("{\"about\": \"%s\", \"map\": \"%d %u %ld", about, a.type, a.rank, a.address);
    print_row(a.sizes, n);
    print_row(a.strides, n ? n - 1 : 0);
    print_row(a.box, n);
    print_row(a.steps, n);
    printf(" | %d %d %d %d\", \"result\": %d}\n", a.interleave, a.swizzle, a.promotion, a.fill, (int)result);
    fflush(stdout);
}

// ---- sets of arguments ----

static const unsigned type_bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
enum { WHOLE_TYPES = 13, TYPES = 19 };  // three packed ones follow, and three that are none

// A tensor of that many dimensions, whose box is 32 bytes wide.
static arguments plain(int type, unsigned rank)
{
    arguments a = {};
    a.type = type;
    a.rank = rank;
    cuuint64_t stride = 512;
    for (unsigned i = 0; i < MOST; i++) {
        a.sizes[i] = i == 0 ? 128 : 16;
        a.strides[i] = stride * (type < WHOLE_TYPES ? type_bytes[type] : 1);
        stride *= 16;
        a.box[i] = i == 0 ? (type < WHOLE_TYPES ? 32 / type_bytes[type] : 128) : 4;
        a.steps[i] = 1;
    }
    return a;
}

static void try_modes()
{
    for (int type = 0; type < TYPES; type++) {
        for (int interleave = 0; interleave < 4; interleave++)
            for (int swizzle = 0; swizzle < 8; swizzle++) {
                arguments a = plain(type, 3);
                a.interleave = interleave;
                a.swizzle = swizzle;
                tried("modes", a);
            }
        for (int fill = 0; fill < 3; fill++) {
            arguments a = plain(type, 2);
            a.fill = fill;
            tried("fill", a);
        }
        for (unsigned bytes = 4; bytes <= 288; bytes += bytes < 64 ? 4 : 16) {
            arguments a = plain(type, 2);
            if (type >= WHOLE_TYPES || bytes % type_bytes[type])
                continue;
            a.box[0] = bytes / type_bytes[type];
            tried("bytes of the box's row", a);
        }
    }
    for (int swizzle = 0; swizzle < 7; swizzle++)
        for (unsigned bytes = 16; bytes <= 272; bytes += 16)
            for (int interleave = 0; interleave < 3; interleave++) {
                arguments a = plain(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 3);
                a.swizzle = swizzle;
                a.interleave = interleave;
                a.box[0] = bytes / 2;
                if (interleave == 0 || bytes % 80 == 0)
                    tried("swizzle's span", a);
            }
    for (int promotion = -1; promotion < 6; promotion++) {
        arguments a = plain(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2);
        a.promotion = promotion;
        tried("promotion", a);
    }
    for (unsigned rank = 0; rank < 8; rank++)
        for (int interleave = 0; interleave < 3; interleave++) {
            arguments a = plain(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, rank);
            a.interleave = interleave;
            a.swizzle = interleave == 2;
            tried("rank", a);
        }
}

static void try_numbers()
{
    const long addresses[] = {1, 4, 8, 16, 24, 32, 48, 64, 128, -16, -8};
    for (long address : addresses)
        for (int interleave = 0; interleave < 3; interleave++) {
            arguments a = plain(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 3);
            a.address = address;
            a.interleave = interleave;
            a.swizzle = interleave == 2;
            tried("address", a);
        }
    const cuuint64_t sizes[] = {
        0,          1,         3, 255, (1ull << 31) - 1, 1ull << 31, (1ull << 32) - 1, 1ull << 32, (1ull << 32) + 1,
        1ull << 33, 1ull << 63};
    const cuuint64_t strides[] = {0,
                                  1,
                                  8,
                                  15,
                                  16,
                                  24,
                                  32,
                                  48,
                                  240,
                                  256,
                                  272,
                                  4096,
                                  1ull << 32,
                                  1ull << 39,
                                  (1ull << 40) - 32,
                                  (1ull << 40) - 16,
                                  1ull << 40,
                                  (1ull << 40) + 16,
                                  1ull << 63};
    const cuuint32_t boxes[] = {0, 1, 2, 3, 7, 8, 12, 16, 128, 255, 256, 257, 264, 512, 1u << 31};
    const cuuint32_t steps[] = {0, 1, 2, 3, 4, 7, 8, 9, 16, 1u << 31};
    for (unsigned i = 0; i < 5; i++) {
        for (cuuint64_t size : sizes)
            for (unsigned rank = i + 1; rank <= 5; rank += 4 - i ? 4 - i : 1) {
                arguments a = plain(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, rank);
                a.sizes[i] = size;
                tried("size", a);
            }
        for (cuuint64_t stride : strides)
            for (int interleave = 0; interleave < 3; interleave += 2) {
                arguments a = plain(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 5);
                a.strides[i] = stride;
                a.interleave = interleave;
                a.swizzle = interleave == 2;
                if (i < 4)
                    tried("stride", a);
            }
        for (cuuint32_t box : boxes) {
            arguments a = plain(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 5);
            a.box[i] = box;
            tried("box", a);
        }
        for (cuuint32_t step : steps)
            for (int interleave = 0; interleave < 3; interleave += 2) {
                arguments a = plain(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 5);
                a.steps[i] = step;
                a.interleave = interleave;
                a.swizzle = interleave == 2;
                tried("step", a);
            }
    }
    // Boxes that are larger than shared memory, or than the tensor.
    for (cuuint32_t n = 16; n <= 256; n *= 2) {
        arguments a = plain(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 5);
        for (unsigned i = 0; i < 5; i++)
            a.box[i] = n;
        tried("all of the box", a);
    }
    // Around what a block's shared memory has: 227 KiB; rows of 16 bytes.
    const cuuint32_t large[][3] = {{64, 224, 1}, {64, 227, 1},  {87, 167, 1},  {64, 228, 1},  {64, 240, 1},
                                   {255, 64, 1}, {129, 127, 1}, {128, 128, 1}, {128, 128, 2}, {255, 255, 3}};
    for (const auto &box : large)
        for (cuuint32_t step = 1; step <= 4; step++) {
            arguments a = plain(CU_TENSOR_MAP_DATA_TYPE_UINT8, 4);
            a.box[0] = 16;
            for (int i = 0; i < 3; i++)
                a.box[i + 1] = box[i];
            a.steps[0] = step;
            a.steps[1] = step / 3 + 1;
            tried("bytes of the box", a);
        }
    // Rows that overlap, that touch, that are a stride of the dimension behind them, and that shrink.
    const cuuint64_t rows[][2] = {{16, 16},    {16, 32},    {256, 256},  {256, 272},  {256, 4080},
                                  {256, 4096}, {256, 6144}, {4096, 256}, {272, 4352}, {272, 4096},
                                  {4096, 16},  {0, 0},      {0, 16},     {16, 0}};
    for (const auto &row : rows) {
        arguments a = plain(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 3);
        a.strides[0] = row[0];
        a.strides[1] = row[1];
        tried("strides", a);
    }
    // Numbers that stand behind the rank are not looked at.
    arguments behind = plain(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2);
    behind.sizes[2] = 0;
    behind.strides[1] = 1;
    behind.box[2] = 0;
    behind.steps[2] = 0;
    tried("behind the rank", behind);
}

static uint64_t state = 26;
static unsigned chance(unsigned n)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % n;
}

static void try_chances(int n)
{
    for (int k = 0; k < n; k++) {
        unsigned rank = 1 + chance(5);
        arguments a = plain((int)chance(WHOLE_TYPES), rank);
        unsigned bytes = type_bytes[a.type];
        a.address = 16 * chance(4);
        a.interleave = chance(4) ? 0 : 1 + chance(2);
        a.swizzle = a.interleave == 2 && chance(4) ? 1 : chance(4);
        a.promotion = chance(4);
        a.fill = chance(4) == 0;
        cuuint64_t stride = 0;
        for (unsigned i = 0; i < rank; i++) {
            const cuuint64_t size[] = {1, 7, 16, 100, 1000, 65536, 1ull << 32};
            const cuuint32_t box[] = {1, 2, 5, 16, 64, 200, 256};
            a.sizes[i] = size[chance(chance(8) ? 5 : 7)];
            a.box[i] = i ? box[chance(7)] : 8 * (1 + chance(16)) / bytes;
            a.steps[i] = chance(3) ? 1 : 1 + chance(9);
            stride = i ? stride * a.sizes[i] : (a.sizes[0] * bytes + 15) / 16 * 16;
            if (chance(6) == 0)
                stride += 16 * chance(5);
            a.strides[i] = chance(10) ? stride : stride / 2;
        }
        tried("chance", a);
    }
}

// ---- pointers ----

static void print_pointer(const char *about, CUresult result)
{
    printf("{\"about\": \"%s\", \"result\": %d}\n", about, (int)result);
    fflush(stdout);
}

static CUresult encode_at(CUtensorMap *map, void *address, unsigned rank, bool with_strides)
{
    arguments a = plain(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, rank);
    return encode(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, rank, address, a.sizes, with_strides ? a.strides : NULL, a.box,
                  a.steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

// A null map that cuTensorMapReplaceAddress gets, the driver follows.
static void try_pointers()
{
    alignas(128) static unsigned char bytes[3 * sizeof(CUtensorMap)];
    arguments a = plain(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2);
    for (int offset = 1; offset <= 128; offset *= 2) {
        char about[64];
        snprintf(about, sizeof about, "map at %d bytes", offset);
        print_pointer(about, encoded((CUtensorMap *)(bytes + offset), a));
    }
    CUtensorMap *map = (CUtensorMap *)bytes;
    print_pointer("strides of one dimension", encode_at(map, page, 1, true));
    print_pointer("no strides of one dimension", encode_at(map, page, 1, false));
    print_pointer("no strides", encode_at(map, page, 2, false));
    for (int interleave = 0; interleave < 3; interleave++) {
        a = plain(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 3);
        a.interleave = interleave;
        a.swizzle = interleave == 2;
        const long offsets[] = {0, 1, 8, 16, 32, 48, 128};
        for (long offset : offsets) {
            alignas(128) static CUtensorMap fresh, moved;
            a.address = 0;
            CUresult made = encoded(&fresh, a);
            CUresult result = replace(&fresh, page + offset);
            a.address = offset;
            CUresult direct = encoded(&moved, a);
            printf(
                "{\"about\": \"address replaced\", \"interleave\": %d, \"address\": %ld, \"made\": %d, \"result\": %d, "
                "\"as if encoded\": %s}\n",
                interleave, offset, (int)made, (int)result,
                direct == CUDA_SUCCESS && memcmp(&fresh, &moved, sizeof fresh) == 0 ? "true" : "false");
        }
    }
    print_pointer("replaced by no address", replace(map, NULL));
    print_pointer("replaced in a map at 16 bytes", replace((CUtensorMap *)(bytes + 16), page));
    memset(bytes, 0, sizeof bytes);
    print_pointer("replaced in zeros", replace(map, page));
    memset(bytes, 0x5a, sizeof bytes);
    print_pointer("replaced in bytes that are no map", replace(map, page));
    print_pointer("no map", encode_at(NULL, page, 2, true));
    print_pointer("no address", encode_at(map, NULL, 2, true));
    print_pointer("host address", encode_at(map, bytes, 2, true));
}

// ---- names ----

static void print_text(const char *key, CUresult result, const char *text)
{
    printf(", \"%s\": [%d, ", key, (int)result);
    printf(text ? "\"%s\"]" : "null]", text);
}

static void try_names()
{
    const int results[] = {0,   1,   2,   3,   4,   34,  46,  100, 101, 200, 201, 209, 214,  218, 221, 222,
                           300, 301, 304, 400, 401, 500, 600, 700, 701, 702, 709, 716, 717,  718, 719, 720,
                           800, 801, 802, 803, 900, 901, 906, 908, 909, 910, 914, 999, 5000, -1};
    for (int result : results) {
        const char *name = "unchanged", *text = "unchanged";
        CUresult named = error_name((CUresult)result, &name);
        CUresult described = error_string((CUresult)result, &text);
        printf("{\"about\": \"error\", \"code\": %d", result);
        print_text("name", named, name);
        print_text("text", described, text);
        printf("}\n");
    }
    const char *const names[] = {"cuTensorMapEncodeTiled",
                                 "cuTensorMapReplaceAddress",
                                 "cuTensorMapEncodeIm2col",
                                 "cuInit",
                                 "cuDriverGetVersion",
                                 "cuGetErrorName",
                                 "cuGetErrorString",
                                 "cuDeviceGet",
                                 "cuDeviceGetCount",
                                 "cuDeviceGetName",
                                 "cuDeviceGetAttribute",
                                 "cuDeviceTotalMem",
                                 "cuCtxGetCurrent",
                                 "cuCtxSetCurrent",
                                 "cuCtxGetDevice",
                                 "cuCtxSynchronize",
                                 "cuDevicePrimaryCtxRetain",
                                 "cuDevicePrimaryCtxRelease",
                                 "cuNoSuchFunction",
                                 "cudaMalloc",
                                 ""};
    for (const char *name : names)
        for (unsigned version = 1000; version <= 13000; version += 6000) {
            cudaDriverEntryPointQueryResult query;
            void *function = &query;
            cudaError_t error = cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &query);
            printf("{\"about\": \"entry point\", \"name\": \"%s\", \"version\": %u, \"error\": %d, \"query\": %d, "
                   "\"found\": %s}\n",
                   name, version, (int)error, error == cudaSuccess ? (int)query : -1, function ? "true" : "false");
            cudaGetLastError();
        }
}

int main()
{
    CHECK(cudaMalloc(&page, 3 * PAGE));
    page = (char *)(((uintptr_t)page + 2 * PAGE - 1) / PAGE * PAGE);
    encode = (encode_t *)needed("cuTensorMapEncodeTiled");
    replace = (replace_t *)needed("cuTensorMapReplaceAddress");
    error_name = (error_t *)needed("cuGetErrorName");
    error_string = (error_t *)needed("cuGetErrorString");
    try_modes();
    try_numbers();
    try_chances(400);
    try_names();
    try_pointers();
    return 0;
}
