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
SIMT_INLINE cudaError_t cudaMemcpyToSymbol(T &symbol, const void *from, size_t bytes, size_t offset = 0,
                                           cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    return cudaMemcpy((char *)&symbol + offset, from, bytes, kind);
}
template <class T>
SIMT_INLINE cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                             cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    return cudaMemcpy(to, (const char *)&symbol + offset, bytes, kind);
}
template <class T> SIMT_INLINE cudaError_t cudaGetSymbolAddress(void **address, const T &symbol)
{
    return *address = (void *)&symbol, cudaSuccess;
}
template <class T>
SIMT_INLINE cudaError_t cudaMemcpyToSymbolAsync(T &symbol, const void *from, size_t bytes, size_t offset = 0,
                                                cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t = 0)
{
    return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}
template <class T> SIMT_INLINE cudaError_t cudaGetSymbolSize(size_t *bytes, const T &) { return *bytes = sizeof(T), cudaSuccess; }
SIMT_INLINE cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned flags) { return cudaEventCreateWithFlags(event, flags); }
template <class K> SIMT_INLINE cudaError_t cudaFuncSetAttribute(K, cudaFuncAttribute, int) { return cudaSuccess; }
template <class K> SIMT_INLINE cudaError_t cudaFuncSetCacheConfig(K, cudaFuncCache) { return cudaSuccess; }
template <class K> SIMT_INLINE cudaError_t cudaFuncSetSharedMemConfig(K, cudaSharedMemConfig) { return cudaSuccess; }
template <class K>
SIMT_INLINE cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, K, int threads, size_t dynamic_shared)
{
    return simt_occupancy(blocks, threads, dynamic_shared);
}
template <class K>
SIMT_INLINE cudaError_t cudaOccupancyMaxPotentialBlockSize(int *blocks, int *threads, K, size_t dynamic_shared = 0, int limit = 0)
{
    *threads = limit > 0 && limit < 1024 ? limit : 1024;
    return simt_occupancy(blocks, *threads, dynamic_shared);
}

#endif
