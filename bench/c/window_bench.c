/* bench/c/window_bench.c - what the search room alone costs over a memory
 * segment: weight, matchers and run, each query from a reset arena, without
 * collectors. */
#include <stdio.h>
#include <stdlib.h>

#include "grebe/query.h"
#include "memseg/memseg.h"
#include "search/search.h"

typedef struct world {
    grebe_schema *schema;
    grb_pool *pool;
    grb_segment *segment;
    grb_list *list;
    grb_snapshot snapshot;
    grb_arena arena;
    grb_search_context context;
    uint32_t doc_count;
} world;

static void must(grebe_status status, const grebe_error *err) {
    if (status == GREBE_OK) return;
    fprintf(stderr, "%s\n", err->message);
    exit(1);
}

static uint64_t state = 1;
static uint32_t pick(uint32_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

/* Word w is in about one of `every[w]` documents. */
static const uint32_t every[] = {22, 2, 3, 10, 50, 400, 3000, 1};

static void field_add(world *x, const char *name, grebe_kind kind,
                      uint32_t flags, const char *analyzer) {
    grebe_field field = {name, kind, flags, analyzer, NULL};
    grebe_error err;
    must(grebe_schema_add(x->schema, &field, &err), &err);
}

static void document_fill(grebe_document *d) {
    char text[1024];
    int size = 0;
    grebe_error err;
    for (uint32_t w = 0; w < GRB_COUNT(every); w++) {
        if (pick(every[w])) continue;
        for (uint32_t n = 1 + pick(3); n; n--)
            size +=
                snprintf(text + size, sizeof text - (size_t)size, "w%u ", w);
    }
    for (uint32_t filler = 5 + pick(30); filler; filler--)
        size += snprintf(text + size, sizeof text - (size_t)size, "filler ");
    grebe_document_clear(d);
    must(grebe_document_add_text(d, 0, text, (size_t)size, &err), &err);
    must(grebe_document_add_int(d, 1, (int64_t)pick(1000000), &err), &err);
}

static void world_make(world *x, uint32_t docs) {
    grebe_document *d;
    grb_inverted *inv;
    grebe_error err;
    memset(x, 0, sizeof *x);
    must(grebe_schema_new(&x->schema, &err), &err);
    field_add(x, "body", GREBE_TEXT, GREBE_INDEXED, "whitespace");
    field_add(x, "num", GREBE_INT, GREBE_INDEXED | GREBE_COLUMN, NULL);
    must(grb_pool_new(&grb_allocator_malloc, &x->pool, &err), &err);
    must(grebe_document_new(x->schema, &d, &err), &err);
    must(grb_inverted_new(&grb_allocator_malloc, &inv, &err), &err);
    must(grb_memseg_new(x->pool, x->schema, &x->segment, &err), &err);
    for (uint32_t i = 0; i < docs; i++) {
        uint32_t doc;
        document_fill(d);
        must(grb_inverted_build(inv, d, false, &err), &err);
        must(grb_memseg_append(x->segment, inv, i, &doc, &err), &err);
    }
    grb_inverted_free(inv);
    grebe_document_free(d);
    grb_arena_init(&x->arena, &grb_allocator_malloc, 0);
    x->list = calloc(1, sizeof *x->list + sizeof(grb_leaf));
    if (!x->list) abort();
    x->list->count = 1;
    x->list->leaves[0].segment = x->segment;
    grb_memseg_bounds(x->segment, &x->list->leaves[0].bounds);
    x->snapshot.list = x->list;
    x->snapshot.schema = x->schema;
    x->doc_count = docs;
}

static void world_free(world *x) {
    grb_totals_release(x->list->leaves[0].bounds.totals);
    grb_segment_release(x->segment);
    grb_pool_release(x->pool);
    grb_arena_deinit(&x->arena);
    grebe_schema_release(x->schema);
    free(x->list);
}

static grb_search_context *context_new(world *x) {
    grb_arena_reset(&x->arena);
    memset(&x->context, 0, sizeof x->context);
    x->context.snapshot = &x->snapshot;
    x->context.schema = x->schema;
    x->context.arena = &x->arena;
    return &x->context;
}

static uint64_t seen;
static const char *only; /* part of the name of the queries to time */
static grebe_status window_count(void *context, const grb_match_window *w,
                                 grebe_error *err) {
    seen += w->count;
    return GREBE_OK;
}

static void query_time(world *x, const char *name, grebe_query *q, bool scored,
                       uint32_t rounds) {
    uint64_t best = UINT64_MAX, weight = UINT64_MAX;
    if (only && !strstr(name, only)) {
        grebe_query_release(q);
        return;
    }
    for (int repeat = 0; repeat < 5; repeat++) {
        uint64_t start = grb_clock_ns(), spent;
        for (uint32_t i = 0; i < rounds; i++) {
            grb_search_context *c = context_new(x);
            grb_visitor visitor = {.window = window_count};
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
            if (grb_weight_new(context_new(x), q, scored, &w, NULL)) abort();
        }
        spent = (grb_clock_ns() - start) / rounds;
        weight = GRB_MIN(weight, spent);
    }
    printf("%9u docs  %-28s %9llu hits %10llu ns (weight %llu)\n",
           x->doc_count, name, (unsigned long long)seen,
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

/* How long after its deadline a search ends at most. */
static void deadline_time(world *x, const char *name, grebe_query *q) {
    uint64_t late = 0;
    for (int repeat = 0; repeat < 20; repeat++) {
        grb_search_context *c = context_new(x);
        grb_visitor visitor = {.window = window_count};
        grb_weight *w;
        uint64_t due = grb_clock_ns() + 20000u * (unsigned)repeat, end;
        c->budget.deadline_ns = due;
        if (!grb_weight_new(c, q, true, &w, NULL))
            (void)grb_search_run(c, w, NULL, 0, true, &visitor, NULL);
        end = grb_clock_ns();
        if (end > due) late = GRB_MAX(late, end - due);
    }
    printf("%9u docs  %-28s ends at most %llu ns late\n", x->doc_count, name,
           (unsigned long long)late);
    grebe_query_release(q);
}

static grebe_query *prefix(const char *text) {
    grebe_query *q;
    if (grebe_query_prefix("body", text, strlen(text), &q, NULL)) abort();
    return q;
}

/* Arguments: documents (0: three sizes), part of a query's name. */
int main(int argc, char **argv) {
    static const uint32_t sizes[] = {1000, 100000, 500000};
    uint32_t just = argc > 1 ? (uint32_t)atoi(argv[1]) : 0;
    if (argc > 2) only = argv[2];
    for (size_t i = 0; i < GRB_COUNT(sizes); i++) {
        if (just && sizes[i] != just) continue;
        uint32_t n = 100000000 / (sizes[i] * 10) + 3;
        world x;
        world_make(&x, sizes[i]);
        query_time(&x, "term, 1 in 22", term("w0"), true, n);
        query_time(&x, "term, 1 in 22, unscored", term("w0"), false, n);
        query_time(&x, "term, 1 in 2", term("w1"), true, n);
        query_time(&x, "or of two", match("w0 w3", GREBE_OR), true, n);
        query_time(&x, "or of six", match("w0 w1 w2 w3 w4 w5", GREBE_OR), true,
                   n);
        query_time(&x, "and of two", match("w0 w1", GREBE_AND), true, n);
        query_time(&x, "and, rare lead", match("w6 w1", GREBE_AND), true, n);
        query_time(&x, "phrase", phrase("w0 w1"), true, n);
        query_time(&x, "number range, 1 in 10", range(0, 100000), false, n);
        deadline_time(&x, "or of six", match("w0 w1 w2 w3 w4 w5", GREBE_OR));
        deadline_time(&x, "phrase", phrase("w0 w1"));
        deadline_time(&x, "prefix", prefix("w"));
        deadline_time(&x, "number range", range(0, 100000));
        world_free(&x);
    }
    return 0;
}
