/* rooms: base store doc commit */
/* Root, state, log: what is durable, what damage does, what a crash does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "commit/files.h"
#include "fault_store.c"

/* ---- a model: the content of an index is a hash over its records ---- */

static grebe_schema *schema;

static uint64_t content_fold(uint64_t content, const void *bytes,
                             size_t size) {
    return grb_hash(bytes, size, content + 1);
}

typedef struct seen {
    uint64_t content, number, commits;
} seen;

static grebe_status seen_add(void *context, grb_cursor *doc, bool overwrite,
                             grebe_error *err) {
    seen *s = context;
    s->content = content_fold(s->content, doc->at, grb_cursor_left(doc));
    return GREBE_OK;
}
static grebe_status seen_key(void *context, const uint8_t *key, size_t size,
                             grebe_error *err) {
    seen *s = context;
    s->content = content_fold(s->content + 2, key, size);
    return GREBE_OK;
}
static grebe_status seen_docs(void *context, const grb_address *docs,
                              size_t count, grebe_error *err) {
    seen *s = context;
    for (size_t i = 0; i < count; i++) {
        uint64_t pair[2] = {docs[i].file_number, docs[i].doc};
        s->content = content_fold(s->content + 3, pair, sizeof pair);
    }
    return GREBE_OK;
}
static grebe_status seen_wipe(void *context, grebe_error *err) {
    ((seen *)context)->content = 7;
    return GREBE_OK;
}
static grebe_status seen_schema(void *context, grebe_schema *s,
                                grebe_error *err) {
    ((seen *)context)->content += 1000 + s->field_count;
    return GREBE_OK;
}
static grebe_status seen_commit(void *context, uint64_t number,
                                grebe_error *err) {
    seen *s = context;
    s->number = number;
    s->commits++;
    return GREBE_OK;
}

static grebe_status open_and_replay(grb_directory *dir, bool writable,
                                    grb_durable **out, seen *s,
                                    grebe_error *err) {
    grb_replay replay = {s,         seen_add,    seen_key,   seen_docs,
                         seen_wipe, seen_schema, seen_commit};
    grebe_status status = grb_durable_open(dir, writable, out, err);
    if (status != GREBE_OK) return status;
    memset(s, 0, sizeof *s);
    s->content = grb_durable_state(*out)->next_sequence;
    s->number = grb_durable_state(*out)->number;
    status = grb_durable_replay(*out, &replay, err);
    if (status != GREBE_OK) {
        grb_durable_close(*out);
        *out = NULL;
    }
    return status;
}

static grb_state state_of(uint64_t number, uint64_t content) {
    grb_state state = {.number = number,
                       .next_sequence = content,
                       .unique = true,
                       .schema = schema};
    return state;
}

static grebe_status doc_append(grb_durable *d, uint64_t number,
                               const void *bytes, size_t size,
                               grebe_error *err) {
    grb_buf records;
    grb_buf_init(&records, &grb_allocator_malloc, 0);
    grb_record_add(&records, bytes, size, true);
    grebe_status status =
        grb_durable_append(d, number, records.bytes, records.size, err);
    grb_buf_deinit(&records);
    return status;
}

/* An index of `commits` log commits on a new disk; `content` gets its state.
 * Open handles are closed. */
static fault_disk *disk_make(int commits, size_t size, uint64_t *content) {
    fault_disk *disk = fault_disk_new(1);
    grb_directory *dir = fault_directory_open(disk);
    grb_state state = state_of(0, 0);
    grb_durable *d = NULL;
    uint8_t *doc = calloc(1, size + 1);
    *content = 0;
    assert_int_equal(grb_durable_create(dir, &state, &d, NULL), GREBE_OK);
    for (int i = 1; i <= commits; i++) {
        memset(doc, 'a' + i % 26, size);
        assert_int_equal(doc_append(d, (uint64_t)i, doc, size, NULL),
                         GREBE_OK);
        *content = content_fold(*content, doc, size);
    }
    free(doc);
    grb_durable_close(d);
    grb_directory_close(dir);
    return disk;
}

/* What a reading process gets from the disk. */
static grebe_status disk_look(fault_disk *disk, seen *s, grebe_error *err) {
    grb_directory *dir = fault_directory_open(disk);
    grb_durable *d = NULL;
    grebe_status status = open_and_replay(dir, false, &d, s, err);
    if (status == GREBE_OK) grb_durable_close(d);
    grb_directory_close(dir);
    return status;
}

static const char *log_name(void) {
    return "log-2";
}
static uint64_t log_tail(fault_disk *disk, uint64_t *last) {
    grb_directory *dir = fault_directory_open(disk);
    grb_durable *d = NULL;
    seen s;
    assert_int_equal(open_and_replay(dir, false, &d, &s, NULL), GREBE_OK);
    uint64_t tail = d->log.tail;
    if (last) *last = d->log.last_at;
    grb_durable_close(d);
    grb_directory_close(dir);
    return tail;
}

/* ---- tests ---- */

