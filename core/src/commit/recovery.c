/* commit/recovery.c - finding out what is durable, and making sure of it.
 *
 * Opening reads root and state; replay reads the log. A reader may meet a
 * writer at work: whatever fails is judged only after the root was read again
 * and had not moved.
 *
 * A process cannot know whether the last sync before it succeeded: pages of a
 * failed one read well from the cache and are gone after a power cut. So a
 * writer makes sure of the newest root and the last group before it builds on
 * them ("settle"): it writes the same bytes again and syncs. An
 * acknowledgement behind the last group says that its sync returned; then
 * there is nothing to do, and so it is after every clean end.
 *
 * Invariant: nothing is removed and nothing appended before what it relies on
 * is settled.
 * Threads: one at a time a handle.
 * Owns: the order of reading; bytes are root.c's, state.c's and log.c's.
 */
#include "commit/files.h"

#define OPEN_TRIES_MAX 100

/* ---- opening ---- */

/* `status` came from reading what `seen` names. If the root has moved since,
 * a checkpoint of another process removed those files. */
static bool root_moved(grb_directory *d, const grb_root *seen) {
    grb_root now;
    return grb_root_read(d, &now, NULL) == GREBE_OK &&
           now.generation != seen->generation;
}

static grebe_status root_and_state_read(grb_durable *d, grebe_error *err) {
    grb_directory *dir = d->directory;
    grebe_status status = GREBE_OK;
    for (int i = 0; i < OPEN_TRIES_MAX; i++) {
        if (d->signal)
            d->signal_seen =
                atomic_load_explicit(d->signal, memory_order_acquire);
        status = grb_root_read(dir, &d->root, err);
        if (status != GREBE_OK) return status;
        status = grb_version_check(&d->root.version, GRB_ROOT_NAME,
                                   d->writable, err);
        if (status != GREBE_OK) return status;
        status = grb_state_read(dir, &d->root, &d->state_bytes, err);
        if (status == GREBE_OK)
            status = grb_state_decode(dir->allocator, &d->state_bytes,
                                      &d->root, d->writable, &d->state, err);
        if (status == GREBE_OK || d->writable) return status;
        if (!root_moved(dir, &d->root)) return status;
    }
    return status;
}

/* A writer clears away what no root names, once the newest root is known to
 * be on the device: until then the older one may need those files. */
static grebe_status leftovers_remove(grb_durable *d, grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_buf names;
    uint64_t number_max = 0;
    grb_keep keep = {&d->state, d->root.state_number, d->root.log_number, NULL,
                     0};
    grb_buf_init(&names, d->directory->allocator, 0);
    GRB_TRY(grb_files_unnamed(d->directory, &keep, &names, &number_max, err));
    if (number_max >= d->next_file && number_max < UINT64_MAX)
        d->next_file = number_max + 1;
    if (names.size) {
        GRB_TRY(grb_durable_root_settle(d, err));
        grb_files_remove(d->directory, &names);
    }
done:
    grb_buf_deinit(&names);
    return status;
}

static grebe_status missing_root_explain(grb_directory *dir,
                                         grebe_error *err) {
    bool exists = false;
    grebe_status status = grb_durable_exists(dir, &exists, err);
    if (status != GREBE_OK) return status;
    if (exists)
        return grb_error_corrupt(err, GRB_ROOT_NAME, GREBE_NO_OFFSET,
                                 "the root is missing");
    return grb_error(err, GREBE_NOT_FOUND, "no index in %s",
                     dir->path[0] ? dir->path : "the directory");
}

grebe_status grb_durable_open(grb_directory *dir, bool writable,
                              grb_durable **out, grebe_error *err) {
    const grebe_allocator *a = dir->allocator;
    grb_durable *d = grb_alloc_zero(a, sizeof *d);
    if (!d) return grb_error_memory(err, sizeof *d);
    d->directory = dir;
    d->writable = writable;
    grb_buf_init(&d->state_bytes, a, 0);
    grb_buf_init(&d->scratch, a, 0);
    grebe_status status = GREBE_OK;
    d->signal = dir->ops->signal(dir, writable);
    status = root_and_state_read(d, err);
    if (status == GREBE_NOT_FOUND) status = missing_root_explain(dir, err);
    if (status != GREBE_OK) goto done;
    d->number = d->state.number;
    d->next_file = d->root.next_file;
    grb_log_init(&d->log, dir, &d->root);
    if (writable) GRB_TRY(leftovers_remove(d, err));
    *out = d;
done:
    if (status != GREBE_OK) grb_durable_close(d);
    return status;
}

