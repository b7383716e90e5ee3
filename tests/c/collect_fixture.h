/* collect_fixture.h - random documents in model segments, and the same in
 * plain arrays, for tests of collect against brute force. */
#ifndef COLLECT_FIXTURE_H
#define COLLECT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collect/collect.h"
#include "model_segment.h"

enum { F_TAGS, F_CAT, F_YEAR, F_NUMS, F_PRICE, F_FLAG, F_BODY, F_COUNT };
#define DOCS_MAX 12000u
#define TAGS_MAX 4u
#define LEAVES_MAX 6u

typedef struct test_doc {
    bool matches;
    float score;
    uint32_t leaf, doc;
    uint64_t sequence;
    uint32_t tag_count, num_count;
    char tags[TAGS_MAX][12];
    char cat[12]; /* "-": none */
    bool has_year, has_price;
    int64_t year, nums[TAGS_MAX], flag;
    double price;
} test_doc;

typedef struct fixture {
    grebe_schema *schema;
    uint32_t doc_count, leaf_count;
    test_doc *docs;
    grb_leaf leaves[LEAVES_MAX];
    uint64_t random;
    grb_arena arena;
    grb_search_context context;
} fixture;

static uint32_t pick(fixture *f, uint32_t below) {
    f->random ^= f->random << 13;
    f->random ^= f->random >> 7;
    f->random ^= f->random << 17;
    return (uint32_t)((f->random >> 20) % below);
}

static grebe_schema *fixture_schema(void) {
    static const grebe_field fields[F_COUNT] = {
        {"tags", GREBE_KEYWORD, GREBE_COLUMN | GREBE_INDEXED | GREBE_MANY,
         NULL, NULL},
        {"cat", GREBE_KEYWORD, GREBE_COLUMN | GREBE_INDEXED, NULL, NULL},
        {"year", GREBE_INT, GREBE_COLUMN | GREBE_INDEXED, NULL, NULL},
        {"nums", GREBE_INT, GREBE_COLUMN | GREBE_MANY, NULL, NULL},
        {"price", GREBE_DOUBLE, GREBE_COLUMN, NULL, NULL},
        {"flag", GREBE_BOOL, GREBE_COLUMN, NULL, NULL},
        {"body", GREBE_TEXT, GREBE_INDEXED | GREBE_STORED, NULL, NULL}};
    grebe_schema *schema;
    assert_int_equal(grebe_schema_new(&schema, NULL), GREBE_OK);
    for (uint32_t i = 0; i < F_COUNT; i++)
        assert_int_equal(grebe_schema_add(schema, &fields[i], NULL), GREBE_OK);
    return schema;
}

static void doc_random(fixture *f, test_doc *d) {
    memset(d, 0, sizeof *d);
    d->matches = pick(f, 3) > 0;
    d->score = (float)pick(f, 40) / 8.0f;
    d->tag_count = pick(f, TAGS_MAX + 1);
    for (uint32_t i = 0; i < d->tag_count; i++)
        snprintf(d->tags[i], sizeof d->tags[i], "t%u", pick(f, 30));
    snprintf(d->cat, sizeof d->cat, pick(f, 4) ? "c%u" : "-", pick(f, 300));
    if (pick(f, 50) == 0) d->cat[0] = 0; /* the empty keyword is a value */
    d->has_year = pick(f, 5) > 0;
    d->year = (int64_t)pick(f, 40) - 20;
    if (pick(f, 60) == 0) d->year = pick(f, 2) ? INT64_MAX : INT64_MIN;
    d->num_count = pick(f, TAGS_MAX + 1);
    for (uint32_t i = 0; i < d->num_count; i++)
        d->nums[i] = (int64_t)pick(f, 12) - 6;
    d->has_price = pick(f, 3) > 0;
    d->price = ((double)pick(f, 50) - 25) / 4;
    d->flag = pick(f, 2);
}

