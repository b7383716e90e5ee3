/* bench/c/busy_bench.c - W9 and a part of W11 in C: searches beside writing.
 *
 *   open busy DOCS       an index of DOCS documents of shape B
 *   open held COMMITS    10,000 documents of shape A, a searcher, then COMMITS
 *                        soft commits of a document each: half of them new,
 *                        half replacing; the searcher is used after that
 *   block N              N one-term searches, top 10. busy: while a thread
 *                        adds 1,000 documents a second, ten a soft commit
 *   close
 */
#include "bench.h"

#include <pthread.h>
#include <stdatomic.h>

#include "grebe/grebe.h"

#define WRITER_DOCS 20000u
#define PACE_NS 100000u /* a search: the writer shall have its time */

typedef struct bench {
    grebe_schema *schema;
    grebe_index *index;
    grebe_document *document;
    grebe_searcher *searcher;
    grebe_error err;
    shape form;
    random64 random;
    uint64_t next;
    shape_doc *docs; /* what the writing thread adds */
    atomic_int stop;
} bench;

static void must(grebe_status status, const grebe_error *err) {
    if (status != GREBE_OK) fail(grebe_status_word(status), err->message);
}

static void field_add(bench *b, const char *name, grebe_kind kind,
                      uint32_t flags) {
    grebe_field f = {.name = name, .kind = kind, .flags = flags};
    must(grebe_schema_add(b->schema, &f, &b->err), &b->err);
}

static void upsert(bench *b, const shape_doc *d) {
    grebe_error err;
    grebe_document_clear(b->document);
    must(grebe_document_add_text(b->document, 0, d->key, strlen(d->key), &err),
         &err);
    must(grebe_document_add_text(b->document, 1, d->text[0],
                                 b->form.words * 7 - 1, &err),
         &err);
    must(grebe_index_add(b->index, b->document, 1, &err), &err);
}

static void soft_commit(bench *b) {
    grebe_error err;
    must(grebe_index_commit(b->index, GREBE_SOFT, NULL, &err), &err);
}

static void add(bench *b, uint64_t number, random64 *r) {
    shape_doc d;
    shape_make(&b->form, number, r, &d);
    upsert(b, &d);
    free(d.bytes);
}

static void bench_open(bench *b, const char *what, uint64_t count) {
    random64 r = {1};
    int held = *what == 'h';
    uint64_t docs = held ? 10000 : count;
    b->form = shape_of(held ? "A" : "B");
    b->random.state = 2;
    must(grebe_schema_new(&b->schema, &b->err), &b->err);
    field_add(b, "key", GREBE_KEYWORD,
              GREBE_STORED | GREBE_INDEXED | GREBE_KEY | GREBE_COLUMN);
    field_add(b, "t0", GREBE_TEXT, GREBE_STORED | GREBE_INDEXED);
    must(grebe_index_open(NULL, b->schema, NULL, &b->index, &b->err), &b->err);
    must(grebe_document_new(b->schema, &b->document, &b->err), &b->err);
    while (b->next < docs) add(b, b->next++, &r);
    soft_commit(b);
    if (held) {
        must(grebe_index_searcher(b->index, 0, &b->searcher, &b->err),
             &b->err);
        for (uint64_t i = 0; i < count; i++) {
            add(b, i % 2 ? random_below(&r, 10000) : b->next++, &r);
            soft_commit(b);
        }
    }
    printf("{\"version\": \"%s\"}", grebe_version());
    answer_end();
}

static void *writer_run(void *context) {
    bench *b = context;
    uint64_t began = now_ns();
    for (uint32_t i = 0; i < WRITER_DOCS && !atomic_load(&b->stop); i += 10) {
        uint64_t due = began + (uint64_t)i * 1000000u, now = now_ns();
        if (due > now) {
            struct timespec wait = {(time_t)((due - now) / 1000000000u),
                                    (long)((due - now) % 1000000000u)};
            nanosleep(&wait, NULL);
        }
        for (uint32_t j = i; j < i + 10; j++) upsert(b, &b->docs[j]);
        soft_commit(b);
    }
    return NULL;
}

static uint64_t search(bench *b) {
    char word[8] = "";
    grebe_query *q;
    grebe_hits *hits;
    grebe_value v = {.kind = GREBE_TEXT};
    word_put(word, random_rank(&b->random, 20000));
    v.as.text.bytes = word;
    v.as.text.size = 6;
    must(grebe_query_term("t0", &v, &q, &b->err), &b->err);
    grebe_search_request r = {.query = q, .limit = 10, .total_max = 10};
    uint64_t t = now_ns();
    if (b->searcher)
        must(grebe_searcher_search(b->searcher, &r, &hits, &b->err), &b->err);
    else
        must(grebe_index_search(b->index, &r, &hits, &b->err), &b->err);
    grebe_hits_release(hits);
    t = now_ns() - t;
    grebe_query_release(q);
    return t;
}

static void block(bench *b, size_t n) {
    uint64_t *ns = take(n * 8);
    pthread_t writer;
    int busy = b->searcher == NULL;
    if (busy) {
        b->docs = shape_batch(&b->form, b->next, WRITER_DOCS, &b->random);
        b->next += WRITER_DOCS;
        atomic_store(&b->stop, 0);
        if (pthread_create(&writer, NULL, writer_run, b))
            fail("thread", "cannot be made");
    }
    uint64_t begun = now_ns();
    for (size_t i = 0; i < n; i++) {
        while (busy && now_ns() < begun + i * PACE_NS) continue;
        ns[i] = search(b);
    }
    if (busy) {
        atomic_store(&b->stop, 1);
        pthread_join(writer, NULL);
        shape_batch_free(b->docs, WRITER_DOCS);
    }
    printf("{\"turns\": %zu, \"series\": {", n);
    series_put("search", ns, n, "}}");
    answer_end();
    free(ns);
}

int main(void) {
    static bench b;
    char line[512], *words[4];
    int count;
    while ((count = command_read(line, sizeof line, words, 4)) > 0) {
        if (!strcmp(words[0], "open") && count == 3) {
            bench_open(&b, words[1], strtoull(words[2], NULL, 10));
        } else if (!strcmp(words[0], "block") && count == 2 && b.index) {
            block(&b, (size_t)atoi(words[1]));
        } else {
            fail("command", words[0]);
        }
    }
    grebe_searcher_release(b.searcher);
    grebe_document_free(b.document);
    grebe_index_free(b.index);
    grebe_schema_release(b.schema);
    return 0;
}
