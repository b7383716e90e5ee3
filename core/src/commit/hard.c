/* commit/hard.c - hard commits: one log group, or a checkpoint.
 *
 * A hard commit appends to the log if every file segment of the live list is
 * named by the root and the log has room; otherwise memory segments are frozen
 * and a checkpoint names everything anew. Sync first, publish after: on
 * failure nothing became visible.
 *
 * Invariant: the root changes nowhere else. After a log commit each document
 * lies in a file that the root names or in the log since the root.
 * Threads: under the writer's mutex, held through the sync.
 */
#include "commit/join.h"

/* ---- checkpoint ---- */

static grebe_status state_fill(grb_writer *w, grb_state *state,
                               grb_bitmap **dead, grebe_error *err) {
    for (uint32_t i = 0; i < state->segment_count; i++) {
        const grb_leaf *leaf = &w->list->leaves[i];
        grebe_status status = grb_leaf_dead(w, leaf, &dead[i], err);
        if (status != GREBE_OK) return status;
        state->segments[i].file_number = leaf->segment->file_number;
        state->segments[i].max_doc = leaf->bounds.max_doc;
        state->segments[i].dead = dead[i] ? dead[i]->words : NULL;
    }
    return GREBE_OK;
}

/* Files that explicit snapshots may bring back, and those being written. */
static grebe_status pins_collect(grb_writer *w, uint64_t **out, size_t *count,
                                 grebe_error *err) {
    size_t most = 0, n = 0;
    for (const grebe_snapshot *p = w->pins; p; p = p->next)
        most += p->snapshot->list->count;
    for (const grb_join *j = w->joins; j; j = grb_join_next(j)) most++;
    uint64_t *files = grb_alloc(w->allocator, most * 8 + 1);
    if (!files) return grb_error_memory(err, most * 8);
    for (const grebe_snapshot *p = w->pins; p; p = p->next) {
        for (uint32_t i = 0; i < p->snapshot->list->count; i++) {
            const grb_segment *s = p->snapshot->list->leaves[i].segment;
            if (s->twin) s = s->twin;
            if (s->file_number) files[n++] = s->file_number;
        }
    }
    for (const grb_join *j = w->joins; j; j = grb_join_next(j))
        files[n++] = grb_join_file(j);
    *out = files;
    *count = most;
    for (; n < most; n++) files[n] = 0;
    return GREBE_OK;
}

static grebe_status checkpoint(grb_writer *w, uint64_t number,
                               grebe_error *err) {
    grebe_status status;
    grb_state state = {.number = number,
                       .next_sequence = w->next_sequence,
                       .unique = w->unique,
                       .schema = w->schema};
    grb_bitmap **dead = NULL;
    uint64_t *pinned = NULL;
    size_t pinned_count = 0;
    uint32_t count = 0;
    GRB_TRY(grb_writer_freeze(w, err));
    count = w->list->count;
    dead = grb_alloc_zero(w->allocator, count * sizeof *dead + 1);
    state.segments =
        grb_alloc_zero(w->allocator, count * sizeof *state.segments + 1);
    if (!dead || !state.segments) {
        status = grb_error_memory(err, count * sizeof *state.segments);
        goto done;
    }
    state.segment_count = count;
    GRB_TRY(state_fill(w, &state, dead, err));
    GRB_TRY(pins_collect(w, &pinned, &pinned_count, err));
    GRB_TRY(
        grb_durable_checkpoint(w->durable, &state, pinned, pinned_count, err));
    w->checkpoint_due = false;
    w->next_ordinal = 0;
done:
    grb_free(w->allocator, pinned, pinned_count * 8 + 1);
    for (uint32_t i = 0; dead && i < count; i++) grb_bitmap_release(dead[i]);
    grb_free(w->allocator, dead, count * sizeof *dead + 1);
    grb_free(w->allocator, state.segments, count * sizeof *state.segments + 1);
    return status;
}

/* ---- the hard commit ---- */

static grebe_status make_durable(grb_writer *w, grebe_error *err) {
    grebe_status status;
    uint64_t number = w->number + 1;
    if (!w->durable) return GREBE_OK;
    if (!w->checkpoint_due &&
        grb_durable_log_fits(w->durable, w->pending.size))
        GRB_TRY(grb_durable_append(w->durable, number, w->pending.bytes,
                                   w->pending.size, err));
    else
        GRB_TRY(checkpoint(w, number, err));
    grb_buf_clear(&w->pending);
done:
    return status;
}

/* The header is reserved first: once the commit is durable nothing may fail,
 * or memory and folder would disagree on it. */
static grebe_status hard_commit(grb_writer *w, bool seen,
                                grebe_commit_info *info, grebe_error *err) {
    grb_snapshot *s;
    if (!w->undurable && seen) return grb_publish_soft(w, info, err);
    if (!w->undurable) {
        grb_commit_info_fill(w, false, info);
        return GREBE_OK;
    }
    grebe_status status = grb_publish_reserve(w, &s, err);
    if (status != GREBE_OK) return status;
    status = make_durable(w, err);
    if (status != GREBE_OK) {
        grb_line_discard(w->line, s);
        return status;
    }
    grb_publish_slot(w, s, seen);
    if (seen) grb_snapshot_acquire(s);
    grb_commit_info_fill(w, true, info);
    w->added = w->deleted = 0;
    w->undurable = false;
    grb_mark_drop(&w->hard);
    grb_mark_take(w, s, &w->hard);
    w->stats.hard_commits++;
    return GREBE_OK;
}

grebe_status grb_commit_now(grb_writer *w, grebe_commit_kind kind,
                            grebe_commit_info *info, grebe_error *err) {
    grebe_status status;
    if (kind == GREBE_SOFT && !info) return grb_publish_soft(w, NULL, err);
    grb_directory *d = w->directory;
    uint64_t begun = grb_clock_ns();
    uint64_t syncs = d ? d->syncs : 0, bytes = d ? d->bytes_written : 0;
    if (info) memset(info, 0, sizeof *info);
    if (info) info->number = w->number;
    if (kind == GREBE_SOFT)
        status = grb_publish_soft(w, info, err);
    else
        status = hard_commit(w, kind == GREBE_HARD, info, err);
    uint64_t took = grb_clock_ns() - begun;
    if (kind == GREBE_SOFT)
        w->stats.soft_commit_ns += took;
    else
        w->stats.hard_commit_ns += took;
    if (info) {
        info->ns = took;
        info->syncs = w->directory ? w->directory->syncs - syncs : 0;
        info->bytes = w->directory ? w->directory->bytes_written - bytes : 0;
    }
    return status;
}

grebe_status grb_writer_commit(grb_writer *w, grebe_commit_kind kind,
                               grebe_commit_info *info, grebe_error *err) {
    grebe_status status = grb_writer_enter(w, err);
    if (status != GREBE_OK) return status;
    if (w->in_batch)
        status = grb_error(err, GREBE_STATE, "commit inside a batch");
    else
        status = grb_commit_now(w, kind, info, err);
    grb_writer_leave(w);
    return status;
}
