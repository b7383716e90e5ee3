/* rooms: base store doc analysis segment invert memseg snapshot merge query search commit collect result engine api */
/* What is done ten thousand times leaves memory, descriptors, mappings and
 * files as they were after a quarter of it. GREBE_FLAT_ROUNDS sets another
 * number; sanitized runs take fewer by themselves. */
#include <dirent.h>

#include "engine_steps.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ROUNDS 1000
#else
#define ROUNDS 10000
#endif

static int rounds(void) {
    const char *given = getenv("GREBE_FLAT_ROUNDS");
    return given ? atoi(given) : ROUNDS;
}

typedef struct footprint {
    int64_t bytes;
    int descriptors, mappings, files;
} footprint;

static int entries(const char *path) {
    int count = 0;
    DIR *dir = opendir(path);
    while (dir && readdir(dir)) count++;
    if (dir) closedir(dir);
    return count;
}

static int mapped(const char *path) {
    char line[512];
    int count = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && fgets(line, sizeof line, f)) count += strstr(line, path) != 0;
    if (f) fclose(f);
    return count;
}

/* After a checkpoint, so that the log's growth up to its limit is out. */
static footprint footprint_take(engine_case *c) {
    case_merge(c);
    case_commit(c, GREBE_HARD);
    return (footprint){strict_held, entries("/proc/self/fd"), mapped(c->path),
                       in_folder(c) ? entries(c->path) : 0};
}

static void footprint_check(engine_case *c, const footprint *early) {
    footprint now = footprint_take(c);
    if (now.bytes > early->bytes + early->bytes / 4 + 65536 ||
        now.descriptors > early->descriptors + 1 /* the log's */ ||
        now.mappings > early->mappings + 8 || now.files > early->files + 8)
        fail_msg("place %d: %lld bytes, %d descriptors, %d mappings, %d files "
                 "have become %lld, %d, %d, %d",
                 c->where, (long long)early->bytes, early->descriptors,
                 early->mappings, early->files, (long long)now.bytes,
                 now.descriptors, now.mappings, now.files);
}

static grebe_snapshot *kept; /* from round to round */

/* Of store mmap and pread. */
static void index_open(engine_case *c, int place) {
    bool folder = c->where == CASE_FOLDER || c->where == CASE_FROZEN;
    grebe_open_options o = {.allocator = case_allocator,
                            .durability = GREBE_DURABILITY_NONE,
                            .docs_max = c->where == CASE_FROZEN ? 3 : 256,
                            .store = c->where == CASE_RAM ? GREBE_STORE_RAM
                                     : place % 2          ? GREBE_STORE_PREAD
                                                          : GREBE_STORE_MMAP};
    case_ok(grebe_index_open(folder ? c->path : NULL, c->schema, &o, &c->index,
                             &c->error),
            c);
}

static void flat(void (*round)(engine_case *c, int i)) {
    for (int place = 0; place < 2 * CASE_PLACES; place++) {
        engine_case c;
        footprint early = {0};
        int where = place / 2;
        if (place % 2 && where < CASE_FOLDER) continue;
        int all = where < CASE_FOLDER ? rounds() : rounds() / 10;
        case_open(&c, where);
        grebe_index_free(c.index);
        index_open(&c, place);
        add_many(&c, "k", 7);
        case_commit(&c, GREBE_HARD);
        for (int i = 0; i < all; i++) {
            if (i == all / 4) early = footprint_take(&c);
            c.ids[0] = (char)place;
            round(&c, i);
        }
        footprint_check(&c, &early);
        grebe_snapshot_free(kept);
        kept = NULL;
        case_close(&c);
    }
}

static void restore_round(engine_case *c, int i) {
    if (!kept) {
        case_delete(c, "k0");
        kept = pin(c);
    }
    case_delete(c, i % 2 ? "k1" : "k2");
    case_add(c, "n", "fox", "t", i);
    if (i % 3 == 0) case_commit(c, GREBE_SOFT);
    if (i % 40 == 0) case_commit(c, GREBE_HARD);
    if (i % 50 == 0) case_merge(c);
    restore(c, kept);
    assert_int_equal(case_count(c), 6);
    if (i % 1000 != 999) return;
    grebe_snapshot_free(kept);
    kept = NULL;
    case_add(c, "k0", "fox", "t", 0);
}

static void restores(void **unused) {
    (void)unused;
    flat(restore_round);
}

static void batch_round(engine_case *c, int i) {
    batch_begin(c);
    case_add(c, "n", "fox", "t", i);
    case_delete(c, "k3");
    if (i % 50 == 0) add_many(c, "m", 10);
    batch_undo(c);
    case_add(c, "k4", "fox", "t", i);
    if (i % 7 == 0) case_ok(grebe_index_rollback(c->index, &c->error), c);
    if (i % 11 == 0) case_commit(c, GREBE_HARD);
    if (i % 97 == 0) case_commit(c, GREBE_SOFT);
}

