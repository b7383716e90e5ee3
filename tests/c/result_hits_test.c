/* rooms: base store doc analysis segment invert memseg snapshot merge query search commit collect result engine api */
/* Reading a page: keys, documents and cursors, in every store. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "grebe/grebe.h"

#define DOCS 400

typedef struct world {
    char path[64];
    grebe_schema *schema;
    grebe_index *index;
} world;

static void key_make(int i, grebe_kind kind, char text[32], grebe_value *out) {
    memset(out, 0, sizeof *out);
    out->kind = kind;
    if (kind == GREBE_INT) {
        out->as.integer = i % 2 ? INT64_MIN + i : (int64_t)i << 33;
        return;
    }
    out->as.text.bytes = text;
    out->as.text.size =
        (size_t)snprintf(text, 32, "key-%d-of-%d", i * 7919 % 1000, i);
}

/* Documents in several file segments of a folder, and some in memory. */
static void world_open(world *w, grebe_kind key, grebe_store_kind store) {
    const grebe_field fields[] = {
        {"id", key, GREBE_KEY | GREBE_STORED | GREBE_INDEXED, NULL, NULL},
        {"body", GREBE_TEXT, GREBE_STORED | GREBE_INDEXED, NULL, NULL}};
    grebe_error err;
    grebe_open_options options = {
        .store = store, .docs_max = 100, .durability = GREBE_DURABILITY_NONE};
    snprintf(w->path, sizeof w->path, "/tmp/grebe-hits-XXXXXX");
    assert_non_null(mkdtemp(w->path));
    grebe_schema_new(&w->schema, &err);
    for (int i = 0; i < 2; i++)
        assert_int_equal(grebe_schema_add(w->schema, &fields[i], &err),
                         GREBE_OK);
    assert_int_equal(
        grebe_index_open(w->path, w->schema, &options, &w->index, &err),
        GREBE_OK);
    grebe_document *d;
    grebe_document_new(w->schema, &d, &err);
    for (int i = 0; i < DOCS; i++) {
        char text[32], body[32];
        grebe_value v;
        key_make(i, key, text, &v);
        snprintf(body, sizeof body, "body of %d", i);
        grebe_document_clear(d);
        assert_int_equal(grebe_document_add(d, 0, &v, &err), GREBE_OK);
        grebe_document_add_text(d, 1, body, strlen(body), &err);
        assert_int_equal(grebe_index_add(w->index, d, 1, &err), GREBE_OK);
    }
    assert_int_equal(grebe_index_commit(w->index, GREBE_HARD, NULL, &err),
                     GREBE_OK);
    grebe_document_free(d);
}

static void world_close(world *w) {
    char command[100];
    grebe_index_free(w->index);
    grebe_schema_release(w->schema);
    assert_int_equal(grebe_live_handles(), 0);
    snprintf(command, sizeof command, "rm -r %s", w->path);
    assert_int_equal(system(command), 0);
}

static grebe_hits *all_hits(world *w) {
    grebe_search_request r = {.limit = GREBE_LIMIT_ALL, .sort = "_order"};
    grebe_hits *hits;
    assert_int_equal(grebe_index_search(w->index, &r, &hits, NULL), GREBE_OK);
    assert_int_equal(grebe_hits_count(hits), DOCS);
    return hits;
}

/* Every key and document of a page; may run in several threads. */
typedef struct reading {
    const grebe_hits *hits;
    grebe_schema *schema;
    grebe_kind kind;
    int wrong;
    const char *cursor;
} reading;

static void *hits_read(void *context) {
    reading *r = context;
    grebe_document *d;
    if (grebe_document_new(r->schema, &d, NULL) != GREBE_OK) {
        r->wrong++;
        return NULL;
    }
    for (int i = 0; i < DOCS; i++) {
        char text[32];
        grebe_value want, got, body;
        uint32_t field;
        key_make(i, r->kind, text, &want);
        if (grebe_hits_key(r->hits, (uint64_t)i, &got, NULL) != GREBE_OK)
            r->wrong++;
        else if (r->kind == GREBE_INT)
            r->wrong += got.as.integer != want.as.integer;
        else
            r->wrong += got.as.text.size != want.as.text.size ||
                        memcmp(got.as.text.bytes, text, got.as.text.size);
        if (grebe_hits_document(r->hits, (uint64_t)i, d, NULL) != GREBE_OK ||
            grebe_document_value(d, 1, &field, &body, NULL) != GREBE_OK)
            r->wrong++;
        else
            r->wrong += field != 1;
    }
    const int64_t *keys = grebe_hits_int_keys(r->hits);
    for (int i = 0; keys && i < DOCS; i++) {
        grebe_value want;
        key_make(i, GREBE_INT, NULL, &want);
        r->wrong += keys[i] != want.as.integer;
    }
    r->wrong += (keys != NULL) != (r->kind == GREBE_INT);
    r->cursor = grebe_hits_cursor(r->hits);
    grebe_document_free(d);
    return NULL;
}

