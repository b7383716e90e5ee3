/* rooms: base store doc analysis segment invert memseg snapshot merge query search commit collect result engine api */
/* Every allocation of a life in memory and in files fails once: each call
 * either works or says MEMORY (or what it could not write), nothing leaks, and
 * what was committed before is still there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine_case.h"

typedef struct failing {
    _Atomic int64_t left; /* allocations until the one that fails */
    _Atomic int64_t held; /* bytes */
    bool sticky;
} failing;

static void *failing_resize(void *context, void *block, size_t old_size,
                            size_t new_size) {
    failing *f = context;
    if (new_size > old_size) {
        int64_t left = --f->left;
        if (left == 0 || (f->sticky && left < 0)) return NULL;
    }
    f->held += (int64_t)new_size - (int64_t)old_size;
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    return realloc(block, new_size);
}

typedef struct life {
    failing memory;
    grebe_allocator allocator;
    engine_case c;
    bool failed;
    uint64_t added;
} life;

static bool worked(life *l, grebe_status status) {
    if (status == GREBE_OK) return true;
    /* Files in memory: a write may fail after a commit began. */
    if (status != GREBE_MEMORY && status != GREBE_POISONED)
        fail_msg("%s: %s", grebe_status_word(status), l->c.error.message);
    l->failed = true;
    return false;
}

static void life_add(life *l, int key) {
    char name[16];
    grebe_document *d = l->c.document;
    grebe_document_clear(d);
    snprintf(name, sizeof name, "k%d", key);
    case_ok(grebe_document_add_text(d, 0, name, strlen(name), NULL), &l->c);
    case_ok(grebe_document_add_text(d, 1, "some words of text", 18, NULL),
            &l->c);
    case_ok(grebe_document_add_text(d, 2, "tag", 3, NULL), &l->c);
    case_ok(grebe_document_add_int(d, 3, key, NULL), &l->c);
    grebe_status status = grebe_index_add(l->c.index, d, 1, &l->c.error);
    if (worked(l, status)) l->added++;
}

/* The number that the last commit shows must be one that was there. */
static void life_check(life *l, uint64_t least, uint64_t most) {
    uint64_t count;
    case_ok(grebe_index_count(l->c.index, &count, &l->c.error), &l->c);
    assert_true(count >= least && count <= most);
}

static void life_work(life *l) {
    grebe_index *ix = l->c.index;
    grebe_error *err = &l->c.error;
    grebe_snapshot *pin = NULL;
    grebe_hits *hits = NULL;
    uint64_t count = 0;
    for (int i = 0; i < 12; i++) life_add(l, i);
    bool soft = worked(l, grebe_index_commit(ix, GREBE_SOFT, NULL, err));
    life_check(l, soft ? l->added : 0, l->added);
    grebe_query *q;
    grebe_search_request r = {.limit = 5, .sort = "year desc"};
    if (grebe_query_match("title", "words", 5, GREBE_OR, &q, err) == 0) {
        r.query = q;
        grebe_facet_request facet = {.field = "tags", .mincount = 1};
        r.facets = &facet;
        r.facet_count = 1;
        if (worked(l, grebe_index_search(ix, &r, &hits, err)))
            grebe_hits_release(hits);
        if (worked(l, grebe_index_snapshot(ix, &pin, err))) {
            if (worked(l, grebe_index_delete_by_query(ix, q, &count, err)))
                assert_true(count == l->added || !soft);
            worked(l, grebe_index_restore(ix, pin, err));
            grebe_snapshot_free(pin);
        }
        grebe_query_release(q);
    }
    worked(l, grebe_index_commit(ix, GREBE_HARD, NULL, err));
    if (worked(l, grebe_index_batch_begin(ix, err))) {
        life_add(l, 100);
        while (!worked(l, grebe_index_batch_undo(ix, err))) {}
    }
    worked(l, grebe_index_merge(ix, err));
    worked(l, grebe_index_commit(ix, GREBE_HARD, NULL, err));
    worked(l, grebe_index_rollback(ix, err));
}

static bool life_run(int where, int64_t fail_at, bool sticky) {
    life l = {0};
    l.memory.left = fail_at;
    l.memory.sticky = sticky;
    l.allocator = (grebe_allocator){failing_resize, &l.memory};
    l.c.schema = case_schema();
    strcpy(l.c.path, "/tmp/grebe-memory-XXXXXX");
    if (where == CASE_FOLDER && !mkdtemp(l.c.path)) fail_msg("mkdtemp");
    case_ok(grebe_document_new(l.c.schema, &l.c.document, &l.c.error), &l.c);
    grebe_open_options o = {.allocator = &l.allocator, .docs_max = 5};
    if (where == CASE_RAM) o.store = GREBE_STORE_RAM;
    o.durability = GREBE_DURABILITY_NONE;
    if (worked(&l, grebe_index_open(where == CASE_FOLDER ? l.c.path : NULL,
                                    l.c.schema, &o, &l.c.index,
                                    &l.c.error))) {
        if (!sticky) life_work(&l);
        else life_add(&l, 1);
    }
    l.c.where = where;
    case_close(&l.c);
    if (l.memory.held) fail_msg("allocation %lld at place %d: %lld bytes kept", (long long)fail_at, where, (long long)l.memory.held);
    return l.memory.left <= 0; /* the allocation was reached */
}

static void any_allocation_may_fail(void **unused) {
    (void)unused;
    for (int where = 0; where <= CASE_FOLDER; where++) {
        int64_t n = 1;
        while (life_run(where, n, false)) n++;
        assert_true(n > 30);
        print_message("place %d: %lld allocations failed once each\n", where,
                      (long long)n - 1);
        for (n = 1; n < 60; n++) life_run(where, n, true);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
