/* model_segment.h - a segment that answers segment/reader.h from plain arrays.
 *
 * Slow and simple on purpose: what tests compare real segments with, and what
 * the rooms above `segment` are tested on before there is one. Documents are
 * added one after the other:
 *
 *     model_segment *m = model_new(&grb_allocator_malloc, 256);
 *     model_field(m, 0, GREBE_TEXT, false);
 *     uint32_t doc = model_doc(m, sequence);
 *     model_text(m, 0, "the quick fox");       tokens by spaces, pos 0, 1, 2
 *     model_keyword(m, 1, "red", 3, true, true);
 *     model_number(m, 2, 42);                  ordered int64 (doc.h)
 *     model_key(m, "k1", 2);
 *     model_stored(m, bytes, size);
 *     grb_bounds bounds; model_bounds(m, &bounds);
 *     grb_segment *s = &m->segment;            grb_segment_release frees
 *
 * A block has at most `block_size` postings; blocks of consecutive documents
 * are RUNs and dense ones within a window BITMAPs, unless `kinds` forbids.
 * Every bounds.max_doc <= the number of documents is answered as a growing
 * segment answers it. Ordinals of keywords are in order of arrival.
 * Not for several threads while documents are added.
 */
#ifndef MODEL_SEGMENT_H
#define MODEL_SEGMENT_H

#include <stdio.h>
#include <stdlib.h>

#include "segment/reader.h"

typedef struct model_posting {
    uint32_t doc, tf, position_at; /* place in the term's positions */
} model_posting;
typedef struct model_term {
    uint32_t field, size;
    uint8_t *bytes;
    bool dictionary;    /* false: only an ordinal of the column */
    uint32_t ord, rank; /* within the field's column, UINT32_MAX: none */
    uint32_t posting_count, posting_capacity;
    model_posting *postings;
    uint32_t position_count, position_capacity;
    uint32_t *positions;
} model_term;
typedef struct model_value {
    uint32_t doc;
    int64_t value;
} model_value;
typedef struct model_field_data {
    grebe_kind kind;
    bool many, exists;
    uint32_t length_capacity;
    uint32_t *lengths; /* tokens by document, length_capacity of them */
    uint32_t next_position, position_doc;
    uint32_t value_count, value_capacity;
    model_value *values;
    uint32_t ord_count, ord_capacity;
    uint32_t *ord_terms; /* term of each ordinal */
    uint32_t *ranks;
    uint32_t rank_count; /* valid for so many ordinals */
} model_field_data;
typedef struct model_document {
    uint64_t sequence;
    uint8_t *key, *stored;
    uint32_t key_size, stored_size;
    bool has_key;
} model_document;

typedef struct model_segment {
    grb_segment segment;
    uint32_t block_size;
    unsigned kinds; /* mask of 1 << grb_block_kind that may be produced */
    bool impacts;   /* give blocks their pairs (default) */
    uint32_t field_count;
    model_field_data *fields;
    uint32_t doc_count, doc_capacity;
    model_document *docs;
    uint32_t term_count, term_capacity;
    model_term *terms;
    uint32_t *sorted; /* terms by field and bytes; NULL: to be sorted */
    uint32_t *slots, slot_count;
} model_segment;

static void *model_grow(void *items, uint32_t *capacity, uint32_t need,
                        size_t size) {
    if (need <= *capacity) return items;
    uint32_t more = *capacity ? *capacity * 2 : 8;
    while (more < need) more *= 2;
    items = realloc(items, (size_t)more * size);
    if (!items) abort();
    memset((char *)items + (size_t)*capacity * size, 0,
           (size_t)(more - *capacity) * size);
    *capacity = more;
    return items;
}

static uint32_t model_hash(uint32_t field, const void *bytes, size_t size) {
    const uint8_t *at = (const uint8_t *)bytes;
    uint32_t h = 2166136261u ^ (field * 0x9e3779b9u);
    for (size_t i = 0; i < size; i++) h = (h ^ at[i]) * 16777619u;
    return h ^ (h >> 15);
}

