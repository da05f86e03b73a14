/* Transfers in flight. */
#include "async/transfer.h"
#include "report/report.h"

void transfer_issue(const struct transfer *t) { report_unsupported_at(t->call, t->pc); }
void transfer_commit(const void *pc) { report_unsupported_at("bulk groups", pc); }
void transfer_wait(unsigned groups_left, bool read, const void *pc)
{
    (void)groups_left, (void)read;
    report_unsupported_at("bulk groups", pc);
}
