/* cuda::ptx: special registers. */
#ifndef SIMT_PTX_REGISTERS_H
#define SIMT_PTX_REGISTERS_H

#include "tags.h"

namespace cuda
{
namespace ptx
{

#define SIMT_REGISTER(NAME, REGISTER) \
    SIMT_INLINE uint32_t get_sreg_##NAME() { return SIMT_PTX_FOR(uint32_t, "mov.u32 %0, %%" REGISTER ";"); }
#define SIMT_WIDE_REGISTER(NAME) \
    SIMT_INLINE uint64_t get_sreg_##NAME() { return SIMT_PTX_FOR(uint64_t, "mov.u64 %0, %%" #NAME ";"); }
#define SIMT_REGISTERS_OF(NAME) \
    SIMT_REGISTER(NAME##_x, #NAME ".x") SIMT_REGISTER(NAME##_y, #NAME ".y") SIMT_REGISTER(NAME##_z, #NAME ".z")
#define SIMT_PLAIN_REGISTER(NAME) SIMT_REGISTER(NAME, #NAME)
SIMT_REGISTERS_OF(tid)
SIMT_REGISTERS_OF(ntid)
SIMT_REGISTERS_OF(ctaid)
SIMT_REGISTERS_OF(nctaid)
SIMT_REGISTERS_OF(clusterid)
SIMT_REGISTERS_OF(nclusterid)
SIMT_REGISTERS_OF(cluster_ctaid)
SIMT_REGISTERS_OF(cluster_nctaid)
SIMT_PLAIN_REGISTER(cluster_ctarank)
SIMT_PLAIN_REGISTER(cluster_nctarank)
SIMT_PLAIN_REGISTER(laneid)
SIMT_PLAIN_REGISTER(warpid)
SIMT_PLAIN_REGISTER(nwarpid)
SIMT_PLAIN_REGISTER(smid)
SIMT_PLAIN_REGISTER(nsmid)
SIMT_PLAIN_REGISTER(lanemask_eq)
SIMT_PLAIN_REGISTER(lanemask_le)
SIMT_PLAIN_REGISTER(lanemask_lt)
SIMT_PLAIN_REGISTER(lanemask_ge)
SIMT_PLAIN_REGISTER(lanemask_gt)
SIMT_PLAIN_REGISTER(clock)
SIMT_PLAIN_REGISTER(clock_hi)
SIMT_PLAIN_REGISTER(globaltimer_lo)
SIMT_PLAIN_REGISTER(globaltimer_hi)
SIMT_PLAIN_REGISTER(dynamic_smem_size)
SIMT_WIDE_REGISTER(gridid)
SIMT_WIDE_REGISTER(clock64)
SIMT_WIDE_REGISTER(globaltimer)
#undef SIMT_REGISTER
#undef SIMT_WIDE_REGISTER
#undef SIMT_REGISTERS_OF
#undef SIMT_PLAIN_REGISTER

/* Predicates. */
SIMT_INLINE bool get_sreg_is_explicit_cluster() { return SIMT_PTX_ASKS("mov.pred p, %%is_explicit_cluster;"); }

}  // namespace ptx
}  // namespace cuda
#endif