static void keys_and_documents_are_those_added(void **state) {
    static const grebe_store_kind stores[] = {
        GREBE_STORE_MMAP, GREBE_STORE_PREAD, GREBE_STORE_RAM};
    for (int s = 0; s < 3; s++) {
        for (int k = 0; k < 2; k++) {
            world w;
            grebe_kind kind = k ? GREBE_INT : GREBE_KEYWORD;
            world_open(&w, kind, stores[s]);
            grebe_hits *hits = all_hits(&w);
            reading r = {hits, w.schema, kind, 0, NULL};
            hits_read(&r);
            assert_int_equal(r.wrong, 0);
            grebe_hits_release(hits);
            world_close(&w);
        }
    }
}

static void threads_may_read_one_page_at_once(void **state) {
    for (int k = 0; k < 2; k++) {
        world w;
        pthread_t threads[4];
        reading r[4];
        grebe_kind kind = k ? GREBE_INT : GREBE_KEYWORD;
        world_open(&w, kind, GREBE_STORE_PREAD);
        grebe_hits *hits = all_hits(&w);
        for (int i = 0; i < 4; i++) {
            r[i] = (reading){hits, w.schema, kind, 0, NULL};
            assert_int_equal(
                pthread_create(&threads[i], NULL, hits_read, &r[i]), 0);
        }
        for (int i = 0; i < 4; i++) {
            pthread_join(threads[i], NULL);
            assert_int_equal(r[i].wrong, 0);
        }
        grebe_hits_release(hits);
        world_close(&w);
    }
}

static void a_key_stays_where_it_was_given(void **state) {
    world w;
    world_open(&w, GREBE_KEYWORD, GREBE_STORE_PREAD);
    grebe_hits *hits = all_hits(&w);
    grebe_value a, b;
    for (uint64_t i = 0; i < DOCS; i += 37) {
        assert_int_equal(grebe_hits_key(hits, i, &a, NULL), GREBE_OK);
        assert_int_equal(grebe_hits_key(hits, i, &b, NULL), GREBE_OK);
        assert_ptr_equal(a.as.text.bytes, b.as.text.bytes);
    }
    grebe_hits_release(hits);
    world_close(&w);
}

static void the_cursor_is_one_string(void **state) {
    world w;
    world_open(&w, GREBE_KEYWORD, GREBE_STORE_MMAP);
    grebe_search_request r = {.limit = 7};
    grebe_hits *hits;
    assert_int_equal(grebe_index_search(w.index, &r, &hits, NULL), GREBE_OK);
    const char *cursor = grebe_hits_cursor(hits);
    assert_non_null(cursor);
    assert_ptr_equal(cursor, grebe_hits_cursor(hits));
    for (const char *c = cursor; *c; c++) assert_true(*c > ' ' && *c < 127);
    grebe_hits_release(hits);
    world_close(&w);
}

/* Merging gives documents other places; cursors know none. */
static void a_cursor_holds_across_a_merge(void **state) {
    static const char *sorts[] = {"_order", "_order desc", "score"};
    for (int s = 0; s < 3; s++) {
        world w;
        grebe_hits *big, *page, *rest;
        world_open(&w, GREBE_INT, GREBE_STORE_MMAP);
        grebe_search_request r = {.limit = GREBE_LIMIT_ALL, .sort = sorts[s]};
        assert_int_equal(grebe_index_search(w.index, &r, &big, NULL),
                         GREBE_OK);
        r.limit = 150;
        assert_int_equal(grebe_index_search(w.index, &r, &page, NULL),
                         GREBE_OK);
        assert_int_equal(grebe_index_merge(w.index, NULL), GREBE_OK);
        assert_int_equal(grebe_index_commit(w.index, GREBE_SOFT, NULL, NULL),
                         GREBE_OK);
        r.after = grebe_hits_cursor(page);
        r.limit = GREBE_LIMIT_ALL;
        assert_int_equal(grebe_index_search(w.index, &r, &rest, NULL),
                         GREBE_OK);
        assert_int_equal(grebe_hits_count(rest), DOCS - 150);
        const int64_t *want = grebe_hits_int_keys(big);
        const int64_t *got = grebe_hits_int_keys(rest);
        for (int i = 150; i < DOCS; i++) assert_true(want[i] == got[i - 150]);
        grebe_hits_release(big);
        grebe_hits_release(page);
        grebe_hits_release(rest);
        world_close(&w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_and_documents_are_those_added),
        cmocka_unit_test(threads_may_read_one_page_at_once),
        cmocka_unit_test(a_key_stays_where_it_was_given),
        cmocka_unit_test(the_cursor_is_one_string),
        cmocka_unit_test(a_cursor_holds_across_a_merge)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
