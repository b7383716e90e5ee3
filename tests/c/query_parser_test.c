/* rooms: base doc analysis query api */
/* The parser beyond Lucene's: kinds, several fields, errors, forgiveness. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "grebe/grebe.h"
#include "query/tree.h"

static grebe_schema *schema;

static int schema_open(void **state) {
    static const grebe_field fields[] = {
        {"id", GREBE_KEYWORD, GREBE_KEY, NULL, NULL},
        {"title", GREBE_TEXT, GREBE_INDEXED, "en", NULL},
        {"body", GREBE_TEXT, GREBE_INDEXED, NULL, NULL},
        {"tags", GREBE_KEYWORD, GREBE_INDEXED | GREBE_MANY, NULL, NULL},
        {"year", GREBE_INT, GREBE_INDEXED, NULL, NULL},
        {"price", GREBE_DOUBLE, GREBE_INDEXED, NULL, NULL},
        {"when", GREBE_DATETIME, GREBE_INDEXED, NULL, NULL},
        {"read", GREBE_BOOL, GREBE_INDEXED, NULL, NULL},
        {"note", GREBE_TEXT, GREBE_STORED, NULL, NULL},
    };
    assert_int_equal(grebe_schema_new(&schema, NULL), GREBE_OK);
    for (size_t i = 0; i < GRB_COUNT(fields); i++)
        assert_int_equal(grebe_schema_add(schema, &fields[i], NULL), GREBE_OK);
    return 0;
}

static int schema_close(void **state) {
    grebe_schema_release(schema);
    return grebe_live_handles() != 0;
}

static grebe_query_field one[] = {{"body", 1}};
static grebe_query_field two[] = {{"title", 2}, {"body", 1}};
static grebe_query_field mixed[] = {{"body", 1}, {"year", 1}, {"tags", 1}};

static void reads_as(const char *text, const grebe_parse_options *options,
                     const char *want) {
    grebe_query *q = NULL;
    grebe_error err;
    char out[1024];
    if (grebe_query_parse(schema, text, strlen(text), options, &q, &err))
        fail_msg("%s: %s", text, err.message);
    grebe_query_text(q, out, sizeof out);
    assert_string_equal(out, want);
    grebe_query_release(q);
}

static void fails_at(const char *text, uint64_t offset, const char *message) {
    grebe_parse_options options = {.fields = one, .field_count = 1};
    grebe_query *q = (grebe_query *)&options;
    grebe_error err = {.status = GREBE_OK};
    grebe_status status =
        grebe_query_parse(schema, text, strlen(text), &options, &q, &err);
    if (status != GREBE_SYNTAX || err.offset != offset ||
        !strstr(err.message, message))
        fail_msg("%s: status %d, offset %d, %s", text, (int)status,
                 (int)err.offset, err.message);
    assert_null(q);
}

static void values_are_read_by_their_field_s_kind(void **state) {
    reads_as("year:1952", NULL, "year:1952");
    reads_as("year:-5", NULL, "year:-5");
    reads_as("year:\"-5\"", NULL, "year:-5");
    reads_as("year:-9223372036854775808", NULL, "year:-9223372036854775808");
    reads_as("year:[1950 TO *]", NULL, "year:[1950 TO *]");
    reads_as("year:{-5 TO 5]^2", NULL, "year:{-5 TO 5]^2");
    reads_as("year:(1952 1953)", NULL, "year:1952 year:1953");
    reads_as("(year:1952)", NULL, "year:1952");
    reads_as("price:1.5e3", NULL, "price:1500");
    reads_as("price:-.5", NULL, "price:-0.5");
    reads_as("price:[-inf TO 1}", NULL, "price:[-inf TO 1}");
    reads_as("when:2020-02-29T12:30:00.5678+01:00", NULL,
             "when:2020-02-29T11:30:00.567Z");
    reads_as("read:true -read:false", NULL, "read:true -read:false");
    reads_as("id:AbC tags:\"a b\"", NULL, "id:AbC tags:a\\ b");
    reads_as("tags:Ab* tags:[A TO b]", NULL, "tags:Ab* tags:[\"A\" TO \"b\"]");
    reads_as("title:Runn* body:[A TO B]", NULL,
             "title:runn* body:[\"a\" TO \"b\"]");
    reads_as("year:* tags:*", NULL, "year:* tags:*");
}

static void a_date_without_a_time_is_the_whole_day(void **state) {
    reads_as("when:2020-02-29", NULL,
             "when:[2020-02-29T00:00:00Z TO 2020-02-29T23:59:59.999Z]");
    reads_as("when:[2020-01-01 TO 2020-12-31]", NULL,
             "when:[2020-01-01T00:00:00Z TO 2020-12-31T23:59:59.999Z]");
    reads_as("when:{2020-01-01 TO 2020-12-31}", NULL,
             "when:{2020-01-01T23:59:59.999Z TO 2020-12-31T00:00:00Z}");
    reads_as("when:[2020-01-01T00:00Z TO 2020-12-31T23:59Z]", NULL,
             "when:[2020-01-01T00:00:00Z TO 2020-12-31T23:59:00Z]");
    reads_as("when:[* TO 9999-12-31]", NULL,
             "when:[* TO 9999-12-31T23:59:59.999Z]");
}

static void stray_signs_are_refused_or_forgiven(void **state) {
    static const char *const texts[] = {
        "\"", "()",      "((",       "hello AND", "[1 TO", "body:",      "~",
        "*:", "a\\",     "\"a\" \"", "{!",        "AND",   "||",         "a^",
        "]",  "}",       ")(",       ":",         "^2",    "\\",         "/",
        "[",  "[a TO b", "+",        "-",         "!",     "a AND OR b", "(a",
    };
    grebe_parse_options options = {.fields = one, .field_count = 1};
    for (size_t i = 0; i < GRB_COUNT(texts); i++) {
        grebe_query *q = NULL;
        grebe_error err;
        size_t size = strlen(texts[i]);
        options.forgiving = 0;
        assert_int_equal(
            grebe_query_parse(schema, texts[i], size, &options, &q, &err),
            GREBE_SYNTAX);
        assert_true(err.offset <= size);
        options.forgiving = 1;
        assert_int_equal(
            grebe_query_parse(schema, texts[i], size, &options, &q, &err),
            GREBE_OK);
        grebe_query_release(q);
    }
}

static void a_text_that_is_no_value_fails_where_it_stands(void **state) {
    fails_at("body:a year:abc", 12, "this is no value of the field");
    fails_at("year:1.5", 5, "'year' is of kind int");
    fails_at("year:9223372036854775808", 5, "no value");
    fails_at("year:[a TO 5]", 6, "no bound");
    fails_at("year:19*", 5, "a prefix wants text");
    fails_at("year:(1 2 x)", 10, "no value");
    fails_at("price:1,5", 6, "no value");
    fails_at("price:nan", 6, "no value");
    fails_at("read:yes", 5, "no value");
    fails_at("when:2021-02-29", 5, "ISO 8601");
    fails_at("when:2021-02-28T10:00", 5, "ISO 8601");
    fails_at("when:0000-01-01", 5, "ISO 8601");
    fails_at("when:1952", 5, "ISO 8601");
}

static void errors_have_a_place_a_line_and_a_caret(void **state) {
    grebe_query *q;
    grebe_error err;
    const char *text = "body:a\nbody:\xc3\xa9 )";
    assert_int_equal(
        grebe_query_parse(schema, text, strlen(text), NULL, &q, &err),
        GREBE_SYNTAX);
    assert_int_equal(err.offset, 15);
    assert_string_equal(err.message,
                        "')' stands where a term is wanted, line 2 column 8\n"
                        "body:\xc3\xa9 )\n"
                        "       ^");
    fails_at("a AND", 5, "the text ends where a term is wanted");
    fails_at("(a", 0, "this '(' is not closed");
    fails_at("a \"b", 2, "this quote is not closed");
    fails_at("a^b", 2, "a number must follow '^'");
    fails_at("a^2^3", 3, "'^' stands");
    fails_at("a\\", 1, "nothing follows the backslash");
    fails_at("\\u12", 0, "four hexadecimal digits");
    fails_at("\\uD800", 0, "four hexadecimal digits");
    fails_at("[a b]", 3, "TO is wanted");
    fails_at("te?t", 0, "a wildcard is not supported yet");
    fails_at("a b~1", 3, "a fuzzy term is not supported yet");
    fails_at("/re/", 0, "a regular expression is not supported yet");
    fails_at("a\xff", 1, "not UTF-8");
}

static void a_long_line_is_shown_round_the_place(void **state) {
    grebe_query *q;
    grebe_error err;
    char text[4000];
    memset(text, 'a', sizeof text);
    for (size_t i = 0; i + 2 < sizeof text; i += 3) /* U+6F22 */
        memcpy(text + i, "\xe6\xbc\xa2", 3);
    text[3000] = ')';
    text[3001] = text[3002] = 'a';
    assert_int_equal(grebe_query_parse(schema, text, 3999, NULL, &q, &err),
                     GREBE_SYNTAX);
    assert_int_equal(err.offset, 3000);
    assert_true(grb_utf8_valid(err.message, strlen(err.message), NULL));
    assert_true(strlen(err.message) < 300);
}

