/* bench/c/ingest_bench.c - nanoseconds a document: inversion and append.
 *
 * Usage: ingest_bench [documents [case]]. Documents of 8 and 100 tokens, long
 * texts over a large vocabulary, 40 short fields, and wipes (a new segment
 * with one small document, six of them 498 times).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "memseg/memseg.h"

static const grebe_allocator *const A = &grb_allocator_malloc;
static uint64_t seed = 88172645463325252u;

static double dice(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(seed >> 11) / 9007199254740992.0;
}

/* Zipf-like words over `vocabulary`. */
static size_t word_put(char *out, double vocabulary) {
    unsigned word = (unsigned)exp(dice() * log(vocabulary));
    return (size_t)sprintf(out, "%x ", word * 2654435761u >> 4);
}

static void text_put(grebe_document *d, uint32_t field, int tokens,
                     double vocabulary) {
    char text[1 << 15];
    size_t size = 0;
    for (int i = 0; i < tokens; i++) size += word_put(text + size, vocabulary);
    grebe_document_add_text(d, field, text, size, NULL);
}

static void field_add(grebe_schema *schema, const char *name, grebe_kind kind,
                      uint32_t flags) {
    grebe_field field = {.name = name, .kind = kind, .flags = flags};
    grb_schema_append(
        schema, &field,
        kind == GREBE_TEXT ? grb_analyzer_find("standard", 8) : NULL, NULL);
}

/* Time of this process only: the machine may be shared. */
static uint64_t clock_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

typedef struct world {
    grb_pool *pool;
    grebe_schema *schema;
    grb_inverted *inv;
    grb_segment *segment;
} world;

static grebe_document **documents_make(grebe_schema *schema, int count) {
    grebe_document **all = malloc((size_t)count * sizeof *all);
    for (int i = 0; i < count; i++) {
        char key[24];
        grebe_document_new(schema, &all[i], NULL);
        int size = sprintf(key, "doc-%d", i);
        grebe_document_add_text(all[i], 0, key, (size_t)size, NULL);
    }
    return all;
}

static void measure(world *w, const char *name, grebe_document **documents,
                    int count) {
    uint64_t build = 0, append = 0, tokens = 0, best = UINT64_MAX;
    uint32_t doc;
    uint64_t best_build = 0, best_append = 0, bytes = 0;
    for (int round = 0; round < 5; round++) {
        build = append = tokens = 0;
        grb_memseg_new(w->pool, w->schema, &w->segment, NULL);
        uint64_t begin = clock_ns();
        for (int i = 0; i < count; i++) {
            grb_inverted_build(w->inv, documents[i], false, NULL);
            tokens += grb_inverted_tokens(w->inv);
        }
        build = clock_ns() - begin;
        begin = clock_ns();
        for (int i = 0; i < count; i++) {
            grb_inverted_build(w->inv, documents[i], false, NULL);
            if (grb_memseg_append(w->segment, w->inv, (uint64_t)i, &doc,
                                  NULL) != GREBE_OK)
                exit(1);
        }
        append = clock_ns() - begin;
        if (append < best) {
            best = append;
            best_build = build;
            best_append = append;
            bytes = grb_memseg_bytes(w->segment);
        }
        grb_segment_release(w->segment);
    }
    printf("%-24s %8.1f ns/doc (build %8.1f)  %6.1f ns/token  %6.1f B/doc\n",
           name, (double)best_append / count, (double)best_build / count,
           tokens ? (double)best_append / (double)tokens : 0,
           (double)bytes / count);
}

static void documents_free(grebe_document **all, int count) {
    for (int i = 0; i < count; i++) grebe_document_free(all[i]);
    free(all);
}

static void texts(world *w, const char *name, int count, int tokens,
                  double vocabulary) {
    grb_schema_new(A, &w->schema, NULL);
    field_add(w->schema, "id", GREBE_KEYWORD, GREBE_KEY | GREBE_STORED);
    field_add(w->schema, "body", GREBE_TEXT, GREBE_INDEXED | GREBE_STORED);
    grebe_document **all = documents_make(w->schema, count);
    for (int i = 0; i < count; i++) text_put(all[i], 1, tokens, vocabulary);
    measure(w, name, all, count);
    documents_free(all, count);
    grb_schema_release(w->schema);
}

