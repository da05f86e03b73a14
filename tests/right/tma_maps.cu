// Tensor maps as parameters, in constant and in global memory, one of many, changed by kernels with the fences that this needs.

#include "../hopper.h"
#include "right.h"

#define WIDTH 100
#define HEIGHT 40
#define BOX_WIDTH 32
#define BOX_HEIGHT 8
#define BYTES (BOX_WIDTH * BOX_HEIGHT * 4)

struct maps {
    int before;
    CUtensorMap map[3];
};

__constant__ CUtensorMap in_constant[2];
__device__ CUtensorMap in_global[2];

static __device__ void copy_box(const CUtensorMap *map, int x, int y, float *out)
{
    __shared__ alignas(128) float tile[BOX_HEIGHT][BOX_WIDTH];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        TMA_PREFETCH_MAP(map);
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        TMA_LOAD_2D(tile, map, x, y, &bar);
    }
    MBARRIER_WAIT(&bar, 0);
    for (int i = threadIdx.x; i < BOX_WIDTH * BOX_HEIGHT; i += blockDim.x)
        out[i] = tile[i / BOX_WIDTH][i % BOX_WIDTH];
}

__global__ void by_parameter(const __grid_constant__ CUtensorMap map, int x, int y, float *out)
{
    copy_box(&map, x, y, out);
}

__global__ void by_member(const __grid_constant__ struct maps maps, int x, int y, float *out)
{
    copy_box(&maps.map[maps.before], x, y, out);
}

__global__ void by_constant(int which, int x, int y, float *out) { copy_box(&in_constant[which], x, y, out); }

__global__ void by_global(int which, int x, int y, float *out) { copy_box(&in_global[which], x, y, out); }

__global__ void by_pointer(const CUtensorMap *map, int x, int y, float *out) { copy_box(map, x, y, out); }

__global__ void by_acquired(const CUtensorMap *map, int x, int y,
                            float *out)  // behind a copy of the host: not needed, and allowed
{
    if (threadIdx.x == 0)
        asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
    copy_box(map, x, y, out);
}

__global__ void assign(CUtensorMap *to, const __grid_constant__ CUtensorMap map)  // the end of a kernel is fence enough
{
    if (threadIdx.x == 0)
        *to = map;
}

__global__ void assign_and_use(CUtensorMap *to, const __grid_constant__ CUtensorMap map, int x, int y, float *out)
{
    if (threadIdx.x < 32) {
        ((int *)to)[threadIdx.x] = ((const int *)&map)[threadIdx.x];
        asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
        __syncwarp();
        asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(to) : "memory");
    }
    copy_box(to, x, y, out);
}

// Changed in shared memory, copied to global memory with a fence, used by the same block.
__global__ void replaced(CUtensorMap *to, const __grid_constant__ CUtensorMap map, const float *tensor, int height,
                         int x, int y, float *out)
{
    __shared__ alignas(128) CUtensorMap copy;
    if (threadIdx.x < 32)
        ((int *)&copy)[threadIdx.x] = ((const int *)&map)[threadIdx.x];
    __syncwarp();
    if (threadIdx.x == 0) {
        asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(in_shared(&copy)),
                     "l"(tensor)
                     : "memory");
        asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(in_shared(&copy)),
                     "r"(height)
                     : "memory");
    }
    __syncwarp();
    if (threadIdx.x < 32) {
        asm volatile(
            "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::
                "l"(__cvta_generic_to_global(to)),
            "r"(in_shared(&copy))
            : "memory");
        asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(to) : "memory");
    }
    __syncthreads();
    copy_box(to, x, y, out);
}

// One block changes the map, others use it: release, flag, acquire.
__global__ void handed_on(CUtensorMap *map, const float *tensor, int *flag, int x, int y, float *out)
{
    if (blockIdx.x == 0) {
        if (threadIdx.x == 0) {
            asm volatile(
                "tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;" ::"l"(__cvta_generic_to_global(map)),
                "l"(tensor)
                : "memory");
            asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
            __threadfence();
            atomicExch(flag, 1);
        }
        return;
    }
    if (threadIdx.x == 0) {
        while (atomicAdd(flag, 0) == 0)
            ;
        __threadfence();
        asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
    }
    __syncthreads();
    copy_box(map, x, y, out + (blockIdx.x - 1) * BOX_WIDTH * BOX_HEIGHT);
}

