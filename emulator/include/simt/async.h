/* Asynchronous copies and mbarriers, as the C++ headers over them ask the runtime for them (src/async/cp_async.h, mbarrier.h). */
#ifndef SIMT_INCLUDE_ASYNC_H
#define SIMT_INCLUDE_ASYNC_H

#include "runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

SIMT_NOMERGE void simt_async_copy(void *to, const void *from, unsigned bytes, unsigned source_bytes);
SIMT_NOMERGE void simt_async_commit(void);
SIMT_NOMERGE void simt_async_wait(unsigned groups_left);
SIMT_NOMERGE void simt_async_wait_all(void);
SIMT_NOMERGE void simt_async_arrive(void *barrier, bool noinc);
/* Could cp.async copy that: from global to shared memory, both addresses a multiple of 4? */
bool simt_async_may(const void *to, const void *from);

SIMT_NOMERGE void simt_mbarrier_init(void *barrier, unsigned expected);
SIMT_NOMERGE void simt_mbarrier_invalidate(void *barrier);
SIMT_NOMERGE unsigned long long simt_mbarrier_arrive(void *barrier, unsigned count, bool drop);
/* Would that arrival of the running thread end the phase? Then what the others did before theirs has happened before. */
SIMT_NOMERGE bool simt_mbarrier_is_last(void *barrier, unsigned count);
SIMT_NOMERGE bool simt_mbarrier_test(void *barrier, unsigned long long token);
SIMT_NOMERGE bool simt_mbarrier_test_parity(void *barrier, unsigned parity);
SIMT_NOMERGE void simt_mbarrier_wait(void *barrier, unsigned long long token);
SIMT_NOMERGE void simt_mbarrier_wait_parity(void *barrier, unsigned parity);
unsigned simt_mbarrier_pending(unsigned long long token);

#ifdef __cplusplus
}
#endif
#endif
