/* segment/terms_write.c - dictionary and postings of all fields.
 *
 * For each field the terms of all sources are merged in byte order and the
 * postings of equal terms joined, with documents renumbered and dropped ones
 * left out. Terms stand in blocks of 32:
 *
 *   u8      terms (1-32)
 *   varint  place that places in payloads count from
 *   varint  size of the term bytes
 *   u16     end of each term's payload
 *   terms   varint shared with the one before, varint more, bytes;
 *           the first shares nothing
 *   payload varint df << 2 | form, then by form:
 *           0 varint document, varint position (if the field keeps them)
 *           1 the list (list.c); 2, 3 varint place, varint size
 *           df 0: a value of a column that is no term
 *   zeros   up to a multiple of 16
 *
 * Blocks wait in memory until there are 4 MiB of them, so that a scan of the
 * terms reads long stretches while postings stream past. The index keeps 16
 * bytes a block: the first 8 bytes of its first term, and its place.
 *
 * Invariant: terms of a field rise strictly.
 * Threads: one. Owns: term blocks and the term index.
 */
#include "segment/write.h"

#define READY_MAX ((size_t)4 << 20)

void grb_terms_out_init(grb_terms_out *t, grb_segout *out) {
    memset(t, 0, sizeof *t);
    t->out = out;
    grb_buf_init(&t->bytes, out->allocator, 0);
    grb_buf_init(&t->payload, out->allocator, 0);
    grb_buf_init(&t->ready, out->allocator, 0);
    grb_buf_init(&t->index, out->allocator, 0);
    grb_buf_init(&t->last, out->allocator, 0);
    t->place_base = UINT64_MAX;
}

void grb_terms_out_field(grb_terms_out *t) {
    t->field_blocks = t->field_terms = 0;
}

void grb_terms_out_flush(grb_terms_out *t) {
    uint64_t base = grb_segout_at(t->out);
    uint32_t end = (uint32_t)(t->index.size / 16);
    if (t->out->status == GREBE_OK && (t->index.failed || t->ready.failed))
        t->out->status = grb_error_memory(t->out->err, t->index.size);
    if (t->out->status != GREBE_OK) return;
    for (; t->ready_from < end; t->ready_from++) {
        uint8_t *entry = t->index.bytes + (size_t)t->ready_from * 16 + 8;
        grb_store64(entry, grb_load64(entry) + (base << GRB_TERM_SIZE_BITS));
    }
    grb_segout_put(t->out, t->ready.bytes, t->ready.size);
    grb_buf_rewind(&t->ready);
}

static void block_end(grb_terms_out *t) {
    static const uint8_t zeros[16];
    uint64_t at = t->ready.size;
    grb_buf_u8(&t->ready, (uint8_t)t->count);
    grb_buf_varint(&t->ready, t->place_base == UINT64_MAX ? 0 : t->place_base);
    grb_buf_varint(&t->ready, t->bytes.size);
    grb_buf_put(&t->ready, t->ends, t->count * sizeof *t->ends);
    grb_buf_put(&t->ready, t->bytes.bytes, t->bytes.size);
    grb_buf_put(&t->ready, t->payload.bytes, t->payload.size);
    grb_buf_put(&t->ready, zeros, -t->ready.size & 15);
    grb_buf_u64(&t->index, t->first_prefix);
    grb_buf_u64(&t->index,
                at << GRB_TERM_SIZE_BITS | (t->ready.size - at) / 16);
    grb_buf_rewind(&t->bytes);
    grb_buf_rewind(&t->payload);
    t->count = 0;
    t->place_base = UINT64_MAX;
    t->field_blocks++;
    t->block_total++;
    if (t->ready.size >= READY_MAX) grb_terms_out_flush(t);
    if (t->out->status == GREBE_OK &&
        (t->ready.failed || t->index.failed || t->payload.failed ||
         t->bytes.failed || t->last.failed))
        t->out->status = grb_error_memory(t->out->err, t->ready.size);
}

