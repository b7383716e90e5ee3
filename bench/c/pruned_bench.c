/* bench/c/pruned_bench.c - classes of queries over a real-looking corpus, in a
 * growing segment and in a file: every match scored, and the best places
 * alone.
 *
 * pruned_bench CORPUS.jsonl QUERIES.jsonl [DOCS [FOLDER]]
 *   the corpus has a "body" a line (make_corpus.py wiki); queries have
 *   "query" and "tags" (search-benchmark-game.jsonl).
 * Prints for each class the mean of a query in microseconds, the least of
 * rounds that take turns: TOP_10, TOP_10 with the exact total, COUNT. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "collect/collect.h"
#include "grebe/query.h"
#include "memseg/memseg.h"
#include "segment/segfile.h"

#define ROUNDS 5
#define OFF_ALL (GRB_OFF_PRUNING | GRB_OFF_LISTS | GRB_OFF_COUNTS)
#define QUERIES_MAX 2000

static const char *const classes[] = {
    "term",   "intersection",       "union",
    "phrase", "intersection_union", "negated"};

typedef struct world {
    grebe_schema *schema;
    grb_segment *segment;
    grb_list *list;
    grb_snapshot snapshot;
    grb_arena arena;
} world;

typedef struct bench_query {
    uint32_t class;
    grebe_query *query;
} bench_query;
static bench_query queries[QUERIES_MAX];
static uint32_t query_count;

/* The thread's own time: the machine has other work. */
static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void must(grebe_status status, const grebe_error *err) {
    if (status == GREBE_OK) return;
    fprintf(stderr, "%s\n", err->message);
    exit(1);
}

/* The string behind "name":" of a line, its escapes as they are but for
 * quotes; cut in place. */
static char *json_text(char *line, const char *name, size_t *size) {
    char key[32];
    snprintf(key, sizeof key, "\"%s\":", name);
    char *from = strstr(line, key), *to, *end;
    *size = 0;
    if (!from) return NULL;
    from += strlen(key);
    from += strspn(from, " ");
    to = end = ++from;
    for (; *end && *end != '"'; end++) {
        if (*end == '\\') end++;
        *to++ = *end;
    }
    *size = (size_t)(to - from);
    return from;
}

static uint32_t corpus_add(world *x, FILE *in, uint32_t docs) {
    char *line = NULL;
    size_t room = 0;
    uint32_t doc = 0, count = 0;
    grebe_document *d;
    grb_inverted *inv;
    grebe_error err;
    must(grebe_document_new(x->schema, &d, &err), &err);
    must(grb_inverted_new(&grb_allocator_malloc, &inv, &err), &err);
    for (; count < docs && getline(&line, &room, in) > 0; count++) {
        size_t size;
        char *text = json_text(line, "body", &size);
        if (!text) continue;
        grebe_document_clear(d);
        must(grebe_document_add_text(d, 0, text, size, &err), &err);
        must(grb_inverted_build(inv, d, false, &err), &err);
        must(grb_memseg_append(x->segment, inv, count, &doc, &err), &err);
    }
    free(line);
    grb_inverted_free(inv);
    grebe_document_free(d);
    return count;
}

static void snapshot_make(world *x) {
    x->list = calloc(1, sizeof *x->list + sizeof(grb_leaf));
    if (!x->list) abort();
    x->list->count = 1;
    x->list->leaves[0].segment = x->segment;
    grb_memseg_bounds(x->segment, &x->list->leaves[0].bounds);
    x->snapshot.list = x->list;
    x->snapshot.schema = x->schema;
    grb_arena_init(&x->arena, &grb_allocator_malloc, 0);
}

static void file_replace(world *x, grb_directory *directory) {
    grb_segfile_options options = {.uuid = "0123456789abcde",
                                   .file_number = 1};
    grb_leaf *leaf = &x->list->leaves[0];
    grb_source source = {leaf->segment, leaf->bounds, NULL};
    grb_segfile_written written;
    grebe_error err;
    options.schema = x->schema;
    must(grb_segfile_write(directory, "seg-1", &source, 1, &options, &written, &err),
         &err);
    grb_totals_release(leaf->bounds.totals);
    grb_segment_release(leaf->segment);
    must(grb_segfile_open(directory, "seg-1", options.uuid, 1,
                          GREBE_VERIFY_TOUCH, &leaf->segment, &err),
         &err);
    grb_segfile_bounds(leaf->segment, &leaf->bounds);
}

