/* rooms: base store doc analysis segment invert memseg snapshot merge query search commit collect result engine api */
/* Sequences of calls that break plainer designs, by the letters of the traps
 * that they come from; engine_model_test.c tries random ones.
 *
 * Here A4-A7 and A10, A11; B1-B12 in engine_traps_test.c; handles and threads
 * in engine_handles_test.c; limits, memory and descriptors in
 * engine_limits_test.c and engine_flat_test.c. Elsewhere: A1 snapshot_line,
 * engine_threads; A2, B10 memseg_threads; A3, B8, B9 memseg_append; A7 a-d, f
 * and A8, B16 commit_durable; A9 search_matcher; A12 commit_durable (every
 * byte flipped), segment_write; B15 store_folder, engine_threads. */
#include "engine_steps.h"

/* ---- A4: stamps against restore, branch, rollback ---- */

static void a4_what_was_restored_can_be_deleted_again(void **unused) {
    (void)unused;
    engine_case c;
    EACH_PLACE(c) {
        add_many(&c, "k", 5);
        grebe_snapshot *s = pin(&c);
        case_delete(&c, "k3");
        case_commit(&c, GREBE_HARD);
        grebe_searcher *between = searcher(&c);
        for (int i = 0; i < 3; i++) {
            restore(&c, s);
            assert_int_equal(case_count(&c), 5);
            assert_int_equal(case_delete(&c, "k3"), 1);
            assert_int_equal(case_delete(&c, "k3"), 0);
            case_commit(&c, GREBE_HARD);
            assert_int_equal(seen_by(&c, between, "fox"), 4);
            assert_int_equal(case_count(&c), 4);
        }
        grebe_searcher_release(between);
        grebe_snapshot_free(s);
        reopened_has(&c, 4);
    }
}

static void a4_branches_share_segments_and_no_deletes(void **unused) {
    (void)unused;
    engine_case c;
    EACH_PLACE(c) {
        grebe_index *twins[3], *own = c.index;
        add_many(&c, "k", 7);
        case_delete(&c, "k0");
        case_commit(&c, GREBE_HARD);
        case_ok(grebe_index_branch(own, &twins[0], &c.error), &c);
        c.index = twins[0];
        case_delete(&c, "k1");
        case_commit(&c, GREBE_SOFT);
        case_ok(grebe_index_branch(twins[0], &twins[1], &c.error), &c);
        c.index = own;
        case_delete(&c, "k2");
        case_delete(&c, "k3");
        case_commit(&c, GREBE_HARD);
        case_merge(&c);
        c.index = twins[1];
        case_ok(grebe_index_branch(twins[1], &twins[2], &c.error), &c);
        case_delete(&c, "k4");
        case_add(&c, "k4", "fox", "t", 4);
        case_merge(&c);
        case_commit(&c, GREBE_HARD);
        c.index = own;
        case_commit(&c, GREBE_HARD);
        assert_string_equal(case_search(&c, "fox"), "k1 k4 k5 k6");
        c.index = twins[0];
        assert_string_equal(case_search(&c, "fox"), "k2 k3 k4 k5 k6");
        grebe_index_free(twins[0]);
        c.index = twins[1];
        assert_string_equal(case_search(&c, "fox"), "k2 k3 k5 k6 k4");
        /* Branches outlive their parents' handles and files. */
        grebe_index_free(own);
        c.index = twins[2];
        assert_string_equal(case_search(&c, "fox"), "k2 k3 k4 k5 k6");
        assert_int_equal(got(&c, "k5"), 1);
        grebe_index_free(twins[1]);
        assert_string_equal(case_search(&c, "fox"), "k2 k3 k4 k5 k6");
    }
}

/* ---- A5: one way of going back ---- */