static void unknown_fields_name_the_nearest(void **state) {
    fails_at("titel:a", 0, "did you mean 'title'?");
    fails_at("body:(a Body:b)", 8, "did you mean 'body'?");
    fails_at("a zzzzzzzzzz:b", 2, "there is no field 'zzzzzzzzzz'");
    fails_at("note:a", 0, "field 'note' is not indexed");
    grebe_query *q;
    grebe_error err;
    grebe_query_field bad[] = {{"bodi", 1}};
    grebe_parse_options options = {.fields = bad, .field_count = 1};
    assert_int_equal(grebe_query_parse(schema, "a", 1, &options, &q, &err),
                     GREBE_SCHEMA);
    assert_string_equal(err.field, "bodi");
    assert_non_null(strstr(err.message, "'body'"));
}

static void a_word_takes_the_best_of_several_fields(void **state) {
    grebe_parse_options options = {.fields = two, .field_count = 2};
    reads_as("old man", &options,
             "(title:old^2 | body:old) (title:man^2 | body:man)");
    reads_as("\"old man\"~1^3", &options,
             "(title:\"old man\"~1^2 | body:\"old man\"~1)^3");
    reads_as("+Runn*", &options, "+(title:runn*^2 | body:runn*)");
    reads_as("tags:x [a TO b]", &options,
             "tags:x (title:[\"a\" TO \"b\"]^2 | body:[\"a\" TO \"b\"])");
    reads_as("old", NULL, "(title:old | body:old)");
}

