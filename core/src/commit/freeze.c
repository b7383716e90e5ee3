/* commit/freeze.c - memory segments become files, files become fewer: when,
 * and which.
 *
 * The live list changes at once (join.c), but nothing on disk names a new file
 * before the next hard commit; old snapshots keep the leaves that they have.
 *
 * Invariant: in the live list files stand before memory segments.
 * Threads: under the writer's mutex.
 */
#include "commit/join.h"
#include "commit/order.h"
#include "merge/policy.h"

#define PACK_DOCS 1024u /* smaller memory segments are packed together */

grebe_status grb_leaf_dead(grb_writer *w, const grb_leaf *leaf,
                           grb_bitmap **out, grebe_error *err) {
    uint32_t max_doc = leaf->bounds.max_doc;
    *out = NULL;
    if (!leaf->view || grb_view_dead_total(leaf->view) == 0) return GREBE_OK;
    *out = grb_view_flatten(leaf->view, w->epoch, max_doc);
    return *out ? GREBE_OK : grb_error_memory(err, max_doc / 8);
}

/* Replaces leaves [first, first + count) by one file, or by nothing where no
 * document is left. */
static grebe_status leaves_join(grb_writer *w, uint32_t first, uint32_t count,
                                bool drop, grebe_error *err) {
    grb_join *j;
    bool taken;
    grebe_status status = grb_join_begin(w, first, count, drop, &j, err);
    if (status != GREBE_OK) return status;
    status = grb_join_write(j, err);
    if (status == GREBE_OK) status = grb_join_end(j, &taken, err);
    grb_join_free(j);
    return status;
}

/* ---- freezing ---- */

static uint32_t memory_first(const grb_writer *w) {
    uint32_t first = w->list->count;
    while (first > 0 && !w->list->leaves[first - 1].segment->file_number)
        first--;
    return first;
}

/* A memory segment that was frozen alone before, with as many documents. */
static grebe_status twin_take(grb_writer *w, uint32_t i, bool *taken,
                              grebe_error *err) {
    const grb_leaf *old = &w->list->leaves[i];
    grb_segment *twin = old->segment->twin;
    grb_bitmap *dead;
    *taken = false;
    if (!w->durable || !twin ||
        old->segment->twin_max_doc != old->bounds.max_doc)
        return GREBE_OK;
    grebe_status status = grb_leaf_dead(w, old, &dead, err);
    if (status != GREBE_OK) return status;
    grb_leaf leaf = {.segment = twin};
    grb_segfile_bounds(twin, &leaf.bounds);
    leaf.view = grb_view_new(w->allocator, w->epoch, dead);
    grb_bitmap_release(dead);
    if (!leaf.view) return grb_error_memory(err, 64);
    grb_segment_acquire(twin);
    status = grb_writer_splice(w, i, 1, &leaf, 1, err);
    if (status != GREBE_OK) {
        grb_view_release(leaf.view);
        grb_segment_release(twin);
        return status;
    }
    w->checkpoint_due = true;
    *taken = true;
    return status;
}

/* A large pinned segment is frozen alone and remembers its file. */
static void twin_remember(grb_writer *w, grb_segment *memory, uint32_t max_doc,
                          uint32_t i) {
    if (!w->durable || !w->pins || i >= w->list->count) return;
    grb_segment *file = w->list->leaves[i].segment;
    if (!file->file_number || w->list->leaves[i].bounds.max_doc != max_doc)
        return;
    grb_segment_acquire(file);
    grb_segment_release(memory->twin);
    memory->twin = file;
    memory->twin_max_doc = max_doc;
}

/* Freezes the row of leaves that begins at `i`: a large one alone, small ones
 * packed. */
static grebe_status row_freeze(grb_writer *w, uint32_t i, grebe_error *err) {
    uint32_t count = 1;
    bool taken;
    grebe_status status = twin_take(w, i, &taken, err);
    if (status != GREBE_OK || taken) return status;
    const grb_leaf *leaves = w->list->leaves;
    uint32_t max_doc = leaves[i].bounds.max_doc;
    while (max_doc < PACK_DOCS && i + count < w->list->count &&
           leaves[i + count].bounds.max_doc < PACK_DOCS)
        count++;
    grb_segment *memory = leaves[i].segment;
    grb_segment_acquire(memory);
    status = leaves_join(w, i, count, false, err);
    if (status == GREBE_OK && count == 1) twin_remember(w, memory, max_doc, i);
    grb_segment_release(memory);
    return status;
}