static void failed_batches_and_rollbacks(void **unused) {
    (void)unused;
    flat(batch_round);
}

static void snapshot_round(engine_case *c, int i) {
    static grebe_snapshot *ring[16];
    grebe_snapshot_free(ring[i % 16]);
    case_add(c, "n", "fox", "t", i);
    ring[i % 16] = pin(c);
    if (i % 100 != 99) return;
    for (int k = 0; k < 16; k++) {
        grebe_snapshot_free(ring[k]);
        ring[k] = NULL;
    }
}

static void snapshots(void **unused) {
    (void)unused;
    flat(snapshot_round);
}

static void life_round(engine_case *c, int i) {
    int place = c->ids[0];
    case_ok(grebe_index_close(c->index, i % 2, &c->error), c);
    grebe_index_free(c->index);
    index_open(c, place);
    case_add(c, "k0", "fox", "t", i);
    if (i % 5 == 0) case_merge(c);
    case_commit(c, i % 3 ? GREBE_HARD : GREBE_SOFT);
    assert_string_not_equal(case_search(c, "fox"), "");
}

static void lives(void **unused) {
    (void)unused;
    flat(life_round);
}

static void branch_round(engine_case *c, int i) {
    grebe_index *own = c->index, *twin, *second;
    case_ok(grebe_index_branch(own, &twin, &c->error), c);
    c->index = twin;
    case_delete(c, "k1");
    if (i % 20 == 0) case_merge(c);
    case_commit(c, GREBE_SOFT);
    case_ok(grebe_index_branch(twin, &second, &c->error), c);
    c->index = own;
    grebe_index_free(twin);
    grebe_index_free(second);
    case_add(c, "k2", "fox", "t", i);
    if (i % 100 == 0) case_commit(c, GREBE_HARD);
}

static void branches(void **unused) {
    (void)unused;
    flat(branch_round);
}

static void wipe_round(engine_case *c, int i) {
    case_delete_all(c);
    case_delete_all(c);
    add_many(c, "k", 2);
    case_commit(c, i % 10 ? GREBE_SOFT : GREBE_HARD);
}

static void wipes(void **unused) {
    (void)unused;
    flat(wipe_round);
}

/* One more live snapshot than there is room for: every call that needs a
 * header says so and leaves the index as it was. */
static void all_snapshot_headers_are_taken(void **unused) {
    (void)unused;
    engine_case c;
    enum { MANY = 65600 };
    static grebe_snapshot *all[MANY];
    int count = 0;
    case_open(&c, CASE_MEMORY);
    grebe_status status = GREBE_OK;
    add_many(&c, "k", 3);
    case_commit(&c, GREBE_HARD);
    while (count < MANY && status == GREBE_OK) {
        case_add(&c, "n", "fox", "t", count);
        status = grebe_index_snapshot(c.index, &all[count], &c.error);
        count += status == GREBE_OK;
    }
    assert_int_equal(status, GREBE_LIMIT);
    assert_in_range(count, 65000, 65532);
    case_add(&c, "u", "fox", "t", 1);
    assert_int_equal(grebe_index_restore(c.index, all[0], &c.error),
                     GREBE_LIMIT);
    assert_int_equal(got(&c, "u"), 1);
    assert_int_equal(grebe_index_rollback(c.index, &c.error), GREBE_LIMIT);
    assert_int_equal(got(&c, "u"), 1);
    assert_int_equal(grebe_index_batch_begin(c.index, &c.error), GREBE_LIMIT);
    assert_int_equal(grebe_index_commit(c.index, GREBE_SOFT, NULL, &c.error),
                     GREBE_LIMIT);
    assert_int_equal(grebe_index_commit(c.index, GREBE_HARD, NULL, &c.error),
                     GREBE_LIMIT);
    assert_int_equal(case_count(&c), 4); /* without "u" */
    grebe_snapshot_free(all[--count]);
    grebe_snapshot_free(all[--count]);
    restore(&c, all[0]);
    assert_int_equal(case_count(&c), 4);
    assert_int_equal(got(&c, "u"), 0);
    for (int i = 0; i < count; i++) grebe_snapshot_free(all[i]);
    case_ok(grebe_index_rollback(c.index, &c.error), &c);
    assert_int_equal(case_count(&c), 3);
    case_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restores),
        cmocka_unit_test(failed_batches_and_rollbacks),
        cmocka_unit_test(snapshots),
        cmocka_unit_test(lives),
        cmocka_unit_test(branches),
        cmocka_unit_test(wipes),
        cmocka_unit_test(all_snapshot_headers_are_taken),
    };
    return STEPS_RUN(tests);
}
