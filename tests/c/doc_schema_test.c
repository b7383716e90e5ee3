/* rooms: base doc */
/* Schemas: what may be added, found, compared, encoded and survives damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "doc/doc.h"

static const grebe_allocator *const A = &grb_allocator_malloc;
static int chain; /* stands for an analyzer */

static const void *chain_find(const char *name, size_t size) {
    return size == 8 && memcmp(name, "standard", 8) == 0 ? &chain : NULL;
}

static grebe_status add(grebe_schema *schema, const char *name,
                        grebe_kind kind, uint32_t flags, grebe_error *err) {
    grebe_field field = {.name = name, .kind = kind, .flags = flags};
    return grb_schema_append(schema, &field,
                             kind == GREBE_TEXT ? &chain : NULL, err);
}

static grebe_schema *books(void) {
    grebe_schema *schema;
    grebe_error err;
    grebe_value zero = {.kind = GREBE_INT, .as.integer = -7};
    grebe_field year = {.name = "year",
                        .kind = GREBE_INT,
                        .flags = GREBE_INDEXED | GREBE_COLUMN,
                        .default_value = &zero};
    assert_int_equal(grb_schema_new(A, &schema, &err), GREBE_OK);
    assert_int_equal(add(schema, "id", GREBE_KEYWORD, GREBE_KEY, &err), 0);
    assert_int_equal(
        add(schema, "title", GREBE_TEXT, GREBE_INDEXED | GREBE_STORED, &err),
        0);
    assert_int_equal(grb_schema_append(schema, &year, NULL, &err), 0);
    return schema;
}

static void every_field_is_found_by_its_name_and_no_other(void **state) {
    grebe_schema *schema;
    char name[32];
    assert_int_equal(grb_schema_new(A, &schema, NULL), GREBE_OK);
    assert_int_equal(grb_schema_find(schema, "a", 1), GREBE_NO_FIELD);
    for (uint32_t i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "f%u", i);
        assert_int_equal(add(schema, name, GREBE_INT, 0, NULL), GREBE_OK);
    }
    for (uint32_t i = 0; i < 6000; i++) {
        int n = snprintf(name, sizeof name, "f%u", i);
        assert_int_equal(grb_schema_find(schema, name, (size_t)n),
                         i < 5000 ? i : GREBE_NO_FIELD);
    }
    grb_schema_release(schema);
}

static void the_count_of_fields_has_a_limit(void **state) {
    grebe_schema *schema;
    grebe_error err;
    char name[32];
    assert_int_equal(grb_schema_new(A, &schema, NULL), GREBE_OK);
    for (uint32_t i = 0; i < GREBE_FIELD_COUNT_MAX; i++) {
        snprintf(name, sizeof name, "f%u", i);
        assert_int_equal(add(schema, name, GREBE_INT, 0, NULL), GREBE_OK);
    }
    assert_int_equal(add(schema, "over", GREBE_INT, 0, &err), GREBE_LIMIT);
    assert_int_equal(schema->field_count, GREBE_FIELD_COUNT_MAX);
    grb_schema_release(schema);
}

static void a_field_that_does_not_fit_is_refused_and_named(void **state) {
    static const struct {
        const char *name;
        grebe_kind kind;
        uint32_t flags;
        grebe_status status;
    } bad[] = {
        {"", GREBE_INT, 0, GREBE_SCHEMA},
        {"1a", GREBE_INT, 0, GREBE_SCHEMA},
        {"_a", GREBE_INT, 0, GREBE_SCHEMA},
        {"a b", GREBE_INT, 0, GREBE_SCHEMA},
        {"\xc3\xa9", GREBE_INT, 0, GREBE_SCHEMA},
        {"title", GREBE_INT, 0, GREBE_SCHEMA},
        {"key2", GREBE_INT, GREBE_KEY, GREBE_SCHEMA},
        {"t", GREBE_TEXT, GREBE_COLUMN, GREBE_SCHEMA},
        {"b", GREBE_BYTES, GREBE_COLUMN, GREBE_SCHEMA},
        {"b", GREBE_BYTES, GREBE_INDEXED, GREBE_SCHEMA},
        {"k", (grebe_kind)0, 0, GREBE_ARGUMENT},
        {"k", (grebe_kind)8, 0, GREBE_ARGUMENT},
        {"k", GREBE_INT, 64, GREBE_ARGUMENT},
    };
    grebe_schema *schema = books();
    for (size_t i = 0; i < GRB_COUNT(bad); i++) {
        grebe_error err = {.status = GREBE_OK};
        assert_int_equal(
            add(schema, bad[i].name, bad[i].kind, bad[i].flags, &err),
            bad[i].status);
        assert_int_equal(err.status, bad[i].status);
        assert_string_equal(err.field, bad[i].name);
        assert_int_equal(schema->field_count, 3);
    }
    grb_schema_release(schema);
}

