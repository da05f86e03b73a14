// Which bytes does a tensor copy move? Loads, stores and reduces boxes of tensors of every rank, element type and swizzle,
// inside and across the edges, with steps, and prints a line of JSON for each: a hash of all memory that the copy could have
// written, and of small cases the bytes; "fault" where the GPU stops the kernel.
//
//   nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a tensor_tiles.cu -o tensor_tiles &&
//       ./tensor_tiles > tensor_tiles_h200.jsonl
//
// "bytes": how many the mbarrier counts for a load; 0: none of the numbers that were tried. It takes about a minute.

#include <cuda.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    THREADS = 128,
    WINDOW = 16384,  // bytes of shared memory that are looked at
    MEMORY = 65536,  // bytes of global memory
    BEGIN = 2048,    // of a tensor in it
    MOST_RANK = 5,
    POLLS = 20000,
    MOST_NAME = 256,
    MOST_FAULTS = 90,
    MOST_SECONDS = 300,
    FAULT = 3  // the status of a process that has printed one
};

#define CHECK(call) \
    do { \
        cudaError_t error_ = (call); \
        if (error_ != cudaSuccess) { \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_)); \
            printf("{\"case\": \"%s\", \"fault\": \"%s\"}\n", current, cudaGetErrorName(error_)); \
            exit(FAULT); \
        } \
    } while (0)

static char current[MOST_NAME];  // the case

// ---- the device ----

enum what { LOAD, LOAD_CTA, LOAD_HINT, LOAD_PREFETCHED, STORE, STORE_HINT, ADD, MIN, MAX, INC, DEC, AND, OR, XOR };
static const char *const names[] = {
    "load", "load cta", "load hint", "load prefetched", "store", "store hint", "add", "min", "max", "inc", "dec",
    "and",  "or",       "xor"};

struct copy {
    int what, rank;      // of the instruction
    unsigned at, bytes;  // place in the window; bytes that an mbarrier expects
    int corner[MOST_RANK];
};

// clang-format off: it never comes to an end with lists in macros
#define RANKS(X, ...) \
    switch (c.rank) { \
    case 1: X("1d", "%4", __VA_ARGS__, "r"(c.corner[0])); break; \
    case 2: X("2d", "%4, %5", __VA_ARGS__, "r"(c.corner[0]), "r"(c.corner[1])); break; \
    case 3: X("3d", "%4, %5, %6", __VA_ARGS__, "r"(c.corner[0]), "r"(c.corner[1]), "r"(c.corner[2])); break; \
    case 4: X("4d", "%4, %5, %6, %7", __VA_ARGS__, "r"(c.corner[0]), "r"(c.corner[1]), "r"(c.corner[2]), \
              "r"(c.corner[3])); break; \
    default: X("5d", "%4, %5, %6, %7, %8", __VA_ARGS__, "r"(c.corner[0]), "r"(c.corner[1]), "r"(c.corner[2]), \
               "r"(c.corner[3]), "r"(c.corner[4])); break; \
    }
#define LOADED(D, CORNER, DETAILS, TAIL, ...) \
    asm volatile("cp.async.bulk.tensor." D DETAILS " [%0], [%1, {" CORNER "}], [%2]" TAIL ";" :: __VA_ARGS__ : "memory")
#define FETCHED(D, CORNER, ...) \
    asm volatile("cp.async.bulk.prefetch.tensor." D ".L2.global.tile [%1, {" CORNER "}];" :: __VA_ARGS__ : "memory")
#define STORED(D, CORNER, DETAILS, TAIL, ...) \
    asm volatile("cp.async.bulk.tensor." D DETAILS " [%1, {" CORNER "}], [%0]" TAIL ";" :: __VA_ARGS__ : "memory")
#define REDUCED(D, CORNER, OP, TAIL, ...) \
    asm volatile("cp.reduce.async.bulk.tensor." D ".global.shared::cta." OP ".tile.bulk_group [%1, {" CORNER "}], [%0]" TAIL \
                 ";" :: __VA_ARGS__ : "memory")
#define OPERANDS "r"(tile), "l"(map), "r"(barrier), "l"(policy)
#define BYTES ".mbarrier::complete_tx::bytes"

