/* rooms: base store doc analysis segment api */
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdarg.h>
#include <cmocka.h>

#include "segment_compare.h"
#include "segment/format.h"
#include "segment/kernel.h"

static grb_directory *directory;
static grebe_schema *schema;
static grb_segfile_options options = {
    .uuid = "0123456789abcde", .file_number = 7, .hash_seed = 99};

static int group_begin(void **state) {
    schema = compare_schema();
    return grb_directory_open_ram(&grb_allocator_malloc, &directory, NULL);
}
static int group_end(void **state) {
    grb_directory_close(directory);
    grebe_schema_release(schema);
    return 0;
}

static void must(grebe_status status, const grebe_error *err) {
    if (status != GREBE_OK) fprintf(stderr, "%s\n", err->message);
    assert_int_equal(status, GREBE_OK);
}

static grb_segment *file_write(const char *name, const grb_source *sources,
                               size_t count, uint32_t **map,
                               grebe_verify verify) {
    grb_segfile_written written;
    grebe_error err;
    grb_segment *s;
    options.schema = schema;
    options.map = map;
    must(grb_segfile_write(directory, name, sources, count, &options, &written, &err),
         &err);
    must(grb_segfile_open(directory, name, options.uuid, 7, verify, &s, &err),
         &err);
    return s;
}

static grb_segment *file_of(model_segment *m, const char *name) {
    grb_source source = {&m->segment, {0}, NULL};
    model_bounds(m, &source.bounds);
    return file_write(name, &source, 1, NULL, GREBE_VERIFY_TOUCH);
}

static void name_remove(const char *name) {
    directory->ops->remove(directory, name, NULL);
}

static void equal_or_fail(model_segment *m, grb_segment *s) {
    compare_side a, b;
    compare_side_init(&a, &m->segment);
    compare_side_init(&b, s);
    model_bounds(m, &a.b);
    grb_segfile_bounds(s, &b.b);
    assert_true(compare_segments(&a, &b, COMPARE_FIELDS));
    assert_false(b.failed);
    grb_arena_deinit(&a.arena);
    grb_arena_deinit(&b.arena);
}

static void a_file_answers_as_the_model_it_was_written_from(void **state) {
    static const uint32_t sizes[] = {0,   1,   2,    9,    255,  256,
                                     257, 700, 4095, 4096, 4097, 10000};
    static const uint32_t blocks[] = {1, 3, 256};
    grb_segfile_census sum = {0}, census;
    grebe_error err;
    for (size_t i = 0; i < GRB_COUNT(sizes); i++) {
        model_segment *m = compare_model(blocks[i % 3]);
        for (uint32_t n = 0; n < sizes[i]; n++) compare_add(m, i, n, 1000 + n);
        grb_segment *s = file_of(m, "seg-7");
        equal_or_fail(m, s);
        must(grb_segfile_check(s, &census, &err), &err);
        for (size_t k = 0; k < sizeof sum / 8; k++)
            ((uint64_t *)&sum)[k] += ((uint64_t *)&census)[k];
        grb_segment_release(s);
        grb_segment_release(&m->segment);
        name_remove("seg-7");
    }
    assert_true(sum.block_run && sum.block_bitmap && sum.block_for &&
                sum.block_tail && sum.term_inline && sum.block_patched);
    assert_true(sum.bytes_docs && sum.bytes_freqs && sum.bytes_impacts &&
                sum.bytes_positions);
    assert_true(sum.column_constant && sum.column_for &&
                sum.column_ascending && sum.column_sparse && sum.column_many &&
                sum.column_dictionary);
    assert_true(sum.key_buckets && sum.key_overflow && sum.impacts);
}

static void a_merge_without_the_dead_equals_a_fresh_build(void **state) {
    for (uint64_t seed = 1; seed < 9; seed++) {
        uint64_t r = seed;
        size_t count = 1 + compare_random(&r) % 4;
        model_segment *whole = compare_model(256);
        grb_source sources[4];
        uint64_t *live[4];
        uint32_t *map[4], number = 0;
        bool files = seed % 2;
        for (size_t s = 0; s < count; s++) {
            model_segment *m = compare_model(s % 2 ? 256 : 3);
            uint32_t docs = (uint32_t)(compare_random(&r) % 5000);
            if (seed == 3) docs %= 300;
            live[s] = calloc(docs / 64 + 1, 8);
            map[s] = calloc(docs + 1, 4);
            for (uint32_t i = 0; i < docs; i++, number++) {
                compare_add(m, seed, number, number);
                if (compare_random(&r) % 10 < 3 || (seed == 5 && s == 1))
                    continue;
                compare_add(whole, seed, number, number);
                grb_bit_set(live[s], i);
            }
            sources[s].segment = &m->segment;
            sources[s].live = live[s];
            model_bounds(m, &sources[s].bounds);
            if (files) {
                char name[16];
                snprintf(name, sizeof name, "seg-1%zu", s);
                grb_segment *f = file_of(m, name);
                grb_segment_release(&m->segment);
                sources[s].segment = f;
                grb_segfile_bounds(f, &sources[s].bounds);
            }
        }
        grb_segment *s = file_write("seg-7", sources, count,
                                    seed % 3 ? NULL : map, GREBE_VERIFY_OPEN);
        grebe_error err;
        equal_or_fail(whole, s);
        must(grb_segfile_check(s, NULL, &err), &err);
        grb_segment_release(s);
        grb_segment_release(&whole->segment);
        name_remove("seg-7");
        for (size_t i = 0; i < count; i++) {
            char name[16];
            grb_segment_release(sources[i].segment);
            free(live[i]);
            free(map[i]);
            snprintf(name, sizeof name, "seg-1%zu", i);
            if (files) name_remove(name);
        }
    }
}

