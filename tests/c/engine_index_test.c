/* rooms: base store doc analysis segment invert memseg snapshot merge query search commit collect result engine api */
/* The main job through the public functions, in memory and in files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine_case.h"

/* ---- visible, durable, undone ---- */

static void soft_commit_hides_nothing_added_before_it(void **unused) {
    (void)unused;
    for (int where = 0; where < CASE_PLACES; where++) {
        engine_case c;
        case_open(&c, where);
        case_add(&c, "1", "old man", "sea", 1952);
        assert_int_equal(case_count(&c), 0);
        grebe_commit_info info = case_commit(&c, GREBE_SOFT);
        assert_true(info.changed && info.added == 1 && info.syncs == 0);
        assert_int_equal(case_count(&c), 1);
        assert_string_equal(case_search(&c, "man"), "1");
        case_add(&c, "1", "young man", "sea", 1953);
        assert_string_equal(case_search(&c, "old"), "1");
        case_commit(&c, GREBE_SOFT);
        assert_string_equal(case_search(&c, "old"), "");
        assert_string_equal(case_search(&c, "young"), "1");
        assert_false(case_commit(&c, GREBE_SOFT).changed);
        case_close(&c);
    }
}

static void wipe_then_soft_commit_shows_only_what_came_after(void **unused) {
    (void)unused;
    for (int where = 0; where < CASE_PLACES; where++) {
        engine_case c;
        case_open(&c, where);
        for (int round = 0; round < 300; round++) {
            char key[16];
            snprintf(key, sizeof key, "k%d", round);
            assert_int_equal(case_delete_all(&c), round ? 1 : 0);
            case_add(&c, key, "word", "t", round);
            case_commit(&c, round % 7 ? GREBE_SOFT : GREBE_HARD);
            assert_string_equal(case_search(&c, "word"), key);
            assert_int_equal(case_count(&c), 1);
        }
        case_close(&c);
    }
}

static void rollback_returns_to_the_last_hard_commit(void **unused) {
    (void)unused;
    for (int where = 0; where < CASE_PLACES; where++) {
        engine_case c;
        case_open(&c, where);
        for (int round = 0; round < 20; round++) {
            char key[16];
            snprintf(key, sizeof key, "k%02d", round);
            case_add(&c, key, "kept", "t", round);
            case_commit(&c, GREBE_HARD);
            case_add(&c, "lost", "lost", "t", round);
            case_delete(&c, key);
            if (round % 2) case_commit(&c, GREBE_SOFT);
            if (round % 5 == 4) case_merge(&c);
            case_ok(grebe_index_rollback(c.index, &c.error), &c);
            assert_int_equal(case_count(&c), round + 1);
            assert_string_equal(case_search(&c, "lost"), "");
        }
        case_close(&c);
    }
}

static void a_failed_batch_leaves_no_trace(void **unused) {
    (void)unused;
    for (int where = 0; where < CASE_PLACES; where++) {
        engine_case c;
        case_open(&c, where);
        case_add(&c, "a", "first", "t", 1);
        for (int round = 0; round < 50; round++) {
            case_ok(grebe_index_batch_begin(c.index, &c.error), &c);
            case_add(&c, "b", "second", "t", 2);
            case_delete(&c, "a");
            assert_int_equal(grebe_index_batch_begin(c.index, NULL),
                             GREBE_STATE);
            assert_int_equal(
                grebe_index_commit(c.index, GREBE_SOFT, NULL, NULL),
                GREBE_STATE);
            case_ok(grebe_index_batch_undo(c.index, &c.error), &c);
        }
        case_commit(&c, GREBE_SOFT);
        assert_string_equal(case_search(&c, "first"), "a");
        assert_string_equal(case_search(&c, "second"), "");
        case_ok(grebe_index_batch_begin(c.index, &c.error), &c);
        case_add(&c, "b", "second", "t", 2);
        case_ok(grebe_index_batch_end(c.index, GREBE_SOFT, NULL, &c.error),
                &c);
        assert_string_equal(case_search(&c, "second"), "b");
        case_close(&c);
    }
}

