/* rooms: base store doc analysis segment invert memseg snapshot merge query search commit collect result engine api */
/* Searches through the public functions: pages, totals, errors, limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "grebe/grebe.h"

enum { F_ID, F_BODY, F_YEAR, F_TAG, F_HIDDEN, F_COUNT };

/* An allocator that counts what is alive and can be told to fail. */
typedef struct meter {
    int64_t bytes;
    int64_t left; /* allocations before the failing one; -1: never fails */
} meter;

static void *meter_resize(void *context, void *block, size_t old_size,
                          size_t new_size) {
    meter *m = context;
    if (new_size > old_size) {
        if (m->left == 0) return NULL;
        if (m->left > 0) m->left--;
    }
    m->bytes += (int64_t)new_size - (int64_t)old_size;
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    return realloc(block, new_size);
}

static grebe_schema *schema_new(void) {
    static const grebe_field fields[F_COUNT] = {
        {"id", GREBE_KEYWORD,
         GREBE_KEY | GREBE_STORED | GREBE_INDEXED | GREBE_COLUMN, NULL, NULL},
        {"body", GREBE_TEXT, GREBE_STORED | GREBE_INDEXED, "standard", NULL},
        {"year", GREBE_INT, GREBE_STORED | GREBE_INDEXED | GREBE_COLUMN, NULL,
         NULL},
        {"tag", GREBE_KEYWORD,
         GREBE_STORED | GREBE_INDEXED | GREBE_COLUMN | GREBE_MANY, NULL, NULL},
        {"hidden", GREBE_TEXT, GREBE_INDEXED, NULL, NULL}};
    grebe_schema *schema;
    grebe_error err;
    assert_int_equal(grebe_schema_new(&schema, &err), GREBE_OK);
    for (int i = 0; i < F_COUNT; i++)
        assert_int_equal(grebe_schema_add(schema, &fields[i], &err), GREBE_OK);
    return schema;
}

typedef struct world {
    meter meter;
    grebe_allocator allocator;
    grebe_index *index;
} world;

static void doc_put(grebe_index *index, grebe_document *d, int id,
                    const char *body, int year) {
    char key[16], tag[16];
    grebe_error err;
    snprintf(key, sizeof key, "k%d", id);
    snprintf(tag, sizeof tag, "t%d", id % 7);
    grebe_document_clear(d);
    assert_int_equal(grebe_document_add_text(d, F_ID, key, strlen(key), &err),
                     GREBE_OK);
    grebe_document_add_text(d, F_BODY, body, strlen(body), &err);
    if (year) grebe_document_add_int(d, F_YEAR, year, &err);
    grebe_document_add_text(d, F_TAG, tag, strlen(tag), &err);
    if (id % 2) grebe_document_add_text(d, F_TAG, "odd", 3, &err);
    assert_int_equal(grebe_index_add(index, d, 1, &err), GREBE_OK);
}

/* 60 documents, ten of them deleted, five replaced. */
static void world_open(world *w) {
    grebe_error err;
    memset(w, 0, sizeof *w);
    w->meter.left = -1;
    w->allocator.resize = meter_resize;
    w->allocator.context = &w->meter;
    grebe_open_options options = {.allocator = &w->allocator, .docs_max = 25};
    grebe_schema *schema = schema_new();
    assert_int_equal(grebe_index_open(NULL, schema, &options, &w->index, &err),
                     GREBE_OK);
    grebe_document *d;
    assert_int_equal(grebe_document_new(schema, &d, &err), GREBE_OK);
    for (int i = 0; i < 60; i++) {
        char body[80];
        snprintf(body, sizeof body, "the quick fox %s number%d",
                 i % 3 ? "jumps" : "sleeps and jumps and jumps", i);
        doc_put(w->index, d, i, body, i % 5 ? 1990 + i % 11 : 0);
    }
    for (int i = 0; i < 10; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i * 6);
        grebe_value v = {.kind = GREBE_KEYWORD};
        v.as.text.bytes = key;
        v.as.text.size = strlen(key);
        assert_int_equal(grebe_index_delete(w->index, &v, NULL, &err),
                         GREBE_OK);
    }
    for (int i = 1; i <= 5; i++) doc_put(w->index, d, i, "a new fox", 2024);
    assert_int_equal(grebe_index_commit(w->index, GREBE_SOFT, NULL, &err),
                     GREBE_OK);
    grebe_document_free(d);
    grebe_schema_release(schema);
}

