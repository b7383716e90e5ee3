/* rooms: base doc analysis segment invert api */
/* Phase one: what is refused, what is filled in, what comes out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "invert/inverted.h"

static const grebe_allocator *const A = &grb_allocator_malloc;

enum { KEY, BODY, TAGS, YEAR, LANG, NEED };

typedef struct world {
    grebe_schema *schema;
    grebe_document *document;
    grb_inverted *inv;
} world;

static void field_add(grebe_schema *schema, const char *name, grebe_kind kind,
                      uint32_t flags, const grebe_value *standard) {
    grebe_field field = {
        .name = name, .kind = kind, .flags = flags, .default_value = standard};
    assert_int_equal(
        grb_schema_append(
            schema, &field,
            kind == GREBE_TEXT ? grb_analyzer_find("whitespace", 10) : NULL,
            NULL),
        GREBE_OK);
}

static int setup(void **state) {
    world *w = calloc(1, sizeof *w);
    grebe_value en = {.kind = GREBE_KEYWORD};
    en.as.text.bytes = "en";
    en.as.text.size = 2;
    grb_schema_new(A, &w->schema, NULL);
    field_add(w->schema, "key", GREBE_INT, GREBE_KEY | GREBE_STORED, NULL);
    field_add(w->schema, "body", GREBE_TEXT,
              GREBE_INDEXED | GREBE_MANY | GREBE_STORED, NULL);
    field_add(w->schema, "tags", GREBE_KEYWORD,
              GREBE_INDEXED | GREBE_COLUMN | GREBE_MANY | GREBE_STORED, NULL);
    field_add(w->schema, "year", GREBE_INT, GREBE_INDEXED | GREBE_STORED,
              NULL);
    field_add(w->schema, "lang", GREBE_KEYWORD, GREBE_INDEXED | GREBE_STORED,
              &en);
    field_add(w->schema, "need", GREBE_BOOL, GREBE_REQUIRED | GREBE_STORED,
              NULL);
    grebe_document_new(w->schema, &w->document, NULL);
    grb_inverted_new(A, &w->inv, NULL);
    *state = w;
    return 0;
}

static int teardown(void **state) {
    world *w = *state;
    grb_inverted_free(w->inv);
    grb_document_free(w->document);
    grb_schema_release(w->schema);
    free(w);
    return 0;
}

static void text_add(world *w, uint32_t field, const char *text) {
    grebe_document_add_text(w->document, field, text, strlen(text), NULL);
}

static void plain_fill(world *w) {
    grb_document_clear(w->document);
    grebe_document_add_int(w->document, KEY, -3, NULL);
    grebe_document_add_bool(w->document, NEED, 1, NULL);
}

static const grb_inverted_term *term_of(const grb_inverted *inv,
                                        uint32_t field, const char *text) {
    grb_term_key key;
    grb_term_key_make(text, (uint32_t)strlen(text), field, &key);
    for (uint32_t i = 0; i < inv->term_count; i++) {
        const grb_inverted_term *t = &inv->terms[i];
        if (t->field == field && t->key.hash == key.hash &&
            t->key.size == key.size && t->key.words[0] == key.words[0] &&
            (key.size > 16 ? memcmp(t->key.bytes, text, key.size) == 0
                           : t->key.words[1] == key.words[1]))
            return t;
    }
    return NULL;
}

static uint32_t positions_of(const grb_inverted *inv,
                             const grb_inverted_term *t, uint32_t *out) {
    if (t->tf == 1) {
        out[0] = t->position;
        return 1;
    }
    const uint8_t *at = inv->positions + t->position;
    uint32_t position = 0, step;
    for (uint32_t i = 0; i < t->tf; i++) {
        at = grb_varint_get32(at, &step);
        out[i] = position += step;
    }
    assert_ptr_equal(at, inv->positions + t->position + t->positions_size);
    return t->tf;
}

static void a_default_enters_where_a_field_is_absent(void **state) {
    world *w = *state;
    plain_fill(w);
    assert_int_equal(grb_inverted_build(w->inv, w->document, true, NULL), 0);
    assert_non_null(term_of(w->inv, LANG, "en"));
    assert_ptr_equal(w->inv->log, w->inv->stored);
    assert_int_equal(w->inv->stored[0], 3);
}

static void an_explicit_null_keeps_the_default_out(void **state) {
    world *w = *state;
    plain_fill(w);
    grebe_document_add_null(w->document, LANG, NULL);
    assert_int_equal(grb_inverted_build(w->inv, w->document, true, NULL), 0);
    assert_null(term_of(w->inv, LANG, "en"));
    /* The log remembers the null, the stored record does not. */
    assert_int_equal(w->inv->stored[0], 2);
    assert_int_equal(w->inv->log[0], 3);
}

static void a_missing_required_field_is_named_with_the_key(void **state) {
    world *w = *state;
    grebe_error err;
    grb_document_clear(w->document);
    grebe_document_add_int(w->document, KEY, -3, NULL);
    assert_int_equal(grb_inverted_build(w->inv, w->document, true, &err),
                     GREBE_DOCUMENT);
    assert_string_equal(err.field, "need");
    assert_string_equal(err.key, "-3");
    assert_null(grb_inverted_key(w->inv)->bytes);
    assert_int_equal(w->inv->term_count, 0);
    plain_fill(w);
    assert_int_equal(grb_inverted_build(w->inv, w->document, true, &err), 0);
    assert_int_equal(grb_inverted_key(w->inv)->size, 8);
}