static void restore_brings_back_hits_and_scores_to_the_bit(void **unused) {
    (void)unused;
    for (int where = 0; where < CASE_PLACES; where++) {
        engine_case c;
        case_open(&c, where);
        for (int i = 0; i < 100; i++) {
            char key[16];
            snprintf(key, sizeof key, "k%d", i);
            case_add(&c, key, i % 3 ? "apple pie" : "apple tart", "t", i);
        }
        case_delete(&c, "k7");
        grebe_snapshot *pin;
        case_ok(grebe_index_snapshot(c.index, &pin, &c.error), &c);
        float before = case_score(&c, "pie");
        for (int round = 0; round < 500; round++) {
            case_add(&c, "k1", "pie pie pie", "t", round);
            case_add(&c, "new", "pie", "t", round);
            case_delete(&c, "k2");
            if (round % 3 == 0) case_delete_all(&c);
            case_commit(&c, round % 50 == 49 ? GREBE_HARD : GREBE_SOFT);
            case_ok(grebe_index_restore(c.index, pin, &c.error), &c);
            assert_int_equal(case_count(&c), 99);
            float now = case_score(&c, "pie");
            assert_memory_equal(&now, &before, sizeof now);
        }
        grebe_index *twin;
        case_ok(grebe_index_branch(c.index, &twin, &c.error), &c);
        case_delete_all(&c);
        case_commit(&c, GREBE_SOFT);
        uint64_t count;
        case_ok(grebe_index_count(twin, &count, &c.error), &c);
        assert_int_equal(count, 99);
        grebe_index_free(twin);
        grebe_snapshot_free(pin);
        case_close(&c);
    }
}

static void a_hard_commit_costs_one_sync(void **unused) {
    (void)unused;
    engine_case c;
    case_open(&c, CASE_FOLDER);
    case_add(&c, "0", "x", "t", 0);
    case_commit(&c, GREBE_HARD);
    for (int i = 1; i < 100; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d", i);
        case_add(&c, key, "some words here", "t", i);
        assert_int_equal(case_commit(&c, GREBE_HARD).syncs, 1);
    }
    case_close(&c);
}

static void what_was_hard_committed_is_there_again(void **unused) {
    (void)unused;
    for (int merged = 0; merged < 3; merged++) {
        engine_case c;
        case_open(&c, CASE_FOLDER);
        for (int i = 0; i < 60; i++) {
            char key[16];
            snprintf(key, sizeof key, "%d", i);
            case_add(&c, key, "kept words", "t", i);
            if (i % 10 == 9) case_commit(&c, GREBE_HARD);
            if (merged && i == 39) case_merge(&c);
        }
        case_delete(&c, "5");
        case_commit(&c, GREBE_HARD);
        if (merged == 2) {
            case_merge(&c);
            case_commit(&c, GREBE_HARD);
        }
        case_add(&c, "lost", "lost", "t", 1);
        case_commit(&c, GREBE_SOFT);
        case_reopen(&c);
        assert_int_equal(case_count(&c), 59);
        assert_string_equal(case_search(&c, "lost"), "");
        case_add(&c, "6", "other", "t", 1);
        case_commit(&c, GREBE_HARD);
        case_reopen(&c);
        assert_int_equal(case_count(&c), 59);
        assert_string_equal(case_search(&c, "other"), "6");
        case_close(&c);
    }
}