__device__ void issue(const copy &c, const CUtensorMap *map, unsigned tile, unsigned barrier)
{
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    switch (c.what) {
    case LOAD: RANKS(LOADED, ".shared::cluster.global.tile" BYTES, "", OPERANDS) break;
    case LOAD_CTA: RANKS(LOADED, ".shared::cta.global.tile" BYTES, "", OPERANDS) break;
    case LOAD_HINT: RANKS(LOADED, ".shared::cluster.global" BYTES ".L2::cache_hint", ", %3", OPERANDS) break;
    case LOAD_PREFETCHED:
        asm volatile("prefetch.tensormap [%0];" :: "l"(map) : "memory");
        RANKS(FETCHED, OPERANDS)
        RANKS(LOADED, ".shared::cluster.global" BYTES, "", OPERANDS)
        break;
    case STORE: RANKS(STORED, ".global.shared::cta.tile.bulk_group", "", OPERANDS) break;
    case STORE_HINT: RANKS(STORED, ".global.shared::cta.bulk_group.L2::cache_hint", ", %3", OPERANDS) break;
    case ADD: RANKS(REDUCED, "add", "", OPERANDS) break;
    case MIN: RANKS(REDUCED, "min", "", OPERANDS) break;
    case MAX: RANKS(REDUCED, "max", "", OPERANDS) break;
    case INC: RANKS(REDUCED, "inc", "", OPERANDS) break;
    case DEC: RANKS(REDUCED, "dec", "", OPERANDS) break;
    case AND: RANKS(REDUCED, "and", "", OPERANDS) break;
    case OR: RANKS(REDUCED, "or", "", OPERANDS) break;
    default: RANKS(REDUCED, "xor", "", OPERANDS) break;
    }
}
// clang-format on

__device__ bool over(unsigned barrier)
{
    unsigned done = 0;
    for (int i = 0; i < POLLS && !done; i++)
        asm volatile("{ .reg .pred p;\n"
                     "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0;\n"
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(barrier)
                     : "memory");
    return done;
}

// A load fills a part of the window, which is then copied to `out`; else the window, which holds `in`, is the source.
__device__ void run(const copy &c, const CUtensorMap *map, const uint32_t *in, uint32_t *out, int *complete)
{
    extern __shared__ __align__(1024) uint32_t window[];
    __shared__ __align__(8) uint64_t mbarrier;
    unsigned tile = (unsigned)__cvta_generic_to_shared(window) + c.at;
    unsigned barrier = (unsigned)__cvta_generic_to_shared(&mbarrier);
    for (int i = threadIdx.x; i < WINDOW / 4; i += THREADS)
        window[i] = in[i];
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (c.what < STORE) {
        if (threadIdx.x == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(c.bytes)
                         : "memory");
            issue(c, map, tile, barrier);
        }
        bool done = over(barrier);
        if (threadIdx.x == 0)
            *complete = done;
        if (done)
            for (int i = threadIdx.x; i < WINDOW / 4; i += THREADS)
                out[i] = window[i];
    } else if (threadIdx.x == 0) {
        issue(c, map, tile, barrier);
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        *complete = 1;
    }
}

__global__ void by_parameter(copy c, const __grid_constant__ CUtensorMap map, const uint32_t *in, uint32_t *out,
                             int *complete)
{
    run(c, &map, in, out, complete);
}
__global__ void by_pointer(copy c, const CUtensorMap *map, const uint32_t *in, uint32_t *out, int *complete)
{
    run(c, map, in, out, complete);
}
__constant__ CUtensorMap constant_map;
__global__ void by_constant(copy c, const uint32_t *in, uint32_t *out, int *complete)
{
    run(c, &constant_map, in, out, complete);
}

// A field of the map is another one; the new map is in global memory.
enum field { ADDRESS, RANK, BOX, SIZE, STRIDE, STEP, TYPE, INTERLEAVE, SWIZZLE, FILL };

#define REPLACE_NUMBER(FIELD, BITS, REGISTER) \
    asm volatile("tensormap.replace.tile." FIELD ".shared::cta.b1024." BITS " [%0], %1;" ::"r"(shared), \
                 REGISTER(value) \
                 : "memory")
#define REPLACE_PLACED(FIELD, BITS, REGISTER, AT) \
    asm volatile("tensormap.replace.tile." FIELD ".shared::cta.b1024." BITS " [%0], " AT ", %1;" ::"r"(shared), \
                 REGISTER(value) \
                 : "memory")
#define REPLACE_AT(FIELD, BITS, REGISTER) \
    do { \
        if (place == 0) \
            REPLACE_PLACED(FIELD, BITS, REGISTER, "0"); \
        else if (place == 1) \
            REPLACE_PLACED(FIELD, BITS, REGISTER, "1"); \
        else \
            REPLACE_PLACED(FIELD, BITS, REGISTER, "2"); \
    } while (0)
#define REPLACE_KIND(FIELD, N) \
    asm volatile("tensormap.replace.tile." FIELD ".shared::cta.b1024.b32 [%0], " N ";" ::"r"(shared) : "memory")