static void every_kind_of_record_comes_back_in_order(void **unused) {
    fault_disk *disk = fault_disk_new(2);
    grb_directory *dir = fault_directory_open(disk);
    grb_state state = state_of(5, 77);
    grb_durable *d = NULL;
    seen want = {77, 0, 0}, got;
    grb_address docs[2] = {{3, 9}, {0, 1u << 30}};
    grb_buf r;
    assert_int_equal(grb_durable_create(dir, &state, &d, NULL), GREBE_OK);
    grb_buf_init(&r, &grb_allocator_malloc, 0);
    grb_record_add(&r, (const uint8_t *)"doc", 3, false);
    grb_record_delete_key(&r, (const uint8_t *)"key", 3);
    grb_record_schema(&r, schema);
    grb_record_delete_docs(&r, docs, 2);
    grb_record_delete_docs(&r, docs, 0);
    assert_int_equal(grb_durable_append(d, 6, r.bytes, r.size, NULL), 0);
    grb_buf_clear(&r);
    grb_record_wipe(&r);
    grb_record_add(&r, (const uint8_t *)"", 0, true);
    assert_int_equal(grb_durable_append(d, 9, r.bytes, r.size, NULL), 0);
    assert_int_equal(grb_durable_append(d, 10, NULL, 0, NULL), 0);
    assert_int_equal(grb_durable_append(d, 10, NULL, 0, NULL), GREBE_INTERNAL);
    grb_durable_close(d);
    want.content = 7;
    want.content = content_fold(want.content, "", 0);
    assert_int_equal(open_and_replay(dir, true, &d, &got, NULL), GREBE_OK);
    assert_int_equal(got.content, want.content);
    assert_int_equal(got.number, 10);
    assert_int_equal(got.commits, 3);
    grb_durable_close(d);
    grb_directory_close(dir);
    grb_buf_deinit(&r);
    fault_disk_free(disk);
}

static void an_append_is_one_sync_also_after_a_clean_reopening(void **u) {
    fault_disk *disk = fault_disk_new(3);
    grb_directory *dir = fault_directory_open(disk);
    grb_state state = state_of(0, 0);
    grb_durable *d = NULL;
    seen s;
    uint8_t doc[3000] = {1};
    uint64_t number = 0;
    assert_int_equal(grb_durable_create(dir, &state, &d, NULL), GREBE_OK);
    assert_int_equal(atomic_load(&dir->syncs), 5);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 200; i++) {
            uint64_t before = atomic_load(&dir->syncs);
            assert_int_equal(doc_append(d, ++number, doc, sizeof doc, NULL),
                             GREBE_OK);
            assert_int_equal(atomic_load(&dir->syncs) - before, 1);
        }
        grb_durable_close(d);
        assert_int_equal(open_and_replay(dir, true, &d, &s, NULL), GREBE_OK);
        assert_int_equal(s.number, number);
    }
    uint64_t before = atomic_load(&dir->syncs);
    state = state_of(++number, s.content);
    assert_int_equal(grb_durable_checkpoint(d, &state, NULL, 0, NULL), 0);
    assert_int_equal(atomic_load(&dir->syncs) - before, 4);
    before = atomic_load(&dir->syncs);
    assert_int_equal(doc_append(d, ++number, doc, sizeof doc, NULL), 0);
    assert_int_equal(atomic_load(&dir->syncs) - before, 1);
    grb_durable_close(d);
    before = atomic_load(&dir->bytes_written);
    assert_int_equal(open_and_replay(dir, true, &d, &s, NULL), GREBE_OK);
    grb_durable_close(d);
    assert_int_equal(atomic_load(&dir->bytes_written), before);
    grb_directory_close(dir);
    fault_disk_free(disk);
}

static void a_tail_torn_at_any_byte_gives_the_commit_before(void **u) {
    uint64_t whole, before, last, tail;
    fault_disk *disk = disk_make(3, 900, &whole);
    fault_disk *less = disk_make(2, 900, &before);
    tail = log_tail(disk, &last);
    for (uint64_t cut = last + 16; cut < last + 72 + 900 + 16; cut++) {
        fault_disk *copy = fault_disk_copy(disk);
        fault_file *log = fault_disk_find(copy, log_name());
        seen s;
        /* What was not written yet is zero, the acknowledgement too. */
        memset(log->bytes + cut, 0, tail + 16 - cut);
        assert_int_equal(disk_look(copy, &s, NULL), GREBE_OK);
        bool same = memcmp(log->bytes + cut,
                           fault_disk_find(disk, log_name())->bytes + cut,
                           tail - cut) == 0;
        assert_int_equal(s.content, same ? whole : before);
        /* The next writer goes on from there and is believed. */
        grb_directory *dir = fault_directory_open(copy);
        grb_durable *d = NULL;
        assert_int_equal(open_and_replay(dir, true, &d, &s, NULL), 0);
        assert_int_equal(doc_append(d, 10, "x", 1, NULL), GREBE_OK);
        uint64_t want = content_fold(s.content, "x", 1);
        grb_durable_close(d);
        grb_directory_close(dir);
        fault_disk_crash(copy);
        assert_int_equal(disk_look(copy, &s, NULL), GREBE_OK);
        assert_int_equal(s.content, want);
        fault_disk_free(copy);
    }
    fault_disk_free(disk);
    fault_disk_free(less);
}

/* Flips a bit at `at` of `name` in a copy: an error or an equal answer. */
static void flip_check(fault_disk *disk, const char *name, uint64_t at,
                       int bit, uint64_t want) {
    fault_file *f = fault_disk_find(disk, name);
    seen s;
    grebe_error err = {0};
    f->bytes[at] ^= (uint8_t)(1u << bit);
    grebe_status status = disk_look(disk, &s, &err);
    f->bytes[at] ^= (uint8_t)(1u << bit);
    if (status == GREBE_OK && s.content == want) return;
    if (status == GREBE_CORRUPT) return;
    print_error("%s byte %llu bit %d: status %d content %llx\n", name,
                (unsigned long long)at, bit, status,
                (unsigned long long)s.content);
    fail();
}

static void a_flipped_byte_gives_an_error_or_the_same_answer(void **u) {
    uint64_t want;
    fault_disk *disk = disk_make(3, 300, &want);
    uint64_t tail = log_tail(disk, NULL);
    for (uint64_t at = 0; at < 16384; at++)
        flip_check(disk, "manifest", at, (int)(at % 8), want);
    fault_file *state = fault_disk_find(disk, "state-1");
    for (uint64_t at = 0; at < state->size; at++)
        for (int bit = 0; bit < 8; bit++)
            flip_check(disk, "state-1", at, bit, want);
    for (uint64_t at = 0; at < tail + 512; at++)
        for (int bit = 0; bit < 8; bit++)
            flip_check(disk, log_name(), at, bit, want);
    fault_disk_free(disk);
}