static uint8_t *file_bytes(const char *name, size_t *size) {
    grb_region *region;
    grb_arena arena;
    const uint8_t *bytes;
    grb_arena_init(&arena, &grb_allocator_malloc, 0);
    assert_int_equal(
        directory->ops->region_open(directory, name, &region, NULL), 0);
    *size = region->size;
    region->ops->read(region, 0, *size, &arena, &bytes, NULL);
    uint8_t *out = malloc(*size + 1);
    memcpy(out, bytes, *size);
    region->ops->close(region);
    grb_arena_deinit(&arena);
    return out;
}

static void file_put(const char *name, const uint8_t *bytes, size_t size) {
    grb_file *file;
    grebe_error err;
    must(directory->ops->file_open(directory, name, true, true, &file, &err),
         &err);
    must(directory->ops->file_write(file, 0, bytes, size, &err), &err);
    directory->ops->file_close(file);
}

static void the_same_documents_give_the_same_bytes(void **state) {
    model_segment *m = compare_model(256);
    size_t sizes[2];
    uint8_t *bytes[2];
    for (uint32_t n = 0; n < 3000; n++) compare_add(m, 4, n, n);
    for (int i = 0; i < 2; i++) {
        grb_segment_release(file_of(m, "seg-7"));
        bytes[i] = file_bytes("seg-7", &sizes[i]);
        name_remove("seg-7");
        m->block_size = 3;
    }
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(bytes[0], bytes[1], sizes[0]);
    free(bytes[0]);
    free(bytes[1]);
    grb_segment_release(&m->segment);
}

/* Opens a damaged file and asks everything. */
static bool damage_is_harmless(model_segment *m, grebe_verify verify,
                               bool compared) {
    grb_segment *s;
    grebe_error err;
    compare_side a, b;
    if (grb_segfile_open(directory, "seg-7", options.uuid, 7, verify, &s,
                         &err) != GREBE_OK)
        return true;
    compare_side_init(&a, &m->segment);
    compare_side_init(&b, s);
    model_bounds(m, &a.b);
    grb_segfile_bounds(s, &b.b);
    bool same =
        a.b.max_doc != b.b.max_doc || compare_segments(&a, &b, COMPARE_FIELDS);
    grb_segfile_check(s, NULL, &err);
    grb_arena_deinit(&a.arena);
    grb_arena_deinit(&b.arena);
    grb_segment_release(s);
    return same || !compared;
}

/* The check of a header that was changed. */
static void header_sum(uint8_t *bytes, size_t head) {
    memset(bytes + 96, 0, 8);
    uint64_t sum = grb_hash(bytes, head, 0);
    memcpy(bytes + 96, &sum, 8);
}

static void a_segment_has_at_most_its_limit_of_documents(void **state) {
    model_segment *m = compare_model(256);
    grb_source sources[2] = {{&m->segment, {0}, NULL}, {&m->segment, {0}, NULL}};
    grb_segfile_written written;
    grebe_error err;
    size_t size;
    for (uint32_t n = 0; n < 24; n++) compare_add(m, 5, n, n * 2);
    model_bounds(m, &sources[0].bounds);
    model_bounds(m, &sources[1].bounds);
    sources[0].bounds.max_doc = GRB_SEGMENT_DOCS_MAX - 23;
    options.schema = schema;
    options.map = NULL;
    assert_int_equal(grb_segfile_write(directory, "seg-7", sources, 2, &options,
                                       &written, &err),
                     GREBE_LIMIT);
    assert_non_null(strstr(err.message, "2147483648 documents"));
    /* A file that says it has one more. */
    grb_segment *s = file_of(m, "seg-7");
    grb_segment_release(s);
    uint8_t *bytes = file_bytes("seg-7", &size);
    grb_store32(bytes + GRB_HEADER_MAX_DOC, GRB_SEGMENT_DOCS_MAX + 1);
    header_sum(bytes, 128 + 32 * (size_t)bytes[92]);
    name_remove("seg-7");
    file_put("seg-7", bytes, size);
    assert_int_equal(grb_segfile_open(directory, "seg-7", options.uuid, 7,
                                      GREBE_VERIFY_TOUCH, &s, &err),
                     GREBE_CORRUPT);
    free(bytes);
    name_remove("seg-7");
    grb_segment_release(&m->segment);
}

