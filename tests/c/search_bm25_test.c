/* rooms: base search */
/* The pure functions of BM25 against the recorded grid of the oracle. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "oracle.h"
#include "search/bm25.h"

static uint64_t count_of(const json_t *line, const char *key) {
    return (uint64_t)json_integer_value(json_object_get(line, key));
}

/* Number of scores of one line that are off by more than 1e-6; `compared`
 * counts. A phrase sums the idf of its terms. */
static int line_check(const json_t *line, int *compared) {
    uint64_t n = count_of(line, "doc_count");
    float average = grb_bm25_average(count_of(line, "sum_total_term_freq"), n);
    uint8_t code = json_object_get(line, "length_byte")
                       ? (uint8_t)count_of(line, "length_byte")
                       : grb_length_encode((uint32_t)count_of(line, "length"));
    float length = (float)grb_length_decode[code];
    float boost =
        json_object_get(line, "boost")
            ? (float)json_number_value(json_object_get(line, "boost"))
            : 1.0f;
    json_t *terms = json_object_get(line, "df_ttf"), *pair, *score;
    const char *freq = terms ? "freq" : "tf", *name;
    float tf = (float)json_number_value(json_object_get(line, freq));
    float idf = grb_bm25_idf(count_of(line, "df"), n), inverse[256];
    double sum = 0;
    size_t i;
    int wrong = 0;
    json_array_foreach(terms, i, pair) {
        uint64_t df = (uint64_t)json_integer_value(json_array_get(pair, 0));
        sum += (double)grb_bm25_idf(df, n);
    }
    if (terms) idf = (float)sum;
    json_object_foreach(json_object_get(line, "scores"), name, score) {
        grb_bm25 p;
        double want = json_number_value(score), have;
        if (sscanf(name, "bm25 k1=%f b=%f", &p.k1, &p.b) != 2) continue;
        float inv = grb_bm25_inverse(&p, length, average);
        have = (double)grb_bm25_score(boost * idf, tf, inv);
        grb_bm25_table(&p, average, INT32_MAX, inverse);
        if (memcmp(&inverse[code], &inv, sizeof inv) != 0 ||
            !(fabs(have - want) <= 1e-6 * fabs(want))) {
            printf("%s %s: %.9g, not %.9g\n", oracle_text(line, "id", NULL),
                   name, have, want);
            wrong++;
        }
        ++*compared;
    }
    return wrong;
}

static void every_recorded_score_is_met_within_a_millionth(void **state) {
    oracle *all = oracle_open("oracle/lucene/similarity.jsonl.gz");
    int compared = 0, wrong = 0;
    if (!all) skip();
    for (json_t *line; (line = oracle_next(all)); json_decref(line))
        if (json_object_get(line, "scores"))
            wrong += line_check(line, &compared);
    oracle_close(all);
    printf("%d scores compared\n", compared);
    assert_true(compared > 3000);
    assert_int_equal(wrong, 0);
}

static void lengths_are_coded_in_one_byte_as_recorded(void **state) {
    oracle *all = oracle_open("oracle/lucene/similarity.jsonl.gz");
    bool found = false;
    if (!all) skip();
    for (json_t *line; (line = oracle_next(all)); json_decref(line)) {
        json_t *item;
        size_t i;
        if (strcmp(oracle_text(line, "kind", NULL), "byte4") != 0) continue;
        found = true;
        json_array_foreach(json_object_get(line, "decode"), i, item)
            assert_int_equal(grb_length_decode[i], json_integer_value(item));
        json_array_foreach(json_object_get(line, "encode"), i, item)
            assert_int_equal(
                grb_length_encode(
                    (uint32_t)json_integer_value(json_array_get(item, 0))),
                json_integer_value(json_array_get(item, 1)) & 255);
    }
    oracle_close(all);
    assert_true(found);
}

static void scores_never_fall_with_tf_nor_rise_with_length(void **state) {
    float inverse[256];
    grb_bm25_table(&grb_bm25_default, 57.3f, INT32_MAX, inverse);
    for (int code = 1; code < 256; code++) {
        float before = 0.0f;
        for (int tf = 1; tf < 2000; tf++) {
            float s = grb_bm25_score(3.7f, (float)tf, inverse[code]);
            assert_true(s >= before);
            if (code > 1)
                assert_true(
                    s <= grb_bm25_score(3.7f, (float)tf, inverse[code - 1]));
            before = s;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_recorded_score_is_met_within_a_millionth),
        cmocka_unit_test(lengths_are_coded_in_one_byte_as_recorded),
        cmocka_unit_test(scores_never_fall_with_tf_nor_rise_with_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