static void a_name_of_100_bytes_is_taken_and_of_101_refused(void **state) {
    grebe_schema *schema = books();
    char name[102];
    memset(name, 'x', sizeof name);
    name[101] = 0;
    assert_int_equal(add(schema, name, GREBE_INT, 0, NULL), GREBE_LIMIT);
    name[100] = 0;
    assert_int_equal(add(schema, name, GREBE_INT, 0, NULL), GREBE_OK);
    assert_int_equal(grb_schema_find(schema, name, 100), 3);
    grb_schema_release(schema);
}

static void keys_are_one_valued_without_default(void **state) {
    grebe_schema *schema;
    grebe_value one = {.kind = GREBE_INT, .as.integer = 1};
    grebe_field key = {.name = "n",
                       .kind = GREBE_INT,
                       .flags = GREBE_KEY,
                       .default_value = &one};
    assert_int_equal(grb_schema_new(A, &schema, NULL), GREBE_OK);
    assert_int_equal(grb_schema_append(schema, &key, NULL, NULL),
                     GREBE_SCHEMA);
    key.default_value = NULL;
    key.flags |= GREBE_MANY;
    assert_int_equal(grb_schema_append(schema, &key, NULL, NULL),
                     GREBE_SCHEMA);
    key.flags = GREBE_KEY;
    key.kind = GREBE_DOUBLE;
    assert_int_equal(grb_schema_append(schema, &key, NULL, NULL),
                     GREBE_SCHEMA);
    key.kind = GREBE_INT;
    assert_int_equal(grb_schema_append(schema, &key, NULL, NULL), GREBE_OK);
    assert_int_equal(schema->key, 0);
    assert_true(schema->fields[0].flags & GREBE_INDEXED);
    assert_true(schema->fields[0].flags & GREBE_REQUIRED);
    grb_schema_release(schema);
}

static void a_default_of_another_kind_is_refused(void **state) {
    grebe_schema *schema = books();
    grebe_value text = {.kind = GREBE_TEXT};
    text.as.text.bytes = "x";
    text.as.text.size = 1;
    grebe_field field = {
        .name = "n", .kind = GREBE_INT, .default_value = &text};
    assert_int_equal(grb_schema_append(schema, &field, NULL, NULL),
                     GREBE_SCHEMA);
    field.kind = GREBE_KEYWORD;
    assert_int_equal(grb_schema_append(schema, &field, NULL, NULL), GREBE_OK);
    text.as.text.bytes = "\xff";
    field.name = "m";
    assert_int_equal(grb_schema_append(schema, &field, NULL, NULL),
                     GREBE_SCHEMA);
    grb_schema_release(schema);
}

static void a_schema_in_use_takes_no_field(void **state) {
    grebe_schema *schema = books();
    grb_schema_freeze(schema);
    assert_int_equal(add(schema, "late", GREBE_INT, 0, NULL), GREBE_STATE);
    grb_schema_release(schema);
}

static void equal_schemas_merge_into_the_stored_one(void **state) {
    grebe_schema *stored = books(), *asked = books(), *merged;
    assert_int_equal(grb_schema_merge(stored, asked, false, &merged, NULL),
                     GREBE_OK);
    assert_ptr_equal(merged, stored);
    grb_schema_release(merged);
    grb_schema_release(stored);
    grb_schema_release(asked);
}

