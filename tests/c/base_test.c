/* rooms: base */
/* tests/c/base_test.c - errors, memory, bytes, UTF-8, lengths, fork. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "oracle.h"

/* ---- an allocator that counts and can refuse ---- */

typedef struct meter {
    size_t live, blocks;
    int left; /* requests granted before one is refused; -1: all */
} meter;

static void *meter_resize(void *context, void *block, size_t old_size,
                          size_t new_size) {
    meter *m = context;
    if (new_size && m->left == 0) return NULL;
    if (new_size && m->left > 0) m->left--;
    m->live += new_size - old_size;
    m->blocks += (new_size && !block) - (!new_size && block);
    if (!new_size) {
        free(block);
        return NULL;
    }
    return realloc(block, new_size);
}

static void error_is_cut_between_code_points(void **state) {
    (void)state;
    char text[1000] = "x";
    grebe_error err;
    for (size_t i = 1; i + 3 < sizeof text; i += 3)
        memcpy(text + i, "\xE2\x82\xAC", 4);
    assert_int_equal(grb_error(&err, GREBE_LIMIT, "%s", text), GREBE_LIMIT);
    grb_error_field(&err, text);
    grb_error_key(&err, text, strlen(text));
    size_t bad;
    assert_true(grb_utf8_valid(err.message, strlen(err.message), &bad));
    assert_true(grb_utf8_valid(err.field, strlen(err.field), &bad));
    assert_true(grb_utf8_valid(err.key, strlen(err.key), &bad));
    assert_true(strlen(err.message) >= GREBE_ERROR_MESSAGE_SIZE - 4);
}

static void error_may_be_made_from_itself(void **state) {
    (void)state;
    grebe_error err;
    grb_error(&err, GREBE_SYNTAX, "inner");
    grb_error(&err, GREBE_ARGUMENT, "outer: %s", err.message);
    assert_string_equal(err.message, "outer: inner");
    assert_int_equal(err.status, GREBE_ARGUMENT);
    assert_true(err.offset == GREBE_NO_OFFSET);
}

static void error_names_file_offset_and_errno(void **state) {
    (void)state;
    grebe_error err;
    char longer[300];
    memset(longer, 'd', sizeof longer);
    memcpy(longer + 288, "/file.0001", 11);
    assert_int_equal(grb_error_storage(&err, ENOSPC, longer, "cannot write"),
                     GREBE_STORAGE);
    assert_int_equal(err.os_error, ENOSPC);
    assert_string_equal(err.file + strlen(err.file) - 10, "/file.0001");
    assert_int_equal(grb_error_corrupt(&err, "a", 77, "bad %d", 3),
                     GREBE_CORRUPT);
    assert_true(err.offset == 77 && err.os_error == 0);
    assert_int_equal(grb_error(NULL, GREBE_STATE, "x"), GREBE_STATE);
    grb_error_field(NULL, "f");
}

static void status_has_a_word_and_a_meaning(void **state) {
    (void)state;
    assert_string_equal(grebe_status_word(GREBE_OK), "ok");
    assert_string_equal(grebe_status_word(GREBE_LOCKED), "locked");
    assert_string_equal(grebe_status_word((grebe_status)99), "unknown");
    assert_non_null(strstr(grebe_status_meaning(GREBE_CORRUPT), "damaged"));
}

static void arena_gives_aligned_blocks_and_everything_back(void **state) {
    (void)state;
    meter m = {.left = -1};
    grebe_allocator a = {meter_resize, &m};
    grb_arena arena;
    grb_arena_init(&arena, &a, 0);
    for (size_t i = 0; i < 5000; i++) {
        uint8_t *small = grb_arena_alloc(&arena, i % 97);
        uint8_t *line = grb_arena_line(&arena, i * 7 % 3000);
        assert_true(((uintptr_t)small & 15) == 0);
        assert_true(((uintptr_t)line & 63) == 0);
        memset(small, 1, i % 97);
        memset(line, 2, i * 7 % 3000);
    }
    assert_true(m.live == arena.size);
    assert_string_equal(grb_arena_copy(&arena, "word", 5), "word");
    grb_arena_reset(&arena);
    assert_int_equal(m.blocks, 1);
    assert_true(m.live == arena.size);
    assert_non_null(grb_arena_zero(&arena, 100));
    grb_arena_deinit(&arena);
    assert_int_equal(m.live, 0);
}

