/* thrust::device_vector: memory of the device with a size. It is filled, copied to and from the host, and handed to kernels
 * by its address; elements are read and written one by one by the host, as a copy each. Algorithms are not offered. */
#ifndef SIMT_THRUST_DEVICE_VECTOR_H
#define SIMT_THRUST_DEVICE_VECTOR_H

#include "host_vector.h"
#include <new>

namespace thrust
{

template <class T> class device_ptr
{
    T *at;

  public:
    explicit device_ptr(T *p = nullptr) : at(p) {}
    T *get() const { return at; }
    device_ptr operator+(ptrdiff_t n) const { return device_ptr(at + n); }
    device_ptr operator-(ptrdiff_t n) const { return device_ptr(at - n); }
    ptrdiff_t operator-(device_ptr other) const { return at - other.at; }
    device_ptr &operator++() { return *this = *this + 1; }
    bool operator==(device_ptr other) const { return at == other.at; }
    bool operator!=(device_ptr other) const { return at != other.at; }
};
template <class T> T *raw_pointer_cast(const device_ptr<T> &p) { return p.get(); }
template <class T> T *raw_pointer_cast(T *p) { return p; }

template <class T> class device_vector
{
    static_assert(std::is_trivially_copyable_v<T>, "the elements of a device_vector are copied as bytes here");
    T *memory = nullptr;
    size_t count = 0;

    struct element {
        T *at;
        operator T() const
        {
            T value;
            cudaMemcpy((void *)&value, at, sizeof value, cudaMemcpyDeviceToHost);
            return value;
        }
        element &operator=(const T &value)
        {
            cudaMemcpy((void *)at, &value, sizeof value, cudaMemcpyHostToDevice);
            return *this;
        }
        element &operator=(const element &other) { return *this = (T)other; }
    };
    void allocate(size_t n)
    {
        if (n == count)
            return;
        cudaFree((void *)memory);
        memory = nullptr;
        count = n;
        if (n && cudaMalloc(&memory, n * sizeof(T)) != cudaSuccess)
            throw std::bad_alloc();
    }
    void from(const void *source, cudaMemcpyKind kind)
    {
        if (count)
            cudaMemcpy((void *)memory, source, count * sizeof(T), kind);
    }

  public:
    using value_type = T;
    device_vector() = default;
    explicit device_vector(size_t n, const T &value = T()) : device_vector(std::vector<T>(n, value)) {}
    device_vector(const std::vector<T> &host) { *this = host; }
    device_vector(const device_vector &other) { *this = other; }
    ~device_vector() { cudaFree((void *)memory); }
    device_vector &operator=(const std::vector<T> &host)
    {
        allocate(host.size());
        from(host.data(), cudaMemcpyHostToDevice);
        return *this;
    }
    device_vector &operator=(const device_vector &other)
    {
        allocate(other.count);
        from(other.memory, cudaMemcpyDeviceToDevice);
        return *this;
    }
    void to_host(T *host) const
    {
        if (count)
            cudaMemcpy((void *)host, memory, count * sizeof(T), cudaMemcpyDeviceToHost);
    }
    size_t size() const { return count; }
    bool empty() const { return count == 0; }
    void resize(size_t n, const T &value = T())
    {
        host_vector<T> all(*this);
        all.resize(n, value);
        *this = all;
    }
    device_ptr<T> data() { return device_ptr<T>(memory); }
    device_ptr<const T> data() const { return device_ptr<const T>(memory); }
    device_ptr<T> begin() { return data(); }
    device_ptr<T> end() { return data() + count; }
    device_ptr<const T> begin() const { return data(); }
    device_ptr<const T> end() const { return data() + count; }
    element operator[](size_t i) { return {memory + i}; }
    T operator[](size_t i) const { return element{memory + i}; }
};

/* Between device and device, device and host, host and device; a host's elements lie side by side. */
template <class T, class U> device_ptr<U> copy(device_ptr<T> first, device_ptr<T> last, device_ptr<U> to)
{
    static_assert(std::is_same_v<std::remove_const_t<T>, U>, "thrust::copy converts no elements here");
    cudaMemcpy((void *)to.get(), first.get(), (last - first) * sizeof(U), cudaMemcpyDeviceToDevice);
    return to + (last - first);
}
template <class T, class Host> Host copy(device_ptr<T> first, device_ptr<T> last, Host to)
{
    static_assert(std::is_same_v<std::remove_const_t<T>, std::decay_t<decltype(*to)>>,
                  "thrust::copy converts no elements here");
    if (last != first)
        cudaMemcpy((void *)&*to, first.get(), (last - first) * sizeof(T), cudaMemcpyDeviceToHost);
    return to + (last - first);
}
template <class Host, class T> device_ptr<T> copy(Host first, Host last, device_ptr<T> to)
{
    static_assert(std::is_same_v<T, std::decay_t<decltype(*first)>>, "thrust::copy converts no elements here");
    if (last != first)
        cudaMemcpy((void *)to.get(), &*first, (last - first) * sizeof(T), cudaMemcpyHostToDevice);
    return to + (last - first);
}

}  // namespace thrust
#endif
