/* commit/publish.c - soft commits, and every way of going back.
 *
 * A soft commit fills a header and exchanges one word. Going back is one
 * mechanism: the live list becomes that of an older snapshot, sealed at its
 * bounds, with new views where stamps were set since. A view without later
 * stamps is taken as it is: its stamps read the same at every epoch from the
 * snapshot's on, and only this line writes in it.
 *
 * Invariant: epochs and commit numbers only rise.
 * Threads: under the writer's mutex.
 */
#include "commit/writer.h"

/* ---- publishing ---- */

grebe_status grb_publish_reserve(grb_writer *w, grb_snapshot **out,
                                 grebe_error *err) {
    *out = grb_line_slot(w->line);
    if (*out) return GREBE_OK;
    if (!grb_line_full(w->line)) return grb_error_memory(err, sizeof **out);
    return grb_error(err, GREBE_LIMIT,
                     "no room for one more live snapshot: 65,532 are held");
}

/* The state of now as commit `number`; the epoch moves on. */
static void header_fill(grb_writer *w, uint64_t number, grb_snapshot *s) {
    s->epoch = w->epoch++;
    s->number = number;
    s->live = w->live;
    s->unique = w->unique;
    s->list = grb_list_acquire(w->list);
    s->schema = grb_schema_acquire(w->schema);
    if (w->growing) grb_memseg_bounds(w->growing, &s->growing);
}

void grb_commit_info_fill(grb_writer *w, bool changed,
                          grebe_commit_info *info) {
    if (!info) return;
    info->number = w->number;
    info->generation = w->durable ? grb_durable_generation(w->durable) : 0;
    info->added = changed ? w->added : 0;
    info->deleted = changed ? w->deleted : 0;
    info->segments = w->list->count;
    info->changed = changed;
}

void grb_publish_slot(grb_writer *w, grb_snapshot *s, bool seen) {
    header_fill(w, ++w->number, s);
    if (seen)
        grb_line_publish(w->line, s);
    else
        grb_line_private(w->line, s);
    w->unpublished = !seen;
}

grebe_status grb_publish_soft(grb_writer *w, grebe_commit_info *info,
                              grebe_error *err) {
    grb_snapshot *s;
    if (!w->unpublished) {
        grb_commit_info_fill(w, false, info);
        return GREBE_OK;
    }
    grebe_status status = grb_publish_reserve(w, &s, err);
    if (status != GREBE_OK) return status;
    grb_publish_slot(w, s, true);
    grb_commit_info_fill(w, true, info);
    w->added = w->deleted = 0;
    w->stats.soft_commits++;
    return GREBE_OK;
}

grebe_status grb_publish_private(grb_writer *w, grb_snapshot **out,
                                 grebe_error *err) {
    grebe_status status = grb_publish_reserve(w, out, err);
    if (status != GREBE_OK) return status;
    header_fill(w, w->number, *out);
    grb_line_private(w->line, *out);
    return GREBE_OK;
}

grebe_status grb_writer_private(grb_writer *w, grb_snapshot **out,
                                grebe_error *err) {
    grebe_status status = grb_writer_enter(w, err);
    if (status != GREBE_OK) return status;
    status = grb_publish_private(w, out, err);
    grb_writer_leave(w);
    return status;
}

grebe_status grb_publish_first(grb_writer *w, grebe_error *err) {
    grb_snapshot *s;
    grebe_status status = grb_publish_reserve(w, &s, err);
    if (status != GREBE_OK) return status;
    header_fill(w, w->number, s);
    grb_line_publish(w->line, s);
    w->unpublished = w->undurable = false;
    w->added = w->deleted = 0;
    grb_mark_drop(&w->hard);
    grb_mark_take(w, grb_line_snapshot(w->line), &w->hard);
    return GREBE_OK;
}

/* ---- going back ---- */

void grb_mark_take(grb_writer *w, grb_snapshot *snapshot, grb_mark *mark) {
    *mark = (grb_mark){
        .snapshot = snapshot,
        .pending_size = w->pending.size,
        .next_ordinal = w->next_ordinal,
        .next_sequence = w->next_sequence,
        .checkpoint_due = w->checkpoint_due,
        .unpublished = w->unpublished,
        .undurable = w->undurable,
        .added = w->added,
        .deleted = w->deleted,
    };
}

void grb_mark_drop(grb_mark *mark) {
    grb_snapshot_release(mark->snapshot);
    mark->snapshot = NULL;
}

/* A leaf as it was in `s`, for the present epoch. */
static grebe_status leaf_again(grb_writer *w, const grb_snapshot *s,
                               uint32_t i, bool share, grb_leaf *out,
                               grebe_error *err) {
    grb_snapshot_leaf(s, i, out);
    if (share && grb_view_last_epoch(out->view) <= s->epoch)
        grb_view_acquire(out->view);
    else
        out->view = grb_view_branch(out->view, s->epoch, w->epoch,
                                    out->bounds.max_doc);
    if (!out->view) return grb_error_memory(err, 64);
    grb_segment_acquire(out->segment);
    grb_totals_acquire(out->bounds.totals);
    return GREBE_OK;
}

