/* commit/update.c - adds and deletes.
 *
 * A document is analysed outside the mutex; inside, victims (older documents
 * with its key) are found and their stamps reserved, the document appended,
 * then victims killed, which cannot fail: a failed call leaves everything as
 * it was. Deletes of any kind go the same way: collect, reserve, kill.
 *
 * Invariant: stamps carry the writer's epoch, which no published snapshot has
 * reached. The log gets each operation in the order of the calls.
 * Threads: under the writer's mutex but for analysis.
 */
#include "commit/writer.h"
#include "search/search.h"

#define VICTIMS_MAX (1u << 30)
#define EPOCH_SPAN (UINT32_MAX - (1u << 20)) /* of a view, then rebased */
#define CLOCK_EVERY 16u /* adds between two that are timed */

/* ---- victims ---- */

grebe_status grb_update_victim(grb_writer *w, uint32_t leaf, uint32_t doc,
                               grebe_error *err) {
    if (w->victim_count == w->victim_capacity) {
        uint32_t more = GRB_MAX(16u, w->victim_capacity * 2);
        if (more > VICTIMS_MAX)
            return grb_error(err, GREBE_LIMIT, "too many deletes in one call");
        grb_victim *grown = grb_resize(w->allocator, w->victims,
                                       w->victim_capacity * sizeof *grown,
                                       more * sizeof *grown);
        if (!grown) return grb_error_memory(err, more * sizeof *grown);
        w->victims = grown;
        w->victim_capacity = more;
    }
    if (!grb_view_reserve(w->list->leaves[leaf].view, doc))
        return grb_error_memory(err, GRB_WINDOW * 4);
    w->victims[w->victim_count++] = (grb_victim){leaf, doc};
    return GREBE_OK;
}

grebe_status grb_update_victims(grb_writer *w, const grb_key *key,
                                grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_snapshot now;
    grb_writer_now(w, &now);
    for (uint32_t i = w->list->count; i-- > 0;) {
        const grb_leaf *leaf = &w->list->leaves[i];
        uint32_t doc;
        GRB_TRY(grb_snapshot_key_newest(&now, i, key, &doc, err));
        while (doc != GRB_NO_DOC) {
            if (!grb_view_dead(leaf->view, doc, w->epoch)) {
                GRB_TRY(grb_update_victim(w, i, doc, err));
                if (w->unique) goto done;
            }
            GRB_TRY(
                leaf->segment->ops->key_older(leaf->segment, doc, &doc, err));
        }
    }
done:
    return status;
}

grebe_status grb_update_rebase(grb_writer *w, grebe_error *err) {
    for (uint32_t i = 0; i < w->list->count; i++) {
        grb_leaf leaf = w->list->leaves[i];
        bool growing = leaf.segment == w->growing;
        if (w->epoch - grb_view_base_epoch(leaf.view) <= EPOCH_SPAN) continue;
        if (growing) return grb_writer_seal(w, err);
        grb_view *view = grb_view_branch(leaf.view, w->epoch, w->epoch,
                                         leaf.bounds.max_doc);
        if (!view) return grb_error_memory(err, 64);
        leaf.view = view;
        grb_segment_acquire(leaf.segment);
        grb_totals_acquire(leaf.bounds.totals);
        grebe_status status = grb_writer_splice(w, i, 1, &leaf, 1, err);
        if (status != GREBE_OK) {
            grb_view_release(view);
            grb_totals_release(leaf.bounds.totals);
            grb_segment_release(leaf.segment);
            return status;
        }
    }
    return GREBE_OK;
}

/* Leaves without a living document go at once, as their statistics would
 * count for nothing that can be found. */
static void leaves_drop_dead(grb_writer *w) {
    for (uint32_t i = w->list->count; i-- > 0;) {
        grb_bounds bounds = w->list->leaves[i].bounds;
        if (w->list->leaves[i].segment == w->growing)
            grb_memseg_peek(w->growing, &bounds);
        if (grb_view_dead_total(w->list->leaves[i].view) < bounds.max_doc ||
            bounds.max_doc == 0)
            continue;
        if (grb_writer_splice(w, i, 1, NULL, 0, NULL) != GREBE_OK) return;
        grb_writer_recount(w);
    }
}

