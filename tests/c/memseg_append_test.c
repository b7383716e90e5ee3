/* rooms: base doc analysis segment invert memseg api */
/* The growing segment against plain arrays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "memseg/memseg.h"

#define DOCS_MAX 6000
#define WORDS 400
#define TOKENS_MAX 40
#define VALUES_MAX 4

enum { KEY, BODY, TAG, TAGS, YEAR, PRICES, NOTE, FIELDS };

static const grebe_allocator *const A = &grb_allocator_malloc;

/* What was put into a document. */
typedef struct entry {
    char key[16];
    int body_count, body_values;
    int body[TOKENS_MAX], body_at[TOKENS_MAX]; /* word, position */
    int tag;                                   /* -1: none */
    int tag_count, tags[VALUES_MAX];
    bool has_year;
    int64_t year;
    int price_count;
    double prices[VALUES_MAX];
    uint64_t sequence;
    size_t stored_size;
    uint8_t *stored;
} entry;

static entry entries[DOCS_MAX];
static char words[WORDS][48];
static uint64_t seed = 88172645463325252u;

static uint32_t dice(uint32_t n) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 20) % n;
}

/* Skewed, so that some words have thousands of postings. */
static int word_dice(void) {
    uint32_t a = dice(WORDS), b = dice(WORDS);
    return (int)((uint64_t)a * b * b / WORDS / WORDS) % WORDS;
}

static void words_make(void) {
    for (int i = 0; i < WORDS; i++)
        if (i % 7 == 3)
            sprintf(words[i], "averylongwordbeyondsixteen%dbytes", i * 31);
        else
            sprintf(words[i], "w%d", i * 17);
}

static void field_add(grebe_schema *schema, const char *name, grebe_kind kind,
                      uint32_t flags) {
    grebe_field field = {.name = name, .kind = kind, .flags = flags};
    if (kind == GREBE_TEXT) field.analyzer = "whitespace";
    assert_int_equal(
        grb_schema_append(
            schema, &field,
            kind == GREBE_TEXT ? grb_analyzer_find("whitespace", 10) : NULL,
            NULL),
        GREBE_OK);
}

static grebe_schema *schema_make(void) {
    grebe_schema *schema;
    assert_int_equal(grb_schema_new(A, &schema, NULL), GREBE_OK);
    field_add(schema, "key", GREBE_KEYWORD, GREBE_KEY | GREBE_STORED);
    field_add(schema, "body", GREBE_TEXT,
              GREBE_INDEXED | GREBE_MANY | GREBE_STORED);
    field_add(schema, "tag", GREBE_KEYWORD, GREBE_INDEXED | GREBE_COLUMN);
    field_add(schema, "tags", GREBE_KEYWORD,
              GREBE_INDEXED | GREBE_COLUMN | GREBE_MANY);
    field_add(schema, "year", GREBE_INT, GREBE_INDEXED);
    field_add(schema, "prices", GREBE_DOUBLE, GREBE_COLUMN | GREBE_MANY);
    field_add(schema, "note", GREBE_KEYWORD, GREBE_STORED);
    return schema;
}