__device__ void replace(unsigned shared, int field, int place, unsigned long long wide)
{
    unsigned value = (unsigned)wide;
    switch (field) {
    case RANK: REPLACE_NUMBER("rank", "b32", "r"); break;
    case BOX: REPLACE_AT("box_dim", "b32", "r"); break;
    case SIZE: REPLACE_AT("global_dim", "b32", "r"); break;
    case STEP: REPLACE_AT("element_stride", "b32", "r"); break;
    case TYPE:
        switch (value) {
        case 0: REPLACE_KIND("elemtype", "0"); break;
        case 1: REPLACE_KIND("elemtype", "1"); break;
        case 2: REPLACE_KIND("elemtype", "2"); break;
        case 3: REPLACE_KIND("elemtype", "3"); break;
        case 4: REPLACE_KIND("elemtype", "4"); break;
        case 5: REPLACE_KIND("elemtype", "5"); break;
        case 6: REPLACE_KIND("elemtype", "6"); break;
        case 7: REPLACE_KIND("elemtype", "7"); break;
        case 8: REPLACE_KIND("elemtype", "8"); break;
        case 9: REPLACE_KIND("elemtype", "9"); break;
        case 10: REPLACE_KIND("elemtype", "10"); break;
        case 11: REPLACE_KIND("elemtype", "11"); break;
        default: REPLACE_KIND("elemtype", "12"); break;
        }
        break;
    case INTERLEAVE: REPLACE_KIND("interleave_layout", "0"); break;
    case SWIZZLE:
        switch (value) {
        case 0: REPLACE_KIND("swizzle_mode", "0"); break;
        case 1: REPLACE_KIND("swizzle_mode", "1"); break;
        case 2: REPLACE_KIND("swizzle_mode", "2"); break;
        default: REPLACE_KIND("swizzle_mode", "3"); break;
        }
        break;
    case FILL:
        if (value)
            REPLACE_KIND("fill_mode", "1");
        else
            REPLACE_KIND("fill_mode", "0");
        break;
    default: {
        unsigned long long value = wide;
        if (field == ADDRESS)
            REPLACE_NUMBER("global_address", "b64", "l");
        else
            REPLACE_AT("global_stride", "b64", "l");
    }
    }
}

__global__ void by_replaced(copy c, const __grid_constant__ CUtensorMap map, CUtensorMap *changed, int field, int place,
                            unsigned long long value, const uint32_t *in, uint32_t *out, int *complete)
{
    __shared__ __align__(128) CUtensorMap mine;
    unsigned shared = (unsigned)__cvta_generic_to_shared(&mine);
    if (threadIdx.x < 32) {
        ((uint32_t *)&mine)[threadIdx.x] = ((const uint32_t *)&map)[threadIdx.x];
        __syncwarp();
        if (threadIdx.x == 0)
            replace(shared, field, place, value);
        __syncwarp();
        asm volatile(
            "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::
                "l"(changed),
            "r"(shared)
            : "memory");
    }
    __syncthreads();
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(changed) : "memory");
    run(c, changed, in, out, complete);
}

// ---- the host ----

typedef CUresult encode_t(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                          const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave,
                          CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

static const unsigned type_bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
static const char *const type_names[] = {"u8",  "u16", "u32",  "s32",     "u64",  "s64",     "f16",
                                         "f32", "f64", "bf16", "f32 ftz", "tf32", "tf32 ftz"};
enum { TYPES = 13, FIRST_FLOAT = 6 };
static const int swizzle_spans[] = {256, 32, 64, 128};

struct tile {  // a tensor, a box of it, and what is done with it
    int what, type, swizzle, fill, map_rank, rank;
    cuuint64_t sizes[MOST_RANK], strides[MOST_RANK];
    cuuint32_t box[MOST_RANK], steps[MOST_RANK];
    int corner[MOST_RANK];
    unsigned at;       // in the window
    long address;      // distance of the tensor from its place in memory
    bool special;      // memory holds numbers that floating point treats in its own ways
    unsigned dumped;   // bytes that are printed: of the window from `at` on, or of the tensor's memory
    int map_space;     // below
    int field, place;  // BY_REPLACED
    unsigned long long value;
};
enum { BY_PARAMETER, BY_CONSTANT, BY_GLOBAL, BY_GLOBAL_64, BY_REPLACED };

static encode_t *encode;
static unsigned char *memory, *window_in, *window_out;  // of the device
static CUtensorMap *maps;
static int *complete;
static uint64_t host_memory[MEMORY / 8], host_window[WINDOW / 8], special_memory[MEMORY / 8],
    special_window[WINDOW / 8], seen[MEMORY / 8];

static uint64_t state = 37;
static uint64_t chance()
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    uint64_t x = state;
    x ^= x >> 32;
    x *= 0x9e3779b97f4a7c15ull;
    return x ^ x >> 29;
}