static bool leaf_all_dead(const grb_writer *w, uint32_t leaf) {
    const grb_leaf *l = &w->list->leaves[leaf];
    grb_bounds bounds = l->bounds;
    if (l->segment == w->growing) grb_memseg_peek(w->growing, &bounds);
    return grb_view_dead_total(l->view) >= bounds.max_doc;
}

void grb_update_replace(grb_writer *w) {
    bool drop = false;
    for (uint32_t i = 0; i < w->victim_count; i++) {
        const grb_victim *v = &w->victims[i];
        grb_view_kill(w->list->leaves[v->leaf].view, v->doc, w->epoch);
        drop |= leaf_all_dead(w, v->leaf);
    }
    w->live -= w->victim_count;
    if (w->victim_count) w->unpublished = w->undurable = true;
    if (drop) leaves_drop_dead(w);
    w->victim_count = 0;
}

void grb_update_kill(grb_writer *w) {
    w->deleted += w->victim_count;
    w->stats.deletes += w->victim_count;
    grb_update_replace(w);
}

/* ---- the log ---- */

static bool log_wanted(const grb_writer *w) {
    return w->durable && !w->replaying && !w->checkpoint_due;
}

/* A log that cannot hold the records is no loss: the next hard commit writes
 * a checkpoint instead. */
static void log_check(grb_writer *w) {
    if (!w->pending.failed && w->pending.size <= GRB_LOG_PENDING_MAX) return;
    w->checkpoint_due = true;
    w->pending.failed = false;
    /* Nothing more goes there before the checkpoint: megabytes are given
     * back. */
    if (!w->in_batch) {
        grb_buf_deinit(&w->pending);
        grb_buf_init(&w->pending, w->allocator, 0);
    }
}

static grebe_status log_victims(grb_writer *w, grebe_error *err) {
    size_t size = w->victim_count * sizeof(grb_address);
    grb_address *docs = grb_alloc(w->allocator, size + 1);
    if (!docs) return grb_error_memory(err, size);
    for (uint32_t i = 0; i < w->victim_count; i++) {
        const grb_segment *s = w->list->leaves[w->victims[i].leaf].segment;
        docs[i].file_number = s->file_number;
        docs[i].doc = s->file_number
                          ? w->victims[i].doc
                          : (uint32_t)(s->ordinal + w->victims[i].doc);
    }
    grb_record_delete_docs(&w->pending, docs, w->victim_count);
    log_check(w);
    grb_free(w->allocator, docs, size + 1);
    return GREBE_OK;
}

/* ---- adding ---- */

static grebe_status inverted_take(grb_writer *w, grb_inverted **out,
                                  grebe_error *err) {
    *out = atomic_exchange_explicit(&w->spare, NULL, memory_order_acquire);
    return *out ? GREBE_OK : grb_inverted_new(w->allocator, out, err);
}

static void inverted_give(grb_writer *w, grb_inverted *inv) {
    grb_inverted_free(
        atomic_exchange_explicit(&w->spare, inv, memory_order_acq_rel));
}

grebe_status grb_update_key_used(grb_writer *w, const grb_key *key, bool *used,
                                 grebe_error *err) {
    grb_snapshot now;
    uint32_t leaf, doc;
    grb_writer_now(w, &now);
    grebe_status status = grb_snapshot_key(&now, key, &leaf, &doc, err);
    *used = status == GREBE_OK && doc != GRB_NO_DOC;
    return status;
}