/* Fills document and entry with the same things. */
static void entry_make(entry *e, uint32_t i, grebe_document *document,
                       int tokens) {
    memset(e, 0, sizeof *e);
    grb_document_clear(document);
    sprintf(e->key, "k%u", i % 5 == 4 ? dice(i) : i);
    grebe_document_add_text(document, KEY, e->key, strlen(e->key), NULL);
    e->body_values = dice(8) == 0 ? 0 : 1 + (int)dice(2);
    int position = 0;
    for (int v = 0; v < e->body_values; v++) {
        char text[TOKENS_MAX * 50];
        size_t size = 0;
        int count = (int)dice((uint32_t)tokens);
        for (int t = 0; t < count; t++) {
            int word = word_dice();
            e->body[e->body_count] = word;
            e->body_at[e->body_count++] = position++;
            size += (size_t)sprintf(text + size, "%s ", words[word]);
        }
        position += 100;
        grebe_document_add_text(document, BODY, text, size, NULL);
    }
    e->tag = (int)dice(30) - 2;
    if (e->tag >= 0)
        grebe_document_add_text(document, TAG, words[e->tag],
                                strlen(words[e->tag]), NULL);
    else
        e->tag = -1;
    e->tag_count = (int)dice(VALUES_MAX);
    for (int v = 0; v < e->tag_count; v++) {
        e->tags[v] = (int)dice(50);
        grebe_document_add_text(document, TAGS, words[e->tags[v]],
                                strlen(words[e->tags[v]]), NULL);
    }
    e->has_year = dice(3) != 0;
    e->year = (int64_t)dice(1000) - 500;
    if (e->has_year) grebe_document_add_int(document, YEAR, e->year, NULL);
    e->price_count = (int)dice(VALUES_MAX);
    for (int v = 0; v < e->price_count; v++) {
        e->prices[v] = (double)dice(1000) / 8 - 30;
        grebe_document_add_double(document, PRICES, e->prices[v], NULL);
    }
    e->sequence = 1000 + 3 * (uint64_t)i;
    grb_buf buf;
    grb_buf_init(&buf, A, 0);
    grb_document_encode(document, GRB_ENCODE_STORED, &buf);
    e->stored_size = buf.size;
    e->stored = malloc(buf.size);
    memcpy(e->stored, buf.bytes, buf.size);
    grb_buf_deinit(&buf);
}

/* ---- the model's answers ---- */

static uint32_t body_positions(const entry *e, int word, uint32_t *out) {
    uint32_t n = 0;
    for (int i = 0; i < e->body_count; i++)
        if (e->body[i] == word) out[n++] = (uint32_t)e->body_at[i];
    return n;
}

static bool tags_hold(const entry *e, int word) {
    for (int i = 0; i < e->tag_count; i++)
        if (e->tags[i] == word) return true;
    return false;
}

static uint32_t model_tf(const entry *e, uint32_t field, int word,
                         uint32_t *positions) {
    if (field == BODY) return body_positions(e, word, positions);
    return field == TAG ? e->tag == word : tags_hold(e, word);
}

/* ---- checks at bounds ---- */

static bool impacts_bound(const grb_block *block, uint32_t tf, uint8_t code) {
    for (uint32_t i = 0; i < block->impact_count; i++)
        if (block->impacts[i].tf >= tf && block->impacts[i].length <= code)
            return true;
    return false;
}

static uint8_t code_of(uint32_t field, const entry *e) {
    if (field == BODY)
        return e->body_count ? grb_length_encode((uint32_t)e->body_count) : 0;
    return 1;
}