static void a_cut_file_gives_an_error_or_the_same_answer(void **u) {
    static const char *const names[] = {"manifest", "state-1", "log-2"};
    uint64_t want;
    fault_disk *disk = disk_make(3, 300, &want);
    for (int n = 0; n < 3; n++) {
        uint64_t size = fault_disk_find(disk, names[n])->size;
        for (uint64_t at = 0; at < size; at += at < 4096 ? 1 : 61) {
            fault_file *f = fault_disk_find(disk, names[n]);
            seen s;
            f->size = at;
            grebe_status status = disk_look(disk, &s, NULL);
            f->size = size;
            assert_int_equal(status, GREBE_CORRUPT);
        }
    }
    fault_disk_free(disk);
}

static void a_missing_or_exchanged_file_is_damage(void **u) {
    static const char *const names[] = {"manifest", "state-1", "log-2"};
    uint64_t want, other_content;
    fault_disk *other = disk_make(3, 300, &other_content);
    seen s;
    for (int n = 0; n < 3; n++) {
        fault_disk *disk = disk_make(3, 300, &want);
        names_drop(&disk->names, names[n]);
        assert_int_equal(disk_look(disk, &s, NULL), GREBE_CORRUPT);
        grb_directory *dir = fault_directory_open(disk);
        bool exists = false;
        assert_int_equal(grb_durable_exists(dir, &exists, NULL), GREBE_OK);
        assert_true(exists);
        grb_directory_close(dir);
        names_put(&disk->names, names[n], fault_disk_find(other, names[n]));
        assert_int_equal(disk_look(disk, &s, NULL), GREBE_CORRUPT);
        fault_disk_free(disk);
    }
    fault_disk_free(other);
}

/* Sets a version word of root and state and repairs the checksums. */
static void version_set(fault_disk *disk, size_t word) {
    fault_file *f = fault_disk_find(disk, "manifest");
    uint8_t *copy = f->bytes + 8192;
    grb_put32(copy + 8 + 4 * word, 0x80);
    grb_put32(copy + 20, 9);
    grb_put64(copy + 4088, grb_hash(copy, 4088, 1));
    memcpy(copy + 4096, copy, 4096);
}

static void a_newer_format_is_refused_and_left_alone(void **u) {
    for (size_t word = 0; word < 3; word++) {
        uint64_t want;
        fault_disk *disk = disk_make(1, 10, &want);
        version_set(disk, word);
        grb_directory *dir = fault_directory_open(disk);
        for (int writable = 0; writable < 2; writable++) {
            grb_durable *d = NULL;
            grebe_error err = {0};
            uint64_t calls = disk->calls;
            bool fine = word == 0 || (word == 1 && !writable);
            grebe_status status = grb_durable_open(dir, writable, &d, &err);
            assert_int_equal(status, fine ? GREBE_OK : GREBE_VERSION);
            if (!fine) assert_non_null(strstr(err.message, "version 9"));
            assert_int_equal(disk->calls, calls);
            if (d) grb_durable_close(d);
        }
        grb_directory_close(dir);
        fault_disk_free(disk);
    }
}

static void crafted_states_are_refused_by_their_bounds(void **u) {
    uint64_t content;
    fault_disk *disk = disk_make(1, 10, &content);
    fault_file *root = fault_disk_find(disk, "manifest");
    fault_file *state = fault_disk_find(disk, "state-1");
    static const uint64_t values[] = {1,          0xff,       0xffff,
                                      UINT32_MAX, UINT64_MAX, 1u << 31};
    for (uint64_t at = 64; at + 8 < state->size - 8; at++)
        for (size_t v = 0; v < GRB_COUNT(values); v++) {
            uint8_t saved[8];
            seen s;
            memcpy(saved, state->bytes + at, 8);
            grb_put64(state->bytes + at, values[v]);
            uint64_t sum = grb_hash(state->bytes, state->size - 8, 0);
            grb_put64(state->bytes + state->size - 8, sum);
            for (int i = 0; i < 2; i++) {
                uint8_t *copy = root->bytes + 8192 + 4096 * i;
                grb_put64(copy + 64, sum);
                grb_put64(copy + 4088, grb_hash(copy, 4088, 1));
            }
            (void)disk_look(disk, &s, NULL); /* the sanitizers' turn */
            memcpy(state->bytes + at, saved, 8);
        }
    fault_disk_free(disk);
}

static void bitmaps_and_segments_come_back(void **u) {
    fault_disk *disk = fault_disk_new(5);
    grb_directory *dir = fault_directory_open(disk);
    grb_state state = state_of(0, 0);
    grb_durable *d = NULL;
    seen s;
    uint64_t dead[3] = {5, 0, 1};
    assert_int_equal(grb_durable_create(dir, &state, &d, NULL), GREBE_OK);
    grb_state_segment segments[3] = {{grb_durable_next_file(d), 129, dead},
                                     {grb_durable_next_file(d), 0, NULL},
                                     {grb_durable_next_file(d), 64, dead}};
    uint64_t stray = grb_durable_next_file(d);
    uint64_t numbers[4] = {segments[0].file_number, segments[1].file_number,
                           segments[2].file_number, stray};
    for (int i = 0; i < 4; i++) {
        char name[32];
        grb_file *f;
        grb_segment_file_name(numbers[i], name);
        assert_int_equal(dir->ops->file_open(dir, name, true, true, &f, NULL),
                         0);
        dir->ops->file_close(f);
    }
    state = state_of(1, 0);
    state.segments = segments;
    state.segment_count = 3;
    assert_int_equal(grb_durable_checkpoint(d, &state, &stray, 1, NULL), 0);
    char name[32];
    grb_segment_file_name(stray, name);
    assert_non_null(fault_disk_find(disk, name)); /* pinned */
    assert_null(fault_disk_find(disk, "state-1"));
    assert_null(fault_disk_find(disk, "log-2"));
    uint64_t next = grb_durable_next_file(d);
    grb_durable_close(d);
    assert_int_equal(open_and_replay(dir, true, &d, &s, NULL), GREBE_OK);
    assert_null(fault_disk_find(disk, name)); /* pins end with the process */
    assert_true(grb_durable_next_file(d) >= next);
    const grb_state *got = grb_durable_state(d);
    assert_int_equal(got->segment_count, 3);
    assert_int_equal(got->segments[0].max_doc, 129);
    assert_memory_equal(got->segments[0].dead, dead, 24);
    assert_null(got->segments[1].dead);
    assert_memory_equal(got->segments[2].dead, dead, 8);
    grb_durable_close(d);
    grb_directory_close(dir);
    fault_disk_free(disk);
}