grebe_status grb_update_add(grb_writer *w, grb_inverted *inv, bool overwrite,
                            grebe_error *err) {
    grebe_status status;
    const grb_key *key = grb_inverted_key(inv);
    bool keyed = key && key->bytes, used = false;
    uint32_t doc;
    w->victim_count = 0;
    GRB_TRY(grb_update_rebase(w, err));
    GRB_TRY(grb_writer_grow(w, err));
    if (keyed && overwrite)
        GRB_TRY(grb_update_victims(w, key, err));
    else if (keyed && w->unique)
        GRB_TRY(grb_update_key_used(w, key, &used, err));
    GRB_TRY(grb_memseg_append(w->growing, inv, w->next_sequence, &doc, err));
    w->next_sequence++;
    w->next_ordinal++;
    w->live++;
    w->added++;
    w->stats.adds++;
    if (used) w->unique = false;
    w->unpublished = w->undurable = true;
    if (log_wanted(w)) {
        const uint8_t *bytes;
        size_t size;
        grb_inverted_log(inv, &bytes, &size);
        grb_record_add(&w->pending, bytes, size, overwrite);
        log_check(w);
    }
    grb_update_replace(w);
done:
    w->victim_count = 0;
    return status;
}

/* One value of a document of another schema, by the name of its field. */
static grebe_status instance_rehome(grebe_document *to,
                                    const grebe_document *from,
                                    const grb_instance *instance,
                                    grebe_error *err) {
    const grb_field *field = &from->schema->fields[instance->field];
    uint32_t id = grb_schema_find(to->schema, field->name, field->name_size);
    grebe_value value;
    if (id == GREBE_NO_FIELD) {
        grb_error(err, GREBE_DOCUMENT, "the index has no field \"%s\"",
                  field->name);
        grb_error_field(err, field->name);
        return GREBE_DOCUMENT;
    }
    if (!instance->kind) return grb_document_put_null(to, id, err);
    grb_instance_value(from, instance, &value);
    return grb_document_put(to, id, &value, err);
}

grebe_status grb_update_rehome(grebe_schema *schema, const grebe_allocator *a,
                               grb_inverted *inv,
                               const grebe_document *document,
                               grebe_document **own, grebe_error *err) {
    grebe_status status;
    uint32_t given = document->count - document->default_count;
    GRB_TRY(grb_document_new(schema, a, own, err));
    for (uint32_t i = 0; i < given; i++)
        GRB_TRY(instance_rehome(*own, document, &document->instances[i], err));
    status = grb_inverted_build(inv, *own, false, err);
done:
    return status;
}

static void add_count(grb_writer *w, const grb_inverted *inv) {
    w->stats.tokens += grb_inverted_tokens(inv);
    w->stats.bytes_indexed += grb_inverted_text_bytes(inv);
    w->stats.terms_skipped += grb_inverted_terms_skipped(inv);
}

grebe_status grb_writer_add(grb_writer *w, const grebe_document *document,
                            bool overwrite, grebe_error *err) {
    grebe_status status;
    grb_inverted *inv = NULL;
    grebe_document *own = NULL;
    uint64_t begun = 0, built = 0;
    bool entered = false;
    GRB_TRY(inverted_take(w, &inv, err));
    bool timed = atomic_fetch_add_explicit(&w->turn, 1, memory_order_relaxed) %
                     CLOCK_EVERY ==
                 0;
    if (timed) begun = grb_clock_ns();
    /* Only a guess: a record that is missing is made under the mutex. */
    bool log = atomic_load_explicit(&w->log_open, memory_order_relaxed);
    GRB_TRY(grb_inverted_build(inv, document, log, err));
    if (timed) built = grb_clock_ns();
    GRB_TRY(grb_writer_enter(w, err));
    entered = true;
    if (GRB_UNLIKELY(document->schema != w->schema))
        GRB_TRY(grb_update_rehome(w->schema, w->allocator, inv, document, &own,
                                  err));
    GRB_TRY(grb_writer_maintain(w, err));
    if (log_wanted(w))
        GRB_TRY(grb_inverted_log_make(inv, own ? own : document, err));
    GRB_TRY(grb_update_add(w, inv, overwrite, err));
    atomic_store_explicit(&w->log_open, log_wanted(w), memory_order_relaxed);
    add_count(w, inv);
    if (timed) {
        w->stats.analyse_ns += (built - begun) * CLOCK_EVERY;
        w->stats.append_ns += (grb_clock_ns() - built) * CLOCK_EVERY;
    }
done:
    if (entered) grb_writer_leave(w);
    grb_document_free(own);
    if (inv) inverted_give(w, inv);
    return status;
}

