/* commit/writer.c - the writer's life, its mutex and its live list.
 *
 * Invariant: the live list is replaced, never changed, because snapshots share
 * it; `growing`, if there is one, is its last leaf.
 * Threads: everything but acquire and release happens under the mutex. A batch
 * owns the writer across calls: others wait on `batch_over`.
 * Owns: directory, durable, line, pool reference, list, pending records.
 */
#include "commit/writer.h"

/* ---- life ---- */

static grebe_status writer_init(grb_writer *w, const grb_writer_setup *setup,
                                grebe_error *err) {
    grebe_status status;
    w->allocator = setup->allocator;
    if (setup->options) w->options = *setup->options;
    if (!w->options.memory_max) w->options.memory_max = GRB_MEMORY_MAX_DEFAULT;
    if (!w->options.docs_max) w->options.docs_max = GRB_DOCS_MAX_DEFAULT;
    w->epoch = w->options.first_epoch ? w->options.first_epoch : 1;
    w->freeze_at = w->options.memory_max;
    w->freeze_docs_at = w->options.docs_max;
    w->next_sequence = 1;
    w->next_file = 1;
    w->unique = true;
    atomic_init(&w->refs, 1);
    grb_buf_init(&w->pending, w->allocator, 0);
    grb_arena_init(&w->scratch, w->allocator, 0);
    w->pool = grb_pool_acquire(setup->pool);
    w->schema = grb_schema_acquire(setup->schema);
    w->list = grb_list_new(w->allocator, 0);
    if (!w->list) return grb_error_memory(err, sizeof *w->list);
    GRB_TRY(grb_line_new(w->allocator, &w->line, err));
    uint64_t half = grb_random();
    memcpy(w->uuid, &half, 8);
    half = grb_random();
    memcpy(w->uuid + 8, &half, 8);
done:
    return status;
}

static void writer_free(grb_writer *w) {
    grb_inverted_free(atomic_exchange(&w->spare, NULL));
    grb_list_release(w->list);
    grb_schema_release(w->schema);
    grb_line_release(w->line);
    grb_pool_release(w->pool);
    grb_buf_deinit(&w->pending);
    grb_arena_deinit(&w->scratch);
    grb_free(w->allocator, w->victims,
             w->victim_capacity * sizeof *w->victims);
    pthread_cond_destroy(&w->batch_over);
    pthread_mutex_destroy(&w->mutex);
    grb_free(w->allocator, w, sizeof *w);
}

grebe_status grb_writer_new(const grb_writer_setup *setup, grb_writer **out,
                            grebe_error *err) {
    grebe_status status;
    grb_writer *w = grb_alloc_zero(setup->allocator, sizeof *w);
    if (!w) return grb_error_memory(err, sizeof *w);
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->batch_over, NULL);
    GRB_TRY(writer_init(w, setup, err));
    w->directory = setup->directory;
    w->durable = setup->durable;
    if (w->durable) {
        memcpy(w->uuid, grb_durable_uuid(w->durable), sizeof w->uuid);
        if (!setup->fresh) GRB_TRY(grb_writer_load(w, NULL, err));
    }
    GRB_TRY(grb_publish_first(w, err));
    *out = w;
done:
    if (status != GREBE_OK) {
        w->directory = NULL; /* the caller's to close */
        w->durable = NULL;
        grb_writer_end(w);
        grb_writer_release(w);
    }
    return status;
}

grb_writer *grb_writer_acquire(grb_writer *w) {
    atomic_fetch_add_explicit(&w->refs, 1, memory_order_relaxed);
    return w;
}

void grb_writer_release(grb_writer *w) {
    if (w && atomic_fetch_sub_explicit(&w->refs, 1, memory_order_acq_rel) == 1)
        writer_free(w);
}

void grb_writer_end(grb_writer *w) {
    pthread_mutex_lock(&w->mutex);
    if (!w->ended) {
        w->ended = true;
        if (w->line) grb_line_unpublish(w->line);
        grb_mark_drop(&w->hard);
        grb_mark_drop(&w->batch);
        grb_list_release(w->list);
        w->list = NULL;
        w->growing = NULL;
        if (w->durable) grb_durable_close(w->durable);
        if (w->directory) grb_directory_close(w->directory);
        w->durable = NULL;
        w->directory = NULL;
        pthread_cond_broadcast(&w->batch_over);
    }
    pthread_mutex_unlock(&w->mutex);
}

/* ---- entering ---- */

static bool batch_of_others(const grb_writer *w) {
    return w->in_batch && !pthread_equal(w->batch_owner, pthread_self());
}

grebe_status grb_writer_look(grb_writer *w, grebe_error *err) {
    pthread_mutex_lock(&w->mutex);
    if (!w->ended) return GREBE_OK;
    pthread_mutex_unlock(&w->mutex);
    return grb_error(err, GREBE_CLOSED, "the index is closed");
}