static void values_of_a_field_stand_100_positions_apart(void **state) {
    world *w = *state;
    uint32_t at[8];
    plain_fill(w);
    text_add(w, BODY, "a b a");
    text_add(w, TAGS, "x"); /* other fields in between change nothing */
    text_add(w, BODY, "");
    text_add(w, BODY, "b aratherlongwordofmorethansixteen a");
    assert_int_equal(grb_inverted_build(w->inv, w->document, false, NULL), 0);
    const grb_inverted_term *a = term_of(w->inv, BODY, "a");
    const grb_inverted_term *b = term_of(w->inv, BODY, "b");
    const grb_inverted_term *c =
        term_of(w->inv, BODY, "aratherlongwordofmorethansixteen");
    assert_int_equal(positions_of(w->inv, a, at), 3);
    assert_int_equal(at[0], 0);
    assert_int_equal(at[1], 2);
    assert_int_equal(at[2], 205);
    assert_int_equal(positions_of(w->inv, b, at), 2);
    assert_int_equal(at[0], 1);
    assert_int_equal(at[1], 203);
    assert_int_equal(positions_of(w->inv, c, at), 1);
    assert_int_equal(at[0], 204);
    assert_int_equal(grb_inverted_tokens(w->inv), 6);
    assert_int_equal(a->length, grb_length_encode(6));
}

static void a_repeated_keyword_is_one_term_and_two_values(void **state) {
    world *w = *state;
    plain_fill(w);
    text_add(w, TAGS, "red");
    text_add(w, TAGS, "blue");
    text_add(w, TAGS, "red");
    text_add(w, TAGS, "");
    grebe_document_add_int(w->document, YEAR, 1999, NULL);
    assert_int_equal(grb_inverted_build(w->inv, w->document, false, NULL), 0);
    for (uint32_t i = 0; i < w->inv->field_count; i++) {
        const grb_inverted_field *f = &w->inv->fields[i];
        const int64_t *values = w->inv->values + f->value_first;
        if (f->field == TAGS) {
            assert_int_equal(f->term_total, 3);
            assert_int_equal(f->value_count, 4);
            assert_false(f->length_kept);
            assert_true(values[0] == values[2] && values[0] != values[1]);
            assert_int_equal(w->inv->terms[values[3]].key.size, 0);
        }
        if (f->field == YEAR) {
            assert_true(f->column && !f->counted);
            assert_true(values[0] == 1999);
        }
    }
    assert_int_equal(term_of(w->inv, TAGS, "red")->tf, 1);
}

static void keys_of_tokens_do_not_depend_on_how_they_are_loaded(void **state) {
    char text[128];
    grb_token tokens[64];
    grb_term_key keys[64];
    for (int i = 0; i < 128; i++) text[i] = (char)('A' + i * 7 % 50);
    for (uint32_t from = 0; from < 20; from++) {
        for (uint32_t size = 0; size < 40; size++)
            tokens[size] = (grb_token){.bytes = text + from, .size = size};
        grb_term_keys_make(tokens, 40, 5, text, keys);
        for (uint32_t size = 0; size < 40; size++) {
            grb_term_key one;
            char copy[40];
            memcpy(copy, text + from, size);
            grb_term_key_make(copy, size, 5, &one);
            assert_int_equal(one.hash, keys[size].hash);
            assert_true(one.words[0] == keys[size].words[0]);
            assert_true(one.words[1] == keys[size].words[1]);
            assert_int_equal(keys[size].size, size);
        }
    }
    grb_term_key a, b;
    grb_term_key_make("same", 4, 1, &a);
    grb_term_key_make("same", 4, 2, &b);
    assert_int_not_equal(a.hash, b.hash);
    grb_term_key_make("a", 1, 1, &a);
    grb_term_key_make("a\0", 2, 1, &b);
    assert_int_not_equal(a.hash, b.hash);
}

static void many_documents_go_through_one_object(void **state) {
    world *w = *state;
    for (uint32_t n = 1; n < 3000; n += 1 + n / 3) {
        char *text = malloc(n * 12 + 1);
        size_t size = 0;
        plain_fill(w);
        for (uint32_t i = 0; i < n; i++)
            size += (size_t)sprintf(text + size, "t%u ", i % (n / 2 + 1));
        grebe_document_add_text(w->document, BODY, text, size, NULL);
        assert_int_equal(grb_inverted_build(w->inv, w->document, true, NULL),
                         0);
        /* "en" is the default of lang */
        assert_int_equal(w->inv->term_count, GRB_MIN(n, n / 2 + 1) + 1);
        uint64_t sum = 0;
        for (uint32_t i = 0; i < w->inv->term_count; i++)
            if (w->inv->terms[i].field == BODY) sum += w->inv->terms[i].tf;
        assert_int_equal(sum, n);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_default_enters_where_a_field_is_absent, setup, teardown),
        cmocka_unit_test_setup_teardown(an_explicit_null_keeps_the_default_out,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_missing_required_field_is_named_with_the_key, setup, teardown),
        cmocka_unit_test_setup_teardown(
            values_of_a_field_stand_100_positions_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_repeated_keyword_is_one_term_and_two_values, setup, teardown),
        cmocka_unit_test_setup_teardown(
            keys_of_tokens_do_not_depend_on_how_they_are_loaded, setup,
            teardown),
        cmocka_unit_test_setup_teardown(many_documents_go_through_one_object,
                                        setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
