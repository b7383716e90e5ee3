/* rooms: base analysis */
/* tests/c/analysis_analyzer_test.c - the analyzers, filters and the stream. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/pipeline.h"
#include "grebe/document.h"

static grb_tokens stream;

static int stream_open(void **state) {
    (void)state;
    grb_tokens_init(&stream, &grb_allocator_malloc);
    return 0;
}

static int stream_close(void **state) {
    (void)state;
    grb_tokens_deinit(&stream);
    return 0;
}

/* The tokens as "term@position term@position ...|end_position". */
static const char *shown(const grb_analyzer *analyzer, const char *text,
                         size_t size) {
    static char out[4096];
    size_t at = 0;
    assert_int_equal(grb_analyze(analyzer, text, size, &stream, NULL), 0);
    for (uint32_t i = 0; i < stream.count; i++) {
        const grb_token *t = &stream.items[i];
        at += (size_t)snprintf(out + at, sizeof out - at, "%.*s@%u ",
                               (int)t->size, t->bytes, t->position);
    }
    snprintf(out + at, sizeof out - at, "|%u", stream.end_position);
    return out;
}

static const grb_analyzer *named(const char *name) {
    return grb_analyzer_find(name, strlen(name));
}

static const char *analyzed(const char *name, const char *text) {
    return shown(named(name), text, strlen(text));
}

static void alias_is_never_printed(void **state) {
    (void)state;
    assert_ptr_equal(named("english"), named("en"));
    assert_string_equal(grb_analyzer_name(named("english")), "en");
    assert_null(strstr(grb_analyzer_names(), "english"));
    assert_null(named("standard "));
    assert_null(named(""));
    assert_null(grb_analyzer_find("english", 3));
    static const char *const names[] = {"standard", "whitespace", "keyword",
                                        "simple", "en"};
    for (size_t i = 0; i < GRB_COUNT(names); i++) {
        assert_string_equal(grb_analyzer_name(named(names[i])), names[i]);
        assert_non_null(strstr(grb_analyzer_names(), names[i]));
    }
}

static void standard_cuts_words_and_lowers_them(void **state) {
    (void)state;
    assert_string_equal(
        analyzed("standard", "The Quick-Brown fox_2 can't pay 1,000.50; ok."),
        "the@0 quick@1 brown@2 fox_2@3 can't@4 pay@5 1,000.50@6 ok@7 |8");
    assert_string_equal(analyzed("standard", "a.b a.1 1.a 1:2 a:b a;b 1;2"),
                        "a.b@0 a@1 1@2 1@3 a@4 1@5 2@6 a:b@7 a@8 b@9 "
                        "1;2@10 |11");
    assert_string_equal(analyzed("standard", " \t.,;"), "|0");
    assert_string_equal(analyzed("standard", ""), "|0");
}

static void other_scripts_are_lowered_too(void **state) {
    (void)state;
    assert_string_equal(analyzed("standard", "ÄPFEL ΣΊΣΥΦΟΣ ЖУК 日本 STRAẞE"),
                        "äpfel@0 σίσυφοσ@1 жук@2 日@3 本@4 straße@5 |6");
    /* Shorter and longer than before. */
    assert_string_equal(analyzed("standard", "xİİy ȺȾx \xE2\x84\xAA"),
                        "xiiy@0 ⱥⱦx@1 k@2 |3");
}

static void folding_is_full(void **state) {
    (void)state;
    grb_analyzer fold = {.tokenizer = {grb_standard_run, 255},
                         .lowers = true,
                         .filters = {&grb_filter_fold}};
    const char *text = "STRASSE Straße ﬃx ΐ Σίσυφος";
    assert_string_equal(shown(&fold, text, strlen(text)),
                        "strasse@0 strasse@1 ffix@2 "
                        "\xCE\xB9\xCC\x88\xCC\x81@3 σίσυφοσ@4 |5");
}

static void unchanged_tokens_lie_in_the_text(void **state) {
    (void)state;
    const char *text = "nothing to change", *other = "One Two";
    assert_int_equal(
        grb_analyze(named("standard"), text, strlen(text), &stream, NULL), 0);
    for (uint32_t i = 0; i < stream.count; i++)
        assert_ptr_equal(stream.items[i].bytes, text + stream.items[i].start);
    assert_int_equal(
        grb_analyze(named("whitespace"), other, strlen(other), &stream, NULL),
        0);
    assert_ptr_equal(stream.items[1].bytes, other + 4);
}

static void english_stems_and_leaves_gaps(void **state) {
    (void)state;
    assert_string_equal(
        analyzed("en", "The technology of possibly running DOGS' dog's"),
        "technolog@1 possibl@3 run@4 dog@5 dog@6 |7");
    assert_string_equal(analyzed("en", "end of the"), "end@0 |3");
    assert_string_equal(analyzed("en", "of the"), "|2");
    assert_string_equal(analyzed("en",
                                 "Peter\xE2\x80\x99s O'NEIL\xEF\xBC\x87S "
                                 "is as us"),
                        "peter@0 o'neil@1 us@4 |5");
}