/* The leaves of `s` as a new list. Its growing segment stays so only if it is
 * the present one and took nothing since. */
static grebe_status list_again(grb_writer *w, const grb_snapshot *s,
                               bool share, grb_list **out, grebe_error *err) {
    uint32_t count = grb_snapshot_leaf_count(s);
    grb_list *list = grb_list_new(w->allocator, count);
    if (!list) return grb_error_memory(err, sizeof *list);
    for (uint32_t i = 0; i < count; i++) {
        grb_leaf leaf;
        grebe_status status = leaf_again(w, s, i, share, &leaf, err);
        if (status != GREBE_OK) {
            grb_list_release(list); /* the rest of it is still zero */
            return status;
        }
        list->leaves[i] = leaf;
    }
    if (share && s->list->growing && count &&
        w->growing == list->leaves[count - 1].segment) {
        grb_bounds now;
        grb_memseg_peek(w->growing, &now);
        list->growing = now.max_doc == s->growing.max_doc;
        if (list->growing) {
            grb_totals_release(list->leaves[count - 1].bounds.totals);
            list->leaves[count - 1].bounds = (grb_bounds){0};
        }
    }
    *out = list;
    return GREBE_OK;
}

grebe_status grb_writer_go_back(grb_writer *w, const grb_snapshot *s,
                                grebe_error *err) {
    grb_list *list;
    grebe_status status = list_again(w, s, true, &list, err);
    if (status != GREBE_OK) return status;
    grb_list_release(w->list);
    w->list = list;
    w->growing = list->growing ? list->leaves[list->count - 1].segment : NULL;
    w->live = s->live;
    w->unique = s->unique;
    if (w->schema != s->schema) {
        grb_schema_release(w->schema);
        w->schema = grb_schema_acquire(s->schema);
    }
    w->victim_count = 0;
    grb_writer_recount(w);
    return GREBE_OK;
}

/* Pending records as they were at the mark. Where the records were given up
 * meanwhile they may be gone, and a checkpoint is due. */
static void mark_reset(grb_writer *w, const grb_mark *mark) {
    w->checkpoint_due =
        mark->checkpoint_due || w->pending.size < mark->pending_size;
    if (w->pending.size > mark->pending_size)
        w->pending.size = mark->pending_size;
    w->next_ordinal = mark->next_ordinal;
    w->next_sequence = mark->next_sequence;
    w->unpublished = mark->unpublished;
    w->undurable = mark->undurable;
    w->added = mark->added;
    w->deleted = mark->deleted;
}

/* `reserved` is the header for what comes after: without it going back would
 * succeed and publishing fail. */
static grebe_status go_back_or_discard(grb_writer *w, const grb_snapshot *to,
                                       grb_snapshot *reserved,
                                       grebe_error *err) {
    grebe_status status = grb_writer_go_back(w, to, err);
    if (status != GREBE_OK) grb_line_discard(w->line, reserved);
    return status;
}

grebe_status grb_writer_rollback(grb_writer *w, grebe_error *err) {
    grb_snapshot *s;
    grebe_status status = grb_writer_enter(w, err);
    if (status != GREBE_OK) return status;
    if (w->in_batch) {
        status = grb_error(err, GREBE_STATE, "rollback inside a batch");
        goto done;
    }
    if (!w->undurable && !w->unpublished) goto done;
    GRB_TRY(grb_publish_reserve(w, &s, err));
    GRB_TRY(go_back_or_discard(w, w->hard.snapshot, s, err));
    mark_reset(w, &w->hard);
    grb_publish_slot(w, s, true);
done:
    grb_writer_leave(w);
    return status;
}

/* ---- batches ---- */

grebe_status grb_writer_batch_begin(grb_writer *w, const void *handle,
                                    grebe_error *err) {
    grb_snapshot *before = NULL;
    grebe_status status = grb_writer_enter(w, err);
    if (status != GREBE_OK) return status;
    if (w->in_batch) {
        status = grb_error(err, GREBE_STATE, "a batch inside a batch");
        goto done;
    }
    GRB_TRY(grb_publish_private(w, &before, err));
    grb_mark_take(w, before, &w->batch);
    w->in_batch = true;
    w->batch_owner = pthread_self();
    w->batch_handle = handle;
done:
    grb_writer_leave(w);
    return status;
}

static grebe_status batch_enter(grb_writer *w, grebe_error *err) {
    grebe_status status = grb_writer_look(w, err);
    if (status != GREBE_OK) return status;
    if (w->in_batch && pthread_equal(w->batch_owner, pthread_self()))
        return GREBE_OK;
    grb_writer_leave(w);
    return grb_error(err, GREBE_STATE, "no batch of this thread is open");
}

static void batch_leave(grb_writer *w) {
    w->in_batch = false;
    w->batch_handle = NULL;
    grb_mark_drop(&w->batch);
    pthread_cond_broadcast(&w->batch_over);
}

grebe_status grb_writer_batch_end(grb_writer *w, grebe_commit_kind kind,
                                  grebe_commit_info *info, grebe_error *err) {
    grebe_status status = batch_enter(w, err);
    if (status != GREBE_OK) return status;
    GRB_TRY(grb_commit_now(w, kind, info, err));
    batch_leave(w);
done:
    grb_writer_leave(w);
    return status;
}

