/* segment/check.c - reads a whole segment file and says what is wrong.
 *
 * Checksums find accidents; this finds what no writer makes: every list,
 * column, record and key is read through the same readers that searches use
 * and held against the counts kept beside it.
 *
 * Threads: any; it only reads.
 */
#include "segment/column_file.h"

typedef struct check {
    grb_segfile *f;
    grb_bounds bounds;
    grb_segfile_census *census;
    grb_arena arena; /* of one term or document */
    grb_arena field_arena;
    uint64_t *seen; /* documents with the present field */
    grebe_error *err;
} check;

static grebe_status fault(const check *k, uint32_t section, uint64_t at,
                          const char *what) {
    return grb_segfile_corrupt(k->f, section, at, k->err, what);
}

/* Between the sections there are only zeros. */
static grebe_status gaps_check(check *k) {
    grebe_status status = GREBE_OK;
    grb_region *r = k->f->region;
    for (uint32_t kind = 1; kind < GRB_SECTION_END; kind++) {
        const grb_section *s = &k->f->sections[kind];
        uint64_t end = s->at + s->size;
        uint64_t pad = -end & 63;
        const uint8_t *bytes;
        if (s->size == 0 || pad > r->size - end) continue;
        GRB_TRY(r->ops->read(r, end, (size_t)pad, &k->arena, &bytes, k->err));
        for (uint64_t i = 0; i < pad; i++)
            if (bytes[i])
                return fault(k, kind, s->size + i,
                             "bytes between sections are not zero");
    }
done:
    return status;
}

/* ---- terms and postings ---- */

static void seen_mark(check *k, const grb_block *b) {
    for (uint32_t i = 0; i < b->count && b->kind != GRB_BLOCK_BITMAP; i++)
        grb_bit_set(k->seen, b->docs ? b->docs[i] : b->first + i);
    for (uint32_t i = 0; i < b->word_count && b->words; i++)
        k->seen[b->first / 64 + i] |= b->words[i];
}

/* The i-th document of a block. */
static uint32_t block_doc(const grb_block *b, uint32_t i) {
    if (b->kind == GRB_BLOCK_RUN) return b->first + i;
    if (b->kind == GRB_BLOCK_DOCS) return b->docs[i];
    for (uint32_t word = 0; word < b->word_count; word++) {
        uint32_t n = grb_popcount64(b->words[word]);
        if (i >= n) {
            i -= n;
            continue;
        }
        uint64_t w = b->words[word];
        while (i--) w &= w - 1;
        return b->first + word * 64 + (uint32_t)grb_ctz64(w);
    }
    return GRB_NO_DOC;
}

static bool impact_covers(const grb_block *b, uint32_t tf, uint8_t length) {
    for (uint32_t i = 0; i < b->impact_count; i++)
        if (b->impacts[i].tf >= tf && b->impacts[i].length <= length)
            return true;
    return b->impact_count == 0;
}

/* Frequencies, positions and impacts of the current block. */
static grebe_status block_check(check *k, const grb_term *term,
                                grb_postings *p, const uint8_t *lengths,
                                uint64_t *term_total) {
    grebe_status status;
    const uint32_t *freqs, *positions;
    bool text = lengths != NULL;
    uint32_t count;
    GRB_TRY(p->ops->freqs(p, &freqs, k->err));
    for (uint32_t i = 0; i < p->block.count; i++) {
        *term_total += freqs[i];
        if (text && !impact_covers(&p->block, freqs[i],
                                   lengths[block_doc(&p->block, i)]))
            return fault(k, GRB_SECTION_POSTINGS, term->word[GRB_TERM_PLACE],
                         "impacts do not bound a document");
        GRB_TRY(p->ops->positions(p, i, &positions, &count, k->err));
        if (text && count != freqs[i])
            return fault(k, GRB_SECTION_POSTINGS, term->word[GRB_TERM_PLACE],
                         "positions and frequency differ");
        for (uint32_t n = 1; n < count; n++)
            if (positions[n] < positions[n - 1])
                return fault(k, GRB_SECTION_POSTINGS,
                             term->word[GRB_TERM_PLACE], "positions fall");
        k->census->positions += count;
    }
done:
    return status;
}

