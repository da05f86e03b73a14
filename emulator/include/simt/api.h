/* The parts of the runtime API that are C++: templates over pointers and kernels. */
#ifndef SIMT_API_H
#define SIMT_API_H

template <class T> SIMT_INLINE cudaError_t cudaMalloc(T **p, size_t bytes) { return cudaMalloc((void **)p, bytes); }
template <class T> SIMT_INLINE cudaError_t cudaMallocAsync(T **p, size_t bytes, cudaStream_t stream)
{
    return cudaMallocAsync((void **)p, bytes, stream);
}
template <class T> SIMT_INLINE cudaError_t cudaMallocPitch(T **p, size_t *pitch, size_t width, size_t height)
{
    return cudaMallocPitch((void **)p, pitch, width, height);
}
template <class T> SIMT_INLINE cudaError_t cudaMallocHost(T **p, size_t bytes, unsigned = 0)
{
    return cudaMallocHost((void **)p, bytes);
}
template <class T> SIMT_INLINE cudaError_t cudaHostAlloc(T **p, size_t bytes, unsigned flags)
{
    return cudaHostAlloc((void **)p, bytes, flags);
}
template <class T> SIMT_INLINE cudaError_t cudaMallocManaged(T **p, size_t bytes, unsigned flags = cudaMemAttachGlobal)
{
    return cudaMallocManaged((void **)p, bytes, flags);
}
template <class T> SIMT_INLINE cudaError_t cudaHostGetDevicePointer(T **device, void *host, unsigned flags)
{
    return cudaHostGetDevicePointer((void **)device, host, flags);
}
template <class T>
SIMT_INLINE cudaError_t cudaMallocFromPoolAsync(T **p, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    return cudaMallocFromPoolAsync((void **)p, bytes, pool, stream);
}
template <class T>
SIMT_INLINE cudaError_t cudaMallocAsync(T **p, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    return cudaMallocFromPoolAsync((void **)p, bytes, pool, stream);
}
/* As CUDA 13 has them. */
SIMT_INLINE cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t bytes, cudaMemLocation to, unsigned,
                                             cudaStream_t stream = 0)
{
    return cudaMemPrefetchAsync(pointer, bytes, to.type == cudaMemLocationTypeDevice ? to.id : cudaCpuDeviceId, stream);
}
SIMT_INLINE cudaError_t cudaMemAdvise(const void *pointer, size_t bytes, cudaMemoryAdvise advice, cudaMemLocation to)
{
    return cudaMemAdvise(pointer, bytes, advice, to.type == cudaMemLocationTypeDevice ? to.id : cudaCpuDeviceId);
}
template <class T>
SIMT_INLINE cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, T *pointer, size_t bytes = 0,
                                                 unsigned flags = cudaMemAttachSingle)
{
    return cudaStreamAttachMemAsync(stream, (void *)pointer, bytes, flags);
}
/* The address of a variable, whatever operator& its type may have. */
template <class T> SIMT_INLINE void *simt_address(const T &symbol) { return (void *)__builtin_addressof(symbol); }
template <class T>
SIMT_INLINE cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *from, size_t bytes, size_t offset = 0,
                                                cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t stream = 0)
{
    return simt_copy_to_symbol(simt_address(symbol), from, bytes, offset, kind, stream);
}
template <class T>
SIMT_INLINE cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *from, size_t bytes, size_t offset = 0,
                                           cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    return simt_copy_waits(simt_copy_to_symbol(simt_address(symbol), from, bytes, offset, kind, 0), kind);
}
template <class T>
SIMT_INLINE cudaError_t cudaMemcpyFromSymbolAsync(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                                  cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t stream = 0)
{
    return simt_copy_from_symbol(to, simt_address(symbol), bytes, offset, kind, stream);
}
template <class T>
SIMT_INLINE cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                             cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    return simt_copy_waits(simt_copy_from_symbol(to, simt_address(symbol), bytes, offset, kind, 0), kind);
}
template <class T> SIMT_INLINE cudaError_t cudaGetSymbolAddress(void **address, const T &symbol)
{
    return simt_symbol_address(address, simt_address(symbol));
}
template <class T> SIMT_INLINE cudaError_t cudaGetSymbolSize(size_t *bytes, const T &)
{
    return *bytes = sizeof(T), cudaSuccess;
}
SIMT_INLINE cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned flags)
{
    return cudaEventCreateWithFlags(event, flags);
}
template <class K> SIMT_INLINE cudaError_t cudaFuncSetAttribute(K kernel, cudaFuncAttribute attribute, int value)
{
    return simt_set_attribute((const void *)kernel, attribute, value);
}
template <class K> SIMT_INLINE cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, K kernel)
{
    return simt_get_attributes(attributes, (const void *)kernel);
}
template <class K> SIMT_INLINE cudaError_t cudaFuncSetCacheConfig(K, cudaFuncCache) { return cudaSuccess; }
template <class K> SIMT_INLINE cudaError_t cudaFuncSetSharedMemConfig(K, cudaSharedMemConfig) { return cudaSuccess; }
template <class K>
SIMT_INLINE cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, K kernel, int threads,
                                                                      size_t dynamic_shared)
{
    return simt_occupancy(blocks, threads, dynamic_shared, (const void *)kernel);
}
template <class K>
SIMT_INLINE cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, K kernel, int threads,
                                                                               size_t dynamic_shared, unsigned)
{
    return simt_occupancy(blocks, threads, dynamic_shared, (const void *)kernel);
}
template <class K>
SIMT_INLINE cudaError_t cudaOccupancyMaxPotentialBlockSize(int *min_grid, int *threads, K kernel,
                                                           size_t dynamic_shared = 0, int limit = 0)
{
    return simt_best_block(min_grid, threads, (const void *)kernel, dynamic_shared, limit);
}
template <class K>
SIMT_INLINE cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(int *min_grid, int *threads, K kernel,
                                                                    size_t dynamic_shared = 0, int limit = 0,
                                                                    unsigned = 0)
{
    return simt_best_block(min_grid, threads, (const void *)kernel, dynamic_shared, limit);
}
template <class K>
SIMT_INLINE cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, K kernel, int blocks, int threads)
{
    return simt_spare_shared(bytes, (const void *)kernel, blocks, threads);
}
template <class K>
SIMT_INLINE cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, K *kernel, const cudaLaunchConfig_t *config)
{
    return simt_active_clusters(clusters, (const void *)kernel, config);
}
template <class K>
SIMT_INLINE cudaError_t cudaOccupancyMaxPotentialClusterSize(int *blocks, K *kernel, const cudaLaunchConfig_t *config)
{
    return simt_largest_cluster(blocks, (const void *)kernel, config);
}

/* ---- launches ---- */

template <class K>
SIMT_INLINE cudaError_t cudaLaunchKernel(K *kernel, dim3 grid, dim3 block, void **arguments, size_t dynamic_shared = 0,
                                         cudaStream_t stream = 0)
{
    return cudaLaunchKernel((const void *)kernel, grid, block, arguments, dynamic_shared, stream);
}
template <class K>
SIMT_INLINE cudaError_t cudaLaunchCooperativeKernel(K *kernel, dim3 grid, dim3 block, void **arguments,
                                                    size_t dynamic_shared = 0, cudaStream_t stream = 0)
{
    return cudaLaunchCooperativeKernel((const void *)kernel, grid, block, arguments, dynamic_shared, stream);
}
/* The arguments are converted to the parameters' types first, as in any call. */
template <class... P, class... A>
SIMT_INLINE cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(P...), A &&...arguments)
{
    auto launch = [&](P... parameters) {
        void *addresses[] = {(void *)__builtin_addressof(parameters)..., nullptr};
        return cudaLaunchKernelExC(config, (const void *)kernel, addresses);
    };
    return launch(static_cast<A &&>(arguments)...);
}
#endif
