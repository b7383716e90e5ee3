/* rooms: base doc analysis query api */
/* Query nodes: arguments, limits, counting, and texts that read back. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "grebe/grebe.h"
#include "query/tree.h"

static grebe_schema *schema_make(void) {
    static const grebe_field fields[] = {
        {"title", GREBE_TEXT, GREBE_INDEXED, NULL, NULL},
        {"body", GREBE_TEXT, GREBE_INDEXED, NULL, NULL},
        {"tags", GREBE_KEYWORD, GREBE_INDEXED | GREBE_MANY, NULL, NULL},
        {"year", GREBE_INT, GREBE_INDEXED, NULL, NULL},
        {"price", GREBE_DOUBLE, GREBE_INDEXED, NULL, NULL},
        {"when", GREBE_DATETIME, GREBE_INDEXED, NULL, NULL},
        {"read", GREBE_BOOL, GREBE_INDEXED, NULL, NULL},
    };
    grebe_schema *schema;
    assert_int_equal(grebe_schema_new(&schema, NULL), GREBE_OK);
    for (size_t i = 0; i < GRB_COUNT(fields); i++)
        assert_int_equal(grebe_schema_add(schema, &fields[i], NULL), GREBE_OK);
    return schema;
}

static grebe_query *term(const char *text) {
    grebe_query *q = NULL;
    grebe_value value = {.kind = GREBE_KEYWORD};
    value.as.text.bytes = text;
    value.as.text.size = strlen(text);
    assert_int_equal(grebe_query_term("tags", &value, &q, NULL), GREBE_OK);
    return q;
}

/* The query is released. */
static void text_is(grebe_query *q, const char *want) {
    char text[512];
    size_t size = grebe_query_text(q, text, sizeof text);
    assert_string_equal(text, want);
    assert_int_equal(size, strlen(want));
    grebe_query_release(q);
}

/* Its text parses to an equal tree. The query is released. */
static void reads_back(grebe_schema *schema, grebe_query *q) {
    char text[1024];
    grebe_query *back = NULL;
    grebe_error err;
    size_t size = grebe_query_text(q, text, sizeof text);
    assert_true(size < sizeof text);
    if (grebe_query_parse(schema, text, size, NULL, &back, &err) != GREBE_OK)
        fail_msg("%s: %s", text, err.message);
    if (!grb_query_equal(q, back)) {
        char other[1024];
        grebe_query_text(back, other, sizeof other);
        fail_msg("%s reads back as %s", text, other);
    }
    grebe_query_release(back);
    grebe_query_release(q);
}

static void what_the_language_can_say_reads_back_equal(void **state) {
    static const char *const words[] = {
        "sea",
        "Old Man",
        "AND",
        "OR",
        "NOT",
        "&&",
        "||",
        "TO",
        "a\"b",
        "a\\b",
        "-a",
        "+a",
        "!",
        "a:b",
        "a*",
        "?",
        "(a)",
        "[a]",
        "{a}",
        "a^2",
        "a~2",
        "/a/",
        "a/b",
        "\t",
        "\xe3\x80\x80",
        "\xc3\xa9t\xc3\xa9",
        "wi-fi",
        "\xf0\x9f\x90\x9f",
        "a b",
        "\n",
        "&",
        "|",
        "\\u0041",
        "#",
        "a\xe3\x80\x80z",
    };
    grebe_schema *schema = schema_make();
    for (size_t i = 0; i < GRB_COUNT(words); i++) {
        const char *w = words[i];
        size_t size = strlen(w);
        grebe_query *q = NULL;
        grebe_value v = {.kind = GREBE_KEYWORD};
        v.as.text.bytes = w;
        v.as.text.size = size;
        grebe_range range = {.lower = &v, .upper = &v, .upper_open = 1};
        reads_back(schema, term(w));
        grebe_query_match("title", w, size, GREBE_OR, &q, NULL);
        reads_back(schema, q);
        grebe_query_phrase("title", w, size, (uint32_t)i, &q, NULL);
        reads_back(schema, q);
        grebe_query_prefix("tags", w, size, &q, NULL);
        reads_back(schema, q);
        grebe_query_range("tags", &range, &q, NULL);
        reads_back(schema, q);
    }
    grebe_schema_release(schema);
}