/* The term of these bytes, or NULL. */
static inline model_term *model_term_find(const model_segment *m,
                                          uint32_t field, const void *bytes,
                                          size_t size) {
    if (!m->slot_count) return NULL;
    uint32_t at = model_hash(field, bytes, size) & (m->slot_count - 1);
    for (; m->slots[at]; at = (at + 1) & (m->slot_count - 1)) {
        model_term *t = &m->terms[m->slots[at] - 1];
        if (t->field == field && t->size == size &&
            (!size || memcmp(t->bytes, bytes, size) == 0))
            return t;
    }
    return NULL;
}

static inline model_term *model_term_get(model_segment *m, uint32_t field,
                                         const void *bytes, size_t size) {
    model_term *t = model_term_find(m, field, bytes, size);
    if (t) return t;
    m->terms = (model_term *)model_grow(m->terms, &m->term_capacity,
                                        m->term_count + 1, sizeof *m->terms);
    t = &m->terms[m->term_count++];
    memset(t, 0, sizeof *t);
    t->field = field;
    t->size = (uint32_t)size;
    t->ord = UINT32_MAX;
    t->bytes = (uint8_t *)malloc(size + 1);
    if (size) memcpy(t->bytes, bytes, size);
    if (m->term_count * 2 > m->slot_count) {
        m->slot_count = m->slot_count ? m->slot_count * 2 : 64;
        free(m->slots);
        m->slots = (uint32_t *)calloc(m->slot_count, sizeof *m->slots);
        for (uint32_t i = 0; i + 1 < m->term_count; i++) {
            model_term *o = &m->terms[i];
            uint32_t at = model_hash(o->field, o->bytes, o->size);
            while (m->slots[at & (m->slot_count - 1)]) at++;
            m->slots[at & (m->slot_count - 1)] = i + 1;
        }
    }
    uint32_t at = model_hash(field, bytes, size);
    while (m->slots[at & (m->slot_count - 1)]) at++;
    m->slots[at & (m->slot_count - 1)] = m->term_count;
    free(m->sorted);
    m->sorted = NULL;
    return t;
}

/* ---- adding ---- */

static inline model_field_data *model_field(model_segment *m, uint32_t field,
                                            grebe_kind kind, bool many) {
    m->fields = (model_field_data *)model_grow(m->fields, &m->field_count,
                                               field + 1, sizeof *m->fields);
    model_field_data *f = &m->fields[field];
    if (!f->exists) {
        f->exists = true;
        f->kind = kind;
        f->position_doc = UINT32_MAX;
    }
    f->many |= many;
    return f;
}

static inline uint32_t model_doc(model_segment *m, uint64_t sequence) {
    m->docs = (model_document *)model_grow(m->docs, &m->doc_capacity,
                                           m->doc_count + 1, sizeof *m->docs);
    memset(&m->docs[m->doc_count], 0, sizeof *m->docs);
    m->docs[m->doc_count].sequence = sequence;
    return m->doc_count++;
}

/* One occurrence in the last document; positions of a field must not fall
 * within one term. */
static inline void model_posting_add(model_segment *m, model_term *t,
                                     uint32_t position) {
    uint32_t doc = m->doc_count - 1;
    t->dictionary = true;
    model_posting *p =
        t->posting_count ? &t->postings[t->posting_count - 1] : NULL;
    if (!p || p->doc != doc) {
        t->postings = (model_posting *)model_grow(
            t->postings, &t->posting_capacity, t->posting_count + 1,
            sizeof *t->postings);
        p = &t->postings[t->posting_count++];
        p->doc = doc;
        p->tf = 0;
        p->position_at = t->position_count;
    }
    p->tf++;
    t->positions =
        (uint32_t *)model_grow(t->positions, &t->position_capacity,
                               t->position_count + 1, sizeof *t->positions);
    t->positions[t->position_count++] = position;
}

static inline void model_token(model_segment *m, uint32_t field,
                               const void *bytes, size_t size,
                               uint32_t position) {
    model_field_data *f = model_field(m, field, GREBE_TEXT, false);
    uint32_t doc = m->doc_count - 1;
    model_posting_add(m, model_term_get(m, field, bytes, size), position);
    f->lengths = (uint32_t *)model_grow(f->lengths, &f->length_capacity,
                                        doc + 1, sizeof *f->lengths);
    f->lengths[doc]++;
    f->position_doc = doc;
    f->next_position = position + 1;
}

/* Tokens divided by spaces; a second value of a document leaves a gap of
 * 100 positions. */
