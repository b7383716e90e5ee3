/* rooms: base merge */
/* tests/c/merge_policy_test.c - which neighbours are joined, and what a long
 * load costs: each byte is written once a tier, few segments stand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "merge/policy.h"

#define MIB ((uint64_t)1 << 20)

typedef struct shelf {
    grb_merge_candidate segments[256];
    uint32_t count, most;
    uint64_t written;
} shelf;

static void segments_join(shelf *s, uint32_t first, uint32_t joined) {
    grb_merge_candidate sum = {0, 0, 0};
    for (uint32_t i = first; i < first + joined; i++) {
        const grb_merge_candidate *c = &s->segments[i];
        sum.bytes += c->bytes / c->max_doc * (c->max_doc - c->dead);
        sum.max_doc += c->max_doc - c->dead;
    }
    s->written += sum.bytes;
    s->segments[first] = sum;
    for (uint32_t i = first + joined; i < s->count; i++)
        s->segments[i + 1 - joined] = s->segments[i];
    s->count -= joined - 1;
}

static void segment_add(shelf *s, uint64_t bytes) {
    uint32_t first, joined;
    s->segments[s->count++] =
        (grb_merge_candidate){bytes, (uint32_t)(bytes / 1024), 0};
    s->written += bytes;
    while (grb_merge_choose(s->segments, s->count, &first, &joined)) {
        assert_true(first + joined <= s->count);
        assert_true(joined > 0);
        segments_join(s, first, joined);
    }
    s->most = GRB_MAX(s->most, s->count);
}

static void each_byte_is_written_once_a_tier(void **state) {
    static const uint64_t sizes[] = {MIB / 8, MIB, 4 * MIB, 15 * MIB};
    for (size_t i = 0; i < GRB_COUNT(sizes); i++) {
        shelf s = {.count = 0};
        uint64_t total = 0, tiers = 2;
        for (uint32_t n = 0; n < 1000; n++) {
            segment_add(&s, sizes[i]);
            total += sizes[i];
        }
        for (uint64_t size = total; size >= GRB_MERGE_FLOOR; size /= 8)
            tiers++;
        /* Below the floor there is one tier for all. */
        if (sizes[i] >= GRB_MERGE_FLOOR)
            assert_true(s.written <= total * tiers);
        assert_true(s.most <= GRB_MERGE_SCATTERED);
    }
}

static void eight_of_a_tier_are_joined_and_seven_are_not(void **state) {
    grb_merge_candidate c[9] = {{64 * MIB, 64000, 0}};
    uint32_t first = 9, joined = 9;
    for (uint32_t i = 1; i < 9; i++)
        c[i] = (grb_merge_candidate){4 * MIB, 4000, 0};
    assert_false(grb_merge_choose(c, 8, &first, &joined));
    assert_true(grb_merge_choose(c, 9, &first, &joined));
    assert_int_equal(first, 1);
    assert_int_equal(joined, 8);
}

/* Eight that fit into one segment are joined; with one document more none of
 * the rows has eight, and a freeze does not try in vain each time. */
static void what_does_not_fit_into_a_segment_is_not_chosen(void **state) {
    grb_merge_candidate c[40];
    uint32_t first, joined, each = GRB_SEGMENT_DOCS_MAX / 8;
    uint32_t rest = GRB_SEGMENT_DOCS_MAX - 7 * each;
    for (uint32_t i = 0; i < 40; i++)
        c[i] = (grb_merge_candidate){(uint64_t)each * 64, each, 0};
    c[7].max_doc = rest;
    assert_true(grb_merge_choose(c, 8, &first, &joined));
    assert_int_equal(first, 0);
    assert_int_equal(joined, 8);
    c[7].max_doc = rest + 1;
    assert_false(grb_merge_choose(c, 8, &first, &joined));
    /* So many that rows of several tiers count: they do not fit either. */
    for (uint32_t i = 0; i < 40; i++) c[i].max_doc = rest + 1;
    assert_false(grb_merge_choose(c, 40, &first, &joined));
}

static void smaller_neighbours_go_along(void **state) {
    grb_merge_candidate c[12];
    uint32_t first, joined;
    for (uint32_t i = 0; i < 12; i++)
        c[i] = (grb_merge_candidate){(i % 3 == 1 ? 1 : 4) * MIB, 4000, 0};
    assert_true(grb_merge_choose(c, 12, &first, &joined));
    assert_int_equal(first, 0);
    assert_int_equal(joined, 12);
}

/* One small segment behind each large one: none of a row, but too many. */
static void scattered_segments_are_joined_at_last(void **state) {
    grb_merge_candidate c[60];
    uint32_t first, joined, count = 0;
    for (uint32_t i = 0; i < 7; i++) {
        c[count++] = (grb_merge_candidate){(64 << 3) * MIB, 64000, 0};
        for (uint32_t k = 0; k < 7; k++)
            c[count++] = (grb_merge_candidate){4 * MIB, 4000, 0};
    }
    assert_false(grb_merge_choose(c, 32, &first, &joined));
    assert_true(grb_merge_choose(c, count, &first, &joined));
    assert_true(joined >= GRB_MERGE_FACTOR);
}

static void half_dead_segments_are_rewritten_alone(void **state) {
    grb_merge_candidate c[2] = {{64 * MIB, 64000, 100},
                                {64 * MIB, 9000, 4600}};
    uint32_t first, joined;
    assert_true(grb_merge_choose(c, 2, &first, &joined));
    assert_int_equal(first, 1);
    assert_int_equal(joined, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_byte_is_written_once_a_tier),
        cmocka_unit_test(eight_of_a_tier_are_joined_and_seven_are_not),
        cmocka_unit_test(what_does_not_fit_into_a_segment_is_not_chosen),
        cmocka_unit_test(smaller_neighbours_go_along),
        cmocka_unit_test(scattered_segments_are_joined_at_last),
        cmocka_unit_test(half_dead_segments_are_rewritten_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