static void a5_a_freeze_inside_a_batch_is_undone(void **unused) {
    (void)unused;
    engine_case c;
    EACH_PLACE(c) {
        add_many(&c, "a", 2);
        case_commit(&c, GREBE_HARD);
        case_add(&c, "a2", "fox", "t", 2);
        batch_begin(&c);
        add_many(&c, "b", 20); /* freezes where three documents are enough */
        delete_year(&c, 0, 100);
        batch_undo(&c);
        assert_string_equal(case_search(&c, "fox"), "a0 a1");
        grebe_commit_info info = case_commit(&c, GREBE_HARD);
        if (where == CASE_FOLDER) assert_int_equal(info.syncs, 1);
        assert_int_equal(info.added, 1);
        assert_string_equal(case_search(&c, "fox"), "a0 a1 a2");
        case_delete(&c, "a1");
        case_commit(&c, GREBE_HARD);
        reopened_has(&c, 2);
        assert_string_equal(case_search(&c, "fox"), "a0 a2");
    }
}

static void a5_failed_batches_in_a_row_leave_few_segments(void **unused) {
    (void)unused;
    engine_case c;
    EACH_PLACE(c) {
        char key[16];
        grebe_index_stats stats;
        for (int i = 0; i < 200; i++) {
            batch_begin(&c);
            snprintf(key, sizeof key, "g%d", i);
            case_add(&c, key, "fox", "t", 1);
            case_ok(grebe_index_batch_end(c.index, GREBE_SOFT, NULL, &c.error),
                    &c);
            batch_begin(&c);
            case_add(&c, "bad", "fox", "t", 1);
            batch_undo(&c);
        }
        case_ok(grebe_index_stats_read(c.index, &stats, &c.error), &c);
        assert_true(stats.segments <= 60);
        assert_int_equal(case_count(&c), 200);
        case_commit(&c, GREBE_HARD);
        reopened_has(&c, 200);
    }
}

static void a5_rollback_after_everything(void **unused) {
    (void)unused;
    engine_case c;
    EACH_PLACE(c) {
        add_many(&c, "k", 4);
        grebe_snapshot *early = pin(&c);
        case_add(&c, "k4", "fox", "t", 4);
        case_commit(&c, GREBE_HARD_UNSEEN);
        assert_int_equal(case_count(&c), 4);
        case_ok(grebe_index_rollback(c.index, &c.error), &c);
        assert_int_equal(case_count(&c), 5); /* the public view, too */
        case_merge(&c);
        case_commit(&c, GREBE_SOFT);
        case_delete_all(&c);
        add_many(&c, "n", 9);
        restore(&c, early);
        assert_int_equal(case_count(&c), 4);
        case_ok(grebe_index_rollback(c.index, &c.error), &c);
        assert_string_equal(case_search(&c, "fox"), "k0 k1 k2 k3 k4");
        grebe_commit_info info = case_commit(&c, GREBE_HARD);
        assert_int_equal(info.changed, 0);
        case_add(&c, "k5", "fox", "t", 5);
        case_commit(&c, GREBE_HARD);
        grebe_snapshot_free(early);
        reopened_has(&c, 6);
    }
}

/* ---- A6, A7 e: what becomes durable, and replay ---- */

static void a6_deletes_in_segments_the_root_does_not_name(void **unused) {
    (void)unused;
    engine_case c;
    EACH_PLACE(c) {
        add_many(&c, "k", 8);
        case_commit(&c, GREBE_HARD);
        delete_year(&c, 2, 3);
        case_commit(&c, GREBE_SOFT);
        case_merge(&c); /* drops what only a soft commit has deleted */
        case_commit(&c, GREBE_SOFT);
        reopened_has(&c, 8);
        delete_year(&c, 2, 3);
        case_merge(&c);
        delete_year(&c, 5, 5); /* lies in the merged, unnamed file */
        add_many(&c, "n", 5);
        delete_year(&c, 1, 1); /* in that, and in memory */
        case_commit(&c, GREBE_HARD);
        assert_string_equal(case_search(&c, "fox"), "k0 k4 k6 k7 n0 n2 n3 n4");
        reopened_has(&c, 8);
        assert_string_equal(case_search(&c, "fox"), "k0 k4 k6 k7 n0 n2 n3 n4");
    }
}

