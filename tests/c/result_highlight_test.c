/* rooms: base store doc analysis segment invert memseg snapshot merge query search commit collect result engine api */
/* Passages: what is marked, where they begin and end, escapes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "grebe/grebe.h"

enum { F_BODY, F_NOTE };

typedef struct world {
    grebe_index *index;
    grebe_schema *schema;
    grebe_document *document;
} world;

static void world_open(world *w, const char *analyzer) {
    const grebe_field body = {"body", GREBE_TEXT,
                              GREBE_STORED | GREBE_INDEXED | GREBE_MANY,
                              analyzer, NULL};
    const grebe_field note = {"note", GREBE_TEXT, GREBE_STORED | GREBE_INDEXED,
                              NULL, NULL};
    assert_int_equal(grebe_schema_new(&w->schema, NULL), GREBE_OK);
    assert_int_equal(grebe_schema_add(w->schema, &body, NULL), GREBE_OK);
    assert_int_equal(grebe_schema_add(w->schema, &note, NULL), GREBE_OK);
    assert_int_equal(grebe_index_open(NULL, w->schema, NULL, &w->index, NULL),
                     GREBE_OK);
    assert_int_equal(grebe_document_new(w->schema, &w->document, NULL),
                     GREBE_OK);
}

static void world_close(world *w) {
    grebe_document_free(w->document);
    grebe_schema_release(w->schema);
    grebe_index_free(w->index);
    assert_int_equal(grebe_live_handles(), 0);
}

static void text_add(world *w, uint32_t field, const char *text) {
    assert_int_equal(
        grebe_document_add_text(w->document, field, text, strlen(text), NULL),
        GREBE_OK);
}

static void document_put(world *w) {
    assert_int_equal(grebe_index_add(w->index, w->document, 0, NULL),
                     GREBE_OK);
    assert_int_equal(grebe_index_commit(w->index, GREBE_SOFT, NULL, NULL),
                     GREBE_OK);
    grebe_document_clear(w->document);
}

/* The first hit's passages for a query text, joined by "|". */
static void highlight(world *w, const char *query,
                      const grebe_highlight_request *h, char *out,
                      size_t size) {
    grebe_query *q;
    grebe_error err;
    grebe_parse_options options = {0};
    grebe_query_field fields[] = {{"body", 1}};
    options.fields = fields;
    options.field_count = 1;
    assert_int_equal(
        grebe_query_parse(w->schema, query, strlen(query), &options, &q, &err),
        GREBE_OK);
    grebe_search_request r = {
        .query = q, .limit = 1, .highlights = h, .highlight_count = 1};
    grebe_hits *hits;
    assert_int_equal(grebe_index_search(w->index, &r, &hits, &err), GREBE_OK);
    assert_int_equal(grebe_hits_count(hits), 1);
    out[0] = 0;
    for (uint32_t j = 0; j < grebe_hits_passage_count(hits, 0, 0); j++) {
        size_t length, at = strlen(out);
        const char *p = grebe_hits_passage(hits, 0, 0, j, &length);
        assert_int_equal(strlen(p), length);
        assert_true(at + length + 2 < size);
        snprintf(out + at, size - at, "%s%s", j ? "|" : "", p);
    }
    assert_null(grebe_hits_passage(hits, 0, 1, 0, NULL));
    assert_null(grebe_hits_passage(hits, 1, 0, 0, NULL));
    grebe_hits_release(hits);
    grebe_query_release(q);
}

static void expect(world *w, const char *query,
                   const grebe_highlight_request *h, const char *wanted) {
    char got[4096];
    highlight(w, query, h, got, sizeof got);
    assert_string_equal(got, wanted);
}

static const grebe_highlight_request plain = {.field = "body"};

static void terms_phrases_and_prefixes_are_marked(void **state) {
    world w;
    world_open(&w, "standard");
    text_add(&w, F_BODY, "The quick Brown fox jumps over the lazy dog.");
    document_put(&w);
    expect(&w, "fox", &plain,
           "The quick Brown <em>fox</em> jumps over the lazy dog.");
    expect(&w, "\"brown fox\"", &plain,
           "The quick <em>Brown</em> <em>fox</em> jumps over the lazy dog.");
    expect(&w, "jum* dog", &plain,
           "The quick Brown fox <em>jumps</em> over the lazy "
           "<em>dog</em>.");
    /* What matched elsewhere marks nothing here. */
    expect(&w, "*:*", &plain, "");
    grebe_highlight_request note = {.field = "note"};
    expect(&w, "fox", &note, "");
    world_close(&w);
}

static void folded_and_stemmed_tokens_mark_the_original(void **state) {
    world w;
    world_open(&w, "en");
    text_add(&w, F_BODY,
             "Na\xc3\xafve \xc3\x84pfel: TECHNOLOGIES\xe2\x80\x99 "
             "end, possibly.");
    document_put(&w);
    expect(&w, "technology possible", &plain,
           "Na\xc3\xafve \xc3\x84pfel: <em>TECHNOLOGIES</em>\xe2\x80\x99 "
           "end, <em>possibly</em>.");
    world_close(&w);
}

static void tags_and_escapes_are_as_asked(void **state) {
    world w;
    world_open(&w, "standard");
    text_add(&w, F_BODY, "<b>\"R&D\"</b> it's fox & co");
    document_put(&w);
    grebe_highlight_request h = {.field = "body",
                                 .pre = "[",
                                 .post = "]",
                                 .encoder = GREBE_ENCODE_HTML};
    expect(&w, "fox b", &h,
           "&lt;[b]&gt;&quot;R&amp;D&quot;&lt;&#x2F;[b]&gt; it&#x27;s [fox] "
           "&amp; co");
    h.encoder = GREBE_ENCODE_NONE;
    expect(&w, "fox", &h, "<b>\"R&D\"</b> it's [fox] & co");
    world_close(&w);
}