static void numbers_dates_and_bools_read_back_equal(void **state) {
    static const int64_t ints[] = {0, 1, -1, 1952, INT64_MAX, INT64_MIN};
    static const double doubles[] = {0,   -0.0, 1.5,      -1e308,    5e-324,
                                     0.1, 1e21, INFINITY, -INFINITY, 100};
    static const int64_t dates[] = {
        0, -1, 1, 951782400000, -62135596800000, 253402300799999};
    grebe_schema *schema = schema_make();
    grebe_query *q = NULL;
    for (size_t i = 0; i < GRB_COUNT(ints); i++) {
        grebe_value v = {.kind = GREBE_INT, .as.integer = ints[i]};
        grebe_range range = {.lower = &v, .lower_open = 1};
        grebe_query_term("year", &v, &q, NULL);
        reads_back(schema, q);
        grebe_query_range("year", &range, &q, NULL);
        reads_back(schema, q);
    }
    for (size_t i = 0; i < GRB_COUNT(doubles); i++) {
        grebe_value v = {.kind = GREBE_DOUBLE, .as.number = doubles[i]};
        grebe_range range = {.upper = &v};
        grebe_query_term("price", &v, &q, NULL);
        reads_back(schema, q);
        grebe_query_range("price", &range, &q, NULL);
        reads_back(schema, q);
    }
    for (size_t i = 0; i < GRB_COUNT(dates); i++) {
        grebe_value v = {.kind = GREBE_DATETIME, .as.integer = dates[i]};
        grebe_range range = {.lower = &v, .upper = &v};
        grebe_query_term("when", &v, &q, NULL);
        reads_back(schema, q);
        grebe_query_range("when", &range, &q, NULL);
        reads_back(schema, q);
    }
    for (int i = 0; i < 2; i++) {
        grebe_value v = {.kind = GREBE_BOOL, .as.boolean = i};
        grebe_query_term("read", &v, &q, NULL);
        reads_back(schema, q);
    }
    grebe_schema_release(schema);
}

static void trees_read_back_equal(void **state) {
    static const char *const texts[] = {
        "tags:a tags:b",
        "+tags:a tags:b -tags:c",
        "(tags:a tags:b)^2",
        "+(tags:a -tags:b) (tags:c +tags:d)^0.1",
        "+*:* -tags:a",
        "(-tags:a)",
        "((tags:a)^2)^3",
        "tags:a^2",
        "title:*",
        "title:\"old man\"~3^2.5",
        "+tags:a +(+tags:b +(+tags:c tags:d))",
        "",
    };
    grebe_schema *schema = schema_make();
    for (size_t i = 0; i < GRB_COUNT(texts); i++) {
        grebe_query *q = NULL;
        grebe_error err;
        if (grebe_query_parse(schema, texts[i], strlen(texts[i]), NULL, &q,
                              &err))
            fail_msg("%s", err.message);
        reads_back(schema, q);
    }
    grebe_schema_release(schema);
}

static void what_it_cannot_say_is_written_all_the_same(void **state) {
    grebe_query *a = term("a"), *b = term("b"), *q;
    grebe_query *both[] = {a, b};
    grebe_clause two[] = {{GREBE_SHOULD, a}, {GREBE_SHOULD, b}};
    grebe_clause filter[] = {{GREBE_FILTER, a}, {GREBE_MUST, b}};
    grebe_phrase_term terms[] = {{"x", 1, 3}, {"y", 1, 3}, {"z", 1, 5}};
    grebe_query_bool(two, 2, 2, &q, NULL);
    text_is(q, "(tags:a tags:b)~2");
    grebe_query_bool(filter, 2, 0, &q, NULL);
    text_is(q, "+(tags:a)^0 +tags:b");
    grebe_query_dismax(both, 2, 0.5f, &q, NULL);
    text_is(q, "(tags:a | tags:b)~0.5");
    grebe_query_constant(a, 2, &q, NULL);
    text_is(q, "tags:a^=2");
    grebe_query_phrase_terms("title", terms, 3, 1, &q, NULL);
    text_is(q, "title:\"x/y ? z\"~1");
    grebe_query_bool(NULL, 0, 0, &q, NULL);
    text_is(q, "(-*:*)");
    grebe_query_match("title", "old man", 7, GREBE_AND, &q, NULL);
    text_is(q, "title:(+old +man)");
    grebe_query_none(&q, NULL);
    text_is(q, "");
    grebe_query_release(a);
    grebe_query_release(b);
}

