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
 *   terms   u8 bits 0-3 bytes shared with the one before (0 of the first),
 *           bits 4-7 further bytes (15 of either: varint of what is above
 *           follows), bytes
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

#define PART_MAX 65536u /* positions joined at once */
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

static void entry_put(grb_buf *out, size_t shared, size_t more) {
    grb_buf_u8(out, (uint8_t)(GRB_MIN(shared, GRB_TERM_FAR) |
                              GRB_MIN(more, GRB_TERM_FAR) << 4));
    if (shared >= GRB_TERM_FAR) grb_buf_varint(out, shared - GRB_TERM_FAR);
    if (more >= GRB_TERM_FAR) grb_buf_varint(out, more - GRB_TERM_FAR);
}

void grb_terms_out_put(grb_terms_out *t, const void *bytes, size_t size) {
    size_t shared = 0;
    if (t->count) {
        size_t most = GRB_MIN(size, t->last.size);
        while (shared < most &&
               t->last.bytes[shared] == ((const uint8_t *)bytes)[shared])
            shared++;
    } else {
        t->first_prefix = grb_term_prefix(bytes, size);
    }
    entry_put(&t->bytes, shared, size - shared);
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
    uint64_t prefix; /* of the bytes: decides most comparisons */
    grb_term term;
} head;

typedef struct join {
    grb_segwriter *w;
    grb_terms_out terms;
    grb_list list;
    head *heads;
    size_t *least; /* sources that have the present term, rising */
    size_t least_count;
    uint32_t *kept; /* postings of a block without the dropped ones */
    size_t kept_room;
    grb_arena cursor_arena; /* cursors of the present term */
    uint64_t *seen; /* documents with the field, if totals are recounted */
    grb_buf name;   /* bytes of the present term */
} join;

static grebe_status head_next(head *h, grebe_error *err) {
    grebe_status status = h->terms->next(h->terms, &h->found, &h->bytes,
                                         &h->size, &h->term, err);
    if (status == GREBE_OK && h->found)
        h->prefix = grb_term_prefix(h->bytes, h->size);
    return status;
}

static inline int head_order(const head *a, const head *b) {
    if (a->prefix != b->prefix) return a->prefix < b->prefix ? -1 : 1;
    return grb_bytes_order(a->bytes, a->size, b->bytes, b->size);
}

