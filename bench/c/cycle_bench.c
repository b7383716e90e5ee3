/* cycle_bench.c - W1, W3b, W10 and W12 in C: what one turn of a test costs.
 *
 * Prints JSON lines {workload, metric, unit, n, min, p50, p99}. A cycle is an
 * upsert, a soft commit and a search for the key just written.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "grebe/grebe.h"

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int order(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void report(const char *workload, const char *metric, uint64_t *ns,
                   size_t n) {
    qsort(ns, n, sizeof *ns, order);
    printf("{\"engine\": \"grebe-c\", \"workload\": \"%s\", \"metric\": \"%s\", "
           "\"unit\": \"us\", \"n\": %zu, \"min\": %.3f, \"p50\": %.3f, "
           "\"p99\": %.3f}\n",
           workload, metric, n, ns[0] / 1e3, ns[n / 2] / 1e3,
           ns[n * 99 / 100] / 1e3);
    fflush(stdout);
}

static void check(grebe_status status, const grebe_error *err) {
    if (status == GREBE_OK) return;
    fprintf(stderr, "%s: %s\n", grebe_status_word(status), err->message);
    exit(1);
}

/* ---- documents of the workloads: A 8 words, B 100 tokens ---- */

static uint64_t seed = 2;
static uint64_t next(void) {
    uint64_t z = (seed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Words of a skewed vocabulary of 20,000. */
static size_t word_put(char *to) {
    uint64_t r = next() % 20000 * (next() % 20000) / 20000;
    return (size_t)sprintf(to, "w%llx", (unsigned long long)(r * 2654435761u &
                                                             0xffffff));
}

static size_t text_put(char *to, int words) {
    size_t at = 0;
    for (int i = 0; i < words; i++) {
        if (i) to[at++] = ' ';
        at += word_put(to + at);
    }
    return at;
}

typedef struct bench {
    grebe_schema *schema;
    grebe_index *index;
    grebe_document *document;
    grebe_error err;
    char text[4096];
} bench;

static void field_add(bench *b, const char *name, grebe_kind kind,
                      uint32_t flags) {
    grebe_field f = {.name = name, .kind = kind, .flags = flags};
    check(grebe_schema_add(b->schema, &f, &b->err), &b->err);
}

static void open_memory(bench *b) {
    memset(b, 0, sizeof *b);
    check(grebe_schema_new(&b->schema, &b->err), &b->err);
    field_add(b, "key", GREBE_KEYWORD,
              GREBE_KEY | GREBE_STORED | GREBE_INDEXED);
    field_add(b, "t0", GREBE_TEXT, GREBE_STORED | GREBE_INDEXED);
    check(grebe_index_open(NULL, b->schema, NULL, &b->index, &b->err),
          &b->err);
    check(grebe_document_new(b->schema, &b->document, &b->err), &b->err);
}

static void close_all(bench *b) {
    grebe_document_free(b->document);
    grebe_index_free(b->index);
    grebe_schema_release(b->schema);
}

static void add(bench *b, uint64_t key, int words) {
    char name[32];
    size_t size = (size_t)sprintf(name, "k%llu", (unsigned long long)key);
    size_t text = text_put(b->text, words);
    grebe_document_clear(b->document);
    grebe_document_add_text(b->document, 0, name, size, NULL);
    grebe_document_add_text(b->document, 1, b->text, text, NULL);
}

static void cycles(bench *b, const char *workload, int words, size_t n) {
    uint64_t *whole = calloc(n, 8), *commit = calloc(n, 8);
    for (size_t i = 0; i < n; i++) {
        char name[32];
        grebe_query *q;
        grebe_hits *hits;
        add(b, 1000000 + i, words);
        uint64_t t0 = now_ns();
        check(grebe_index_add(b->index, b->document, 1, &b->err), &b->err);
        uint64_t t1 = now_ns();
        check(grebe_index_commit(b->index, GREBE_SOFT, NULL, &b->err),
              &b->err);
        uint64_t t2 = now_ns();
        grebe_value v = {.kind = GREBE_KEYWORD};
        v.as.text.bytes = name;
        v.as.text.size = (size_t)sprintf(name, "k%zu", 1000000 + i);
        check(grebe_query_term("key", &v, &q, &b->err), &b->err);
        grebe_search_request r = {.query = q, .limit = 10};
        check(grebe_index_search(b->index, &r, &hits, &b->err), &b->err);
        if (grebe_hits_total(hits) != 1) exit(2);
        grebe_hits_release(hits);
        grebe_query_release(q);
        whole[i] = now_ns() - t0;
        commit[i] = t2 - t1;
    }
    report(workload, "cycle", whole, n);
    report(workload, "commit", commit, n);
    free(whole);
    free(commit);
}

static void w1(void) {
    bench b;
    open_memory(&b);
    cycles(&b, "W1 A empty", 8, 2000);
    close_all(&b);
    open_memory(&b);
    cycles(&b, "W1 B empty", 100, 2000);
    close_all(&b);
    open_memory(&b);
    for (uint64_t i = 0; i < 50000; i++) {
        add(&b, i, 100);
        check(grebe_index_add(b.index, b.document, 1, &b.err), &b.err);
    }
    check(grebe_index_commit(b.index, GREBE_SOFT, NULL, &b.err), &b.err);
    cycles(&b, "W1 A 50000", 8, 2000);
    cycles(&b, "W1 B 50000", 100, 2000);
    close_all(&b);
}

static void w12(void) {
    bench b;
    size_t n = 20000;
    uint64_t *ns = calloc(n, 8);
    open_memory(&b);
    for (uint64_t i = 0; i < 1000; i++) {
        add(&b, i, 20);
        char extra[16] = "zebra";
        if (i % 22 == 0) {
            grebe_document_clear(b.document);
            add(&b, i, 20);
            size_t at = strlen(b.text);
            sprintf(b.text + at, " %s", extra);
            char name[32];
            size_t size = (size_t)sprintf(name, "k%llu",
                                          (unsigned long long)i);
            grebe_document_clear(b.document);
            grebe_document_add_text(b.document, 0, name, size, NULL);
            grebe_document_add_text(b.document, 1, b.text, strlen(b.text),
                                    NULL);
        }
        check(grebe_index_add(b.index, b.document, 1, &b.err), &b.err);
    }
    check(grebe_index_commit(b.index, GREBE_SOFT, NULL, &b.err), &b.err);
    grebe_query *q;
    grebe_value v = {.kind = GREBE_TEXT};
    v.as.text.bytes = "zebra";
    v.as.text.size = 5;
    check(grebe_query_term("t0", &v, &q, &b.err), &b.err);
    for (int keys = 0; keys < 2; keys++) {
        for (size_t i = 0; i < n; i++) {
            grebe_hits *hits;
            grebe_value key;
            uint64_t t0 = now_ns();
            grebe_search_request r = {.query = q, .limit = 10};
            check(grebe_index_search(b.index, &r, &hits, &b.err), &b.err);
            for (uint64_t j = 0; keys && j < grebe_hits_count(hits); j++)
                check(grebe_hits_key(hits, j, &key, &b.err), &b.err);
            if (grebe_hits_total(hits) < 40) exit(3);
            grebe_hits_release(hits);
            ns[i] = now_ns() - t0;
        }
        report("W12", keys ? "top 10 with keys" : "top 10", ns, n);
    }
    grebe_query_release(q);
    free(ns);
    close_all(&b);
}

static void w3b(void) {
    bench b;
    size_t n = 10000;
    uint64_t *ns = calloc(n, 8);
    grebe_snapshot *pin;
    open_memory(&b);
    for (uint64_t i = 0; i < 10000; i++) {
        add(&b, i, 20);
        check(grebe_index_add(b.index, b.document, 1, &b.err), &b.err);
    }
    check(grebe_index_snapshot(b.index, &pin, &b.err), &b.err);
    for (size_t i = 0; i < n; i++) {
        for (uint64_t j = 0; j < 5; j++) {
            add(&b, i + j, 20);
            check(grebe_index_add(b.index, b.document, 1, &b.err), &b.err);
        }
        check(grebe_index_commit(b.index, GREBE_SOFT, NULL, &b.err), &b.err);
        uint64_t t0 = now_ns();
        check(grebe_index_restore(b.index, pin, &b.err), &b.err);
        ns[i] = now_ns() - t0;
    }
    report("W3b", "restore of 10,000 documents", ns, n);
    grebe_snapshot_free(pin);
    free(ns);
    close_all(&b);
}

static void w10(const char *folder) {
    size_t n = 2000;
    uint64_t *ns = calloc(n, 8);
    bench b;
    open_memory(&b);
    for (size_t i = 0; i < n; i++) {
        grebe_index *x;
        uint64_t t0 = now_ns();
        check(grebe_index_open(NULL, b.schema, NULL, &x, &b.err), &b.err);
        check(grebe_index_close(x, 0, &b.err), &b.err);
        grebe_index_free(x);
        ns[i] = now_ns() - t0;
    }
    report("W10", "create and close in memory", ns, n);
    for (size_t i = 0; folder && i < n; i++) {
        grebe_index *x;
        uint64_t t0 = now_ns();
        check(grebe_index_open(folder, b.schema, NULL, &x, &b.err), &b.err);
        check(grebe_index_close(x, 0, &b.err), &b.err);
        grebe_index_free(x);
        ns[i] = now_ns() - t0;
    }
    if (folder) report("W10", "open and close a folder", ns, n);
    free(ns);
    close_all(&b);
}

int main(int count, char **words) {
    w1();
    w12();
    w3b();
    w10(count > 1 ? words[1] : NULL);
    return 0;
}