static void fields(world *w, int count) {
    static const grebe_kind kinds[] = {GREBE_KEYWORD, GREBE_INT, GREBE_DOUBLE,
                                       GREBE_DATETIME};
    char name[16];
    grb_schema_new(A, &w->schema, NULL);
    field_add(w->schema, "id", GREBE_KEYWORD, GREBE_KEY | GREBE_STORED);
    for (int f = 0; f < 40; f++) {
        sprintf(name, "f%d", f);
        field_add(w->schema, name, kinds[f % 4],
                  GREBE_INDEXED | GREBE_COLUMN | GREBE_STORED);
    }
    grebe_document **all = documents_make(w->schema, count);
    for (int i = 0; i < count; i++)
        for (uint32_t f = 0; f < 40; f++) {
            char text[16];
            int size = sprintf(text, "v%d", (int)(dice() * 100));
            switch (kinds[f % 4]) {
            case GREBE_KEYWORD:
                grebe_document_add_text(all[i], f + 1, text, (size_t)size,
                                        NULL);
                break;
            case GREBE_INT:
                grebe_document_add_int(all[i], f + 1, i, NULL);
                break;
            case GREBE_DOUBLE:
                grebe_document_add_double(all[i], f + 1, i / 2.0, NULL);
                break;
            default:
                grebe_document_add_datetime(all[i], f + 1, i, NULL);
            }
        }
    measure(w, "40 fields, no text", all, count);
    documents_free(all, count);
    grb_schema_release(w->schema);
}

static void wipes(world *w) {
    uint32_t doc;
    grb_schema_new(A, &w->schema, NULL);
    field_add(w->schema, "id", GREBE_KEYWORD, GREBE_KEY | GREBE_STORED);
    field_add(w->schema, "body", GREBE_TEXT, GREBE_INDEXED | GREBE_STORED);
    grebe_document **all = documents_make(w->schema, 1);
    text_put(all[0], 1, 8, 1000);
    uint64_t best = UINT64_MAX;
    for (int round = 0; round < 5; round++) {
        uint64_t begin = clock_ns();
        for (int i = 0; i < 6 * 498; i++) {
            grb_memseg_new(w->pool, w->schema, &w->segment, NULL);
            grb_inverted_build(w->inv, all[0], false, NULL);
            grb_memseg_append(w->segment, w->inv, 1, &doc, NULL);
            grb_segment_release(w->segment);
        }
        uint64_t took = clock_ns() - begin;
        best = GRB_MIN(best, took);
    }
    printf("%-24s %8.1f ns a wipe (new, one document, release)\n", "wipes",
           (double)best / (6 * 498));
    documents_free(all, 1);
    grb_schema_release(w->schema);
}

/* An add, a soft commit's bounds, the old bounds released. */
static void commits(world *w, int count) {
    uint32_t doc;
    grb_bounds old = {0, 0, NULL}, b;
    grb_schema_new(A, &w->schema, NULL);
    field_add(w->schema, "id", GREBE_KEYWORD, GREBE_KEY | GREBE_STORED);
    field_add(w->schema, "body", GREBE_TEXT, GREBE_INDEXED | GREBE_STORED);
    grebe_document **all = documents_make(w->schema, count);
    for (int i = 0; i < count; i++) text_put(all[i], 1, 8, 10000);
    grb_memseg_new(w->pool, w->schema, &w->segment, NULL);
    uint64_t begin = clock_ns();
    for (int i = 0; i < count; i++) {
        grb_inverted_build(w->inv, all[i], false, NULL);
        grb_memseg_append(w->segment, w->inv, (uint64_t)i, &doc, NULL);
        grb_memseg_bounds(w->segment, &b);
        grb_totals_release(old.totals);
        old = b;
    }
    printf("%-24s %8.1f ns/doc\n", "8 tokens + bounds each",
           (double)(clock_ns() - begin) / count);
    grb_totals_release(old.totals);
    grb_segment_release(w->segment);
    documents_free(all, count);
    grb_schema_release(w->schema);
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 20000;
    world w = {0};
    grb_pool_new(A, &w.pool, NULL);
    grb_inverted_new(A, &w.inv, NULL);
    int only = argc > 2 ? atoi(argv[2]) : 0; /* one of them, from 1 */
    if (!only || only == 1) texts(&w, "8 tokens", count, 8, 10000);
    if (!only || only == 2) texts(&w, "100 tokens", count / 2, 100, 10000);
    if (!only || only == 3)
        texts(&w, "1,000 tokens, 300k words", count / 20, 1000, 300000);
    if (!only || only == 4) fields(&w, count / 4);
    if (!only || only == 5) commits(&w, count);
    if (!only || only == 6) wipes(&w);
    grb_inverted_free(w.inv);
    grb_pool_release(w.pool);
    return 0;
}
