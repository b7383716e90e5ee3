/* segment_compare.h - two segments must give equal answers, whatever their
 * blocks; and random models to compare. */
#ifndef SEGMENT_COMPARE_H
#define SEGMENT_COMPARE_H

#include "model_segment.h"
#include "segment/segfile.h"

#define COMPARE(condition)                                                  \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            return false;                                                   \
        }                                                                   \
    } while (0)

typedef struct compare_side {
    grb_segment *s;
    grb_bounds b;
    grb_arena arena;
    bool failed; /* a call said CORRUPT: allowed while files are damaged */
} compare_side;

/* A list flattened: documents, frequencies, positions. */
typedef struct compare_list {
    uint32_t count, capacity, places_count, places_capacity;
    uint32_t *docs, *freqs, *places;
    bool bounded; /* every document was covered by its block's impacts */
} compare_list;

static inline void compare_list_free(compare_list *l) {
    free(l->docs);
    free(l->freqs);
    free(l->places);
    memset(l, 0, sizeof *l);
}

static inline uint32_t compare_doc(const grb_block *b, uint32_t i) {
    if (b->kind == GRB_BLOCK_RUN) return b->first + i;
    if (b->kind == GRB_BLOCK_DOCS) return b->docs[i];
    for (uint32_t w = 0; w < b->word_count; w++)
        for (uint64_t bits = b->words[w]; bits; bits &= bits - 1)
            if (i-- == 0) return b->first + w * 64 + grb_ctz64(bits);
    return GRB_NO_DOC;
}

/* Reads from `from` on, moving `step` documents ahead after each block. */
static inline grebe_status compare_list_read(compare_side *side,
                                             const grb_term *term,
                                             uint32_t from, uint32_t step,
                                             compare_list *out) {
    grebe_status status;
    grb_postings *p;
    uint32_t min_doc = from, places = 0;
    uint8_t scratch[GRB_WINDOW];
    memset(out, 0, sizeof *out);
    out->bounded = true;
    GRB_TRY(side->s->ops->postings_open(side->s, &side->b, term,
                                        GRB_POSTINGS_POSITIONS, &side->arena,
                                        &p, NULL));
    for (;;) {
        grb_block ahead;
        const uint32_t *freqs, *positions;
        uint32_t count;
        GRB_TRY(p->ops->shallow(p, min_doc, &ahead, NULL));
        GRB_TRY(p->ops->next_block(p, min_doc, NULL));
        if (p->block.last != ahead.last) out->bounded = false;
        if (p->block.kind == GRB_BLOCK_END) break;
        GRB_TRY(p->ops->freqs(p, &freqs, NULL));
        for (uint32_t i = 0; i < p->block.count; i++) {
            uint32_t doc = compare_doc(&p->block, i);
            const uint8_t *codes;
            if (doc < min_doc) continue;
            GRB_TRY(p->ops->positions(p, i, &positions, &count, NULL));
            out->docs =
                (uint32_t *)realloc(out->docs, (out->count + 1) * sizeof(int));
            out->freqs = (uint32_t *)realloc(out->freqs,
                                             (out->count + 1) * sizeof(int));
            out->docs[out->count] = doc;
            out->freqs[out->count++] = freqs[i];
            out->places = (uint32_t *)realloc(
                out->places, (places + count + 1) * sizeof(int));
            if (count) memcpy(out->places + places, positions, count * 4);
            places += count;
            out->places_count = places;
            if (!ahead.impacts || step > 1) continue;
            GRB_TRY(side->s->ops->lengths(side->s, &side->b, term->field,
                                          doc & ~4095u, scratch, &codes,
                                          NULL));
            uint8_t length = codes ? codes[doc & 4095] : 1;
            bool covered = false;
            for (uint32_t k = 0; k < ahead.impact_count; k++)
                covered |= ahead.impacts[k].tf >= freqs[i] &&
                           ahead.impacts[k].length <= length;
            out->bounded &= covered;
        }
        min_doc = p->block.last + step;
    }
done:
    return status;
}