static void a6_closing_without_a_commit_after_a_freeze(void **unused) {
    (void)unused;
    engine_case c;
    EACH_PLACE(c) {
        if (!in_folder(&c)) continue;
        add_many(&c, "k", 2);
        case_commit(&c, GREBE_HARD);
        add_many(&c, "n", 20);
        case_merge(&c);
        add_many(&c, "m", 20);
        case_commit(&c, GREBE_SOFT);
        reopened_has(&c, 2);
        add_many(&c, "k", 3);
        case_commit(&c, GREBE_HARD);
        reopened_has(&c, 3);
    }
}

/* More records than a commit may log: the batch's go, those before stay. */
static void a6_a_batch_larger_than_the_log(void **unused) {
    (void)unused;
    engine_case c;
    enum { LARGE = 1 << 20 };
    char *text = malloc(LARGE + 1);
    assert_non_null(text);
    for (int i = 0; i < LARGE; i++) text[i] = i % 8 == 7 ? ' ' : 'w';
    text[LARGE] = 0;
    EACH_PLACE(c) {
        add_many(&c, "a", 1);
        case_commit(&c, GREBE_HARD);
        add_many(&c, "b", 1);
        for (int ended = 0; ended < 2; ended++) {
            char key[] = {'l', (char)('0' + ended), '?', 0};
            batch_begin(&c);
            for (key[2] = '0'; key[2] < '6'; key[2]++)
                case_add(&c, key, text, "t", 100);
            if (!ended) {
                batch_undo(&c);
                case_add(&c, "b1", "fox", "t", 1);
                grebe_commit_info info = case_commit(&c, GREBE_HARD);
                if (where == CASE_FOLDER) assert_int_equal(info.syncs, 1);
                reopened_has(&c, 3);
            } else {
                case_ok(
                    grebe_index_batch_end(c.index, GREBE_HARD, NULL, &c.error),
                    &c);
            }
        }
        assert_int_equal(case_count(&c), 9);
        delete_year(&c, 100, 100);
        add_many(&c, "c", 1);
        case_commit(&c, GREBE_HARD);
        reopened_has(&c, 4);
        assert_string_equal(case_search(&c, "fox"), "a0 b0 b1 c0");
    }
    free(text);
}

static void a7_replay_after_undone_dropped_and_wiped_segments(void **unused) {
    (void)unused;
    engine_case c;
    EACH_PLACE(c) {
        add_many(&c, "a", 2);
        case_commit(&c, GREBE_HARD);
        batch_begin(&c);
        add_many(&c, "x", 5);
        batch_undo(&c);
        add_many(&c, "b", 2); /* a segment of its own behind the sealed one */
        case_delete(&c, "b0");
        case_delete(&c, "b1"); /* wholly dead: it leaves the list */
        add_many(&c, "c", 2);
        case_commit(&c, GREBE_HARD);
        delete_year(&c, 0, 0);
        case_commit(&c, GREBE_HARD);
        assert_string_equal(case_search(&c, "fox"), "a1 c1");
        reopened_has(&c, 2);
        assert_string_equal(case_search(&c, "fox"), "a1 c1");
        case_delete_all(&c);
        add_many(&c, "d", 2);
        case_delete_all(&c);
        case_delete_all(&c);
        add_many(&c, "e", 3);
        case_commit(&c, GREBE_HARD);
        delete_year(&c, 1, 1);
        case_commit(&c, GREBE_HARD);
        reopened_has(&c, 2);
        assert_string_equal(case_search(&c, "fox"), "e0 e2");
    }
}

/* ---- A10: ties and cursors ---- */