static void a_field_the_word_does_not_fit_is_left_out(void **state) {
    grebe_parse_options options = {.fields = mixed, .field_count = 3};
    reads_as("1952", &options, "(body:1952 | year:1952 | tags:1952)");
    reads_as("sea", &options, "(body:sea | tags:sea)");
    options.fields = mixed + 1;
    options.field_count = 1;
    reads_as("year:1 1952", &options, "year:1 year:1952");
    options.forgiving = 1;
    reads_as("sea", &options, "");
    reads_as("sea 1952", &options, "year:1952");
}

static void blank_is_none_and_all_negative_means_all_but(void **state) {
    grebe_parse_options options = {.fields = one, .field_count = 1};
    reads_as("", &options, "");
    reads_as(" \t\n\xe3\x80\x80", &options, "");
    reads_as("-a", &options, "+*:* -body:a");
    reads_as("NOT a -b", &options, "+*:* -body:a -body:b");
    reads_as("x (-a)", &options, "body:x (-body:a)");
    reads_as("*:*", &options, "*:*");
    reads_as("-*:*", &options, "+*:* -*:*");
}

static void forgiving_searches_the_words(void **state) {
    grebe_parse_options options = {
        .fields = one, .field_count = 1, .forgiving = 1};
    reads_as("old -man", &options, "body:old -body:man");
    reads_as("old (man", &options, "body:old body:\\(man");
    reads_as("a AND (b", &options, "body:a body:\\(b");
    reads_as("unknown:a b", &options, "body:unknown\\:a body:b");
    reads_as("te?t", &options, "body:te\\?t");
    reads_as("\"", &options, "body:\\\"");
    reads_as("ok \xff\xfe", &options, "body:ok");
    reads_as("AND", &options, "");
    options.op = GREBE_AND;
    reads_as("old (man", &options, "+body:old +body:\\(man");
}