static inline void model_text(model_segment *m, uint32_t field,
                              const char *text) {
    model_field_data *f = model_field(m, field, GREBE_TEXT, false);
    uint32_t position =
        f->position_doc == m->doc_count - 1 ? f->next_position + 100 : 0;
    while (*text) {
        while (*text == ' ') text++;
        size_t size = strcspn(text, " ");
        if (size) model_token(m, field, text, size, position++);
        text += size;
    }
}

static inline void model_value_add(model_segment *m, model_field_data *f,
                                   int64_t value) {
    f->values = (model_value *)model_grow(
        f->values, &f->value_capacity, f->value_count + 1, sizeof *f->values);
    f->values[f->value_count].doc = m->doc_count - 1;
    f->values[f->value_count++].value = value;
}

/* A value of a KEYWORD field: a term of the dictionary if `indexed`, a value
 * of the column if `column`. */
static inline void model_keyword(model_segment *m, uint32_t field,
                                 const void *bytes, size_t size, bool indexed,
                                 bool column) {
    model_field_data *f = model_field(m, field, GREBE_KEYWORD, false);
    model_term *t = model_term_get(m, field, bytes, size);
    if (indexed && (!t->posting_count ||
                    t->postings[t->posting_count - 1].doc != m->doc_count - 1))
        model_posting_add(m, t, 0);
    if (!column) return;
    if (t->ord == UINT32_MAX) {
        f->ord_terms =
            (uint32_t *)model_grow(f->ord_terms, &f->ord_capacity,
                                   f->ord_count + 1, sizeof *f->ord_terms);
        f->ord_terms[f->ord_count] = (uint32_t)(t - m->terms);
        t->ord = f->ord_count++;
    }
    model_value_add(m, f, t->ord);
}

/* A value of a number field as an ordered int64. The field must have been
 * named by model_field, else it is an INT. */
static inline void model_number(model_segment *m, uint32_t field,
                                int64_t value) {
    model_value_add(m, model_field(m, field, GREBE_INT, false), value);
}

static inline void model_key(model_segment *m, const void *bytes,
                             size_t size) {
    model_document *d = &m->docs[m->doc_count - 1];
    d->key = (uint8_t *)malloc(size + 1);
    if (size) memcpy(d->key, bytes, size);
    d->key_size = (uint32_t)size;
    d->has_key = true;
}

static inline void model_stored(model_segment *m, const void *bytes,
                                size_t size) {
    model_document *d = &m->docs[m->doc_count - 1];
    d->stored = (uint8_t *)malloc(size + 1);
    if (size) memcpy(d->stored, bytes, size);
    d->stored_size = (uint32_t)size;
}

static inline void model_bounds(const model_segment *m, grb_bounds *out) {
    out->max_doc = m->doc_count;
    out->term_count = m->term_count;
    out->totals = NULL;
}

/* ---- terms and postings ---- */

static inline uint32_t model_df(const model_term *t, uint32_t max_doc) {
    uint32_t df = t->posting_count;
    while (df && t->postings[df - 1].doc >= max_doc) df--;
    return t->dictionary ? df : 0;
}

static inline void model_term_out(const model_segment *m, const grb_bounds *b,
                                  const model_term *t, grb_term *out) {
    out->df = model_df(t, b->max_doc);
    out->field = t->field;
    out->word[0] = (uint64_t)(t - m->terms);
    out->word[1] = out->word[2] = 0;
}

static inline void model_totals(const grb_segment *s, const grb_bounds *b,
                                uint32_t field, grb_field_totals *out) {
    const model_segment *m = (const model_segment *)s;
    memset(out, 0, sizeof *out);
    if (field >= m->field_count) return;
    const model_field_data *f = &m->fields[field];
    if (f->kind == GREBE_KEYWORD) { /* a token for each posting */
        uint64_t *seen = (uint64_t *)calloc(b->max_doc / 64 + 1, 8);
        for (uint32_t i = 0; i < m->term_count; i++) {
            const model_term *t = &m->terms[i];
            if (t->field != field) continue;
            uint32_t df = model_df(t, b->max_doc);
            out->term_total += df;
            for (uint32_t k = 0; k < df; k++) {
                uint32_t doc = t->postings[k].doc;
                out->doc_count += !grb_bit(seen, doc);
                grb_bit_set(seen, doc);
            }
        }
        free(seen);
        return;
    }
    for (uint32_t d = 0; d < b->max_doc && d < f->length_capacity; d++) {
        out->doc_count += f->lengths[d] != 0;
        out->term_total += f->lengths[d];
    }
}