static void postings_check(grb_segment *s, const grb_bounds *b, uint32_t field,
                           int word, uint32_t stride) {
    grb_arena arena;
    grb_term term;
    grb_postings *p;
    const uint32_t *freqs, *positions;
    uint32_t want_positions[TOKENS_MAX], count, df = 0;
    for (uint32_t d = 0; d < b->max_doc; d++)
        df += model_tf(&entries[d], field, word, want_positions) > 0;
    assert_int_equal(s->ops->term_find(s, b, field, words[word],
                                       strlen(words[word]), &term, NULL),
                     GREBE_OK);
    assert_int_equal(term.df, df);
    grb_arena_init(&arena, A, 0);
    assert_int_equal(s->ops->postings_open(s, b, &term, GRB_POSTINGS_POSITIONS,
                                           &arena, &p, NULL),
                     GREBE_OK);
    uint32_t doc = 0, seen = 0;
    for (;;) {
        grb_block shallow;
        assert_int_equal(p->ops->shallow(p, doc, &shallow, NULL), GREBE_OK);
        assert_int_equal(p->ops->next_block(p, doc, NULL), GREBE_OK);
        if (p->block.kind == GRB_BLOCK_END) {
            assert_int_equal(shallow.kind, GRB_BLOCK_END);
            break;
        }
        assert_int_equal(shallow.last, p->block.last);
        assert_true(p->block.last < b->max_doc);
        assert_true(p->block.last >= doc);
        assert_int_equal(p->ops->freqs(p, &freqs, NULL), GREBE_OK);
        for (uint32_t i = 0; i < p->block.count; i++) {
            uint32_t d = p->block.docs[i];
            if (stride == 1 && d > 0 && seen == 0)
                for (uint32_t m = 0; m < d; m++)
                    assert_int_equal(
                        model_tf(&entries[m], field, word, want_positions), 0);
            uint32_t tf = model_tf(&entries[d], field, word, want_positions);
            seen++;
            assert_int_equal(freqs[i], tf);
            assert_true(
                impacts_bound(&p->block, tf, code_of(field, &entries[d])));
            assert_true(
                impacts_bound(&shallow, tf, code_of(field, &entries[d])));
            if (field != BODY) continue;
            assert_int_equal(p->ops->positions(p, i, &positions, &count, NULL),
                             GREBE_OK);
            assert_int_equal(count, tf);
            assert_memory_equal(positions, want_positions, count * 4);
        }
        doc = p->block.last + stride;
    }
    if (stride == 1) assert_int_equal(seen, df);
    grb_arena_deinit(&arena);
}

static void lengths_check(grb_segment *s, const grb_bounds *b,
                          uint32_t field) {
    uint8_t scratch[GRB_WINDOW];
    const uint8_t *codes;
    for (uint32_t base = 0; base < b->max_doc; base += GRB_WINDOW) {
        assert_int_equal(
            s->ops->lengths(s, b, field, base, scratch, &codes, NULL),
            GREBE_OK);
        for (uint32_t d = base; d < b->max_doc && d < base + GRB_WINDOW; d++) {
            const entry *e = &entries[d];
            bool has = field == BODY && e->body_count > 0;
            uint8_t want = has ? code_of(field, e) : 0;
            assert_int_equal(codes ? codes[d - base] : 0, want);
        }
    }
}

static uint32_t model_values(const entry *e, uint32_t field, int64_t *out) {
    uint32_t n = 0;
    if (field == YEAR && e->has_year) out[n++] = e->year;
    if (field == PRICES)
        for (int i = 0; i < e->price_count; i++)
            out[n++] = grb_double_to_ordered(e->prices[i]);
    if (field == TAG && e->tag >= 0) out[n++] = e->tag;
    if (field == TAGS)
        for (int i = 0; i < e->tag_count; i++) out[n++] = e->tags[i];
    return n;
}

/* Compares values; those of keywords by the bytes of the ordinal. */
static void values_same(grb_column *c, const int64_t *got, const int64_t *want,
                        uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (c->kind != GREBE_KEYWORD) {
            assert_true(got[i] == want[i]);
            continue;
        }
        const uint8_t *bytes;
        uint32_t size, ord;
        assert_int_equal(
            c->ord_bytes(c, (uint32_t)got[i], &bytes, &size, NULL), GREBE_OK);
        assert_int_equal(size, strlen(words[want[i]]));
        assert_memory_equal(bytes, words[want[i]], size);
        assert_int_equal(c->ord_find(c, bytes, size, &ord, NULL), GREBE_OK);
        assert_int_equal(ord, got[i]);
    }
}

static void ranks_check(grb_column *c) {
    const uint32_t *ranks;
    const uint8_t *x, *y;
    uint32_t x_size, y_size;
    assert_int_equal(c->ord_ranks(c, &ranks, NULL), GREBE_OK);
    for (uint32_t i = 0; i + 1 < c->ord_count; i++) {
        assert_true(ranks[i] < c->ord_count);
        c->ord_bytes(c, i, &x, &x_size, NULL);
        c->ord_bytes(c, i + 1, &y, &y_size, NULL);
        int order = memcmp(x, y, GRB_MIN(x_size, y_size));
        if (order == 0) order = (int)x_size - (int)y_size;
        assert_int_equal(order < 0, ranks[i] < ranks[i + 1]);
    }
}