static grebe_status term_check(check *k, const grb_term *term,
                               const uint8_t *lengths, uint64_t *term_total) {
    grebe_status status;
    grb_postings *p;
    uint32_t min_doc = 0, df = 0;
    grb_arena_reset(&k->arena);
    GRB_TRY(grb_segfile_postings_open(&k->f->base, &k->bounds, term,
                                      GRB_POSTINGS_POSITIONS, &k->arena, &p,
                                      k->err));
    for (;;) {
        GRB_TRY(p->ops->next_block(p, min_doc, k->err));
        if (p->block.kind == GRB_BLOCK_END) break;
        GRB_TRY(block_check(k, term, p, lengths, term_total));
        grb_segfile_count(p, k->census);
        seen_mark(k, &p->block);
        df += p->block.count;
        min_doc = p->block.last + 1;
    }
    if (df != term->df)
        return fault(k, GRB_SECTION_POSTINGS, term->word[GRB_TERM_PLACE],
                     "documents of a term and their number differ");
    k->census->terms++;
    k->census->postings += df;
done:
    return status;
}

static grebe_status totals_check(check *k, const grb_segfield *field,
                                 uint64_t term_total) {
    uint64_t docs = 0;
    for (uint32_t i = 0; i < (k->f->max_doc + 63) / 64; i++)
        docs += grb_popcount64(k->seen[i]);
    if (docs == field->totals.doc_count &&
        term_total == field->totals.term_total)
        return GREBE_OK;
    return fault(k, GRB_SECTION_FIELDS,
                 (uint64_t)(field - k->f->fields) * GRB_FIELD_ENTRY,
                 "totals of a field and its postings differ");
}

/* Every value of the dictionary, terms or not, must rise. */
static grebe_status order_check(check *k, grb_segfield *field) {
    grebe_status status = GREBE_OK;
    grb_buf last;
    grb_buf_init(&last, k->f->base.allocator, 0);
    for (uint32_t place = 0; place < field->term_count; place++) {
        const uint8_t *bytes;
        uint32_t size;
        grb_arena_reset(&k->arena);
        GRB_TRY(grb_segfile_term_bytes(k->f, field, place, &k->arena, &bytes,
                                       &size, k->err));
        if (place &&
            grb_bytes_order(last.bytes, last.size, bytes, size) >= 0) {
            status = fault(k, GRB_SECTION_POSTINGS, 0, "terms do not rise");
            goto done;
        }
        uint32_t found;
        GRB_TRY(grb_segfile_term_place(k->f, field, bytes, size, &found, NULL,
                                       k->err));
        if (found != place) {
            status = fault(k, GRB_SECTION_TERM_INDEX, field->index_at,
                           "a term is not found");
            goto done;
        }
        grb_buf_clear(&last);
        grb_buf_put(&last, bytes, size);
        if (last.failed) {
            status = grb_error_memory(k->err, size);
            goto done;
        }
    }
done:
    grb_buf_deinit(&last);
    return status;
}

static grebe_status lengths_get(check *k, const grb_segfield *field,
                                const uint8_t **out) {
    *out = NULL;
    if (field->kind != GREBE_TEXT) return GREBE_OK;
    if (!(field->flags & GRB_FIELD_LENGTHS))
        return field->term_count
                   ? fault(k, GRB_SECTION_FIELDS, 0, "a field lacks lengths")
                   : GREBE_OK;
    return grb_segfile_view(k->f, GRB_SECTION_LENGTHS, field->lengths_at,
                            k->f->max_doc, &k->field_arena, out, k->err);
}

static grebe_status terms_check(check *k, grb_segfield *field) {
    grebe_status status;
    grb_terms *terms;
    grb_term term;
    const uint8_t *lengths, *bytes;
    uint64_t term_total = 0;
    uint32_t size;
    bool found;
    GRB_TRY(order_check(k, field));
    GRB_TRY(lengths_get(k, field, &lengths));
    memset(k->seen, 0, ((size_t)k->f->max_doc / 64 + 1) * 8);
    GRB_TRY(grb_segfile_terms_open(&k->f->base, &k->bounds, field->id,
                                   &k->field_arena, &terms, k->err));
    for (;;) {
        GRB_TRY(terms->next(terms, &found, &bytes, &size, &term, k->err));
        if (!found) break;
        GRB_TRY(term_check(k, &term, lengths, &term_total));
    }
    GRB_TRY(totals_check(k, field, term_total));
    for (uint32_t doc = 0; lengths && doc < k->f->max_doc; doc++)
        if (lengths[doc] && !grb_bit(k->seen, doc))
            return fault(k, GRB_SECTION_LENGTHS, field->lengths_at + doc,
                         "a length without a token");
done:
    return status;
}