/* ---- replay ---- */

/* What the log's length must be: the size that was known when the last group
 * that was surely synced was written. A shorter file was cut. */
typedef struct log_walk {
    uint64_t size_min;
    uint64_t size_last; /* of the last group, not yet known to be synced */
} log_walk;

static void walk_synced(log_walk *walk) {
    walk->size_min = GRB_MAX(walk->size_min, walk->size_last);
}

static grebe_status group_apply(grb_durable *d, const grb_group *g,
                                const grb_replay *replay, grebe_error *err) {
    if (g->number <= d->number)
        return grb_error_corrupt(
            err, d->log.name, g->at + 24, "commit %llu behind commit %llu",
            (unsigned long long)g->number, (unsigned long long)d->number);
    if (replay) {
        grebe_status status = grb_records_replay(d->directory->allocator,
                                                 d->log.name, g, replay, err);
        if (status != GREBE_OK) return status;
    }
    grb_log_group_accept(&d->log, g);
    d->number = g->number;
    return GREBE_OK;
}

/* The next group, or `valid` false at the end of the log. Evidence behind an
 * invalid group is written after that group is whole: a reader that finds
 * some looks once more before it speaks of damage. */
static grebe_status group_next(grb_durable *d, grb_buf *bytes, grb_group *g,
                               bool *valid, grebe_error *err) {
    grebe_status status = GREBE_OK;
    bool evidence = false;
    GRB_TRY(grb_log_group_read(&d->log, bytes, g, valid, err));
    if (*valid) goto done;
    GRB_TRY(grb_log_evidence(&d->log, &evidence, err));
    if (!evidence) goto done;
    GRB_TRY(grb_log_group_read(&d->log, bytes, g, valid, err));
    if (!*valid)
        status = grb_error_corrupt(
            err, d->log.name, d->log.tail,
            "a commit cannot be read, but what follows it can");
done:
    return status;
}

static grebe_status log_walk_through(grb_durable *d, log_walk *walk,
                                     const grb_replay *replay, grb_buf *bytes,
                                     grebe_error *err) {
    grebe_status status = GREBE_OK;
    bool valid = true;
    grb_group g;
    for (;;) {
        GRB_TRY(group_next(d, bytes, &g, &valid, err));
        if (!valid) break;
        if (!(g.flags & GRB_FLAG_UNSYNCED)) walk_synced(walk);
        GRB_TRY(group_apply(d, &g, replay, err));
        walk->size_last = g.file_size;
    }
    GRB_TRY(grb_log_acknowledged(&d->log, &d->log.acknowledged, err));
    if (d->log.acknowledged) walk_synced(walk);
    /* Whoever acknowledged the last group had settled the root before. */
    d->settled = d->log.acknowledged && !(d->root.flags & GRB_FLAG_UNSYNCED);
    /* A writer at work may have made it grow since it was opened. */
    if (d->log.size < walk->size_min)
        GRB_TRY(d->directory->ops->file_size(d->log.file, &d->log.size, err));
    if (d->log.size < walk->size_min)
        status = grb_error_corrupt(err, d->log.name, d->log.size,
                                   "the log is cut, it had %llu bytes",
                                   (unsigned long long)walk->size_min);
done:
    return status;
}

grebe_status grb_durable_replay(grb_durable *d, const grb_replay *replay,
                                grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_buf bytes;
    log_walk walk = {0, 0};
    if (d->replayed)
        return grb_error(err, GREBE_STATE, "the log was replayed already");
    grb_buf_init(&bytes, d->directory->allocator, 0);
    GRB_TRY(grb_log_open(&d->log, false, err));
    GRB_TRY(grb_log_head_check(&d->log, err));
    if (!(d->root.flags & GRB_FLAG_UNSYNCED)) walk.size_min = d->root.log_size;
    GRB_TRY(log_walk_through(d, &walk, replay, &bytes, err));
    d->replayed = true;
    if (d->writable) grb_durable_announce(d);
done:
    grb_log_close(&d->log);
    grb_buf_deinit(&bytes);
    if (status != GREBE_OK && !d->writable && status != GREBE_MEMORY &&
        root_moved(d->directory, &d->root))
        status = grb_error(err, GREBE_CONFLICT,
                           "the index moved on while it was read; open it "
                           "again");
    return status;
}

