// What CUDA answers to launches that speak of clusters: by __cluster_dims__, by a kernel's attributes, by the launch's; how large
// clusters may be, and how many there is room for. Prints a line of JSON for each case:
//
//   nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a cluster_launch.cu -o cluster_launch &&
//       ./cluster_launch > cluster_launch_h200.jsonl
//
// "ranks": of each block, how many blocks its cluster has, and its rank.

#include "elements.h"

enum { MOST_ATTRIBUTES = 4, MOST_SHOWN = 16, ROOM = 8192 };  // blocks
static const int OPTED_IN = 232448;

static unsigned *given;
static char name[300];

template <int I> __device__ void tell(unsigned *out)
{
    unsigned blocks, rank;
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (out && threadIdx.x == 0)
        out[blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)] = 100 * blocks + rank;
}
// Each I is a kernel of its own, which has its own attributes.
template <int I> __global__ void plain(unsigned *out) { tell<I>(out); }
template <int I> __global__ void __cluster_dims__(1, 1, 1) of_1(unsigned *out) { tell<I>(out); }
template <int I> __global__ void __cluster_dims__(2, 1, 1) of_2(unsigned *out) { tell<I>(out); }
template <int I> __global__ void __cluster_dims__(1, 2, 1) of_1x2(unsigned *out) { tell<I>(out); }
template <int I> __global__ void __cluster_dims__(8, 1, 1) of_8(unsigned *out) { tell<I>(out); }
template <int I> __global__ void __cluster_dims__(4, 2, 2) of_16(unsigned *out) { tell<I>(out); }
template <int I> __global__ void __launch_bounds__(128, 1, 4) bounded(unsigned *out) { tell<I>(out); }

typedef void kernel(unsigned *);

struct attributes {
    int n;
    cudaLaunchAttribute list[MOST_ATTRIBUTES];
};

// What a launch asks for, and the extents of it; of a policy its number.
struct word {
    char what;  // 'c'luster, 'p'referred, c'o'operative, p'r'ogrammatic, polic'y'; 0: nothing
    unsigned x, y, z;
};
static word cluster(unsigned x, unsigned y = 1, unsigned z = 1) { return {'c', x, y, z}; }
static word preferred(unsigned x, unsigned y = 1, unsigned z = 1) { return {'p', x, y, z}; }
static const word nothing = {0, 0, 0, 0}, cooperative = {'o', 1, 0, 0}, programmatic = {'r', 1, 0, 0};

static void ask(attributes *a, word w)
{
    if (!w.what)
        return;
    cudaLaunchAttribute *attribute = &a->list[a->n++];
    memset(attribute, 0, sizeof *attribute);
    const char *words = "";
    switch (w.what) {
    case 'c':
        words = "cluster";
        attribute->id = cudaLaunchAttributeClusterDimension;
        attribute->val.clusterDim.x = w.x, attribute->val.clusterDim.y = w.y, attribute->val.clusterDim.z = w.z;
        break;
    case 'p':
        words = "preferred";
        attribute->id = cudaLaunchAttributePreferredClusterDimension;
        attribute->val.preferredClusterDim.x = w.x, attribute->val.preferredClusterDim.y = w.y,
        attribute->val.preferredClusterDim.z = w.z;
        break;
    case 'o':
        words = "cooperative";
        attribute->id = cudaLaunchAttributeCooperative;
        attribute->val.cooperative = 1;
        break;
    case 'r':
        words = "programmatic";
        attribute->id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute->val.programmaticStreamSerializationAllowed = 1;
        break;
    default:
        words = "policy";
        attribute->id = cudaLaunchAttributeClusterSchedulingPolicyPreference;
        attribute->val.clusterSchedulingPolicyPreference = (cudaClusterSchedulingPolicy)w.x;
    }
    snprintf(name + strlen(name), sizeof name - strlen(name), " %s %ux%ux%u", words, w.x, w.y, w.z);
}

// The error, which is forgotten then.
static void show_error(cudaError_t error)
{
    printf("{\"case\": \"%s\", \"error\": \"%s\"", name, cudaGetErrorName(error));
    if (cudaGetLastError() != error)
        printf(", \"last\": \"another\"");
    if (cudaDeviceSynchronize() != cudaSuccess)
        printf(", \"run\": \"failed\"");
}
static void show_ranks(cudaError_t error, unsigned blocks)
{
    unsigned ranks[MOST_SHOWN];
    if (error == cudaSuccess) {
        CHECK(cudaMemcpy(ranks, given, sizeof ranks, cudaMemcpyDeviceToHost));
        printf(", \"ranks\": \"");
        for (unsigned i = 0; i < blocks && i < MOST_SHOWN; i++)
            printf("%s%u", i ? " " : "", ranks[i]);
        printf("\"");
    }
    printf("}\n");
}

