/* The pipeline primitives: cp.async and its groups, of the running thread. */
#ifndef _CUDA_PIPELINE_PRIMITIVES_H_
#define _CUDA_PIPELINE_PRIMITIVES_H_

#include "cuda_awbarrier_primitives.h"
#include "simt/async.h"

/* Of `bytes` bytes the last `zfill` become zeros, and are not read. */
SIMT_INLINE void __pipeline_memcpy_async(void *to, const void *from, size_t bytes, size_t zfill = 0)
{
    simt_async_copy(to, from, (unsigned)bytes, (unsigned)(bytes - zfill));
}
SIMT_INLINE void __pipeline_commit() { simt_async_commit(); }
/* At most 8, as the instruction of nvcc's header has it. */
SIMT_INLINE void __pipeline_wait_prior(size_t prior) { simt_async_wait(prior < 8 ? (unsigned)prior : 8); }
SIMT_INLINE void __pipeline_arrive_on(__mbarrier_t *barrier) { simt_async_arrive(barrier, false); }

#endif