// Numbers of 32 bits of which many are, as one float or as two of 16 bits: zeros, infinities, NaN, subnormal, near 1.
static uint32_t special(uint64_t x)
{
    static const uint32_t numbers[] = {
        0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x7f7fffff,
        0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f812345, 0x3f800000, 0x3f801fff,
        0x3f801000, 0x3f803000, 0x3f800fff, 0xbf801001, 0x00018001, 0x83ff0200, 0x7c00fc00, 0x7c017e00,
        0x7bfffbff, 0x04000400, 0x3c003c01, 0x7f807f81, 0x7f7f7f7f, 0xff7f0080, 0x3f803f81, 0x007f0001};
    uint32_t random = (uint32_t)(x >> 32);
    switch (x % 4) {
    case 0: return numbers[x / 4 % 32];
    case 1: return 0x3f000000 + random % 0x01800000;
    case 2: return (0x3800 + random % 0x0c00) << 16 | (0x3800 + (random >> 16) % 0x0c00);
    default: return random;
    }
}

static void begin()
{
    for (int i = 0; i < MEMORY / 8; i++) {
        host_memory[i] = chance();
        special_memory[i] = (uint64_t)special(chance()) << 32 | special(chance());
    }
    for (int i = 0; i < WINDOW / 8; i++) {
        host_window[i] = chance();
        special_window[i] = (uint64_t)special(chance()) << 32 | special(chance());
    }
    CHECK(cudaMalloc(&memory, MEMORY));
    CHECK(cudaMalloc(&window_in, WINDOW));
    CHECK(cudaMalloc(&window_out, WINDOW));
    CHECK(cudaMalloc(&maps, 4 * sizeof *maps));
    CHECK(cudaMalloc(&complete, sizeof *complete));
    void *function = NULL;
    cudaDriverEntryPointQueryResult query;
    CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &query));
    encode = (encode_t *)function;
}

static uint64_t hash(const uint64_t *words, unsigned n)
{
    uint64_t h = 14695981039346656037ull;
    for (unsigned i = 0; i < n; i++)
        h = (h ^ words[i]) * 1099511628211ull, h ^= h >> 31;
    return h;
}

static bool launched(const tile &t, const copy &c, const CUtensorMap &map)
{
    const uint32_t *in = (const uint32_t *)window_in;
    uint32_t *out = (uint32_t *)window_out;
    CHECK(cudaMemset(complete, 0, sizeof *complete));
    CHECK(cudaMemset(window_out, 0, WINDOW));
    switch (t.map_space) {
    case BY_PARAMETER: by_parameter<<<1, THREADS, WINDOW>>>(c, map, in, out, complete); break;
    case BY_CONSTANT:
        CHECK(cudaMemcpyToSymbol(constant_map, &map, sizeof map));
        by_constant<<<1, THREADS, WINDOW>>>(c, in, out, complete);
        break;
    case BY_REPLACED: {
        unsigned long long value = t.value;
        if (t.field == ADDRESS)
            value += (unsigned long long)(uintptr_t)memory;
        by_replaced<<<1, THREADS, WINDOW>>>(c, map, maps, t.field, t.place, value, in, out, complete);
        break;
    }
    default: {
        CUtensorMap *there = (CUtensorMap *)((char *)maps + (t.map_space == BY_GLOBAL_64 ? 64 : 0));
        CHECK(cudaMemcpy(there, &map, sizeof map, cudaMemcpyHostToDevice));
        by_pointer<<<1, THREADS, WINDOW>>>(c, there, in, out, complete);
    }
    }
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    int done;
    CHECK(cudaMemcpy(&done, complete, sizeof done, cudaMemcpyDeviceToHost));
    return done;
}

static void print_bytes(const unsigned char *bytes, unsigned n)
{
    printf(", \"dump\": \"");
    for (unsigned i = 0; i < n; i++)
        printf("%02x", bytes[i]);
    printf("\"");
}

// Bytes of a box: all of it with steps; where these are not looked at; with rows as long as the swizzle's span.
static unsigned box_bytes(const tile &t, int way)
{
    unsigned n = type_bytes[t.type];
    for (int i = 0; i < t.map_rank; i++) {
        bool stepped = way != 1 && (i > 0 || way == 3);
        n *= stepped ? (t.box[i] + t.steps[i] - 1) / t.steps[i] : t.box[i];
        if (i == 0 && way == 2 && t.swizzle)
            n = swizzle_spans[t.swizzle];
    }
    return n;
}

