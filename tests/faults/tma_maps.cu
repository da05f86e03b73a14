// Tensor maps that are none, that lie in the wrong place, or that were changed and not fenced. The first argument picks the
// kernel; a comment `expect NAME: KIND` marks a line that the report on it must name. tests/right/tma_maps.cu has the right ways.

#include <string.h>
#include "../hopper.h"

#define WIDTH 32
#define HEIGHT 8
#define TILE (WIDTH * HEIGHT)
#define BYTES (TILE * 4)
#define MAP const __grid_constant__ CUtensorMap

#define REPLACE_ADDRESS(MAP, VALUE) \
    asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;" ::"l"(__cvta_generic_to_global(MAP)), \
                 "l"(VALUE) \
                 : "memory")
#define FENCE_MAP_RELEASE() asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory")
#define FENCE_MAP_ACQUIRE(MAP) asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(MAP) : "memory")

struct alignas(128) three_maps {
    CUtensorMap map[3];
};

__device__ CUtensorMap in_global[2];
__constant__ CUtensorMap in_constant;

// What the host said lies at memory[0], a second tensor at memory + 4000.
#define LOAD(MAP_POINTER) \
    __shared__ alignas(128) float tile[HEIGHT][WIDTH]; \
    __shared__ uint64_t bar; \
    SET_UP(bar, 1); \
    if (threadIdx.x == 0) { \
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES); \
        TMA_LOAD_2D(tile, MAP_POINTER, 0, 0, &bar); \
    } \
    MBARRIER_WAIT(&bar, 0); \
    memory[threadIdx.x] = tile[1][threadIdx.x % 32]

// ---- no maps ----

__global__ void all_zeros(MAP map, float *memory)
{
    LOAD(&map);  // expect all_zeros: invalid tensor map
}

__global__ void refused_by_the_driver(MAP map, float *memory)  // and the host did not look at the result
{
    LOAD(&map);  // expect refused_by_the_driver: invalid tensor map
}

__global__ void never_copied(MAP map, float *memory)  // to the variable
{
    LOAD(&in_global[1]);  // expect never_copied: invalid tensor map
}

__global__ void half_copied(MAP map, float *memory)
{
    LOAD(&in_constant);  // expect half_copied: invalid tensor map
}

__global__ void the_tensor_itself(MAP map, float *memory)
{
    LOAD(memory);  // expect the_tensor_itself: invalid tensor map
}

__global__ void stored_by_no_map(MAP map, float *memory)
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    for (int k = threadIdx.x; k < TILE; k += blockDim.x)
        tile[k / WIDTH][k % WIDTH] = k;
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        TMA_STORE_2D(&map, 0, 0, tile);  // expect stored_by_no_map: invalid tensor map
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void one_map_too_far(MAP map, float *memory, const __grid_constant__ struct three_maps maps)
{
    LOAD(&maps.map[2]);  // expect one_map_too_far: invalid tensor map
}

__global__ void in_shared_memory(MAP map, float *memory)
{
    __shared__ CUtensorMap copy;
    if (threadIdx.x == 0)
        copy = map;
    FENCE_ASYNC();
    __syncthreads();
    LOAD(&copy);  // expect in_shared_memory: wrong memory space
}

__global__ void on_the_stack(MAP map, float *memory)
{
    CUtensorMap copy = map;
    LOAD(&copy);  // expect on_the_stack: invalid tensor map
}

__global__ void by_value(CUtensorMap map, float *memory)  // without __grid_constant__: a copy on the thread's stack
{
    LOAD(&map);  // expect by_value: invalid tensor map
}

__global__ void at_32_bytes(MAP map, float *memory)
{
    LOAD((CUtensorMap *)((char *)in_global + 32));  // expect at_32_bytes: misaligned access
}

// ---- what they describe ----

__global__ void freed(MAP map, float *memory)
{
    LOAD(&map);  // expect freed: use after free
}