/* ---- deleting ---- */

static grebe_status key_check(const grebe_schema *schema,
                              const grebe_value *key, grebe_error *err) {
    if (schema->key == GREBE_NO_FIELD)
        return grb_error(err, GREBE_SCHEMA, "the schema has no key field");
    const grb_field *field = &schema->fields[schema->key];
    bool fits = key->kind == field->kind ||
                (field->kind == GREBE_KEYWORD && key->kind == GREBE_TEXT);
    if (fits) return GREBE_OK;
    grb_error(err, GREBE_DOCUMENT, "the key field is %s, the key given is %s",
              grb_kind_name(field->kind), grb_kind_name(key->kind));
    grb_error_field(err, field->name);
    return GREBE_DOCUMENT;
}

grebe_status grb_update_delete_key(grb_writer *w, const grb_key *key,
                                   grebe_error *err) {
    grebe_status status;
    w->victim_count = 0;
    GRB_TRY(grb_update_rebase(w, err));
    GRB_TRY(grb_update_victims(w, key, err));
    if (w->victim_count && log_wanted(w)) {
        grb_record_delete_key(&w->pending, key->bytes, key->size);
        log_check(w);
    }
    grb_update_kill(w);
done:
    w->victim_count = 0;
    return status;
}

grebe_status grb_writer_delete(grb_writer *w, const grebe_value *value,
                               uint64_t *count, grebe_error *err) {
    grebe_status status;
    uint8_t scratch[8];
    grb_key key;
    status = grb_writer_enter(w, err);
    if (status != GREBE_OK) return status;
    uint64_t before = w->live;
    GRB_TRY(key_check(w->schema, value, err));
    grb_key_make(value, scratch, &key);
    GRB_TRY(grb_update_delete_key(w, &key, err));
    if (count) *count = before - w->live;
done:
    grb_writer_leave(w);
    return status;
}

grebe_status grb_update_wipe(grb_writer *w, grebe_error *err) {
    if (w->list->count == 0) {
        w->unique = true;
        return GREBE_OK;
    }
    grb_list *empty = grb_list_new(w->allocator, 0);
    if (!empty) return grb_error_memory(err, sizeof *empty);
    w->unique = true;
    if (log_wanted(w)) {
        grb_record_wipe(&w->pending);
        log_check(w);
    }
    w->unpublished = w->undurable = true;
    w->deleted += w->live;
    w->stats.deletes += w->live;
    w->live = 0;
    grb_list_release(w->list);
    w->list = empty;
    w->growing = NULL;
    w->sealed_bytes = w->sealed_docs = 0;
    return GREBE_OK;
}

/* Collects the matches of a window as victims. */
static grebe_status victims_collect(void *context, const grb_match_window *m,
                                    grebe_error *err) {
    grb_writer *w = context;
    for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++) {
        for (uint64_t bits = m->bits[i]; bits; bits &= bits - 1) {
            uint32_t doc = m->base + i * 64 + (uint32_t)grb_ctz64(bits);
            grebe_status status = grb_update_victim(w, m->leaf_ord, doc, err);
            if (status != GREBE_OK) return status;
        }
    }
    return GREBE_OK;
}

static grebe_status victims_by_query(grb_writer *w, const grebe_query *query,
                                     grebe_error *err) {
    grebe_status status;
    grb_snapshot now;
    grb_weight *weight;
    grb_visitor visitor = {.context = w, .window = victims_collect};
    grb_writer_now(w, &now);
    grb_search_context context = {
        .snapshot = &now, .schema = w->schema, .arena = &w->scratch};
    GRB_TRY(grb_weight_new(&context, query, false, &weight, err));
    GRB_TRY(grb_search_run(&context, weight, NULL, 0, false, &visitor, err));
done:
    grb_arena_reset(&w->scratch);
    return status;
}