static void world_close(world *w) {
    grebe_index_free(w->index);
    assert_int_equal(w->meter.bytes, 0);
    assert_int_equal(grebe_live_handles(), 0);
}

static grebe_query *match(const char *text) {
    grebe_query *q;
    assert_int_equal(
        grebe_query_match("body", text, strlen(text), GREBE_OR, &q, NULL),
        GREBE_OK);
    return q;
}

static grebe_status search(world *w, const grebe_search_request *r,
                           grebe_hits **out, grebe_error *err) {
    return grebe_index_search(w->index, r, out, err);
}

static void key_copy(const grebe_hits *hits, uint64_t i, char out[16]) {
    grebe_value v;
    assert_int_equal(grebe_hits_key(hits, i, &v, NULL), GREBE_OK);
    assert_true(v.as.text.size < 16);
    memcpy(out, v.as.text.bytes, v.as.text.size);
    out[v.as.text.size] = 0;
}

static void a_search_of_nothing_shows_everything_alive(void **state) {
    world w;
    world_open(&w);
    grebe_search_request r = {.limit = 10};
    grebe_hits *hits;
    assert_int_equal(search(&w, &r, &hits, NULL), GREBE_OK);
    assert_int_equal(grebe_hits_total(hits), 50);
    assert_true(grebe_hits_total_is_exact(hits));
    assert_int_equal(grebe_hits_count(hits), 10);
    char key[16];
    key_copy(hits, 0, key);
    assert_string_equal(key, "k7");
    assert_true(grebe_hits_scores(hits)[9] == 1.0f);
    assert_non_null(grebe_hits_cursor(hits));
    grebe_hits_release(hits);
    r.limit = 0;
    assert_int_equal(search(&w, &r, &hits, NULL), GREBE_OK);
    assert_int_equal(grebe_hits_total(hits), 50);
    assert_int_equal(grebe_hits_count(hits), 0);
    assert_null(grebe_hits_cursor(hits));
    grebe_hits_release(hits);
    world_close(&w);
}

static void every_walk_by_cursor_is_the_one_big_page(void **state) {
    static const char *sorts[] = {NULL,
                                  "score asc",
                                  "year",
                                  "year desc missing first, score",
                                  "tag, year desc",
                                  "id desc",
                                  "_order desc",
                                  "_order"};
    world w;
    world_open(&w);
    grebe_query *q = match("jumps fox");
    for (size_t s = 0; s < sizeof sorts / sizeof *sorts; s++) {
        for (int scored = 0; scored < 2; scored++) {
            grebe_hits *big, *page;
            grebe_search_request r = {.limit = GREBE_LIMIT_ALL,
                                      .sort = sorts[s],
                                      .query = scored ? q : NULL};
            char cursor[4096] = "";
            uint64_t at = 0;
            assert_int_equal(search(&w, &r, &big, NULL), GREBE_OK);
            assert_int_equal(grebe_hits_count(big), 50);
            assert_null(grebe_hits_cursor(big));
            r.limit = 4;
            do {
                r.after = cursor[0] ? cursor : NULL;
                assert_int_equal(search(&w, &r, &page, NULL), GREBE_OK);
                assert_int_equal(grebe_hits_total(page), 50);
                for (uint64_t i = 0; i < grebe_hits_count(page); i++, at++) {
                    char a[16], b[16];
                    key_copy(page, i, a);
                    key_copy(big, at, b);
                    assert_string_equal(a, b);
                }
                const char *next = grebe_hits_cursor(page);
                snprintf(cursor, sizeof cursor, "%s", next ? next : "");
                grebe_hits_release(page);
            } while (cursor[0]);
            assert_int_equal(at, 50);
            grebe_hits_release(big);
        }
    }
    grebe_query_release(q);
    world_close(&w);
}

static void offsets_cut_the_same_list(void **state) {
    world w;
    world_open(&w);
    grebe_query *q = match("jumps");
    grebe_search_request r = {.limit = GREBE_LIMIT_ALL, .query = q};
    grebe_hits *big, *page;
    assert_int_equal(search(&w, &r, &big, NULL), GREBE_OK);
    uint64_t total = grebe_hits_count(big);
    assert_int_equal(total, 45);
    for (uint64_t offset = 0; offset < total + 3; offset += 5) {
        r.limit = 5;
        r.offset = offset;
        assert_int_equal(search(&w, &r, &page, NULL), GREBE_OK);
        uint64_t left = offset < total ? total - offset : 0;
        assert_int_equal(grebe_hits_count(page), left < 5 ? left : 5);
        for (uint64_t i = 0; i < grebe_hits_count(page); i++) {
            char a[16], b[16];
            key_copy(page, i, a);
            key_copy(big, offset + i, b);
            assert_string_equal(a, b);
            assert_true(grebe_hits_scores(page)[i] ==
                        grebe_hits_scores(big)[offset + i]);
        }
        assert_int_equal(grebe_hits_cursor(page) != NULL, left > 5);
        grebe_hits_release(page);
    }
    grebe_hits_release(big);
    grebe_query_release(q);
    world_close(&w);
}

