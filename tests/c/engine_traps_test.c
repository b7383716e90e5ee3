/* rooms: base store doc analysis segment invert memseg snapshot merge query search commit collect result engine api */
/* Sequences around keys (B1), epochs (B3), uncommitted work (B4), snapshots
 * and files (B5), fields (B6), failed documents (B7), readers (B11) and failed
 * freezes (B12). What else there is of traps: engine_sequences_test.c. */
#include <signal.h>
#include <sys/resource.h>

#include "engine/engine.h"
#include "engine_steps.h"

/* ---- B1: keys ---- */

static void b1_duplicates_then_upsert_then_delete(void **unused) {
    (void)unused;
    engine_case c;
    EACH_PLACE(c) {
        case_add(&c, "k", "fox", "t", 1);
        grebe_snapshot *unique = pin(&c);
        for (int i = 0; i < 4; i++) duplicate_add(&c, "k", "fox");
        duplicate_add(&c, "o", "fox");
        case_commit(&c, GREBE_HARD);
        assert_int_equal(case_count(&c), 6);
        reopened_has(&c, 6);
        if (in_folder(&c)) { /* the snapshot is of the index closed */
            grebe_snapshot_free(unique);
            unique = NULL;
        }
        grebe_searcher *six = searcher(&c);
        case_add(&c, "k", "fox", "t", 2); /* replaces all five */
        case_commit(&c, GREBE_SOFT);
        assert_string_equal(case_search(&c, "fox"), "o k");
        duplicate_add(&c, "k", "fox");
        duplicate_add(&c, "k", "fox");
        assert_int_equal(case_delete(&c, "k"), 3);
        assert_int_equal(got(&c, "k"), 0);
        case_commit(&c, GREBE_HARD);
        assert_string_equal(case_search(&c, "fox"), "o");
        assert_int_equal(seen_by(&c, six, "fox"), 6);
        grebe_searcher_release(six);
        if (unique) {
            restore(&c, unique);
            duplicate_add(&c, "k", "fox");
            assert_int_equal(case_delete(&c, "k"), 2);
            case_commit(&c, GREBE_SOFT);
            assert_int_equal(case_count(&c), 0);
            grebe_snapshot_free(unique);
        } else {
            reopened_has(&c, 1);
        }
    }
}

static void b1_an_old_searcher_finds_its_version_of_a_key(void **unused) {
    (void)unused;
    engine_case c;
    EACH_PLACE(c) {
        grebe_value key = {.kind = GREBE_KEYWORD,
                           .as.text = {.bytes = "k", .size = 1}};
        case_add(&c, "k", "first", "t", 0);
        case_commit(&c, GREBE_SOFT);
        grebe_searcher *s = searcher(&c);
        for (int i = 1; i < 2000; i++) case_add(&c, "k", "later", "t", i);
        grebe_value title;
        uint32_t field;
        int found;
        case_ok(grebe_searcher_get(s, &key, c.document, &found, &c.error), &c);
        assert_int_equal(found, 1);
        case_ok(grebe_document_value(c.document, 1, &field, &title, NULL), &c);
        assert_int_equal(title.as.text.size, 5);
        assert_memory_equal(title.as.text.bytes, "first", 5);
        assert_int_equal(seen_by(&c, s, "first"), 1);
        grebe_searcher_release(s);
        case_commit(&c, GREBE_SOFT);
        assert_int_equal(case_count(&c), 1);
    }
}

/* ---- B3: the ends of stamps and epochs ---- */

static void b3_stamps_near_their_end_start_anew(void **unused) {
    (void)unused;
    engine_case c;
    static const uint64_t jumps[] = {(1ull << 32) - (1u << 20) - 30,
                                     (1ull << 32) - 4, 1ull << 33};
    for (int i = 0; i < 3; i++) EACH_PLACE(c) {
            char key[16];
            add_many(&c, "k", 40);
            case_delete(&c, "k0");
            case_commit(&c, GREBE_SOFT);
            grebe_searcher *old = searcher(&c);
            grebe_snapshot *s = pin(&c);
            c.index->writer->epoch += jumps[i]; /* as commits would */
            for (int k = 1; k < 39; k++) {
                snprintf(key, sizeof key, "k%d", k);
                assert_int_equal(case_delete(&c, key), 1);
                case_commit(&c, k % 4 ? GREBE_SOFT : GREBE_HARD);
                assert_int_equal(case_count(&c), 39 - k);
            }
            assert_int_equal(seen_by(&c, old, "fox"), 39);
            assert_string_equal(case_search(&c, "fox"), "k39");
            restore(&c, s);
            assert_int_equal(case_count(&c), 39);
            case_delete(&c, "k1");
            case_commit(&c, GREBE_HARD);
            assert_int_equal(case_count(&c), 38);
            grebe_searcher_release(old);
            grebe_snapshot_free(s);
            reopened_has(&c, 38);
        }
}

