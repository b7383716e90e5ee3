/* bench/c/commit_bench.c - what a soft commit alone costs, and whether that
 * grows with what the index holds.
 *
 *   open soft FIELDS DOCS COMMITS
 *       an index of DOCS documents of shape A, then COMMITS soft commits of
 *       one more document each; FIELDS text fields, all filled in each of the
 *       documents that the blocks add (the first field has the 8 words, the
 *       others one)
 *   block N      N times: add one document (untimed), soft-commit (timed)
 *   close
 */
#include "bench.h"

#include "grebe/grebe.h"

typedef struct bench {
    grebe_schema *schema;
    grebe_index *index;
    grebe_document *document;
    grebe_error err;
    random64 random;
    uint64_t next;
    uint32_t fields;
} bench;

static void must(grebe_status status, const grebe_error *err) {
    if (status != GREBE_OK) fail(grebe_status_word(status), err->message);
}

static void field_add(bench *b, const char *name, grebe_kind kind,
                      uint32_t flags) {
    grebe_field f = {.name = name, .kind = kind, .flags = flags};
    must(grebe_schema_add(b->schema, &f, &b->err), &b->err);
}

static void add(bench *b, uint32_t fields) {
    static const shape form = {1, 8, 0, 0, 0};
    shape_doc d;
    char word[8] = "";
    shape_make(&form, b->next++, &b->random, &d);
    grebe_document_clear(b->document);
    must(
        grebe_document_add_text(b->document, 0, d.key, strlen(d.key), &b->err),
        &b->err);
    must(grebe_document_add_text(b->document, 1, d.text[0], 55, &b->err),
         &b->err);
    for (uint32_t i = 1; i < fields; i++) {
        word_put(word, random_rank(&b->random, 20000));
        must(grebe_document_add_text(b->document, 1 + i, word, 6, &b->err),
             &b->err);
    }
    must(grebe_index_add(b->index, b->document, 1, &b->err), &b->err);
    free(d.bytes);
}

static uint64_t commit(bench *b) {
    uint64_t t = now_ns();
    must(grebe_index_commit(b->index, GREBE_SOFT, NULL, &b->err), &b->err);
    return now_ns() - t;
}

static void bench_open(bench *b, char **words) {
    char name[16];
    uint64_t docs = strtoull(words[3], NULL, 10);
    uint64_t commits = strtoull(words[4], NULL, 10);
    const uint32_t both = GREBE_STORED | GREBE_INDEXED;
    b->fields = (uint32_t)atoi(words[2]);
    b->random.state = 2;
    must(grebe_schema_new(&b->schema, &b->err), &b->err);
    field_add(b, "key", GREBE_KEYWORD, both | GREBE_KEY | GREBE_COLUMN);
    for (uint32_t i = 0; i < b->fields; i++) {
        snprintf(name, sizeof name, "t%u", i);
        field_add(b, name, GREBE_TEXT, both);
    }
    must(grebe_index_open(NULL, b->schema, NULL, &b->index, &b->err), &b->err);
    must(grebe_document_new(b->schema, &b->document, &b->err), &b->err);
    for (uint64_t i = 0; i < docs; i++) add(b, 1);
    if (docs) commit(b);
    for (uint64_t i = 0; i < commits; i++) {
        add(b, 1);
        commit(b);
    }
    printf("{\"version\": \"%s\"}", grebe_version());
    answer_end();
}

static void block(bench *b, size_t n) {
    uint64_t *ns = take(n * 8), live = 0;
    for (size_t i = 0; i < n; i++) {
        add(b, b->fields);
        ns[i] = commit(b);
    }
    must(grebe_index_count(b->index, &live, &b->err), &b->err);
    if (live != b->next) fail("commit", "a document is not visible");
    printf("{\"turns\": %zu, \"series\": {", n);
    series_put("soft commit", ns, n, "}}");
    answer_end();
    free(ns);
}

int main(void) {
    static bench b;
    char line[512], *words[5];
    int count;
    while ((count = command_read(line, sizeof line, words, 5)) > 0) {
        if (!strcmp(words[0], "open") && count == 5) {
            bench_open(&b, words);
        } else if (!strcmp(words[0], "block") && count == 2 && b.index) {
            block(&b, (size_t)atoi(words[1]));
        } else {
            fail("command", words[0]);
        }
    }
    grebe_document_free(b.document);
    grebe_index_free(b.index);
    grebe_schema_release(b.schema);
    return 0;
}