static void each_difference_is_named(void **state) {
    grebe_schema *stored = books(), *asked, *merged = NULL;
    grebe_error err;
    assert_int_equal(grb_schema_new(A, &asked, NULL), GREBE_OK);
    add(asked, "title", GREBE_TEXT, GREBE_INDEXED, NULL);
    add(asked, "year", GREBE_DOUBLE, 0, NULL);
    add(asked, "extra", GREBE_INT, 0, NULL);
    assert_int_equal(grb_schema_merge(stored, asked, false, &merged, &err),
                     GREBE_SCHEMA);
    assert_non_null(strstr(err.message, "4 places"));
    assert_non_null(strstr(err.message, "'title' has stored=true"));
    assert_non_null(strstr(err.message, "'year' is int, asked is double"));
    assert_non_null(strstr(err.message, "'extra' is not in the index"));
    assert_non_null(strstr(err.message, "'id' is in the index"));
    assert_string_equal(err.field, "title");
    assert_null(merged);
    grb_schema_release(stored);
    grb_schema_release(asked);
}

static void added_fields_stand_behind_the_stored_ones(void **state) {
    grebe_schema *stored = books(), *asked, *merged;
    assert_int_equal(grb_schema_new(A, &asked, NULL), GREBE_OK);
    add(asked, "extra", GREBE_TEXT, GREBE_INDEXED, NULL);
    assert_int_equal(grb_schema_merge(stored, asked, true, &merged, NULL),
                     GREBE_OK);
    assert_int_equal(merged->field_count, 4);
    assert_int_equal(grb_schema_find(merged, "extra", 5), 3);
    assert_int_equal(grb_schema_find(merged, "year", 4), 2);
    assert_ptr_equal(merged->fields[3].analyzer, &chain);
    assert_int_equal(merged->fields[2].default_value.as.integer, -7);
    assert_int_equal(merged->key, 0);
    assert_int_equal(stored->field_count, 3);
    grb_schema_release(merged);
    grb_schema_release(stored);
    grb_schema_release(asked);
}

static void an_added_required_field_needs_a_default(void **state) {
    grebe_schema *stored = books(), *asked, *merged;
    grebe_error err;
    assert_int_equal(grb_schema_new(A, &asked, NULL), GREBE_OK);
    add(asked, "must", GREBE_INT, GREBE_REQUIRED, NULL);
    assert_int_equal(grb_schema_merge(stored, asked, true, &merged, &err),
                     GREBE_SCHEMA);
    assert_string_equal(err.field, "must");
    grb_schema_release(stored);
    grb_schema_release(asked);
}

static void what_is_encoded_decodes_to_an_equal_schema(void **state) {
    grebe_schema *schema = books(), *back, *merged;
    grebe_error err;
    grb_buf buf;
    grb_cursor in;
    grb_buf_init(&buf, A, 0);
    grb_schema_encode(schema, &buf);
    assert_false(buf.failed);
    grb_cursor_init(&in, buf.bytes, buf.size);
    assert_int_equal(grb_schema_decode(A, &in, &back, &err), GREBE_OK);
    assert_int_equal(grb_cursor_left(&in), 0);
    assert_null(back->fields[1].analyzer);
    assert_int_equal(grb_schema_resolve(back, chain_find, &err), GREBE_OK);
    assert_ptr_equal(back->fields[1].analyzer, &chain);
    assert_int_equal(grb_schema_merge(schema, back, false, &merged, &err), 0);
    grb_schema_release(merged);
    grb_schema_release(back);
    grb_schema_release(schema);
    grb_buf_deinit(&buf);
}

