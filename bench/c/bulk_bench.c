/* bench/c/bulk_bench.c - bulk loading: documents a second, nanoseconds a token
 * by stage, and where the bytes of the result lie.
 *
 * Usage: bulk_bench wiki|taxi FILE.jsonl
 *            [documents [folder [x [threads [MiB]]]]], where x leaves the stages alone out. With threads a loader takes the
 * documents; "caller" is then the processor time of the thread that gives
 * them, which nothing can share. MiB is memory_max.
 *
 * The file is cut into fields before any clock starts (corpus.h). With a
 * folder the index lies there (emptied before) and ends with a hard commit;
 * without one it is in memory. Times are those of the processor, and of the
 * wall where it says so.
 */
#include "corpus.h"

#include "analysis/analysis.h"
#include "memseg/memseg.h"
#include "segment/format.h"

#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Time of the whole process: threads of the library count too. */
static uint64_t process_ns(void) {
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static void stage_put(const char *name, uint64_t ns, size_t docs,
                      uint64_t tokens) {
    printf("  %-22s %9.1f ns/doc", name, (double)ns / (double)docs);
    if (tokens) printf(" %7.2f ns/token", (double)ns / (double)tokens);
    puts("");
}

/* ---- the stages alone ---- */

static uint64_t analysis_measure(const corpus *c, uint64_t *ns) {
    const grb_analyzer *standard = grb_analyzer_find("standard", 8);
    grb_tokens tokens;
    uint64_t count = 0, begin = process_ns();
    grb_tokens_init(&tokens, &grb_allocator_malloc);
    for (size_t n = 0; n < c->count; n++)
        for (uint32_t i = 0; i < c->width; i++) {
            const cut *v = c->cuts + n * c->width + i;
            if (c->columns[i].field.kind != GREBE_TEXT) continue;
            grb_analyze(standard, v->text, v->size, &tokens, NULL);
            count += tokens.count;
        }
    *ns = process_ns() - begin;
    grb_tokens_deinit(&tokens);
    return count;
}

static void stages_measure(const corpus *c, grebe_schema *schema) {
    grebe_document *d;
    grb_inverted *inv;
    grb_pool *pool;
    grb_segment *segment;
    uint64_t analyse, tokens, fill, build, append, begin, bytes = 0;
    grebe_document_new(schema, &d, NULL);
    grb_inverted_new(&grb_allocator_malloc, &inv, NULL);
    grb_pool_new(&grb_allocator_malloc, &pool, NULL);
    grb_memseg_new(pool, schema, &segment, NULL);
    tokens = analysis_measure(c, &analyse);
    begin = process_ns();
    for (size_t n = 0; n < c->count; n++) document_fill(c, n, d);
    fill = process_ns() - begin;
    begin = process_ns();
    for (size_t n = 0; n < c->count; n++) {
        document_fill(c, n, d);
        if (grb_inverted_build(inv, d, false, NULL)) fail("build", "refused");
    }
    build = process_ns() - begin - fill;
    begin = process_ns();
    for (size_t n = 0; n < c->count; n++) {
        uint32_t doc;
        document_fill(c, n, d);
        grb_inverted_build(inv, d, false, NULL);
        if (grb_memseg_bytes(segment) > 32u << 20) {
            bytes += grb_memseg_bytes(segment);
            grb_segment_release(segment);
            grb_memseg_new(pool, schema, &segment, NULL);
        }
        if (grb_memseg_append(segment, inv, n + 1, &doc, NULL))
            fail("append", "refused");
    }
    append = process_ns() - begin - build - fill;
    bytes += grb_memseg_bytes(segment);
    printf("stages alone, %zu documents, %llu tokens, %.0f B/doc in memory\n",
           c->count, (unsigned long long)tokens,
           (double)bytes / (double)c->count);
    stage_put("fill the document", fill, c->count, tokens);
    stage_put("analyse", analyse, c->count, tokens);
    stage_put("invert (less analysis)", build - analyse, c->count, tokens);
    stage_put("append", append, c->count, tokens);
    grb_segment_release(segment);
    grb_pool_release(pool);
    grb_inverted_free(inv);
    grebe_document_free(d);
}

/* ---- sections ---- */

static const char *const section_names[GRB_SECTION_END] = {
    [GRB_SECTION_FIELDS] = "fields",
    [GRB_SECTION_POSTINGS] = "terms and postings",
    [GRB_SECTION_TERM_INDEX] = "term index",
    [GRB_SECTION_LENGTHS] = "lengths",
    [GRB_SECTION_COLUMNS] = "columns",
    [GRB_SECTION_COLUMN_INDEX] = "column index",
    [GRB_SECTION_STORED] = "stored",
    [GRB_SECTION_STORED_INDEX] = "stored index",
    [GRB_SECTION_KEY_OFFSETS] = "key offsets",
    [GRB_SECTION_KEYS] = "keys",
    [GRB_SECTION_KEY_BUCKETS] = "key buckets",
    [GRB_SECTION_KEY_PREV] = "key prev",
    [GRB_SECTION_CHECKSUMS] = "checksums"};

static char *file_read(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    if (!f) fail(path, "cannot be read");
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    char *bytes = take(*size + 1);
    if (fread(bytes, 1, *size, f) != *size) fail(path, "cannot be read");
    fclose(f);
    return bytes;
}

static void sections_put(const char *folder, size_t docs) {
    uint64_t sizes[GRB_SECTION_END] = {0}, total = 0, files = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[4400];
        size_t size;
        if (strncmp(e->d_name, "seg-", 4) != 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        uint8_t *file = (uint8_t *)file_read(path, &size);
        uint32_t n = grb_load32(file + GRB_HEADER_SECTIONS);
        for (uint32_t i = 0; i < n; i++) {
            const uint8_t *entry =
                file + GRB_SEGMENT_HEADER + i * GRB_SEGMENT_ENTRY;
            sizes[grb_load32(entry)] += grb_load64(entry + 16);
        }
        total += size;
        files++;
        free(file);
    }
    if (dir) closedir(dir);
    printf("%llu segment files, %llu bytes, %.1f B/doc\n",
           (unsigned long long)files, (unsigned long long)total,
           (double)total / (double)docs);
    for (uint32_t k = 1; k < GRB_SECTION_END; k++)
        if (sizes[k])
            printf("  %-22s %9.2f B/doc\n", section_names[k],
                   (double)sizes[k] / (double)docs);
}

/* ---- the whole ---- */

/* Adds all documents, through a loader if there are threads; the most memory
 * seen without files. */
static long documents_add(const corpus *c, grebe_index *index,
                          grebe_document *d, uint32_t threads) {
    grebe_loader *loader = NULL;
    grebe_error err;
    long most = 0;
    if (threads && grebe_loader_new(index, threads, 1, &loader, &err))
        fail("loader", err.message);
    for (size_t n = 0; n < c->count; n++) {
        document_fill(c, n, d);
        if (loader ? grebe_loader_add(loader, d, &err)
                   : grebe_index_add(index, d, 1, &err))
            fail("add", err.message);
        if (n % 1000 == 0) most = MAX(most, memory_kib("RssAnon"));
    }
    if (loader && grebe_loader_finish(loader, NULL, &err))
        fail("finish", err.message);
    grebe_loader_free(loader);
    return most;
}

static void load_measure(const corpus *c, grebe_schema *schema,
                         const char *folder, uint32_t threads,
                         uint64_t memory_max) {
    grebe_open_options options = {.memory_max = memory_max};
    grebe_index *index;
    grebe_document *d;
    grebe_error err;
    grebe_index_stats s;
    if (folder) folder_empty(folder);
    long rss = rss_kib(), anonymous = memory_kib("RssAnon");
    uint64_t written = io_bytes(), caller = cpu_ns();
    uint64_t cpu = process_ns(), wall = now_ns();
    if (grebe_index_open(folder, schema, &options, &index, &err))
        fail("open", err.message);
    grebe_document_new(schema, &d, NULL);
    long most = documents_add(c, index, d, threads);
    uint64_t before = process_ns();
    if (grebe_index_commit(index, GREBE_HARD, NULL, &err))
        fail("commit", err.message);
    uint64_t commit = process_ns() - before;
    cpu = process_ns() - cpu;
    caller = cpu_ns() - caller;
    wall = now_ns() - wall;
    written = io_bytes() - written;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    grebe_index_stats_read(index, &s, NULL);
    printf("load %s: %.0f docs/s by processor, %.0f by the wall, %.2f MB/s "
           "by processor\n",
           folder ? folder : "in memory", (double)c->count * 1e9 / (double)cpu,
           (double)c->count * 1e9 / (double)wall,
           (double)c->bytes * 1e3 / (double)cpu);
    stage_put("all", cpu, c->count, s.tokens);
    if (threads) stage_put("caller", caller, c->count, s.tokens);
    stage_put("freezes (wall)", s.freeze_ns, c->count, s.tokens);
    stage_put("merges (wall)", s.merge_ns, c->count, s.tokens);
    stage_put("last commit", commit, c->count, s.tokens);
    printf("  %llu freezes, %llu merges, %llu segments, written %.2f of the "
           "text\n  peak RSS above the start %ld KiB, without files %ld KiB\n",
           (unsigned long long)s.freezes, (unsigned long long)s.merges,
           (unsigned long long)s.segments, (double)written / (double)c->bytes,
           usage.ru_maxrss - rss, most - anonymous);
    grebe_document_free(d);
    grebe_index_close(index, 0, NULL);
    grebe_index_free(index);
    if (folder) sections_put(folder, c->count);
}

int main(int argc, char **argv) {
    corpus c;
    if (argc < 3) fail("usage", "bulk_bench wiki|taxi FILE [docs [folder]]");
    corpus_open(&c, argv[1], argv[2]);
    corpus_next(&c, argc > 3 ? (size_t)atol(argv[3]) : SIZE_MAX);
    grebe_schema *schema = schema_make(&c);
    printf("%zu documents, %.1f MB in fields\n", c.count,
           (double)c.bytes / 1e6);
    load_measure(&c, schema, argc > 4 ? argv[4] : NULL,
                 argc > 6 ? (uint32_t)atoi(argv[6]) : 0,
                 argc > 7 ? (uint64_t)atoi(argv[7]) << 20 : 0);
    if (argc <= 5) stages_measure(&c, schema);
    grebe_schema_release(schema);
    return 0;
}
