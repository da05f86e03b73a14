/* libcu++'s names for the scopes of the memory model. */
#ifndef SIMT_THREAD_SCOPE_H
#define SIMT_THREAD_SCOPE_H

namespace cuda
{

enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };

}  // namespace cuda
#endif