static void column_check(grb_segment *s, const grb_bounds *b, uint32_t field) {
    grb_arena arena;
    grb_column *c;
    grb_column_window w;
    int64_t want[VALUES_MAX];
    grb_arena_init(&arena, A, 0);
    assert_int_equal(s->ops->column_open(s, b, field, &arena, &c, NULL),
                     GREBE_OK);
    if (!c) goto done;
    for (uint32_t base = 0; base < b->max_doc; base += GRB_WINDOW) {
        assert_int_equal(c->window(c, base, true, &w, NULL), GREBE_OK);
        assert_int_equal(w.count, GRB_MIN(b->max_doc - base, GRB_WINDOW));
        for (uint32_t i = w.count; w.any && i < GRB_WINDOW; i++)
            assert_false(grb_bit(w.present, i));
        for (uint32_t i = 0; i < w.count; i++) {
            uint32_t n = model_values(&entries[base + i], field, want);
            const int64_t *got;
            uint32_t got_count;
            assert_int_equal(w.any && grb_bit(w.present, i), n > 0);
            assert_int_equal(c->get(c, base + i, &got, &got_count, NULL),
                             GREBE_OK);
            assert_int_equal(got_count, n);
            values_same(c, got, want, n);
            if (!n) continue;
            if (w.offsets)
                assert_int_equal(w.offsets[i + 1] - w.offsets[i], n);
            got = w.values + (w.offsets ? w.offsets[i] : i);
            values_same(c, got, want, n);
            for (uint32_t k = 0; k < n; k++)
                assert_true(got[k] >= w.min && got[k] <= w.max);
        }
    }
    if (c->kind == GREBE_KEYWORD) ranks_check(c);
done:
    grb_arena_deinit(&arena);
}

static void terms_check(grb_segment *s, const grb_bounds *b, uint32_t field) {
    grb_arena arena;
    grb_terms *t;
    grb_term term, found;
    bool more;
    const uint8_t *bytes;
    uint32_t size, count = 0, want = 0, last_size = 0;
    uint8_t last[64];
    uint32_t positions[TOKENS_MAX];
    for (int w = 0; w < WORDS; w++)
        for (uint32_t d = 0; d < b->max_doc; d++)
            if (model_tf(&entries[d], field, w, positions)) {
                want++;
                break;
            }
    grb_arena_init(&arena, A, 0);
    assert_int_equal(s->ops->terms_open(s, b, field, &arena, &t, NULL),
                     GREBE_OK);
    for (;;) {
        assert_int_equal(t->next(t, &more, &bytes, &size, &term, NULL),
                         GREBE_OK);
        if (!more) break;
        if (count++) {
            int order = memcmp(last, bytes, GRB_MIN(size, last_size));
            assert_true(order < 0 || (order == 0 && last_size < size));
        }
        memcpy(last, bytes, size);
        last_size = size;
        s->ops->term_find(s, b, field, bytes, size, &found, NULL);
        assert_int_equal(found.df, term.df);
        assert_true(term.df > 0);
    }
    assert_int_equal(count, want);
    assert_int_equal(t->seek(t, "w5", 2, NULL), GREBE_OK);
    assert_int_equal(t->next(t, &more, &bytes, &size, &term, NULL), GREBE_OK);
    if (more) assert_true(memcmp(bytes, "w5", 2) >= 0);
    grb_arena_deinit(&arena);
}