static inline grebe_status
model_op_term_find(grb_segment *s, const grb_bounds *b, uint32_t field,
                   const void *bytes, size_t size, grb_term *out,
                   grebe_error *err) {
    const model_segment *m = (const model_segment *)s;
    const model_term *t = model_term_find(m, field, bytes, size);
    memset(out, 0, sizeof *out);
    out->field = field;
    if (t) model_term_out(m, b, t, out);
    return GREBE_OK;
}

static inline int model_term_order(const model_term *t, uint32_t field,
                                   const void *bytes, size_t size) {
    if (t->field != field) return t->field < field ? -1 : 1;
    size_t shared = t->size < size ? t->size : size;
    int order = shared ? memcmp(t->bytes, bytes, shared) : 0;
    return order ? order : (t->size > size) - (t->size < size);
}
static const model_term *model_sort_terms; /* qsort has no context */
static inline int model_sort_compare(const void *a, const void *b) {
    const model_term *y = &model_sort_terms[*(const uint32_t *)b];
    return model_term_order(&model_sort_terms[*(const uint32_t *)a], y->field,
                            y->bytes, y->size);
}
static inline const uint32_t *model_sorted(model_segment *m) {
    if (m->sorted) return m->sorted;
    m->sorted = (uint32_t *)malloc((m->term_count + 1) * sizeof *m->sorted);
    for (uint32_t i = 0; i < m->term_count; i++) m->sorted[i] = i;
    model_sort_terms = m->terms;
    qsort(m->sorted, m->term_count, sizeof *m->sorted, model_sort_compare);
    return m->sorted;
}

typedef struct model_terms {
    grb_terms base;
    model_segment *m;
    grb_bounds bounds;
    uint32_t field, at;
} model_terms;

static inline grebe_status model_terms_seek(grb_terms *base, const void *bytes,
                                            size_t size, grebe_error *err) {
    model_terms *t = (model_terms *)base;
    const uint32_t *sorted = model_sorted(t->m);
    t->at = 0;
    while (t->at < t->m->term_count &&
           model_term_order(&t->m->terms[sorted[t->at]], t->field, bytes,
                            size) < 0)
        t->at++;
    return GREBE_OK;
}
static inline grebe_status model_terms_next(grb_terms *base, bool *found,
                                            const uint8_t **bytes,
                                            uint32_t *size, grb_term *term,
                                            grebe_error *err) {
    model_terms *t = (model_terms *)base;
    const uint32_t *sorted = model_sorted(t->m);
    for (*found = false; t->at < t->m->term_count && !*found; t->at++) {
        const model_term *o = &t->m->terms[sorted[t->at]];
        if (o->field > t->field) break;
        model_term_out(t->m, &t->bounds, o, term);
        *found = o->field == t->field && term->df > 0;
        *bytes = o->bytes;
        *size = o->size;
    }
    return GREBE_OK;
}
static inline grebe_status
model_op_terms_open(grb_segment *s, const grb_bounds *b, uint32_t field,
                    grb_arena *arena, grb_terms **out, grebe_error *err) {
    model_terms *t = (model_terms *)grb_arena_zero(arena, sizeof *t);
    if (!t) return grb_error_memory(err, sizeof *t);
    t->base.seek = model_terms_seek;
    t->base.next = model_terms_next;
    t->m = (model_segment *)s;
    t->bounds = *b;
    t->field = field;
    *out = &t->base;
    return model_terms_seek(*out, NULL, 0, err);
}

typedef struct model_postings {
    grb_postings base;
    grb_arena *arena;
    const model_segment *m;
    const model_term *t;
    uint32_t df, at, count; /* current block: postings at .. at + count - 1 */
    uint32_t *docs, *freqs;
    uint64_t words[GRB_WINDOW_WORDS];
    grb_impact impacts[GRB_IMPACTS_MAX];
} model_postings;