static void every_flipped_byte_is_found_or_changes_nothing(void **state) {
    model_segment *m = compare_model(256);
    size_t size;
    for (uint32_t n = 0; n < 24; n++) compare_add(m, 5, n, n * 2);
    grb_segment_release(file_of(m, "seg-7"));
    uint8_t *bytes = file_bytes("seg-7", &size);
    for (size_t at = 0; at < size; at += 1) {
        uint8_t was = bytes[at];
        bytes[at] ^= (uint8_t)(1u << at % 8);
        name_remove("seg-7");
        file_put("seg-7", bytes, size);
        if (!damage_is_harmless(m, GREBE_VERIFY_TOUCH, true))
            fail_msg("byte %zu of %zu", at, size);
        bytes[at] = was;
    }
    for (size_t cut = 0; cut < size; cut += 1 + cut / 64) {
        name_remove("seg-7");
        file_put("seg-7", bytes, cut);
        assert_true(damage_is_harmless(m, GREBE_VERIFY_TOUCH, true));
    }
    free(bytes);
    name_remove("seg-7");
    grb_segment_release(&m->segment);
}

/* The header's checksum is right again after the change: bounds alone. */
static void a_crafted_file_never_crashes_a_reader(void **state) {
    model_segment *m = compare_model(256);
    size_t size;
    uint64_t r = 77;
    for (uint32_t n = 0; n < 700; n++) compare_add(m, 6, n, n * 2);
    grb_segment_release(file_of(m, "seg-7"));
    uint8_t *good = file_bytes("seg-7", &size), *bytes = malloc(size);
    FILE *sink = freopen("/dev/null", "w", stderr);
    for (int round = 0; round < 120; round++) {
        memcpy(bytes, good, size);
        uint32_t changes = 1 + compare_random(&r) % 4;
        while (changes--)
            bytes[compare_random(&r) % (round % 4 ? size : 576)] =
                (uint8_t)compare_random(&r);
        size_t head = 128 + 32 * (size_t)bytes[92];
        if (head > 1000) continue;
        header_sum(bytes, head);
        name_remove("seg-7");
        file_put("seg-7", bytes, size);
        damage_is_harmless(m, GREBE_VERIFY_NEVER, false);
    }
    (void)sink;
    free(good);
    free(bytes);
    name_remove("seg-7");
    grb_segment_release(&m->segment);
}

/* A kernel of the table on numbers of one width: what was packed comes back,
 * and gaps become documents. */
static void kernel_compare(const grb_kernels *k, const uint32_t *in,
                           uint32_t width, uint32_t base) {
    uint8_t packed[32 * 32];
    uint32_t docs[256];
    _Alignas(64) uint32_t out[256];
    grb_pack(in, width, packed);
    k->unpack(packed, width, out);
    assert_memory_equal(in, out, sizeof out);
    k->sum(out, base);
    for (uint32_t i = 0; i < 256; i++) docs[i] = base += in[i] + 1;
    assert_memory_equal(out, docs, sizeof out);
}

static void kernels_give_the_same_numbers(void **state) {
    uint64_t r = 5;
    for (uint32_t n = 0; grb_kernels_of(n); n++) {
        const grb_kernels *k = grb_kernels_of(n);
        print_message("kernels: %s\n", k->name);
        for (uint32_t round = 0; round < 33 * 20; round++) {
            uint32_t in[256], width = round % 33;
            for (uint32_t i = 0; i < 256; i++)
                in[i] =
                    width ? (uint32_t)compare_random(&r) >> (32 - width) : 0;
            kernel_compare(k, in, width, (uint32_t)compare_random(&r));
            for (uint32_t i = 0; i < 256; i++)
                in[i] = width ? UINT32_MAX >> (32 - width) : 0;
            kernel_compare(k, in, width, UINT32_MAX);
        }
    }
    assert_string_equal(grb_kernels_of(0)->name, "plain");
}

