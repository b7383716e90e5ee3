/* bench/c/bulk_bench.c - bulk loading: documents a second, nanoseconds a token
 * by stage, and where the bytes of the result lie.
 *
 * Usage: bulk_bench wiki|taxi FILE.jsonl [documents [folder [x]]], where x
 * leaves the stages alone out.
 *
 * The file is cut into fields before any clock starts, by a cutter that knows
 * just what tools that make such files write (one flat object a line). With a
 * folder the index lies there (emptied before) and ends with a hard commit;
 * without one it is in memory. Times are those of the processor, and of the
 * wall where it says so.
 */
#include "bench.h"

#include <dirent.h>

#include "analysis/analysis.h"
#include "grebe/grebe.h"
#include "memseg/memseg.h"
#include "segment/format.h"

#define FIELDS_MAX 24
#define MAX(a, b) ((a) > (b) ? (a) : (b))

typedef struct column {
    const char *from; /* name in the file */
    uint32_t place;   /* of an array's items */
    grebe_field field;
} column;

#define NUMBER GREBE_INDEXED | GREBE_COLUMN
static const column wiki[] = {
    {"id", 0, {"id", GREBE_KEYWORD, GREBE_KEY | GREBE_STORED, NULL, NULL}},
    {"title", 0, {"title", GREBE_TEXT, GREBE_INDEXED, "standard", NULL}},
    {"body", 0, {"body", GREBE_TEXT, GREBE_INDEXED, "standard", NULL}},
    {NULL, 0, {NULL, GREBE_TEXT, 0, NULL, NULL}}};
#define KEYWORD(name)                               \
    {                                               \
        name, 0, {                                  \
            name, GREBE_KEYWORD, NUMBER, NULL, NULL \
        }                                           \
    }
#define DOUBLE(name)                               \
    {                                              \
        name, 0, {                                 \
            name, GREBE_DOUBLE, NUMBER, NULL, NULL \
        }                                          \
    }
#define DATE(name)                                   \
    {                                                \
        name, 0, {                                   \
            name, GREBE_DATETIME, NUMBER, NULL, NULL \
        }                                            \
    }
#define PART(name, from, i)                        \
    {                                              \
        from, i, {                                 \
            name, GREBE_DOUBLE, NUMBER, NULL, NULL \
        }                                          \
    }
static const column taxi[] = {
    {"id", 0, {"id", GREBE_KEYWORD, GREBE_KEY | GREBE_STORED, NULL, NULL}},
    KEYWORD("vendor_id"),
    KEYWORD("vendor_name"),
    KEYWORD("cab_color"),
    KEYWORD("rate_code_id"),
    KEYWORD("store_and_fwd_flag"),
    KEYWORD("payment_type"),
    KEYWORD("trip_type"),
    DATE("pickup_datetime"),
    DATE("dropoff_datetime"),
    {"passenger_count", 0, {"passengers", GREBE_INT, NUMBER, NULL, NULL}},
    DOUBLE("trip_distance"),
    DOUBLE("fare_amount"),
    DOUBLE("extra"),
    DOUBLE("mta_tax"),
    DOUBLE("improvement_surcharge"),
    DOUBLE("tip_amount"),
    DOUBLE("tolls_amount"),
    DOUBLE("total_amount"),
    PART("pickup_x", "pickup_location", 0),
    PART("pickup_y", "pickup_location", 1),
    PART("dropoff_x", "dropoff_location", 0),
    PART("dropoff_y", "dropoff_location", 1),
    {NULL, 0, {NULL, GREBE_TEXT, 0, NULL, NULL}}};

/* A value as cut from the file. */
typedef struct cut {
    const char *text;
    size_t size;
    double number;
} cut;

typedef struct corpus {
    const column *columns;
    uint32_t width;
    size_t count;
    cut *cuts; /* count rows of `width` */
    uint64_t bytes;
} corpus;

/* ---- reading ---- */

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

/* The value behind "name": in the line; NULL if it has none. */
static const char *value_find(const char *line, const char *name) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", name);
    const char *at = strstr(line, quoted);
    return at ? at + strlen(quoted) : NULL;
}

/* 2015-05-15 20:45:35 as milliseconds since 1970. */
static double date_cut(const char *text) {
    int y, m, d, hour, minute, second;
    if (sscanf(text, "%d-%d-%d %d:%d:%d", &y, &m, &d, &hour, &minute,
               &second) != 6)
        fail("date", text);
    y -= m <= 2;
    int era = y / 400, of_era = y - era * 400;
    int of_year = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    int days = era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 +
               of_year - 719468;
    return (((days * 24.0 + hour) * 60 + minute) * 60 + second) * 1000;
}