/* Number of postings of the block that begins at `at`, and its kind. */
static inline uint32_t model_block_at(const model_postings *p, uint32_t at,
                                      grb_block_kind *kind) {
    const model_posting *o = p->t->postings;
    uint32_t count = GRB_MIN(p->m->block_size, p->df - at);
    *kind = GRB_BLOCK_DOCS;
    if ((p->m->kinds >> GRB_BLOCK_RUN & 1) &&
        o[at + count - 1].doc - o[at].doc == count - 1)
        *kind = GRB_BLOCK_RUN;
    else if ((p->m->kinds >> GRB_BLOCK_BITMAP & 1) && count > 2 &&
             o[at].doc / GRB_WINDOW == o[at + count - 1].doc / GRB_WINDOW &&
             o[at + count - 1].doc - o[at].doc < count * 16)
        *kind = GRB_BLOCK_BITMAP;
    return count;
}
static inline void model_block_impacts(model_postings *p, uint32_t at,
                                       uint32_t count, grb_block *out) {
    const model_field_data *f = &p->m->fields[p->t->field];
    grb_impact top = {0, 255};
    bool text = f->kind == GREBE_TEXT;
    for (uint32_t i = at; i < at + count; i++) {
        const model_posting *o = &p->t->postings[i];
        uint8_t length = text && o->doc < f->length_capacity
                             ? grb_length_encode(f->lengths[o->doc])
                             : 0;
        if (o->tf > top.tf) top.tf = text ? o->tf : 1;
        if (length < top.length) top.length = length;
    }
    p->impacts[0] = top;
    out->impacts = p->m->impacts ? p->impacts : NULL;
    out->impact_count = p->m->impacts ? 1 : 0;
}
static inline uint32_t model_block_seek(const model_postings *p,
                                        uint32_t min_doc, uint32_t *count,
                                        grb_block_kind *kind) {
    uint32_t at = p->at;
    while (at < p->df) {
        *count = model_block_at(p, at, kind);
        if (p->t->postings[at + *count - 1].doc >= min_doc) return at;
        at += *count;
    }
    *count = 0;
    *kind = GRB_BLOCK_END;
    return p->df;
}
static inline grebe_status
model_next_block(grb_postings *base, uint32_t min_doc, grebe_error *err) {
    model_postings *p = (model_postings *)base;
    grb_block *b = &base->block;
    grb_block_kind kind;
    p->at = model_block_seek(p, min_doc, &p->count, &kind);
    memset(b, 0, sizeof *b);
    b->kind = kind;
    if (kind == GRB_BLOCK_END) {
        b->first = b->last = GRB_NO_DOC;
        return GREBE_OK;
    }
    base->blocks_decoded++;
    const model_posting *o = &p->t->postings[p->at];
    b->count = p->count;
    b->first = o[0].doc;
    b->last = o[p->count - 1].doc;
    model_block_impacts(p, p->at, p->count, b);
    if (kind == GRB_BLOCK_BITMAP) {
        b->first &= ~63u;
        b->word_count = (b->last - b->first) / 64 + 1;
        memset(p->words, 0, sizeof p->words);
        for (uint32_t i = 0; i < p->count; i++)
            grb_bit_set(p->words, o[i].doc - b->first);
        b->words = p->words;
    } else if (kind == GRB_BLOCK_DOCS) {
        for (uint32_t i = 0; i < ((p->count + 15) & ~15u); i++)
            p->docs[i] = o[GRB_MIN(i, p->count - 1)].doc;
        b->docs = p->docs;
    }
    return GREBE_OK;
}
static inline grebe_status model_shallow(grb_postings *base, uint32_t min_doc,
                                         grb_block *out, grebe_error *err) {
    model_postings *p = (model_postings *)base;
    uint32_t count;
    grb_block_kind kind;
    uint32_t at = model_block_seek(p, min_doc, &count, &kind);
    memset(out, 0, sizeof *out);
    out->kind = kind;
    out->first = out->last = GRB_NO_DOC;
    if (kind == GRB_BLOCK_END) return GREBE_OK;
    out->last = p->t->postings[at + count - 1].doc;
    model_block_impacts(p, at, count, out);
    return GREBE_OK;
}
static inline grebe_status
model_freqs(grb_postings *base, const uint32_t **out, grebe_error *err) {
    model_postings *p = (model_postings *)base;
    bool text = p->m->fields[p->t->field].kind == GREBE_TEXT;
    for (uint32_t i = 0; i < p->count; i++)
        p->freqs[i] = text ? p->t->postings[p->at + i].tf : 1;
    *out = p->freqs;
    return GREBE_OK;
}
static inline grebe_status model_positions(grb_postings *base, uint32_t i,
                                           const uint32_t **out,
                                           uint32_t *count, grebe_error *err) {
    model_postings *p = (model_postings *)base;
    const model_posting *o = &p->t->postings[p->at + i];
    bool text = p->m->fields[p->t->field].kind == GREBE_TEXT;
    *out = &p->t->positions[o->position_at];
    *count = text ? o->tf : 0;
    return GREBE_OK;
}
/* In memory that lives as long as the test. */
static inline grebe_status model_gaps(grb_postings *base, uint32_t from,
                                      uint32_t to, const uint32_t **out,
                                      uint32_t *count, grebe_error *err) {
    model_postings *p = (model_postings *)base;
    const model_posting *o = &p->t->postings[p->at];
    uint32_t n = 0;
    *count = 0;
    *out = NULL;
    if (p->m->fields[p->t->field].kind != GREBE_TEXT) return GREBE_OK;
    for (uint32_t i = from; i < to; i++) n += o[i].tf;
    uint32_t *gaps = (uint32_t *)grb_arena_alloc(p->arena, n * sizeof *gaps);
    if (!gaps) return grb_error_memory(err, n * sizeof *gaps);
    *out = gaps;
    *count = n;
    for (uint32_t i = from; i < to; i++)
        for (uint32_t k = 0, before = 0; k < o[i].tf; k++) {
            uint32_t place = p->t->positions[o[i].position_at + k];
            *gaps++ = place - before;
            before = place;
        }
    return GREBE_OK;
}
static inline grebe_status
model_op_postings_open(grb_segment *s, const grb_bounds *b,
                       const grb_term *term, int wanted, grb_arena *arena,
                       grb_postings **out, grebe_error *err) {
    static const grb_postings_ops ops = {model_next_block, model_shallow,
                                         model_freqs, model_positions,
                                         model_gaps};
    model_segment *m = (model_segment *)s;
    size_t room = ((size_t)m->block_size + 16) * sizeof(uint32_t);
    model_postings *p = (model_postings *)grb_arena_zero(arena, sizeof *p);
    if (!p) return grb_error_memory(err, sizeof *p);
    p->docs = (uint32_t *)grb_arena_line(arena, room);
    p->freqs = (uint32_t *)grb_arena_line(arena, room);
    if (!p->docs || !p->freqs) return grb_error_memory(err, room);
    p->base.ops = &ops;
    p->arena = arena;
    p->m = m;
    p->t = &m->terms[term->word[0]];
    p->df = model_df(p->t, b->max_doc);
    *out = &p->base;
    return GREBE_OK;
}