static void freeze_count(grb_writer *w, uint64_t begun) {
    w->stats.freezes++;
    w->stats.freeze_ns += grb_clock_ns() - begun;
    w->freeze_at = w->options.memory_max;
    w->freeze_docs_at = w->options.docs_max;
}

grebe_status grb_writer_freeze(grb_writer *w, grebe_error *err) {
    grebe_status status;
    uint64_t begun = grb_clock_ns();
    GRB_TRY(grb_writer_seal(w, err));
    uint32_t first = memory_first(w), i = first;
    if (first == w->list->count) goto done;
    while (i < w->list->count) {
        GRB_TRY(row_freeze(w, i, err));
        /* A row without documents has left nothing in its place. */
        if (i < w->list->count && w->list->leaves[i].segment->file_number) i++;
    }
    freeze_count(w, begun);
done:
    grb_writer_recount(w);
    return status;
}

/* ---- merging ---- */

static void merge_count(grb_writer *w, uint64_t begun, grebe_status status) {
    w->stats.merges += status == GREBE_OK;
    w->stats.merge_ns += grb_clock_ns() - begun;
}

static grebe_status merge_run(grb_writer *w, uint32_t first, uint32_t count,
                              grebe_error *err) {
    uint64_t begun = grb_clock_ns();
    grebe_status status = leaves_join(w, first, count, true, err);
    merge_count(w, begun, status);
    return status;
}

static grebe_status merge_choose(grb_writer *w, uint32_t *first,
                                 uint32_t *joined, grebe_error *err) {
    uint32_t count = memory_first(w);
    grb_merge_candidate *c = grb_alloc(w->allocator, count * sizeof *c + 1);
    if (!c) return grb_error_memory(err, count * sizeof *c);
    for (uint32_t i = 0; i < count; i++) {
        const grb_leaf *leaf = &w->list->leaves[i];
        c[i].bytes = grb_segfile_size(leaf->segment);
        c[i].max_doc = leaf->bounds.max_doc;
        c[i].dead = grb_view_dead_total(leaf->view);
    }
    if (!grb_merge_choose(c, count, first, joined)) *joined = 0;
    grb_free(w->allocator, c, count * sizeof *c + 1);
    return GREBE_OK;
}

static grebe_status merges_due(grb_writer *w, grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint32_t first = 0, joined = 0;
    if (w->options.merging == GREBE_MERGE_MANUAL) return GREBE_OK;
    do {
        GRB_TRY(merge_choose(w, &first, &joined, err));
        if (joined) GRB_TRY(merge_run(w, first, joined, err));
    } while (joined);
done:
    return status;
}

/* A freeze or merge that failed has lost nothing: it is counted and tried
 * again when a quarter more has gathered. */
static grebe_status failure_count(grb_writer *w, uint64_t bytes, uint64_t docs,
                                  grebe_status failed) {
    w->stats.failures++;
    w->freeze_at = bytes + bytes / 4;
    w->freeze_docs_at = docs + docs / 4 + 1;
    if (bytes < 2 * w->options.memory_max) return GREBE_OK;
    return failed;
}

/* What memory segments hold. */
static void memory_count(const grb_writer *w, uint64_t *bytes,
                         uint64_t *docs) {
    grb_bounds bounds;
    *bytes = w->sealed_bytes;
    *docs = w->sealed_docs;
    if (!w->growing) return;
    grb_memseg_peek(w->growing, &bounds);
    *bytes += grb_memseg_bytes(w->growing);
    *docs += bounds.max_doc;
}

grebe_status grb_writer_maintain(grb_writer *w, grebe_error *err) {
    uint64_t bytes, docs;
    memory_count(w, &bytes, &docs);
    bool full = bytes >= w->freeze_at || docs >= w->freeze_docs_at ||
                (w->sealed_docs && w->list->count > GRB_MEMORY_LEAVES_MAX &&
                 w->freeze_docs_at == w->options.docs_max &&
                 w->list->count - memory_first(w) > GRB_MEMORY_LEAVES_MAX);
    if (GRB_LIKELY(!full)) return GREBE_OK;
    grebe_status status = grb_writer_freeze(w, err);
    if (status == GREBE_OK) status = merges_due(w, err);
    return status == GREBE_OK ? status : failure_count(w, bytes, docs, status);
}

/* ---- the same without the mutex ---- */