static void doc_add(model_segment *m, const test_doc *d) {
    model_doc(m, d->sequence);
    for (uint32_t i = 0; i < d->tag_count; i++)
        model_keyword(m, F_TAGS, d->tags[i], strlen(d->tags[i]), true, true);
    if (d->cat[0] != '-')
        model_keyword(m, F_CAT, d->cat, strlen(d->cat), true, true);
    if (d->has_year) model_number(m, F_YEAR, d->year);
    for (uint32_t i = 0; i < d->num_count; i++)
        model_number(m, F_NUMS, d->nums[i]);
    if (d->has_price)
        model_number(m, F_PRICE, grb_double_to_ordered(d->price));
    model_number(m, F_FLAG, d->flag);
}

/* Documents spread over `leaf_count` segments. */
static void fixture_open(fixture *f, uint64_t seed, uint32_t doc_count,
                         uint32_t leaf_count) {
    memset(f, 0, sizeof *f);
    f->random = seed * 0x9e3779b97f4a7c15u + 1;
    f->schema = fixture_schema();
    f->doc_count = doc_count;
    f->leaf_count = leaf_count;
    f->docs = calloc(doc_count + 1, sizeof *f->docs);
    uint32_t per_leaf = doc_count / leaf_count + 1, at = 0;
    for (uint32_t l = 0; l < leaf_count; l++) {
        model_segment *m = model_new(&grb_allocator_malloc, 256);
        model_field(m, F_TAGS, GREBE_KEYWORD, true);
        model_field(m, F_CAT, GREBE_KEYWORD, false);
        model_field(m, F_YEAR, GREBE_INT, false);
        model_field(m, F_NUMS, GREBE_INT, true);
        model_field(m, F_PRICE, GREBE_DOUBLE, false);
        model_field(m, F_FLAG, GREBE_BOOL, false);
        for (uint32_t i = 0; i < per_leaf && at < doc_count; i++, at++) {
            test_doc *d = &f->docs[at];
            doc_random(f, d);
            d->leaf = l;
            d->doc = i;
            d->sequence = 10 + at * 3u;
            doc_add(m, d);
        }
        f->leaves[l].segment = &m->segment;
        model_bounds(m, &f->leaves[l].bounds);
    }
    grb_arena_init(&f->arena, &grb_allocator_malloc, 0);
    f->context.schema = f->schema;
    f->context.arena = &f->arena;
}

static void fixture_close(fixture *f) {
    for (uint32_t l = 0; l < f->leaf_count; l++)
        grb_segment_release(f->leaves[l].segment);
    grb_arena_deinit(&f->arena);
    grebe_schema_release(f->schema);
    free(f->docs);
}

/* Shows the collector all matches, as a search would. */
static grebe_status fixture_run(fixture *f, grb_collector *c, bool scored,
                                grebe_error *err) {
    static float scores[GRB_WINDOW];
    uint32_t at = 0;
    for (uint32_t l = 0; l < f->leaf_count; l++) {
        const grb_leaf *leaf = &f->leaves[l];
        grebe_status status =
            c->visitor.leaf(c->visitor.context, l, leaf, err);
        if (status != GREBE_OK) return status;
        for (uint32_t base = 0; base < leaf->bounds.max_doc;
             base += GRB_WINDOW) {
            uint64_t bits[GRB_WINDOW_WORDS] = {0};
            grb_match_window w = {l, leaf, base, 0, bits, NULL};
            for (uint32_t i = 0;
                 i < GRB_WINDOW && base + i < leaf->bounds.max_doc;
                 i++, at++) {
                scores[i] = f->docs[at].score;
                if (!f->docs[at].matches) continue;
                grb_bit_set(bits, i);
                w.count++;
            }
            if (w.count == 0) continue;
            if (scored) w.scores = scores;
            status = c->visitor.window(c->visitor.context, &w, err);
            if (status != GREBE_OK) return status;
            if (c->visitor.stop) return GREBE_OK;
        }
    }
    return GREBE_OK;
}

static inline uint32_t fixture_matches(const fixture *f) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < f->doc_count; i++) count += f->docs[i].matches;
    return count;
}

#endif
