/* commit/part.c - from documents to a private segment, and into the index.
 *
 * Building needs no lock, because nobody else knows the segment. It decides
 * between documents with the same key of one part; taking in, which happens in
 * the caller's order, decides between this part and everything before it.
 * Taken in, it is a sealed memory segment like any other: commits, going back,
 * searches and freezing need not know where it came from. The log does not
 * hold its documents, so that a checkpoint is due.
 *
 * Invariant: sequences of a private segment count from 0 and get their base
 * when it is taken in: the live list stays in the order of insertion.
 * Threads: one a part; taking in under the writer's mutex.
 * Owns: documents, segment, notes of what was refused.
 */
#include "commit/part.h"

grebe_status grb_part_new(grb_writer *w, grebe_schema *schema,
                          uint64_t position, grb_part **out,
                          grebe_error *err) {
    grb_part *p = grb_alloc_zero(w->allocator, sizeof *p);
    if (!p) return grb_error_memory(err, sizeof *p);
    p->writer = w;
    p->schema = grb_schema_acquire(schema);
    p->position = position;
    grb_arena_init(&p->arena, w->allocator, 0);
    *out = p;
    return GREBE_OK;
}

void grb_part_empty(grb_part *p) {
    const grebe_allocator *a = p->writer->allocator;
    grb_arena_deinit(&p->arena);
    grb_free(a, p->documents, p->capacity * sizeof *p->documents);
    for (uint32_t i = 0; i < p->schema_count; i++)
        grb_schema_release(p->schemas[i]);
    grb_free(a, p->schemas, p->schema_capacity * sizeof *p->schemas);
    grb_free(a, p->replaced, p->replaced_capacity * sizeof *p->replaced);
    grb_segment_release(p->segment);
    p->segment = NULL;
    p->documents = NULL;
    p->schemas = NULL;
    p->replaced = NULL;
    p->count = p->done = p->capacity = p->schema_count = 0;
    p->schema_capacity = p->replaced_count = p->replaced_capacity = 0;
}

void grb_part_free(grb_part *p) {
    if (!p) return;
    const grebe_allocator *a = p->writer->allocator;
    grb_part_empty(p);
    for (uint32_t i = 0; i < p->refused_count; i++)
        grb_document_free(p->refused[i].document);
    grb_free(a, p->refused, p->refused_capacity * sizeof *p->refused);
    grb_schema_release(p->schema);
    grb_free(a, p, sizeof *p);
}

/* Room for one more item; `items` is the address of a pointer to them. */
static grebe_status grow(const grb_part *p, void *items, uint32_t count,
                         uint32_t *capacity, size_t size, grebe_error *err) {
    if (count < *capacity) return GREBE_OK;
    uint32_t wider = *capacity ? *capacity * 2 : 16;
    void *held;
    memcpy(&held, items, sizeof held);
    void *grown =
        grb_resize(p->writer->allocator, held, *capacity * size, wider * size);
    if (!grown) return grb_error_memory(err, wider * size);
    memcpy(items, &grown, sizeof grown);
    *capacity = wider;
    return GREBE_OK;
}

/* Packed documents borrow their schema: the part holds each, once in a row.
 */
static grebe_status schema_hold(grb_part *p, grebe_schema *schema,
                                grebe_error *err) {
    if (schema == p->schema ||
        (p->schema_count && p->schemas[p->schema_count - 1] == schema))
        return GREBE_OK;
    grebe_status status =
        grow(p, &p->schemas, p->schema_count, &p->schema_capacity,
             sizeof(grebe_schema *), err);
    if (status == GREBE_OK)
        p->schemas[p->schema_count++] = grb_schema_acquire(schema);
    return status;
}

static grebe_status packed_add(grb_part *p, grebe_schema *schema,
                               grb_packed *packed, grebe_error *err) {
    grebe_status status;
    if (!packed) return grb_error_memory(err, p->arena.size);
    GRB_TRY(schema_hold(p, schema, err));
    GRB_TRY(grow(p, &p->documents, p->count, &p->capacity,
                 sizeof(grb_packed *), err));
    p->documents[p->count++] = packed;
done:
    return status;
}

grebe_status grb_part_add(grb_part *p, const grebe_document *document,
                          grebe_error *err) {
    return packed_add(p, document->schema,
                      grb_document_pack(document, &p->arena), err);
}