static float *x_host;

static void expect_box(const char *name, const float *out, int x, int y, int height = HEIGHT, float offset = 0)
{
    float *got = to_host(out, BOX_WIDTH * BOX_HEIGHT);
    for (int i = 0; i < BOX_WIDTH * BOX_HEIGHT; i++) {
        int column = x + i % BOX_WIDTH, row = y + i / BOX_WIDTH;
        float want = column < WIDTH && row < height ? x_host[row * WIDTH + column] + offset : 0;
        if (got[i] != want) {
            printf("%s: element %d is %g, not %g\n", name, i, got[i], want);
            exit(1);
        }
    }
    free(got);
}

int main(void)
{
    const int n = WIDTH * HEIGHT;
    x_host = numbers(n, 9);
    float *plus = (float *)malloc(n * sizeof *plus);
    for (int i = 0; i < n; i++)
        plus[i] = x_host[i] + 100;
    float *in = to_device(x_host, n), *other = to_device(plus, n),
          *out = to_device<float>(NULL, 3 * BOX_WIDTH * BOX_HEIGHT);
    CUtensorMap map = matrix_map(in, WIDTH, HEIGHT, BOX_WIDTH, BOX_HEIGHT);
    CUtensorMap second = matrix_map(other, WIDTH, HEIGHT, BOX_WIDTH, BOX_HEIGHT), both[2] = {map, second};

    by_parameter<<<1, 64>>>(map, 32, 8, out);
    expect_box("by_parameter", out, 32, 8);
    struct maps maps = {2, {map, map, second}};
    by_member<<<1, 64>>>(maps, 80, 36, out);
    expect_box("by_member", out, 80, 36, HEIGHT, 100);
    CHECK(cudaMemcpyToSymbol(in_constant, both, sizeof both));
    CHECK(cudaMemcpyToSymbol(in_global, both, sizeof both));
    for (int i = 0; i < 2; i++) {
        by_constant<<<1, 64>>>(i, 0, 16, out);
        expect_box("by_constant", out, 0, 16, HEIGHT, 100 * i);
        by_global<<<1, 64>>>(i, 96, 0, out);
        expect_box("by_global", out, 96, 0, HEIGHT, 100 * i);
    }
    CUtensorMap *memory = to_device(both, 2), *empty = to_device<CUtensorMap>(NULL, 1);
    by_pointer<<<1, 64>>>(memory + 1, 4, 4, out);
    expect_box("by_pointer", out, 4, 4, HEIGHT, 100);
    by_acquired<<<1, 64>>>(memory + 1, 8, 4, out);
    expect_box("by_acquired", out, 8, 4, HEIGHT, 100);
    assign<<<1, 32>>>(empty, map);
    by_pointer<<<1, 64>>>(empty, 12, 4, out);
    expect_box("assign", out, 12, 4);
    assign_and_use<<<1, 32>>>(empty, second, 16, 0, out);
    expect_box("assign_and_use", out, 16, 0, HEIGHT, 100);
    replaced<<<1, 64>>>(empty, map, other, 5, 8, 0, out);
    expect_box("replaced", out, 8, 0, 5, 100);
    by_pointer<<<1, 64>>>(empty, 20, 2, out);
    expect_box("replaced for good", out, 20, 2, 5, 100);
    int *flag = to_device<int>(NULL, 1);
    CHECK(cudaMemset(flag, 0, sizeof *flag));
    handed_on<<<3, 64>>>(memory, other, flag, 64, 32, out);
    expect_box("handed_on", out, 64, 32, HEIGHT, 100);
    expect_box("handed_on", out + BOX_WIDTH * BOX_HEIGHT, 64, 32, HEIGHT, 100);
    return 0;
}
