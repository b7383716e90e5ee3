/* commit/freeze.c - memory segments become files, files become fewer.
 *
 * Freezing and merging are one act: join neighbouring leaves of the live list
 * into one new segment file. Freezing keeps every document, dead ones too, so
 * statistics stay; merging drops the dead. The new leaf's view begins with
 * what is dead at the writer's epoch. The live list changes at once, but
 * nothing on disk names the new file before the next hard commit; old
 * snapshots keep the leaves that they have.
 *
 * Invariant: in the live list files stand before memory segments.
 * Threads: under the writer's mutex.
 */
#include "commit/writer.h"
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

/* ---- joining leaves into a file ---- */

typedef struct join {
    grb_source *sources;
    grb_bitmap **dead;
    uint32_t count;
    uint32_t docs_kept;
} join;

static void join_free(grb_writer *w, join *j) {
    for (uint32_t i = 0; j->dead && i < j->count; i++)
        grb_bitmap_release(j->dead[i]);
    grb_free(w->allocator, j->dead, j->count * sizeof *j->dead + 1);
    grb_free(w->allocator, j->sources, j->count * sizeof *j->sources + 1);
}

/* For a merge the bitmaps are turned into those of the living. */
static void join_live(grb_bitmap *dead, uint32_t max_doc) {
    for (uint32_t i = 0; i < dead->word_count; i++)
        dead->words[i] = ~dead->words[i];
    if (max_doc % 64)
        dead->words[max_doc / 64] &= (1ull << (max_doc % 64)) - 1;
}

static grebe_status join_prepare(grb_writer *w, uint32_t first, bool drop,
                                 join *j, grebe_error *err) {
    j->sources =
        grb_alloc_zero(w->allocator, j->count * sizeof *j->sources + 1);
    j->dead = grb_alloc_zero(w->allocator, j->count * sizeof *j->dead + 1);
    if (!j->sources || !j->dead)
        return grb_error_memory(err, j->count * sizeof *j->sources);
    uint64_t kept = 0;
    for (uint32_t i = 0; i < j->count; i++) {
        const grb_leaf *leaf = &w->list->leaves[first + i];
        grebe_status status = grb_leaf_dead(w, leaf, &j->dead[i], err);
        if (status != GREBE_OK) return status;
        uint32_t dead = j->dead[i] ? j->dead[i]->set_count : 0;
        j->sources[i].segment = leaf->segment;
        j->sources[i].bounds = leaf->bounds;
        kept += leaf->bounds.max_doc - (drop ? dead : 0);
        if (kept > INT32_MAX)
            return grb_error(err, GREBE_LIMIT,
                             "a segment of more than 2,147,483,647 documents");
        j->docs_kept = (uint32_t)kept;
        if (!drop || !j->dead[i]) continue;
        join_live(j->dead[i], leaf->bounds.max_doc);
        j->sources[i].live = j->dead[i]->words;
    }
    return GREBE_OK;
}

/* The dead of all sources, one behind the other. */
static grebe_status join_dead(grb_writer *w, const join *j, grb_bitmap **out,
                              grebe_error *err) {
    bool any = false;
    for (uint32_t i = 0; i < j->count; i++) any |= j->dead[i] != NULL;
    *out = NULL;
    if (!any) return GREBE_OK;
    grb_bitmap *all = grb_bitmap_new(w->allocator, j->docs_kept);
    if (!all) return grb_error_memory(err, j->docs_kept / 8);
    uint32_t at = 0;
    for (uint32_t i = 0; i < j->count; i++) {
        uint32_t max_doc = j->sources[i].bounds.max_doc;
        for (uint32_t d = 0; j->dead[i] && d < max_doc; d++) {
            if (!grb_bit(j->dead[i]->words, d)) continue;
            grb_bit_set(all->words, at + d);
            all->set_count++;
        }
        at += max_doc;
    }
    *out = all;
    return GREBE_OK;
}

static grebe_status directory_ensure(grb_writer *w, grebe_error *err) {
    return w->directory
               ? GREBE_OK
               : grb_directory_open_ram(w->allocator, &w->directory, err);
}

/* Development builds read back every file that they write. */
static grebe_status file_check(grb_segment *segment, grebe_error *err) {
#ifdef GREBE_DEV
    grb_segfile_census census = {0};
    return grb_segfile_check(segment, &census, err);
#else
    (void)segment;
    (void)err;
    return GREBE_OK;
#endif
}

