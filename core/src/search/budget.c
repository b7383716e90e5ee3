/* search/budget.c - when a search has to stop.
 *
 * Work is counted in postings, terms and documents by an inline addition; the
 * clock and the cancel flag are looked at here, once every 1,024 units.
 *
 * Invariant: `next_check` is the first amount of work at which there may be
 * something to find out; without a limit of any kind it is never reached.
 * Threads: one search, one budget; the cancel flag is set by any thread.
 * Owns: nothing.
 */
#include "search/search.h"

#define CHECK_EVERY 1024u

grebe_status grb_budget_check_now(grb_budget *b, grebe_error *err) {
    if (b->cancel && atomic_load_explicit(b->cancel, memory_order_relaxed))
        return grb_error(err, GREBE_CANCELLED, "the search was cancelled");
    if (b->work_max && b->work > b->work_max)
        return grb_error(err, GREBE_LIMIT,
                         "the search needs more work than its limit of %llu",
                         (unsigned long long)b->work_max);
    if (b->deadline_ns && grb_clock_ns() >= b->deadline_ns)
        return grb_error(err, GREBE_DEADLINE,
                         "the time given to the search has passed");
    b->next_check = UINT64_MAX;
    if (b->cancel || b->deadline_ns) b->next_check = b->work + CHECK_EVERY;
    if (b->work_max) b->next_check = GRB_MIN(b->next_check, b->work_max + 1);
    return GREBE_OK;
}
