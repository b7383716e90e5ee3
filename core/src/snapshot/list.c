/* snapshot/list.c - lists of (segment, view), and look-ups by key in them.
 *
 * Invariant: file segments stand before memory segments, and leaves in the
 * order in which their documents were added.
 * Threads: immutable once shared. Owns: a reference to each segment, view and
 * totals.
 */
#include "snapshot/snapshot.h"

static size_t list_size(uint32_t count) {
    return sizeof(grb_list) + (size_t)count * sizeof(grb_leaf);
}

grb_list *grb_list_new(const grebe_allocator *a, uint32_t count) {
    grb_list *list = grb_alloc_zero(a, list_size(count));
    if (!list) return NULL;
    atomic_init(&list->refs, 1);
    list->allocator = a;
    list->count = count;
    return list;
}

grb_list *grb_list_acquire(grb_list *list) {
    atomic_fetch_add_explicit(&list->refs, 1, memory_order_relaxed);
    return list;
}

void grb_list_release(grb_list *list) {
    if (!list ||
        atomic_fetch_sub_explicit(&list->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (uint32_t i = 0; i < list->count; i++) {
        grb_view_release(list->leaves[i].view);
        grb_totals_release(list->leaves[i].bounds.totals);
        grb_segment_release(list->leaves[i].segment);
    }
    grb_free(list->allocator, list, list_size(list->count));
}

grebe_status grb_leaf_key(const grb_leaf *leaf, uint64_t epoch,
                          const grb_key *key, uint32_t *doc,
                          grebe_error *err) {
    grb_segment *s = leaf->segment;
    grebe_status status = s->ops->key_newest(s, &leaf->bounds, key, doc, err);
    while (status == GREBE_OK && *doc != GRB_NO_DOC && leaf->view &&
           grb_view_dead(leaf->view, *doc, epoch))
        status = s->ops->key_older(s, *doc, doc, err);
    return status;
}

grebe_status grb_snapshot_key(const grb_snapshot *s, const grb_key *key,
                              uint32_t *leaf, uint32_t *doc,
                              grebe_error *err) {
    *doc = GRB_NO_DOC;
    for (uint32_t i = grb_snapshot_leaf_count(s); i-- > 0;) {
        grb_leaf view;
        grb_snapshot_leaf(s, i, &view);
        grebe_status status = grb_leaf_key(&view, s->epoch, key, doc, err);
        if (status != GREBE_OK) return status;
        if (*doc == GRB_NO_DOC) continue;
        *leaf = i;
        return GREBE_OK;
    }
    return GREBE_OK;
}