/* A7 b: the commit whose sync failed is read from the cache, built upon, and
 * the power fails. */
static void the_writer_after_a_failed_sync_loses_nothing(void **u) {
    for (uint64_t seed = 0; seed < 300; seed++) {
        uint64_t content;
        fault_disk *disk = disk_make(2, 700, &content);
        disk->seed = seed;
        grb_directory *dir = fault_directory_open(disk);
        grb_durable *d = NULL;
        seen s;
        assert_int_equal(open_and_replay(dir, true, &d, &s, NULL), 0);
        disk->kind = FAULT_EIO;
        disk->fail_at = disk->calls + 2; /* the sync behind the write */
        assert_int_equal(doc_append(d, 3, "k+1", 3, NULL), GREBE_STORAGE);
        assert_true(grb_durable_poisoned(d));
        if (seed & 1) disk->capacity = disk_used(disk); /* the cure is free */
        assert_int_equal(doc_append(d, 4, "no", 2, NULL), GREBE_POISONED);
        grb_durable_close(d);
        assert_int_equal(open_and_replay(dir, true, &d, &s, NULL), 0);
        assert_int_equal(s.number, 3);
        assert_int_equal(doc_append(d, 4, "k+2", 3, NULL), GREBE_OK);
        uint64_t want = content_fold(s.content, "k+2", 3);
        grb_durable_close(d);
        grb_directory_close(dir);
        fault_disk_crash(disk);
        assert_int_equal(disk_look(disk, &s, NULL), GREBE_OK);
        assert_int_equal(s.content, want);
        fault_disk_free(disk);
    }
}

static void a_full_disk_costs_the_commit_not_the_writer(void **u) {
    uint64_t content;
    fault_disk *disk = disk_make(1, 100, &content);
    grb_directory *dir = fault_directory_open(disk);
    grb_durable *d = NULL;
    seen s;
    uint8_t *doc = calloc(1, 200000);
    assert_int_equal(open_and_replay(dir, true, &d, &s, NULL), GREBE_OK);
    disk->capacity = disk_used(disk) + 4000;
    assert_int_equal(doc_append(d, 2, doc, 200000, NULL), GREBE_STORAGE);
    assert_false(grb_durable_poisoned(d));
    /* What needs no more room still works, then just the bytes needed. */
    assert_int_equal(doc_append(d, 2, doc, 20000, NULL), GREBE_OK);
    assert_int_equal(doc_append(d, 3, doc, 12000, NULL), GREBE_OK);
    grb_state state = state_of(4, 4);
    assert_int_equal(grb_durable_checkpoint(d, &state, NULL, 0, NULL), 0);
    grb_durable_close(d);
    assert_int_equal(open_and_replay(dir, true, &d, &s, NULL), GREBE_OK);
    assert_int_equal(s.number, 4);
    grb_durable_close(d);
    grb_directory_close(dir);
    fault_disk_free(disk);
    free(doc);
}

static void a_reader_learns_of_commits_and_checkpoints(void **u) {
    uint64_t content;
    fault_disk *disk = disk_make(1, 100, &content);
    grb_directory *dir = fault_directory_open(disk);
    grb_directory *other = fault_directory_open(disk);
    grb_durable *w = NULL, *r = NULL;
    seen s;
    bool changed;
    assert_int_equal(open_and_replay(dir, true, &w, &s, NULL), GREBE_OK);
    assert_int_equal(open_and_replay(other, false, &r, &s, NULL), GREBE_OK);
    assert_int_equal(grb_durable_changed(r, &changed, NULL), GREBE_OK);
    assert_false(changed);
    assert_int_equal(doc_append(r, 2, "x", 1, NULL), GREBE_READ_ONLY);
    assert_int_equal(doc_append(w, 2, "x", 1, NULL), GREBE_OK);
    assert_int_equal(grb_durable_changed(r, &changed, NULL), GREBE_OK);
    assert_true(changed);
    grb_durable_close(r);
    assert_int_equal(grb_durable_open(other, false, &r, NULL), GREBE_OK);
    r->signal = NULL;
    atomic_store(&disk->signal, 99);
    assert_int_equal(grb_durable_changed(r, &changed, NULL), GREBE_OK);
    assert_false(changed); /* not replayed yet, and the same root */
    grb_state state = state_of(3, 9);
    assert_int_equal(grb_durable_checkpoint(w, &state, NULL, 0, NULL), 0);
    assert_int_equal(grb_durable_changed(r, &changed, NULL), GREBE_OK);
    assert_true(changed);
    /* Its log is gone under it: not damage, it has to start over. */
    assert_int_equal(grb_durable_replay(r, NULL, NULL), GREBE_CONFLICT);
    grb_durable_close(r);
    assert_int_equal(open_and_replay(other, false, &r, &s, NULL), GREBE_OK);
    assert_int_equal(s.number, 3);
    /* Without a signal the files themselves are asked. */
    r->signal = NULL;
    atomic_store(&disk->signal, 1);
    assert_int_equal(grb_durable_changed(r, &changed, NULL), GREBE_OK);
    assert_false(changed);
    assert_int_equal(doc_append(w, 4, "y", 1, NULL), GREBE_OK);
    r->signal = NULL;
    assert_int_equal(grb_durable_changed(r, &changed, NULL), GREBE_OK);
    assert_true(changed);
    grb_durable_close(r);
    grb_durable_close(w);
    grb_directory_close(other);
    grb_directory_close(dir);
    fault_disk_free(disk);
}

