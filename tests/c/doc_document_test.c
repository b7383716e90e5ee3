/* rooms: base doc api */
/* Documents: what goes in comes out, what does not fit stays out. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "doc/doc.h"

static const grebe_allocator *const A = &grb_allocator_malloc;

enum { ID, TITLE, TAGS, YEAR, PRICE, READ, WHEN, RAW, HIDDEN, NEED };

static void add(grebe_schema *schema, const char *name, grebe_kind kind,
                uint32_t flags, const grebe_value *standard) {
    grebe_field field = {
        .name = name, .kind = kind, .flags = flags, .default_value = standard};
    assert_int_equal(grb_schema_append(schema, &field, NULL, NULL), GREBE_OK);
}

static grebe_document *document_make(void) {
    grebe_schema *schema;
    grebe_document *document;
    grebe_value seven = {.kind = GREBE_INT, .as.integer = 7};
    grebe_value sea = {.kind = GREBE_KEYWORD};
    sea.as.text.bytes = "sea";
    sea.as.text.size = 3;
    assert_int_equal(grb_schema_new(A, &schema, NULL), GREBE_OK);
    add(schema, "id", GREBE_KEYWORD, GREBE_KEY | GREBE_STORED, NULL);
    add(schema, "title", GREBE_TEXT, GREBE_STORED | GREBE_MANY, NULL);
    add(schema, "tags", GREBE_KEYWORD, GREBE_STORED | GREBE_MANY, &sea);
    add(schema, "year", GREBE_INT, GREBE_STORED, &seven);
    add(schema, "price", GREBE_DOUBLE, GREBE_STORED | GREBE_MANY, NULL);
    add(schema, "read", GREBE_BOOL, GREBE_STORED | GREBE_MANY, NULL);
    add(schema, "when", GREBE_DATETIME, GREBE_STORED | GREBE_MANY, NULL);
    add(schema, "raw", GREBE_BYTES, GREBE_STORED | GREBE_MANY, NULL);
    add(schema, "hidden", GREBE_INT, GREBE_MANY, NULL);
    assert_int_equal(grebe_document_new(schema, &document, NULL), GREBE_OK);
    grb_schema_release(schema);
    return document;
}

static grebe_document *twin_make(const grebe_document *document) {
    grebe_document *twin;
    assert_int_equal(grebe_document_new(document->schema, &twin, NULL), 0);
    return twin;
}

static void recode(const grebe_document *from, int what, grebe_document *to) {
    grb_buf buf;
    grb_cursor in;
    grebe_error err;
    grb_buf_init(&buf, A, 0);
    grb_document_encode(from, what, &buf);
    assert_false(buf.failed);
    grb_cursor_init(&in, buf.bytes, buf.size);
    grb_document_clear(to);
    assert_int_equal(grb_document_decode(&in, to, &err), GREBE_OK);
    assert_int_equal(grb_cursor_left(&in), 0);
    grb_buf_deinit(&buf);
}

static void values_equal(const grebe_document *a, const grebe_document *b) {
    assert_int_equal(grebe_document_count(a), grebe_document_count(b));
    for (uint32_t i = 0; i < grebe_document_count(a); i++) {
        uint32_t fa, fb;
        grebe_value va, vb;
        assert_int_equal(grebe_document_value(a, i, &fa, &va, NULL), 0);
        assert_int_equal(grebe_document_value(b, i, &fb, &vb, NULL), 0);
        assert_int_equal(fa, fb);
        assert_true(grb_value_equal(&va, &vb));
    }
}

static void fill_all_kinds(grebe_document *d) {
    static const int64_t ints[] = {0, 1, -1, INT64_MAX, INT64_MIN};
    static const double doubles[] = {0.0,      -0.0,      1.5,   -1e308,
                                     INFINITY, -INFINITY, 5e-324};
    static const int64_t dates[] = {0, -62135596800000, 253402300799999};
    assert_int_equal(grebe_document_add_text(d, ID, "", 0, NULL), 0);
    assert_int_equal(grebe_document_add_text(d, TITLE, "a\0b", 3, NULL), 0);
    assert_int_equal(grebe_document_add_text(d, TITLE, "", 0, NULL), 0);
    assert_int_equal(grebe_document_add_text(d, TITLE, NULL, 0, NULL), 0);
    for (size_t i = 0; i < GRB_COUNT(ints); i++)
        assert_int_equal(grebe_document_add_int(d, HIDDEN, ints[i], NULL), 0);
    for (size_t i = 0; i < GRB_COUNT(doubles); i++)
        assert_int_equal(grebe_document_add_double(d, PRICE, doubles[i], NULL),
                         0);
    for (size_t i = 0; i < GRB_COUNT(dates); i++)
        assert_int_equal(grebe_document_add_datetime(d, WHEN, dates[i], NULL),
                         0);
    assert_int_equal(grebe_document_add_bool(d, READ, 5, NULL), 0);
    assert_int_equal(grebe_document_add_bool(d, READ, 0, NULL), 0);
    assert_int_equal(grebe_document_add_bytes(d, RAW, "\xff\0\xfe", 3, NULL),
                     0);
}

static void every_kind_comes_back_as_it_went_in(void **state) {
    grebe_document *d = document_make(), *twin = twin_make(d);
    for (int round = 0; round < 3; round++) {
        grebe_document_clear(d);
        fill_all_kinds(d);
        recode(d, GRB_ENCODE_ALL, twin);
        values_equal(d, twin);
    }
    grebe_document_free(d);
    grebe_document_free(twin);
    assert_int_equal(grebe_live_handles(), 0);
}

static void every_code_point_comes_back(void **state) {
    grebe_document *d = document_make(), *twin = twin_make(d);
    char text[4 * 0x1000];
    for (uint32_t base = 0; base < 0x110000; base += 0x1000) {
        size_t size = 0;
        for (uint32_t c = base; c < base + 0x1000; c++)
            if (c < 0xd800 || c > 0xdfff)
                size += grb_utf8_encode(c, text + size);
        assert_int_equal(grebe_document_add_text(d, TITLE, text, size, NULL),
                         0);
    }
    recode(d, GRB_ENCODE_STORED, twin);
    values_equal(d, twin);
    grebe_document_free(d);
    grebe_document_free(twin);
}

static void a_stored_record_lacks_nulls_and_unstored_fields(void **state) {
    grebe_document *d = document_make(), *twin = twin_make(d);
    grebe_document_add_text(d, ID, "k", 1, NULL);
    grebe_document_add_int(d, HIDDEN, 3, NULL);
    grebe_document_add_null(d, YEAR, NULL);
    recode(d, GRB_ENCODE_STORED, twin);
    assert_int_equal(twin->count, 1);
    recode(d, GRB_ENCODE_ALL, twin);
    assert_int_equal(twin->count, 3);
    assert_int_equal(twin->null_count, 1);
    assert_int_equal(twin->per_field[YEAR], GRB_FIELD_NULL);
    grebe_document_free(d);
    grebe_document_free(twin);
}

static void bad_values_are_refused_and_change_nothing(void **state) {
    grebe_document *d = document_make();
    grebe_error err;
    grebe_document_add_text(d, ID, "k", 1, NULL);
#define REFUSED(call, wanted, name)           \
    do {                                      \
        assert_int_equal(call, wanted);       \
        assert_string_equal(err.field, name); \
        assert_int_equal(d->count, 1);        \
        assert_int_equal(d->bytes.size, 1);   \
    } while (0)
    REFUSED(grebe_document_add_text(d, ID, "l", 1, &err), GREBE_DOCUMENT,
            "id");
    REFUSED(grebe_document_add_text(d, TITLE, "\xc0\x80", 2, &err),
            GREBE_DOCUMENT, "title");
    REFUSED(grebe_document_add_text(d, TITLE, "\xed\xa0\x80", 3, &err),
            GREBE_DOCUMENT, "title");
    REFUSED(grebe_document_add_int(d, TITLE, 1, &err), GREBE_DOCUMENT,
            "title");
    REFUSED(grebe_document_add_double(d, YEAR, 1, &err), GREBE_DOCUMENT,
            "year");
    REFUSED(grebe_document_add_int(d, WHEN, 1, &err), GREBE_DOCUMENT, "when");
    REFUSED(grebe_document_add_bytes(d, TITLE, "a", 1, &err), GREBE_DOCUMENT,
            "title");
    REFUSED(grebe_document_add_double(d, PRICE, NAN, &err), GREBE_DOCUMENT,
            "price");
    REFUSED(grebe_document_add_datetime(d, WHEN, -62135596800001, &err),
            GREBE_DOCUMENT, "when");
    REFUSED(grebe_document_add_datetime(d, WHEN, 253402300800000, &err),
            GREBE_DOCUMENT, "when");
    REFUSED(grebe_document_add_null(d, ID, &err), GREBE_DOCUMENT, "id");
    REFUSED(grebe_document_add_int(d, 99, 1, &err), GREBE_ARGUMENT, "");
#undef REFUSED
    grebe_document_free(d);
}

static void sizes_are_taken_at_their_limit_and_refused_above(void **state) {
    grebe_document *d = document_make();
    char *big = calloc(1, GREBE_VALUE_SIZE_MAX + 1);
    memset(big, 'x', GREBE_VALUE_SIZE_MAX + 1);
    assert_int_equal(
        grebe_document_add_text(d, TAGS, big, GREBE_TERM_SIZE_MAX + 1, NULL),
        GREBE_LIMIT);
    assert_int_equal(
        grebe_document_add_text(d, TITLE, big, GREBE_VALUE_SIZE_MAX + 1, NULL),
        GREBE_LIMIT);
    assert_int_equal(d->count, 0);
    assert_int_equal(
        grebe_document_add_text(d, TAGS, big, GREBE_TERM_SIZE_MAX, NULL), 0);
    grebe_document_clear(d);
    for (int i = 0; i < 4; i++)
        assert_int_equal(
            grebe_document_add_text(d, TITLE, big, GREBE_VALUE_SIZE_MAX, NULL),
            GREBE_OK);
    assert_int_equal(grebe_document_add_text(d, TITLE, "", 0, NULL),
                     GREBE_LIMIT);
    assert_int_equal(d->count, 4);
    grebe_document_clear(d);
    for (uint32_t i = 0; i < GREBE_VALUES_PER_FIELD_MAX; i++)
        assert_int_equal(grebe_document_add_int(d, HIDDEN, i, NULL), 0);
    assert_int_equal(grebe_document_add_int(d, HIDDEN, 0, NULL), GREBE_LIMIT);
    free(big);
    grebe_document_free(d);
}

static void a_document_has_at_most_1000_fields(void **state) {
    grebe_schema *schema;
    grebe_document *d;
    char name[16];
    grb_schema_new(A, &schema, NULL);
    for (uint32_t i = 0; i <= GREBE_FIELDS_PER_DOCUMENT_MAX; i++) {
        snprintf(name, sizeof name, "f%u", i);
        add(schema, name, GREBE_INT, GREBE_MANY, NULL);
    }
    assert_int_equal(grebe_document_new(schema, &d, NULL), 0);
    for (uint32_t i = 0; i < GREBE_FIELDS_PER_DOCUMENT_MAX; i++)
        assert_int_equal(grebe_document_add_int(d, i, 1, NULL), 0);
    assert_int_equal(grebe_document_add_int(d, 1000, 1, NULL), GREBE_LIMIT);
    assert_int_equal(grebe_document_add_int(d, 0, 1, NULL), GREBE_OK);
    grebe_document_free(d);
    grb_schema_release(schema);
}

static void defaults_fill_absent_fields_but_not_null_ones(void **state) {
    grebe_document *d = document_make(), *twin = twin_make(d);
    grebe_document_add_text(d, ID, "k", 1, NULL);
    grebe_document_add_null(d, YEAR, NULL);
    assert_int_equal(grb_document_complete(d, NULL), GREBE_OK);
    assert_int_equal(grb_document_complete(d, NULL), GREBE_OK);
    assert_int_equal(d->default_count, 1);
    assert_int_equal(grebe_document_count(d), 1);
    recode(d, GRB_ENCODE_STORED, twin);
    assert_int_equal(grebe_document_count(twin), 2);
    assert_int_equal(twin->instances[1].field, TAGS);
    assert_memory_equal(twin->bytes.bytes + twin->instances[1].at, "sea", 3);
    /* The caller goes on: the default makes way. */
    assert_int_equal(grebe_document_add_text(d, TAGS, "own", 3, NULL), 0);
    assert_int_equal(grb_document_complete(d, NULL), GREBE_OK);
    assert_int_equal(d->default_count, 0);
    assert_int_equal(d->per_field[TAGS], 1);
    grebe_document_free(d);
    grebe_document_free(twin);
}