static grebe_status file_write(grb_writer *w, const join *j, grb_segment **out,
                               grebe_error *err) {
    grebe_status status;
    char name[32];
    grb_segfile_written written;
    grb_segfile_options options = {.sync = w->durable != NULL};
    memcpy(options.uuid, w->uuid, sizeof w->uuid);
    GRB_TRY(directory_ensure(w, err));
    options.file_number =
        w->durable ? grb_durable_next_file(w->durable) : w->next_file++;
    if (!w->options.deterministic) options.hash_seed = grb_random();
    grb_segment_file_name(options.file_number, name);
    options.schema = w->schema;
    GRB_TRY(grb_segfile_write(w->directory, name, j->sources, j->count,
                              &options, &written, err));
    status = grb_segfile_open(w->directory, name, w->uuid, options.file_number,
                              w->options.verify, out, err);
    if (status == GREBE_OK) status = file_check(*out, err);
    if (status != GREBE_OK || !w->durable)
        w->directory->ops->remove(w->directory, name, NULL);
done:
    return status;
}

/* Replaces leaves [first, first + count) by one file, or by nothing where no
 * document is left. */
static grebe_status leaves_join(grb_writer *w, uint32_t first, uint32_t count,
                                bool drop, grebe_error *err) {
    grebe_status status;
    join j = {.count = count};
    grb_leaf leaf = {0};
    grb_bitmap *dead = NULL;
    GRB_TRY(join_prepare(w, first, drop, &j, err));
    if (j.docs_kept == 0) {
        status = grb_writer_splice(w, first, count, NULL, 0, err);
        goto done;
    }
    if (!drop) GRB_TRY(join_dead(w, &j, &dead, err));
    GRB_TRY(file_write(w, &j, &leaf.segment, err));
    grb_segfile_bounds(leaf.segment, &leaf.bounds);
    leaf.view = grb_view_new(w->allocator, w->epoch, dead);
    status = leaf.view ? grb_writer_splice(w, first, count, &leaf, 1, err)
                       : grb_error_memory(err, 64);
done:
    if (status == GREBE_OK) {
        w->checkpoint_due = w->durable != NULL;
    } else {
        grb_view_release(leaf.view);
        grb_segment_release(leaf.segment);
    }
    grb_bitmap_release(dead);
    join_free(w, &j);
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
    w->stats.freezes++;
    w->stats.freeze_ns += grb_clock_ns() - begun;
    w->freeze_at = w->options.memory_max;
    w->freeze_docs_at = w->options.docs_max;
done:
    grb_writer_recount(w);
    return status;
}

/* ---- merging ---- */

static grebe_status merge_run(grb_writer *w, uint32_t first, uint32_t count,
                              grebe_error *err) {
    uint64_t begun = grb_clock_ns();
    grebe_status status = leaves_join(w, first, count, true, err);
    w->stats.merges += status == GREBE_OK;
    w->stats.merge_ns += grb_clock_ns() - begun;
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

grebe_status grb_writer_maintain(grb_writer *w, grebe_error *err) {
    uint64_t bytes = w->sealed_bytes, docs = w->sealed_docs;
    grb_bounds bounds;
    if (w->growing) {
        grb_memseg_peek(w->growing, &bounds);
        bytes += grb_memseg_bytes(w->growing);
        docs += bounds.max_doc;
    }
    bool full = bytes >= w->freeze_at || docs >= w->freeze_docs_at ||
                (w->sealed_docs && w->list->count > GRB_MEMORY_LEAVES_MAX &&
                 w->freeze_docs_at == w->options.docs_max &&
                 w->list->count - memory_first(w) > GRB_MEMORY_LEAVES_MAX);
    if (GRB_LIKELY(!full)) return GREBE_OK;
    grebe_status status = grb_writer_freeze(w, err);
    if (status == GREBE_OK) status = merges_due(w, err);
    return status == GREBE_OK ? status : failure_count(w, bytes, docs, status);
}

/* One segment without dead documents needs no merge. */
static bool merged_already(const grb_writer *w) {
    return w->list->count == 0 ||
           (w->list->count == 1 && w->list->leaves[0].segment->file_number &&
            grb_view_dead_total(w->list->leaves[0].view) == 0);
}

grebe_status grb_writer_merge(grb_writer *w, grebe_error *err) {
    grebe_status status = grb_writer_enter(w, err);
    if (status != GREBE_OK) return status;
    if (w->in_batch) {
        status = grb_error(err, GREBE_STATE, "merge inside a batch");
        goto done;
    }
    GRB_TRY(grb_writer_seal(w, err));
    if (merged_already(w)) goto done;
    GRB_TRY(merge_run(w, 0, w->list->count, err));
    w->unpublished = w->undurable = true;
    grb_writer_recount(w);
done:
    grb_writer_leave(w);
    return status;
}