static void every_stop_word_is_removed(void **state) {
    (void)state;
    assert_string_equal(
        analyzed("en", "a an and are as at be but by for if in into is it no "
                       "not of on or such that the their then there these "
                       "they this to was will with"),
        "|33");
    assert_string_equal(analyzed("en", "an thes wit i"), "the@1 wit@2 i@3 |4");
}

static void whitespace_keeps_all_else(void **state) {
    (void)state;
    assert_string_equal(
        analyzed("whitespace", " Wi-Fi,\t(x)\n\xE3\x80\x80y\xC2\xA0z "),
        "Wi-Fi,@0 (x)@1 y\xC2\xA0z@2 |3");
}

static void simple_takes_letters_only(void **state) {
    (void)state;
    assert_string_equal(analyzed("simple", "Don't 42x ÄÖ_ü Ж9"),
                        "don@0 t@1 x@2 äö@3 ü@4 ж@5 |6");
}

static void keyword_is_the_whole_text(void **state) {
    (void)state;
    assert_string_equal(analyzed("keyword", " A b "), " A b @0 |1");
    assert_string_equal(analyzed("keyword", ""), "|0");
}

static void term_over_the_limit_is_counted_not_cut(void **state) {
    (void)state;
    size_t size = GREBE_TERM_SIZE_MAX + 1;
    char *text = malloc(size);
    memset(text, 'k', size);
    const grb_analyzer *keyword = named("keyword");
    assert_int_equal(grb_analyze(keyword, text, size - 1, &stream, NULL), 0);
    assert_true(stream.count == 1 && stream.skipped == 0);
    assert_int_equal(stream.items[0].size, GREBE_TERM_SIZE_MAX);
    assert_int_equal(grb_analyze(keyword, text, size, &stream, NULL), 0);
    assert_true(stream.count == 0 && stream.skipped == 1);
    assert_int_equal(stream.end_position, 1);
    free(text);
}

/* Pieces of a long word follow each other without a gap. */
static void long_words_are_cut_without_loss(void **state) {
    (void)state;
    static char text[70000 + 5];
    memset(text, 'z', 70000);
    memcpy(text + 70000, " tail", 5);
    static const char *const names[] = {"standard", "whitespace", "simple"};
    for (size_t n = 0; n < GRB_COUNT(names); n++) {
        assert_int_equal(
            grb_analyze(named(names[n]), text, sizeof text, &stream, NULL), 0);
        assert_int_equal(stream.count, 70000 / 255 + 1 + 1);
        uint32_t at = 0;
        for (uint32_t i = 0; i + 1 < stream.count; i++) {
            assert_int_equal(stream.items[i].start, at);
            at = stream.items[i].end;
        }
        assert_int_equal(at, 70000);
        assert_memory_equal(stream.items[stream.count - 1].bytes, "tail", 4);
    }
}

static void long_lines_of_underscores_are_passed_over(void **state) {
    (void)state;
    static char text[4000000];
    memset(text, '_', sizeof text);
    uint64_t before = grb_clock_ns();
    assert_int_equal(
        grb_analyze(named("standard"), text, sizeof text, &stream, NULL), 0);
    assert_int_equal(stream.count, 0);
    text[1000] = 'a';
    assert_int_equal(
        grb_analyze(named("standard"), text, sizeof text, &stream, NULL), 0);
    assert_int_equal(stream.count, 1);
    assert_int_equal(stream.items[0].start, 746);
    assert_int_equal(stream.items[0].end, 1001);
    assert_true(grb_clock_ns() - before < UINT64_C(2000000000));
}

static void bounds_are_lowered_and_not_stemmed(void **state) {
    (void)state;
    grb_buf out;
    grb_buf_init(&out, &grb_allocator_malloc, 0);
    static const char *const names[] = {"standard", "simple", "en"};
    for (size_t i = 0; i < GRB_COUNT(names); i++) {
        grb_buf_clear(&out);
        grb_analyzer_normalize(named(names[i]), "DOC?s ÄİThe", 12, &out);
        assert_int_equal(out.size, 11);
        assert_memory_equal(out.bytes, "doc?s äithe", 11);
    }
    grb_buf_clear(&out);
    grb_analyzer_normalize(named("keyword"), "Docu", 4, &out);
    assert_memory_equal(out.bytes, "Docu", 4);
    grb_buf_deinit(&out);
}

