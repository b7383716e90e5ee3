/* api/searcher.c - a searcher's life, and what it answers beside searches.
 *
 * Invariant: a searcher shows the same documents for as long as it lives.
 * Threads: any; a searcher is immutable but for its count.
 * Owns: one reference to a snapshot and one to the counters.
 */
#include "engine/engine.h"
#include "invert/invert.h"
#include "result/result.h"

#define ANSWER_MEMORY_MAX ((size_t)64 << 20)

static grebe_status call_check(const grebe_searcher *searcher, bool arguments,
                               grebe_error *err) {
    if (!searcher || !arguments)
        return grb_error(err, GREBE_ARGUMENT, "NULL is not allowed");
    if (GRB_UNLIKELY(grb_snapshot_foreign(searcher->snapshot)))
        return grb_error(err, GREBE_FORKED,
                         "the searcher belongs to the parent of this "
                         "process");
    return GREBE_OK;
}

uint64_t grebe_searcher_count(const grebe_searcher *searcher) {
    return searcher ? searcher->snapshot->live : 0;
}

uint64_t grebe_searcher_number(const grebe_searcher *searcher) {
    return searcher ? searcher->snapshot->number : 0;
}

grebe_schema *grebe_searcher_schema(const grebe_searcher *searcher) {
    return searcher ? grebe_schema_acquire(searcher->snapshot->schema) : NULL;
}

grebe_searcher *grebe_searcher_acquire(grebe_searcher *searcher) {
    if (searcher)
        atomic_fetch_add_explicit(&searcher->refs, 1, memory_order_relaxed);
    return searcher;
}

void grebe_searcher_release(grebe_searcher *searcher) {
    if (!searcher || atomic_fetch_sub_explicit(&searcher->refs, 1,
                                               memory_order_acq_rel) != 1)
        return;
    grb_handle_died();
    /* Locks may be held for ever in a forked child: it frees nothing. */
    if (grb_snapshot_foreign(searcher->snapshot)) return;
    grb_counters *counters = searcher->counters;
    grb_snapshot_release(searcher->snapshot);
    grb_free(counters->allocator, searcher, sizeof *searcher);
    grb_counters_release(counters);
}

/* Newest live document with the key; SCHEMA, DOCUMENT for a wrong one. */
static grebe_status key_find(const grebe_searcher *searcher,
                             const grebe_value *value, uint32_t *leaf,
                             uint32_t *doc, grebe_error *err) {
    const grebe_schema *schema = searcher->snapshot->schema;
    if (schema->key == GREBE_NO_FIELD)
        return grb_error(err, GREBE_SCHEMA, "the schema has no key field");
    const grb_field *field = &schema->fields[schema->key];
    bool fits = value->kind == field->kind ||
                (field->kind == GREBE_KEYWORD && value->kind == GREBE_TEXT);
    if (!fits) {
        grb_error(err, GREBE_DOCUMENT, "key \"%s\" is %s, not %s", field->name,
                  grb_kind_name(field->kind), grb_kind_name(value->kind));
        grb_error_field(err, field->name);
        return GREBE_DOCUMENT;
    }
    uint8_t scratch[8];
    grb_key key;
    grb_key_make(value, scratch, &key);
    return grb_snapshot_key(searcher->snapshot, &key, leaf, doc, err);
}

grebe_status grebe_searcher_get(grebe_searcher *searcher,
                                const grebe_value *key,
                                grebe_document *document, int *found,
                                grebe_error *err) {
    uint32_t leaf_ord, doc;
    grebe_status status;
    GRB_TRY(call_check(searcher, key && document && found, err));
    *found = 0;
    grebe_document_clear(document);
    GRB_TRY(key_find(searcher, key, &leaf_ord, &doc, err));
    if (doc == GRB_NO_DOC) return GREBE_OK;
    grb_leaf leaf;
    grb_buf scratch;
    grb_counters *counters = searcher->counters;
    grb_snapshot_leaf(searcher->snapshot, leaf_ord, &leaf);
    grb_buf_init(&scratch, counters->allocator, 0);
    uint64_t before = atomic_load_explicit(&leaf.segment->stored_blocks,
                                           memory_order_relaxed);
    status = grb_stored_read(leaf.segment, doc, &scratch, document, err);
    uint64_t read = atomic_load_explicit(&leaf.segment->stored_blocks,
                                         memory_order_relaxed) -
                    before;
    if (read > 0)
        atomic_fetch_add_explicit(&counters->stored_blocks, read,
                                  memory_order_relaxed);
    grb_buf_deinit(&scratch);
    *found = status == GREBE_OK;
done:
    return status;
}