static void packed_numbers_of_columns_come_back(void **state) {
    uint64_t r = 6;
    for (uint32_t width = 0; width <= 64; width++) {
        uint64_t in[100], out[100];
        uint8_t bytes[100 * 8 + 16] = {0};
        if (width > 56 && width < 64) continue;
        for (int i = 0; i < 100; i++)
            in[i] = width ? compare_random(&r) >> (64 - width) : 0;
        grb_bits_pack(in, 100, width, bytes);
        grb_bits_unpack(bytes, 100, width, out);
        assert_memory_equal(in, out, sizeof in);
        for (uint32_t i = 0; i < 100; i++)
            assert_true(grb_bits_get(bytes, i, width) == in[i]);
    }
}

static void ten_hits_of_a_block_decompress_it_once(void **state) {
    model_segment *m = compare_model(256);
    for (uint32_t n = 0; n < 40; n++) compare_add(m, 7, n, n);
    grb_segment *s = file_of(m, "seg-7");
    grb_buf out;
    grb_buf_init(&out, &grb_allocator_malloc, 0);
    for (uint32_t doc = 0; doc < 10; doc++)
        assert_int_equal(s->ops->stored(s, doc, &out, NULL), GREBE_OK);
    assert_int_equal(s->stored_blocks, 1);
    grb_buf_deinit(&out);
    grb_segment_release(s);
    grb_segment_release(&m->segment);
    name_remove("seg-7");
}

/* Refuses from the given call on, once or for ever. */
typedef struct refusing {
    uint64_t left;
    bool once, refused;
} refusing;
static void *refusing_resize(void *context, void *block, size_t old_size,
                             size_t new_size) {
    refusing *r = context;
    if (new_size && r->left != UINT64_MAX) {
        if (r->left == 0) {
            r->refused = true;
            if (r->once) r->left = UINT64_MAX;
            return NULL;
        }
        r->left--;
    }
    return grb_allocator_malloc.resize(grb_allocator_malloc.context, block,
                                       old_size, new_size);
}

static grebe_status file_make_all(model_segment *m, grb_source *source) {
    grebe_status status;
    grb_segfile_written written;
    grb_segment *s = NULL;
    grb_buf out;
    grb_buf_init(&out, directory->allocator, 0);
    options.schema = schema;
    GRB_TRY(grb_segfile_write(directory, "seg-7", source, 1, &options, &written, NULL));
    GRB_TRY(grb_segfile_open(directory, "seg-7", options.uuid, 7,
                             GREBE_VERIFY_OPEN, &s, NULL));
    GRB_TRY(grb_segfile_check(s, NULL, NULL));
    GRB_TRY(s->ops->stored(s, 5, &out, NULL));
done:
    if (s) grb_segment_release(s);
    grb_buf_deinit(&out);
    return status;
}

static void each_refused_allocation_is_an_error_and_no_leak(void **state) {
    model_segment *m = compare_model(256);
    grb_source source = {&m->segment, {0}, NULL};
    const grebe_allocator *usual = directory->allocator;
    for (uint32_t n = 0; n < 300; n++) compare_add(m, 9, n, n * 3);
    model_bounds(m, &source.bounds);
    size_t good_size;
    grb_segment_release(file_of(m, "seg-7"));
    uint8_t *good = file_bytes("seg-7", &good_size);
    name_remove("seg-7");
    for (uint64_t n = 0;; n += 1 + n / 50) {
        refusing r = {n, n % 2, false};
        grebe_allocator refuser = {refusing_resize, &r};
        directory->allocator = &refuser;
        grebe_status status = file_make_all(m, &source);
        bool refused = r.refused;
        r.left = UINT64_MAX;
        /* An arena refused a roomy chunk may do with a smaller one. */
        if (status == GREBE_OK) {
            size_t size;
            uint8_t *bytes = file_bytes("seg-7", &size);
            assert_true(size == good_size && !memcmp(bytes, good, size));
            free(bytes);
        } else {
            assert_int_equal(status, GREBE_MEMORY);
        }
        directory->ops->remove(directory, "seg-7", NULL);
        directory->allocator = usual;
        if (!refused) break;
    }
    free(good);
    grb_segment_release(&m->segment);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_give_the_same_numbers),
        cmocka_unit_test(packed_numbers_of_columns_come_back),
        cmocka_unit_test(a_file_answers_as_the_model_it_was_written_from),
        cmocka_unit_test(a_merge_without_the_dead_equals_a_fresh_build),
        cmocka_unit_test(the_same_documents_give_the_same_bytes),
        cmocka_unit_test(ten_hits_of_a_block_decompress_it_once),
        cmocka_unit_test(each_refused_allocation_is_an_error_and_no_leak),
        cmocka_unit_test(a_segment_has_at_most_its_limit_of_documents),
        cmocka_unit_test(every_flipped_byte_is_found_or_changes_nothing),
        cmocka_unit_test(a_crafted_file_never_crashes_a_reader),
    };
    return cmocka_run_group_tests(tests, group_begin, group_end);
}