static void b3_first_epochs_of_any_size(void **unused) {
    (void)unused;
    static const uint64_t firsts[] = {UINT32_MAX - 100ull, 1ull << 62};
    for (int i = 0; i < 2; i++) {
        engine_case c;
        grebe_open_options o = {.first_epoch = firsts[i]};
        memset(&c, 0, sizeof c);
        c.schema = case_schema();
        case_ok(grebe_index_open(NULL, c.schema, &o, &c.index, &c.error), &c);
        case_ok(grebe_document_new(c.schema, &c.document, &c.error), &c);
        grebe_snapshot *s = NULL;
        for (int k = 0; k < 200; k++) {
            case_add(&c, k % 2 ? "a" : "b", "fox", "t", k);
            case_commit(&c, GREBE_SOFT);
            if (k == 50) s = pin(&c);
            if (k % 60 == 59) restore(&c, s);
        }
        assert_int_equal(case_count(&c), 2);
        grebe_snapshot_free(s);
        case_close(&c);
    }
}

/* ---- B4: searchers over uncommitted work ---- */

static void b4_an_uncommitted_searcher_is_a_fixed_point(void **unused) {
    (void)unused;
    engine_case c;
    EACH_PLACE(c) {
        grebe_searcher *s;
        add_many(&c, "k", 3);
        case_ok(grebe_index_searcher_uncommitted(c.index, &s, &c.error), &c);
        add_many(&c, "n", 5);
        case_delete(&c, "k0");
        assert_int_equal(seen_by(&c, s, "fox"), 3);
        assert_int_equal(case_count(&c), 0);
        batch_begin(&c);
        case_delete_all(&c);
        assert_int_equal(seen_by(&c, s, "fox"), 3);
        batch_undo(&c);
        case_commit(&c, GREBE_SOFT);
        assert_int_equal(seen_by(&c, s, "fox"), 3);
        assert_int_equal(case_count(&c), 7);
        grebe_searcher_release(s);
    }
}

/* ---- B5: restore and files ---- */

static void b5_snapshots_pin_their_files_and_go_in_any_order(void **unused) {
    (void)unused;
    engine_case c;
    for (int order = 0; order < 4; order++) EACH_PLACE(c) {
            grebe_snapshot *s[3];
            for (int i = 0; i < 3; i++) {
                add_many(&c, i ? i > 1 ? "c" : "b" : "a", 4);
                if (i == 1) case_merge(&c);
                case_commit(&c, GREBE_HARD);
                s[i] = pin(&c);
            }
            case_merge(&c);
            case_commit(&c, GREBE_HARD); /* their files stay */
            for (int i = 0; i < 6; i++) {
                restore(&c, s[i % 3]);
                assert_int_equal(case_count(&c), 4 * (i % 3 + 1));
                case_commit(&c, i % 2 ? GREBE_HARD : GREBE_HARD_UNSEEN);
            }
            if (order % 2) grebe_snapshot_free(s[1]);
            restore(&c, s[0]);
            case_commit(&c, GREBE_HARD);
            if (order < 2) case_ok(grebe_index_close(c.index, 0, NULL), &c);
            grebe_snapshot_free(s[order / 2 ? 2 : 0]);
            if (order % 2 == 0) grebe_snapshot_free(s[1]);
            grebe_snapshot_free(s[order / 2 ? 0 : 2]);
            if (order >= 2 || !in_folder(&c)) {
                if (order >= 2) reopened_has(&c, 4);
                continue;
            }
            grebe_index_free(c.index);
            case_open_again(&c);
            assert_int_equal(case_count(&c), 4);
        }
}

/* A large pinned segment is frozen once, however often it comes back. */
static void b5_a_frozen_twin_serves_again(void **unused) {
    (void)unused;
    engine_case c;
    case_open(&c, CASE_FOLDER);
    grebe_index_stats before, after;
    add_many(&c, "k", 1500);
    grebe_snapshot *s = pin(&c);
    case_merge(&c);
    case_commit(&c, GREBE_HARD);
    restore(&c, s);
    case_commit(&c, GREBE_HARD);
    case_ok(grebe_index_stats_read(c.index, &before, &c.error), &c);
    for (int i = 0; i < 20; i++) {
        case_delete_all(&c);
        case_add(&c, "x", "fox", "t", 1);
        case_commit(&c, GREBE_HARD);
        restore(&c, s);
        case_delete(&c, "k7");
        case_commit(&c, GREBE_HARD);
        assert_int_equal(case_count(&c), 1499);
    }
    case_ok(grebe_index_stats_read(c.index, &after, &c.error), &c);
    assert_true((after.bytes_written - before.bytes_written) / 20 < 80000);
    grebe_snapshot_free(s);
    reopened_has(&c, 1499);
    case_close(&c);
}