static inline bool compare_lists(compare_side *a, const grb_term *ta,
                                 compare_side *b, const grb_term *tb,
                                 uint32_t from) {
    compare_list la, lb;
    compare_list_read(a, ta, from, 1, &la);
    if (compare_list_read(b, tb, from, 1, &lb) != GREBE_OK) {
        b->failed = true;
        compare_list_free(&la);
        compare_list_free(&lb);
        return true;
    }
    bool same_sizes =
        la.count == lb.count && la.places_count == lb.places_count;
    bool same_docs =
        !same_sizes || !la.count || !memcmp(la.docs, lb.docs, la.count * 4);
    bool same_freqs =
        !same_sizes || !la.count || !memcmp(la.freqs, lb.freqs, la.count * 4);
    bool same_places = !same_sizes || !la.places_count ||
                       !memcmp(la.places, lb.places, la.places_count * 4);
    bool bounded = lb.bounded;
    compare_list_free(&la);
    compare_list_free(&lb);
    COMPARE(same_sizes);
    COMPARE(same_docs);
    COMPARE(same_freqs);
    COMPARE(same_places);
    COMPARE(bounded);
    return true;
}

#define COMPARE_TRY(call)         \
    do {                          \
        if ((call) != GREBE_OK) { \
            b->failed = true;     \
            return true;          \
        }                         \
    } while (0)

static inline bool compare_terms(compare_side *a, compare_side *b,
                                 uint32_t field) {
    grb_terms *ta, *tb;
    grb_field_totals fa, fb;
    uint32_t n = 0;
    a->s->ops->totals(a->s, &a->b, field, &fa);
    b->s->ops->totals(b->s, &b->b, field, &fb);
    COMPARE(fa.doc_count == fb.doc_count && fa.term_total == fb.term_total);
    a->s->ops->terms_open(a->s, &a->b, field, &a->arena, &ta, NULL);
    COMPARE_TRY(
        b->s->ops->terms_open(b->s, &b->b, field, &b->arena, &tb, NULL));
    for (;; n++) {
        bool found_a, found_b;
        const uint8_t *bytes_a, *bytes_b;
        uint32_t size_a, size_b;
        grb_term term_a, term_b, again;
        ta->next(ta, &found_a, &bytes_a, &size_a, &term_a, NULL);
        COMPARE_TRY(tb->next(tb, &found_b, &bytes_b, &size_b, &term_b, NULL));
        COMPARE(found_a == found_b);
        if (!found_a) break;
        COMPARE(size_a == size_b && !memcmp(bytes_a, bytes_b, size_a));
        COMPARE(term_a.df == term_b.df);
        COMPARE_TRY(b->s->ops->term_find(b->s, &b->b, field, bytes_a, size_a,
                                         &again, NULL));
        COMPARE(!memcmp(&again, &term_b, sizeof again));
        if (!compare_lists(a, &term_a, b, &term_b, 0)) return false;
        if (term_a.df > 2 &&
            !compare_lists(a, &term_a, b, &term_b, a->b.max_doc / 2))
            return false;
        uint8_t longer[300];
        if (size_a < 299) {
            memcpy(longer, bytes_a, size_a);
            longer[size_a] = 0;
            COMPARE_TRY(b->s->ops->term_find(b->s, &b->b, field, longer,
                                             size_a + 1, &again, NULL));
            a->s->ops->term_find(a->s, &a->b, field, longer, size_a + 1,
                                 &term_a, NULL);
            COMPARE(again.df == term_a.df);
        }
        if (n % 7 == 0) { /* seek to it and to what follows it */
            grb_terms *sa, *sb;
            a->s->ops->terms_open(a->s, &a->b, field, &a->arena, &sa, NULL);
            COMPARE_TRY(b->s->ops->terms_open(b->s, &b->b, field, &b->arena,
                                              &sb, NULL));
            uint32_t cut = n % 2 ? size_a : (size_a + 1) / 2;
            sa->seek(sa, bytes_a, cut, NULL);
            COMPARE_TRY(sb->seek(sb, bytes_a, cut, NULL));
            const uint8_t *xa, *xb;
            sa->next(sa, &found_a, &xa, &size_a, &term_a, NULL);
            COMPARE_TRY(sb->next(sb, &found_b, &xb, &size_b, &term_b, NULL));
            COMPARE(found_a == found_b && size_a == size_b &&
                    !memcmp(xa, xb, size_a));
        }
    }
    return true;
}