static void the_log_has_a_limit_and_large_groups_fit_below_it(void **u) {
    uint64_t content;
    fault_disk *disk = disk_make(1, 100, &content);
    grb_directory *dir = fault_directory_open(disk);
    grb_durable *d = NULL;
    seen s;
    size_t size = 3u << 20;
    uint8_t *doc = calloc(1, size);
    assert_int_equal(open_and_replay(dir, true, &d, &s, NULL), GREBE_OK);
    assert_false(grb_durable_log_fits(d, GRB_LOG_PENDING_MAX + 1));
    assert_int_equal(doc_append(d, 2, doc, size, NULL), GREBE_OK);
    assert_int_equal(doc_append(d, 3, doc, size, NULL), GREBE_OK);
    assert_false(grb_durable_log_fits(d, size));
    assert_int_equal(doc_append(d, 4, doc, size, NULL), GREBE_LIMIT);
    assert_false(grb_durable_poisoned(d));
    grb_durable_close(d);
    assert_int_equal(open_and_replay(dir, true, &d, &s, NULL), GREBE_OK);
    assert_int_equal(s.number, 3);
    grb_durable_close(d);
    grb_directory_close(dir);
    fault_disk_free(disk);
    free(doc);
}

/* ---- random scenarios ---- */

typedef struct model {
    fault_disk *disk;
    bool exists;                          /* an acknowledged index */
    uint64_t number, content;             /* of the open index */
    uint64_t tried_number, tried_content; /* the commit being tried */
    /* What may be found: the last acknowledged commit, and each that was
     * begun since and failed, even if it was read meanwhile: only the next
     * acknowledged one decides. */
    uint64_t numbers[64], contents[64];
    size_t count;
    bool failed; /* the last step did */
} model;

static bool segment_make(model *m, grb_directory *dir, uint64_t number) {
    char name[32];
    grb_file *f = NULL;
    grb_segment_file_name(number, name);
    bool good =
        dir->ops->file_open(dir, name, true, true, &f, NULL) == GREBE_OK &&
        dir->ops->file_write(f, 0, name, sizeof name, NULL) == GREBE_OK &&
        grb_file_sync(f, NULL) == GREBE_OK;
    if (f) dir->ops->file_close(f);
    return good;
}

static bool segments_there(model *m, const grb_state *state) {
    for (uint32_t i = 0; i < state->segment_count; i++) {
        char name[32] = {0};
        grb_segment_file_name(state->segments[i].file_number, name);
        fault_file *f = fault_disk_find(m->disk, name);
        if (!f || f->size != 32 || strcmp((char *)f->bytes, name) != 0)
            return false;
    }
    return true;
}

static void acknowledge(model *m, bool ok) {
    m->failed = !ok;
    if (ok) {
        m->exists = true;
        m->number = m->tried_number;
        m->content = m->tried_content;
        m->count = 0;
    }
    if (m->count == GRB_COUNT(m->numbers)) abort();
    m->numbers[m->count] = m->tried_number;
    m->contents[m->count++] = m->tried_content;
}

static model model_make(uint64_t seed) {
    model m = {.disk = fault_disk_new(seed), .count = 1};
    return m;
}

static bool step_append(model *m, grb_durable *d) {
    uint8_t doc[5000];
    size_t size = (size_t)fault_random(m->disk, 4) == 0
                      ? (size_t)fault_random(m->disk, sizeof doc)
                      : (size_t)fault_random(m->disk, 200);
    for (size_t i = 0; i < size; i++)
        doc[i] = (uint8_t)fault_random(m->disk, 256);
    m->tried_number = m->number + 1 + fault_random(m->disk, 3);
    m->tried_content = content_fold(m->content, doc, size);
    bool ok = doc_append(d, m->tried_number, doc, size, NULL) == GREBE_OK;
    acknowledge(m, ok);
    return ok;
}

static bool step_checkpoint(model *m, grb_directory *dir, grb_durable *d) {
    grb_state_segment segments[64];
    const grb_state *old = grb_durable_state(d);
    uint32_t count = 0, more = (uint32_t)fault_random(m->disk, 3);
    for (uint32_t i = 0; i < old->segment_count && count < 40; i++)
        if (fault_random(m->disk, 2)) segments[count++] = old->segments[i];
    for (uint32_t i = 0; i < more; i++) {
        uint64_t number = grb_durable_next_file(d);
        if (!segment_make(m, dir, number)) return false;
        segments[count++] = (grb_state_segment){number, 10, NULL};
    }
    m->tried_number = m->number + 1;
    m->tried_content = content_fold(m->content, "checkpoint", 10);
    grb_state state = state_of(m->tried_number, m->tried_content);
    state.segments = segments;
    state.segment_count = count;
    bool ok = grb_durable_checkpoint(d, &state, NULL, 0, NULL) == GREBE_OK;
    acknowledge(m, ok);
    return ok;
}

/* Opens or creates; false if what is there is wrong. `*out` may stay NULL
 * where a fault was injected. */