static bool leaf_joined(const grb_writer *w, uint32_t i) {
    const grb_join *j = w->joins;
    while (j && !grb_join_reads(j, w->list->leaves[i].segment))
        j = grb_join_next(j);
    return j != NULL;
}

grebe_status grb_freeze_begin(grb_writer *w, grb_join **out,
                              grebe_error *err) {
    uint32_t last = w->list->count - 1, i = memory_first(w);
    uint64_t bytes, docs;
    grebe_status status;
    *out = NULL;
    memory_count(w, &bytes, &docs);
    while (i < last && leaf_joined(w, i)) i++;
    if (i < last)
        status = grb_writer_freeze(w, err);
    else
        status = grb_join_begin(w, last, 1, false, out, err);
    return status == GREBE_OK ? status : failure_count(w, bytes, docs, status);
}

grebe_status grb_merge_begin(grb_writer *w, grb_join **out, grebe_error *err) {
    uint32_t first = 0, count = 0;
    *out = NULL;
    if (w->options.merging == GREBE_MERGE_MANUAL) return GREBE_OK;
    grebe_status status = merge_choose(w, &first, &count, err);
    if (status != GREBE_OK || count == 0) return status;
    for (uint32_t i = 0; i < count; i++)
        if (leaf_joined(w, first + i)) return GREBE_OK;
    return grb_join_begin(w, first, count, true, out, err);
}

grebe_status grb_maintain_end(grb_writer *w, grb_join *j, grebe_status written,
                              grebe_error *err) {
    bool drops = grb_join_drops(j), taken = false;
    uint64_t begun = grb_join_begun(j), bytes, docs;
    grebe_status status = written;
    memory_count(w, &bytes, &docs);
    if (status == GREBE_OK) status = grb_join_end(j, &taken, err);
    grb_join_free(j);
    if (taken && drops) merge_count(w, begun, status);
    if (taken && !drops) freeze_count(w, begun);
    grb_writer_recount(w);
    return status == GREBE_OK ? status : failure_count(w, bytes, docs, status);
}

/* One segment without dead documents needs no merge. */
static bool merged_already(const grb_writer *w) {
    return w->list->count == 0 ||
           (w->list->count == 1 && w->list->leaves[0].segment->file_number &&
            grb_view_dead_total(w->list->leaves[0].view) == 0);
}

/* Writes a file again with its documents in another order. */
static grebe_status leaf_rewrite(grb_writer *w, const uint32_t *order,
                                 grebe_error *err) {
    grb_join *j;
    bool taken;
    grebe_status status = grb_join_begin(w, 0, 1, false, &j, err);
    if (status != GREBE_OK) return status;
    grb_join_order(j, order);
    status = grb_join_write(j, err);
    if (status == GREBE_OK) status = grb_join_end(j, &taken, err);
    grb_join_free(j);
    return status;
}

/* Brings the only file, which has no dead documents, into an order. */
static grebe_status leaf_order(grb_writer *w, const grb_merge_order *wanted,
                               grebe_error *err) {
    uint64_t begun = grb_clock_ns();
    const grb_leaf *leaf = &w->list->leaves[0];
    uint32_t *order, max_doc = leaf->bounds.max_doc;
    grebe_status status =
        grb_merge_order_make(w->allocator, w->schema, leaf->segment,
                             &leaf->bounds, wanted, &order, err);
    if (status != GREBE_OK) return status;
    status = leaf_rewrite(w, order, err);
    grb_free(w->allocator, order, ((size_t)max_doc + 1) * sizeof *order);
    merge_count(w, begun, status);
    return status;
}

grebe_status grb_writer_merge(grb_writer *w, const char *order,
                              uint64_t memory_max, grebe_error *err) {
    grb_merge_order wanted;
    grebe_status status = grb_writer_enter(w, err);
    if (status != GREBE_OK) return status;
    if (w->in_batch) {
        status = grb_error(err, GREBE_STATE, "merge inside a batch");
        goto done;
    }
    if (order)
        GRB_TRY(
            grb_merge_order_parse(w->schema, order, memory_max, &wanted, err));
    GRB_TRY(grb_writer_seal(w, err));
    if (!merged_already(w)) {
        GRB_TRY(merge_run(w, 0, w->list->count, err));
        w->unpublished = w->undurable = true;
        grb_writer_recount(w);
    }
    if (!order || w->list->count == 0) goto done;
    GRB_TRY(leaf_order(w, &wanted, err));
    w->unpublished = w->undurable = true;
done:
    grb_writer_leave(w);
    return status;
}