static void queries_read(world *x, const char *name) {
    FILE *in = fopen(name, "r");
    char *line = NULL;
    size_t room = 0;
    grebe_error err;
    if (!in) {
        fprintf(stderr, "%s cannot be read\n", name);
        exit(1);
    }
    while (query_count < QUERIES_MAX && getline(&line, &room, in) > 0) {
        char *tags = strstr(line, "\"tags\"");
        size_t size;
        uint32_t c = 0;
        for (; tags && c < GRB_COUNT(classes); c++) {
            char tag[32];
            snprintf(tag, sizeof tag, "\"%s\"", classes[c]);
            if (strstr(tags, tag)) break;
        }
        if (!tags || c == GRB_COUNT(classes)) continue;
        char *text = json_text(line, "query", &size);
        bench_query *q = &queries[query_count];
        if (grebe_query_parse(x->schema, text, size, NULL, &q->query, &err))
            continue;
        q->class = c;
        query_count++;
    }
    free(line);
    fclose(in);
}

/* One query; returns the total. */
static uint64_t query_run(world *x, const grebe_query *q, uint32_t off,
                          uint64_t keep, uint64_t total_max) {
    grb_search_context c = {.snapshot = &x->snapshot,
                            .schema = x->schema,
                            .arena = &x->arena,
                            .off = off};
    grb_sort_plan plan;
    grb_collector collector;
    grb_weight *w;
    grb_arena_reset(&x->arena);
    if (grb_sort_parse(x->schema, NULL, &plan, NULL) ||
        grb_weight_new(&c, q, keep > 0, &w, NULL))
        abort();
    grb_collect_request r = {
        .plan = &plan, .keep = keep, .total_max = total_max};
    if (grb_collector_init(&collector, &c, &grb_allocator_malloc, &r, NULL) ||
        grb_collector_run(&collector, w, NULL, 0, NULL) ||
        grb_collector_finish(&collector, NULL))
        abort();
    grb_collector_deinit(&collector);
    return collector.total;
}

static void class_time(world *x, const char *where, uint32_t class) {
    static const uint64_t keeps[] = {10, 10, 0};
    static const uint64_t bounds[] = {10, GREBE_TOTAL_EXACT,
                                      GREBE_TOTAL_EXACT};
    static const uint32_t offs[] = {OFF_ALL, 0};
    uint64_t best[3][2], count = 0, total = 0;
    memset(best, 0xff, sizeof best);
    for (uint32_t n = 0; n < ROUNDS * 6; n++) {
        uint32_t mode = n / 2 % 3, way = n % 2;
        uint64_t start = now();
        count = total = 0;
        for (uint32_t i = 0; i < query_count; i++) {
            if (queries[i].class != class) continue;
            total += query_run(x, queries[i].query, offs[way], keeps[mode],
                               bounds[mode]);
            count++;
        }
        uint64_t spent = now() - start;
        best[mode][way] = GRB_MIN(best[mode][way], spent);
    }
    if (count == 0) return;
    printf("%-6s %-18s %4llu queries %9llu hits each", where, classes[class],
           (unsigned long long)count, (unsigned long long)(total / count));
    for (uint32_t mode = 0; mode < 3; mode++)
        printf("  %8.1f %8.1f", (double)best[mode][0] / 1e3 / (double)count,
               (double)best[mode][1] / 1e3 / (double)count);
    printf("\n");
    fflush(stdout);
}

int main(int argc, char **argv) {
    grebe_field body = {"body", GREBE_TEXT, GREBE_INDEXED, "standard", NULL};
    uint32_t docs = argc > 3 ? (uint32_t)atoi(argv[3]) : UINT32_MAX;
    FILE *in = argc > 2 ? fopen(argv[1], "r") : NULL;
    grb_directory *directory;
    grb_pool *pool;
    grebe_error err;
    world x = {0};
    if (!in) {
        fprintf(stderr, "pruned_bench CORPUS QUERIES [DOCS [FOLDER]]\n");
        return 2;
    }
    must(grebe_schema_new(&x.schema, &err), &err);
    must(grebe_schema_add(x.schema, &body, &err), &err);
    must(grb_pool_new(&grb_allocator_malloc, &pool, &err), &err);
    must(grb_memseg_new(pool, x.schema, &x.segment, &err), &err);
    docs = corpus_add(&x, in, docs);
    fclose(in);
    snapshot_make(&x);
    queries_read(&x, argv[2]);
    printf("%u documents; all and best: TOP_10, TOP_10 with total, COUNT\n",
           docs);
    for (uint32_t c = 0; c < GRB_COUNT(classes); c++)
        class_time(&x, "memory", c);
    if (argc > 4)
        must(grb_directory_open_folder(&grb_allocator_malloc, argv[4],
                                       GREBE_STORE_MMAP, true, &directory,
                                       &err),
             &err);
    else
        must(grb_directory_open_ram(&grb_allocator_malloc, &directory, &err),
             &err);
    file_replace(&x, directory);
    for (uint32_t c = 0; c < GRB_COUNT(classes); c++)
        class_time(&x, "file", c);
    for (uint32_t i = 0; i < query_count; i++)
        grebe_query_release(queries[i].query);
    grb_segment_release(x.list->leaves[0].segment);
    free(x.list);
    grb_arena_deinit(&x.arena);
    grb_directory_close(directory);
    grb_pool_release(pool);
    grebe_schema_release(x.schema);
    return 0;
}
