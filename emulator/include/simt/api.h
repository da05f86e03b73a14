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
/* The address of a variable, whatever operator& its type may have. */
template <class T> SIMT_INLINE void *simt_address(const T &symbol) { return (void *)__builtin_addressof(symbol); }
template <class T>
SIMT_INLINE cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *from, size_t bytes, size_t offset = 0,
                                                cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t = 0)
{
    return simt_copy_to_symbol(simt_address(symbol), from, bytes, offset, kind);
}
template <class T>
SIMT_INLINE cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *from, size_t bytes, size_t offset = 0,
                                           cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    return simt_copy_waits(simt_copy_to_symbol(simt_address(symbol), from, bytes, offset, kind), kind);
}
template <class T>
SIMT_INLINE cudaError_t cudaMemcpyFromSymbolAsync(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                                  cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t = 0)
{
    return simt_copy_from_symbol(to, simt_address(symbol), bytes, offset, kind);
}
template <class T>
SIMT_INLINE cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                             cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    return simt_copy_waits(simt_copy_from_symbol(to, simt_address(symbol), bytes, offset, kind), kind);
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
SIMT_INLINE cudaError_t cudaOccupancyMaxPotentialBlockSize(int *blocks, int *threads, K kernel,
                                                           size_t dynamic_shared = 0, int limit = 0)
{
    *threads = limit > 0 && limit < 1024 ? limit : 1024;
    return simt_occupancy(blocks, *threads, dynamic_shared, (const void *)kernel);
}

#endif
