/* bench/c/search_bench.c - the fixed cost of a search, sorts, facets, fetches
 * and highlights over an index in memory. Prints a line for each:
 * name, nanoseconds of the processor (median of rounds, least of rounds). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "grebe/grebe.h"

enum { F_ID, F_BODY, F_YEAR, F_TAG, F_NAME, F_COUNT };
#define ROUNDS 15

/* The thread's own time: the machine has other work. */
static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void must(grebe_status status, const grebe_error *err) {
    if (status == GREBE_OK) return;
    fprintf(stderr, "%s: %s\n", grebe_status_word(status), err->message);
    exit(1);
}

static void text_add(grebe_document *d, uint32_t field, const char *text) {
    grebe_error err;
    must(grebe_document_add_text(d, field, text, strlen(text), &err), &err);
}

/* `common` of 1,000 documents hold "often", every 20th "common". */
static grebe_index *index_fill(uint32_t count, uint32_t names) {
    static const grebe_field fields[F_COUNT] = {
        {"id", GREBE_KEYWORD, GREBE_KEY | GREBE_STORED | GREBE_INDEXED, NULL,
         NULL},
        {"body", GREBE_TEXT, GREBE_STORED | GREBE_INDEXED, NULL, NULL},
        {"year", GREBE_INT, GREBE_STORED | GREBE_COLUMN, NULL, NULL},
        {"tag", GREBE_KEYWORD, GREBE_STORED | GREBE_COLUMN, NULL, NULL},
        {"name", GREBE_KEYWORD, GREBE_STORED | GREBE_COLUMN, NULL, NULL}};
    grebe_error err;
    grebe_schema *schema;
    grebe_index *index;
    grebe_document *d;
    must(grebe_schema_new(&schema, &err), &err);
    for (int i = 0; i < F_COUNT; i++)
        must(grebe_schema_add(schema, &fields[i], &err), &err);
    grebe_open_options options = {.docs_max = 1u << 20,
                                  .memory_max = 1u << 30};
    must(grebe_index_open(NULL, schema, &options, &index, &err), &err);
    must(grebe_document_new(schema, &d, &err), &err);
    uint32_t random = 1;
    for (uint32_t i = 0; i < count; i++) {
        char text[200];
        random = random * 1664525u + 1013904223u;
        uint32_t r = random >> 8;
        grebe_document_clear(d);
        snprintf(text, sizeof text, "key%u", i);
        text_add(d, F_ID, text);
        snprintf(text, sizeof text, "w%u %s quick%s fox v%u jumps over %s",
                 r % 5000, r % 3 ? "often" : "seldom",
                 i % 22 == 0 ? " common" : "", r % 977,
                 r % 5 ? "the lazy dog. Then it sleeps" : "it");
        text_add(d, F_BODY, text);
        must(grebe_document_add_int(d, F_YEAR, r % 100000, &err), &err);
        snprintf(text, sizeof text, "tag%u", r % 50);
        text_add(d, F_TAG, text);
        snprintf(text, sizeof text, "name%u", r % names);
        text_add(d, F_NAME, text);
        must(grebe_index_add(index, d, 1, &err), &err);
    }
    must(grebe_index_commit(index, GREBE_SOFT, NULL, &err), &err);
    grebe_document_free(d);
    grebe_schema_release(schema);
    return index;
}