/* ---- columns ---- */

static void column_count(check *k, const grb_segfield *field,
                         const uint8_t *entry, bool all) {
    grb_segfile_census *c = k->census;
    c->column_constant += entry[48] == GRB_PAGE_CONSTANT;
    c->column_for += entry[48] == GRB_PAGE_FOR;
    c->column_ascending += entry[48] == GRB_PAGE_ASCENDING;
    c->column_sparse += !all;
    c->column_many += (field->flags & GRB_FIELD_MANY) != 0;
    c->column_dictionary += field->kind == GREBE_KEYWORD;
}

/* The zone map must be met, not only held. */
static bool zone_met(const grb_column_window *w) {
    uint32_t count = w->offsets ? w->offsets[w->count] : w->count;
    int64_t min = INT64_MAX, max = INT64_MIN;
    for (uint32_t i = 0; i < count; i++) {
        if (!w->offsets && !w->all && !grb_bit(w->present, i)) continue;
        min = GRB_MIN(min, w->values[i]);
        max = GRB_MAX(max, w->values[i]);
    }
    return min == w->min && max == w->max;
}

static grebe_status orders_check(check *k, grb_column_file *column) {
    grebe_status status = GREBE_OK;
    for (uint32_t run = 0; run < grb_order_runs(k->f->max_doc); run++) {
        bool sane;
        GRB_TRY(grb_order_check(column, run, &sane, k->err));
        if (!sane)
            return fault(k, GRB_SECTION_COLUMN_INDEX, column->field->column_at,
                         "the order of a column is not that of its values");
    }
done:
    return status;
}

static grebe_status column_check(check *k, grb_segfield *field) {
    grebe_status status;
    grb_column *column;
    const uint8_t *entry;
    GRB_TRY(grb_segfile_field_column(k->f, field, &k->field_arena, &column,
                                     k->err));
    for (uint32_t page = 0; column && page < field->page_count; page++) {
        grb_column_window window;
        uint64_t at = field->column_at + (uint64_t)page * GRB_COLUMN_ENTRY;
        GRB_TRY(
            column->window(column, page * GRB_WINDOW, true, &window, k->err));
        if (field == k->f->sequence && !window.all)
            return fault(k, GRB_SECTION_COLUMN_INDEX, at,
                         "a document without a sequence");
        if (!window.any) continue;
        if (!zone_met(&window))
            return fault(k, GRB_SECTION_COLUMN_INDEX, at,
                         "least and greatest of a page are not its own");
        grb_arena_reset(&k->arena);
        GRB_TRY(grb_segfile_view(k->f, GRB_SECTION_COLUMN_INDEX, at,
                                 GRB_COLUMN_ENTRY, &k->arena, &entry, k->err));
        column_count(k, field, entry, window.all);
    }
    if (column && (field->flags & GRB_FIELD_ORDERED))
        GRB_TRY(orders_check(k, (grb_column_file *)column));
done:
    return status;
}

/* ---- documents ---- */

static grebe_status stored_check(check *k) {
    grebe_status status = GREBE_OK;
    grb_buf record;
    uint64_t before = 0;
    grb_buf_init(&record, k->f->base.allocator, 0);
    for (uint32_t doc = 0; doc < k->f->max_doc; doc++) {
        grb_buf_clear(&record);
        GRB_TRY(grb_segfile_stored(&k->f->base, doc, &record, k->err));
        uint64_t sequence = grb_segfile_sequence(&k->f->base, doc);
        if (doc && sequence <= before && !k->f->base.scattered) {
            status = fault(k, GRB_SECTION_COLUMNS, 0,
                           "sequences of documents do not rise");
            goto done;
        }
        before = sequence;
    }
    k->census->stored_blocks +=
        k->f->sections[GRB_SECTION_STORED_INDEX].size / GRB_STORED_ENTRY;
done:
    grb_buf_deinit(&record);
    return status;
}

/* From the newest document of its key each document is reached by steps to
 * older ones: the newest is found directly, every other one is the older of
 * exactly one. */