static cudaLaunchConfig_t configuration(dim3 grid, unsigned threads, size_t bytes, attributes *a, word one, word two)
{
    cudaLaunchConfig_t c = {};
    a->n = 0;
    ask(a, one);
    ask(a, two);
    c.gridDim = grid;
    c.blockDim = dim3(threads);
    c.dynamicSmemBytes = bytes;
    c.attrs = a->list;
    c.numAttrs = a->n;
    return c;
}

#define NAME(WHAT) \
    snprintf(name, sizeof name, "%s %s %ux%ux%u threads %u bytes %zu", WHAT, of, grid.x, grid.y, grid.z, threads, bytes)

static void launch(const char *of, kernel *k, dim3 grid, word one = nothing, word two = nothing, unsigned threads = 32,
                   size_t bytes = 0)
{
    attributes a;
    NAME("launch");
    cudaLaunchConfig_t c = configuration(grid, threads, bytes, &a, one, two);
    cudaError_t error = cudaLaunchKernelEx(&c, k, given);
    show_error(error);
    show_ranks(error, grid.x);
}
static void launch_plainly(const char *of, kernel *k, dim3 grid)
{
    snprintf(name, sizeof name, "<<<>>> %s %ux%ux%u", of, grid.x, grid.y, grid.z);
    k<<<grid, 32>>>(given);
    cudaError_t error = cudaPeekAtLastError();
    show_error(error);
    show_ranks(error, grid.x);
}
static void active(const char *of, kernel *k, dim3 grid, unsigned threads, size_t bytes, word one = nothing)
{
    attributes a;
    int clusters = -1;
    NAME("active");
    cudaLaunchConfig_t c = configuration(grid, threads, bytes, &a, one, nothing);
    show_error(cudaOccupancyMaxActiveClusters(&clusters, k, &c));
    printf(", \"clusters\": %d}\n", clusters);
}
static void largest(const char *of, kernel *k, dim3 grid, unsigned threads, size_t bytes, word one = nothing)
{
    attributes a;
    int blocks = -1;
    NAME("largest");
    cudaLaunchConfig_t c = configuration(grid, threads, bytes, &a, one, nothing);
    show_error(cudaOccupancyMaxPotentialClusterSize(&blocks, k, &c));
    printf(", \"blocks\": %d}\n", blocks);
}

