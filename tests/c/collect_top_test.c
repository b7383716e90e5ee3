/* rooms: base doc analysis snapshot segment collect api search */
/* The best by score, against brute force. */
#include "collect_fixture.h"

static const fixture *want_fixture;

static int score_order(const void *x, const void *y) {
    uint32_t i = *(const uint32_t *)x, j = *(const uint32_t *)y;
    float a = want_fixture->docs[i].score, b = want_fixture->docs[j].score;
    if (a != b) return a > b ? -1 : 1;
    return i < j ? -1 : 1;
}

static uint32_t *best_wanted(const fixture *f, uint32_t *count) {
    uint32_t *all = calloc(f->doc_count + 1, sizeof *all);
    *count = 0;
    for (uint32_t i = 0; i < f->doc_count; i++)
        if (f->docs[i].matches) all[(*count)++] = i;
    want_fixture = f;
    qsort(all, *count, sizeof *all, score_order);
    return all;
}

static void pages_check(fixture *f, const uint32_t *want, uint32_t count,
                        uint64_t step) {
    grb_sort_plan plan;
    grb_after after;
    bool more = true;
    uint32_t at = 0, per_leaf = f->doc_count / f->leaf_count + 1;
    grb_sort_parse(f->schema, NULL, &plan, NULL);
    while (more) {
        grb_collector c;
        grb_arena_reset(&f->arena);
        grb_collect_request r = {.plan = &plan, .keep = step};
        if (at > 0) r.after = &after;
        assert_int_equal(grb_collector_init(&c, &f->context,
                                            &grb_allocator_malloc, &r, NULL),
                         GREBE_OK);
        assert_int_equal(fixture_run(f, &c, true, NULL), GREBE_OK);
        assert_int_equal(grb_collector_finish(&c, NULL), GREBE_OK);
        assert_int_equal(c.total, count);
        size_t got = grb_collector_count(&c);
        assert_int_equal(got, GRB_MIN(step, count - at));
        assert_true(c.top.capacity <= GRB_MAX(256, 2 * (size_t)count));
        for (size_t i = 0; i < got; i++) {
            grb_place p;
            grb_collector_place(&c, i, &p);
            assert_int_equal(p.leaf * per_leaf + p.doc, want[at + i]);
            assert_true(p.score == f->docs[want[at + i]].score);
        }
        at += (uint32_t)got;
        more = grb_collector_more(&c);
        assert_int_equal(more, at < count);
        if (more) {
            grb_collector_cells(&c, got - 1, after.cells);
            after.sequence = f->docs[want[at - 1]].sequence;
        }
        grb_collector_deinit(&c);
    }
    assert_int_equal(at, count);
}

static void pages_by_score_equal_brute_force_in_any_layout(void **state) {
    static const uint64_t steps[] = {1, 7, 256, 300, GREBE_WINDOW_MAX};
    for (uint64_t seed = 1; seed <= 30; seed++) {
        fixture f;
        uint32_t count;
        fixture_open(&f, seed, seed % 6 == 0 ? 9000 : 5 + seed * 11,
                     1 + seed % LEAVES_MAX);
        uint32_t *want = best_wanted(&f, &count);
        for (size_t i = 0; i < GRB_COUNT(steps); i++)
            if (count / steps[i] < 200) pages_check(&f, want, count, steps[i]);
        free(want);
        fixture_close(&f);
    }
}

static void constant_scores_keep_insertion_order_and_stop(void **state) {
    fixture f;
    grb_sort_plan plan;
    grb_collector c;
    fixture_open(&f, 5, 9000, 3);
    grb_sort_parse(f.schema, NULL, &plan, NULL);
    grb_collect_request r = {
        .plan = &plan, .keep = 12, .total_max = 50, .constant = true};
    grb_collector_init(&c, &f.context, &grb_allocator_malloc, &r, NULL);
    assert_int_equal(fixture_run(&f, &c, false, NULL), GREBE_OK);
    assert_true(c.visitor.stop);
    assert_true(c.total > 50);
    grb_collector_finish(&c, NULL);
    for (uint32_t i = 0, doc = 0; i < 12; i++, doc++) {
        grb_place p;
        while (!f.docs[doc].matches) doc++;
        grb_collector_place(&c, i, &p);
        assert_int_equal(p.doc, doc);
        assert_true(p.score == 1.0f);
    }
    grb_collector_deinit(&c);
    fixture_close(&f);
}

static void scored_searches_look_at_everything(void **state) {
    fixture f;
    grb_sort_plan plan;
    grb_collector c;
    fixture_open(&f, 6, 9000, 3);
    grb_sort_parse(f.schema, NULL, &plan, NULL);
    grb_collect_request r = {.plan = &plan, .keep = 12, .total_max = 50};
    grb_collector_init(&c, &f.context, &grb_allocator_malloc, &r, NULL);
    assert_int_equal(fixture_run(&f, &c, true, NULL), GREBE_OK);
    assert_false(c.visitor.stop);
    assert_int_equal(c.total, fixture_matches(&f));
    grb_collector_deinit(&c);
    fixture_close(&f);
}

static void no_places_wanted_counts_only(void **state) {
    fixture f;
    grb_sort_plan plan;
    grb_collector c;
    fixture_open(&f, 7, 500, 2);
    grb_sort_parse(f.schema, "year", &plan, NULL);
    grb_collect_request r = {.plan = &plan, .keep = 0};
    grb_collector_init(&c, &f.context, &grb_allocator_malloc, &r, NULL);
    assert_int_equal(fixture_run(&f, &c, false, NULL), GREBE_OK);
    assert_int_equal(grb_collector_finish(&c, NULL), GREBE_OK);
    assert_int_equal(c.total, fixture_matches(&f));
    assert_int_equal(grb_collector_count(&c), 0);
    grb_collector_deinit(&c);
    fixture_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_by_score_equal_brute_force_in_any_layout),
        cmocka_unit_test(constant_scores_keep_insertion_order_and_stop),
        cmocka_unit_test(scored_searches_look_at_everything),
        cmocka_unit_test(no_places_wanted_counts_only)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