/* A value as a number comparable across segments: ordinals as bytes. */
static inline bool compare_value(grb_column *ca, int64_t va, grb_column *cb,
                                 int64_t vb, compare_side *b) {
    const uint8_t *bytes_a, *bytes_b;
    uint32_t size_a, size_b, ord;
    if (ca->kind != GREBE_KEYWORD) {
        COMPARE(va == vb);
        return true;
    }
    ca->ord_bytes(ca, (uint32_t)va, &bytes_a, &size_a, NULL);
    COMPARE_TRY(cb->ord_bytes(cb, (uint32_t)vb, &bytes_b, &size_b, NULL));
    COMPARE(size_a == size_b && !memcmp(bytes_a, bytes_b, size_a));
    COMPARE_TRY(cb->ord_find(cb, bytes_a, size_a, &ord, NULL));
    COMPARE(ord == (uint32_t)vb);
    return true;
}

static inline bool compare_window(grb_column *ca, grb_column *cb,
                                  uint32_t base, compare_side *b) {
    grb_column_window wa, wb, zone;
    ca->window(ca, base, true, &wa, NULL);
    COMPARE_TRY(cb->window(cb, base, false, &zone, NULL));
    COMPARE_TRY(cb->window(cb, base, true, &wb, NULL));
    COMPARE(wa.base == wb.base && wa.count == wb.count && wa.any == wb.any);
    COMPARE(zone.any == wb.any && zone.min == wb.min && zone.max == wb.max);
    if (!wa.any) return true;
    COMPARE(wa.all == wb.all && !wa.offsets == !wb.offsets);
    if (ca->kind != GREBE_KEYWORD)
        COMPARE(wa.min == wb.min && wa.max == wb.max);
    for (uint32_t i = 0; i < wa.count; i++) {
        uint32_t from = i, to = i + 1;
        bool has = wa.all || grb_bit(wa.present, i);
        COMPARE(has == (wb.all || grb_bit(wb.present, i)));
        if (!has) continue;
        if (wa.offsets) {
            COMPARE(wa.offsets[i] == wb.offsets[i] &&
                    wa.offsets[i + 1] == wb.offsets[i + 1]);
            from = wa.offsets[i];
            to = wa.offsets[i + 1];
        }
        for (; from < to; from++)
            if (!compare_value(ca, wa.values[from], cb, wb.values[from], b))
                return false;
    }
    return true;
}

static inline bool compare_column(compare_side *a, compare_side *b,
                                  uint32_t field) {
    grb_column *ca, *cb;
    a->s->ops->column_open(a->s, &a->b, field, &a->arena, &ca, NULL);
    COMPARE_TRY(
        b->s->ops->column_open(b->s, &b->b, field, &b->arena, &cb, NULL));
    COMPARE(!ca == !cb);
    if (!ca) return true;
    COMPARE(ca->kind == cb->kind && ca->many == cb->many);
    for (uint32_t base = 0; base < a->b.max_doc; base += GRB_WINDOW)
        if (!compare_window(ca, cb, base, b) || b->failed) return b->failed;
    for (uint32_t doc = 0; doc < a->b.max_doc; doc += 1 + doc / 16) {
        const int64_t *va, *vb;
        uint32_t na, nb;
        ca->get(ca, doc, &va, &na, NULL);
        COMPARE_TRY(cb->get(cb, doc, &vb, &nb, NULL));
        COMPARE(na == nb);
        for (uint32_t i = 0; i < na; i++)
            if (!compare_value(ca, va[i], cb, vb[i], b)) return false;
    }
    return true;
}

static inline bool compare_document(compare_side *a, compare_side *b,
                                    uint32_t doc) {
    const grb_segment_ops *oa = a->s->ops, *ob = b->s->ops;
    const uint8_t *bytes_a, *bytes_b;
    uint32_t size_a, size_b, da, db;
    grb_key key;
    grb_buf ra, rb;
    grb_buf_init(&ra, &grb_allocator_malloc, 0);
    grb_buf_init(&rb, &grb_allocator_malloc, 0);
    oa->stored(a->s, doc, &ra, NULL);
    b->failed |= ob->stored(b->s, doc, &rb, NULL) != GREBE_OK;
    bool same = ra.size == rb.size && !memcmp(ra.bytes, rb.bytes, ra.size);
    grb_buf_deinit(&ra);
    grb_buf_deinit(&rb);
    if (b->failed) return true;
    COMPARE(same);
    oa->key_bytes(a->s, doc, &a->arena, &bytes_a, &size_a, NULL);
    COMPARE_TRY(ob->key_bytes(b->s, doc, &b->arena, &bytes_b, &size_b, NULL));
    COMPARE(size_a == size_b && !memcmp(bytes_a, bytes_b, size_a));
    if (size_a) {
        key.bytes = bytes_a;
        key.size = size_a;
        key.hash = grb_hash(bytes_a, size_a, 0);
        oa->key_newest(a->s, &a->b, &key, &da, NULL);
        COMPARE_TRY(ob->key_newest(b->s, &b->b, &key, &db, NULL));
        COMPARE(da == db);
    }
    oa->key_older(a->s, doc, &da, NULL);
    COMPARE_TRY(ob->key_older(b->s, doc, &db, NULL));
    COMPARE(da == db);
    return true;
}