static void limits_hold_in_both_ways_of_reading(void **state) {
    grebe_parse_options options = {.fields = one, .field_count = 1};
    grebe_query *q;
    grebe_error err;
    char *text = malloc(GREBE_QUERY_TEXT_MAX + 1);
    for (int forgiving = 0; forgiving < 2; forgiving++) {
        options.forgiving = forgiving;
        memset(text, 'a', GREBE_QUERY_TEXT_MAX + 1);
        assert_int_equal(grebe_query_parse(schema, text,
                                           GREBE_QUERY_TEXT_MAX + 1, &options,
                                           &q, &err),
                         GREBE_LIMIT);
        assert_int_equal(grebe_query_parse(schema, text, GREBE_QUERY_TEXT_MAX,
                                           &options, &q, &err),
                         GREBE_OK);
        grebe_query_release(q);
        for (uint32_t n = 4095; n <= 4097; n++) {
            for (uint32_t i = 0; i < n; i++) memcpy(text + 2 * i, "a ", 2);
            assert_int_equal(
                grebe_query_parse(schema, text, 2 * n, &options, &q, &err),
                n <= GREBE_QUERY_CLAUSES_MAX ? GREBE_OK : GREBE_LIMIT);
            grebe_query_release(q);
        }
        for (uint32_t n = 99; n <= 101; n++) {
            memset(text, '(', n);
            text[n] = 'a';
            memset(text + n + 1, ')', n);
            assert_int_equal(
                grebe_query_parse(schema, text, 2 * n + 1, &options, &q, &err),
                n <= GREBE_QUERY_DEPTH_MAX ? GREBE_OK : GREBE_LIMIT);
            grebe_query_release(q);
        }
        for (uint32_t n = 0; n + 3 < GREBE_QUERY_TEXT_MAX; n += 2)
            memcpy(text + n, "-(", 2);
        assert_int_equal(grebe_query_parse(schema, text,
                                           GREBE_QUERY_TEXT_MAX - 2, &options,
                                           &q, &err),
                         GREBE_LIMIT);
        memset(text, '(', GREBE_QUERY_TEXT_MAX);
        assert_int_equal(grebe_query_parse(schema, text, GREBE_QUERY_TEXT_MAX,
                                           &options, &q, &err),
                         GREBE_LIMIT);
        assert_int_equal(
            grebe_query_parse(schema, "\"a\"~10001", 9, &options, &q, &err),
            GREBE_LIMIT);
        assert_int_equal(
            grebe_query_parse(schema, "\"a\"~10000", 9, &options, &q, &err),
            GREBE_OK);
        grebe_query_release(q);
    }
    free(text);
}

static void numbers_do_not_depend_on_the_locale(void **state) {
    if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "C.UTF-8"))
        skip();
    reads_as("price:1.5^2.5", NULL, "price:1.5^2.5");
    setlocale(LC_ALL, "C");
}

static void words_with_nul_keep_it(void **state) {
    grebe_query *q;
    grebe_parse_options options = {.fields = one, .field_count = 1};
    assert_int_equal(grebe_query_parse(schema, "a\0b", 3, &options, &q, NULL),
                     GREBE_OK);
    assert_int_equal(q->as.text.size, 3);
    assert_memory_equal(q->as.text.bytes, "a\0b", 3);
    grebe_query_release(q);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read_by_their_field_s_kind),
        cmocka_unit_test(a_date_without_a_time_is_the_whole_day),
        cmocka_unit_test(stray_signs_are_refused_or_forgiven),
        cmocka_unit_test(a_text_that_is_no_value_fails_where_it_stands),
        cmocka_unit_test(errors_have_a_place_a_line_and_a_caret),
        cmocka_unit_test(a_long_line_is_shown_round_the_place),
        cmocka_unit_test(unknown_fields_name_the_nearest),
        cmocka_unit_test(a_word_takes_the_best_of_several_fields),
        cmocka_unit_test(a_field_the_word_does_not_fit_is_left_out),
        cmocka_unit_test(blank_is_none_and_all_negative_means_all_but),
        cmocka_unit_test(forgiving_searches_the_words),
        cmocka_unit_test(limits_hold_in_both_ways_of_reading),
        cmocka_unit_test(numbers_do_not_depend_on_the_locale),
        cmocka_unit_test(words_with_nul_keep_it),
    };
    return cmocka_run_group_tests(tests, schema_open, schema_close);
}