static void arena_stops_at_its_ceiling(void **state) {
    (void)state;
    grb_arena arena;
    grb_arena_init(&arena, &grb_allocator_malloc, 10000);
    size_t got = 0;
    while (grb_arena_alloc(&arena, 100)) got += 100;
    assert_true(got > 7000 && got <= 10000);
    assert_true(arena.size <= 10000);
    assert_null(grb_arena_alloc(&arena, SIZE_MAX));
    grb_arena_deinit(&arena);
}

static void line_allocation_is_freed_with_its_size(void **state) {
    (void)state;
    meter m = {.left = -1};
    grebe_allocator a = {meter_resize, &m};
    for (size_t size = 0; size < 300; size++) {
        uint8_t *line = grb_alloc_line(&a, size);
        assert_true(((uintptr_t)line & 63) == 0);
        memset(line, 7, size);
        grb_free_line(&a, line, size);
        assert_int_equal(m.live, 0);
    }
    assert_null(grb_alloc_line(&a, SIZE_MAX));
}

static void cursor_reads_what_buf_put(void **state) {
    (void)state;
    grb_buf buf;
    grb_cursor c;
    size_t size;
    grb_buf_init(&buf, &grb_allocator_malloc, 0);
    grb_buf_u8(&buf, 200);
    grb_buf_u16(&buf, 0x1234);
    grb_buf_u32(&buf, 0xDEADBEEF);
    grb_buf_u64(&buf, UINT64_MAX - 5);
    for (unsigned s = 0; s < 64; s++) grb_buf_varint(&buf, UINT64_MAX >> s);
    grb_buf_bytes(&buf, "hello", 5);
    grb_buf_printf(&buf, "%d-%s", 42, "x");
    assert_false(buf.failed);
    assert_int_equal(buf.bytes[1], 0x34);
    grb_cursor_init(&c, buf.bytes, buf.size);
    assert_int_equal(grb_cursor_u8(&c), 200);
    assert_int_equal(grb_cursor_u16(&c), 0x1234);
    assert_true(grb_cursor_u32(&c) == 0xDEADBEEF);
    assert_true(grb_cursor_u64(&c) == UINT64_MAX - 5);
    for (unsigned s = 0; s < 64; s++)
        assert_true(grb_cursor_varint(&c) == UINT64_MAX >> s);
    assert_memory_equal(grb_cursor_bytes(&c, &size), "hello", 5);
    assert_int_equal(size, 5);
    assert_memory_equal(grb_cursor_take(&c, 4), "42-x", 4);
    assert_int_equal(grb_cursor_left(&c), 0);
    assert_false(c.failed);
    grb_buf_deinit(&buf);
}

static void cursor_fails_for_good_past_the_end(void **state) {
    (void)state;
    const uint8_t bytes[] = {0x80, 0x80, 1, 2, 3};
    const uint8_t over[] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
                            0xFF, 0xFF, 0xFF, 0xFF, 0x02};
    grb_cursor c;
    size_t size;
    grb_cursor_init(&c, bytes, sizeof bytes);
    assert_true(grb_cursor_u64(&c) == 0 && c.failed);
    assert_int_equal(grb_cursor_u8(&c), 0);
    grb_cursor_init(&c, bytes, 2);
    assert_true(grb_cursor_varint(&c) == 0 && c.failed);
    grb_cursor_init(&c, over, sizeof over);
    assert_true(grb_cursor_varint(&c) == 0 && c.failed);
    grb_cursor_init(&c, over, sizeof over);
    assert_null(grb_cursor_bytes(&c, &size));
    assert_true(c.failed && size == 0);
    grb_cursor_init(&c, NULL, 0);
    assert_false(c.failed);
}