/* True if every answer of `b` equals that of `a`, or some call of `b` said
 * that the file is damaged (b->failed). */
static inline bool compare_segments(compare_side *a, compare_side *b,
                                    uint32_t field_count) {
    uint8_t sa[GRB_WINDOW], sb[GRB_WINDOW];
    COMPARE(a->b.max_doc == b->b.max_doc);
    for (uint32_t f = 0; f < field_count; f++) {
        if (!compare_terms(a, b, f)) return false;
        if (b->failed) return true;
        if (!compare_column(a, b, f)) return false;
        if (b->failed) return true;
        for (uint32_t base = 0; base < a->b.max_doc; base += GRB_WINDOW) {
            const uint8_t *la, *lb;
            a->s->ops->lengths(a->s, &a->b, f, base, sa, &la, NULL);
            COMPARE_TRY(
                b->s->ops->lengths(b->s, &b->b, f, base, sb, &lb, NULL));
            for (uint32_t i = 0; i < 4096 && base + i < a->b.max_doc; i++)
                COMPARE((la ? la[i] : 0) == (lb ? lb[i] : 0));
        }
    }
    /* The model looks for keys by walking: all documents of small ones. */
    uint32_t step = a->b.max_doc < 1000 ? 1 : 1 + a->b.max_doc / 500;
    for (uint32_t doc = 0; doc < a->b.max_doc; doc += step) {
        if (!compare_document(a, b, doc)) return false;
        if (b->failed) return true;
    }
    for (uint32_t doc = 0; doc < a->b.max_doc; doc++)
        COMPARE(a->s->ops->sequence(a->s, doc) ==
                b->s->ops->sequence(b->s, doc));
    return true;
}

/* ---- random models ---- */

static inline uint64_t compare_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

enum { /* fields of the models */
       COMPARE_TEXT,
       COMPARE_TAG,
       COMPARE_SIZE,
       COMPARE_TIME,
       COMPARE_CONSTANT,
       COMPARE_MANY,
       COMPARE_KEY,
       COMPARE_LABEL,
       COMPARE_SPARSE,
       COMPARE_FIELDS
};

static inline grebe_schema *compare_schema(void) {
    static const grebe_field fields[COMPARE_FIELDS] = {
        {"text", GREBE_TEXT, GREBE_INDEXED, NULL, NULL},
        {"tag", GREBE_KEYWORD, GREBE_INDEXED | GREBE_COLUMN | GREBE_MANY, NULL,
         NULL},
        {"size", GREBE_INT, GREBE_COLUMN, NULL, NULL},
        {"time", GREBE_DATETIME, GREBE_COLUMN, NULL, NULL},
        {"constant", GREBE_INT, GREBE_COLUMN, NULL, NULL},
        {"many", GREBE_INT, GREBE_COLUMN | GREBE_MANY, NULL, NULL},
        {"key", GREBE_KEYWORD, GREBE_INDEXED | GREBE_COLUMN | GREBE_KEY, NULL,
         NULL},
        {"label", GREBE_KEYWORD, GREBE_COLUMN, NULL, NULL},
        {"sparse", GREBE_INT, GREBE_COLUMN, NULL, NULL},
    };
    grebe_schema *schema;
    grebe_error err;
    if (grebe_schema_new(&schema, NULL) != GREBE_OK) abort();
    for (uint32_t i = 0; i < COMPARE_FIELDS; i++)
        if (grebe_schema_add(schema, &fields[i], &err) != GREBE_OK) {
            fprintf(stderr, "%s\n", err.message);
            abort();
        }
    return schema;
}

