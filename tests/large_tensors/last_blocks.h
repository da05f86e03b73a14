// In front of a step's source (`-include`), for the emulator without its checks: of a launch with MANY blocks or more along
// a dimension only the last AT_END of them run, one or a cluster's, and they find themselves where they would be. So a kernel
// goes to the end of a tensor of 2^32 elements, and touches no more of it than a tile.
#ifndef LAST_BLOCKS_H
#define LAST_BLOCKS_H

#ifdef __cplusplus
#include <cuda_runtime.h>

static uint3 first_block, whole_grid;

// What is launched in the place of a grid; notes where its blocks find themselves.
static dim3 last_of(dim3 grid)
{
    const unsigned run[3] = {grid.x < MANY ? grid.x : AT_END, grid.y < MANY ? grid.y : AT_END,
                             grid.z < MANY ? grid.z : AT_END};
    if (grid.x > 0x7fffffff || grid.y > 0xffff || grid.z > 0xffff)
        abort();  // CUDA would refuse this grid
    whole_grid = {grid.x, grid.y, grid.z};
    first_block = {grid.x - run[0], grid.y - run[1], grid.z - run[2]};
    return dim3(run[0], run[1], run[2]);
}

namespace simt
{
// Preferred to the template of the same name.
inline void configure(const char *text, const char *file, int line, dim3 grid, dim3 block, size_t shared = 0,
                      cudaStream_t stream = 0)
{
    configure<>(text, file, line, last_of(grid), block, shared, stream);
}
}  // namespace simt

template <class K, class... Arguments>
cudaError_t launch_last_blocks(const cudaLaunchConfig_t *asked, K *kernel, const Arguments &...arguments)
{
    cudaLaunchConfig_t config = *asked;
    config.gridDim = last_of(config.gridDim);
    return cudaLaunchKernelEx(&config, kernel, arguments...);
}
#define cudaLaunchKernelEx launch_last_blocks

// `(wide<N>)` stands for the Nth `(size_t)` of a source: an integer of 64 bits, unless NARROW_CAST is `int:N` or
// `unsigned:N`. Then it, and what is computed with it, is one of 32 bits, as if the cast were not there.
template <int number> struct wide {
    size_t value;

    template <class T> wide(T from) : value((size_t)from)
    {
        static const char *const planted = getenv("NARROW_CAST");
        static const bool cut = planted && atoi(strchr(planted, ':') + 1) == number;
        if (cut)
            value = *planted == 'i' ? (size_t)(int)value : (unsigned)value;
    }
    operator size_t() const { return value; }
    wide operator-() const { return -value; }
};
template <int number> wide<number> operator*(wide<number> a, size_t b) { return a.value * b; }
template <int number> wide<number> operator*(size_t a, wide<number> b) { return a * b.value; }
template <int number> wide<number> operator+(wide<number> a, size_t b) { return a.value + b; }

#undef blockIdx
#define blockIdx \
    (uint3{first_block.x + simt_block_idx(0), first_block.y + simt_block_idx(1), first_block.z + simt_block_idx(2)})
#define gridDim whole_grid
#endif
#endif