uint32_t grb_block_list(const grb_block *b, uint32_t *docs) {
    uint32_t n = 0;
    if (b->kind == GRB_BLOCK_DOCS) {
        for (; n < b->count; n++) docs[n] = b->docs[n];
    } else if (b->kind == GRB_BLOCK_RUN) {
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
    *count = grb_block_list(b, room);
    *docs = room;
    return GREBE_OK;
}

static grebe_status kept_room(join *j, size_t want) {
    if (want <= j->kept_room) return GREBE_OK;
    uint32_t *kept =
        grb_resize(j->w->allocator, j->kept, j->kept_room * sizeof *kept,
                   want * 2 * sizeof *kept);
    if (!kept) return grb_error_memory(j->w->err, want * 2 * sizeof *kept);
    j->kept = kept;
    j->kept_room = want * 2;
    return GREBE_OK;
}

/* Postings of one source on their way into the list. */
typedef struct part {
    const uint32_t *docs, *freqs, *gaps; /* the latter two may be NULL */
    uint32_t count, gap_count;
} part;

/* Adds what is left of a part after documents have got new ids or none. */
static grebe_status part_keep(join *j, const uint32_t *map, const part *from) {
    grebe_status status =
        kept_room(j, 2 * (size_t)from->count + from->gap_count);
    if (status != GREBE_OK) return status;
    uint32_t *ids = j->kept, *tfs = ids + from->count;
    uint32_t *places = tfs + from->count, n = 0, at = 0;
    const uint32_t *gaps = from->gaps;
    for (uint32_t i = 0; i < from->count; i++) {
        uint32_t doc = map[from->docs[i]];
        uint32_t freq = from->freqs ? from->freqs[i] : 1;
        if (doc != GRB_NO_DOC) {
            ids[n] = doc;
            tfs[n++] = freq;
            if (gaps) memcpy(places + at, gaps, freq * sizeof *gaps);
            at += freq;
        }
        if (gaps) gaps += freq;
    }
    grb_list_add(&j->list, ids, tfs, n, 0, places);
    for (uint32_t i = 0; j->seen && i < n; i++) grb_bit_set(j->seen, ids[i]);
    return GREBE_OK;
}

static grebe_status part_join(join *j, size_t s, const part *from) {
    const uint32_t *map = j->w->map[s];
    uint32_t shift = j->w->offset[s];
    if (map) return part_keep(j, map, from);
    grb_list_add(&j->list, from->docs, from->freqs, from->count, shift,
                 from->gaps);
    for (uint32_t i = 0; j->seen && i < from->count; i++)
        grb_bit_set(j->seen, from->docs[i] + shift);
    return GREBE_OK;
}

/* With positions a block goes in pieces: memory is bounded by one document
 * with very many of them. */
static grebe_status positions_join(join *j, size_t s, grb_postings *p,
                                   const uint32_t *docs, uint32_t count) {
    grebe_status status;
    const uint32_t *freqs;
    grebe_error *err = j->w->err;
    GRB_TRY(p->ops->freqs(p, &freqs, err));
    for (uint32_t from = 0, to; from < count; from = to) {
        uint64_t total = freqs[from];
        for (to = from + 1; to < count && total + freqs[to] <= PART_MAX; to++)
            total += freqs[to];
        part piece = {
            .docs = docs + from, .freqs = freqs + from, .count = to - from};
        GRB_TRY(p->ops->gaps(p, from, to, &piece.gaps, &piece.gap_count, err));
        if (total != piece.gap_count)
            return grb_error(err, GREBE_INTERNAL,
                             "%u positions for frequencies of %llu",
                             piece.gap_count, (unsigned long long)total);
        GRB_TRY(part_join(j, s, &piece));
    }
done:
    return status;
}

static grebe_status block_join(join *j, size_t s, grb_postings *p,
                               uint32_t *room) {
    grebe_status status;
    part whole = {0};
    GRB_TRY(docs_get(j, &p->block, room, &whole.docs, &whole.count));
    if (j->list.positions)
        return positions_join(j, s, p, whole.docs, whole.count);
    status = part_join(j, s, &whole);
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

/* The sources with the least term of all; its bytes go into `name`. False at
 * the end. */
static bool least_find(join *j) {
    const head *least = NULL;
    j->least_count = 0;
    for (size_t s = 0; s < j->w->count; s++) {
        const head *h = &j->heads[s];
        if (!h->found) continue;
        int order = least ? head_order(h, least) : -1;
        if (order > 0) continue;
        if (order < 0) {
            least = h;
            j->least_count = 0;
        }
        j->least[j->least_count++] = s;
    }
    if (!least) return false;
    grb_buf_rewind(&j->name);
    grb_buf_put(&j->name, least->bytes, least->size);
    return true;
}

static grebe_status term_join(join *j, const uint8_t *lengths,
                              bool positions) {
    grebe_status status = GREBE_OK;
    grb_list_begin(&j->list, lengths, positions);
    for (size_t i = 0; i < j->least_count; i++) {
        size_t s = j->least[i];
        GRB_TRY(postings_join(j, s, &j->heads[s].term));
        GRB_TRY(head_next(&j->heads[s], j->w->err));
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
    while (least_find(j)) {
        if (j->name.failed) return grb_error_memory(w->err, j->name.size);
        GRB_TRY(term_join(j, lengths, text));
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
    size_t heads_size = (w->count + 1) * (sizeof *j.heads + sizeof *j.least);
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
    j.least = (size_t *)(j.heads + w->count + 1);
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
    grb_free(w->allocator, j.kept, j.kept_room * sizeof *j.kept);
    if (j.heads) grb_free(w->allocator, j.heads, heads_size);
    return status;
}