static bool process_open(model *m, grb_directory *dir, bool faults,
                         grb_durable **out) {
    bool exists = false;
    seen s;
    grebe_error err = {0};
    if (grb_durable_exists(dir, &exists, NULL) != GREBE_OK) return faults;
    if (!exists && m->exists) return false;
    if (!exists) {
        grb_state state = state_of(0, 0);
        m->number = m->content = 0;
        m->failed = grb_durable_create(dir, &state, out, NULL) != GREBE_OK;
        m->exists = !m->failed;
        return m->exists || faults;
    }
    grebe_status status = open_and_replay(dir, true, out, &s, &err);
    if (status != GREBE_OK) {
        if (!faults && !m->disk->sync_lies)
            print_error("  %s (%s)\n", err.message, err.file);
        return faults && status == GREBE_STORAGE;
    }
    if (!segments_there(m, grb_durable_state(*out))) return false;
    m->number = s.number;
    m->content = s.content;
    m->failed = false;
    for (size_t i = 0; i < m->count; i++)
        if (s.number == m->numbers[i] && s.content == m->contents[i])
            return true;
    return false;
}

static void process_steps(model *m, grb_directory *dir, grb_durable *d) {
    uint64_t steps = fault_random(m->disk, 8);
    for (uint64_t i = 0; i < steps; i++) {
        bool ok = fault_random(m->disk, 4) ? step_append(m, d)
                                           : step_checkpoint(m, dir, d);
        if (!ok) return;
    }
}

/* Some processes one after the other; each ends well, dies, fails or loses
 * power in some call. */
static bool scenario(uint64_t seed, bool lies) {
    model m = model_make(seed);
    bool right = true;
    uint64_t processes = 2 + fault_random(m.disk, 5);
    for (uint64_t p = 0; p < processes && right; p++) {
        grb_directory *dir = fault_directory_open(m.disk);
        grb_durable *d = NULL;
        uint64_t how = p + 1 == processes ? 0 : fault_random(m.disk, 4);
        m.disk->sync_lies = lies;
        m.disk->fail_at =
            how >= 2 ? m.disk->calls + 1 + fault_random(m.disk, 40) : 0;
        m.disk->stop_at = how == 3;
        m.disk->kind = FAULT_EIO + fault_random(m.disk, 3);
        right = process_open(&m, dir, how >= 2, &d);
        if (right && d) process_steps(&m, dir, d);
        if (d) grb_durable_close(d);
        grb_directory_close(dir);
        m.disk->fail_at = 0;
        m.disk->stop_at = false;
        if (fault_random(m.disk, 3) < (how == 3 ? 2 : 1))
            fault_disk_crash(m.disk);
    }
    fault_disk_free(m.disk);
    return right;
}

static void no_crash_loses_an_acknowledged_commit(void **u) {
    const char *wanted = getenv("GREBE_SCENARIOS");
    uint64_t count = wanted ? strtoull(wanted, NULL, 10) : 5000;
    for (uint64_t seed = 1; seed <= count; seed++)
        if (!scenario(seed, false)) {
            print_error("scenario %llu\n", (unsigned long long)seed);
            fail();
        }
}

static void a_disk_whose_syncs_lie_is_found_out(void **u) {
    uint64_t wrong = 0;
    for (uint64_t seed = 1; seed <= 300; seed++)
        wrong += !scenario(seed, true);
    assert_true(wrong > 20);
}

/* Short scenario, every call: create, append, append, checkpoint, append,
 * with power lost in the n-th call and settled in several ways. */
static void power_may_fail_in_every_call_of_a_short_life(void **u) {
    bool reached = true;
    for (uint64_t n = 1; reached; n++) {
        for (uint64_t way = 0; way < 24; way++) {
            model m = model_make(n * 1000 + way);
            grb_directory *dir = fault_directory_open(m.disk);
            grb_durable *d = NULL;
            m.disk->fail_at = n;
            m.disk->stop_at = true;
            bool ok = process_open(&m, dir, true, &d);
            assert_true(ok);
            ok = d && step_append(&m, d) && step_append(&m, d) &&
                 step_checkpoint(&m, dir, d) && step_append(&m, d) &&
                 step_checkpoint(&m, dir, d);
            reached = m.disk->calls >= n;
            grb_durable_close(d);
            d = NULL;
            grb_directory_close(dir);
            fault_disk_crash(m.disk);
            dir = fault_directory_open(m.disk);
            assert_true(process_open(&m, dir, false, &d));
            assert_true(step_append(&m, d));
            grb_durable_close(d);
            grb_directory_close(dir);
            fault_disk_free(m.disk);
        }
    }
}

/* Every call fails once, reads and opens too: an error, no leak, and what was
 * acknowledged is there when the fault is over. */
static void any_store_call_may_fail_once_or_from_then_on(void **u) {
    for (int kind = FAULT_EIO; kind <= FAULT_SHORT; kind++)
        for (int sticky = 0; sticky < 2; sticky++) {
            bool reached = true;
            for (uint64_t n = 1; reached; n++) {
                model m = model_make(n);
                grb_directory *dir = fault_directory_open(m.disk);
                grb_durable *d = NULL;
                m.disk->fail_at = n;
                m.disk->kind = kind;
                m.disk->sticky = sticky;
                m.disk->count_reads = true;
                assert_true(process_open(&m, dir, true, &d));
                for (int i = 0; d && i < 3; i++) {
                    (void)step_append(&m, d);
                    if (m.failed) break;
                    (void)step_checkpoint(&m, dir, d);
                    if (m.failed) break;
                    grb_durable_close(d);
                    d = NULL;
                    assert_true(process_open(&m, dir, true, &d));
                }
                reached = m.disk->calls >= n;
                grb_durable_close(d);
                d = NULL;
                m.disk->fail_at = 0;
                assert_true(process_open(&m, dir, false, &d));
                assert_true(step_append(&m, d));
                grb_durable_close(d);
                grb_directory_close(dir);
                fault_disk_free(m.disk);
            }
        }
}

/* Without syncs a crash may take commits, from the end; never the middle, and
 * a torn log is no damage. */
