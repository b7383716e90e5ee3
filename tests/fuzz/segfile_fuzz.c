/* tests/fuzz/segfile_fuzz.c - changed segment files, checksums set right.
 *
 * The input is a list of changes {u16 place in units, u8 value} to a good
 * file of 300 documents; the header's checksum is then corrected and pages
 * are not verified, so that bounds alone must hold. Looked for: crashes,
 * reads outside the file, endless loops.
 *
 * cc: clang -g -O1 -fsanitize=fuzzer,address,undefined -Icore/include
 *     -Icore/src -Itests/c tests/fuzz/segfile_fuzz.c core/src/base/[a-z]*.c
 *     core/src/store/[a-z]*.c core/src/doc/[a-z]*.c core/src/segment/[a-z]*.c
 *     core/src/analysis/[a-z]*.c core/src/api/schema.c -llz4 -lxxhash
 *     -lutf8proc -lstemmer -lpthread -lm
 */
#include "segment_compare.h"

static grb_directory *directory;
static uint8_t *good;
static size_t good_size;
static const grb_segfile_options options = {
    .uuid = "0123456789abcde", .file_number = 7, .hash_seed = 99};

static void good_make(void) {
    grebe_schema *schema = compare_schema();
    model_segment *m = compare_model(256);
    grb_source source = {&m->segment, {0}, NULL};
    grb_segfile_written written;
    grb_region *region;
    grb_arena arena;
    const uint8_t *bytes;
    if (grb_directory_open_ram(&grb_allocator_malloc, &directory, NULL))
        abort();
    for (uint32_t n = 0; n < 300; n++) compare_add(m, 8, n, n * 2);
    model_bounds(m, &source.bounds);
    options.schema = schema;
    if (grb_segfile_write(directory, "seg-7", &source, 1, &options, &written, NULL))
        abort();
    grb_arena_init(&arena, &grb_allocator_malloc, 0);
    directory->ops->region_open(directory, "seg-7", &region, NULL);
    good_size = region->size;
    good = malloc(good_size);
    region->ops->read(region, 0, good_size, &arena, &bytes, NULL);
    memcpy(good, bytes, good_size);
    region->ops->close(region);
    grb_arena_deinit(&arena);
    directory->ops->remove(directory, "seg-7", NULL);
    grb_segment_release(&m->segment);
    grebe_schema_release(schema);
}

/* Asks for everything but compares nothing. */
static void all_ask(grb_segment *s) {
    grb_bounds b;
    grb_arena arena;
    grb_segfile_bounds(s, &b);
    for (uint32_t field = 0; field < COMPARE_FIELDS; field++) {
        grb_terms *terms;
        bool found = true;
        grb_arena_init(&arena, &grb_allocator_malloc, 1 << 26);
        if (s->ops->terms_open(s, &b, field, &arena, &terms, NULL) == 0)
            while (found) {
                compare_side side = {s, b, arena, false};
                const uint8_t *bytes;
                uint32_t size;
                grb_term term;
                compare_list list = {0};
                if (terms->next(terms, &found, &bytes, &size, &term, NULL) ||
                    !found)
                    break;
                grb_arena_init(&side.arena, &grb_allocator_malloc, 1 << 26);
                compare_list_read(&side, &term, size % 9, 1 + size % 3, &list);
                compare_list_free(&list);
                grb_arena_deinit(&side.arena);
            }
        grb_arena_deinit(&arena);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    grb_file *file;
    grb_segment *s;
    if (!good) good_make();
    uint8_t *bytes = malloc(good_size);
    memcpy(bytes, good, good_size);
    for (; size >= 3; data += 3, size -= 3)
        bytes[(data[0] | (size_t)data[1] << 8) % good_size] ^= data[2];
    size_t head = 128 + 32 * (size_t)bytes[92];
    if (head < good_size) {
        memset(bytes + 96, 0, 8);
        uint64_t sum = grb_hash(bytes, head, 0);
        memcpy(bytes + 96, &sum, 8);
    }
    directory->ops->file_open(directory, "seg-7", true, true, &file, NULL);
    directory->ops->file_write(file, 0, bytes, good_size, NULL);
    directory->ops->file_close(file);
    free(bytes);
    if (grb_segfile_open(directory, "seg-7", options.uuid, 7,
                         GREBE_VERIFY_NEVER, &s, NULL) == GREBE_OK) {
        grb_segfile_check(s, NULL, NULL);
        all_ask(s);
        grb_segment_release(s);
    }
    directory->ops->remove(directory, "seg-7", NULL);
    return 0;
}
