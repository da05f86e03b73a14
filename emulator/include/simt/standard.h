/* libcu++'s cuda::std: what the host's standard library has of it runs in kernels here, too. The headers of cuda/std include
 * the host's and this one. */
#ifndef SIMT_STANDARD_H
#define SIMT_STANDARD_H

#include "../cuda_runtime.h"

namespace cuda
{
namespace std
{
using namespace ::std;
}
}  // namespace cuda

#endif