void grb_terms_out_put(grb_terms_out *t, const void *bytes, size_t size) {
    size_t shared = 0;
    if (t->count) {
        size_t most = GRB_MIN(size, t->last.size);
        while (shared < most &&
               t->last.bytes[shared] == ((const uint8_t *)bytes)[shared])
            shared++;
        grb_buf_varint(&t->bytes, shared);
    } else {
        t->first_prefix = grb_term_prefix(bytes, size);
    }
    grb_buf_varint(&t->bytes, size - shared);
    grb_buf_put(&t->bytes, (const uint8_t *)bytes + shared, size - shared);
    t->last.size = shared;
    grb_buf_put(&t->last, (const uint8_t *)bytes + shared, size - shared);
    t->ends[t->count++] = (uint16_t)t->payload.size;
    t->field_terms++;
    if (t->count == GRB_TERM_BLOCK) block_end(t);
}

void grb_terms_out_field_end(grb_terms_out *t) {
    if (t->count) block_end(t);
}

void grb_terms_out_deinit(grb_terms_out *t) {
    grb_buf_deinit(&t->bytes);
    grb_buf_deinit(&t->payload);
    grb_buf_deinit(&t->ready);
    grb_buf_deinit(&t->index);
    grb_buf_deinit(&t->last);
}

/* ---- joining the sources ---- */

/* One source's place in a field's terms. */
typedef struct head {
    grb_terms *terms;
    bool found;
    const uint8_t *bytes;
    uint32_t size;
    grb_term term;
} head;

typedef struct join {
    grb_segwriter *w;
    grb_terms_out terms;
    grb_list list;
    head *heads;
    grb_arena cursor_arena; /* cursors of the present term */
    uint64_t *seen; /* documents with the field, if totals are recounted */
    grb_buf name;   /* bytes of the present term */
} join;

static grebe_status head_next(head *h, grebe_error *err) {
    return h->terms->next(h->terms, &h->found, &h->bytes, &h->size, &h->term,
                          err);
}

/* Documents of the current block, whatever its kind. */
static uint32_t block_docs(const grb_block *b, uint32_t *docs) {
    uint32_t n = 0;
    if (b->kind == GRB_BLOCK_RUN) {
        uint32_t count = b->last - b->first + 1;
        for (; n < count; n++) docs[n] = b->first + n;
    } else {
        for (uint32_t i = 0; i < b->word_count; i++)
            for (uint64_t w = b->words[i]; w; w &= w - 1)
                docs[n++] = b->first + i * 64 + (uint32_t)grb_ctz64(w);
    }
    return n;
}

/* The documents of a block as ids: its own array where it has one. A run may
 * be longer than a block: then memory comes from the cursor's arena. */
static grebe_status docs_get(join *j, const grb_block *b, uint32_t *room,
                             const uint32_t **docs, uint32_t *count) {
    if (b->kind == GRB_BLOCK_DOCS) {
        *docs = b->docs;
        *count = b->count;
        return GREBE_OK;
    }
    if (b->kind == GRB_BLOCK_RUN && b->last - b->first >= GRB_WINDOW) {
        size_t size = ((size_t)b->last - b->first + 1) * sizeof *room;
        room = grb_arena_alloc(&j->cursor_arena, size);
        if (!room) return grb_error_memory(j->w->err, size);
    }
    *count = block_docs(b, room);
    *docs = room;
    return GREBE_OK;
}

static grebe_status block_join(join *j, size_t s, grb_postings *p,
                               uint32_t *room) {
    grebe_status status;
    const uint32_t *docs = NULL, *freqs = NULL, *places = NULL;
    uint32_t count = 0;
    grebe_error *err = j->w->err;
    GRB_TRY(docs_get(j, &p->block, room, &docs, &count));
    if (j->list.positions) GRB_TRY(p->ops->freqs(p, &freqs, err));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t doc = grb_segwriter_doc(j->w, s, docs[i]), freq = 1;
        if (doc == GRB_NO_DOC) continue;
        if (j->list.positions) {
            GRB_TRY(p->ops->positions(p, i, &places, &freq, err));
            if (freq != freqs[i])
                return grb_error(err, GREBE_INTERNAL,
                                 "%u positions for a frequency of %u", freq,
                                 freqs[i]);
        }
        grb_list_add(&j->list, doc, freq, places);
        if (j->seen) grb_bit_set(j->seen, doc);
    }