static void show_attributes(const char *of, kernel *k)
{
    cudaFuncAttributes a;
    snprintf(name, sizeof name, "attributes %s", of);
    show_error(cudaFuncGetAttributes(&a, k));
    printf(", \"must\": %d, \"required\": \"%dx%dx%d\", \"policy\": %d, \"non_portable\": %d}\n", a.clusterDimMustBeSet,
           a.requiredClusterWidth, a.requiredClusterHeight, a.requiredClusterDepth, a.clusterSchedulingPolicyPreference,
           a.nonPortableClusterSizeAllowed);
}
enum { MUST = 10, WIDTH, HEIGHT, DEPTH, NON_PORTABLE, POLICY };
static void set(const char *of, kernel *k, int attribute, int value)
{
    static const char *const names[] = {"must", "width", "height", "depth", "non_portable", "policy"};
    snprintf(name, sizeof name, "set %s %s %d", of, names[attribute - MUST], value);
    show_error(cudaFuncSetAttribute(k, (cudaFuncAttribute)attribute, value));
    printf("}\n");
    show_attributes(of, k);
}
static void opt_in(kernel *k)
{
    CHECK(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, OPTED_IN));
    CHECK(cudaFuncSetAttribute(k, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
}

static void show_kernels()
{
    const struct {
        const char *of;
        kernel *k;
    } kernels[] = {{"plain", plain<0>}, {"of_1", of_1<0>},   {"of_2", of_2<0>},      {"of_1x2", of_1x2<0>},
                   {"of_8", of_8<0>},   {"of_16", of_16<0>}, {"bounded", bounded<0>}};
    for (auto &kernel : kernels) {
        show_attributes(kernel.of, kernel.k);
        for (dim3 grid : {dim3(1), dim3(3), dim3(4), dim3(8), dim3(1, 3), dim3(1, 4), dim3(4, 2, 2), dim3(4, 4)}) {
            launch_plainly(kernel.of, kernel.k, grid);
            launch(kernel.of, kernel.k, grid);
            for (word w : {cluster(0, 0, 0), cluster(1), cluster(2), cluster(1, 2), cluster(4), cluster(8), cluster(0),
                           cluster(2, 0)})
                launch(kernel.of, kernel.k, grid, w);
        }
    }
    set("of_16 allowed", of_16<1>, NON_PORTABLE, 1);
    launch_plainly("of_16 allowed", of_16<1>, dim3(4, 2, 2));
    launch_plainly("of_16 allowed", of_16<1>, dim3(4, 4));
    launch("of_16 allowed", of_16<1>, dim3(4, 2, 2), cluster(4, 2, 2));
}

static void show_sizes()
{
    for (unsigned x = 1; x <= 18; x++)
        launch("plain", plain<0>, dim3(x), cluster(x));
    set("allowed", plain<1>, NON_PORTABLE, 1);
    for (unsigned x = 7; x <= 18; x++)
        launch("allowed", plain<1>, dim3(x), cluster(x));
    for (word w : {cluster(4, 4), cluster(4, 2, 2), cluster(4, 4, 4), cluster(2, 2, 2), cluster(3), cluster(1, 3),
                   cluster(1, 1, 3)})
        launch("allowed", plain<1>, dim3(4, 4, 4), w);
    for (word w : {cluster(65536), cluster(0x80000000, 2), cluster(0x10000, 0x10000), cluster(3), cluster(1, 1, 0)})
        launch("plain", plain<0>, dim3(4), w);
    launch("plain", plain<0>, dim3(2), cluster(4));
    launch("plain", plain<0>, dim3(4), cluster(2), cluster(4));
    launch("plain", plain<0>, dim3(4), cluster(4), cluster(2));
    launch("plain", plain<0>, dim3(0), cluster(2));
    for (unsigned threads : {0, 1024, 1025})
        launch("plain", plain<0>, dim3(4), cluster(2), nothing, threads);
    launch("plain", plain<0>, dim3(4), cluster(2), nothing, 32, 60000);
    opt_in(plain<1>);
    for (unsigned x : {2, 8, 16})
        for (unsigned threads : {32, 1024})
            for (size_t bytes : {0, 116224, OPTED_IN})
                launch("allowed", plain<1>, dim3(x), cluster(x), nothing, threads, bytes);
    for (word w : {preferred(4), preferred(2), preferred(3), preferred(16), preferred(1), preferred(0),
                   preferred(2, 1, 2), preferred(4, 2)})
        for (unsigned x : {6, 8, 32}) {
            launch("plain", plain<0>, dim3(x, 2, 2), cluster(2), w);
            launch("plain", plain<0>, dim3(x, 2, 2), nothing, w);
            launch("of_2", of_2<0>, dim3(x, 2, 2), nothing, w);
        }
    for (int policy = -1; policy <= 3; policy++)
        launch("plain", plain<0>, dim3(4), cluster(2), word{'y', (unsigned)policy, 0, 0});
    launch("plain", plain<0>, dim3(4), cluster(2), programmatic);
    launch("plain", plain<0>, dim3(4), cooperative, programmatic);
}

static void show_attributes_that_are_set()
{
    for (int value : {-1, 0, 2, 1, 0})
        set("allows", plain<2>, NON_PORTABLE, value);
    launch("allows", plain<2>, dim3(16), cluster(16));
    for (int value : {-1, 0, 1, 2, 3})
        set("policy", plain<3>, POLICY, value);
    for (int value : {0, 1, 2})
        set("must", plain<4>, MUST, value);
    set("must of_2", of_2<4>, MUST, 0);
    set("must of_2", of_2<4>, MUST, 1);
    kernel *k = plain<5>;
    const int steps[][2] = {{WIDTH, 2}, {HEIGHT, 1}, {DEPTH, 1},        {WIDTH, -1}, {WIDTH, 4},
                            {WIDTH, 0}, {WIDTH, 16}, {NON_PORTABLE, 1}, {WIDTH, 17}};
    for (auto &step : steps) {
        set("requires", k, step[0], step[1]);
        for (unsigned x : {4, 6, 16, 17}) {
            launch_plainly("requires", k, dim3(x));
            for (word w : {cluster(0, 0, 0), cluster(1), cluster(2), cluster(4)})
                launch("requires", k, dim3(x), w);
        }
        active("requires", k, dim3(16), 32, 0);
        active("requires", k, dim3(16), 32, 0, cluster(2));
        largest("requires", k, dim3(16), 32, 0);
    }
    for (int value : {2, 4, 1})
        set("requires of_2", of_2<5>, WIDTH, value);
    launch_plainly("requires of_2", of_2<5>, dim3(4));
}

static void show_room()
{
    opt_in(plain<6>);
    for (size_t bytes :
         {0, 1000, 10000, 20000, 24000, 27000, 32000, 40000, 60000, 75000, 100000, 115712, 115713, 160000, OPTED_IN})
        for (unsigned threads : {1, 32, 128, 224, 288, 384, 448, 512, 640, 704, 1024})
            for (unsigned x = 1; x <= 17; x += x < 8 || x >= 16 ? 1 : 4)
                active("opted in", plain<6>, dim3(x), threads, bytes, cluster(x));
    for (unsigned x = 1; x <= 20; x++)
        active("opted in", plain<6>, dim3(x), 128, OPTED_IN, cluster(x));
    for (word w : {nothing, cluster(2), cluster(1, 2), cluster(2, 2, 2), cluster(0), cluster(9), cluster(1, 8)})
        for (dim3 grid : {dim3(1, 1, 1), dim3(18, 8, 2), dim3(1000, 16, 2), dim3(0, 1, 1)}) {
            active("plain", plain<0>, grid, 128, 0, w);
            active("of_2", of_2<0>, grid, 128, 0, w);
            active("of_16", of_16<0>, grid, 128, 0, w);
            active("bounded", bounded<0>, grid, 128, 0, w);
        }
    for (unsigned threads : {0, 32, 1024, 1025})
        for (size_t bytes : {0, 49152, 49153, 100000, OPTED_IN, 240000}) {
            active("plain", plain<0>, dim3(2), threads, bytes, cluster(2));
            active("opted in", plain<6>, dim3(2), threads, bytes, cluster(2));
            largest("plain", plain<0>, dim3(16), threads, bytes);
            largest("opted in", plain<6>, dim3(3), threads, bytes, cluster(2));
        }
    largest("plain", plain<0>, dim3(0), 32, 0);
    largest("of_2", of_2<0>, dim3(3), 32, 0);
    largest("of_16", of_16<0>, dim3(16), 32, 0);
    largest("bounded", bounded<0>, dim3(16), 256, 0);
    for (unsigned x : {1, 2, 4, 8, 16})
        for (unsigned grid : {112, 120, 128, 132, 136, 144, 264, 272, 1056, 1072}) {
            if (grid % x)
                continue;
            launch("opted in", plain<6>, dim3(grid), cluster(x), cooperative, 1024, 0);
            launch("opted in", plain<6>, dim3(grid), cluster(x), cooperative, 32, 200 << 10);
            launch("opted in", plain<6>, dim3(grid), cluster(x), cooperative, 32, 0);
        }
    for (unsigned grid : {3, 4, 1056, 4224, 4356}) {
        launch("of_2", of_2<0>, dim3(grid), cooperative);
        launch("plain", plain<0>, dim3(grid), cooperative);
        unsigned *none = NULL;
        void *arguments[] = {&none};
        snprintf(name, sizeof name, "cudaLaunchCooperativeKernel of_2 %u", grid);
        show_error(cudaLaunchCooperativeKernel((void *)of_2<0>, dim3(grid), dim3(32), arguments, 0, 0));
        printf("}\n");
        snprintf(name, sizeof name, "cudaLaunchKernel of_2 %u", grid);
        show_error(cudaLaunchKernel((void *)of_2<0>, dim3(grid), dim3(32), arguments, 0, 0));
        printf("}\n");
    }
}

int main()
{
    CHECK(cudaMalloc(&given, ROOM * sizeof *given));
    int attribute, sms;
    cudaDeviceProp properties;
    CHECK(cudaDeviceGetAttribute(&attribute, cudaDevAttrClusterLaunch, 0));
    CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaGetDeviceProperties(&properties, 0));
    printf("{\"case\": \"device\", \"attribute\": %d, \"property\": %d, \"sms\": %d}\n", attribute,
           properties.clusterLaunch, sms);
    show_kernels();
    show_sizes();
    show_attributes_that_are_set();
    show_room();
    return 0;
}
