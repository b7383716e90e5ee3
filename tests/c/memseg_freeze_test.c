/* rooms: base store doc analysis segment invert memseg api */
/* A growing segment, at bounds of any age, and the file written from it give
 * equal answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "memseg/memseg.h"
#include "segment_compare.h"

#define DOCS 5000u

enum { KEY, BODY, TAG, TAGS, YEAR, PRICES, FIELDS };

static const grebe_allocator *const A = &grb_allocator_malloc;
static grb_segfile_options options = {
    .uuid = "0123456789abcde", .file_number = 7, .hash_seed = 99};

static void field_add(grebe_schema *schema, const char *name, grebe_kind kind,
                      uint32_t flags) {
    grebe_field field = {.name = name, .kind = kind, .flags = flags};
    grb_schema_append(
        schema, &field,
        kind == GREBE_TEXT ? grb_analyzer_find("whitespace", 10) : NULL, NULL);
}

static void document_fill(grebe_document *d, uint64_t *r, uint32_t i) {
    char text[1200];
    grb_document_clear(d);
    int size = sprintf(text, "k%u", i % 3000);
    grebe_document_add_text(d, KEY, text, (size_t)size, NULL);
    if (compare_random(r) % 9) {
        size = 0;
        for (uint32_t n = (uint32_t)(compare_random(r) % 30); n-- > 0;) {
            uint32_t a = (uint32_t)(compare_random(r) % 900);
            uint32_t b = (uint32_t)(compare_random(r) % 900);
            size += sprintf(text + size, "%s%u ",
                            a % 11 ? "w" : "averylongwordindeed", a * b / 900);
        }
        grebe_document_add_text(d, BODY, text, (size_t)size, NULL);
    }
    if (compare_random(r) % 3) {
        size = sprintf(text, "t%u", (unsigned)(compare_random(r) % 700));
        grebe_document_add_text(d, TAG, text, (size_t)size, NULL);
    }
    for (uint32_t n = (uint32_t)(compare_random(r) % 4); n-- > 0;) {
        size = sprintf(text, "g%u", (unsigned)(compare_random(r) % 40));
        grebe_document_add_text(d, TAGS, text, (size_t)size, NULL);
        grebe_document_add_double(d, PRICES,
                                  (double)(compare_random(r) % 100) / 7, NULL);
    }
    if (compare_random(r) % 2)
        grebe_document_add_int(d, YEAR, (int64_t)(compare_random(r) % 3000),
                               NULL);
}

/* The growing segment's zones may be wider than old bounds: then only the
 * first `field_count` fields are compared. */
static void freeze_check(grb_directory *directory, grebe_schema *schema,
                         grb_segment *s, const grb_bounds *bounds,
                         uint32_t field_count) {
    grb_source source = {s, *bounds, NULL};
    grb_segfile_written written;
    grb_segfile_census census;
    grebe_error err;
    grb_segment *file;
    compare_side a, b;
    options.schema = schema;
    assert_int_equal(grb_segfile_write(directory, "seg-7", &source, 1, &options, &written, &err),
                     GREBE_OK);
    assert_int_equal(grb_segfile_open(directory, "seg-7", options.uuid, 7,
                                      GREBE_VERIFY_TOUCH, &file, &err),
                     GREBE_OK);
    assert_int_equal(grb_segfile_check(file, &census, &err), GREBE_OK);
    compare_side_init(&a, s);
    compare_side_init(&b, file);
    a.b = *bounds;
    grb_segfile_bounds(file, &b.b);
    assert_true(compare_segments(&a, &b, field_count));
    assert_false(b.failed);
    for (uint32_t f = 0; f < FIELDS; f++) {
        grb_field_totals x, y;
        s->ops->totals(s, bounds, f, &x);
        file->ops->totals(file, &b.b, f, &y);
        assert_int_equal(x.doc_count, y.doc_count);
        assert_int_equal(x.term_total, y.term_total);
    }
    grb_arena_deinit(&a.arena);
    grb_arena_deinit(&b.arena);
    grb_segment_release(file);
    directory->ops->remove(directory, "seg-7", NULL);
}

static void a_file_answers_as_the_memory_it_was_frozen_from(void **state) {
    static const uint32_t at[] = {1, 64, 256, 257, 1000, 4096, 4097, DOCS};
    grb_directory *directory;
    grebe_schema *schema;
    grebe_document *document;
    grb_inverted *inv;
    grb_pool *pool;
    grb_segment *s;
    grb_bounds bounds[GRB_COUNT(at)];
    uint64_t random = 5;
    uint32_t doc, kept = 0;
    assert_int_equal(grb_directory_open_ram(A, &directory, NULL), GREBE_OK);
    grb_schema_new(A, &schema, NULL);
    field_add(schema, "key", GREBE_KEYWORD, GREBE_KEY | GREBE_STORED);
    field_add(schema, "body", GREBE_TEXT, GREBE_INDEXED | GREBE_STORED);
    field_add(schema, "tag", GREBE_KEYWORD, GREBE_INDEXED | GREBE_COLUMN);
    field_add(schema, "tags", GREBE_KEYWORD,
              GREBE_INDEXED | GREBE_COLUMN | GREBE_MANY);
    field_add(schema, "year", GREBE_INT, GREBE_INDEXED);
    field_add(schema, "prices", GREBE_DOUBLE, GREBE_COLUMN | GREBE_MANY);
    grebe_document_new(schema, &document, NULL);
    grb_inverted_new(A, &inv, NULL);
    grb_pool_new(A, &pool, NULL);
    assert_int_equal(grb_memseg_new(pool, schema, &s, NULL), GREBE_OK);
    for (uint32_t i = 0; i < DOCS; i++) {
        document_fill(document, &random, i);
        assert_int_equal(grb_inverted_build(inv, document, false, NULL), 0);
        assert_int_equal(grb_memseg_append(s, inv, 100 + i, &doc, NULL), 0);
        if (i + 1 != at[kept]) continue;
        grb_memseg_bounds(s, &bounds[kept]);
        freeze_check(directory, schema, s, &bounds[kept++], FIELDS);
    }
    assert_int_equal(kept, GRB_COUNT(at));
    for (uint32_t i = kept; i-- > 0;) {
        freeze_check(directory, schema, s, &bounds[i], YEAR);
        grb_totals_release(bounds[i].totals);
    }
    grb_segment_release(s);
    grb_inverted_free(inv);
    grb_document_free(document);
    grb_schema_release(schema);
    grb_pool_release(pool);
    grb_directory_close(directory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_answers_as_the_memory_it_was_frozen_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
