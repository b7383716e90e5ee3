/* rooms: base analysis */
/* tests/c/analysis_oracle_test.c - tokens and terms against recorded answers:
 * Lucene's standard tokenizer and English chain, Unicode's word breaks, the
 * Snowball project's list of Porter stems. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "analysis/pipeline.h"
#include "oracle.h"

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

static void line_fail(const json_t *line, const char *what) {
    fail_msg("%s: %s", oracle_text(line, "id", NULL), what);
}

/* The tokens of a line of tokens.jsonl: text and byte offsets. */
static void tokens_compare(const json_t *line) {
    size_t size, i;
    const char *text = oracle_text(line, "text", &size);
    const json_t *limit = json_object_get(line, "max_token_length");
    const json_t *wanted = json_object_get(line, "tokens"), *want;
    grb_analyzer analyzer = {.name = "test",
                             .tokenizer = {grb_standard_run, 255}};
    if (limit)
        analyzer.tokenizer.units_max = (uint32_t)json_integer_value(limit);
    assert_int_equal(grb_analyze(&analyzer, text, size, &stream, NULL),
                     GREBE_OK);
    if (stream.count != json_array_size(wanted)) line_fail(line, "count");
    json_array_foreach(wanted, i, want) {
        const grb_token *token = &stream.items[i];
        const json_t *b = json_object_get(want, "b");
        const json_t *t = json_object_get(want, "t");
        if (token->start != json_integer_value(json_array_get(b, 0)) ||
            token->end != json_integer_value(json_array_get(b, 1)))
            line_fail(line, "offsets");
        if (token->position != i) line_fail(line, "position");
        if (token->size != json_string_length(t) ||
            memcmp(token->bytes, json_string_value(t), token->size) != 0)
            line_fail(line, "text");
    }
}

static void standard_tokens_are_lucenes(void **state) {
    (void)state;
    oracle *all = oracle_open("oracle/lucene/tokens.jsonl.gz");
    if (!all) skip();
    int count = 0;
    for (json_t *line; (line = oracle_next(all)); json_decref(line)) {
        if (!json_object_get(line, "id")) continue;
        tokens_compare(line);
        count++;
    }
    oracle_close(all);
    assert_int_equal(count, 2513);
}

static void english_terms_and_positions_are_lucenes(void **state) {
    (void)state;
    oracle *all = oracle_open("oracle/lucene/languages.jsonl.gz");
    if (!all) skip();
    const grb_analyzer *en = grb_analyzer_find("en", 2);
    int count = 0;
    for (json_t *line; (line = oracle_next(all)); json_decref(line)) {
        if (!json_object_get(line, "id") ||
            strcmp(oracle_text(line, "lang", NULL), "en") != 0)
            continue;
        size_t size, i;
        const char *text = oracle_text(line, "text", &size);
        const json_t *terms = json_object_get(line, "terms"), *term;
        const json_t *places = json_object_get(line, "positions");
        assert_int_equal(grb_analyze(en, text, size, &stream, NULL), 0);
        if (stream.count != json_array_size(terms)) line_fail(line, "count");
        json_array_foreach(terms, i, term) {
            const grb_token *token = &stream.items[i];
            size_t place =
                places ? (size_t)json_integer_value(json_array_get(places, i))
                       : i;
            if (token->position != place) line_fail(line, "position");
            if (token->size != json_string_length(term) ||
                memcmp(token->bytes, json_string_value(term), token->size))
                line_fail(line, "term");
        }
        count++;
    }
    oracle_close(all);
    assert_true(count >= 60);
}

/* Reads one line of WordBreakTest: "÷ 0001 × 0308 ÷"; the text and a bit for
 * each byte offset that is a boundary. */
static size_t break_line_read(const char *line, char *text, bool *breaks) {
    size_t size = 0;
    memset(breaks, 0, 256);
    for (const char *at = line; *at && *at != '#' && *at != '\n';) {
        if (memcmp(at, "\xC3\xB7", 2) == 0) {
            breaks[size] = true;
            at += 2;
        } else if (memcmp(at, "\xC3\x97", 2) == 0) {
            at += 2;
        } else if (*at == ' ' || *at == '\t') {
            at++;
        } else {
            char *end;
            uint32_t c = (uint32_t)strtoul(at, &end, 16);
            size += grb_utf8_encode(c, text + size);
            at = end;
        }
    }
    return size;
}

static void word_breaks_check(const char *path) {
    gzFile file = gzopen(path, "rb");
    if (!file) {
        printf("skipped: %s is not there\n", path);
        skip();
    }
    char line[4096], text[256];
    bool breaks[256];
    int count = 0;
    while (gzgets(file, line, sizeof line)) {
        if (line[0] == '#' || line[0] == '\n') continue;
        size_t size = break_line_read(line, text, breaks);
        for (size_t at = 0; at < size;) {
            size_t next = grb_word_break_next(text, size, at);
            if (next <= at || next > size || !breaks[next])
                fail_msg("break at %zu: %s", next, line);
            for (size_t i = at + 1; i < next; i++)
                if (breaks[i]) fail_msg("no break at %zu: %s", i, line);
            at = next;
        }
        count++;
    }
    gzclose(file);
    assert_int_equal(count, 1823);
}

static void word_breaks_are_unicodes(void **state) {
    (void)state;
    word_breaks_check(oracle_path("data/unicode/WordBreakTest-15.0.txt.gz"));
}

static void word_breaks_are_those_of_the_systems_file(void **state) {
    (void)state;
    word_breaks_check("/usr/share/unicode/auxiliary/WordBreakTest.txt");
}

/* The list is of the rules of 1980; ours differ by "bli" and "logi", and
 * leave words of up to two characters alone. */
static void porter_stems_are_snowballs_but_for_two_rules(void **state) {
    (void)state;
    gzFile file = gzopen(oracle_path("data/stemmer/porter.full.tsv.gz"), "rb");
    if (!file) {
        printf("skipped: no list of stems\n");
        skip();
    }
    char line[512];
    int count = 0, differ = 0;
    while (gzgets(file, line, sizeof line)) {
        char *tab = strchr(line, '\t'), *end = strchr(line, '\n');
        if (!tab || !end) continue;
        *tab = *end = '\0';
        char word[256];
        uint32_t size = (uint32_t)strlen(line);
        memcpy(word, line, size);
        size = grb_porter_stem(word, size);
        count++;
        if (size == strlen(tab + 1) && memcmp(word, tab + 1, size) == 0)
            continue;
        differ++;
        if (!strstr(line, "bl") && !strstr(line, "log") && strlen(line) > 2)
            fail_msg("%s: %.*s, not %s", line, (int)size, word, tab + 1);
    }
    gzclose(file);
    printf("%d words, %d differ by the two rules\n", count, differ);
    assert_true(count > 20000 && differ < 300);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(standard_tokens_are_lucenes),
        cmocka_unit_test(english_terms_and_positions_are_lucenes),
        cmocka_unit_test(word_breaks_are_unicodes),
        cmocka_unit_test(word_breaks_are_those_of_the_systems_file),
        cmocka_unit_test(porter_stems_are_snowballs_but_for_two_rules),
    };
    return cmocka_run_group_tests(tests, stream_open, stream_close);
}