/* ---- B6: fields ---- */

static void field_add(engine_case *c, const char *name, grebe_kind kind,
                      grebe_document **document) {
    grebe_schema *s;
    const grebe_field field = {
        .name = name, .kind = kind, .flags = GREBE_STORED | GREBE_INDEXED};
    case_ok(grebe_schema_new(&s, NULL), c);
    case_ok(grebe_schema_add(s, &field, &c->error), c);
    case_ok(grebe_index_add_fields(c->index, s, &c->error), c);
    grebe_schema_release(s);
    case_ok(grebe_index_schema(c->index, &s, &c->error), c);
    case_ok(grebe_document_new(s, document, &c->error), c);
    grebe_schema_release(s);
}

static uint64_t matching(engine_case *c, const char *text) {
    grebe_schema *s;
    grebe_query *q;
    grebe_hits *hits;
    grebe_search_request r = {.limit = 10};
    case_ok(grebe_index_schema(c->index, &s, &c->error), c);
    case_ok(grebe_query_parse(s, text, strlen(text), NULL, &q, &c->error), c);
    r.query = q;
    case_ok(grebe_index_search(c->index, &r, &hits, &c->error), c);
    uint64_t total = grebe_hits_total(hits);
    grebe_hits_release(hits);
    grebe_query_release(q);
    grebe_schema_release(s);
    return total;
}

static void b6_fields_taken_back_and_others_in_their_place(void **unused) {
    (void)unused;
    engine_case c;
    EACH_PLACE(c) {
        grebe_document *old = c.document, *with_c, *with_d;
        grebe_value value, key = {.kind = GREBE_KEYWORD,
                                  .as.text = {.bytes = "d", .size = 1}};
        uint32_t field;
        int found;
        add_many(&c, "k", 2);
        grebe_snapshot *s = pin(&c);
        field_add(&c, "colour", GREBE_INT, &with_c);
        case_ok(grebe_document_add_text(with_c, 0, "c", 1, NULL), &c);
        case_ok(grebe_document_add_int(with_c, 4, 7, NULL), &c);
        case_ok(grebe_index_add(c.index, with_c, 1, &c.error), &c);
        case_merge(&c);
        case_commit(&c, GREBE_HARD);
        assert_int_equal(matching(&c, "colour:7"), 1);
        restore(&c, s);
        /* The field is gone: a document that has it is refused alone. */
        assert_int_equal(grebe_index_add(c.index, with_c, 1, &c.error),
                         GREBE_DOCUMENT);
        assert_string_equal(c.error.field, "colour");
        field_add(&c, "dress", GREBE_KEYWORD, &with_d);
        case_ok(grebe_document_add_text(with_d, 0, "d", 1, NULL), &c);
        case_ok(grebe_document_add_text(with_d, 4, "7", 1, NULL), &c);
        case_ok(grebe_index_add(c.index, with_d, 1, &c.error), &c);
        case_commit(&c, GREBE_HARD);
        assert_int_equal(matching(&c, "dress:7"), 1);
        /* A document of the first schema is still good, one of the second
         * does not take another field's value. */
        c.document = old;
        case_add(&c, "o", "fox", "t", 1);
        case_ok(grebe_index_get(c.index, &key, with_c, &found, &c.error), &c);
        assert_int_equal(found, 1);
        assert_int_equal(grebe_document_count(with_c), 1);
        case_ok(grebe_index_get(c.index, &key, with_d, &found, &c.error), &c);
        assert_int_equal(grebe_document_count(with_d), 2);
        case_ok(grebe_document_value(with_d, 1, &field, &value, NULL), &c);
        assert_int_equal(value.as.text.size, 1);
        case_merge(&c);
        case_commit(&c, GREBE_HARD);
        assert_int_equal(case_count(&c), 4);
        grebe_snapshot_free(s);
        if (in_folder(&c)) {
            grebe_schema *wider;
            case_ok(grebe_index_schema(c.index, &wider, NULL), &c);
            grebe_schema_release(c.schema);
            c.schema = wider;
        }
        reopened_has(&c, 4);
        assert_int_equal(matching(&c, "dress:7"), 1);
        grebe_document_free(with_c);
        grebe_document_free(with_d);
    }
}