static void totals_are_counted_to_their_bound(void **state) {
    world w;
    world_open(&w);
    grebe_query *q = match("jumps");
    static const uint64_t bounds[] = {1, 44, 45, 46};
    for (int i = 0; i < 4; i++) {
        for (int limit = 0; limit < 10; limit += 9) {
            grebe_search_request r = {
                .query = q, .limit = (uint64_t)limit, .total_max = bounds[i]};
            grebe_hits *hits;
            assert_int_equal(search(&w, &r, &hits, NULL), GREBE_OK);
            assert_int_equal(grebe_hits_total(hits),
                             bounds[i] < 45 ? bounds[i] : 45);
            assert_int_equal(grebe_hits_total_is_exact(hits), bounds[i] >= 45);
            grebe_hits_release(hits);
        }
    }
    grebe_query_release(q);
    world_close(&w);
}

static void wrong_requests_are_refused(void **state) {
    world w;
    world_open(&w);
    grebe_hits *hits;
    grebe_error err;
    grebe_query *unknown;
    grebe_query_match("bodi", "x", 1, GREBE_OR, &unknown, NULL);
    grebe_facet_request no_column = {.field = "body"};
    grebe_highlight_request unstored = {.field = "hidden"};
    grebe_highlight_request many = {.field = "body", .snippets = 101};
    const struct {
        grebe_search_request r;
        grebe_status status;
    } bad[] = {
        {{.limit = 10, .sort = "body"}, GREBE_SCHEMA},
        {{.limit = 10, .sort = "yaer"}, GREBE_SCHEMA},
        {{.limit = 10, .sort = "year up"}, GREBE_SYNTAX},
        {{.limit = 10, .after = "!"}, GREBE_SYNTAX},
        {{.limit = 10, .after = ""}, GREBE_SYNTAX},
        {{.limit = 10, .after = "x", .offset = 1}, GREBE_ARGUMENT},
        {{.limit = GREBE_WINDOW_MAX, .offset = 1}, GREBE_LIMIT},
        {{.limit = GREBE_WINDOW_MAX + 1ull}, GREBE_LIMIT},
        {{.limit = 1, .offset = UINT64_MAX}, GREBE_LIMIT},
        {{.limit = 10, .query = unknown}, GREBE_SCHEMA},
        {{.limit = 10, .facets = &no_column, .facet_count = 1}, GREBE_SCHEMA},
        {{.limit = 10, .highlights = &unstored, .highlight_count = 1},
         GREBE_SCHEMA},
        {{.limit = 10, .highlights = &many, .highlight_count = 1},
         GREBE_LIMIT},
        {{.limit = 10, .filter_count = 1}, GREBE_ARGUMENT}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hits = (grebe_hits *)&w;
        assert_int_equal(search(&w, &bad[i].r, &hits, &err), bad[i].status);
        assert_int_equal(err.status, bad[i].status);
        assert_null(hits);
    }
    grebe_search_request ok = {.limit = GREBE_WINDOW_MAX};
    assert_int_equal(search(&w, &ok, &hits, &err), GREBE_OK);
    grebe_value v;
    assert_int_equal(grebe_hits_key(hits, 50, &v, &err), GREBE_ARGUMENT);
    grebe_hits_release(hits);
    /* A cursor of another order. */
    grebe_search_request by_year = {.limit = 3, .sort = "year"};
    assert_int_equal(search(&w, &by_year, &hits, &err), GREBE_OK);
    grebe_search_request by_score = {.limit = 3,
                                     .after = grebe_hits_cursor(hits)};
    grebe_hits *other;
    assert_int_equal(search(&w, &by_score, &other, &err), GREBE_ARGUMENT);
    grebe_hits_release(hits);
    grebe_query_release(unknown);
    world_close(&w);
}