static grb_search_context context_make(const grebe_searcher *searcher,
                                       grb_arena *arena) {
    return (grb_search_context){.snapshot = searcher->snapshot,
                                .schema = searcher->snapshot->schema,
                                .arena = arena};
}

static void text_out(const grb_buf *text, char *buffer, size_t size,
                     size_t *size_needed) {
    if (size_needed) *size_needed = text->size;
    if (size == 0 || !buffer) return;
    size_t shown = GRB_MIN(text->size, size - 1);
    if (shown) memcpy(buffer, text->bytes, shown);
    buffer[shown] = 0;
}

grebe_status grebe_searcher_explain(grebe_searcher *searcher,
                                    const grebe_query *query,
                                    const grebe_value *key, char *buffer,
                                    size_t size, size_t *size_needed,
                                    grebe_error *err) {
    grebe_status status = call_check(searcher, query && key, err);
    if (status != GREBE_OK) return status;
    uint32_t leaf_ord, doc;
    grb_arena arena;
    grb_buf text;
    grb_weight *weight;
    bool matched;
    grb_arena_init(&arena, searcher->counters->allocator, ANSWER_MEMORY_MAX);
    grb_buf_init(&text, searcher->counters->allocator, ANSWER_MEMORY_MAX);
    grb_search_context c = context_make(searcher, &arena);
    GRB_TRY(key_find(searcher, key, &leaf_ord, &doc, err));
    if (doc == GRB_NO_DOC) {
        status = grb_error(err, GREBE_MISSING_KEY,
                           "explain: no document has this key");
        goto done;
    }
    GRB_TRY(grb_weight_new(&c, query, true, &weight, err));
    GRB_TRY(grb_explain(&c, weight, leaf_ord, doc, &matched, &text, err));
    if (text.failed) {
        status = grb_error_memory(err, text.size);
        goto done;
    }
    text_out(&text, buffer, size, size_needed);
done:
    grb_buf_deinit(&text);
    grb_arena_deinit(&arena);
    return status;
}

/* ---- scan ---- */

typedef struct scan_run {
    grebe_document_visit visit;
    void *context;
    grebe_document *document;
    grb_buf scratch;
} scan_run;

static grebe_status scan_leaf(void *context, uint32_t leaf_ord,
                              const grb_leaf *leaf, grebe_error *err) {
    return GREBE_OK;
}

static grebe_status scan_window(void *context, const grb_match_window *w,
                                grebe_error *err) {
    scan_run *s = context;
    grebe_status status = GREBE_OK;
    for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++) {
        for (uint64_t bits = w->bits[i]; bits; bits &= bits - 1) {
            uint32_t doc = w->base + i * 64 + (uint32_t)grb_ctz64(bits);
            GRB_TRY(grb_stored_read(w->leaf->segment, doc, &s->scratch,
                                    s->document, err));
            GRB_TRY(s->visit(s->context, s->document));
        }
    }
done:
    return status;
}

grebe_status grebe_searcher_scan(grebe_searcher *searcher,
                                 const grebe_query *filter,
                                 grebe_document_visit visit, void *context,
                                 grebe_error *err) {
    grebe_status status = call_check(searcher, visit, err);
    if (status != GREBE_OK) return status;
    grb_arena arena;
    grb_weight *weight = NULL;
    scan_run s = {.visit = visit, .context = context};
    grb_visitor visitor = {
        .context = &s, .leaf = scan_leaf, .window = scan_window};
    grb_arena_init(&arena, searcher->counters->allocator, ANSWER_MEMORY_MAX);
    grb_buf_init(&s.scratch, searcher->counters->allocator, 0);
    grb_search_context c = context_make(searcher, &arena);
    GRB_TRY(grebe_document_new(searcher->snapshot->schema, &s.document, err));
    if (filter && filter->type != GRB_QUERY_ALL)
        GRB_TRY(grb_weight_new(&c, filter, false, &weight, err));
    GRB_TRY(grb_search_run(&c, weight, NULL, 0, false, &visitor, err));
done:
    grebe_document_free(s.document);
    grb_buf_deinit(&s.scratch);
    grb_arena_deinit(&arena);
    return status;
}