static void the_window_with_most_different_terms_is_shown(void **state) {
    world w;
    world_open(&w, "standard");
    text_add(&w, F_BODY,
             "One fox here and a fox there and again a fox. Nothing of "
             "interest stands in this long sentence between the two ends. "
             "At last the fox meets the hound! And all is over now.");
    document_put(&w);
    grebe_highlight_request h = {.field = "body", .size = 40};
    expect(&w, "fox hound", &h,
           "At last the <em>fox</em> meets the <em>hound</em>!");
    h.snippets = 2;
    expect(&w, "fox hound", &h,
           "<em>fox</em> here and a <em>fox</em> there and again a "
           "<em>fox</em>|"
           "At last the <em>fox</em> meets the <em>hound</em>!");
    world_close(&w);
}

static void values_are_candidates_of_their_own(void **state) {
    world w;
    world_open(&w, "standard");
    text_add(&w, F_BODY, "a fox");
    text_add(&w, F_BODY, "nothing");
    text_add(&w, F_BODY, "a fox and a hound");
    document_put(&w);
    expect(&w, "fox hound", &plain, "a <em>fox</em> and a <em>hound</em>");
    grebe_highlight_request h = {.field = "body", .snippets = 5};
    expect(&w, "fox hound", &h,
           "a <em>fox</em>|a <em>fox</em> and a <em>hound</em>");
    world_close(&w);
}

static void long_tokens_are_cut_between_characters(void **state) {
    world w;
    char text[400] = "";
    world_open(&w, "keyword");
    for (int i = 0; i < 60; i++) strcat(text, "\xc3\xa9");
    text_add(&w, F_BODY, text);
    document_put(&w);
    grebe_highlight_request h = {.field = "body", .size = 7};
    grebe_query *q;
    grebe_value v = {.kind = GREBE_TEXT};
    v.as.text.bytes = text;
    v.as.text.size = strlen(text);
    grebe_query_term("body", &v, &q, NULL);
    grebe_search_request r = {
        .query = q, .limit = 1, .highlights = &h, .highlight_count = 1};
    grebe_hits *hits;
    assert_int_equal(grebe_index_search(w.index, &r, &hits, NULL), GREBE_OK);
    size_t size;
    const char *p = grebe_hits_passage(hits, 0, 0, 0, &size);
    assert_int_equal(size, 14 + strlen("<em></em>"));
    assert_true(grb_utf8_valid(p, size, &size));
    grebe_hits_release(hits);
    grebe_query_release(q);
    world_close(&w);
}

static void text_behind_the_limit_is_not_looked_at(void **state) {
    world w;
    size_t size = (1u << 20) + 4000;
    char *text = malloc(size + 64);
    world_open(&w, "standard");
    for (size_t i = 0; i < size; i += 4) memcpy(text + i, "ab\xc3\xa9", 4);
    for (size_t i = 0; i < size; i += 100) text[i] = ' ';
    strcpy(text + size, " needle");
    text_add(&w, F_BODY, text);
    document_put(&w);
    expect(&w, "needle", &plain, "");
    free(text);
    world_close(&w);
}

/* Passages of random texts are parts of them, valid and about as long. */
static void random_texts_give_sound_passages(void **state) {
    static const char *words[] = {"fox",
                                  "hound",
                                  "caf\xc3\xa9",
                                  "(a)",
                                  ". ",
                                  "? ",
                                  "\xe6\x97\xa5\xe6\x9c\xac",
                                  "\xe3\x80\x82",
                                  "\"x\"",
                                  "\n",
                                  "  ",
                                  "verylongwordindeed"};
    uint64_t random = 99;
    for (int n = 0; n < 300; n++) {
        world w;
        char text[2000] = "fox ", got[8192], bare[8192];
        world_open(&w, "standard");
        for (int i = 0; i < 5 + n % 60; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            strcat(text, words[(random >> 33) % GRB_COUNT(words)]);
            if (random >> 62) strcat(text, " ");
        }
        text_add(&w, F_BODY, text);
        document_put(&w);
        grebe_highlight_request h = {.field = "body",
                                     .pre = "\x01",
                                     .post = "\x02",
                                     .size = 1 + (uint32_t)n % 90,
                                     .snippets = 1 + (uint32_t)n % 3};
        highlight(&w, "fox hound caf\xc3\xa9", &h, got, sizeof got);
        size_t bad;
        assert_true(grb_utf8_valid(got, strlen(got), &bad));
        const char *from = text;
        for (char *p = strtok(got, "|"); p; p = strtok(NULL, "|")) {
            size_t count = 0, chars = 0;
            for (char *c = p; *c; c++) {
                if (*c == 1 || *c == 2) continue;
                chars += (*c & 0xc0) != 0x80;
                bare[count++] = *c;
            }
            bare[count] = 0;
            assert_true(chars <= h.size);
            assert_non_null(strchr(p, 1));
            const char *at = strstr(from, bare);
            assert_non_null(at);
            from = at + count; /* in order and never over each other */
        }
        world_close(&w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terms_phrases_and_prefixes_are_marked),
        cmocka_unit_test(folded_and_stemmed_tokens_mark_the_original),
        cmocka_unit_test(tags_and_escapes_are_as_asked),
        cmocka_unit_test(the_window_with_most_different_terms_is_shown),
        cmocka_unit_test(values_are_candidates_of_their_own),
        cmocka_unit_test(long_tokens_are_cut_between_characters),
        cmocka_unit_test(text_behind_the_limit_is_not_looked_at),
        cmocka_unit_test(random_texts_give_sound_passages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