static void b6_a_snapshot_from_before_added_fields_is_durable(void **unused) {
    (void)unused;
    engine_case c;
    EACH_PLACE(c) {
        grebe_document *wide;
        grebe_schema *s;
        add_many(&c, "k", 3);
        case_commit(&c, GREBE_HARD);
        grebe_snapshot *before = pin(&c);
        field_add(&c, "extra", GREBE_TEXT, &wide);
        case_ok(grebe_document_add_text(wide, 0, "w", 1, NULL), &c);
        case_ok(grebe_index_add(c.index, wide, 1, &c.error), &c);
        case_commit(&c, GREBE_HARD);
        restore(&c, before);
        case_commit(&c, GREBE_HARD);
        grebe_snapshot_free(before);
        reopened_has(&c, 3);
        case_ok(grebe_index_schema(c.index, &s, NULL), &c);
        assert_int_equal(grebe_schema_find(s, "extra", 5), GREBE_NO_FIELD);
        grebe_schema_release(s);
        grebe_document_free(wide);
        /* Undone with its batch, and rolled back. */
        batch_begin(&c);
        field_add(&c, "extra", GREBE_TEXT, &wide);
        grebe_document_free(wide);
        batch_undo(&c);
        field_add(&c, "extra", GREBE_INT, &wide);
        grebe_document_free(wide);
        case_ok(grebe_index_rollback(c.index, &c.error), &c);
        case_ok(grebe_index_schema(c.index, &s, NULL), &c);
        assert_int_equal(grebe_schema_find(s, "extra", 5), GREBE_NO_FIELD);
        grebe_schema_release(s);
        case_add(&c, "k9", "fox", "t", 9);
        case_commit(&c, GREBE_HARD);
        reopened_has(&c, 4);
    }
}

/* ---- B7: a document fails alone and wholly ---- */

static void b7_a_failed_document_leaves_nothing(void **unused) {
    (void)unused;
    engine_case c;
    EACH_PLACE(c) {
        grebe_index_stats before, after;
        case_add(&c, "k", "fox", "t", 1);
        case_ok(grebe_index_stats_read(c.index, &before, &c.error), &c);
        grebe_document_clear(c.document);
        case_ok(grebe_document_add_text(c.document, 1, "fox", 3, NULL), &c);
        assert_int_equal(grebe_index_add(c.index, c.document, 1, &c.error),
                         GREBE_DOCUMENT);
        assert_string_equal(c.error.field, "id");
        case_ok(grebe_index_stats_read(c.index, &after, &c.error), &c);
        assert_int_equal(after.adds, before.adds);
        assert_int_equal(after.pending, before.pending);
        case_commit(&c, GREBE_HARD);
        assert_string_equal(case_search(&c, "fox"), "k");
        reopened_has(&c, 1);
    }
}

/* ---- B11: readers ---- */

static void b11_a_reader_follows_through_checkpoints(void **unused) {
    (void)unused;
    engine_case c, r;
    for (int where = CASE_FOLDER; where <= CASE_FROZEN; where++) {
        grebe_open_options o = {.mode = GREBE_READ};
        case_open(&c, where);
        r = c;
        case_add(&c, "k", "fox", "t", 0);
        case_commit(&c, GREBE_HARD);
        case_ok(grebe_index_open(c.path, NULL, &o, &r.index, &r.error), &r);
        for (int i = 0; i < 40; i++) {
            char key[16];
            snprintf(key, sizeof key, "n%d", i);
            case_add(&c, key, "fox", "t", i);
            if (i % 5 == 4) case_merge(&c);
            if (i % 7 == 6) case_delete_all(&c);
            case_commit(&c, GREBE_HARD);
            assert_int_equal(got(&r, key), i % 7 != 6);
            assert_int_equal(case_count(&r), case_count(&c));
        }
        assert_int_equal(grebe_index_add(r.index, c.document, 1, &r.error),
                         GREBE_READ_ONLY);
        grebe_index_free(r.index);
        case_close(&c);
    }
}

/* ---- B12: a freeze is an optimisation ---- */

