/* thrust::host_vector: the host's own vector. It is made from a device_vector, too, whose header knows how. */
#ifndef SIMT_THRUST_HOST_VECTOR_H
#define SIMT_THRUST_HOST_VECTOR_H

#include "../cuda_runtime.h"
#include <vector>

namespace thrust
{

template <class T> class device_vector;

template <class T> class host_vector : public std::vector<T>
{
  public:
    using std::vector<T>::vector;
    host_vector() = default;
    host_vector(const std::vector<T> &other) : std::vector<T>(other) {}
    host_vector(const device_vector<T> &other) { *this = other; }
    host_vector &operator=(const device_vector<T> &other)
    {
        this->resize(other.size());
        other.to_host(this->data());
        return *this;
    }
};

}  // namespace thrust
#endif