static void deadlines_flags_and_budgets_end_searches(void **state) {
    world w;
    world_open(&w);
    grebe_query *q = match("fox jumps");
    grebe_cancel *cancel;
    grebe_hits *hits;
    assert_int_equal(grebe_cancel_new(&cancel, NULL), GREBE_OK);
    grebe_search_request r = {.query = q, .limit = 5, .timeout_ns = 1};
    assert_int_equal(search(&w, &r, &hits, NULL), GREBE_DEADLINE);
    r.partial = 1;
    grebe_facet_request facet = {.field = "tag", .mincount = 1};
    r.facets = &facet;
    r.facet_count = 1;
    assert_int_equal(search(&w, &r, &hits, NULL), GREBE_OK);
    assert_true(grebe_hits_partial(hits));
    assert_false(grebe_hits_total_is_exact(hits));
    grebe_hits_release(hits);
    grebe_search_request c = {.query = q, .limit = 5, .cancel = cancel};
    grebe_cancel_set(cancel);
    assert_true(grebe_cancel_is_set(cancel));
    assert_int_equal(search(&w, &c, &hits, NULL), GREBE_CANCELLED);
    grebe_cancel_clear(cancel);
    assert_int_equal(search(&w, &c, &hits, NULL), GREBE_OK);
    grebe_hits_release(hits);
    grebe_search_request little = {.query = q, .limit = 5, .work_max = 1};
    assert_int_equal(search(&w, &little, &hits, NULL), GREBE_LIMIT);
    grebe_cancel_free(cancel);
    grebe_query_release(q);
    world_close(&w);
}

static void facets_and_filters_look_at_all_matches(void **state) {
    world w;
    world_open(&w);
    grebe_query *q = match("jumps");
    grebe_value odd = {.kind = GREBE_KEYWORD};
    odd.as.text.bytes = "odd";
    odd.as.text.size = 3;
    grebe_query *filter;
    grebe_query_term("tag", &odd, &filter, NULL);
    const grebe_query *filters[] = {filter};
    grebe_facet_request facets[] = {
        {.field = "tag", .mincount = 1, .limit = 2},
        {.field = "year",
         .mincount = 1,
         .missing = 1,
         .limit = GREBE_LIMIT_ALL,
         .sort = GREBE_FACET_BY_VALUE}};
    grebe_search_request r = {.query = q,
                              .filters = filters,
                              .filter_count = 1,
                              .facets = facets,
                              .facet_count = 2,
                              .limit = 1};
    grebe_hits *hits;
    grebe_value v;
    uint64_t count, sum = 0;
    assert_int_equal(search(&w, &r, &hits, NULL), GREBE_OK);
    assert_int_equal(grebe_hits_total(hits), 27);
    assert_int_equal(grebe_hits_facet_size(hits, 0), 2);
    assert_int_equal(grebe_hits_facet(hits, 0, 0, &v, &count, NULL), GREBE_OK);
    assert_int_equal(count, 27);
    assert_memory_equal(v.as.text.bytes, "odd", 3);
    int64_t before = INT64_MIN;
    for (uint64_t i = 0; i < grebe_hits_facet_size(hits, 1); i++) {
        grebe_hits_facet(hits, 1, i, &v, &count, NULL);
        assert_true(v.as.integer > before);
        before = v.as.integer;
        sum += count;
    }
    assert_int_equal(sum + grebe_hits_facet_missing(hits, 1), 27);
    assert_int_equal(grebe_hits_facet(hits, 0, 2, &v, &count, NULL),
                     GREBE_ARGUMENT);
    grebe_hits_release(hits);
    grebe_query_release(filter);
    grebe_query_release(q);
    world_close(&w);
}