static void b12_a_freeze_that_fails_costs_nothing(void **unused) {
    (void)unused;
    engine_case c;
    struct rlimit before, small;
    char title[6001];
    uint32_t random = 1;
    case_open(&c, CASE_FROZEN);
    for (size_t i = 0; i < sizeof title; i++) {
        random = random * 1664525 + 1013904223;
        title[i] = i % 9 == 8 ? ' ' : (char)('a' + (random >> 16) % 26);
    }
    title[6000] = 0;
    case_add(&c, "k0", title, "t", 0);
    case_commit(&c, GREBE_HARD);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 8192; /* the log has room below, a segment has not */
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    grebe_index_stats stats;
    for (int i = 1; i < 7; i++) {
        char key[8];
        snprintf(key, sizeof key, "k%d", i);
        case_add(&c, key, "fox", "t", i);
    }
    grebe_commit_info info = case_commit(&c, GREBE_HARD);
    case_ok(grebe_index_stats_read(c.index, &stats, &c.error), &c);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(info.syncs, 1);
    assert_true(stats.failures > 0 && stats.failures < 6);
    assert_int_equal(case_count(&c), 7);
    case_reopen(&c);
    assert_int_equal(case_count(&c), 7);
    case_close(&c);
}

/* ---- B18: the same calls, the same bytes ---- */

static size_t file_read(const engine_case *c, const char *name, char *out,
                        size_t size) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", c->path, name);
    FILE *f = fopen(path, "rb");
    if (!f) return 0;
    size_t got_bytes = fread(out, 1, size, f);
    fclose(f);
    return got_bytes;
}

static void deterministic_life(engine_case *c) {
    grebe_open_options o = {.deterministic = 1, .docs_max = 50};
    case_open(c, CASE_FOLDER);
    grebe_index_free(c->index);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s/*", c->path);
    if (system(command)) fail();
    case_ok(grebe_index_open(c->path, c->schema, &o, &c->index, &c->error), c);
    for (int i = 0; i < 5; i++) {
        batch_begin(c);
        add_many(c, "x", 30);
        if (i % 2) batch_undo(c);
        if (i % 2 == 0)
            case_ok(grebe_index_batch_end(c->index, GREBE_SOFT, NULL, NULL),
                    c);
        add_many(c, "k", 40 + i);
        delete_year(c, i, i + 3);
        case_commit(c, GREBE_HARD);
    }
    case_merge(c);
    case_add(c, "last", "fox", "t", 1);
    case_commit(c, GREBE_HARD);
}

static void b18_the_same_calls_give_the_same_files(void **unused) {
    (void)unused;
    enum { SIZE = 1 << 16 };
    static char bytes[2][SIZE];
    engine_case c[2];
    int compared = 0;
    for (int i = 0; i < 2; i++) deterministic_life(&c[i]);
    for (int number = 1; number < 60; number++)
        for (int kind = 0; kind < 2; kind++) {
            char name[32];
            int different = 0;
            snprintf(name, sizeof name, kind ? "seg-%d" : "state-%d", number);
            size_t size = file_read(&c[0], name, bytes[0], SIZE);
            assert_int_equal(file_read(&c[1], name, bytes[1], SIZE), size);
            for (size_t i = 0; i < size; i++)
                different += bytes[0][i] != bytes[1][i];
            /* The index's uuid, and checksums of heads that hold it. */
            if (different > 16 + 16)
                fail_msg("%s: %d bytes differ", name, different);
            compared += size > 0;
        }
    assert_true(compared >= 2);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", c[1].path);
    if (system(command)) fail();
    grebe_index_free(c[1].index);
    grebe_document_free(c[1].document);
    grebe_schema_release(c[1].schema);
    case_close(&c[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(b1_duplicates_then_upsert_then_delete),
        cmocka_unit_test(b1_an_old_searcher_finds_its_version_of_a_key),
        cmocka_unit_test(b3_stamps_near_their_end_start_anew),
        cmocka_unit_test(b3_first_epochs_of_any_size),
        cmocka_unit_test(b4_an_uncommitted_searcher_is_a_fixed_point),
        cmocka_unit_test(b5_snapshots_pin_their_files_and_go_in_any_order),
        cmocka_unit_test(b5_a_frozen_twin_serves_again),
        cmocka_unit_test(b6_fields_taken_back_and_others_in_their_place),
        cmocka_unit_test(b6_a_snapshot_from_before_added_fields_is_durable),
        cmocka_unit_test(b7_a_failed_document_leaves_nothing),
        cmocka_unit_test(b11_a_reader_follows_through_checkpoints),
        cmocka_unit_test(b18_the_same_calls_give_the_same_files),
        cmocka_unit_test(b12_a_freeze_that_fails_costs_nothing),
    };
    return STEPS_RUN(tests);
}