static void rows_check(grb_segment *s, const grb_bounds *b, uint32_t step) {
    grb_arena arena;
    grb_buf buf;
    grb_arena_init(&arena, A, 0);
    grb_buf_init(&buf, A, 0);
    for (uint32_t d = 0; d < b->max_doc; d += step) {
        const entry *e = &entries[d];
        const uint8_t *bytes;
        uint32_t size, newest = GRB_NO_DOC, doc;
        grb_key key;
        grebe_value value = {.kind = GREBE_KEYWORD};
        uint8_t scratch[8];
        assert_int_equal(s->ops->sequence(s, d), e->sequence);
        grb_buf_clear(&buf);
        assert_int_equal(s->ops->stored(s, d, &buf, NULL), GREBE_OK);
        assert_int_equal(buf.size, e->stored_size);
        assert_memory_equal(buf.bytes, e->stored, buf.size);
        s->ops->key_bytes(s, d, &arena, &bytes, &size, NULL);
        assert_int_equal(size, strlen(e->key));
        assert_memory_equal(bytes, e->key, size);
        value.as.text.bytes = e->key;
        value.as.text.size = strlen(e->key);
        grb_key_make(&value, scratch, &key);
        assert_int_equal(s->ops->key_newest(s, b, &key, &doc, NULL), GREBE_OK);
        for (uint32_t m = b->max_doc; m-- > 0;) {
            if (strcmp(entries[m].key, e->key) != 0) continue;
            if (newest == GRB_NO_DOC) newest = m;
            assert_int_equal(doc, m);
            s->ops->key_older(s, doc, &doc, NULL);
        }
        assert_int_equal(doc, GRB_NO_DOC);
    }
    grb_buf_deinit(&buf);
    grb_arena_deinit(&arena);
}

static void totals_check(grb_segment *s, const grb_bounds *b) {
    uint64_t docs[FIELDS] = {0}, terms[FIELDS] = {0};
    for (uint32_t d = 0; d < b->max_doc; d++) {
        const entry *e = &entries[d];
        uint64_t distinct = 0;
        for (int w = 0; w < 50; w++) distinct += tags_hold(e, w);
        docs[BODY] += e->body_count > 0;
        terms[BODY] += (uint64_t)e->body_count;
        docs[TAG] += e->tag >= 0, terms[TAG] += e->tag >= 0;
        docs[TAGS] += distinct > 0, terms[TAGS] += distinct;
    }
    for (uint32_t f = 0; f < FIELDS; f++) {
        grb_field_totals t;
        s->ops->totals(s, b, f, &t);
        assert_int_equal(t.doc_count, docs[f]);
        assert_int_equal(t.term_total, terms[f]);
    }
}

static void all_check(grb_segment *s, const grb_bounds *b, int word_step) {
    for (int w = 0; w < WORDS; w += word_step) {
        postings_check(s, b, BODY, w, 1);
        postings_check(s, b, BODY, w, 1 + dice(700));
        postings_check(s, b, TAG, w % 50, 1);
        postings_check(s, b, TAGS, w % 50, 1 + dice(700));
        postings_check(s, b, TAGS, w % 50, 1);
    }
    for (uint32_t f = BODY; f <= TAGS; f++) {
        lengths_check(s, b, f);
        terms_check(s, b, f);
    }
    for (uint32_t f = TAG; f <= PRICES; f++) column_check(s, b, f);
    rows_check(s, b, b->max_doc > 500 ? 97 : 7);
    totals_check(s, b);
}

/* ---- tests ---- */

typedef struct world {
    grb_pool *pool;
    grebe_schema *schema;
    grebe_document *document;
    grb_inverted *inv;
    grb_segment *segment;
} world;

static void world_make(world *w) {
    assert_int_equal(grb_pool_new(A, &w->pool, NULL), GREBE_OK);
    w->schema = schema_make();
    assert_int_equal(grebe_document_new(w->schema, &w->document, NULL), 0);
    assert_int_equal(grb_inverted_new(A, &w->inv, NULL), GREBE_OK);
    assert_int_equal(grb_memseg_new(w->pool, w->schema, &w->segment, NULL),
                     GREBE_OK);
    words_make();
}