grebe_status grb_part_rest(const grb_part *p, grb_part **out,
                           grebe_error *err) {
    grb_part *rest = NULL;
    grebe_status status =
        grb_part_new(p->writer, p->schema, p->position + p->done, &rest, err);
    if (status != GREBE_OK) return status;
    for (uint32_t i = p->done; i < p->count; i++)
        GRB_TRY(packed_add(rest, grb_packed_schema(p->documents[i]),
                           grb_packed_copy(p->documents[i], &rest->arena),
                           err));
done:
    if (status == GREBE_OK)
        *out = rest;
    else
        grb_part_free(rest);
    return status;
}

/* ---- building ---- */

/* Finds what the document replaces in the segment and appends it. */
static grebe_status part_append(grb_part *p, const grb_inverted *inv,
                                bool overwrite, grebe_error *err) {
    grebe_status status;
    const grb_key *key = grb_inverted_key(inv);
    grb_segment *s = p->segment;
    uint32_t older = GRB_NO_DOC, doc;
    if (key->bytes) {
        grb_bounds bounds;
        grb_memseg_peek(s, &bounds);
        GRB_TRY(s->ops->key_newest(s, &bounds, key, &older, err));
        GRB_TRY(grow(p, &p->replaced, p->replaced_count, &p->replaced_capacity,
                     sizeof *p->replaced, err));
    }
    GRB_TRY(grb_memseg_append(s, inv, p->docs, &doc, err));
    p->docs++;
    if (older == GRB_NO_DOC) goto done;
    if (overwrite)
        p->replaced[p->replaced_count++] = older;
    else
        p->twice = true;
done:
    return status;
}

static grebe_status document_build(grb_part *p, const grebe_document *document,
                                   grb_inverted *inv, bool overwrite,
                                   grebe_error *err) {
    grebe_status status;
    grebe_document *own = NULL;
    GRB_TRY(grb_inverted_build(inv, document, false, err));
    if (GRB_UNLIKELY(document->schema != p->schema))
        GRB_TRY(grb_update_rehome(p->schema, p->writer->allocator, inv,
                                  document, &own, err));
    GRB_TRY(part_append(p, inv, overwrite, err));
    p->tokens += grb_inverted_tokens(inv);
    p->text_bytes += grb_inverted_text_bytes(inv);
    p->terms_skipped += grb_inverted_terms_skipped(inv);
done:
    grb_document_free(own);
    return status;
}

/* Notes the next document as refused. */
static grebe_status refuse(grb_part *p, const grebe_error *error,
                           grebe_error *err) {
    grebe_document *document = NULL;
    grebe_status status = grow(p, &p->refused, p->refused_count,
                               &p->refused_capacity, sizeof *p->refused, err);
    if (status != GREBE_OK) return status;
    status = grb_document_unpack(p->documents[p->done], p->writer->allocator,
                                 &document, err);
    if (status == GREBE_OK)
        p->refused[p->refused_count++] =
            (grb_refused){p->position + p->done, document, *error};
    else
        grb_document_free(document);
    return status;
}

/* What became of the next document: refused ones are no failure. */
static grebe_status document_end(grb_part *p, grebe_status status,
                                 const grebe_error *error, grebe_error *err) {
    if (status == GREBE_DOCUMENT || status == GREBE_LIMIT)
        status = refuse(p, error, err);
    else if (status != GREBE_OK && err)
        *err = *error;
    p->done += status == GREBE_OK;
    return status;
}

grebe_status grb_part_build(grb_part *p, const grb_part_rules *rules,
                            grb_builder *builder, grebe_error *err) {
    grebe_status status = GREBE_OK;
    grebe_error error;
    const grebe_allocator *a = p->writer->allocator;
    uint64_t begun = grb_clock_ns();
    if (!builder->inverted)
        GRB_TRY(grb_inverted_new(a, &builder->inverted, err));
    GRB_TRY(grb_memseg_new(p->writer->pool, p->schema, &p->segment, err));
    while (p->done < p->count &&
           !atomic_load_explicit(rules->stop, memory_order_relaxed) &&
           grb_memseg_bytes(p->segment) < rules->bytes_max) {
        status = grb_document_unpack(p->documents[p->done], a,
                                     &builder->document, &error);
        if (status == GREBE_OK)
            status = document_build(p, builder->document, builder->inverted,
                                    rules->overwrite, &error);
        GRB_TRY(document_end(p, status, &error, err));
    }
done:
    p->build_ns += grb_clock_ns() - begun;
    return status;
}

void grb_builder_end(grb_builder *builder) {
    grb_inverted_free(builder->inverted);
    grb_document_free(builder->document);
}