/* ---- settling ---- */

static grebe_status file_sync_named(grb_directory *dir, const char *name,
                                    grebe_error *err) {
    grb_file *f = NULL;
    grebe_status status =
        dir->ops->file_open(dir, name, false, false, &f, err);
    if (status != GREBE_OK) return status;
    status = grb_file_sync(f, err);
    dir->ops->file_close(f);
    return status;
}

/* A root written under durability none names files that nobody synced. */
static grebe_status named_files_sync(grb_durable *d, grebe_error *err) {
    grb_directory *dir = d->directory;
    grebe_status status = GREBE_OK;
    char name[32];
    for (uint32_t i = 0; i < d->state.segment_count; i++) {
        grb_segment_file_name(d->state.segments[i].file_number, name);
        GRB_TRY(file_sync_named(dir, name, err));
    }
    grb_state_file_name(d->root.state_number, name);
    GRB_TRY(file_sync_named(dir, name, err));
    GRB_TRY(file_sync_named(dir, d->log.name, err));
    GRB_TRY(grb_directory_sync(dir, err));
    d->root.flags &= ~GRB_FLAG_UNSYNCED;
done:
    return status;
}

grebe_status grb_durable_root_settle(grb_durable *d, grebe_error *err) {
    grebe_status status = GREBE_OK;
    if ((d->root.flags & GRB_FLAG_UNSYNCED) && !d->directory->sync_off)
        GRB_TRY(named_files_sync(d, err));
    else /* the root's name may be as new as its bytes */
        GRB_TRY(grb_directory_sync(d->directory, err));
    GRB_TRY(grb_root_rewrite(d->directory, &d->root, err));
    d->root.copy_good[0] = d->root.copy_good[1] = true;
done:
    return status;
}

grebe_status grb_durable_settle(grb_durable *d, grebe_error *err) {
    grebe_status status = GREBE_OK;
    if (d->settled) return GREBE_OK;
    GRB_TRY(grb_durable_root_settle(d, err));
    if (d->log.last_at && !d->log.acknowledged) {
        GRB_TRY(grb_log_rewrite(&d->log, &d->scratch, err));
        grb_log_acknowledge(&d->log);
    }
    d->log.acknowledged = !d->directory->sync_off;
    d->settled = true;
done:
    return status == GREBE_OK ? status : grb_durable_poison(d, status);
}

/* ---- news for readers ---- */

/* Reads what the signal only hints at: another root, or a group behind the
 * last that was seen. */
static grebe_status really_changed(grb_durable *d, bool *changed,
                                   grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_root now;
    grb_group g;
    grb_buf bytes;
    grb_buf_init(&bytes, d->directory->allocator, 0);
    GRB_TRY(grb_root_read(d->directory, &now, err));
    *changed = now.generation != d->root.generation;
    /* Before the replay the log's end is not known: the root alone counts. */
    if (*changed || !d->replayed) goto done;
    status = grb_log_open(&d->log, false, err);
    if (status == GREBE_CORRUPT && root_moved(d->directory, &d->root)) {
        *changed = true;
        status = GREBE_OK;
        goto done;
    }
    if (status != GREBE_OK) goto done;
    GRB_TRY(grb_log_group_read(&d->log, &bytes, &g, changed, err));
done:
    grb_log_close(&d->log);
    grb_buf_deinit(&bytes);
    return status;
}

grebe_status grb_durable_changed(grb_durable *d, bool *changed,
                                 grebe_error *err) {
    *changed = false;
    if (d->writable) return GREBE_OK;
    if (!d->signal) d->signal = d->directory->ops->signal(d->directory, false);
    uint64_t now = d->signal_seen;
    if (d->signal) {
        now = atomic_load_explicit(d->signal, memory_order_acquire);
        if (now == d->signal_seen) return GREBE_OK;
    }
    grebe_status status = really_changed(d, changed, err);
    if (status == GREBE_OK && !*changed) d->signal_seen = now;
    return status;
}