static void a_missing_required_value_is_named_with_the_key(void **state) {
    grebe_schema *schema;
    grebe_document *d;
    grebe_error err;
    grebe_value nine = {.kind = GREBE_INT, .as.integer = 9};
    grb_schema_new(A, &schema, NULL);
    add(schema, "d", GREBE_INT, 0, &nine);
    add(schema, "n", GREBE_INT, GREBE_KEY, NULL);
    add(schema, "must", GREBE_TEXT, GREBE_REQUIRED, NULL);
    assert_int_equal(grebe_document_new(schema, &d, NULL), 0);
    assert_int_equal(grb_document_complete(d, &err), GREBE_DOCUMENT);
    assert_string_equal(err.field, "n");
    assert_int_equal(d->count, 0);
    grebe_document_add_int(d, 1, -42, NULL);
    assert_int_equal(grb_document_complete(d, &err), GREBE_DOCUMENT);
    assert_string_equal(err.field, "must");
    assert_string_equal(err.key, "-42");
    assert_int_equal(d->count, 1);
    grebe_document_add_null(d, 2, NULL);
    assert_int_equal(grb_document_complete(d, &err), GREBE_DOCUMENT);
    grebe_document_free(d);
    grb_schema_release(schema);
}

static void damaged_records_give_corrupt_or_a_good_document(void **state) {
    grebe_document *d = document_make(), *twin = twin_make(d);
    grb_buf buf;
    grb_cursor in;
    fill_all_kinds(d);
    grb_buf_init(&buf, A, 0);
    grb_document_encode(d, GRB_ENCODE_ALL, &buf);
    for (size_t cut = 0; cut < buf.size; cut++) {
        grb_cursor_init(&in, buf.bytes, cut);
        grebe_document_clear(twin);
        assert_int_equal(grb_document_decode(&in, twin, NULL), GREBE_CORRUPT);
        assert_int_equal(twin->count, 0);
    }
    for (size_t bit = 0; bit < 8 * buf.size; bit++) {
        buf.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        grb_cursor_init(&in, buf.bytes, buf.size);
        grebe_document_clear(twin);
        grebe_status status = grb_document_decode(&in, twin, NULL);
        assert_true(status == GREBE_OK || status == GREBE_CORRUPT);
        buf.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    grb_buf_deinit(&buf);
    grebe_document_free(d);
    grebe_document_free(twin);
}

static void fields_of_a_newer_schema_are_skipped(void **state) {
    grebe_document *d = document_make(), *old;
    grebe_schema *schema;
    grb_schema_new(A, &schema, NULL);
    add(schema, "id", GREBE_KEYWORD, GREBE_KEY | GREBE_STORED, NULL);
    grebe_document_new(schema, &old, NULL);
    fill_all_kinds(d);
    recode(d, GRB_ENCODE_ALL, old);
    assert_int_equal(old->count, 1);
    grebe_document_free(old);
    grebe_document_free(d);
    grb_schema_release(schema);
}

/* Counts calls and fails from the `fail_at`-th on. */
typedef struct counting {
    long calls, fail_at;
} counting;

static void *counting_resize(void *context, void *block, size_t old_size,
                             size_t new_size) {
    counting *c = context;
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    if (c->fail_at && ++c->calls >= c->fail_at) return NULL;
    if (!c->fail_at) c->calls++;
    return realloc(block, new_size);
}

static void a_reused_document_allocates_nothing(void **state) {
    counting count = {0, 0};
    grebe_allocator a = {counting_resize, &count};
    grebe_document *model = document_make(), *d;
    assert_int_equal(grb_document_new(model->schema, &a, &d, NULL), GREBE_OK);
    fill_all_kinds(d);
    long calls = count.calls;
    for (int i = 0; i < 100; i++) {
        grebe_document_clear(d);
        fill_all_kinds(d);
    }
    assert_int_equal(count.calls, calls);
    grebe_document_free(d);
    grebe_document_free(model);
}

static void every_failed_allocation_leaves_things_as_they_were(void **state) {
    grebe_document *model = document_make();
    for (long n = 1;; n++) {
        counting count = {0, n};
        grebe_allocator a = {counting_resize, &count};
        grebe_document *d = NULL;
        grebe_status status = grb_document_new(model->schema, &a, &d, NULL);
        for (uint32_t i = 0; status == GREBE_OK && i < 100; i++) {
            status = grebe_document_add_text(d, TITLE, "0123456789", 10, NULL);
            if (status != GREBE_OK) {
                assert_int_equal(d->count, i);
                assert_int_equal(d->bytes.size, 10 * i);
                count.fail_at = 0;
                status = grebe_document_add_text(d, TITLE, "x", 1, NULL);
                assert_int_equal(status, GREBE_OK);
                status = GREBE_MEMORY;
            }
        }
        grebe_document_free(d);
        if (status == GREBE_OK) break;
        assert_int_equal(status, GREBE_MEMORY);
    }
    grebe_document_free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_comes_back_as_it_went_in),
        cmocka_unit_test(every_code_point_comes_back),
        cmocka_unit_test(a_stored_record_lacks_nulls_and_unstored_fields),
        cmocka_unit_test(bad_values_are_refused_and_change_nothing),
        cmocka_unit_test(sizes_are_taken_at_their_limit_and_refused_above),
        cmocka_unit_test(a_document_has_at_most_1000_fields),
        cmocka_unit_test(defaults_fill_absent_fields_but_not_null_ones),
        cmocka_unit_test(a_missing_required_value_is_named_with_the_key),
        cmocka_unit_test(damaged_records_give_corrupt_or_a_good_document),
        cmocka_unit_test(fields_of_a_newer_schema_are_skipped),
        cmocka_unit_test(a_reused_document_allocates_nothing),
        cmocka_unit_test(every_failed_allocation_leaves_things_as_they_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
