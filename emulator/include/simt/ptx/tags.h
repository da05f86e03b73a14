/* What the arguments of cuda::ptx's functions say instead of an instruction's modifiers (libcu++, "PTX"). */
#ifndef SIMT_PTX_TAGS_H
#define SIMT_PTX_TAGS_H

#include <stdint.h>
#include <type_traits>
#include "instruction.h"

namespace cuda
{
namespace ptx
{

enum class dot_sem { acq_rel, acquire, relaxed, release, sc, weak };
enum class dot_space { global, cluster, shared };
enum class dot_scope { cta, cluster, gpu, sys };
enum class dot_op { add, dec, inc, max, min, and_op, or_op, xor_op, cas, exch };

template <dot_sem S> using sem_t = ::std::integral_constant<dot_sem, S>;
template <dot_space S> using space_t = ::std::integral_constant<dot_space, S>;
template <dot_scope S> using scope_t = ::std::integral_constant<dot_scope, S>;
template <dot_op O> using op_t = ::std::integral_constant<dot_op, O>;
template <int N> using n32_t = ::std::integral_constant<int, N>;

#define SIMT_TAG(KIND, NAME) \
    using KIND##_##NAME##_t = KIND##_t<dot_##KIND::NAME>; \
    static constexpr KIND##_##NAME##_t KIND##_##NAME{};
SIMT_TAG(sem, acq_rel)
SIMT_TAG(sem, acquire)
SIMT_TAG(sem, relaxed)
SIMT_TAG(sem, release)
SIMT_TAG(sem, sc)
SIMT_TAG(sem, weak)
SIMT_TAG(space, global)
SIMT_TAG(space, cluster)
SIMT_TAG(space, shared)
SIMT_TAG(scope, cta)
SIMT_TAG(scope, cluster)
SIMT_TAG(scope, gpu)
SIMT_TAG(scope, sys)
SIMT_TAG(op, add)
SIMT_TAG(op, dec)
SIMT_TAG(op, inc)
SIMT_TAG(op, max)
SIMT_TAG(op, min)
SIMT_TAG(op, and_op)
SIMT_TAG(op, or_op)
SIMT_TAG(op, xor_op)
SIMT_TAG(op, cas)
SIMT_TAG(op, exch)
#undef SIMT_TAG

/* An address of shared memory as PTX has it. */
SIMT_INLINE unsigned in_shared(const void *address) { return simt_shared_address(address); }

}  // namespace ptx
}  // namespace cuda
#endif