static void a_short_buffer_gets_the_beginning_and_the_length(void **state) {
    grebe_query *q = term("abc");
    char text[6] = "xxxxx";
    assert_int_equal(grebe_query_text(q, text, 5), 8);
    assert_string_equal(text, "tags");
    assert_int_equal(grebe_query_text(q, text, 1), 8);
    assert_string_equal(text, "");
    assert_int_equal(grebe_query_text(q, NULL, 0), 8);
    grebe_query_release(q);
}

static void limits_are_taken_at_and_refused_above(void **state) {
    grebe_query *q, *next, *leaf = term("a");
    grebe_error err;
    char *big = calloc(1, GREBE_QUERY_TEXT_MAX + 1);
    memset(big, 'x', GREBE_QUERY_TEXT_MAX + 1);
    assert_int_equal(grebe_query_match("t", big, GREBE_QUERY_TEXT_MAX + 1,
                                       GREBE_OR, &q, &err),
                     GREBE_LIMIT);
    assert_null(q);
    assert_int_equal(
        grebe_query_match("t", big, GREBE_QUERY_TEXT_MAX, GREBE_OR, &q, &err),
        GREBE_OK);
    grebe_query_release(q);
    assert_int_equal(
        grebe_query_prefix("t", big, GREBE_TERM_SIZE_MAX + 1, &q, &err),
        GREBE_LIMIT);
    assert_int_equal(
        grebe_query_phrase("t", "a", 1, GREBE_PHRASE_SLOP_MAX + 1, &q, &err),
        GREBE_LIMIT);
    free(big);

    q = grebe_query_acquire(leaf);
    for (uint32_t depth = 2; depth <= GREBE_QUERY_DEPTH_MAX; depth++) {
        assert_int_equal(grebe_query_boost(q, 1, &next, &err), GREBE_OK);
        grebe_query_release(q);
        q = next;
        assert_int_equal(q->depth, depth);
    }
    assert_int_equal(grebe_query_boost(q, 1, &next, &err), GREBE_LIMIT);
    grebe_query_release(q);

    grebe_clause *clauses =
        calloc(GREBE_QUERY_CLAUSES_MAX + 1, sizeof *clauses);
    for (uint32_t i = 0; i <= GREBE_QUERY_CLAUSES_MAX; i++)
        clauses[i] = (grebe_clause){GREBE_SHOULD, leaf};
    assert_int_equal(
        grebe_query_bool(clauses, GREBE_QUERY_CLAUSES_MAX + 1, 0, &q, &err),
        GREBE_LIMIT);
    assert_int_equal(
        grebe_query_bool(clauses, GREBE_QUERY_CLAUSES_MAX, 0, &q, &err),
        GREBE_OK);
    clauses[0].query = q;
    assert_int_equal(grebe_query_bool(clauses, 2, 0, &next, &err),
                     GREBE_LIMIT);
    grebe_query_release(q);
    free(clauses);
    grebe_query_release(leaf);
}

