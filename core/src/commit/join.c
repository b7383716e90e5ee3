/* commit/join.c - joining neighbouring leaves of the live list into one file.
 *
 * Freezing and merging are this one act. Freezing keeps every document, dead
 * ones too, so statistics stay; merging drops the dead. Sources never change
 * but for who is dead, so the file may be written while the index goes on:
 * what died meanwhile is dead in the new leaf from its beginning. If a leaf
 * is no longer in the list, or a document that was left out lives again (after
 * going back), the file is thrown away.
 *
 * Invariant: the live list changes at the end or not at all; in it files stand
 * before memory segments. Numbers of files being written are known to
 * checkpoints, which remove what nobody names.
 * Threads: begin, end and free under the writer's mutex, writing anywhere.
 * Owns: references to what it reads.
 */
#include "commit/join.h"

struct grb_join {
    grb_writer *writer;
    uint32_t count;
    bool drop;
    uint32_t docs_kept;
    grb_source *sources;   /* a reference to each segment and its totals */
    grb_bitmap **live;     /* of each source; NULL: all are kept */
    const uint32_t *order; /* NULL: as they lie */
    grebe_schema *schema;
    uint64_t file_number;
    uint64_t hash_seed, begun;
    char name[32];
    grb_segment *made;
    bool listed;  /* the file is somebody's */
    bool written; /* there is a file of that name */
    struct grb_join *next, **link;
};

bool grb_join_drops(const grb_join *j) {
    return j->drop;
}

uint64_t grb_join_begun(const grb_join *j) {
    return j->begun;
}

uint64_t grb_join_file(const grb_join *j) {
    return j->file_number;
}

grb_join *grb_join_next(const grb_join *j) {
    return j->next;
}

bool grb_join_reads(const grb_join *j, const grb_segment *segment) {
    for (uint32_t i = 0; i < j->count; i++)
        if (j->sources[i].segment == segment) return true;
    return false;
}

void grb_join_order(grb_join *j, const uint32_t *order) {
    j->order = order;
}

/* ---- beginning ---- */

/* The dead become the living. */
static void bitmap_turn(grb_bitmap *b, uint32_t max_doc) {
    for (uint32_t i = 0; i < b->word_count; i++) b->words[i] = ~b->words[i];
    if (max_doc % 64) b->words[max_doc / 64] &= (1ull << (max_doc % 64)) - 1;
    b->set_count = max_doc - b->set_count;
}

static grebe_status source_take(grb_join *j, uint32_t i, const grb_leaf *leaf,
                                grebe_error *err) {
    uint32_t kept = leaf->bounds.max_doc;
    grb_source *source = &j->sources[i];
    if (j->drop) {
        grebe_status status = grb_leaf_dead(j->writer, leaf, &j->live[i], err);
        if (status != GREBE_OK) return status;
    }
    if (j->live[i]) {
        bitmap_turn(j->live[i], leaf->bounds.max_doc);
        source->live = j->live[i]->words;
        kept = j->live[i]->set_count;
    }
    grb_segment_acquire(leaf->segment);
    grb_totals_acquire(leaf->bounds.totals);
    source->segment = leaf->segment;
    source->bounds = leaf->bounds;
    if (kept > GRB_SEGMENT_DOCS_MAX - j->docs_kept)
        return grb_error(err, GREBE_LIMIT,
                         "a segment of more than 2,147,483,647 documents");
    j->docs_kept += kept;
    return GREBE_OK;
}

static grebe_status file_number_take(grb_join *j, grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_writer *w = j->writer;
    if (!w->directory)
        GRB_TRY(grb_directory_open_ram(w->allocator, &w->directory, err));
    j->file_number =
        w->durable ? grb_durable_next_file(w->durable) : w->next_file++;
    if (!w->options.deterministic) j->hash_seed = grb_random();
    grb_segment_file_name(j->file_number, j->name);
done:
    return status;
}

grebe_status grb_join_begin(grb_writer *w, uint32_t first, uint32_t count,
                            bool drop, grb_join **out, grebe_error *err) {
    grebe_status status;
    grb_join *j = grb_alloc_zero(w->allocator, sizeof *j);
    if (!j) return grb_error_memory(err, sizeof *j);
    j->writer = w;
    j->count = count;
    j->drop = drop;
    j->begun = grb_clock_ns();
    j->next = w->joins;
    j->link = &w->joins;
    if (w->joins) w->joins->link = &j->next;
    w->joins = j;
    j->schema = grb_schema_acquire(w->schema);
    j->sources = grb_alloc_zero(w->allocator, count * sizeof *j->sources + 1);
    j->live = grb_alloc_zero(w->allocator, count * sizeof *j->live + 1);
    if (!j->sources || !j->live) {
        status = grb_error_memory(err, count * sizeof *j->sources);
        goto done;
    }
    for (uint32_t i = 0; i < count; i++)
        GRB_TRY(source_take(j, i, &w->list->leaves[first + i], err));
    status = j->docs_kept ? file_number_take(j, err) : GREBE_OK;
done:
    if (status == GREBE_OK)
        *out = j;
    else
        grb_join_free(j);
    return status;
}

/* ---- writing ---- */

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

static grebe_status file_write(const grb_join *j,
                               const grb_segfile_options *options,
                               grebe_error *err) {
    grb_directory *directory = j->writer->directory;
    grb_segfile_written written;
    if (!j->order)
        return grb_segfile_write(directory, j->name, j->sources, j->count,
                                 options, &written, err);
    grb_source laid = {.bounds = j->sources->bounds};
    grebe_status status =
        grb_reordered_new(j->writer->allocator, j->sources->segment,
                          &laid.bounds, j->order, &laid.segment, err);
    if (status != GREBE_OK) return status;
    status = grb_segfile_write(directory, j->name, &laid, 1, options, &written,
                               err);
    grb_segment_release(laid.segment);
    return status;
}

