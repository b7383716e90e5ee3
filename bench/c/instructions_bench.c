/* bench/c/instructions_bench.c - fixed work whose instructions are counted.
 *
 *   instructions_bench add|search|commit [COUNT]
 *
 * add: COUNT (1,000) documents of shape A into an index in memory.
 * search: the index of 1,000 documents of shape B, COUNT one-term searches.
 * commit: COUNT soft commits of one more document.
 * COUNT 0 does the rest alone, so that two runs tell what the work costs
 * without what goes before it. tools/check_instructions.py runs it.
 */
#include "bench.h"

#include "grebe/grebe.h"

typedef struct bench {
    grebe_schema *schema;
    grebe_index *index;
    grebe_document *document;
    grebe_error err;
    shape form;
    random64 random;
    uint64_t next;
} bench;

static void must(grebe_status status, const grebe_error *err) {
    if (status != GREBE_OK) fail(grebe_status_word(status), err->message);
}

static void bench_open(bench *b, const char *form) {
    const uint32_t both = GREBE_STORED | GREBE_INDEXED;
    const grebe_field key = {.name = "key",
                             .kind = GREBE_KEYWORD,
                             .flags = both | GREBE_KEY | GREBE_COLUMN};
    const grebe_field text = {.name = "t0", .kind = GREBE_TEXT, .flags = both};
    b->form = shape_of(form);
    b->random.state = 1;
    must(grebe_schema_new(&b->schema, &b->err), &b->err);
    must(grebe_schema_add(b->schema, &key, &b->err), &b->err);
    must(grebe_schema_add(b->schema, &text, &b->err), &b->err);
    must(grebe_index_open(NULL, b->schema, NULL, &b->index, &b->err), &b->err);
    must(grebe_document_new(b->schema, &b->document, &b->err), &b->err);
}

static void upsert(bench *b, const shape_doc *d) {
    grebe_document_clear(b->document);
    must(grebe_document_add_text(b->document, 0, d->key, strlen(d->key),
                                 &b->err),
         &b->err);
    must(grebe_document_add_text(b->document, 1, d->text[0],
                                 b->form.words * 7 - 1, &b->err),
         &b->err);
    must(grebe_index_add(b->index, b->document, 1, &b->err), &b->err);
}

static void commit(bench *b) {
    must(grebe_index_commit(b->index, GREBE_SOFT, NULL, &b->err), &b->err);
}

/* Documents `count` are always made; only the first `add` are added. */
static void add(bench *b, size_t count, size_t used, int commit_each) {
    shape_doc *docs = shape_batch(&b->form, b->next, count, &b->random);
    b->next += count;
    for (size_t i = 0; i < used; i++) {
        upsert(b, &docs[i]);
        if (commit_each) commit(b);
    }
    if (!commit_each) commit(b);
    shape_batch_free(docs, count);
}

static void search(bench *b, size_t count) {
    char word[8] = "";
    grebe_query *q;
    grebe_value v = {.kind = GREBE_TEXT};
    word_put(word, 100);
    v.as.text.bytes = word;
    v.as.text.size = 6;
    must(grebe_query_term("t0", &v, &q, &b->err), &b->err);
    for (size_t i = 0; i < count; i++) {
        grebe_hits *hits;
        grebe_search_request r = {.query = q, .limit = 10};
        must(grebe_index_search(b->index, &r, &hits, &b->err), &b->err);
        if (grebe_hits_count(hits) != 10) fail(word, "wrong hits");
        grebe_hits_release(hits);
    }
    grebe_query_release(q);
}

int main(int count, char **words) {
    static bench b;
    const char *what = count > 1 ? words[1] : "";
    size_t n = count > 2 ? strtoull(words[2], NULL, 10) : 1000;
    if (!strcmp(what, "add")) {
        bench_open(&b, "A");
        add(&b, 1000, n, 0);
    } else if (!strcmp(what, "search")) {
        bench_open(&b, "B");
        add(&b, 1000, 1000, 0);
        search(&b, n);
    } else if (!strcmp(what, "commit")) {
        /* 1,000 adds either way: n of them are committed one by one */
        bench_open(&b, "A");
        add(&b, n, n, 1);
        add(&b, 1000 - n, 1000 - n, 0);
    } else {
        fail("instructions_bench", "add, search or commit");
    }
    grebe_document_free(b.document);
    grebe_index_free(b.index);
    grebe_schema_release(b.schema);
    return 0;
}
