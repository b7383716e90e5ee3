/* engine/look.c - what an index answers without writing.
 *
 * Invariant: nothing here waits for a writer but stats, which takes the mutex
 * for as long as copying counters takes.
 * Threads: any. Owns: nothing.
 */
#include "engine/engine.h"

#include "analysis/analysis.h"

/* ---- views ---- */

grebe_status grb_index_refresh(grebe_index *index, bool *changed,
                               grebe_error *err) {
    grb_writer *w = index->writer;
    *changed = false;
    if (w->options.mode != GREBE_READ) return GREBE_OK;
    grebe_status status = grb_writer_look(w, err);
    if (status != GREBE_OK) return status;
    status = grb_writer_refresh(w, changed, err);
    grb_writer_leave(w);
    return status;
}

grebe_status grb_index_view(grebe_index *index, grb_snapshot **out,
                            grebe_error *err) {
    bool changed;
    if (GRB_UNLIKELY(index->writer->options.mode == GREBE_READ)) {
        grebe_status status = grb_index_refresh(index, &changed, err);
        if (status != GREBE_OK) return status;
    }
    *out = grb_line_snapshot(index->writer->line);
    return GREBE_OK;
}

grebe_status grb_index_branch(grebe_index *index, grebe_index **out,
                              grebe_error *err) {
    grebe_status status;
    grb_writer *writer = NULL;
    grb_engine *engine = NULL;
    const grb_counters *c = index->engine->counters;
    GRB_TRY(grb_writer_branch(index->writer, &writer, err));
    GRB_TRY(
        grb_engine_wrap(c->allocator, writer, "", c->filters, &engine, err));
    writer = NULL;
    GRB_TRY(grb_index_new(engine, out, err));
done:
    grb_engine_release(engine);
    if (writer) {
        grb_writer_end(writer);
        grb_writer_release(writer);
    }
    return status;
}

/* ---- counters ---- */

static void leaves_count(grb_writer *w, grebe_index_stats *out) {
    out->segments = w->list->count;
    for (uint32_t i = 0; i < w->list->count; i++) {
        const grb_leaf *leaf = &w->list->leaves[i];
        out->docs_deleted += grb_view_dead_total(leaf->view);
        if (leaf->segment->file_number) continue;
        out->memory_segments++;
        out->memory_bytes += leaf->segment->ops->memory(leaf->segment);
    }
}

grebe_status grb_index_stats(grebe_index *index, grebe_index_stats *out,
                             grebe_error *err) {
    grb_writer *w = index->writer;
    grb_counters *c = index->engine->counters;
    grebe_status status = grb_writer_look(w, err);
    if (status != GREBE_OK) return status;
    *out = w->stats;
    grb_snapshot *s = grb_line_snapshot(w->line);
    out->docs = s->live;
    grb_snapshot_release(s);
    out->commit_number = w->number;
    out->pending = w->added + w->deleted;
    leaves_count(w, out);
    if (w->directory) {
        out->syncs = w->directory->syncs;
        out->bytes_written = w->directory->bytes_written;
    }
    grb_writer_leave(w);
    out->searches = c->searches;
    out->search_ns = c->search_ns;
    out->blocks_decoded = c->blocks_decoded;
    out->stored_blocks = c->stored_blocks;
    grb_filter_counts kept = {0, 0, 0, 0};
    if (c->filters) grb_filter_cache_counts(c->filters, &kept);
    out->filter_hits = kept.hits;
    out->filter_misses = kept.misses;
    out->filter_evictions = kept.evictions;
    out->filter_bytes = kept.bytes;
    return GREBE_OK;
}

/* ---- analysis and terms ---- */

static grebe_status field_find(const grebe_schema *schema, const char *name,
                               const grb_field **out, grebe_error *err) {
    size_t size = strlen(name);
    uint32_t id = grb_schema_find(schema, name, size);
    if (id != GREBE_NO_FIELD) {
        *out = &schema->fields[id];
        return GREBE_OK;
    }
    const char *nearest = grb_schema_nearest(schema, name, size);
    grb_error(err, GREBE_SCHEMA, "no field \"%.100s\"%s%s%s", name,
              nearest ? ", did you mean \"" : "", nearest ? nearest : "",
              nearest ? "\"?" : "");
    grb_error_field(err, name);
    return GREBE_SCHEMA;
}

static grebe_status tokens_visit(const grb_tokens *tokens,
                                 const grb_analysis_request *r) {
    for (uint32_t i = 0; i < tokens->count; i++) {
        const grb_token *t = &tokens->items[i];
        grebe_token token = {.bytes = t->bytes,
                             .size = t->size,
                             .position = t->position,
                             .start = t->start,
                             .end = t->end};
        grebe_status status = r->visit(r->context, &token);
        if (status != GREBE_OK) return status;
    }
    return GREBE_OK;
}