static void hits_outlive_index_and_searcher(void **state) {
    world w;
    world_open(&w);
    grebe_searcher *searcher;
    grebe_hits *hits;
    grebe_error err;
    assert_int_equal(grebe_index_searcher(w.index, 0, &searcher, &err),
                     GREBE_OK);
    assert_int_equal(grebe_searcher_count(searcher), 50);
    grebe_search_request r = {.limit = 3, .sort = "id"};
    assert_int_equal(grebe_searcher_search(searcher, &r, &hits, &err),
                     GREBE_OK);
    grebe_schema *schema = grebe_searcher_schema(searcher);
    grebe_searcher_release(searcher);
    assert_int_equal(grebe_index_close(w.index, 0, &err), GREBE_OK);
    grebe_document *d;
    grebe_value v;
    uint32_t field;
    assert_int_equal(grebe_document_new(schema, &d, &err), GREBE_OK);
    assert_int_equal(grebe_hits_document(hits, 0, d, &err), GREBE_OK);
    assert_int_equal(grebe_document_value(d, 0, &field, &v, &err), GREBE_OK);
    assert_int_equal(field, F_ID);
    assert_memory_equal(v.as.text.bytes, "k1", 2);
    assert_non_null(grebe_hits_cursor(hits));
    assert_true(grebe_hits_scores(hits)[0] != grebe_hits_scores(hits)[0]);
    assert_null(grebe_hits_int_keys(hits));
    grebe_hits_acquire(hits);
    grebe_hits_release(hits);
    grebe_hits_release(hits);
    grebe_document_free(d);
    grebe_schema_release(schema);
    world_close(&w);
}

static grebe_status scan_visit(void *context, const grebe_document *d) {
    int *left = context;
    return --*left == 0 ? GREBE_STATE : GREBE_OK;
}

static void get_explain_and_scan_see_the_newest(void **state) {
    world w;
    world_open(&w);
    grebe_searcher *s;
    grebe_document *d;
    grebe_error err;
    grebe_query *q = match("fox");
    assert_int_equal(grebe_index_searcher(w.index, 0, &s, &err), GREBE_OK);
    grebe_schema *schema = grebe_searcher_schema(s);
    assert_int_equal(grebe_document_new(schema, &d, &err), GREBE_OK);
    grebe_value key = {.kind = GREBE_TEXT}, number = {.kind = GREBE_INT}, v;
    key.as.text.bytes = "k3";
    key.as.text.size = 2;
    int found;
    uint32_t field;
    assert_int_equal(grebe_searcher_get(s, &key, d, &found, &err), GREBE_OK);
    assert_true(found);
    grebe_document_value(d, 1, &field, &v, &err);
    assert_memory_equal(v.as.text.bytes, "a new fox", 9);
    assert_int_equal(grebe_searcher_get(s, &number, d, &found, &err),
                     GREBE_DOCUMENT);
    char text[400];
    size_t size;
    assert_int_equal(
        grebe_searcher_explain(s, q, &key, text, sizeof text, &size, &err),
        GREBE_OK);
    assert_int_equal(strlen(text), size < sizeof text ? size : 399);
    assert_true(size > 0);
    char little[5];
    assert_int_equal(grebe_searcher_explain(s, q, &key, little, 5, NULL, &err),
                     GREBE_OK);
    assert_int_equal(strlen(little), 4);
    key.as.text.bytes = "k6"; /* deleted */
    assert_int_equal(grebe_searcher_get(s, &key, d, &found, &err), GREBE_OK);
    assert_false(found);
    assert_int_equal(grebe_searcher_explain(s, q, &key, NULL, 0, &size, &err),
                     GREBE_MISSING_KEY);
    int left = 1000;
    assert_int_equal(grebe_searcher_scan(s, q, scan_visit, &left, &err),
                     GREBE_OK);
    assert_int_equal(left, 1000 - 50);
    left = 7;
    assert_int_equal(grebe_searcher_scan(s, NULL, scan_visit, &left, &err),
                     GREBE_STATE);
    assert_int_equal(left, 0);
    grebe_document_free(d);
    grebe_schema_release(schema);
    grebe_searcher_release(s);
    grebe_query_release(q);
    world_close(&w);
}