/* A stream that has met the words before gives what a new one gives. */
static void remembered_stems_are_the_stemmers(void **state) {
    (void)state;
    enum { WORDS = 30000 };
    static char text[WORDS * 12];
    uint32_t seed = 7, size = 0;
    static const char *const ends[] = {"s",     "ing",   "ed",   "ational",
                                       "bly",   "ology", "ness", "y",
                                       "ement", "ies",   "e",    ""};
    for (uint32_t i = 0; i < WORDS && size < sizeof text - 20; i++) {
        for (uint32_t k = 0; k < 1 + i % 4; k++) {
            seed = seed * 1664525 + 1013904223;
            text[size++] = "abehlopsty"[seed >> 24 & 7];
        }
        seed = seed * 1664525 + 1013904223;
        const char *end = ends[(seed >> 20) % GRB_COUNT(ends)];
        memcpy(text + size, end, strlen(end));
        size += (uint32_t)strlen(end);
        text[size++] = ' ';
    }
    assert_int_equal(grb_analyze(named("en"), text, size, &stream, NULL), 0);
    assert_non_null(stream.stems);
    for (uint32_t i = 0; i < stream.count; i++) {
        const grb_token *t = &stream.items[i];
        char word[64];
        memcpy(word, text + t->start, t->end - t->start);
        uint32_t stem = grb_porter_stem(word, t->end - t->start);
        assert_int_equal(t->size, stem);
        assert_memory_equal(t->bytes, word, stem);
    }
}

static void stems_of_long_words_need_no_bits(void **state) {
    (void)state;
    char word[300];
    for (uint32_t size = 3; size < sizeof word; size++) {
        memset(word, 'b', sizeof word);
        memcpy(word + size - 3, "ies", 3);
        assert_int_equal(grb_porter_stem(word, size), size - 2);
        assert_int_equal(word[size - 3], 'i');
        if (size < 12) continue;
        memset(word, 'b', sizeof word); /* m of the stem is 2 */
        word[1] = word[3] = 'a';
        memcpy(word + size - 5, "ement", 5);
        assert_int_equal(grb_porter_stem(word, size), size - 5);
        memset(word, 'b', sizeof word); /* and here 1 */
        word[1] = 'a';
        memcpy(word + size - 5, "ement", 5);
        assert_int_equal(grb_porter_stem(word, size), size);
    }
}

/* ---- memory refused ---- */

typedef struct meter {
    size_t live;
    int left;
} meter;

static void *meter_resize(void *context, void *block, size_t old_size,
                          size_t new_size) {
    meter *m = context;
    if (new_size && m->left-- <= 0) return NULL;
    m->live += new_size - old_size;
    if (!new_size) {
        free(block);
        return NULL;
    }
    return realloc(block, new_size);
}

static void refused_memory_leaves_no_tokens_and_no_leak(void **state) {
    (void)state;
    char text[4000] = "";
    while (strlen(text) < sizeof text - 40)
        strcat(text, "Running ȺȾȺȾȺȾ the DOGS' technology, ");
    for (int granted = 0, done = 0; !done; granted++) {
        meter m = {0, granted};
        grebe_allocator a = {meter_resize, &m};
        grb_tokens tokens;
        grebe_error err = {0};
        grb_tokens_init(&tokens, &a);
        grebe_status status =
            grb_analyze(named("en"), text, strlen(text), &tokens, &err);
        done = status == GREBE_OK && m.left > 0;
        if (status != GREBE_OK) {
            assert_int_equal(status, GREBE_MEMORY);
            assert_int_equal(err.status, GREBE_MEMORY);
            assert_int_equal(tokens.count, 0);
        } else {
            assert_string_equal(tokens.items[0].size == 3 ? "run" : "", "run");
        }
        grb_tokens_deinit(&tokens);
        assert_int_equal(m.live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alias_is_never_printed),
        cmocka_unit_test(standard_cuts_words_and_lowers_them),
        cmocka_unit_test(other_scripts_are_lowered_too),
        cmocka_unit_test(folding_is_full),
        cmocka_unit_test(unchanged_tokens_lie_in_the_text),
        cmocka_unit_test(english_stems_and_leaves_gaps),
        cmocka_unit_test(every_stop_word_is_removed),
        cmocka_unit_test(whitespace_keeps_all_else),
        cmocka_unit_test(simple_takes_letters_only),
        cmocka_unit_test(keyword_is_the_whole_text),
        cmocka_unit_test(term_over_the_limit_is_counted_not_cut),
        cmocka_unit_test(long_words_are_cut_without_loss),
        cmocka_unit_test(long_lines_of_underscores_are_passed_over),
        cmocka_unit_test(bounds_are_lowered_and_not_stemmed),
        cmocka_unit_test(remembered_stems_are_the_stemmers),
        cmocka_unit_test(stems_of_long_words_need_no_bits),
        cmocka_unit_test(refused_memory_leaves_no_tokens_and_no_leak),
    };
    return cmocka_run_group_tests(tests, stream_open, stream_close);
}