__global__ void larger_than_its_memory(MAP map, float *memory)  // 60 rows in a map, 40 in memory
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    for (int i = 0; i < 8; i++) {
        if (threadIdx.x == 0) {
            MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
            TMA_LOAD_2D(tile, &map, 0, 8 * i, &bar);  // expect larger_than_its_memory: out of bounds
        }
        MBARRIER_WAIT(&bar, i % 2);
        __syncthreads();
    }
}

__global__ void rows_too_long(MAP map, float *memory)  // a pitch of 101 floats rounded up to 104
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    for (int k = threadIdx.x; k < TILE; k += blockDim.x)
        tile[k / WIDTH][k % WIDTH] = k;
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        TMA_STORE_2D(&map, 64, 32, tile);  // expect rows_too_long: out of bounds
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void of_the_host(MAP map, float *memory)  // its tensor is in the host's memory
{
    LOAD(&map);  // expect of_the_host: host pointer in a kernel
}

__global__ void never_written(MAP map, float *memory)
{
    LOAD(&map);  // expect never_written: uninitialised global memory
}

// ---- changed ----

__global__ void replaced(MAP map, float *memory)
{
    if (threadIdx.x == 0)
        REPLACE_ADDRESS(&in_global[0], memory + 4000);  // expect replaced: stale tensor map
    __syncthreads();
    LOAD(&in_global[0]);  // expect replaced: stale tensor map
}

__global__ void copied_by_stores(MAP map, float *memory)
{
    const int *from = (const int *)&map;
    int *to = (int *)&in_global[1];
    if (threadIdx.x < 32)
        to[threadIdx.x] = from[threadIdx.x];  // expect copied_by_stores: stale tensor map
    __syncthreads();
    LOAD(&in_global[1]);  // expect copied_by_stores: stale tensor map
}

__global__ void assigned(MAP map, float *memory)
{
    if (threadIdx.x == 0) {
        in_global[1] = map;  // expect assigned: stale tensor map
        __threadfence();
    }
    __syncthreads();
    LOAD(&in_global[1]);  // expect assigned: stale tensor map
}

__global__ void fence_of_the_async_proxy(MAP map, float *memory)
{
    if (threadIdx.x == 0) {
        REPLACE_ADDRESS(&in_global[0], memory + 4000);  // expect fence_of_the_async_proxy: stale tensor map
        FENCE_ASYNC();
    }
    __syncthreads();
    LOAD(&in_global[0]);  // expect fence_of_the_async_proxy: stale tensor map
}

__global__ void released_only(MAP map, float *memory)
{
    if (threadIdx.x == 0) {
        REPLACE_ADDRESS(&in_global[0], memory + 4000);  // expect released_only: stale tensor map
        FENCE_MAP_RELEASE();                            // perhaps released_only: stale tensor map
    }
    __syncthreads();
    LOAD(&in_global[0]);  // expect released_only: stale tensor map
}

__global__ void another_map_acquired(MAP map, float *memory)
{
    if (threadIdx.x == 0) {
        REPLACE_ADDRESS(&in_global[0], memory + 4000);  // expect another_map_acquired: stale tensor map
        FENCE_MAP_RELEASE();                            // perhaps another_map_acquired: stale tensor map
        FENCE_MAP_ACQUIRE(&in_global[1]);               // perhaps another_map_acquired: stale tensor map
    }
    __syncthreads();
    LOAD(&in_global[0]);  // expect another_map_acquired: stale tensor map
}

__global__ void acquired_by_a_bystander(MAP map, float *memory)
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 32) {
        REPLACE_ADDRESS(&in_global[0], memory + 4000);  // expect acquired_by_a_bystander: stale tensor map
        FENCE_MAP_RELEASE();                            // perhaps acquired_by_a_bystander: stale tensor map
    }
    __syncthreads();
    if (threadIdx.x == 40)
        FENCE_MAP_ACQUIRE(&in_global[0]);  // perhaps acquired_by_a_bystander: stale tensor map
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        TMA_LOAD_2D(tile, &in_global[0], 0, 0, &bar);  // expect acquired_by_a_bystander: stale tensor map
    }
    MBARRIER_WAIT(&bar, 0);
}

