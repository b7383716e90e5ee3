/* rooms: base doc analysis segment invert memseg api */
/* One writer appends, readers look at every bounds it publishes. Run it built
 * with -DGREBE_SANITIZE=thread too. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "memseg/memseg.h"

#define DOCS 6000u
#define KEYS 2500u
#define READERS 2

enum { KEY, BODY, TAG, YEAR };

static const grebe_allocator *const A = &grb_allocator_malloc;

typedef struct world {
    grb_segment *segment;
    grb_bounds bounds[DOCS + 1];
    _Atomic uint32_t published; /* bounds[published] may be taken */
    _Atomic uint32_t faults, rounds;
    _Atomic bool over;
} world;

static world w;

#define CHECK(what)                                       \
    do {                                                  \
        if (!(what)) {                                    \
            if (!atomic_fetch_add(&w.faults, 1))          \
                printf("line %d: %s\n", __LINE__, #what); \
            return;                                       \
        }                                                 \
    } while (0)

/* Documents with this word: those divisible, from `first` on. */
static void word_check(const grb_bounds *b, const char *word, uint32_t step,
                       uint32_t first, uint32_t tf, grb_arena *arena) {
    grb_segment *s = w.segment;
    grb_term term;
    grb_postings *p;
    const uint32_t *freqs, *positions;
    uint32_t want =
        b->max_doc > first ? (b->max_doc - first - 1) / step + 1 : 0;
    uint32_t doc = 0, seen = 0, count;
    s->ops->term_find(s, b, BODY, word, strlen(word), &term, NULL);
    CHECK(term.df == want);
    s->ops->postings_open(s, b, &term, GRB_POSTINGS_POSITIONS, arena, &p,
                          NULL);
    while (p->ops->next_block(p, doc, NULL) == GREBE_OK &&
           p->block.kind != GRB_BLOCK_END) {
        p->ops->freqs(p, &freqs, NULL);
        for (uint32_t i = 0; i < p->block.count; i++, seen++) {
            CHECK(p->block.docs[i] == first + seen * step);
            CHECK(freqs[i] == tf);
            p->ops->positions(p, i, &positions, &count, NULL);
            CHECK(count == tf);
            CHECK(tf == 1 || positions[0] < positions[1]);
        }
        doc = p->block.last + 1;
    }
    CHECK(seen == want);
}

static void columns_check(const grb_bounds *b, grb_arena *arena) {
    grb_segment *s = w.segment;
    grb_column *year, *tag;
    grb_column_window v;
    const uint8_t *codes, *bytes;
    const uint32_t *ranks;
    uint8_t scratch[GRB_WINDOW];
    uint32_t size;
    s->ops->column_open(s, b, YEAR, arena, &year, NULL);
    s->ops->column_open(s, b, TAG, arena, &tag, NULL);
    CHECK(year && tag);
    for (uint32_t base = 0; base < b->max_doc; base += GRB_WINDOW) {
        year->window(year, base, true, &v, NULL);
        CHECK(v.all && v.min <= base);
        for (uint32_t i = 0; i < v.count; i++) CHECK(v.values[i] == base + i);
        tag->window(tag, base, true, &v, NULL);
        for (uint32_t i = 0; i < v.count; i++) {
            char want[16];
            CHECK(v.values[i] < tag->ord_count);
            tag->ord_bytes(tag, (uint32_t)v.values[i], &bytes, &size, NULL);
            CHECK(sprintf(want, "t%u", (base + i) % 1000) == (int)size &&
                  memcmp(want, bytes, size) == 0);
        }
        s->ops->lengths(s, b, BODY, base, scratch, &codes, NULL);
        for (uint32_t i = 0; i < v.count; i++) CHECK(codes[i] == 5);
    }
    CHECK(tag->ord_count == GRB_MIN(b->max_doc, 1000u));
    CHECK(tag->ord_ranks(tag, &ranks, NULL) == GREBE_OK);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < tag->ord_count; i++) sum += ranks[i];
    CHECK(sum == (uint64_t)tag->ord_count * (tag->ord_count - 1) / 2);
}

static void order_check(const grb_bounds *b, grb_arena *arena) {
    grb_terms *t;
    grb_term term;
    bool found;
    const uint8_t *bytes;
    char last[32] = "", now[32];
    uint32_t size, count = 0;
    w.segment->ops->terms_open(w.segment, b, BODY, arena, &t, NULL);
    for (;;) {
        t->next(t, &found, &bytes, &size, &term, NULL);
        if (!found) break;
        CHECK(size < sizeof now && term.df > 0);
        memcpy(now, bytes, size);
        now[size] = 0;
        CHECK(strcmp(last, now) < 0);
        memcpy(last, now, size + 1);
        count++;
    }
    /* common, seven a, three b, one x a document */
    uint32_t n = b->max_doc;
    CHECK(count == 1 + GRB_MIN(n, 7u) + GRB_MIN(n, 3u) + n);
}