static inline grebe_status
model_op_lengths(grb_segment *s, const grb_bounds *b, uint32_t field,
                 uint32_t base, uint8_t *scratch, const uint8_t **out,
                 grebe_error *err) {
    const model_segment *m = (const model_segment *)s;
    *out = NULL;
    if (field >= m->field_count || !m->fields[field].lengths) return GREBE_OK;
    const model_field_data *f = &m->fields[field];
    for (uint32_t i = 0; i < GRB_WINDOW; i++) {
        uint32_t doc = base + i;
        bool has = doc < b->max_doc && doc < f->length_capacity;
        scratch[i] = has ? grb_length_encode(f->lengths[doc]) : 0;
    }
    *out = scratch;
    return GREBE_OK;
}

/* ---- columns ---- */

typedef struct model_column {
    grb_column base;
    model_segment *m;
    model_field_data *f;
    uint32_t max_doc;
    uint64_t present[GRB_WINDOW_WORDS];
    uint32_t offsets[GRB_WINDOW + 1];
    int64_t *values;
} model_column;

static inline uint32_t model_column_place(const model_column *c,
                                          uint32_t doc) {
    uint32_t low = 0, high = c->f->value_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (c->f->values[middle].doc < doc)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
static inline grebe_status
model_column_window(grb_column *base, uint32_t first, bool values_wanted,
                    grb_column_window *out, grebe_error *err) {
    model_column *c = (model_column *)base;
    memset(out, 0, sizeof *out);
    out->base = first;
    out->count =
        first < c->max_doc ? GRB_MIN(GRB_WINDOW, c->max_doc - first) : 0;
    memset(c->present, 0, sizeof c->present);
    uint32_t at = model_column_place(c, first), count = 0, docs = 0;
    for (uint32_t i = 0; i < out->count; i++) {
        c->offsets[i] = count;
        if (!c->base.many) c->values[i] = 0;
        for (; at < c->f->value_count && c->f->values[at].doc == first + i;
             at++) {
            int64_t v = c->f->values[at].value;
            docs += !grb_bit(c->present, i);
            grb_bit_set(c->present, i);
            if (!out->any || v < out->min) out->min = v;
            if (!out->any || v > out->max) out->max = v;
            out->any = true;
            c->values[c->base.many ? count : i] = v;
            count++;
        }
    }
    c->offsets[out->count] = count;
    out->all = docs == out->count && docs > 0;
    out->present = c->present;
    out->values = c->values;
    out->offsets = c->base.many ? c->offsets : NULL;
    return GREBE_OK;
}
static inline grebe_status model_column_get(grb_column *base, uint32_t doc,
                                            const int64_t **values,
                                            uint32_t *count,
                                            grebe_error *err) {
    model_column *c = (model_column *)base;
    uint32_t at = model_column_place(c, doc);
    *count = 0;
    *values = c->values;
    while (at < c->f->value_count && c->f->values[at].doc == doc &&
           doc < c->max_doc)
        c->values[(*count)++] = c->f->values[at++].value;
    return GREBE_OK;
}
static inline grebe_status model_column_bytes(grb_column *base, uint32_t ord,
                                              const uint8_t **bytes,
                                              uint32_t *size,
                                              grebe_error *err) {
    model_column *c = (model_column *)base;
    if (ord >= c->f->ord_count)
        return grb_error(err, GREBE_INTERNAL, "ordinal %u", ord);
    const model_term *t = &c->m->terms[c->f->ord_terms[ord]];
    *bytes = t->bytes;
    *size = t->size;
    return GREBE_OK;
}
static inline grebe_status model_column_ranks(grb_column *base,
                                              const uint32_t **ranks,
                                              grebe_error *err) {
    model_column *c = (model_column *)base;
    model_field_data *f = c->f;
    if (f->rank_count != f->ord_count) {
        const uint32_t *sorted = model_sorted(c->m);
        uint32_t rank = 0;
        f->ranks = (uint32_t *)realloc(f->ranks, f->ord_count * 4 + 4);
        for (uint32_t i = 0; i < c->m->term_count; i++) {
            const model_term *t = &c->m->terms[sorted[i]];
            if (&c->m->fields[t->field] == f && t->ord != UINT32_MAX)
                f->ranks[t->ord] = rank++;
        }
        f->rank_count = f->ord_count;
    }
    *ranks = f->ranks;
    return GREBE_OK;
}
static inline grebe_status model_column_find(grb_column *base,
                                             const void *bytes, size_t size,
                                             uint32_t *ord, grebe_error *err) {
    model_column *c = (model_column *)base;
    const model_term *t =
        model_term_find(c->m, (uint32_t)(c->f - c->m->fields), bytes, size);
    *ord = t ? t->ord : UINT32_MAX;
    return GREBE_OK;
}
static inline grebe_status
model_op_column_open(grb_segment *s, const grb_bounds *b, uint32_t field,
                     grb_arena *arena, grb_column **out, grebe_error *err) {
    model_segment *m = (model_segment *)s;
    *out = NULL;
    if (field >= m->field_count || !m->fields[field].value_count ||
        m->fields[field].values[0].doc >= b->max_doc)
        return GREBE_OK;
    model_column *c = (model_column *)grb_arena_zero(arena, sizeof *c);
    if (!c) return grb_error_memory(err, sizeof *c);
    c->m = m;
    c->f = &m->fields[field];
    c->max_doc = b->max_doc;
    c->values = (int64_t *)grb_arena_zero(
        arena, ((size_t)GRB_WINDOW + c->f->value_count) * 8);
    if (!c->values) return grb_error_memory(err, GRB_WINDOW * 8);
    c->base.kind = c->f->kind;
    c->base.many = c->f->many;
    c->base.ord_count = c->f->ord_count;
    c->base.window = model_column_window;
    c->base.get = model_column_get;
    c->base.ord_bytes = model_column_bytes;
    c->base.ord_ranks = model_column_ranks;
    c->base.ord_find = model_column_find;
    *out = &c->base;
    return GREBE_OK;
}

/* ---- documents ---- */

static inline grebe_status model_op_stored(grb_segment *s, uint32_t doc,
                                           grb_buf *out, grebe_error *err) {
    const model_segment *m = (const model_segment *)s;
    if (m->docs[doc].stored_size)
        grb_buf_put(out, m->docs[doc].stored, m->docs[doc].stored_size);
    return out->failed ? grb_error_memory(err, m->docs[doc].stored_size)
                       : GREBE_OK;
}
static inline uint32_t model_key_before(const model_segment *m,
                                        const uint8_t *bytes, uint32_t size,
                                        uint32_t doc) {
    while (doc-- > 0) {
        const model_document *d = &m->docs[doc];
        if (d->has_key && d->key_size == size &&
            memcmp(d->key, bytes, size) == 0)
            return doc;
    }
    return GRB_NO_DOC;
}
static inline grebe_status
model_op_key_newest(grb_segment *s, const grb_bounds *b, const grb_key *key,
                    uint32_t *doc, grebe_error *err) {
    *doc = model_key_before((const model_segment *)s, key->bytes, key->size,
                            b->max_doc);
    return GREBE_OK;
}
static inline grebe_status model_op_key_older(grb_segment *s, uint32_t doc,
                                              uint32_t *older,
                                              grebe_error *err) {
    const model_segment *m = (const model_segment *)s;
    *older =
        m->docs[doc].has_key
            ? model_key_before(m, m->docs[doc].key, m->docs[doc].key_size, doc)
            : GRB_NO_DOC;
    return GREBE_OK;
}
static inline grebe_status
model_op_key_bytes(grb_segment *s, uint32_t doc, grb_arena *arena,
                   const uint8_t **bytes, uint32_t *size, grebe_error *err) {
    const model_segment *m = (const model_segment *)s;
    *bytes = m->docs[doc].has_key ? m->docs[doc].key : NULL;
    *size = m->docs[doc].key_size;
    return GREBE_OK;
}
static inline uint64_t model_op_sequence(grb_segment *s, uint32_t doc) {
    return ((const model_segment *)s)->docs[doc].sequence;
}
static inline uint64_t model_op_memory(const grb_segment *s) {
    return sizeof(model_segment);
}

static inline void model_destroy(grb_segment *s) {
    model_segment *m = (model_segment *)s;
    for (uint32_t i = 0; i < m->term_count; i++) {
        free(m->terms[i].bytes);
        free(m->terms[i].postings);
        free(m->terms[i].positions);
    }
    for (uint32_t i = 0; i < m->field_count; i++) {
        free(m->fields[i].lengths);
        free(m->fields[i].values);
        free(m->fields[i].ord_terms);
        free(m->fields[i].ranks);
    }
    for (uint32_t i = 0; i < m->doc_count; i++) {
        free(m->docs[i].key);
        free(m->docs[i].stored);
    }
    free(m->terms);
    free(m->fields);
    free(m->docs);
    free(m->sorted);
    free(m->slots);
    free(m);
}

/* An empty segment with one reference; grb_segment_release frees it. */
static inline model_segment *model_new(const grebe_allocator *a,
                                       uint32_t block_size) {
    static const grb_segment_ops ops = {
        .destroy = model_destroy,
        .totals = model_totals,
        .term_find = model_op_term_find,
        .terms_open = model_op_terms_open,
        .postings_open = model_op_postings_open,
        .lengths = model_op_lengths,
        .column_open = model_op_column_open,
        .stored = model_op_stored,
        .key_newest = model_op_key_newest,
        .key_older = model_op_key_older,
        .key_bytes = model_op_key_bytes,
        .sequence = model_op_sequence,
        .memory = model_op_memory,
    };
    static _Atomic uint64_t ids;
    model_segment *m = (model_segment *)calloc(1, sizeof *m);
    if (!m) abort();
    m->segment.ops = &ops;
    m->segment.allocator = a;
    m->segment.refs = 1;
    m->segment.id = ((uint64_t)1 << 48) + ++ids;
    m->block_size = block_size;
    m->kinds = 1u << GRB_BLOCK_RUN | 1u << GRB_BLOCK_BITMAP;
    m->impacts = true;
    return m;
}

#endif