grebe_status grb_writer_enter(grb_writer *w, grebe_error *err) {
    grebe_status status = GREBE_OK;
    pthread_mutex_lock(&w->mutex);
    while (!w->ended && batch_of_others(w))
        pthread_cond_wait(&w->batch_over, &w->mutex);
    if (w->ended)
        status = grb_error(err, GREBE_CLOSED, "the index is closed");
    else if (w->options.mode == GREBE_READ)
        status = grb_error(err, GREBE_READ_ONLY,
                           "the index was opened for reading");
    else if (w->lost)
        status = grb_error(err, GREBE_POISONED,
                           "no memory to undo a batch whose handle was "
                           "freed; reopen the index");
    else if (w->durable && grb_durable_poisoned(w->durable))
        status = grb_error(err, GREBE_POISONED,
                           "an earlier write or sync failed; reopen the "
                           "index to go on from the last hard commit");
    if (status != GREBE_OK) pthread_mutex_unlock(&w->mutex);
    return status;
}

void grb_writer_leave(grb_writer *w) {
    pthread_mutex_unlock(&w->mutex);
}

grebe_status grb_writer_schema(grb_writer *w, grebe_schema **out,
                               grebe_error *err) {
    grebe_status status = grb_writer_look(w, err);
    if (status != GREBE_OK) return status;
    *out = grb_schema_acquire(w->schema);
    grb_writer_leave(w);
    return GREBE_OK;
}

/* ---- the live list ---- */

void grb_writer_now(grb_writer *w, grb_snapshot *out) {
    memset(out, 0, sizeof *out);
    out->epoch = w->epoch;
    out->number = w->number;
    out->live = w->live;
    out->unique = w->unique;
    out->list = w->list;
    out->schema = w->schema;
    if (w->growing) grb_memseg_peek(w->growing, &out->growing);
}

static void leaf_copy(grb_leaf *to, const grb_leaf *from) {
    *to = *from;
    grb_segment_acquire(to->segment);
    grb_view_acquire(to->view);
    grb_totals_acquire(to->bounds.totals);
}

grebe_status grb_writer_splice(grb_writer *w, uint32_t at, uint32_t removed,
                               const grb_leaf *inserted, uint32_t count,
                               grebe_error *err) {
    const grb_list *old = w->list;
    uint32_t after = old->count - at - removed;
    grb_list *list = grb_list_new(w->allocator, at + count + after);
    if (!list) return grb_error_memory(err, sizeof *list);
    for (uint32_t i = 0; i < at; i++)
        leaf_copy(&list->leaves[i], &old->leaves[i]);
    for (uint32_t i = 0; i < count; i++) list->leaves[at + i] = inserted[i];
    for (uint32_t i = 0; i < after; i++)
        leaf_copy(&list->leaves[at + count + i],
                  &old->leaves[at + removed + i]);
    list->growing = old->growing && after > 0;
    grb_list_release(w->list);
    w->list = list;
    if (!list->growing) w->growing = NULL;
    return GREBE_OK;
}

void grb_writer_recount(grb_writer *w) {
    w->sealed_bytes = w->sealed_docs = 0;
    for (uint32_t i = 0; i < w->list->count; i++) {
        const grb_leaf *leaf = &w->list->leaves[i];
        if (leaf->segment->file_number || leaf->segment == w->growing)
            continue;
        w->sealed_bytes += leaf->segment->ops->memory(leaf->segment);
        w->sealed_docs += leaf->bounds.max_doc;
    }
}

grebe_status grb_writer_seal(grb_writer *w, grebe_error *err) {
    grebe_status status;
    if (!w->growing) return GREBE_OK;
    uint32_t last = w->list->count - 1;
    grb_leaf leaf = w->list->leaves[last];
    grb_memseg_bounds(w->growing, &leaf.bounds);
    if (leaf.bounds.max_doc == 0) {
        grb_totals_release(leaf.bounds.totals);
        return grb_writer_splice(w, last, 1, NULL, 0, err);
    }
    grb_segment_acquire(leaf.segment);
    grb_view_acquire(leaf.view);
    status = grb_writer_splice(w, last, 1, &leaf, 1, err);
    if (status == GREBE_OK) {
        grb_writer_recount(w);
        return status;
    }
    grb_totals_release(leaf.bounds.totals);
    grb_view_release(leaf.view);
    grb_segment_release(leaf.segment);
    return status;
}

grebe_status grb_writer_grow(grb_writer *w, grebe_error *err) {
    grebe_status status;
    grb_leaf leaf = {0};
    if (w->growing) return GREBE_OK;
    GRB_TRY(grb_memseg_new(w->pool, w->schema, &leaf.segment, err));
    leaf.segment->ordinal = w->next_ordinal;
    leaf.view = grb_view_new(w->allocator, w->epoch, NULL);
    status = leaf.view ? grb_writer_splice(w, w->list->count, 0, &leaf, 1, err)
                       : grb_error_memory(err, 64);
    if (status == GREBE_OK) {
        w->list->growing = true; /* fresh, not shared yet */
        w->growing = leaf.segment;
    }
done:
    if (status != GREBE_OK) {
        grb_view_release(leaf.view);
        grb_segment_release(leaf.segment);
    }
    return status;
}