static void a_second_writer_is_refused_and_a_reader_follows(void **unused) {
    (void)unused;
    engine_case c;
    grebe_index *other;
    uint64_t count;
    grebe_open_options reading = {.mode = GREBE_READ};
    case_open(&c, CASE_FOLDER);
    assert_int_equal(grebe_index_open(c.path, NULL, NULL, &other, &c.error),
                     GREBE_LOCKED);
    assert_int_equal(c.error.pid, getpid());
    case_add(&c, "1", "one", "t", 1);
    case_commit(&c, GREBE_HARD);
    case_ok(grebe_index_open(c.path, NULL, &reading, &other, &c.error), &c);
    case_ok(grebe_index_count(other, &count, &c.error), &c);
    assert_int_equal(count, 1);
    for (int i = 2; i < 40; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d", i);
        case_add(&c, key, "more", "t", i);
        if (i % 9 == 0) case_merge(&c);
        case_commit(&c, GREBE_HARD);
        case_ok(grebe_index_count(other, &count, &c.error), &c);
        assert_int_equal(count, i);
    }
    assert_int_equal(grebe_index_commit(other, GREBE_SOFT, NULL, NULL),
                     GREBE_READ_ONLY);
    grebe_index_free(other);
    case_close(&c);
}

static void a_closed_index_says_so_and_its_hits_live_on(void **unused) {
    (void)unused;
    for (int where = 0; where < CASE_PLACES; where++) {
        engine_case c;
        grebe_hits *hits;
        grebe_searcher *searcher;
        grebe_value key;
        case_open(&c, where);
        case_add(&c, "1", "word", "t", 1);
        if (where == CASE_FROZEN) case_merge(&c);
        case_commit(&c, GREBE_HARD);
        case_ok(grebe_index_searcher(c.index, 0, &searcher, &c.error), &c);
        grebe_search_request all = {.limit = 10};
        case_ok(grebe_searcher_search(searcher, &all, &hits, &c.error), &c);
        case_ok(grebe_index_close(c.index, 0, &c.error), &c);
        case_ok(grebe_index_close(c.index, 0, &c.error), &c);
        assert_int_equal(grebe_index_commit(c.index, GREBE_SOFT, NULL, NULL),
                         GREBE_CLOSED);
        assert_int_equal(grebe_searcher_count(searcher), 1);
        grebe_searcher_release(searcher);
        grebe_document *d;
        case_ok(grebe_document_new(c.schema, &d, &c.error), &c);
        case_ok(grebe_hits_document(hits, 0, d, &c.error), &c);
        assert_int_equal(grebe_document_count(d), 4);
        case_ok(grebe_hits_key(hits, 0, &key, &c.error), &c);
        assert_int_equal(key.as.text.size, 1);
        grebe_document_free(d);
        grebe_hits_release(hits);
        case_close(&c);
    }
}

static void an_empty_key_is_a_key(void **unused) {
    (void)unused;
    for (int where = 0; where < CASE_PLACES; where++) {
        engine_case c;
        case_open(&c, where);
        case_add(&c, "", "first", "t", 1);
        if (where == CASE_FROZEN) case_merge(&c);
        case_add(&c, "", "second", "t", 2);
        case_add(&c, "x", "third", "t", 3);
        case_merge(&c);
        case_commit(&c, GREBE_HARD);
        assert_int_equal(case_count(&c), 2);
        assert_string_equal(case_search(&c, "first"), "");
        assert_int_equal(case_delete(&c, ""), 1);
        case_commit(&c, GREBE_SOFT);
        assert_int_equal(case_count(&c), 1);
        case_close(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(soft_commit_hides_nothing_added_before_it),
        cmocka_unit_test(wipe_then_soft_commit_shows_only_what_came_after),
        cmocka_unit_test(rollback_returns_to_the_last_hard_commit),
        cmocka_unit_test(a_failed_batch_leaves_no_trace),
        cmocka_unit_test(restore_brings_back_hits_and_scores_to_the_bit),
        cmocka_unit_test(a_hard_commit_costs_one_sync),
        cmocka_unit_test(what_was_hard_committed_is_there_again),
        cmocka_unit_test(a_second_writer_is_refused_and_a_reader_follows),
        cmocka_unit_test(an_empty_key_is_a_key),
        cmocka_unit_test(a_closed_index_says_so_and_its_hits_live_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