static grebe_status key_check(check *k, uint32_t doc, uint32_t *reached) {
    grebe_status status;
    grb_key key;
    uint32_t newest, older, size;
    const uint8_t *bytes;
    grb_arena_reset(&k->arena);
    GRB_TRY(grb_segfile_key_bytes(&k->f->base, doc, &k->arena, &key.bytes,
                                  &key.size, k->err));
    if (!key.bytes) {
        ++*reached;
        return GREBE_OK;
    }
    key.hash = 0;
    GRB_TRY(grb_segfile_key_newest(&k->f->base, &k->bounds, &key, &newest,
                                   k->err));
    if (newest == GRB_NO_DOC || newest < doc)
        return fault(k, GRB_SECTION_KEY_BUCKETS, 0, "a key is not found");
    *reached += newest == doc;
    GRB_TRY(grb_segfile_key_older(&k->f->base, doc, &older, k->err));
    if (older == GRB_NO_DOC) return GREBE_OK;
    ++*reached;
    GRB_TRY(grb_segfile_key_bytes(&k->f->base, older, &k->arena, &bytes, &size,
                                  k->err));
    if (size != key.size || memcmp(bytes, key.bytes, size) != 0)
        return fault(k, GRB_SECTION_KEY_PREV, 0,
                     "an older document has another key");
done:
    return status;
}

static grebe_status keys_check(check *k) {
    grebe_status status = GREBE_OK;
    uint32_t reached = 0, kept = 0;
    for (uint32_t i = 0; i < k->f->key_buckets; i++) {
        const uint8_t *bucket;
        grb_arena_reset(&k->arena);
        GRB_TRY(grb_segfile_view(k->f, GRB_SECTION_KEY_BUCKETS,
                                 (uint64_t)i * GRB_BUCKET, GRB_BUCKET,
                                 &k->arena, &bucket, k->err));
        if (bucket[GRB_BUCKET_COUNT] > GRB_BUCKET_KEYS)
            return fault(k, GRB_SECTION_KEY_BUCKETS, (uint64_t)i * GRB_BUCKET,
                         "a bucket is too full");
        kept += bucket[GRB_BUCKET_COUNT];
        k->census->key_overflow += bucket[GRB_BUCKET_OVERFLOW];
        k->census->key_buckets++;
    }
    for (uint32_t doc = 0; k->f->key_buckets && doc < k->f->max_doc; doc++)
        GRB_TRY(key_check(k, doc, &reached));
    if (k->f->key_buckets && (reached != k->f->max_doc || kept > reached))
        return fault(k, GRB_SECTION_KEY_PREV, 0,
                     "a document is not reached by its key");
done:
    return status;
}

static grebe_status fields_check(check *k) {
    grebe_status status = GREBE_OK;
    uint64_t terms = 0;
    for (uint32_t i = 0; i < k->f->field_count; i++) {
        grb_segfield *field = &k->f->fields[i];
        grb_arena_reset(&k->field_arena);
        if (field != k->f->sequence) GRB_TRY(terms_check(k, field));
        terms += field->term_count;
        grb_arena_reset(&k->field_arena);
        GRB_TRY(column_check(k, field));
    }
    if (terms != k->f->term_count)
        return fault(k, GRB_SECTION_FIELDS, 0, "number of terms");
done:
    return status;
}

grebe_status grb_segfile_check(grb_segment *segment,
                               grb_segfile_census *census, grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_segfile_census own;
    check k;
    memset(&k, 0, sizeof k);
    k.f = (grb_segfile *)segment;
    k.census = census ? census : &own;
    k.err = err;
    memset(k.census, 0, sizeof *k.census);
    grb_segfile_bounds(segment, &k.bounds);
    grb_arena_init(&k.arena, k.f->base.allocator, 0);
    grb_arena_init(&k.field_arena, k.f->base.allocator, 0);
    size_t size = ((size_t)k.f->max_doc / 64 + 1) * 8;
    k.seen = grb_alloc_zero(k.f->base.allocator, size);
    if (!k.seen) {
        status = grb_error_memory(err, size);
        goto done;
    }
    GRB_TRY(grb_segfile_verify(k.f, err));
    GRB_TRY(gaps_check(&k));
    GRB_TRY(fields_check(&k));
    GRB_TRY(stored_check(&k));
    GRB_TRY(keys_check(&k));
    k.census->docs = k.f->max_doc;
done:
    if (k.seen) grb_free(k.f->base.allocator, k.seen, size);
    grb_arena_deinit(&k.arena);
    grb_arena_deinit(&k.field_arena);
    return status;
}