/* One document made from its number and seed alone, so that the same
 * document can be put into several models. */
static inline void compare_add(model_segment *m, uint64_t seed,
                               uint32_t number, uint64_t sequence) {
    uint64_t r = seed * 1000003 + number;
    char text[64];
    uint32_t position = 0;
    model_doc(m, sequence);
    model_token(m, COMPARE_TEXT, "all", 3, position++);
    if (number % 7 != 3) model_token(m, COMPARE_TEXT, "most", 4, position++);
    if (number % 3 == 0) model_token(m, COMPARE_TEXT, "third", 5, position++);
    if (number >= 300 && number < 1500)
        model_token(m, COMPARE_TEXT, "stretch", 7, position++);
    uint32_t words = (uint32_t)(compare_random(&r) % 12);
    for (uint32_t i = 0; i < words; i++) {
        /* Few frequent words and many rare ones. */
        uint64_t w = compare_random(&r);
        uint32_t word = (uint32_t)(w >> 32) % (1u << (1 + w % 12));
        int size = snprintf(text, sizeof text, "prefix-word-%u", word);
        uint32_t times = w >> 20 & 7 ? 1 : 1 + (w >> 24 & 15);
        while (times--) {
            model_token(m, COMPARE_TEXT, text + (word % 3) * 4,
                        (size_t)size - (word % 3) * 4, position);
            position += 1 + (compare_random(&r) % 50 == 0 ? 1000 : 0);
        }
    }
    for (uint32_t i = 0; i < number % 4; i++) {
        uint64_t w = compare_random(&r);
        int size = snprintf(text, sizeof text, "tag%u",
                            (unsigned)(w % (i ? 5 : 700)));
        model_keyword(m, COMPARE_TAG, text, (size_t)size, true, true);
    }
    model_number(m, COMPARE_SIZE,
                 (int64_t)(compare_random(&r) % 100000) - 50000);
    model_number(m, COMPARE_TIME,
                 1700000000000 + (int64_t)number * 60000 +
                     (int64_t)(compare_random(&r) % 1000));
    model_number(m, COMPARE_CONSTANT, -5);
    for (uint32_t i = 0; i < number % 3; i++)
        model_number(m, COMPARE_MANY,
                     (int64_t)(compare_random(&r) >> (i * 9)));
    int size = snprintf(text, sizeof text, "key-%u",
                        number % 50 == 49 ? number - 20 : number);
    model_key(m, text, (size_t)size);
    model_keyword(m, COMPARE_KEY, text, (size_t)size, false, true);
    size = snprintf(text, sizeof text, "label %u",
                    (unsigned)(compare_random(&r) % 40));
    if (number % 5)
        model_keyword(m, COMPARE_LABEL, text, (size_t)size, false, true);
    if (number % 97 == 5) model_number(m, COMPARE_SPARSE, number);
    char record[512];
    size = snprintf(record, sizeof record, "record %u of %llx %.*s", number,
                    (unsigned long long)compare_random(&r),
                    (int)(compare_random(&r) % 300),
                    "abcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabc"
                    "0123456789012345678901234567890123456789012345678901"
                    "the quick brown fox jumps over the lazy dog and again");
    model_stored(m, record, (size_t)size);
}

static inline model_segment *compare_model(uint32_t block_size) {
    model_segment *m = model_new(&grb_allocator_malloc, block_size);
    model_field(m, COMPARE_TEXT, GREBE_TEXT, false);
    model_field(m, COMPARE_TAG, GREBE_KEYWORD, true);
    model_field(m, COMPARE_SIZE, GREBE_INT, false);
    model_field(m, COMPARE_TIME, GREBE_DATETIME, false);
    model_field(m, COMPARE_CONSTANT, GREBE_INT, false);
    model_field(m, COMPARE_MANY, GREBE_INT, true);
    model_field(m, COMPARE_KEY, GREBE_KEYWORD, false);
    model_field(m, COMPARE_LABEL, GREBE_KEYWORD, false);
    model_field(m, COMPARE_SPARSE, GREBE_INT, false);
    return m;
}

static inline void compare_side_init(compare_side *side, grb_segment *s) {
    memset(side, 0, sizeof *side);
    side->s = s;
    grb_arena_init(&side->arena, &grb_allocator_malloc, 0);
}

#endif