static void page(engine_case *c, const char *after, char *keys, char *cursor) {
    grebe_hits *hits;
    grebe_search_request r = {.limit = 2, .after = after, .sort = "score"};
    grebe_query *q;
    case_ok(grebe_query_match("title", "fox", 3, GREBE_AND, &q, NULL), c);
    r.query = q;
    case_ok(grebe_index_search(c->index, &r, &hits, &c->error), c);
    keys[0] = 0;
    for (uint64_t i = 0; i < grebe_hits_count(hits); i++) {
        grebe_value key;
        case_ok(grebe_hits_key(hits, i, &key, &c->error), c);
        strncat(keys, key.as.text.bytes, key.as.text.size);
    }
    const char *next = grebe_hits_cursor(hits);
    snprintf(cursor, 256, "%s", next ? next : "");
    grebe_hits_release(hits);
    grebe_query_release(q);
}

static void a10_a_cursor_is_good_after_replay_and_merge(void **unused) {
    (void)unused;
    engine_case c;
    EACH_PLACE(c) {
        char keys[64], cursor[256];
        add_many(&c, "a", 1);
        case_commit(&c, GREBE_HARD);
        grebe_snapshot *s = pin(&c);
        batch_begin(&c);
        add_many(&c, "x", 5);
        batch_undo(&c);
        add_many(&c, "y", 5);
        case_ok(grebe_index_rollback(c.index, &c.error), &c);
        add_many(&c, "z", 2);
        restore(&c, s);
        add_many(&c, "b", 4);
        case_commit(&c, GREBE_HARD);
        page(&c, NULL, keys, cursor);
        assert_string_equal(keys, "a0b0");
        if (in_folder(&c)) {
            grebe_snapshot_free(s);
            s = NULL;
            case_reopen(&c);
        }
        case_merge(&c);
        case_commit(&c, GREBE_SOFT);
        page(&c, cursor, keys, cursor);
        assert_string_equal(keys, "b1b2");
        page(&c, cursor, keys, cursor);
        assert_string_equal(keys, "b3");
        grebe_snapshot_free(s);
    }
}

/* What was undone has left no numbers behind that replay would not give. */
static void a10_a_cursor_is_good_after_undone_work_and_replay(void **unused) {
    (void)unused;
    engine_case c;
    EACH_PLACE(c) {
        char keys[64], cursor[256];
        add_many(&c, "a", 1);
        case_commit(&c, GREBE_HARD);
        batch_begin(&c);
        add_many(&c, "x", 5);
        batch_undo(&c);
        add_many(&c, "y", 5);
        case_ok(grebe_index_rollback(c.index, &c.error), &c);
        add_many(&c, "b", 4);
        case_commit(&c, GREBE_HARD);
        page(&c, NULL, keys, cursor);
        assert_string_equal(keys, "a0b0");
        if (in_folder(&c)) case_reopen(&c);
        page(&c, cursor, keys, cursor);
        assert_string_equal(keys, "b1b2");
    }
}

/* Later snapshots have later documents: going back to one goes on behind. */
static void a10_order_holds_between_snapshots(void **unused) {
    (void)unused;
    engine_case c;
    EACH_PLACE(c) {
        add_many(&c, "a", 1);
        case_commit(&c, GREBE_HARD);
        add_many(&c, "b", 3);
        grebe_snapshot *later = pin(&c);
        case_ok(grebe_index_rollback(c.index, &c.error), &c);
        add_many(&c, "c", 1);
        restore(&c, later);
        add_many(&c, "d", 2);
        case_commit(&c, GREBE_HARD);
        assert_string_equal(case_search(&c, "fox"), "a0 b0 b1 b2 d0 d1");
        case_merge(&c);
        case_commit(&c, GREBE_HARD);
        assert_string_equal(case_search(&c, "fox"), "a0 b0 b1 b2 d0 d1");
        grebe_snapshot_free(later);
        reopened_has(&c, 6);
        assert_string_equal(case_search(&c, "fox"), "a0 b0 b1 b2 d0 d1");
    }
}

/* ---- A11: statistics ---- */

