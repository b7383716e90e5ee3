/* commit/replay.c - from a folder's durable state to a live list.
 *
 * State first: segment files with their dead. Then the log in call order
 * through the same functions that served the calls, so that replay gives the
 * very state that was committed.
 *
 * Invariant: a record addresses documents by root-named file or by ordinal;
 * memory segments remember the ordinal of their first document.
 * Threads: nobody else sees the writer yet, or its mutex is held.
 */
#include "analysis/analysis.h"
#include "commit/writer.h"

typedef struct replay {
    grb_writer *w;
    grb_inverted *inverted;
} replay;

static grebe_status replay_add(void *context, grb_cursor *record,
                               bool overwrite, grebe_error *err) {
    replay *r = context;
    grebe_status status;
    grebe_document *document = NULL;
    GRB_TRY(grb_document_new(r->w->schema, r->w->allocator, &document, err));
    GRB_TRY(grb_document_decode(record, document, err));
    GRB_TRY(grb_inverted_build(r->inverted, document, false, err));
    GRB_TRY(grb_update_add(r->w, r->inverted, overwrite, err));
done:
    grb_document_free(document);
    return status;
}

static grebe_status replay_delete_key(void *context, const uint8_t *key,
                                      size_t size, grebe_error *err) {
    replay *r = context;
    grb_key wanted = {
        .bytes = key, .size = (uint32_t)size, .hash = grb_hash(key, size, 0)};
    return grb_update_delete_key(r->w, &wanted, err);
}

/* Leaf and document of an address; false if the list has none such. */
static bool address_find(const grb_writer *w, const grb_address *at,
                         uint32_t *leaf, uint32_t *doc) {
    for (uint32_t i = w->list->count; i-- > 0;) {
        const grb_leaf *l = &w->list->leaves[i];
        grb_bounds bounds = l->bounds;
        if (l->segment == w->growing) grb_memseg_peek(w->growing, &bounds);
        uint64_t first = l->segment->file_number ? 0 : l->segment->ordinal;
        if (l->segment->file_number != at->file_number || at->doc < first ||
            at->doc - first >= bounds.max_doc)
            continue;
        *leaf = i;
        *doc = (uint32_t)(at->doc - first);
        return true;
    }
    return false;
}

static grebe_status replay_delete_docs(void *context, const grb_address *docs,
                                       size_t count, grebe_error *err) {
    replay *r = context;
    grb_writer *w = r->w;
    grebe_status status = GREBE_OK;
    uint32_t leaf, doc;
    w->victim_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (!address_find(w, &docs[i], &leaf, &doc) ||
            grb_view_dead(w->list->leaves[leaf].view, doc, w->epoch)) {
            status = grb_error_corrupt(err, "log", GREBE_NO_OFFSET,
                                       "a delete names a document that is "
                                       "not there");
            goto done;
        }
        GRB_TRY(grb_update_victim(w, leaf, doc, err));
    }
    grb_update_kill(w);
done:
    w->victim_count = 0;
    return status;
}

static grebe_status replay_wipe(void *context, grebe_error *err) {
    return grb_update_wipe(((replay *)context)->w, err);
}

static const void *analyzer_find(const char *name, size_t size) {
    return grb_analyzer_find(name, size);
}

grebe_status grb_stored_schema_settle(grebe_schema *schema, grebe_error *err) {
    grebe_status status = grb_schema_resolve(schema, analyzer_find, err);
    if (status == GREBE_OK) grb_schema_freeze(schema);
    return status;
}

static grebe_status replay_schema(void *context, grebe_schema *schema,
                                  grebe_error *err) {
    grebe_status status = grb_stored_schema_settle(schema, err);
    if (status != GREBE_OK) return status;
    return grb_update_schema(((replay *)context)->w, schema, err);
}

static grebe_status replay_commit(void *context, uint64_t number,
                                  grebe_error *err) {
    replay *r = context;
    (void)err;
    r->w->number = number;
    r->w->epoch++;
    return GREBE_OK;
}

/* ---- state ---- */

static grb_segment *segment_open_already(const grb_list *old,
                                         uint64_t number) {
    for (uint32_t i = 0; old && i < old->count; i++) {
        if (old->leaves[i].segment->file_number != number) continue;
        grb_segment_acquire(old->leaves[i].segment);
        return old->leaves[i].segment;
    }
    return NULL;
}

static grebe_status dead_load(grb_writer *w, const grb_state_segment *state,
                              grb_bitmap **out, grebe_error *err) {
    grb_bitmap *dead = grb_bitmap_new(w->allocator, state->max_doc);
    if (!dead) return grb_error_memory(err, state->max_doc / 8);
    for (uint32_t i = 0; i < dead->word_count; i++) {
        dead->words[i] = state->dead[i];
        dead->set_count += grb_popcount64(dead->words[i]);
    }
    *out = dead;
    return GREBE_OK;
}