static void value_cut(const column *c, const char *at, cut *out) {
    if (*at == '[')
        for (uint32_t i = 0; i <= c->place; i++)
            at = i ? strchr(at, ',') + 1 : at + 1;
    if (*at != '"') {
        out->number = atof(at);
        return;
    }
    char *to = (char *)(uintptr_t)++at;
    out->text = at;
    for (; *at != '"'; at++) {
        if (*at == '\\') at++;
        *to++ = *at;
    }
    out->size = (size_t)(to - out->text);
    if (c->field.kind == GREBE_DATETIME) out->number = date_cut(out->text);
}

static void corpus_read(corpus *c, const char *path, size_t most) {
    size_t size, room = 0;
    char *text = file_read(path, &size), *end = text + size;
    while (c->columns[c->width].from) c->width++;
    for (char *line = text; line < end && c->count < most; c->count++) {
        char *stop = memchr(line, '\n', (size_t)(end - line));
        const char *at[FIELDS_MAX];
        if (!stop) break;
        *stop = 0;
        if (c->count == room) {
            room = room ? room * 2 : 1024;
            c->cuts = realloc(c->cuts, room * c->width * sizeof *c->cuts);
            if (!c->cuts) fail("memory", "none left");
        }
        /* Cutting changes the line: look for all values before. */
        for (uint32_t i = 0; i < c->width; i++)
            at[i] = value_find(line, c->columns[i].from);
        cut *row = c->cuts + c->count * c->width;
        for (uint32_t i = 0; i < c->width; i++) {
            row[i] = (cut){NULL, 0, 0};
            if (at[i]) value_cut(&c->columns[i], at[i], &row[i]);
            c->bytes += row[i].text ? row[i].size : 8;
        }
        line = stop + 1;
    }
}

/* ---- documents ---- */

static grebe_schema *schema_make(const corpus *c) {
    grebe_schema *schema;
    grebe_error err;
    grebe_schema_new(&schema, NULL);
    for (uint32_t i = 0; i < c->width; i++)
        if (grebe_schema_add(schema, &c->columns[i].field, &err))
            fail("schema", err.message);
    return schema;
}

static void document_fill(const corpus *c, size_t n, grebe_document *d) {
    const cut *row = c->cuts + n * c->width;
    grebe_document_clear(d);
    for (uint32_t i = 0; i < c->width; i++) {
        switch (c->columns[i].field.kind) {
        case GREBE_DOUBLE:
            grebe_document_add_double(d, i, row[i].number, NULL);
            break;
        case GREBE_INT:
            grebe_document_add_int(d, i, (int64_t)row[i].number, NULL);
            break;
        case GREBE_DATETIME:
            grebe_document_add_datetime(d, i, (int64_t)row[i].number, NULL);
            break;
        default:
            grebe_document_add_text(d, i, row[i].text, row[i].size, NULL);
        }
    }
}

/* Time of the whole process: threads of the library count too. */
static uint64_t process_ns(void) {
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* Memory of the process that no file backs. */
static long anonymous_kib(void) {
    char line[200];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "RssAnon: %ld", &kib) == 1) break;
    if (f) fclose(f);
    return kib;
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

static void folder_empty(const char *folder) {
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[4400];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.') unlink(path);
    }
    if (dir) closedir(dir);
}

/* ---- the whole ---- */

static void load_measure(const corpus *c, grebe_schema *schema,
                         const char *folder) {
    grebe_index *index;
    grebe_document *d;
    grebe_error err;
    grebe_index_stats s;
    if (folder) folder_empty(folder);
    long rss = rss_kib(), anonymous = anonymous_kib(), most = 0;
    uint64_t written = io_bytes();
    uint64_t cpu = process_ns(), wall = now_ns();
    if (grebe_index_open(folder, schema, NULL, &index, &err))
        fail("open", err.message);
    grebe_document_new(schema, &d, NULL);
    for (size_t n = 0; n < c->count; n++) {
        document_fill(c, n, d);
        if (grebe_index_add(index, d, 1, &err)) fail("add", err.message);
        if (n % 1000 == 0) most = MAX(most, anonymous_kib());
    }
    uint64_t before = process_ns();
    if (grebe_index_commit(index, GREBE_HARD, NULL, &err))
        fail("commit", err.message);
    uint64_t commit = process_ns() - before;
    cpu = process_ns() - cpu;
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
    corpus c = {0};
    if (argc < 3) fail("usage", "bulk_bench wiki|taxi FILE [docs [folder]]");
    c.columns = *argv[1] == 't' ? taxi : wiki;
    corpus_read(&c, argv[2], argc > 3 ? (size_t)atol(argv[3]) : SIZE_MAX);
    grebe_schema *schema = schema_make(&c);
    printf("%zu documents, %.1f MB in fields\n", c.count,
           (double)c.bytes / 1e6);
    load_measure(&c, schema, argc > 4 ? argv[4] : NULL);
    if (argc <= 5) stages_measure(&c, schema);
    grebe_schema_release(schema);
    return 0;
}