static void buf_keeps_whole_puts_when_refused(void **state) {
    (void)state;
    grb_buf buf;
    grb_buf_init(&buf, &grb_allocator_malloc, 100);
    for (int i = 0; i < 50; i++) grb_buf_u32(&buf, 7);
    assert_true(buf.failed && buf.size == 100);
    grb_buf_u8(&buf, 1);
    assert_int_equal(buf.size, 100);
    grb_buf_clear(&buf);
    grb_buf_u8(&buf, 1);
    assert_true(!buf.failed && buf.size == 1);
    grb_buf_deinit(&buf);
    meter m = {.left = 0};
    grebe_allocator a = {meter_resize, &m};
    grb_buf_init(&buf, &a, 0);
    grb_buf_printf(&buf, "%s", "refused");
    assert_true(buf.failed && buf.size == 0);
    grb_buf_deinit(&buf);
}

/* RFC 3629 by ranges, as plainly as can be. */
static bool plain_valid(const uint8_t *s, size_t n) {
    for (size_t i = 0; i < n;) {
        uint32_t c = s[i], length = c < 0x80                ? 1
                                    : c >= 0xC2 && c < 0xE0 ? 2
                                    : c >= 0xE0 && c < 0xF0 ? 3
                                    : c >= 0xF0 && c < 0xF5 ? 4
                                                            : 0;
        if (length == 0 || i + length > n) return false;
        uint32_t v = length == 1 ? c : c & (0x7Fu >> length);
        for (uint32_t k = 1; k < length; k++) {
            if ((s[i + k] & 0xC0) != 0x80) return false;
            v = v << 6 | (s[i + k] & 0x3F);
        }
        static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
        if (v < least[length] || v > 0x10FFFF || (v >> 11) == 0x1B)
            return false;
        i += length;
    }
    return true;
}

static void utf8_is_strict(void **state) {
    (void)state;
    uint8_t text[80];
    for (uint32_t pair = 0; pair < 65536; pair++) {
        for (uint32_t tail = 0; tail < 4; tail++) {
            static const uint8_t tails[] = {0x80, 0xBF, 'a', 0xC2};
            memset(text, 'a', sizeof text);
            uint8_t *at = text + pair % 41;
            at[0] = (uint8_t)(pair >> 8);
            at[1] = (uint8_t)pair;
            at[2] = at[3] = tails[tail];
            size_t size = (size_t)(at - text) + 2 + pair % 5, bad = 999;
            bool valid = plain_valid(text, size);
            assert_true(grb_utf8_valid((char *)text, size, &bad) == valid);
            assert_true(valid || bad < size);
        }
    }
}

static void utf8_decodes_what_it_encodes(void **state) {
    (void)state;
    char bytes[4];
    for (uint32_t c = 0; c < 0x110000; c++) {
        if (c >> 11 == 0x1B) continue;
        uint32_t back, size = grb_utf8_encode(c, bytes);
        assert_int_equal(grb_utf8_decode(bytes, &back), size);
        assert_int_equal(back, c);
        assert_true(grb_utf8_valid(bytes, size, NULL));
    }
}

static void lengths_are_lucenes(void **state) {
    (void)state;
    for (uint32_t b = 0; b < 256; b++)
        assert_int_equal(grb_length_encode(grb_length_decode[b]), b);
    for (uint32_t n = 0; n < 3000000; n++) {
        uint8_t b = grb_length_encode(n);
        assert_true(grb_length_decode[b] <= n && n < grb_length_decode[b + 1]);
    }
    assert_int_equal(grb_length_encode(UINT32_MAX), 255);
    oracle *all = oracle_open("oracle/lucene/similarity.jsonl.gz");
    if (!all) skip();
    bool seen = false;
    for (json_t *line; (line = oracle_next(all)); json_decref(line)) {
        if (strcmp(oracle_text(line, "kind", NULL), "byte4") != 0) continue;
        size_t i;
        json_t *v;
        seen = true;
        json_array_foreach(json_object_get(line, "decode"), i, v)
            assert_int_equal(grb_length_decode[i], json_integer_value(v));
        json_array_foreach(json_object_get(line, "encode"), i, v)
            assert_int_equal(grb_length_encode((uint32_t)json_integer_value(
                                 json_array_get(v, 0))),
                             json_integer_value(json_array_get(v, 1)));
    }
    oracle_close(all);
    assert_true(seen);
}