static grebe_status leaf_load(grb_writer *w, const grb_state_segment *state,
                              const grb_list *old, grb_leaf *leaf,
                              grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_bitmap *dead = NULL;
    char name[32];
    grb_segment_file_name(state->file_number, name);
    leaf->segment = segment_open_already(old, state->file_number);
    if (!leaf->segment)
        status =
            grb_segfile_open(w->directory, name, w->uuid, state->file_number,
                             w->options.verify, &leaf->segment, err);
    if (status == GREBE_NOT_FOUND)
        status = grb_error_corrupt(err, name, GREBE_NO_OFFSET,
                                   "the state names a file that is gone");
    if (status != GREBE_OK) goto done;
    grb_segfile_bounds(leaf->segment, &leaf->bounds);
    if (leaf->bounds.max_doc != state->max_doc) {
        status =
            grb_error_corrupt(err, name, 0, "%u documents, the state has %u",
                              leaf->bounds.max_doc, state->max_doc);
        goto done;
    }
    if (state->dead) GRB_TRY(dead_load(w, state, &dead, err));
    leaf->view = grb_view_new(w->allocator, w->epoch, dead);
    if (!leaf->view) status = grb_error_memory(err, 64);
done:
    grb_bitmap_release(dead);
    if (status != GREBE_OK) grb_segment_release(leaf->segment);
    return status;
}

static grebe_status state_load(grb_writer *w, const grb_list *old,
                               grebe_error *err) {
    const grb_state *state = grb_durable_state(w->durable);
    grebe_status status = GREBE_OK;
    w->number = state->number;
    w->next_sequence = state->next_sequence;
    w->unique = state->unique;
    w->live = 0;
    for (uint32_t i = 0; i < state->segment_count; i++) {
        grb_leaf leaf = {0};
        GRB_TRY(leaf_load(w, &state->segments[i], old, &leaf, err));
        w->live += leaf.bounds.max_doc - grb_view_dead_total(leaf.view);
        status = grb_writer_splice(w, i, 0, &leaf, 1, err);
        if (status == GREBE_OK) continue;
        grb_view_release(leaf.view);
        grb_segment_release(leaf.segment);
        goto done;
    }
done:
    return status;
}

grebe_status grb_writer_load(grb_writer *w, const grb_list *old,
                             grebe_error *err) {
    grebe_status status;
    replay r = {.w = w};
    const grb_replay calls = {.context = &r,
                              .add = replay_add,
                              .delete_key = replay_delete_key,
                              .delete_docs = replay_delete_docs,
                              .wipe = replay_wipe,
                              .schema = replay_schema,
                              .commit = replay_commit};
    w->replaying = true;
    w->next_ordinal = 0;
    GRB_TRY(grb_inverted_new(w->allocator, &r.inverted, err));
    GRB_TRY(state_load(w, old, err));
    GRB_TRY(grb_durable_replay(w->durable, &calls, err));
    w->added = w->deleted = 0;
    w->stats.adds = w->stats.deletes = 0;
done:
    w->replaying = false;
    grb_inverted_free(r.inverted);
    return status;
}

/* ---- following another process's commits ---- */

static void list_swap(grb_writer *w, grb_list *list) {
    grb_list_release(w->list);
    w->list = list;
    w->growing = list->growing ? list->leaves[list->count - 1].segment : NULL;
}

/* Loads what `fresh` found into an empty list; on failure all is as before. */
static grebe_status refresh_load(grb_writer *w, grb_durable *fresh,
                                 grebe_error *err) {
    grebe_status status;
    grb_durable *before = w->durable;
    grebe_schema *schema = w->schema;
    uint64_t number = w->number, live = w->live;
    bool unique = w->unique;
    grb_list *old = grb_list_acquire(w->list);
    grb_list *empty = grb_list_new(w->allocator, 0);
    if (!empty) {
        grb_list_release(old);
        return grb_error_memory(err, sizeof *empty);
    }
    list_swap(w, empty);
    w->durable = fresh;
    w->schema = grb_schema_acquire(grb_durable_state(fresh)->schema);
    status = grb_writer_load(w, old, err);
    if (status == GREBE_OK) status = grb_publish_first(w, err);
    if (status == GREBE_OK) {
        grb_schema_release(schema);
        grb_durable_close(before);
    } else {
        grb_schema_release(w->schema);
        w->schema = schema;
        w->durable = before;
        w->number = number;
        w->live = live;
        w->unique = unique;
        list_swap(w, grb_list_acquire(old));
    }
    grb_list_release(old);
    return status;
}

/* What fails while the writer at the other end writes a checkpoint is judged
 * only after the root was looked at again. */
static grebe_status refresh_once(grb_writer *w, bool *again,
                                 grebe_error *err) {
    grebe_status status;
    grb_durable *fresh = NULL;
    *again = false;
    GRB_TRY(grb_durable_open(w->directory, false, &fresh, err));
    GRB_TRY(grb_stored_schema_settle(grb_durable_state(fresh)->schema, err));
    status = refresh_load(w, fresh, err);
    if (status == GREBE_OK) return status;
    *again = grb_reader_overtaken(fresh, status);
done:
    if (fresh) grb_durable_close(fresh);
    return status;
}

bool grb_reader_overtaken(grb_durable *d, grebe_status status) {
    bool changed = false;
    if (status == GREBE_CONFLICT) return true;
    return status != GREBE_MEMORY &&
           grb_durable_changed(d, &changed, NULL) == GREBE_OK && changed;
}

grebe_status grb_writer_refresh(grb_writer *w, bool *changed,
                                grebe_error *err) {
    bool again = true;
    *changed = false;
    grebe_status status = grb_durable_changed(w->durable, changed, err);
    if (status != GREBE_OK || !*changed) return status;
    for (int i = 0; again && i < GRB_READER_TRIES; i++)
        status = refresh_once(w, &again, err);
    return status;
}