done:
    return status;
}

static grebe_status postings_join(join *j, size_t s, const grb_term *term) {
    grebe_status status;
    grb_postings *p;
    const grb_source *source = &j->w->sources[s];
    grebe_error *err = j->w->err;
    uint32_t room[GRB_WINDOW], min_doc = 0;
    int wanted =
        j->list.positions ? GRB_POSTINGS_POSITIONS : GRB_POSTINGS_DOCS;
    grb_arena_reset(&j->cursor_arena);
    GRB_TRY(source->segment->ops->postings_open(source->segment,
                                                &source->bounds, term, wanted,
                                                &j->cursor_arena, &p, err));
    for (;;) {
        GRB_TRY(p->ops->next_block(p, min_doc, err));
        if (p->block.kind == GRB_BLOCK_END) break;
        GRB_TRY(block_join(j, s, p, room));
        min_doc = p->block.last + 1;
    }
done:
    return status;
}

/* The least term of all heads goes into `name`; false at the end. */
static bool least_find(join *j, size_t *only) {
    const head *least = NULL;
    for (size_t s = 0; s < j->w->count; s++) {
        const head *h = &j->heads[s];
        if (!h->found) continue;
        if (!least ||
            grb_bytes_order(h->bytes, h->size, least->bytes, least->size) < 0)
            least = h;
    }
    if (!least) return false;
    *only = (size_t)(least - j->heads);
    grb_buf_rewind(&j->name);
    grb_buf_put(&j->name, least->bytes, least->size);
    return true;
}

static grebe_status term_join(join *j, size_t from, const uint8_t *lengths,
                              bool positions) {
    grebe_status status = GREBE_OK;
    grb_list_begin(&j->list, lengths, positions);
    for (size_t s = from; s < j->w->count; s++) {
        head *h = &j->heads[s];
        if (!h->found || grb_bytes_order(h->bytes, h->size, j->name.bytes,
                                         j->name.size) != 0)
            continue;
        GRB_TRY(postings_join(j, s, &h->term));
        GRB_TRY(head_next(h, j->w->err));
    }
    if (j->list.df == 0) return GREBE_OK;
    grb_list_end(&j->list, &j->terms.place_base, &j->terms.payload);
    grb_terms_out_put(&j->terms, j->name.bytes, j->name.size);
    status = j->w->out.status;
done:
    return status;
}

/* Totals: summed as long as nothing is dropped, else counted anew. */
static void totals_make(join *j, grb_written_field *field,
                        uint64_t term_total) {
    grb_segwriter *w = j->w;
    if (j->seen) {
        field->totals.term_total = term_total;
        for (uint32_t i = 0; i < (w->max_doc + 63) / 64; i++)
            field->totals.doc_count += grb_popcount64(j->seen[i]);
        return;
    }
    for (size_t s = 0; s < w->count; s++) {
        grb_segment *segment = w->sources[s].segment;
        grb_field_totals totals;
        segment->ops->totals(segment, &w->sources[s].bounds, field->id,
                             &totals);
        field->totals.doc_count += totals.doc_count;
        field->totals.term_total += totals.term_total;
    }
}

static grebe_status field_join(join *j, grb_written_field *field) {
    grebe_status status = GREBE_OK;
    grb_segwriter *w = j->w;
    uint8_t *lengths = NULL;
    uint64_t term_total = 0;
    size_t from;
    bool text = field->kind == GREBE_TEXT;
    grb_arena_reset(&w->field_arena);
    j->seen = NULL;
    if (w->dropped) {
        size_t size = (size_t)(w->max_doc / 64 + 1) * 8;
        j->seen = grb_arena_zero(&w->field_arena, size);
        if (!j->seen) return grb_error_memory(w->err, size);
    }
    if (text) GRB_TRY(grb_lengths_join(w, field->id, &lengths));
    for (size_t s = 0; s < w->count; s++) {
        const grb_source *source = &w->sources[s];
        GRB_TRY(source->segment->ops->terms_open(
            source->segment, &source->bounds, field->id, &w->field_arena,
            &j->heads[s].terms, w->err));
        GRB_TRY(head_next(&j->heads[s], w->err));
    }
    while (least_find(j, &from)) {
        if (j->name.failed) return grb_error_memory(w->err, j->name.size);
        GRB_TRY(term_join(j, from, lengths, text));
        term_total += j->list.term_total;
    }
    totals_make(j, field, term_total);
done:
    return status;
}