static int order_u64(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

enum { READ_NOTHING, READ_KEYS, READ_DOCUMENTS };

static void measure(const char *name, grebe_index *index,
                    const grebe_search_request *r, int read, uint32_t repeat) {
    uint64_t ns[ROUNDS], total = 0;
    grebe_error err;
    grebe_schema *schema;
    grebe_document *d;
    must(grebe_index_schema(index, &schema, &err), &err);
    must(grebe_document_new(schema, &d, &err), &err);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t begun = now();
        for (uint32_t n = 0; n < repeat; n++) {
            grebe_hits *hits;
            must(grebe_index_search(index, r, &hits, &err), &err);
            total = grebe_hits_total(hits);
            for (uint64_t i = 0; read && i < grebe_hits_count(hits); i++) {
                grebe_value v;
                if (read == READ_KEYS)
                    must(grebe_hits_key(hits, i, &v, &err), &err);
                else
                    must(grebe_hits_document(hits, i, d, &err), &err);
            }
            grebe_hits_release(hits);
        }
        ns[round] = (now() - begun) / repeat;
    }
    qsort(ns, ROUNDS, sizeof *ns, order_u64);
    printf("%-44s %9llu %9llu ns  total %llu\n", name,
           (unsigned long long)ns[ROUNDS / 2], (unsigned long long)ns[0],
           (unsigned long long)total);
    grebe_document_free(d);
    grebe_schema_release(schema);
}

static grebe_query *term(const char *text) {
    grebe_error err;
    grebe_query *q;
    grebe_value v = {.kind = GREBE_TEXT};
    v.as.text.bytes = text;
    v.as.text.size = strlen(text);
    must(grebe_query_term("body", &v, &q, &err), &err);
    return q;
}

static void small_measure(void) {
    grebe_index *index = index_fill(1000, 100);
    grebe_query *common = term("common"), *often = term("often");
    grebe_facet_request facets[] = {{.field = "tag", .mincount = 1},
                                    {.field = "year", .mincount = 1},
                                    {.field = "name", .mincount = 1}};
    grebe_search_request r = {.query = common, .limit = 10};
    measure("1,000 docs: term df 46, top 10", index, &r, 0, 20000);
    measure("... and keys", index, &r, READ_KEYS, 20000);
    measure("... and documents", index, &r, READ_DOCUMENTS, 2000);
    r.limit = 0;
    measure("... count only", index, &r, 0, 20000);
    r.limit = 10;
    r.sort = "year desc";
    measure("... sorted by year", index, &r, 0, 20000);
    r.sort = NULL;
    r.query = often;
    measure("1,000 docs: term df 667, top 10", index, &r, 0, 5000);
    r.facets = facets;
    r.facet_count = 3;
    measure("... and three facets", index, &r, 0, 1000);
    r.facet_count = 0;
    r.query = NULL;
    measure("1,000 docs: all, top 10", index, &r, 0, 20000);
    grebe_query_release(common);
    grebe_query_release(often);
    grebe_index_free(index);
}

static void large_measure(void) {
    grebe_index *index = index_fill(200000, 10000);
    grebe_query *often = term("often");
    grebe_facet_request tag = {.field = "tag", .mincount = 1};
    grebe_facet_request name = {.field = "name", .mincount = 1};
    grebe_highlight_request body = {.field = "body"};
    grebe_search_request r = {.query = often, .limit = 10};
    measure("200,000 docs: frequent term, top 10", index, &r, 0, 20);
    r.sort = "year desc";
    measure("... sorted by year", index, &r, 0, 20);
    r.sort = "name";
    measure("... sorted by keyword", index, &r, 0, 20);
    r.sort = NULL;
    r.limit = 0;
    measure("... count only", index, &r, 0, 20);
    r.facets = &tag;
    r.facet_count = 1;
    measure("... facet of 50 values", index, &r, 0, 20);
    r.query = NULL;
    measure("all documents, facet of 50 values", index, &r, 0, 20);
    r.facets = &name;
    measure("all documents, facet of 10,000 values", index, &r, 0, 20);
    r.facet_count = 0;
    r.query = often;
    r.limit = 10;
    r.total_max = 1000;
    r.highlights = &body;
    r.highlight_count = 1;
    measure("frequent term, ten highlights", index, &r, 0, 20);
    r.highlight_count = 0;
    r.limit = GREBE_LIMIT_ALL;
    measure("frequent term, every hit", index, &r, 0, 3);
    grebe_query_release(often);
    grebe_index_free(index);
}

int main(int argc, char **argv) {
    small_measure();
    if (argc < 2 || strcmp(argv[1], "small") != 0) large_measure();
    return 0;
}