grebe_status grb_part_add_singly(grb_part *p, bool overwrite, uint64_t *added,
                                 grebe_error *err) {
    grebe_status status = GREBE_OK;
    grebe_error error;
    grebe_document *document = NULL;
    while (p->done < p->count) {
        status = grb_document_unpack(p->documents[p->done],
                                     p->writer->allocator, &document, &error);
        if (status == GREBE_OK)
            status = grb_writer_add(p->writer, document, overwrite, &error);
        *added += status == GREBE_OK;
        GRB_TRY(document_end(p, status, &error, err));
    }
done:
    grb_document_free(document);
    return status;
}

/* ---- taking in ---- */

/* The schema of the index has grown since, or is the same; it shrinks when
 * somebody goes back to before fields were added. */
static grebe_status schema_check(const grb_part *p, grebe_error *err) {
    const grebe_schema *then = p->schema, *now = p->writer->schema;
    bool fits = then->field_count <= now->field_count;
    for (uint32_t i = 0; fits && then != now && i < then->field_count; i++)
        fits = strcmp(then->fields[i].name, now->fields[i].name) == 0;
    if (fits) return GREBE_OK;
    return grb_error(err, GREBE_STATE,
                     "fields were taken back while documents that have them "
                     "were loaded");
}

static grebe_status dead_make(const grb_part *p, grb_bitmap **out,
                              grebe_error *err) {
    *out = NULL;
    if (!p->replaced_count) return GREBE_OK;
    grb_bitmap *dead = grb_bitmap_new(p->writer->allocator, p->docs);
    if (!dead) return grb_error_memory(err, p->docs / 8);
    for (uint32_t i = 0; i < p->replaced_count; i++)
        grb_bit_set(dead->words, p->replaced[i]);
    dead->set_count = p->replaced_count;
    *out = dead;
    return GREBE_OK;
}

/* Gathers what the part's living documents replace; `*used`: one that is to
 * stay has a key of theirs. */
static grebe_status older_find(grb_part *p, const grb_bitmap *dead,
                               bool overwrite, bool *used, grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_writer *w = p->writer;
    grb_segment *s = p->segment;
    if (w->live == 0 || p->schema->key == GREBE_NO_FIELD) return status;
    for (uint32_t doc = 0; doc < p->docs; doc++) {
        grb_key key;
        if (dead && grb_bit(dead->words, doc)) continue;
        GRB_TRY(s->ops->key_bytes(s, doc, NULL, &key.bytes, &key.size, err));
        key.hash = grb_hash(key.bytes, key.size, 0);
        if (overwrite)
            GRB_TRY(grb_update_victims(w, &key, err));
        else if (w->unique && !*used)
            GRB_TRY(grb_update_key_used(w, &key, used, err));
    }
done:
    return status;
}

static void counts_add(grb_part *p, const grb_bitmap *dead) {
    grb_writer *w = p->writer;
    w->next_sequence += p->docs;
    w->next_ordinal += p->docs;
    w->live += p->docs - (dead ? dead->set_count : 0);
    w->added += p->docs;
    w->stats.adds += p->docs;
    w->stats.tokens += p->tokens;
    w->stats.bytes_indexed += p->text_bytes;
    w->stats.terms_skipped += p->terms_skipped;
    w->stats.append_ns += p->build_ns;
    w->unpublished = w->undurable = true;
    w->checkpoint_due = w->durable != NULL;
}

grebe_status grb_part_take_in(grb_part *p, bool overwrite, grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_writer *w = p->writer;
    grb_leaf leaf = {0};
    grb_bitmap *dead = NULL;
    bool used = p->twice;
    w->victim_count = 0;
    if (p->docs == 0) return GREBE_OK;
    GRB_TRY(schema_check(p, err));
    GRB_TRY(grb_update_rebase(w, err));
    GRB_TRY(grb_writer_seal(w, err));
    GRB_TRY(dead_make(p, &dead, err));
    GRB_TRY(older_find(p, dead, overwrite, &used, err));
    leaf.segment = p->segment;
    grb_memseg_set_base(p->segment, w->next_sequence);
    p->segment->ordinal = w->next_ordinal;
    grb_memseg_bounds(p->segment, &leaf.bounds);
    leaf.view = grb_view_new(w->allocator, w->epoch, dead);
    status = leaf.view ? grb_writer_splice(w, w->list->count, 0, &leaf, 1, err)
                       : grb_error_memory(err, 64);
    if (status != GREBE_OK) {
        grb_view_release(leaf.view);
        grb_totals_release(leaf.bounds.totals);
        goto done;
    }
    grb_segment_acquire(p->segment);
    counts_add(p, dead);
    if (used) w->unique = false;
    grb_update_replace(w);
    grb_writer_recount(w);
done:
    w->victim_count = 0;
    grb_bitmap_release(dead);
    return status;
}