static void world_free(world *w, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) free(entries[i].stored);
    grb_segment_release(w->segment);
    grb_inverted_free(w->inv);
    grb_document_free(w->document);
    grb_schema_release(w->schema);
    grb_pool_release(w->pool);
}

static void world_add(world *w, uint32_t i, int tokens) {
    uint32_t doc;
    entry_make(&entries[i], i, w->document, tokens);
    assert_int_equal(grb_inverted_build(w->inv, w->document, true, NULL),
                     GREBE_OK);
    assert_int_equal(
        grb_memseg_append(w->segment, w->inv, entries[i].sequence, &doc, NULL),
        GREBE_OK);
    assert_int_equal(doc, i);
}

static void bounds_of_every_age_answer_as_they_did(void **state) {
    world w;
    grb_bounds kept[64];
    uint32_t count = 0;
    world_make(&w);
    for (uint32_t i = 0; i < 1600; i++) {
        world_add(&w, i, 20);
        if (i % 50 != 49) continue;
        grb_memseg_bounds(w.segment, &kept[count++]);
        all_check(w.segment, &kept[count - 1], 23);
        all_check(w.segment, &kept[dice(count)], 29);
    }
    for (uint32_t i = 0; i < count; i++) {
        all_check(w.segment, &kept[i], 31);
        grb_totals_release(kept[i].totals);
    }
    world_free(&w, 1600);
}

static void windows_and_pages_meet_without_a_seam(void **state) {
    world w;
    grb_bounds b;
    world_make(&w);
    for (uint32_t i = 0; i < 4200; i++) {
        world_add(&w, i, 6);
        uint32_t n = i + 1;
        if (n == 63 || n == 64 || n == 65 || n == 4095 || n == 4096 ||
            n == 4097 || n == 4200) {
            grb_memseg_bounds(w.segment, &b);
            all_check(w.segment, &b, 41);
            grb_totals_release(b.totals);
        }
    }
    world_free(&w, 4200);
}

/* One word in every document: lists of 254 ... 258 and 510 ... 514. */
static void lists_are_right_around_each_block_boundary(void **state) {
    world w;
    grb_bounds b[1100];
    world_make(&w);
    for (uint32_t i = 0; i < 1100; i++) {
        entry *e = &entries[i];
        uint32_t doc;
        memset(e, 0, sizeof *e);
        grb_document_clear(w.document);
        sprintf(e->key, "k%u", i);
        e->tag = -1;
        e->body_count = 1 + (int)(i % 3);
        char text[200] = "";
        for (int t = 0; t < e->body_count; t++) {
            e->body_at[t] = t;
            strcat(text, words[0]);
            strcat(text, " ");
        }
        grebe_document_add_text(w.document, KEY, e->key, strlen(e->key), NULL);
        grebe_document_add_text(w.document, BODY, text, strlen(text), NULL);
        assert_int_equal(grb_inverted_build(w.inv, w.document, false, NULL),
                         0);
        assert_int_equal(grb_memseg_append(w.segment, w.inv, i, &doc, NULL),
                         0);
        grb_memseg_bounds(w.segment, &b[i]);
        if (i % 256 > 250 || i % 256 < 5 || i < 20)
            postings_check(w.segment, &b[i], BODY, 0, 1);
    }
    for (uint32_t i = 0; i < 1100; i++) {
        if (i % 256 > 250 || i % 256 < 5 || i % 37 == 0) {
            postings_check(w.segment, &b[i], BODY, 0, 1);
            postings_check(w.segment, &b[i], BODY, 0, 300);
        }
        grb_totals_release(b[i].totals);
    }
    world_free(&w, 1100);
}

/* ---- allocations that fail ---- */

typedef struct failing {
    long left; /* < 0: never fails */
    long blocks;
} failing;