static void ordered_doubles_compare_like_doubles(void **state) {
    (void)state;
    const double values[] = {-1e308, -2.5, -1e-300, -0.0, 0.0,
                             1e-300, 1.0,  2.5,     1e308};
    for (size_t i = 0; i < GRB_COUNT(values); i++) {
        int64_t v = grb_double_to_ordered(values[i]);
        double back = grb_double_from_ordered(v);
        assert_memory_equal(&back, &values[i], 8);
        if (i) assert_true(grb_double_to_ordered(values[i - 1]) < v);
    }
}

static void pages_cover_all_documents(void **state) {
    (void)state;
    for (uint32_t doc = 0; doc < 50000; doc++) {
        uint32_t place, page = grb_page_of(doc, &place);
        assert_int_equal(grb_page_first(page) + place, doc);
        assert_true(place < grb_page_size(page));
    }
}

static void hash_depends_on_bytes_and_seed(void **state) {
    (void)state;
    assert_true(grb_hash("", 0, 0) == UINT64_C(0x2D06800538D394C2));
    assert_true(grb_hash("a", 1, 1) != grb_hash("a", 1, 2));
    assert_true(grb_random() != grb_random());
    uint64_t then = grb_clock_ns();
    assert_true(grb_clock_ns() >= then);
}

static int child_status(void) {
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        uint32_t mark = grb_process_mark();
        bool right = mark != 1 && mark == grb_process_mark();
        pid_t inner = fork();
        if (inner == 0) _exit(grb_process_mark() == mark);
        waitpid(inner, &status, 0);
        _exit(!right || status != 0);
    }
    waitpid(pid, &status, 0);
    return status;
}

static void child_of_a_fork_knows_it(void **state) {
    (void)state;
    assert_int_equal(grb_process_mark(), 1);
    assert_int_equal(child_status(), 0);
    assert_int_equal(grb_process_mark(), 1);
}

static void handles_are_counted(void **state) {
    (void)state;
    uint64_t before = grebe_live_handles();
    grb_handle_born();
    assert_true(grebe_live_handles() == before + 1);
    grb_handle_died();
    assert_true(grebe_live_handles() == before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error_is_cut_between_code_points),
        cmocka_unit_test(error_may_be_made_from_itself),
        cmocka_unit_test(error_names_file_offset_and_errno),
        cmocka_unit_test(status_has_a_word_and_a_meaning),
        cmocka_unit_test(arena_gives_aligned_blocks_and_everything_back),
        cmocka_unit_test(arena_stops_at_its_ceiling),
        cmocka_unit_test(line_allocation_is_freed_with_its_size),
        cmocka_unit_test(cursor_reads_what_buf_put),
        cmocka_unit_test(cursor_fails_for_good_past_the_end),
        cmocka_unit_test(buf_keeps_whole_puts_when_refused),
        cmocka_unit_test(utf8_is_strict),
        cmocka_unit_test(utf8_decodes_what_it_encodes),
        cmocka_unit_test(lengths_are_lucenes),
        cmocka_unit_test(ordered_doubles_compare_like_doubles),
        cmocka_unit_test(pages_cover_all_documents),
        cmocka_unit_test(hash_depends_on_bytes_and_seed),
        cmocka_unit_test(child_of_a_fork_knows_it),
        cmocka_unit_test(handles_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
