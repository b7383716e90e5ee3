/* rooms: base doc analysis snapshot query search api */
/* search_bench.c - what the search room costs: weight, matchers and run, each
 * query from a reset arena, without collectors. Model segments answer, so
 * the figures are about this room and not about postings. */
#include <stdio.h>

#include "search_fixture.h"

static uint64_t state = 1;
static uint32_t pick(uint32_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

/* Word w is in about one of `every[w]` documents. */
static const uint32_t every[] = {22, 2, 3, 10, 50, 400, 3000, 1};

static void world_make(fixture *f, uint32_t docs) {
    model_segment *m;
    fixture_init(f);
    fixture_field(f, "body", GREBE_TEXT, GREBE_INDEXED, "whitespace");
    fixture_field(f, "num", GREBE_INT, GREBE_INDEXED | GREBE_COLUMN, NULL);
    m = fixture_leaf(f, 256);
    model_field(m, 0, GREBE_TEXT, false);
    model_field(m, 1, GREBE_INT, false);
    for (uint32_t d = 0; d < docs; d++) {
        uint32_t position = 0, filler = 5 + pick(30);
        model_doc(m, d);
        for (uint32_t w = 0; w < GRB_COUNT(every); w++) {
            char name[8];
            int size = snprintf(name, sizeof name, "w%u", w);
            if (pick(every[w])) continue;
            for (uint32_t n = 1 + pick(3); n; n--)
                model_token(m, 0, name, (size_t)size, position++);
        }
        while (filler--) model_token(m, 0, "filler", 6, position++);
        model_number(m, 1, (int64_t)pick(1000000));
    }
    fixture_seal(f);
}

static uint64_t seen;
static grebe_status window_count(void *context, const grb_match_window *w,
                                 grebe_error *err) {
    seen += w->count;
    return GREBE_OK;
}

static void query_time(fixture *f, const char *name, grebe_query *q,
                       bool scored, uint32_t rounds) {
    uint64_t best = UINT64_MAX, weight = UINT64_MAX;
    for (int repeat = 0; repeat < 7; repeat++) {
        uint64_t start = grb_clock_ns(), spent;
        for (uint32_t i = 0; i < rounds; i++) {
            grb_search_context *c = fixture_context(f);
            grb_visitor visitor = {NULL, NULL, window_count, false};
            grb_weight *w;
            seen = 0;
            if (grb_weight_new(c, q, scored, &w, NULL)) abort();
            if (grb_search_run(c, w, NULL, 0, scored, &visitor, NULL)) abort();
        }
        spent = (grb_clock_ns() - start) / rounds;
        best = GRB_MIN(best, spent);
        start = grb_clock_ns();
        for (uint32_t i = 0; i < rounds; i++) {
            grb_weight *w;
            if (grb_weight_new(fixture_context(f), q, scored, &w, NULL))
                abort();
        }
        spent = (grb_clock_ns() - start) / rounds;
        weight = GRB_MIN(weight, spent);
    }
    printf("%9u docs  %-28s %9llu hits %10llu ns (weight %llu)\n",
           f->leaves[0]->doc_count, name, (unsigned long long)seen,
           (unsigned long long)best, (unsigned long long)weight);
    grebe_query_release(q);
}

static grebe_query *match(const char *text, grebe_operator op) {
    grebe_query *q;
    if (grebe_query_match("body", text, strlen(text), op, &q, NULL)) abort();
    return q;
}

static grebe_query *term(const char *text) {
    grebe_value v = {.kind = GREBE_TEXT};
    grebe_query *q;
    v.as.text.bytes = text;
    v.as.text.size = strlen(text);
    if (grebe_query_term("body", &v, &q, NULL)) abort();
    return q;
}

static grebe_query *phrase(const char *text) {
    grebe_query *q;
    if (grebe_query_phrase("body", text, strlen(text), 0, &q, NULL)) abort();
    return q;
}

static grebe_query *range(int64_t low, int64_t high) {
    grebe_value a = {.kind = GREBE_INT}, b = {.kind = GREBE_INT};
    grebe_range r = {&a, &b, 0, 0};
    grebe_query *q;
    a.as.integer = low;
    b.as.integer = high;
    if (grebe_query_range("num", &r, &q, NULL)) abort();
    return q;
}

int main(void) {
    static const uint32_t sizes[] = {1000, 100000, 1000000};
    for (size_t i = 0; i < GRB_COUNT(sizes); i++) {
        uint32_t n = 200000000 / (sizes[i] * 10) + 3;
        fixture f;
        world_make(&f, sizes[i]);
        query_time(&f, "term, 1 in 22", term("w0"), true, n);
        query_time(&f, "term, 1 in 22, unscored", term("w0"), false, n);
        query_time(&f, "term, 1 in 2", term("w1"), true, n);
        query_time(&f, "or of two", match("w0 w3", GREBE_OR), true, n);
        query_time(&f, "or of six", match("w0 w1 w2 w3 w4 w5", GREBE_OR), true,
                   n);
        query_time(&f, "and of two", match("w0 w1", GREBE_AND), true, n);
        query_time(&f, "and, rare lead", match("w6 w1", GREBE_AND), true, n);
        query_time(&f, "phrase", phrase("w0 w1"), true, n);
        query_time(&f, "number range, 1 in 10", range(0, 100000), false, n);
        fixture_deinit(&f);
    }
    return 0;
}