grebe_status grb_index_analyze(grebe_index *index,
                               const grb_analysis_request *r,
                               grebe_error *err) {
    grebe_status status;
    const grb_field *field;
    grb_snapshot *s = NULL;
    grb_tokens tokens;
    size_t bad_at;
    grb_tokens_init(&tokens, index->engine->counters->allocator);
    GRB_TRY(grb_index_view(index, &s, err));
    GRB_TRY(field_find(s->schema, r->field, &field, err));
    if (field->kind != GREBE_TEXT) {
        status = grb_error(err, GREBE_SCHEMA,
                           "field \"%s\" is %s, only text is analysed",
                           field->name, grb_kind_name(field->kind));
        grb_error_field(err, field->name);
        goto done;
    }
    if (!grb_utf8_valid(r->text, r->size, &bad_at)) {
        status = grb_error(err, GREBE_ARGUMENT,
                           "the text is not UTF-8 at byte %zu", bad_at);
        goto done;
    }
    GRB_TRY(grb_analyze(field->analyzer, r->text, r->size, &tokens, err));
    status = tokens_visit(&tokens, r);
done:
    grb_snapshot_release(s);
    grb_tokens_deinit(&tokens);
    return status;
}

/* One segment's terms while they are joined. */
typedef struct term_source {
    grb_terms *terms;
    const uint8_t *bytes;
    uint32_t size;
    bool found;
    grb_term term;
} term_source;

static int bytes_compare(const uint8_t *a, uint32_t a_size, const uint8_t *b,
                         uint32_t b_size) {
    uint32_t size = GRB_MIN(a_size, b_size);
    int order = size ? memcmp(a, b, size) : 0;
    return order ? order : (a_size > b_size) - (a_size < b_size);
}

static grebe_status source_next(term_source *t, grebe_error *err) {
    return t->terms->next(t->terms, &t->found, &t->bytes, &t->size, &t->term,
                          err);
}

static grebe_status sources_open(const grb_snapshot *s, uint32_t field,
                                 const grb_terms_request *r, grb_arena *arena,
                                 term_source *sources, grebe_error *err) {
    grebe_status status = GREBE_OK;
    for (uint32_t i = 0; i < grb_snapshot_leaf_count(s); i++) {
        grb_leaf leaf;
        grb_snapshot_leaf(s, i, &leaf);
        GRB_TRY(leaf.segment->ops->terms_open(
            leaf.segment, &leaf.bounds, field, arena, &sources[i].terms, err));
        if (!sources[i].terms) continue;
        GRB_TRY(
            sources[i].terms->seek(sources[i].terms, r->prefix, r->size, err));
        GRB_TRY(source_next(&sources[i], err));
    }
done:
    return status;
}

static const term_source *source_least(const term_source *sources,
                                       uint32_t count) {
    const term_source *least = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const term_source *t = &sources[i];
        if (!t->found) continue;
        if (!least ||
            bytes_compare(t->bytes, t->size, least->bytes, least->size) < 0)
            least = t;
    }
    return least;
}

/* Visits joined terms in order, each with the sum of its df. */
static grebe_status sources_visit(term_source *sources, uint32_t count,
                                  const grb_terms_request *r, grb_buf *bytes,
                                  grebe_error *err) {
    grebe_status status = GREBE_OK;
    const term_source *least;
    uint64_t seen = 0;
    while ((least = source_least(sources, count)) != NULL) {
        uint64_t df = 0;
        if (least->size < r->size ||
            memcmp(least->bytes, r->prefix ? r->prefix : "", r->size) != 0)
            break;
        if (r->limit && seen++ == r->limit) break;
        grb_buf_clear(bytes);
        grb_buf_put(bytes, least->bytes, least->size);
        if (bytes->failed) return grb_error_memory(err, least->size);
        for (uint32_t i = 0; i < count; i++) {
            term_source *t = &sources[i];
            if (!t->found || bytes_compare(t->bytes, t->size, bytes->bytes,
                                           (uint32_t)bytes->size) != 0)
                continue;
            df += t->term.df;
            GRB_TRY(source_next(t, err));
        }
        GRB_TRY(r->visit(r->context,
                         bytes->size ? (const char *)bytes->bytes : "",
                         bytes->size, df));
    }
done:
    return status;
}

grebe_status grb_index_terms(grebe_index *index, const grb_terms_request *r,
                             grebe_error *err) {
    grebe_status status;
    const grebe_allocator *a = index->engine->counters->allocator;
    const grb_field *field;
    grb_snapshot *s = NULL;
    grb_arena arena;
    grb_buf bytes;
    grb_arena_init(&arena, a, 0);
    grb_buf_init(&bytes, a, 0);
    GRB_TRY(grb_index_view(index, &s, err));
    GRB_TRY(field_find(s->schema, r->field, &field, err));
    if (!grb_kind_is_text(field->kind) || !(field->flags & GREBE_INDEXED) ||
        (field->flags & GREBE_KEY)) {
        status = grb_error(err, GREBE_SCHEMA,
                           "field \"%s\" has no terms: it is not an indexed "
                           "text or keyword field, or it is the key",
                           field->name);
        grb_error_field(err, field->name);
        goto done;
    }
    uint32_t count = grb_snapshot_leaf_count(s);
    term_source *sources = grb_arena_zero(&arena, count * sizeof *sources + 1);
    if (!sources) {
        status = grb_error_memory(err, count * sizeof *sources);
        goto done;
    }
    GRB_TRY(sources_open(s, field->id, r, &arena, sources, err));
    GRB_TRY(sources_visit(sources, count, r, &bytes, err));
done:
    grb_buf_deinit(&bytes);
    grb_arena_deinit(&arena);
    grb_snapshot_release(s);
    return status;
}