static void a_plan_has_a_step_for_each_pass_and_segment(void **state) {
    world w;
    grebe_plan_step step;
    grebe_plan_operator o;
    grebe_error err;
    grebe_hits *hits;
    uint64_t docs = 0, matched = 0;
    world_open(&w);
    grebe_query *q = match("fox"), *filter = match("jumps");
    const grebe_query *filters[] = {filter};
    grebe_search_request r = {.query = q,
                              .limit = 5,
                              .filters = filters,
                              .filter_count = 1,
                              .plan = 1};
    assert_int_equal(search(&w, &r, &hits, &err), GREBE_OK);
    assert_true(grebe_hits_plan_size(hits) >= 2);
    for (uint64_t i = 0; i < grebe_hits_plan_size(hits); i++) {
        assert_int_equal(grebe_hits_plan(hits, i, &step, &err), GREBE_OK);
        assert_string_equal(step.pass, "all");
        assert_int_equal(step.segment, i);
        assert_true(step.reason[0] && step.pass_reason[0]);
        docs += step.docs;
        matched += step.matched;
        assert_int_equal(step.matched, step.scored);
        if (strcmp(step.method, "none") == 0) continue;
        assert_int_equal(step.operator_count, 2);
        for (uint64_t j = 0; j < 2; j++) {
            assert_int_equal(grebe_hits_plan_operator(hits, i, j, &o, &err),
                             GREBE_OK);
            assert_string_equal(o.kind, "term");
            assert_string_equal(o.field, "body");
            assert_string_equal(o.kept, o.role[0] == 'f' ? "not worth it" : "");
        }
    }
    assert_int_equal(docs, 65);
    assert_int_equal(matched, grebe_hits_total(hits));
    assert_int_equal(grebe_hits_plan(hits, 99, &step, &err), GREBE_ARGUMENT);
    assert_int_equal(grebe_hits_plan_operator(hits, 0, 9, &o, &err),
                     GREBE_ARGUMENT);
    assert_int_equal(grebe_hits_plan(hits, 0, NULL, &err), GREBE_ARGUMENT);
    grebe_hits_release(hits);
    r.plan = 0;
    assert_int_equal(search(&w, &r, &hits, &err), GREBE_OK);
    assert_int_equal(grebe_hits_plan_size(hits), 0);
    assert_int_equal(grebe_hits_plan_size(NULL), 0);
    grebe_hits_release(hits);
    grebe_query_release(q);
    grebe_query_release(filter);
    world_close(&w);
}

/* Fails allocation n of a search, for every n, until one passes. */
static void failing_allocations_leave_nothing_behind(void **state) {
    static const char *sorts[] = {NULL, "tag, year", "year desc"};
    world w;
    world_open(&w);
    grebe_query *q = match("fox jumps");
    grebe_facet_request facets[] = {{.field = "tag", .mincount = 1},
                                    {.field = "year", .mincount = 1}};
    grebe_highlight_request highlight = {.field = "body", .snippets = 3};
    for (size_t s = 0; s < 3; s++) {
        char cursor[512];
        grebe_hits *page;
        grebe_search_request before = {
            .query = q, .limit = 2, .sort = sorts[s]};
        assert_int_equal(search(&w, &before, &page, NULL), GREBE_OK);
        w.meter.left = 0; /* a cursor needs no memory */
        assert_non_null(grebe_hits_cursor(page));
        w.meter.left = -1;
        snprintf(cursor, sizeof cursor, "%s", grebe_hits_cursor(page));
        grebe_hits_release(page);
        grebe_search_request r = {.query = q,
                                  .after = cursor,
                                  .limit = 30,
                                  .sort = sorts[s],
                                  .facets = facets,
                                  .facet_count = 2,
                                  .highlights = &highlight,
                                  .highlight_count = 1,
                                  .plan = 1};
        grebe_status status = GREBE_MEMORY;
        grebe_hits *hits;
        int n = 0;
        /* What segments make once for all searches is made now. */
        assert_int_equal(search(&w, &r, &hits, NULL), GREBE_OK);
        grebe_hits_release(hits);
        for (; status == GREBE_MEMORY; n++) {
            int64_t before = w.meter.bytes;
            w.meter.left = n;
            status = search(&w, &r, &hits, NULL);
            w.meter.left = -1;
            if (status == GREBE_OK) break;
            assert_int_equal(status, GREBE_MEMORY);
            assert_null(hits);
            assert_int_equal(w.meter.bytes, before);
        }
        assert_int_equal(status, GREBE_OK);
        assert_true(n > 5);
        assert_int_equal(grebe_hits_total(hits), 50);
        grebe_hits_release(hits);
    }
    grebe_query_release(q);
    world_close(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_search_of_nothing_shows_everything_alive),
        cmocka_unit_test(every_walk_by_cursor_is_the_one_big_page),
        cmocka_unit_test(offsets_cut_the_same_list),
        cmocka_unit_test(totals_are_counted_to_their_bound),
        cmocka_unit_test(wrong_requests_are_refused),
        cmocka_unit_test(deadlines_flags_and_budgets_end_searches),
        cmocka_unit_test(facets_and_filters_look_at_all_matches),
        cmocka_unit_test(hits_outlive_index_and_searcher),
        cmocka_unit_test(get_explain_and_scan_see_the_newest),
        cmocka_unit_test(a_plan_has_a_step_for_each_pass_and_segment),
        cmocka_unit_test(failing_allocations_leave_nothing_behind)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
