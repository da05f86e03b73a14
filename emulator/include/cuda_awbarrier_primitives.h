/* The arrive-wait barrier primitives (CUDA C++ Programming Guide, "Memory Barrier Primitives Interface"). */
#ifndef _CUDA_AWBARRIER_PRIMITIVES_H_
#define _CUDA_AWBARRIER_PRIMITIVES_H_

#include "simt/async.h"

typedef uint64_t __mbarrier_t;
typedef uint64_t __mbarrier_token_t;

SIMT_INLINE uint32_t __mbarrier_maximum_count() { return (1u << 20) - 1; }
SIMT_INLINE void __mbarrier_init(__mbarrier_t *barrier, uint32_t expected) { simt_mbarrier_init(barrier, expected); }
SIMT_INLINE void __mbarrier_inval(__mbarrier_t *barrier) { simt_mbarrier_invalidate(barrier); }
SIMT_INLINE __mbarrier_token_t __mbarrier_arrive(__mbarrier_t *barrier)
{
    return simt_mbarrier_arrive(barrier, 1, false);
}
SIMT_INLINE __mbarrier_token_t __mbarrier_arrive_and_drop(__mbarrier_t *barrier)
{
    return simt_mbarrier_arrive(barrier, 1, true);
}
SIMT_INLINE bool __mbarrier_test_wait(__mbarrier_t *barrier, __mbarrier_token_t token)
{
    return simt_mbarrier_test(barrier, token);
}
SIMT_INLINE bool __mbarrier_test_wait_parity(__mbarrier_t *barrier, bool parity)
{
    return simt_mbarrier_test_parity(barrier, parity);
}
/* Time is not kept here: any limit may be over. */
SIMT_INLINE bool __mbarrier_try_wait(__mbarrier_t *barrier, __mbarrier_token_t token, uint32_t)
{
    return simt_mbarrier_test(barrier, token);
}
SIMT_INLINE bool __mbarrier_try_wait_parity(__mbarrier_t *barrier, bool parity, uint32_t)
{
    return simt_mbarrier_test_parity(barrier, parity);
}
SIMT_INLINE uint32_t __mbarrier_token_pending_count(__mbarrier_token_t token) { return simt_mbarrier_pending(token); }

#endif