static void durability_none_loses_only_from_the_end(void **u) {
    for (uint64_t seed = 1; seed <= 500; seed++) {
        uint64_t contents[8] = {0};
        fault_disk *disk = disk_make(1, 50, &contents[0]);
        disk->seed = seed;
        grb_directory *dir = fault_directory_open(disk);
        grb_durable *d = NULL;
        seen s;
        dir->sync_off = true;
        assert_int_equal(open_and_replay(dir, true, &d, &s, NULL), 0);
        for (uint64_t i = 1; i < 8; i++) {
            assert_int_equal(doc_append(d, i + 1, &i, 8, NULL), GREBE_OK);
            contents[i] = content_fold(contents[i - 1], &i, 8);
        }
        assert_int_equal(atomic_load(&dir->syncs), 0);
        grb_durable_close(d);
        grb_directory_close(dir);
        fault_disk_crash(disk);
        dir = fault_directory_open(disk);
        assert_int_equal(open_and_replay(dir, true, &d, &s, NULL), 0);
        assert_in_range(s.number, 1, 8);
        assert_int_equal(s.content, contents[s.number - 1]);
        /* A writer that syncs goes on, and is believed after a crash. */
        assert_int_equal(doc_append(d, 9, "nine", 4, NULL), GREBE_OK);
        uint64_t want = content_fold(s.content, "nine", 4);
        grb_durable_close(d);
        grb_directory_close(dir);
        fault_disk_crash(disk);
        assert_int_equal(disk_look(disk, &s, NULL), GREBE_OK);
        assert_int_equal(s.number, 9);
        assert_int_equal(s.content, want);
        fault_disk_free(disk);
    }
}

/* What was written without syncs is made good before the first commit that
 * promises anything. */
static void the_first_synced_commit_after_none_holds_everything(void **u) {
    for (uint64_t seed = 1; seed <= 300; seed++) {
        model m = model_make(seed);
        grb_directory *dir = fault_directory_open(m.disk);
        grb_durable *d = NULL;
        dir->sync_off = true;
        assert_true(process_open(&m, dir, false, &d));
        for (int i = 0; i < 3; i++) {
            assert_true(step_append(&m, d));
            assert_true(step_checkpoint(&m, dir, d));
        }
        if (seed & 1) assert_true(step_append(&m, d));
        grb_durable_close(d);
        d = NULL;
        dir->sync_off = false;
        assert_true(process_open(&m, dir, false, &d));
        assert_true(step_append(&m, d));
        grb_durable_close(d);
        d = NULL;
        grb_directory_close(dir);
        fault_disk_crash(m.disk);
        dir = fault_directory_open(m.disk);
        assert_true(process_open(&m, dir, false, &d));
        grb_durable_close(d);
        grb_directory_close(dir);
        fault_disk_free(m.disk);
    }
}

/* Somebody indexes log files: their signs of life are of another place. */
static void a_log_inside_a_document_is_no_evidence(void **u) {
    uint64_t content;
    fault_disk *disk = disk_make(5, 300, &content);
    fault_file *log = fault_disk_find(disk, log_name());
    grb_directory *dir = fault_directory_open(disk);
    grb_durable *d = NULL;
    seen s;
    uint8_t doc[8192] = {0};
    assert_int_equal(open_and_replay(dir, true, &d, &s, NULL), GREBE_OK);
    /* So that the copied sectors start at sectors again. */
    size_t pad = 512 - 72 - 1 - 2;
    memcpy(doc + pad, log->bytes, sizeof doc - pad);
    uint64_t at = d->log.tail;
    assert_int_equal(doc_append(d, 6, doc, sizeof doc, NULL), GREBE_OK);
    assert_memory_equal(log->bytes + at + 512, "GRBLOG01", 8);
    memset(log->bytes + d->log.tail, 0, 16); /* its acknowledgement */
    log->bytes[at + 100] ^= 1;
    grb_durable_close(d);
    assert_int_equal(open_and_replay(dir, true, &d, &s, NULL), GREBE_OK);
    assert_int_equal(s.content, content);
    grb_durable_close(d);
    grb_directory_close(dir);
    fault_disk_free(disk);
}

/* A torn commit is made again, byte for byte; what an earlier writer left
 * behind it must not continue the chain. */
static void no_commit_comes_back_from_behind_a_torn_one(void **u) {
    uint64_t content;
    fault_disk *disk = disk_make(1, 50, &content);
    grb_directory *dir = fault_directory_open(disk);
    grb_durable *d = NULL;
    seen s;
    dir->sync_off = true;
    assert_int_equal(open_and_replay(dir, true, &d, &s, NULL), GREBE_OK);
    uint64_t torn = d->log.tail;
    assert_int_equal(doc_append(d, 2, "two", 3, NULL), GREBE_OK);
    assert_int_equal(doc_append(d, 3, "three", 5, NULL), GREBE_OK);
    grb_durable_close(d);
    memset(fault_disk_find(disk, log_name())->bytes + torn, 0, 512);
    assert_int_equal(open_and_replay(dir, true, &d, &s, NULL), GREBE_OK);
    assert_int_equal(s.number, 1);
    assert_int_equal(doc_append(d, 2, "two", 3, NULL), GREBE_OK);
    grb_durable_close(d);
    assert_int_equal(open_and_replay(dir, true, &d, &s, NULL), GREBE_OK);
    assert_int_equal(s.number, 2);
    grb_durable_close(d);
    grb_directory_close(dir);
    fault_disk_free(disk);
}

/* An allocator that refuses its n-th request. */
static int refusals_left;
static void *refusing_resize(void *context, void *block, size_t old_size,
                             size_t new_size) {
    if (new_size > old_size && refusals_left-- == 0) return NULL;
    return grb_allocator_malloc.resize(NULL, block, old_size, new_size);
}

/* The life of an index in which the n-th allocation fails: an error, nothing
 * poisoned by it unless a sync was under way, nothing lost. */