static void damaged_bytes_give_corrupt_or_a_good_schema(void **state) {
    grebe_schema *schema = books(), *back;
    grb_buf buf;
    grb_cursor in;
    grb_buf_init(&buf, A, 0);
    grb_schema_encode(schema, &buf);
    for (size_t cut = 0; cut < buf.size; cut++) {
        grb_cursor_init(&in, buf.bytes, cut);
        assert_int_equal(grb_schema_decode(A, &in, &back, NULL),
                         GREBE_CORRUPT);
    }
    for (size_t bit = 0; bit < 8 * buf.size; bit++) {
        buf.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        grb_cursor_init(&in, buf.bytes, buf.size);
        grebe_status status = grb_schema_decode(A, &in, &back, NULL);
        assert_true(status == GREBE_OK || status == GREBE_CORRUPT);
        if (status == GREBE_OK) grb_schema_release(back);
        buf.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    grb_schema_release(schema);
    grb_buf_deinit(&buf);
}

static void an_analyzer_that_is_gone_is_named(void **state) {
    grebe_schema *schema;
    grebe_error err;
    grebe_field field = {
        .name = "t", .kind = GREBE_TEXT, .analyzer = "klingon"};
    assert_int_equal(grb_schema_new(A, &schema, NULL), GREBE_OK);
    assert_int_equal(grb_schema_append(schema, &field, NULL, NULL), GREBE_OK);
    assert_int_equal(grb_schema_resolve(schema, chain_find, &err),
                     GREBE_SCHEMA);
    assert_non_null(strstr(err.message, "klingon"));
    grb_schema_release(schema);
}

static void the_nearest_name_is_near_or_not_given(void **state) {
    grebe_schema *schema = books();
    assert_string_equal(grb_schema_nearest(schema, "titel", 5), "title");
    assert_string_equal(grb_schema_nearest(schema, "TITLE", 5), "title");
    assert_string_equal(grb_schema_nearest(schema, "yaer", 4), "year");
    assert_null(grb_schema_nearest(schema, "zzzzzzzz", 8));
    assert_null(grb_schema_nearest(schema, "", 0));
    grb_schema_release(schema);
}

/* Fails the `fail_at`-th call and all behind it. */
typedef struct failing {
    long calls, fail_at, blocks;
} failing;

static void *failing_resize(void *context, void *block, size_t old_size,
                            size_t new_size) {
    failing *f = context;
    if (new_size == 0) {
        f->blocks--;
        free(block);
        return NULL;
    }
    if (++f->calls >= f->fail_at) return NULL;
    f->blocks += block == NULL;
    return realloc(block, new_size);
}

static void every_failed_allocation_leaves_nothing_behind(void **state) {
    grebe_schema *model = books();
    grb_buf buf;
    grb_buf_init(&buf, A, 0);
    for (uint32_t i = 0; i < 20; i++) {
        char name[8];
        snprintf(name, sizeof name, "f%u", i);
        add(model, name, GREBE_TEXT, 0, NULL);
    }
    grb_schema_encode(model, &buf);
    grebe_status status = GREBE_MEMORY;
    for (long n = 1; status != GREBE_OK; n++) {
        failing f = {0, n, 0};
        grebe_allocator a = {failing_resize, &f};
        grebe_schema *back = NULL;
        grb_cursor in;
        grb_cursor_init(&in, buf.bytes, buf.size);
        status = grb_schema_decode(&a, &in, &back, NULL);
        assert_true(status == GREBE_MEMORY || status == GREBE_OK);
        assert_true((status == GREBE_OK) == (back != NULL));
        grb_schema_release(back);
        assert_int_equal(f.blocks, 0);
    }
    grb_buf_deinit(&buf);
    grb_schema_release(model);
    assert_int_equal(grebe_live_handles(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_is_found_by_its_name_and_no_other),
        cmocka_unit_test(the_count_of_fields_has_a_limit),
        cmocka_unit_test(a_field_that_does_not_fit_is_refused_and_named),
        cmocka_unit_test(a_name_of_100_bytes_is_taken_and_of_101_refused),
        cmocka_unit_test(keys_are_one_valued_without_default),
        cmocka_unit_test(a_default_of_another_kind_is_refused),
        cmocka_unit_test(a_schema_in_use_takes_no_field),
        cmocka_unit_test(equal_schemas_merge_into_the_stored_one),
        cmocka_unit_test(each_difference_is_named),
        cmocka_unit_test(added_fields_stand_behind_the_stored_ones),
        cmocka_unit_test(an_added_required_field_needs_a_default),
        cmocka_unit_test(what_is_encoded_decodes_to_an_equal_schema),
        cmocka_unit_test(damaged_bytes_give_corrupt_or_a_good_schema),
        cmocka_unit_test(an_analyzer_that_is_gone_is_named),
        cmocka_unit_test(the_nearest_name_is_near_or_not_given),
        cmocka_unit_test(every_failed_allocation_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
