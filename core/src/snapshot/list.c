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

#define KEY_AHEAD 8u /* leaves whose look-ups wait for memory together */

static void key_touch(const grb_snapshot *s, uint32_t i, const grb_key *key) {
    const grb_segment *segment = s->list->leaves[i].segment;
    if (segment->ops->key_touch) segment->ops->key_touch(segment, key);
}

grebe_status grb_snapshot_key_newest(const grb_snapshot *s, uint32_t i,
                                     const grb_key *key, uint32_t *doc,
                                     grebe_error *err) {
    grb_leaf leaf;
    if (i + 1 == grb_snapshot_leaf_count(s))
        for (uint32_t n = 1; n < KEY_AHEAD && n <= i; n++)
            key_touch(s, i - n, key);
    if (i >= KEY_AHEAD) key_touch(s, i - KEY_AHEAD, key);
    grb_snapshot_leaf(s, i, &leaf);
    return leaf.segment->ops->key_newest(leaf.segment, &leaf.bounds, key, doc,
                                         err);
}

grebe_status grb_snapshot_key(const grb_snapshot *s, const grb_key *key,
                              uint32_t *leaf, uint32_t *doc,
                              grebe_error *err) {
    grebe_status status = GREBE_OK;
    *doc = GRB_NO_DOC;
    for (*leaf = grb_snapshot_leaf_count(s);
         *doc == GRB_NO_DOC && *leaf > 0;) {
        const grb_leaf *at = &s->list->leaves[--*leaf];
        GRB_TRY(grb_snapshot_key_newest(s, *leaf, key, doc, err));
        while (*doc != GRB_NO_DOC && at->view &&
               grb_view_dead(at->view, *doc, s->epoch))
            GRB_TRY(at->segment->ops->key_older(at->segment, *doc, doc, err));
    }
done:
    return status;
}
