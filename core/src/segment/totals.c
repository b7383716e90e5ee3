/* segment/totals.c - counted totals of fields, and ids of segments.
 *
 * A snapshot keeps the totals it was published with; pages are shared between
 * snapshots until the growing segment changes them.
 *
 * Invariant: a page or table with more than one reference is never written.
 * Threads: any.
 */
#include "segment/reader.h"

uint64_t grb_segment_id_next(void) {
    static _Atomic uint64_t last;
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

void grb_totals_acquire(const grb_totals *t) {
    if (t)
        atomic_fetch_add_explicit(&((grb_totals *)t)->refs, 1,
                                  memory_order_relaxed);
}

void grb_totals_release(const grb_totals *shared) {
    grb_totals *t = (grb_totals *)shared;
    if (!t ||
        atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1)
        return;
    const grebe_allocator *a = t->allocator;
    for (uint32_t i = 0; i < t->page_count; i++) {
        grb_totals_page *page = t->pages[i];
        if (page && atomic_fetch_sub_explicit(&page->refs, 1,
                                              memory_order_acq_rel) == 1)
            grb_free(a, page, sizeof *page);
    }
    grb_free(a, t, sizeof *t + t->page_count * sizeof t->pages[0]);
}