static void *failing_resize(void *context, void *block, size_t old_size,
                            size_t new_size) {
    failing *f = context;
    if (new_size == 0) {
        f->blocks -= block != NULL;
        free(block);
        return NULL;
    }
    if (f->left == 0) return NULL;
    if (f->left > 0) f->left--;
    void *made = realloc(block, new_size);
    if (made && !block) f->blocks++;
    return made;
}

static void a_failed_allocation_leaves_the_segment_as_it_was(void **state) {
    world w;
    failing f = {-1, 0};
    grebe_allocator a = {failing_resize, &f};
    words_make();
    w.schema = schema_make();
    assert_int_equal(grebe_document_new(w.schema, &w.document, NULL), 0);
    assert_int_equal(grb_pool_new(&a, &w.pool, NULL), GREBE_OK);
    assert_int_equal(grb_inverted_new(&a, &w.inv, NULL), GREBE_OK);
    assert_int_equal(grb_memseg_new(w.pool, w.schema, &w.segment, NULL), 0);
    uint32_t doc, refused = 0;
    grb_bounds b, before;
    for (uint32_t i = 0; i < 700; i++) {
        entry_make(&entries[i], i, w.document, 20);
        grb_memseg_bounds(w.segment, &before);
        for (long n = 0;; n++) {
            grebe_error err;
            f.left = n;
            grebe_status status =
                grb_inverted_build(w.inv, w.document, true, &err);
            if (status == GREBE_OK)
                status = grb_memseg_append(w.segment, w.inv,
                                           entries[i].sequence, &doc, &err);
            f.left = -1;
            if (status == GREBE_OK) break;
            refused++;
            assert_int_equal(status, GREBE_MEMORY);
            assert_int_equal(err.status, GREBE_MEMORY);
            grb_memseg_peek(w.segment, &b);
            assert_int_equal(b.max_doc, before.max_doc);
            assert_int_equal(b.term_count, before.term_count);
            if (i % 100 == 99) all_check(w.segment, &b, 97);
        }
        assert_int_equal(doc, i);
        grb_totals_release(before.totals);
    }
    assert_true(refused > 50);
    grb_memseg_peek(w.segment, &b);
    all_check(w.segment, &b, 11);
    for (long n = 0;; n++) {
        grb_arena arena;
        grb_terms *t;
        grb_column *c;
        const uint32_t *ranks;
        grb_arena_init(&arena, A, 0);
        f.left = n;
        grebe_status status =
            w.segment->ops->terms_open(w.segment, &b, BODY, &arena, &t, NULL);
        w.segment->ops->column_open(w.segment, &b, TAG, &arena, &c, NULL);
        if (status == GREBE_OK) status = c->ord_ranks(c, &ranks, NULL);
        f.left = -1;
        grb_arena_deinit(&arena);
        if (status == GREBE_OK) break;
        assert_int_equal(status, GREBE_MEMORY);
    }
    world_free(&w, 700);
    assert_int_equal(f.blocks, 0);
}

/* The first rounds warm the pool. */
static void wipes_take_no_new_memory(void **state) {
    failing f = {-1, 0};
    grebe_allocator a = {failing_resize, &f};
    world w;
    uint32_t doc;
    long blocks = 0;
    words_make();
    w.schema = schema_make();
    assert_int_equal(grebe_document_new(w.schema, &w.document, NULL), 0);
    assert_int_equal(grb_pool_new(&a, &w.pool, NULL), GREBE_OK);
    assert_int_equal(grb_inverted_new(&a, &w.inv, NULL), GREBE_OK);
    entry_make(&entries[0], 0, w.document, 20);
    for (int i = 0; i < 498; i++) {
        assert_int_equal(grb_memseg_new(w.pool, w.schema, &w.segment, NULL),
                         GREBE_OK);
        assert_int_equal(grb_inverted_build(w.inv, w.document, false, NULL),
                         GREBE_OK);
        assert_int_equal(grb_memseg_append(w.segment, w.inv, 1, &doc, NULL),
                         GREBE_OK);
        assert_true(grb_memseg_bytes(w.segment) < 32 * 1024);
        if (i == 2) blocks = f.blocks;
        if (i > 2) assert_int_equal(f.blocks, blocks);
        if (i < 497) grb_segment_release(w.segment);
    }
    world_free(&w, 1);
    assert_int_equal(f.blocks, 0);
}