// ---- processes: behind a fault a process can do nothing more on its GPU ----

static struct progress {
    int begun, faults;
    char name[MOST_NAME];  // of the last case that has begun
} *progress;               // of all processes
static int met;            // cases, by this process

// Has another process shown that case?
static bool is_past(const char *name)
{
    if (met++ < progress->begun)
        return true;
    progress->begun = met;
    strcpy(progress->name, name);
    return false;
}

// Runs all cases in a process of its own, and behind a fault those that are left in another one.
static void survive(void (*cases)())
{
    progress = (struct progress *)mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                                       0);
    for (int status = 1; status != 0 && progress->faults < MOST_FAULTS; progress->faults++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            alarm(MOST_SECONDS);
            begin();
            cases();
            fflush(stdout);
            _exit(0);
        }
        waitpid(child, &status, 0);
        bool printed = WIFEXITED(status) && WEXITSTATUS(status) == FAULT;
        if (status != 0 && !printed)
            printf("{\"case\": \"%s\", \"fault\": \"status %d\"}\n", progress->name, status);
    }
}

static void add_number(const char *name, unsigned long long number)
{
    if (number)
        snprintf(current + strlen(current), sizeof current - strlen(current), "%s %llu", name, number);
}

static void show(const tile &t, unsigned replaced_bytes = 0)
{
    snprintf(current, sizeof current, "%s %dd of %dd %s swizzle %d fill %d", names[t.what], t.rank, t.map_rank,
             type_names[t.type], t.swizzle, t.fill);
    for (int i = 0; i < t.map_rank; i++)
        snprintf(current + strlen(current), sizeof current - strlen(current), " %s%llu+%llu[%d:%u:%u]", i ? "" : "| ",
                 (unsigned long long)t.sizes[i], (unsigned long long)(i ? t.strides[i - 1] : 0), t.corner[i], t.box[i],
                 t.steps[i]);
    add_number(" at", t.at);
    add_number(" address", (unsigned long long)t.address);
    add_number(" special", t.special);
    add_number(" map", t.map_space);
    if (t.map_space == BY_REPLACED) {
        add_number(" field", t.field + 1);
        add_number(" place", t.place);
        add_number(" value", t.value);
    }
    if (is_past(current))
        return;
    CUtensorMap map;
    CUresult result = encode(&map, (CUtensorMapDataType)t.type, t.map_rank, memory + BEGIN + t.address, t.sizes,
                             t.strides, t.box, t.steps, CU_TENSOR_MAP_INTERLEAVE_NONE, (CUtensorMapSwizzle)t.swizzle,
                             CU_TENSOR_MAP_L2_PROMOTION_NONE, (CUtensorMapFloatOOBfill)t.fill);
    if (result != CUDA_SUCCESS) {
        printf("{\"case\": \"%s\", \"refused\": %d}\n", current, (int)result);
        return;
    }
    CHECK(cudaMemcpy(memory, t.special ? special_memory : host_memory, MEMORY, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(window_in, t.special ? special_window : host_window, WINDOW, cudaMemcpyHostToDevice));
    copy c = {t.what, t.rank, t.at, 0, {}};
    memcpy(c.corner, t.corner, sizeof c.corner);
    bool done = false;
    unsigned tried[4];
    for (int way = 0; way < 4 && !done; way++) {
        tried[way] = replaced_bytes ? replaced_bytes : box_bytes(t, way);
        bool again = false;
        for (int before = 0; before < way; before++)
            again = again || tried[before] == tried[way];
        c.bytes = tried[way];
        done = !again && launched(t, c, map);
    }
    printf("{\"case\": \"%s\"", current);
    if (t.what < STORE) {
        CHECK(cudaMemcpy(seen, window_out, WINDOW, cudaMemcpyDeviceToHost));
        printf(", \"bytes\": %u, \"hash\": \"%016llx\"", done ? c.bytes : 0,
               (unsigned long long)hash(seen, WINDOW / 8));
        if (t.dumped)
            print_bytes((const unsigned char *)seen + t.at, t.dumped);
    } else {
        CHECK(cudaMemcpy(seen, memory, MEMORY, cudaMemcpyDeviceToHost));
        printf(", \"hash\": \"%016llx\"", (unsigned long long)hash(seen, MEMORY / 8));
        if (t.dumped)
            print_bytes((const unsigned char *)seen + BEGIN + t.address, t.dumped);
    }
    printf("}\n");
    fflush(stdout);
}

// ---- cases ----

enum { INSIDE, LOW, HIGH, PLACES };

// A box of a row of that many bytes, of a tensor whose rows are half as long again. LOW is in front of the tensor, but of stores at
// its beginning.
static tile plain(int what, int type, int rank, int swizzle, unsigned row, int place)
{
    static const int sizes[][MOST_RANK] = {{0}, {0, 23}, {0, 9, 6}, {0, 7, 5, 4}, {0, 5, 4, 3, 3}};
    static const int boxes[][MOST_RANK] = {{0}, {0, 19}, {0, 5, 4}, {0, 3, 3, 2}, {0, 3, 2, 2, 2}};
    static const int inside[MOST_RANK] = {1, 2, 1, 1, 0};
    static const int low[MOST_RANK] = {-1, -2, -1, -1, -1};
    unsigned bytes = type_bytes[type];
    int unit = 16 / (int)bytes;
    tile t = {};
    t.what = what;
    t.type = type;
    t.rank = t.map_rank = rank;
    t.swizzle = swizzle;
    for (int i = 0; i < rank; i++) {
        t.sizes[i] = i ? sizes[rank - 1][i] : row * 3 / 2 / bytes + 1;
        t.strides[i] = i ? t.strides[i - 1] * t.sizes[i] + 16 * (i % 2) : (t.sizes[0] * bytes + 15) / 16 * 16 + 16;
        t.box[i] = i ? boxes[rank - 1][i] : row / bytes;
        t.steps[i] = 1;
        t.corner[i] = place == INSIDE ? inside[i]
                      : place == LOW  ? (what < STORE ? low[i] : 0)
                                      : (int)(t.sizes[i] - t.box[i] / 2);
    }
    t.corner[0] = place == HIGH ? t.corner[0] / unit * unit : t.corner[0] * unit;  // a multiple of 16 bytes
    return t;
}

static unsigned row_of(int swizzle) { return swizzle ? swizzle_spans[swizzle] : 48; }

static void show_all(int what)
{
    for (int type = 0; type < TYPES; type++)
        for (int rank = 1; rank <= MOST_RANK; rank++)
            for (int swizzle = 0; swizzle < 4; swizzle++)
                for (int place = 0; place < PLACES; place++)
                    show(plain(what, type, rank, swizzle, row_of(swizzle), place));
}

static void show_shapes(int what)
{
    for (int swizzle = 0; swizzle < 4; swizzle++) {
        for (int row = 16; row <= swizzle_spans[swizzle]; row += 16) {
            tile t = plain(what, 0, 2, swizzle, row, INSIDE);
            t.dumped = what == LOAD && swizzle ? 11 * swizzle_spans[swizzle] : 0;
            t.box[1] = 11;
            show(t);
            t = plain(what, 2, 3, swizzle, row, HIGH);
            show(t);
        }
        for (unsigned at = 128; at <= 2048; at += 128) {
            tile t = plain(what, 6, 2, swizzle, row_of(swizzle), INSIDE);
            t.at = at;
            show(t);
            t = plain(what, 1, 2, swizzle, row_of(swizzle) / 2 / 16 * 16, LOW);
            t.at = at;
            show(t);
        }
    }
    const int swizzles[] = {0, 3};
    const unsigned steps[] = {2, 3, 5, 8};
    for (int swizzle : swizzles)
        for (int rank = 1; rank <= MOST_RANK; rank++)
            for (int stepped = 0; stepped <= rank; stepped++)
                for (unsigned step : steps)
                    for (int place = 0; place < PLACES; place++) {
                        tile t = plain(what, 1 + 5 * (int)(step % 2), rank, swizzle, row_of(swizzle), place);
                        for (int i = 0; i < rank; i++)
                            if (stepped == i || stepped == rank)
                                t.steps[i] = step;
                        if (rank == 2)
                            t.box[1] = 4 * step + 1;
                        show(t);
                    }
    for (long address = 16; address <= 128; address += 16) {
        tile t = plain(what, 2, 2, 3, 128, INSIDE);
        t.address = address;
        show(t);
    }
    // Boxes as large as may be, larger than the tensor, and far away from it.
    for (int i = 1; i < MOST_RANK; i++) {
        tile t = plain(what, 0, 5, 0, 16, LOW);
        t.box[i] = 256;
        for (int k = 1; k < MOST_RANK; k++)
            t.box[k] = k == i ? 256 : 1;
        show(t);
    }
    tile wide = plain(what, 0, 1, 0, 256, LOW);
    show(wide);
    wide.box[0] = 256;
    wide.sizes[0] = 100;
    show(wide);
    const int far[] = {INT_MIN, INT_MIN + 1, -(1 << 30), -100000, -64,         -19,    -18,
                       23,      24,          100000,     1 << 30, INT_MAX - 1, INT_MAX};
    for (int i = 0; i < 2; i++)
        for (int corner : far) {
            tile t = plain(what, 2, 2, 2, 64, INSIDE);
            t.corner[i] = i ? corner : corner / 4 * 4;
            if (what < STORE || corner >= 0)
                show(t);
        }
    // Rows that share memory, or touch.
    for (unsigned stride = 16; stride <= 96; stride += 16) {
        tile t = plain(what, 2, 2, 0, 64, INSIDE);
        t.strides[0] = stride;
        if (what == LOAD)
            show(t);
    }
}

static void show_fills()
{
    for (int type = FIRST_FLOAT; type < TYPES; type++)
        for (int swizzle = 0; swizzle < 4; swizzle += 3)
            for (int place = LOW; place < PLACES; place++) {
                tile t = plain(LOAD, type, 2, swizzle, 32, place);
                t.fill = 1;
                t.dumped = swizzle ? 0 : 19 * 32;
                show(t);
            }
    for (int type = FIRST_FLOAT; type < TYPES; type++)
        for (int what = LOAD; what <= STORE; what += STORE) {
            tile t = plain(what, type, 2, 0, 256, INSIDE);
            t.special = true;
            t.corner[0] = t.corner[1] = 0;
            t.dumped = 1024;
            show(t);
        }
}

static void show_maps()
{
    for (int what = LOAD; what <= STORE_HINT; what++)
        for (int space = BY_PARAMETER; space <= BY_GLOBAL; space++)
            for (int rank = 1; rank <= MOST_RANK; rank++) {
                tile t = plain(what, 9, rank, 3, 128, HIGH);
                t.map_space = space;
                show(t);
            }
}

static bool documented(int op, int type)  // "cp.reduce.async.bulk" in the PTX ISA
{
    switch (op) {
    case ADD: return type != 0 && type != 1 && type != 5 && type <= 9;
    case MIN:
    case MAX: return (type >= 2 && type <= 6) || type == 9;
    case INC:
    case DEC: return type == 2;
    default: return type == 2 || type == 4;
    }
}

static void show_reduced(int op, int type)
{
    for (int swizzle = 0; swizzle < 4; swizzle += 3)
        for (int place = 0; place < PLACES; place++)
            for (int special = 0; special < 2; special++) {
                tile t = plain(op, type, 2, swizzle, 64, place);
                t.special = special;
                show(t);
            }
    tile t = plain(op, type, 2, 0, 256, INSIDE);
    t.special = true;
    t.corner[0] = t.corner[1] = 0;
    t.dumped = 768;
    show(t);
    for (int rank = 1; rank <= MOST_RANK; rank++)
        show(plain(op, type, rank, 1, 32, HIGH));
    t = plain(op, type, 3, 2, 64, LOW);
    t.steps[1] = 2;
    t.steps[2] = 3;
    show(t);
}

// ---- cases that may be faults ----

static void show_doubtful()
{
    // Operations that the type has not.
    const int reductions[][2] = {{ADD, 0}, {ADD, 10}, {ADD, 11}, {MIN, 7}, {MAX, 8}, {INC, 3}, {DEC, 4}, {XOR, 7}};
    for (const int *reduction : reductions)
        show(plain(reduction[0], reduction[1], 2, 0, 64, INSIDE));
    for (int what = LOAD; what <= STORE; what += STORE)
        for (int swizzle = 0; swizzle < 4; swizzle += 3)
            for (unsigned at = 16; at <= 64; at *= 4) {
                tile t = plain(what, 0, 2, swizzle, swizzle ? swizzle_spans[swizzle] : 64, INSIDE);
                t.at = at;
                t.box[1] = 5;
                t.dumped = 1024;
                show(t);
            }
    for (int map_rank = 1; map_rank <= MOST_RANK; map_rank++)
        for (int rank = map_rank - 1; rank <= map_rank + 1; rank += 2) {
            tile t = plain(LOAD, 2, map_rank, 0, 64, INSIDE);
            t.rank = rank;
            if (rank > 0 && rank <= MOST_RANK)
                show(t);
        }
    tile at_64 = plain(LOAD, 2, 2, 0, 64, INSIDE);
    at_64.map_space = BY_GLOBAL_64;
    show(at_64);
    for (int i = 0; i < 2; i++)
        for (int corner = -8; corner < 0; corner += 4) {
            tile t = plain(LOAD, 2, 2, 0, 64, INSIDE);
            t.sizes[i] = 1ull << 32;
            t.corner[i] = corner;
            show(t);
        }
    // Corners that are no multiples of 16 bytes.
    for (int rank = 1; rank <= MOST_RANK; rank++) {
        tile t = plain(LOAD, 9, rank, 3, 128, HIGH);
        t.corner[0] = 65;
        show(t);
    }
    for (int what : {(int)STORE, (int)ADD}) {
        tile t = plain(what, 2, 2, 0, 64, INSIDE);
        t.corner[0] = 2;
        show(t);
    }
    // Stores that begin in front of the tensor.
    for (int swizzle = 0; swizzle < 4; swizzle += 3) {
        tile t = plain(LOAD, 1, 2, swizzle, row_of(swizzle) / 2 / 16 * 16, LOW);
        t.what = STORE;
        t.at = 128;
        show(t);
    }
    for (int rank = 1; rank <= 3; rank += 2) {
        tile t = plain(LOAD, 1, rank, 0, 48, LOW);
        t.what = STORE;
        t.steps[0] = 2;
        show(t);
    }
    for (int i = 0; i < 3; i++) {
        tile t = plain(ADD, 2, 3, 0, 64, INSIDE);
        t.corner[i] = -4;
        show(t);
    }
}

// How far beyond the tensor's edge a row goes.
static void show_edges()
{
    for (int what : {(int)LOAD, (int)STORE, (int)ADD, (int)MAX})
        for (int type : {0, 1, 2, 4, 6})
            for (int size = 1; size <= 37; size += 1 + (type == 0)) {
                tile t = plain(what, type, 2, size % 3, 32, INSIDE);
                t.corner[0] = size % 4 / 3 * (16 / (int)type_bytes[type]);
                t.sizes[0] = size;
                t.strides[0] = (size * type_bytes[type] + 15) / 16 * 16 + 16 * (size % 2);
                t.special = size % 5 == 0;
                if (what < ADD || documented(what, type))
                    show(t);
            }
}

static void show_replaced()
{
    struct change {
        int field, place;
        unsigned long long value;
        unsigned bytes;  // of the box afterwards
    };
    const unsigned all = 4 * 9 * 64;
    const change changes[] = {{ADDRESS, 0, BEGIN + 160, all},
                              {RANK, 0, 1, 64 * 9},
                              {RANK, 0, 0, 64},
                              {BOX, 0, 8, 4 * 9 * 32},
                              {BOX, 1, 3, 4 * 3 * 64},
                              {BOX, 2, 1, 9 * 64},
                              {SIZE, 0, 9, all},
                              {SIZE, 1, 5, all},
                              {SIZE, 2, 2, all},
                              {STRIDE, 0, 96, all},
                              {STRIDE, 0, 256, all},
                              {STRIDE, 1, 4096, all},
                              {STEP, 1, 2, 4 * 5 * 64},
                              {STEP, 2, 3, 2 * 9 * 64},
                              {STEP, 0, 2, all},
                              {INTERLEAVE, 0, 0, all},
                              {SWIZZLE, 0, 0, all},
                              {SWIZZLE, 0, 1, all},
                              {SWIZZLE, 0, 2, all},
                              {SWIZZLE, 0, 3, all},
                              {FILL, 0, 1, all},
                              {FILL, 0, 0, all},
                              {TYPE, 0, 0, all / 4},
                              {TYPE, 0, 1, all / 2},
                              {TYPE, 0, 2, all},
                              {TYPE, 0, 3, all},
                              {TYPE, 0, 4, all * 2},
                              {TYPE, 0, 5, all * 2},
                              {TYPE, 0, 6, all / 2},
                              {TYPE, 0, 7, all},
                              {TYPE, 0, 8, all},
                              {TYPE, 0, 9, all * 2},
                              {TYPE, 0, 10, all / 2},
                              {TYPE, 0, 11, all},
                              {TYPE, 0, 12, all}};
    for (const change &change : changes) {
        tile t = plain(LOAD, 7, 3, change.field == SWIZZLE ? 2 : 0, 64, HIGH);
        t.box[1] = 9;
        t.box[2] = 4;
        t.fill = change.field == FILL && change.value == 0;
        t.special = change.field == TYPE;
        t.map_space = BY_REPLACED;
        t.field = change.field;
        t.place = change.place;
        t.value = change.value;
        if (change.field == RANK) {
            t.rank = (int)change.value + 1;
            t.corner[2] = 0;
        }
        show(t, change.bytes);
    }
}

static void show_cases()
{
    show_edges();
    show_maps();
    show_replaced();
    show_fills();
    for (int what = LOAD; what <= STORE; what += STORE) {
        show_shapes(what);
        show_all(what);
    }
    for (int op = ADD; op <= XOR; op++)
        for (int type = 0; type < TYPES; type++)
            if (documented(op, type))
                show_reduced(op, type);
    show_doubtful();
}

int main()
{
    survive(show_cases);
    return 0;
}