__global__ void changed_again(MAP map, float *memory)  // and acquired once, before the loop
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; i++) {
            REPLACE_ADDRESS(&in_global[0], memory + 4000 * i);  // expect changed_again: stale tensor map
            FENCE_MAP_RELEASE();                                // perhaps changed_again: stale tensor map
            if (i == 0)
                FENCE_MAP_ACQUIRE(&in_global[0]);  // perhaps changed_again: stale tensor map
            MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
            TMA_LOAD_2D(tile, &in_global[0], 0, 0, &bar);  // expect changed_again: stale tensor map
            MBARRIER_WAIT(&bar, i);
        }
    }
}

__global__ void of_another_block(MAP map, float *memory)
{
    int *flag = (int *)memory;
    if (blockIdx.x == 0) {
        if (threadIdx.x == 0) {
            REPLACE_ADDRESS(&in_global[0], memory + 4000);  // expect of_another_block: stale tensor map
            FENCE_MAP_RELEASE();                            // perhaps of_another_block: stale tensor map
            __threadfence();
            atomicExch(flag, -1);
        }
        return;
    }
    if (threadIdx.x == 0) {
        while (atomicAdd(flag, 0) != -1)
            ;
        __threadfence();
    }
    __syncthreads();
    memory += 128;
    LOAD(&in_global[0]);  // expect of_another_block: stale tensor map
}

__global__ void stored_by_a_changed_map(MAP map, float *memory)
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    for (int k = threadIdx.x; k < TILE; k += blockDim.x)
        tile[k / WIDTH][k % WIDTH] = k;
    if (threadIdx.x == 0)
        asm volatile("tensormap.replace.tile.global_dim.global.b1024.b32 [%0], 1, %1;" ::"l"(__cvta_generic_to_global(&in_global[0])), "r"(7) : "memory");  // expect stored_by_a_changed_map: stale tensor map
    FENCE_ASYNC();
    __syncthreads();
    if (threadIdx.x == 0) {
        TMA_STORE_2D(&in_global[0], 0, 0, tile);  // expect stored_by_a_changed_map: stale tensor map
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void unordered(MAP map, float *memory)  // changed by one warp, used by the other, and no barrier between
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 32) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        TMA_LOAD_2D(tile, &in_global[0], 0, 0, &bar);  // perhaps unordered: race in global memory
    }
    if (threadIdx.x == 0)
        in_global[0] = map;  // perhaps unordered: race in global memory
    MBARRIER_WAIT(&bar, 0);
}

// ---- fields that do not fit ----

__global__ void box_of_nothing(MAP map, float *memory)
{
    if (threadIdx.x == 0)
        asm volatile("tensormap.replace.tile.box_dim.global.b1024.b32 [%0], 0, %1;" ::"l"(__cvta_generic_to_global(&in_global[0])), "r"(0) : "memory");  // perhaps box_of_nothing: invalid tensor map
    FENCE_MAP_RELEASE();
    __syncthreads();
    FENCE_MAP_ACQUIRE(&in_global[0]);
    LOAD(&in_global[0]);  // perhaps box_of_nothing: invalid tensor map
}

__global__ void box_of_257(MAP map, float *memory)
{
    if (threadIdx.x == 0)
        asm volatile("tensormap.replace.tile.box_dim.global.b1024.b32 [%0], 1, %1;" ::"l"(__cvta_generic_to_global(&in_global[0])), "r"(257) : "memory");  // perhaps box_of_257: invalid tensor map
    FENCE_MAP_RELEASE();
    __syncthreads();
    FENCE_MAP_ACQUIRE(&in_global[0]);
    LOAD(&in_global[0]);  // perhaps box_of_257: invalid tensor map
}