/* A value of a column that is not searched as a term. */
static void value_put(void *context, const uint8_t *bytes, uint32_t size) {
    grb_terms_out *t = context;
    grb_buf_varint(&t->payload, 0);
    grb_terms_out_put(t, bytes, size);
}

static grebe_status field_write(join *j, uint32_t i) {
    grebe_status status = GREBE_OK;
    grb_segwriter *w = j->w;
    const grb_field *from = &w->schema->fields[i];
    grb_written_field *field = &w->fields[i];
    grb_ords ords;
    bool key = w->schema->key == i;
    field->first_block = j->terms.block_total;
    grb_terms_out_field(&j->terms);
    if (grb_kind_is_text(from->kind) && (from->flags & GREBE_INDEXED) &&
        !key) {
        GRB_TRY(field_join(j, field));
    } else if (from->kind == GREBE_KEYWORD && (from->flags & GREBE_COLUMN)) {
        grb_arena_reset(&w->field_arena);
        GRB_TRY(grb_ords_join(w, i, &ords, value_put, &j->terms));
    }
    grb_terms_out_field_end(&j->terms);
    GRB_TRY(w->out.status);
    field->term_count = j->terms.field_terms;
    field->block_count = j->terms.field_blocks;
    w->term_total += field->term_count;
done:
    return status;
}

/* Index of a field: u64 prefixes, u64 places, then each 16th prefix of the
 * level before until at most 16 are left. */
static void index_write(grb_segwriter *w, const grb_terms_out *t,
                        grb_written_field *field) {
    uint64_t n = field->block_count;
    const uint8_t *entry = t->index.bytes + (size_t)field->first_block * 16;
    field->index_at = grb_segout_at(&w->out);
    for (uint64_t i = 0; i < n; i++)
        grb_segout_put(&w->out, entry + i * 16, 8);
    for (uint64_t i = 0; i < n; i++)
        grb_segout_put(&w->out, entry + i * 16 + 8, 8);
    for (uint64_t step = GRB_TERM_FANOUT; n > GRB_TERM_FANOUT;
         step *= GRB_TERM_FANOUT) {
        n = (n + GRB_TERM_FANOUT - 1) / GRB_TERM_FANOUT;
        for (uint64_t i = 0; i < n; i++)
            grb_segout_put(&w->out, entry + i * step * 16, 8);
    }
}

grebe_status grb_write_terms(grb_segwriter *w) {
    grebe_status status = GREBE_OK;
    join j;
    size_t heads_size = (w->count + 1) * sizeof *j.heads;
    memset(&j, 0, sizeof j);
    j.w = w;
    grb_terms_out_init(&j.terms, &w->out);
    grb_list_init(&j.list, &w->out);
    grb_arena_init(&j.cursor_arena, w->allocator, 0);
    grb_buf_init(&j.name, w->allocator, 0);
    j.heads = grb_alloc_zero(w->allocator, heads_size);
    if (!j.heads) {
        status = grb_error_memory(w->err, heads_size);
        goto done;
    }
    grb_segout_begin(&w->out, GRB_SECTION_POSTINGS);
    for (uint32_t i = 0; i < w->schema->field_count; i++)
        GRB_TRY(field_write(&j, i));
    grb_terms_out_flush(&j.terms);
    grb_segout_end(&w->out);
    GRB_TRY(w->out.status);
    grb_segout_begin(&w->out, GRB_SECTION_TERM_INDEX);
    for (uint32_t i = 0; i < w->schema->field_count; i++)
        index_write(w, &j.terms, &w->fields[i]);
    grb_segout_end(&w->out);
    status = w->out.status;
done:
    grb_terms_out_deinit(&j.terms);
    grb_list_deinit(&j.list);
    grb_arena_deinit(&j.cursor_arena);
    grb_buf_deinit(&j.name);
    if (j.heads) grb_free(w->allocator, j.heads, heads_size);
    return status;
}