static void any_allocation_may_be_refused(void **u) {
    static const grebe_allocator hook = {refusing_resize, NULL};
    bool refused = true;
    for (int n = 0; refused; n++) {
        model m = model_make((uint64_t)n);
        grb_directory *dir = fault_directory_open(m.disk);
        grb_durable *d = NULL;
        grebe_error err = {0};
        grb_state state = state_of(0, 0);
        seen s;
        dir->allocator = &hook;
        refusals_left = n;
        if (grb_durable_create(dir, &state, &d, NULL) == GREBE_OK) {
            m.exists = true;
            bool ok = step_append(&m, d) && step_checkpoint(&m, dir, d) &&
                      step_append(&m, d);
            grb_durable_close(d);
            d = NULL;
            if (ok && open_and_replay(dir, true, &d, &s, &err) == GREBE_OK)
                grb_durable_close(d);
            assert_true(err.status == GREBE_OK || err.status == GREBE_MEMORY);
            d = NULL;
        }
        refused = refusals_left < 0;
        refusals_left = INT32_MAX;
        assert_true(process_open(&m, dir, false, &d));
        assert_true(step_append(&m, d));
        grb_durable_close(d);
        grb_directory_close(dir);
        fault_disk_free(m.disk);
    }
}

/* The same on a real folder: a reader beside the writer, one sync each. */
static void a_folder_keeps_what_was_committed(void **u) {
    char path[] = "/tmp/grebe-durable-XXXXXX", command[64];
    grb_directory *dir = NULL, *other = NULL;
    grb_durable *w = NULL, *r = NULL;
    grb_state state = state_of(0, 0);
    uint64_t content = 0;
    bool changed = false;
    seen s;
    assert_non_null(mkdtemp(path));
    assert_int_equal(grb_directory_open_folder(&grb_allocator_malloc, path,
                                               GREBE_STORE_MMAP, false, &dir,
                                               NULL),
                     GREBE_OK);
    assert_int_equal(grb_directory_open_folder(&grb_allocator_malloc, path,
                                               GREBE_STORE_PREAD, false,
                                               &other, NULL),
                     GREBE_OK);
    assert_int_equal(dir->ops->lock(dir, NULL), GREBE_OK);
    assert_int_equal(grb_durable_create(dir, &state, &w, NULL), GREBE_OK);
    assert_int_equal(open_and_replay(other, false, &r, &s, NULL), GREBE_OK);
    for (uint64_t i = 1; i <= 50; i++) {
        uint64_t before = atomic_load(&dir->syncs);
        assert_int_equal(doc_append(w, i, &i, sizeof i, NULL), GREBE_OK);
        assert_int_equal(atomic_load(&dir->syncs) - before, 1);
        content = content_fold(content, &i, sizeof i);
        assert_int_equal(grb_durable_changed(r, &changed, NULL), GREBE_OK);
        assert_true(changed);
        grb_durable_close(r);
        assert_int_equal(open_and_replay(other, false, &r, &s, NULL), 0);
        assert_int_equal(s.content, content);
    }
    assert_int_equal(grb_durable_changed(r, &changed, NULL), GREBE_OK);
    assert_false(changed);
    grb_durable_close(r);
    grb_durable_close(w);
    assert_int_equal(open_and_replay(dir, true, &w, &s, NULL), GREBE_OK);
    assert_int_equal(s.content, content);
    grb_durable_close(w);
    grb_directory_close(other);
    grb_directory_close(dir);
    snprintf(command, sizeof command, "rm -rf %s", path);
    assert_int_equal(system(command), 0);
}

static int schema_make(void **u) {
    grebe_field field = {"id", GREBE_KEYWORD,
                         GREBE_STORED | GREBE_INDEXED | GREBE_KEY, NULL, NULL};
    return grb_schema_new(&grb_allocator_malloc, &schema, NULL) != GREBE_OK ||
           grb_schema_append(schema, &field, NULL, NULL) != GREBE_OK;
}
static int schema_drop(void **u) {
    grb_schema_release(schema);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_record_comes_back_in_order),
        cmocka_unit_test(an_append_is_one_sync_also_after_a_clean_reopening),
        cmocka_unit_test(a_tail_torn_at_any_byte_gives_the_commit_before),
        cmocka_unit_test(a_flipped_byte_gives_an_error_or_the_same_answer),
        cmocka_unit_test(a_cut_file_gives_an_error_or_the_same_answer),
        cmocka_unit_test(a_missing_or_exchanged_file_is_damage),
        cmocka_unit_test(a_newer_format_is_refused_and_left_alone),
        cmocka_unit_test(crafted_states_are_refused_by_their_bounds),
        cmocka_unit_test(bitmaps_and_segments_come_back),
        cmocka_unit_test(the_writer_after_a_failed_sync_loses_nothing),
        cmocka_unit_test(a_full_disk_costs_the_commit_not_the_writer),
        cmocka_unit_test(a_reader_learns_of_commits_and_checkpoints),
        cmocka_unit_test(the_log_has_a_limit_and_large_groups_fit_below_it),
        cmocka_unit_test(no_crash_loses_an_acknowledged_commit),
        cmocka_unit_test(a_disk_whose_syncs_lie_is_found_out),
        cmocka_unit_test(power_may_fail_in_every_call_of_a_short_life),
        cmocka_unit_test(any_store_call_may_fail_once_or_from_then_on),
        cmocka_unit_test(durability_none_loses_only_from_the_end),
        cmocka_unit_test(the_first_synced_commit_after_none_holds_everything),
        cmocka_unit_test(any_allocation_may_be_refused),
        cmocka_unit_test(a_folder_keeps_what_was_committed),
        cmocka_unit_test(no_commit_comes_back_from_behind_a_torn_one),
        cmocka_unit_test(a_log_inside_a_document_is_no_evidence),
    };
    return cmocka_run_group_tests(tests, schema_make, schema_drop);
}
