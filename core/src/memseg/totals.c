/* memseg/totals.c - the growing segment's side of shared field totals.
 *
 * A soft commit only counts one more reference. The first append after it
 * that changes a page copies that page, before anything is appended.
 *
 * Invariant: after reserving, the table and every page the document changes
 *   have one reference, the segment's.
 * Threads: the writer.
 */
#include "memseg/parts.h"

static bool shared(_Atomic uint64_t *refs) {
    return atomic_load_explicit(refs, memory_order_acquire) > 1;
}

/* A table of the segment's own over the same pages. */
static bool table_renew(grb_memseg *s, uint32_t page_count) {
    grb_totals *old = s->totals;
    const grebe_allocator *a = s->core.allocator;
    size_t size = sizeof *old + page_count * sizeof old->pages[0];
    grb_totals *t = grb_alloc_zero(a, size);
    if (!t) return false;
    atomic_init(&t->refs, 1);
    t->allocator = a;
    t->page_count = page_count;
    for (uint32_t i = 0; old && i < old->page_count; i++) {
        t->pages[i] = old->pages[i];
        if (t->pages[i])
            atomic_fetch_add_explicit(&t->pages[i]->refs, 1,
                                      memory_order_relaxed);
    }
    grb_totals_release(old);
    s->totals = t;
    return true;
}

static bool page_renew(grb_memseg *s, uint32_t page) {
    grb_totals_page *old = s->totals->pages[page];
    grb_totals_page *p = grb_alloc(s->core.allocator, sizeof *p);
    if (!p) return false;
    if (old)
        memcpy(p->fields, old->fields, sizeof p->fields);
    else
        memset(p->fields, 0, sizeof p->fields);
    atomic_init(&p->refs, 1);
    s->totals->pages[page] = p;
    /* The old page is the older table's too; that one frees it. */
    if (old &&
        atomic_fetch_sub_explicit(&old->refs, 1, memory_order_acq_rel) == 1)
        grb_free(s->core.allocator, old, sizeof *old);
    return true;
}

bool grb_memseg_totals_reserve(grb_memseg *s, const grb_inverted *inv) {
    uint32_t most = s->totals ? s->totals->page_count : 0;
    for (uint32_t i = 0; i < inv->field_count; i++)
        most = GRB_MAX(most, inv->fields[i].field / GRB_TOTALS_PAGE + 1);
    if (most == 0) return true;
    if ((!s->totals || most > s->totals->page_count ||
         shared(&s->totals->refs)) &&
        !table_renew(s, most))
        return false;
    for (uint32_t i = 0; i < inv->field_count; i++) {
        uint32_t page = inv->fields[i].field / GRB_TOTALS_PAGE;
        grb_totals_page *p = s->totals->pages[page];
        if (inv->fields[i].counted && (!p || shared(&p->refs)) &&
            !page_renew(s, page))
            return false;
    }
    return true;
}