grebe_status grb_join_write(grb_join *j, grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_writer *w = j->writer;
    grb_segfile_options options = {.sync = w->durable != NULL,
                                   .schema = j->schema,
                                   .file_number = j->file_number,
                                   .hash_seed = j->hash_seed};
    if (j->docs_kept == 0) return GREBE_OK;
    memcpy(options.uuid, w->uuid, sizeof w->uuid);
    GRB_TRY(file_write(j, &options, err));
    j->written = true;
    GRB_TRY(grb_segfile_open(w->directory, j->name, w->uuid, j->file_number,
                             w->options.verify, &j->made, err));
    status = file_check(j->made, err);
done:
    return status;
}

/* ---- the end ---- */

/* Where the sources lie in the list, as they were; its count if they do not.
 */
static uint32_t sources_find(const grb_join *j) {
    const grb_list *list = j->writer->list;
    for (uint32_t first = 0; first + j->count <= list->count; first++) {
        uint32_t i = 0;
        while (i < j->count &&
               list->leaves[first + i].segment == j->sources[i].segment &&
               list->leaves[first + i].bounds.max_doc ==
                   j->sources[i].bounds.max_doc)
            i++;
        if (i < j->count) continue;
        bool files =
            first == 0 || list->leaves[first - 1].segment->file_number != 0;
        return files ? first : list->count;
    }
    return list->count;
}

/* Adds the dead of one source to those of the file; false if one that was
 * left out lives. `at` counts its documents in the file. */
static bool dead_gather(const grb_join *j, uint32_t i, const grb_bitmap *dead,
                        uint32_t *at, grb_bitmap *out) {
    uint32_t max_doc = j->sources[i].bounds.max_doc;
    for (uint32_t base = 0; base < max_doc; base += 64) {
        uint64_t all = max_doc - base < 64 ? (1ull << (max_doc - base)) - 1
                                           : ~(uint64_t)0;
        uint64_t now = dead ? dead->words[base / 64] : 0;
        uint64_t kept = j->live[i] ? j->live[i]->words[base / 64] : all;
        if (all & ~kept & ~now) return false;
        for (uint64_t bits = now & kept; bits; bits &= bits - 1) {
            uint64_t below = (bits & -bits) - 1;
            grb_bit_set(out->words, *at + grb_popcount64(kept & below));
            out->set_count++;
        }
        *at += grb_popcount64(kept);
    }
    return true;
}

/* The dead of now by their places in the file; `*valid` false as above. */
static grebe_status dead_now(const grb_join *j, uint32_t first,
                             grb_bitmap **out, bool *valid, grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint32_t at = 0;
    grb_bitmap *all = grb_bitmap_new(j->writer->allocator, j->docs_kept);
    if (!all) return grb_error_memory(err, j->docs_kept / 8);
    *valid = true;
    for (uint32_t i = 0; *valid && i < j->count; i++) {
        grb_bitmap *dead;
        GRB_TRY(grb_leaf_dead(j->writer, &j->writer->list->leaves[first + i],
                              &dead, err));
        *valid = dead_gather(j, i, dead, &at, all);
        grb_bitmap_release(dead);
    }
done:
    if (status == GREBE_OK && all->set_count) {
        *out = all;
    } else {
        *out = NULL;
        grb_bitmap_release(all);
    }
    return status;
}

grebe_status grb_join_end(grb_join *j, bool *taken, grebe_error *err) {
    grebe_status status;
    grb_writer *w = j->writer;
    grb_bitmap *dead = NULL;
    bool valid = false;
    uint32_t first = sources_find(j);
    *taken = false;
    if (first == w->list->count) return GREBE_OK;
    GRB_TRY(dead_now(j, first, &dead, &valid, err));
    if (!valid) goto done;
    if (j->docs_kept == 0) {
        status = grb_writer_splice(w, first, j->count, NULL, 0, err);
    } else {
        grb_leaf leaf = {.segment = j->made};
        grb_segfile_bounds(j->made, &leaf.bounds);
        leaf.view = grb_view_new(w->allocator, w->epoch, dead);
        status = leaf.view
                     ? grb_writer_splice(w, first, j->count, &leaf, 1, err)
                     : grb_error_memory(err, 64);
        if (status != GREBE_OK)
            grb_view_release(leaf.view);
        else
            grb_segment_acquire(j->made);
    }
    if (status != GREBE_OK) goto done;
    *taken = j->listed = true;
    w->checkpoint_due = w->durable != NULL;
done:
    grb_bitmap_release(dead);
    return status;
}

void grb_join_free(grb_join *j) {
    if (!j) return;
    grb_writer *w = j->writer;
    const grebe_allocator *a = w->allocator;
    *j->link = j->next;
    if (j->next) j->next->link = j->link;
    for (uint32_t i = 0; j->sources && i < j->count; i++) {
        if (!j->sources[i].segment) continue;
        grb_totals_release(j->sources[i].bounds.totals);
        grb_segment_release(j->sources[i].segment);
    }
    for (uint32_t i = 0; j->live && i < j->count; i++)
        grb_bitmap_release(j->live[i]);
    grb_free(a, j->live, j->count * sizeof *j->live + 1);
    grb_free(a, j->sources, j->count * sizeof *j->sources + 1);
    grb_segment_release(j->made);
    /* In memory nobody asks for it by name again. */
    if (j->written && (!j->listed || !w->durable) && w->directory)
        (void)w->directory->ops->remove(w->directory, j->name, NULL);
    grb_schema_release(j->schema);
    grb_free(a, j, sizeof *j);
}