grebe_status grb_writer_delete_by_query(grb_writer *w,
                                        const grebe_query *query,
                                        uint64_t *count, grebe_error *err) {
    grebe_status status = grb_writer_enter(w, err);
    if (status != GREBE_OK) return status;
    uint64_t before = w->live;
    w->victim_count = 0;
    if (query->type == GRB_QUERY_ALL) {
        GRB_TRY(grb_update_wipe(w, err));
    } else {
        GRB_TRY(grb_update_rebase(w, err));
        GRB_TRY(victims_by_query(w, query, err));
        if (w->victim_count && log_wanted(w)) GRB_TRY(log_victims(w, err));
        grb_update_kill(w);
    }
    if (count) *count = before - w->live;
done:
    w->victim_count = 0;
    grb_writer_leave(w);
    return status;
}

/* ---- get, fields ---- */

/* Reads a stored record into a document, which may have been made for another
 * schema of this index (fields were added, or taken back by a restore): values
 * go by their fields' names, those that it does not have are left out. */
static grebe_status record_read(grb_writer *w, const grb_buf *record,
                                grebe_document *document, grebe_error *err) {
    grebe_status status;
    grb_cursor cursor;
    grebe_document *own = NULL;
    grb_document_clear(document);
    grb_cursor_init(&cursor, record->bytes, record->size);
    if (GRB_LIKELY(document->schema == w->schema))
        return grb_document_decode(&cursor, document, err);
    GRB_TRY(grb_document_new(w->schema, w->allocator, &own, err));
    GRB_TRY(grb_document_decode(&cursor, own, err));
    for (uint32_t i = 0; i < own->count; i++) {
        const grb_field *field = &w->schema->fields[own->instances[i].field];
        if (grb_schema_find(document->schema, field->name, field->name_size) ==
            GREBE_NO_FIELD)
            continue;
        GRB_TRY(instance_rehome(document, own, &own->instances[i], err));
    }
done:
    grb_document_free(own);
    return status;
}

grebe_status grb_writer_get(grb_writer *w, const grebe_value *value,
                            grebe_document *document, int *found,
                            grebe_error *err) {
    grebe_status status;
    uint8_t scratch[8];
    uint32_t leaf, doc;
    grb_key key;
    grb_snapshot now;
    grb_buf record;
    *found = 0;
    status = grb_writer_look(w, err);
    if (status != GREBE_OK) return status;
    grb_buf_init(&record, w->allocator, 0);
    GRB_TRY(key_check(w->schema, value, err));
    grb_key_make(value, scratch, &key);
    grb_writer_now(w, &now);
    GRB_TRY(grb_snapshot_key(&now, &key, &leaf, &doc, err));
    if (doc == GRB_NO_DOC) goto done;
    *found = 1;
    if (!document) goto done;
    grb_segment *s = w->list->leaves[leaf].segment;
    GRB_TRY(s->ops->stored(s, doc, &record, err));
    GRB_TRY(record_read(w, &record, document, err));
done:
    grb_buf_deinit(&record);
    grb_writer_leave(w);
    return status;
}

grebe_status grb_update_schema(grb_writer *w, grebe_schema *schema,
                               grebe_error *err) {
    grebe_status status;
    GRB_TRY(grb_writer_seal(w, err));
    if (log_wanted(w)) {
        grb_record_schema(&w->pending, schema);
        log_check(w);
    }
    grb_schema_acquire(schema);
    grb_schema_release(w->schema);
    w->schema = schema;
    w->unpublished = w->undurable = true;
done:
    return status;
}

grebe_status grb_writer_add_fields(grb_writer *w, const grebe_schema *asked,
                                   grebe_error *err) {
    grebe_schema *merged = NULL;
    grebe_status status = grb_writer_enter(w, err);
    if (status != GREBE_OK) return status;
    GRB_TRY(grb_schema_merge(w->schema, asked, true, &merged, err));
    if (merged->field_count != w->schema->field_count)
        GRB_TRY(grb_update_schema(w, merged, err));
done:
    grb_schema_release(merged);
    grb_writer_leave(w);
    return status;
}