grebe_status grb_writer_batch_undo(grb_writer *w, grebe_error *err) {
    grebe_status status = batch_enter(w, err);
    if (status != GREBE_OK) return status;
    GRB_TRY(grb_writer_go_back(w, w->batch.snapshot, err));
    mark_reset(w, &w->batch);
    batch_leave(w);
done:
    grb_writer_leave(w);
    return status;
}

void grb_writer_batch_drop(grb_writer *w, const void *handle) {
    pthread_mutex_lock(&w->mutex);
    if (w->in_batch && w->batch_handle == handle && !w->ended) {
        w->lost = grb_writer_go_back(w, w->batch.snapshot, NULL) != GREBE_OK;
        if (!w->lost) mark_reset(w, &w->batch);
        batch_leave(w);
    }
    pthread_mutex_unlock(&w->mutex);
}

/* ---- snapshots, restore, branch ---- */

grebe_status grb_writer_snapshot(grb_writer *w, grebe_snapshot **out,
                                 grebe_error *err) {
    grebe_status status = grb_writer_enter(w, err);
    grebe_snapshot *pin = NULL;
    if (status != GREBE_OK) return status;
    if (w->in_batch) {
        status = grb_error(err, GREBE_STATE, "a snapshot inside a batch");
        goto done;
    }
    pin = grb_alloc_zero(w->allocator, sizeof *pin);
    if (!pin) {
        status = grb_error_memory(err, sizeof *pin);
        goto done;
    }
    GRB_TRY(grb_publish_soft(w, NULL, err));
    pin->snapshot = grb_line_snapshot(w->line);
    pin->next_sequence = w->next_sequence;
    pin->writer = grb_writer_acquire(w);
    pin->next = w->pins;
    pin->link = &w->pins;
    if (w->pins) w->pins->link = &pin->next;
    w->pins = pin;
    grb_handle_born();
    *out = pin;
done:
    if (status != GREBE_OK && pin) grb_free(w->allocator, pin, sizeof *pin);
    grb_writer_leave(w);
    return status;
}

void grb_writer_snapshot_free(grebe_snapshot *pin) {
    grb_writer *w = pin->writer;
    pthread_mutex_lock(&w->mutex);
    *pin->link = pin->next;
    if (pin->next) pin->next->link = pin->link;
    pthread_mutex_unlock(&w->mutex);
    grb_snapshot_release(pin->snapshot);
    grb_free(w->allocator, pin, sizeof *pin);
    grb_writer_release(w);
}

grebe_status grb_writer_restore(grb_writer *w, const grebe_snapshot *pin,
                                grebe_error *err) {
    grb_snapshot *s;
    grebe_status status = grb_writer_enter(w, err);
    if (status != GREBE_OK) return status;
    if (pin->writer != w) {
        status = grb_error(err, GREBE_ARGUMENT,
                           "the snapshot belongs to another index");
        goto done;
    }
    if (w->in_batch) {
        status = grb_error(err, GREBE_STATE, "restore inside a batch");
        goto done;
    }
    GRB_TRY(grb_publish_reserve(w, &s, err));
    GRB_TRY(go_back_or_discard(w, pin->snapshot, s, err));
    grb_buf_clear(&w->pending);
    w->next_sequence = pin->next_sequence;
    w->checkpoint_due = w->durable != NULL;
    w->undurable = true;
    w->added = w->deleted = 0;
    grb_publish_slot(w, s, true);
done:
    grb_writer_leave(w);
    return status;
}

static grebe_status branch_fill(grb_writer *from, const grb_snapshot *s,
                                grb_writer *to, grebe_error *err) {
    grb_list *list;
    to->epoch = s->epoch + 1;
    grebe_status status = list_again(to, s, false, &list, err);
    if (status != GREBE_OK) return status;
    grb_list_release(to->list);
    to->list = list;
    to->live = s->live;
    to->unique = s->unique;
    to->next_sequence = from->next_sequence;
    to->number = s->number;
    grb_writer_recount(to);
    return grb_publish_first(to, err);
}

grebe_status grb_writer_branch(grb_writer *w, grb_writer **out,
                               grebe_error *err) {
    grb_snapshot *s = NULL;
    grb_writer *twin = NULL;
    grebe_status status = grb_writer_look(w, err);
    if (status != GREBE_OK) return status;
    s = grb_line_snapshot(w->line);
    grebe_open_options options = w->options;
    options.mode = GREBE_WRITE;
    grb_writer_setup setup = {.allocator = w->allocator,
                              .options = &options,
                              .schema = s->schema,
                              .pool = w->pool};
    GRB_TRY(grb_writer_new(&setup, &twin, err));
    GRB_TRY(branch_fill(w, s, twin, err));
    *out = twin;
done:
    if (status != GREBE_OK && twin) {
        grb_writer_end(twin);
        grb_writer_release(twin);
    }
    grb_snapshot_release(s);
    grb_writer_leave(w);
    return status;
}