/* A reader of old bounds asks for order first, after the list of runs has
 * grown beyond what it may see. */
static void ranks_of_old_bounds_leave_out_younger_words(void **state) {
    world w;
    grb_bounds old, b;
    world_make(&w);
    for (uint32_t i = 0; i < 300; i++) {
        world_add(&w, i, 10);
        if (i == 9) grb_memseg_bounds(w.segment, &old);
    }
    grb_memseg_peek(w.segment, &b);
    terms_check(w.segment, &b, BODY);
    column_check(w.segment, &old, TAG);
    column_check(w.segment, &b, TAG);
    column_check(w.segment, &old, TAG);
    column_check(w.segment, &old, TAGS);
    grb_totals_release(old.totals);
    world_free(&w, 300);
}

static void an_empty_segment_is_one_small_chunk(void **state) {
    world w;
    grb_bounds b;
    grb_term term;
    world_make(&w);
    assert_true(grb_memseg_bytes(w.segment) <= 4096 + 64);
    grb_memseg_bounds(w.segment, &b);
    assert_int_equal(b.max_doc, 0);
    assert_null(b.totals);
    assert_int_equal(
        w.segment->ops->term_find(w.segment, &b, BODY, "a", 1, &term, NULL),
        GREBE_OK);
    assert_int_equal(term.df, 0);
    all_check(w.segment, &b, 100);
    world_free(&w, 0);
}

static void a_document_without_its_key_is_refused(void **state) {
    world w;
    grebe_error err;
    world_make(&w);
    grebe_document_add_text(w.document, BODY, "a b", 3, NULL);
    assert_int_equal(grb_inverted_build(w.inv, w.document, true, &err),
                     GREBE_DOCUMENT);
    assert_string_equal(err.field, "key");
    assert_int_equal(grb_inverted_key(w.inv)->size, 0);
    grebe_document_add_text(w.document, KEY, "", 0, NULL);
    assert_int_equal(grb_inverted_build(w.inv, w.document, true, &err),
                     GREBE_OK);
    assert_non_null(grb_inverted_key(w.inv)->bytes);
    assert_int_equal(grb_inverted_tokens(w.inv), 2);
    world_free(&w, 0);
}

static void an_integer_key_comes_back_from_its_bytes(void **state) {
    static const int64_t all[] = {INT64_MIN, -5, 0, 7, INT64_MAX};
    uint8_t before[8] = {0};
    for (size_t i = 0; i < GRB_COUNT(all); i++) {
        grebe_value value = {.kind = GREBE_INT, .as.integer = all[i]}, back;
        uint8_t scratch[8];
        grb_key key;
        grb_key_make(&value, scratch, &key);
        assert_int_equal(key.size, 8);
        if (i) assert_true(memcmp(before, key.bytes, 8) < 0);
        memcpy(before, key.bytes, 8);
        grb_key_value(GREBE_INT, key.bytes, key.size, &back);
        assert_true(back.as.integer == all[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_segment_is_one_small_chunk),
        cmocka_unit_test(a_document_without_its_key_is_refused),
        cmocka_unit_test(an_integer_key_comes_back_from_its_bytes),
        cmocka_unit_test(lists_are_right_around_each_block_boundary),
        cmocka_unit_test(windows_and_pages_meet_without_a_seam),
        cmocka_unit_test(bounds_of_every_age_answer_as_they_did),
        cmocka_unit_test(wipes_take_no_new_memory),
        cmocka_unit_test(ranks_of_old_bounds_leave_out_younger_words),
        cmocka_unit_test(a_failed_allocation_leaves_the_segment_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