__global__ void address_of_eight(MAP map, float *memory)  // a tensor begins at a multiple of 16 bytes
{
    if (threadIdx.x == 0)
        REPLACE_ADDRESS(&in_global[0], memory + 2);  // perhaps address_of_eight: invalid tensor map
    FENCE_MAP_RELEASE();
    __syncthreads();
    FENCE_MAP_ACQUIRE(&in_global[0]);
    LOAD(&in_global[0]);  // perhaps address_of_eight: invalid tensor map
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    static float numbers[8000];
    for (int i = 0; i < 8000; i++)
        numbers[i] = i;
    float *memory;
    cudaMalloc(&memory, sizeof numbers);
    if (strcmp(name, "never_written") != 0)
        cudaMemcpy(memory, numbers, sizeof numbers, cudaMemcpyHostToDevice);
    CUtensorMap good = matrix_map(memory + 4000, 100, 40, WIDTH, HEIGHT), map = good;
    cudaMemcpyToSymbol(in_global, &good, sizeof good);
    cudaMemcpyToSymbol(in_constant, &good, 64);
    if (strcmp(name, "all_zeros") == 0 || strcmp(name, "stored_by_no_map") == 0) {
        memset(&map, 0, sizeof map);
    } else if (strcmp(name, "refused_by_the_driver") == 0) {
        memset(&map, 0, sizeof map);
        (void)encode(&map, memory, {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, 2, {101, 40}, {}, {WIDTH, HEIGHT}});
    } else if (strcmp(name, "freed") == 0) {
        float *other;
        cudaMalloc(&other, 16000);
        cudaMemset(other, 0, 16000);
        map = matrix_map(other, 100, 40, WIDTH, HEIGHT);
        cudaFree(other);
    } else if (strcmp(name, "larger_than_its_memory") == 0) {
        map = matrix_map(memory + 4000, 100, 60, WIDTH, HEIGHT);
    } else if (strcmp(name, "rows_too_long") == 0) {
        map = tensor_map(memory + 4000, {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, 2, {100, 40}, {416}, {WIDTH, HEIGHT}});
    } else if (strcmp(name, "of_the_host") == 0) {
        map = matrix_map((float *)(((uintptr_t)numbers + 15) / 16 * 16), 100, 40, WIDTH, HEIGHT);
    }
    struct {
        const char *name;
        void (*kernel)(CUtensorMap, float *);
    } kernels[] = {
#define KERNEL(NAME) {#NAME, NAME}
        KERNEL(all_zeros),
        KERNEL(refused_by_the_driver),
        KERNEL(never_copied),
        KERNEL(half_copied),
        KERNEL(the_tensor_itself),
        KERNEL(stored_by_no_map),
        KERNEL(in_shared_memory),
        KERNEL(on_the_stack),
        KERNEL(by_value),
        KERNEL(at_32_bytes),
        KERNEL(freed),
        KERNEL(larger_than_its_memory),
        KERNEL(rows_too_long),
        KERNEL(of_the_host),
        KERNEL(never_written),
        KERNEL(replaced),
        KERNEL(copied_by_stores),
        KERNEL(assigned),
        KERNEL(fence_of_the_async_proxy),
        KERNEL(released_only),
        KERNEL(another_map_acquired),
        KERNEL(acquired_by_a_bystander),
        KERNEL(changed_again),
        KERNEL(of_another_block),
        KERNEL(stored_by_a_changed_map),
        KERNEL(unordered),
        KERNEL(box_of_nothing),
        KERNEL(box_of_257),
        KERNEL(address_of_eight),
    };
    for (auto k : kernels)
        if (strcmp(name, k.name) == 0)
            k.kernel<<<strcmp(name, "of_another_block") == 0 ? 2 : 1, 64>>>(map, memory);
    three_maps maps = {};
    maps.map[0] = maps.map[1] = good;
    if (strcmp(name, "one_map_too_far") == 0)
        one_map_too_far<<<1, 64>>>(map, memory, maps);
    return cudaDeviceSynchronize();
}