static void a11_only_dropping_the_dead_changes_a_score(void **unused) {
    (void)unused;
    engine_case c;
    EACH_PLACE(c) {
        if (where == CASE_FROZEN) continue; /* merges as it goes */
        add_many(&c, "k", 6);
        case_add(&c, "k1", "fox cub", "t", 1);
        case_add(&c, "o", "bear", "t", 1);
        case_commit(&c, GREBE_SOFT);
        float before = case_score(&c, "fox");
        grebe_snapshot *s = pin(&c);
        case_commit(&c, GREBE_HARD);
        assert_true(case_score(&c, "fox") == before);
        if (in_folder(&c)) {
            grebe_snapshot_free(s);
            case_reopen(&c);
            s = pin(&c);
        }
        assert_true(case_score(&c, "fox") == before);
        case_delete(&c, "k2");
        case_commit(&c, GREBE_SOFT);
        assert_true(case_score(&c, "fox") == before);
        restore(&c, s);
        case_commit(&c, GREBE_HARD); /* a freeze, where there are files */
        assert_true(case_score(&c, "fox") == before);
        case_merge(&c);
        case_commit(&c, GREBE_SOFT);
        float merged = case_score(&c, "fox");
        assert_true(merged != before);
        grebe_snapshot_free(s);
        case_delete_all(&c);
        case_add(&c, "k0", "fox", "t", 0);
        for (int i = 2; i < 6; i++) {
            char key[8];
            snprintf(key, sizeof key, "k%d", i);
            case_add(&c, key, "fox", "t", i);
        }
        case_add(&c, "k1", "fox cub", "t", 1);
        case_add(&c, "o", "bear", "t", 1);
        case_commit(&c, GREBE_SOFT);
        assert_true(case_score(&c, "fox") == merged);
    }
}

static void a11_wholly_dead_segments_go_though_pinned(void **unused) {
    (void)unused;
    engine_case c;
    EACH_PLACE(c) {
        grebe_index_stats stats;
        add_many(&c, "k", 5);
        case_merge(&c);
        case_commit(&c, GREBE_HARD);
        grebe_snapshot *s = pin(&c);
        grebe_searcher *held = searcher(&c);
        add_many(&c, "n", 2);
        delete_year(&c, 0, 100);
        case_commit(&c, GREBE_HARD);
        case_ok(grebe_index_stats_read(c.index, &stats, &c.error), &c);
        assert_int_equal(stats.segments, 0);
        assert_int_equal(seen_by(&c, held, "fox"), 5);
        add_many(&c, "m", 1);
        case_merge(&c);
        case_commit(&c, GREBE_HARD); /* removes files, but for pinned ones */
        restore(&c, s);
        assert_int_equal(case_count(&c), 5);
        case_commit(&c, GREBE_HARD);
        grebe_snapshot_free(s);
        assert_int_equal(seen_by(&c, held, "fox"), 5);
        grebe_searcher_release(held);
        reopened_has(&c, 5);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a4_what_was_restored_can_be_deleted_again),
        cmocka_unit_test(a4_branches_share_segments_and_no_deletes),
        cmocka_unit_test(a5_a_freeze_inside_a_batch_is_undone),
        cmocka_unit_test(a5_failed_batches_in_a_row_leave_few_segments),
        cmocka_unit_test(a5_rollback_after_everything),
        cmocka_unit_test(a6_deletes_in_segments_the_root_does_not_name),
        cmocka_unit_test(a6_closing_without_a_commit_after_a_freeze),
        cmocka_unit_test(a6_a_batch_larger_than_the_log),
        cmocka_unit_test(a7_replay_after_undone_dropped_and_wiped_segments),
        cmocka_unit_test(a10_a_cursor_is_good_after_replay_and_merge),
        cmocka_unit_test(a10_a_cursor_is_good_after_undone_work_and_replay),
        cmocka_unit_test(a10_order_holds_between_snapshots),
        cmocka_unit_test(a11_only_dropping_the_dead_changes_a_score),
        cmocka_unit_test(a11_wholly_dead_segments_go_though_pinned),
    };
    return STEPS_RUN(tests);
}