static void a_graph_that_doubles_at_each_level_is_stopped(void **state) {
    grebe_query *q = term("a"), *next = NULL;
    grebe_status status = GREBE_OK;
    uint32_t levels = 0;
    for (; status == GREBE_OK; levels++) {
        grebe_clause two[] = {{GREBE_MUST, q}, {GREBE_MUST, q}};
        status = grebe_query_bool(two, 2, 0, &next, NULL);
        if (status != GREBE_OK) break;
        grebe_query_release(q);
        q = next;
    }
    assert_int_equal(status, GREBE_LIMIT);
    assert_int_equal(levels, 12);
    grebe_query_release(q);
}

static void bad_arguments_are_refused(void **state) {
    grebe_query *a = term("a"), *q = a;
    grebe_value nan = {.kind = GREBE_DOUBLE, .as.number = NAN};
    grebe_value none = {.kind = (grebe_kind)0};
    grebe_phrase_term falls[] = {{"x", 1, 2}, {"y", 1, 1}};
    grebe_clause bad[] = {{(grebe_occur)7, a}};
    grebe_query *nulls[] = {NULL};
    assert_int_equal(grebe_query_boost(a, -1, &q, NULL), GREBE_ARGUMENT);
    assert_null(q);
    assert_int_equal(grebe_query_boost(a, NAN, &q, NULL), GREBE_ARGUMENT);
    assert_int_equal(grebe_query_boost(a, INFINITY, &q, NULL), GREBE_ARGUMENT);
    assert_int_equal(grebe_query_boost(NULL, 1, &q, NULL), GREBE_ARGUMENT);
    assert_int_equal(grebe_query_constant(a, -1, &q, NULL), GREBE_ARGUMENT);
    assert_int_equal(grebe_query_dismax(&a, 1, 1.5f, &q, NULL),
                     GREBE_ARGUMENT);
    assert_int_equal(grebe_query_dismax(nulls, 1, 0, &q, NULL),
                     GREBE_ARGUMENT);
    assert_int_equal(grebe_query_term("f", &nan, &q, NULL), GREBE_ARGUMENT);
    assert_int_equal(grebe_query_term("f", &none, &q, NULL), GREBE_ARGUMENT);
    assert_int_equal(grebe_query_term(NULL, &nan, &q, NULL), GREBE_ARGUMENT);
    assert_int_equal(grebe_query_phrase_terms("f", falls, 2, 0, &q, NULL),
                     GREBE_ARGUMENT);
    assert_int_equal(grebe_query_bool(bad, 1, 0, &q, NULL), GREBE_ARGUMENT);
    assert_int_equal(grebe_query_match("f", "\xff", 1, GREBE_OR, &q, NULL),
                     GREBE_ARGUMENT);
    assert_int_equal(grebe_query_match("f", NULL, 1, GREBE_OR, &q, NULL),
                     GREBE_ARGUMENT);
    assert_int_equal(
        grebe_query_match("f", "a", 1, (grebe_operator)9, &q, NULL),
        GREBE_ARGUMENT);
    assert_int_equal(grebe_query_all(NULL, NULL), GREBE_ARGUMENT);
    grebe_query_release(a);
}

static void children_live_as_long_as_their_parents(void **state) {
    grebe_query *a = term("a"), *q, *p;
    grebe_clause one[] = {{GREBE_MUST, a}, {GREBE_MUST_NOT, a}};
    assert_int_equal(grebe_query_bool(one, 2, 0, &q, NULL), GREBE_OK);
    assert_int_equal(grebe_query_boost(q, 2, &p, NULL), GREBE_OK);
    grebe_query_release(a);
    grebe_query_release(q);
    text_is(p, "(+tags:a -tags:a)^2");
    assert_int_equal(grebe_live_handles(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_language_can_say_reads_back_equal),
        cmocka_unit_test(numbers_dates_and_bools_read_back_equal),
        cmocka_unit_test(trees_read_back_equal),
        cmocka_unit_test(what_it_cannot_say_is_written_all_the_same),
        cmocka_unit_test(a_short_buffer_gets_the_beginning_and_the_length),
        cmocka_unit_test(limits_are_taken_at_and_refused_above),
        cmocka_unit_test(a_graph_that_doubles_at_each_level_is_stopped),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(children_live_as_long_as_their_parents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
