/* engine_steps.h - steps that sequences are made of. */
#ifndef ENGINE_STEPS_H
#define ENGINE_STEPS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine_case.h"
#include "strict_allocator.h"

static inline bool in_folder(const engine_case *c) {
    return c->where == CASE_FOLDER || c->where == CASE_FROZEN;
}

static inline void add_many(engine_case *c, const char *prefix, int count) {
    char key[32];
    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof key, "%s%d", prefix, i);
        case_add(c, key, "fox", "t", i);
    }
}

static inline uint64_t delete_year(engine_case *c, int64_t from, int64_t to) {
    grebe_query *q;
    uint64_t count = 0;
    const grebe_value low = {.kind = GREBE_INT, .as.integer = from};
    const grebe_value high = {.kind = GREBE_INT, .as.integer = to};
    const grebe_range range = {.lower = &low, .upper = &high};
    case_ok(grebe_query_range("year", &range, &q, NULL), c);
    case_ok(grebe_index_delete_by_query(c->index, q, &count, &c->error), c);
    grebe_query_release(q);
    return count;
}

static inline void duplicate_add(engine_case *c, const char *key,
                                 const char *title) {
    grebe_document *d = c->document;
    grebe_document_clear(d);
    case_ok(grebe_document_add_text(d, 0, key, strlen(key), NULL), c);
    case_ok(grebe_document_add_text(d, 1, title, strlen(title), NULL), c);
    case_ok(grebe_index_add(c->index, d, 0, &c->error), c);
}

static inline grebe_snapshot *pin(engine_case *c) {
    grebe_snapshot *s;
    case_ok(grebe_index_snapshot(c->index, &s, &c->error), c);
    return s;
}

static inline void restore(engine_case *c, grebe_snapshot *s) {
    case_ok(grebe_index_restore(c->index, s, &c->error), c);
}

static inline grebe_searcher *searcher(engine_case *c) {
    grebe_searcher *s;
    case_ok(grebe_index_searcher(c->index, 0, &s, &c->error), c);
    return s;
}

static inline uint64_t seen_by(engine_case *c, grebe_searcher *s,
                               const char *word) {
    grebe_query *q;
    grebe_hits *hits;
    grebe_search_request r = {.limit = 100};
    case_ok(
        grebe_query_match("title", word, strlen(word), GREBE_AND, &q, NULL),
        c);
    r.query = q;
    case_ok(grebe_searcher_search(s, &r, &hits, &c->error), c);
    uint64_t total = grebe_hits_total(hits);
    grebe_hits_release(hits);
    grebe_query_release(q);
    return total;
}

static inline int got(engine_case *c, const char *key) {
    grebe_value v = {.kind = GREBE_KEYWORD};
    int found;
    v.as.text.bytes = key;
    v.as.text.size = strlen(key);
    case_ok(grebe_index_get(c->index, &v, c->document, &found, &c->error), c);
    return found;
}

static inline void batch_begin(engine_case *c) {
    case_ok(grebe_index_batch_begin(c->index, &c->error), c);
}

static inline void batch_undo(engine_case *c) {
    case_ok(grebe_index_batch_undo(c->index, &c->error), c);
}

/* Whatever is durable is whole, and there again. */
static inline void reopened_has(engine_case *c, uint64_t count) {
    if (!in_folder(c)) return;
    case_reopen(c);
    case_ok(grebe_check(c->path, NULL, NULL, &c->error), c);
    assert_int_equal(case_count(c), count);
}

#define EACH_PLACE(c)                                          \
    for (int where = 0; where < CASE_PLACES; where++)          \
        for (bool once = (case_open(&(c), where), true); once; \
             once = false, case_close(&(c)))

/* Runs a file's tests with an allocator that counts; all must come back.
 * GREBE_TEST names one of them. */
#define STEPS_RUN(tests)                           \
    (case_allocator = &strict_allocator,           \
     cmocka_set_test_filter(getenv("GREBE_TEST")), \
     cmocka_run_group_tests(tests, NULL, NULL) + strict_allocator_left())

#endif
