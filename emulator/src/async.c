#include "async.h"
#include "report.h"

static void unsupported(const void *pc) { report_call("unsupported", pc, "copies asynchronously", ""); }

void async_copy(void *to, const void *from, unsigned bytes, unsigned source_bytes, const void *pc)
{
    (void)to, (void)from, (void)bytes, (void)source_bytes;
    unsupported(pc);
}
void async_commit(const void *pc) { unsupported(pc); }
void async_wait(unsigned groups_left, const void *pc)
{
    (void)groups_left;
    unsupported(pc);
}
void async_wait_all(const void *pc) { unsupported(pc); }
void mbarrier_init(void *barrier, unsigned expected, const void *pc)
{
    (void)barrier, (void)expected;
    unsupported(pc);
}
void mbarrier_invalidate(void *barrier, const void *pc)
{
    (void)barrier;
    unsupported(pc);
}
u64 mbarrier_arrive(void *barrier, unsigned count, bool drop, const void *pc)
{
    (void)barrier, (void)count, (void)drop;
    unsupported(pc);
    return 0;
}
u64 mbarrier_arrive_no_complete(void *barrier, unsigned count, const void *pc)
{
    (void)barrier, (void)count;
    unsupported(pc);
    return 0;
}
bool mbarrier_test(void *barrier, u64 token, const void *pc)
{
    (void)barrier, (void)token;
    unsupported(pc);
    return false;
}
bool mbarrier_test_parity(void *barrier, unsigned parity, const void *pc)
{
    (void)barrier, (void)parity;
    unsupported(pc);
    return false;
}
void mbarrier_wait(void *barrier, u64 token, const void *pc)
{
    (void)barrier, (void)token;
    unsupported(pc);
}
void mbarrier_wait_parity(void *barrier, unsigned parity, const void *pc)
{
    (void)barrier, (void)parity;
    unsupported(pc);
}
unsigned mbarrier_pending(u64 token)
{
    (void)token;
    return 0;
}
void async_arrive(void *barrier, bool noinc, const void *pc)
{
    (void)barrier, (void)noinc;
    unsupported(pc);
}