static void keys_check(const grb_bounds *b, uint32_t i) {
    grb_segment *s = w.segment;
    char text[16];
    uint8_t scratch[8];
    grebe_value value = {.kind = GREBE_KEYWORD};
    grb_key key;
    uint32_t doc, k = i % KEYS;
    value.as.text.bytes = text;
    value.as.text.size = (size_t)sprintf(text, "k%u", k);
    grb_key_make(&value, scratch, &key);
    s->ops->key_newest(s, b, &key, &doc, NULL);
    if (k >= b->max_doc) {
        CHECK(doc == GRB_NO_DOC);
        return;
    }
    CHECK(doc == k + (b->max_doc - 1 - k) / KEYS * KEYS);
    CHECK(s->ops->sequence(s, doc) == 7 + doc);
    while (doc >= KEYS) {
        uint32_t older;
        s->ops->key_older(s, doc, &older, NULL);
        CHECK(older == doc - KEYS);
        doc = older;
    }
}

static void totals_check(const grb_bounds *b) {
    grb_field_totals t;
    w.segment->ops->totals(w.segment, b, BODY, &t);
    CHECK(t.doc_count == b->max_doc);
    CHECK(t.term_total == 5 * (uint64_t)b->max_doc);
}

static void *reader(void *argument) {
    uint32_t salt = (uint32_t)(uintptr_t)argument, round = 0;
    grb_arena arena;
    grb_arena_init(&arena, A, 0);
    while (!atomic_load(&w.over) || round < 20) {
        uint32_t at = atomic_load_explicit(&w.published, memory_order_acquire);
        if (at == 0) continue;
        /* Now and then an old one. */
        if (round++ % 3 == 2) at = 1 + (round * 7919u + salt) % at;
        grb_bounds b = w.bounds[at];
        grb_totals_acquire(b.totals);
        word_check(&b, "common", 1, 0, 2, &arena);
        word_check(&b, "a3", 7, 3, 1, &arena);
        word_check(&b, "b1", 3, 1, 1, &arena);
        columns_check(&b, &arena);
        if (round % 4 == salt % 4) order_check(&b, &arena);
        for (uint32_t i = 0; i < 20; i++) keys_check(&b, round * 31 + i * 97);
        totals_check(&b);
        grb_totals_release(b.totals);
        grb_arena_reset(&arena);
        atomic_fetch_add(&w.rounds, 1);
    }
    grb_arena_deinit(&arena);
    return NULL;
}

static void field_add(grebe_schema *schema, const char *name, grebe_kind kind,
                      uint32_t flags) {
    grebe_field field = {.name = name, .kind = kind, .flags = flags};
    grb_schema_append(
        schema, &field,
        kind == GREBE_TEXT ? grb_analyzer_find("whitespace", 10) : NULL, NULL);
}

/* Lets readers into the middle of the work, however few cores there are. */
static void readers_wait(void) {
    uint32_t rounds = atomic_load(&w.rounds);
    while (atomic_load(&w.rounds) == rounds && !atomic_load(&w.faults))
        sched_yield();
}

static void documents_append(grebe_schema *schema, grb_inverted *inv) {
    grebe_document *document;
    grebe_document_new(schema, &document, NULL);
    for (uint32_t i = 0; i < DOCS; i++) {
        char text[80];
        uint32_t doc;
        grb_document_clear(document);
        int size = sprintf(text, "k%u", i % KEYS);
        grebe_document_add_text(document, KEY, text, (size_t)size, NULL);
        size = sprintf(text, "common a%u b%u common x%u", i % 7, i % 3, i);
        grebe_document_add_text(document, BODY, text, (size_t)size, NULL);
        size = sprintf(text, "t%u", i % 1000);
        grebe_document_add_text(document, TAG, text, (size_t)size, NULL);
        grebe_document_add_int(document, YEAR, i, NULL);
        if (grb_inverted_build(inv, document, false, NULL) != GREBE_OK ||
            grb_memseg_append(w.segment, inv, 7 + i, &doc, NULL) != GREBE_OK)
            atomic_fetch_add(&w.faults, 1);
        grb_memseg_bounds(w.segment, &w.bounds[i + 1]);
        atomic_store_explicit(&w.published, i + 1, memory_order_release);
        if (i % 64 == 63) readers_wait();
    }
    grebe_document_free(document);
}

static void
readers_see_whole_documents_while_one_writer_appends(void **state) {
    pthread_t threads[READERS];
    grb_pool *pool;
    grebe_schema *schema;
    grb_inverted *inv;
    grb_pool_new(A, &pool, NULL);
    grb_schema_new(A, &schema, NULL);
    field_add(schema, "key", GREBE_KEYWORD, GREBE_KEY | GREBE_STORED);
    field_add(schema, "body", GREBE_TEXT, GREBE_INDEXED);
    field_add(schema, "tag", GREBE_KEYWORD, GREBE_INDEXED | GREBE_COLUMN);
    field_add(schema, "year", GREBE_INT, GREBE_COLUMN);
    grb_inverted_new(A, &inv, NULL);
    assert_int_equal(grb_memseg_new(pool, schema, &w.segment, NULL), 0);
    for (uintptr_t i = 0; i < READERS; i++)
        pthread_create(&threads[i], NULL, reader, (void *)i);
    documents_append(schema, inv);
    atomic_store(&w.over, true);
    for (uint32_t i = 0; i < READERS; i++) pthread_join(threads[i], NULL);
    printf("%u rounds of readers\n", atomic_load(&w.rounds));
    assert_int_equal(atomic_load(&w.faults), 0);
    for (uint32_t i = 1; i <= DOCS; i++)
        grb_totals_release(w.bounds[i].totals);
    grb_segment_release(w.segment);
    grb_inverted_free(inv);
    grb_schema_release(schema);
    grb_pool_release(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_see_whole_documents_while_one_writer_appends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
