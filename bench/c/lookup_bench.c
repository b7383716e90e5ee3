/* bench/c/lookup_bench.c - W6 in C: documents by key over many segments.
 *
 *   open lookup SEGMENTS   100,000 documents of shape A, whose keys are the
 *                          hexadecimal digits of mix64(i + 1), so that no
 *                          range of keys tells a segment; nothing is merged
 *   block N                N looks whether there is a document with a key,
 *                          N reads of a document by its key, N one-term
 *                          searches that hit, N that miss (top 1), then N
 *                          upserts of existing keys
 *   close
 *
 * The index is in memory and its segments are frozen ones; making keys and
 * documents is outside the clock. Upserts are rolled back after each block.
 */
#include "bench.h"

#include "grebe/grebe.h"

#define KEYS 100000u

typedef struct bench {
    grebe_schema *schema;
    grebe_index *index;
    grebe_document *document;
    grebe_error err;
    random64 words, picks;
} bench;

static const shape form = {1, 8, 0, 0, 0};

static void must(grebe_status status, const grebe_error *err) {
    if (status != GREBE_OK) fail(grebe_status_word(status), err->message);
}

static void field_add(bench *b, const char *name, grebe_kind kind,
                      uint32_t flags) {
    grebe_field f = {.name = name, .kind = kind, .flags = flags};
    must(grebe_schema_add(b->schema, &f, &b->err), &b->err);
}

static void key_put(char *to, uint64_t i) {
    sprintf(to, "%016llx", (unsigned long long)mix64(i + 1));
}

static void upsert(bench *b, uint64_t i, const shape_doc *d) {
    char key[24];
    key_put(key, i);
    grebe_document_clear(b->document);
    must(grebe_document_add_text(b->document, 0, key, 16, &b->err), &b->err);
    must(grebe_document_add_text(b->document, 1, d->text[0], 55, &b->err),
         &b->err);
    must(grebe_index_add(b->index, b->document, 1, &b->err), &b->err);
}

static void commit(bench *b) {
    must(grebe_index_commit(b->index, GREBE_HARD, NULL, &b->err), &b->err);
}

/* A growing segment is frozen at docs_max documents. */
static void bench_open(bench *b, uint32_t segments) {
    grebe_open_options options = {.merging = GREBE_MERGE_MANUAL,
                                  .memory_max = 1u << 30};
    grebe_index_stats stats;
    options.docs_max = (KEYS + segments - 1) / segments;
    b->words.state = 1;
    b->picks.state = 4;
    must(grebe_schema_new(&b->schema, &b->err), &b->err);
    field_add(b, "key", GREBE_KEYWORD,
              GREBE_STORED | GREBE_INDEXED | GREBE_KEY | GREBE_COLUMN);
    field_add(b, "t0", GREBE_TEXT, GREBE_INDEXED);
    must(grebe_index_open(NULL, b->schema, &options, &b->index, &b->err),
         &b->err);
    must(grebe_document_new(b->schema, &b->document, &b->err), &b->err);
    for (uint64_t i = 0; i < KEYS; i++) {
        shape_doc d;
        shape_make(&form, i, &b->words, &d);
        upsert(b, i, &d);
        free(d.bytes);
    }
    commit(b);
    must(grebe_index_stats_read(b->index, &stats, &b->err), &b->err);
    printf("{\"version\": \"%s\", \"segments\": %llu}", grebe_version(),
           (unsigned long long)stats.segments);
    answer_end();
}

static uint64_t find(bench *b, uint64_t i, uint64_t wanted) {
    char key[24];
    grebe_query *q;
    grebe_hits *hits;
    grebe_value v = {.kind = GREBE_KEYWORD};
    key_put(key, i);
    v.as.text.bytes = key;
    v.as.text.size = 16;
    uint64_t t = now_ns();
    must(grebe_query_term("key", &v, &q, &b->err), &b->err);
    grebe_search_request r = {.query = q, .limit = 1};
    must(grebe_index_search(b->index, &r, &hits, &b->err), &b->err);
    uint64_t found = grebe_hits_count(hits);
    grebe_hits_release(hits);
    grebe_query_release(q);
    t = now_ns() - t;
    if (found != wanted) fail(key, "wrong number of hits");
    return t;
}

/* Whether a key is there; with a document, its stored fields. */
static uint64_t get(bench *b, uint64_t i, grebe_document *document) {
    char key[24];
    int found = 0;
    grebe_value v = {.kind = GREBE_KEYWORD};
    key_put(key, i);
    v.as.text.bytes = key;
    v.as.text.size = 16;
    uint64_t t = now_ns();
    must(grebe_index_get(b->index, &v, document, &found, &b->err), &b->err);
    t = now_ns() - t;
    if (!found) fail(key, "was not found");
    return t;
}

static void block(bench *b, size_t n) {
    uint64_t *hit = take(n * 8), *miss = take(n * 8), *put = take(n * 8);
    uint64_t *got = take(n * 8), *seen = take(n * 8), live = 0;
    for (size_t i = 0; i < n; i++)
        seen[i] = get(b, random_below(&b->picks, KEYS), NULL);
    for (size_t i = 0; i < n; i++)
        got[i] = get(b, random_below(&b->picks, KEYS), b->document);
    for (size_t i = 0; i < n; i++)
        hit[i] = find(b, random_below(&b->picks, KEYS), 1);
    for (size_t i = 0; i < n; i++)
        miss[i] = find(b, random_below(&b->picks, KEYS) + 1000000u, 0);
    for (size_t i = 0; i < n; i++) {
        shape_doc d;
        uint64_t key = random_below(&b->picks, KEYS);
        shape_make(&form, key, &b->words, &d);
        uint64_t t = now_ns();
        upsert(b, key, &d);
        put[i] = now_ns() - t;
        free(d.bytes);
    }
    must(grebe_index_rollback(b->index, &b->err), &b->err);
    must(grebe_index_count(b->index, &live, &b->err), &b->err);
    if (live != KEYS) fail("rollback", "the number of documents changed");
    printf("{\"turns\": %zu, \"series\": {", n);
    series_put("look", seen, n, ", ");
    series_put("get", got, n, ", ");
    series_put("hit", hit, n, ", ");
    series_put("miss", miss, n, ", ");
    series_put("upsert", put, n, "}}");
    answer_end();
    free(seen);
    free(got);
    free(hit);
    free(miss);
    free(put);
}

int main(void) {
    static bench b;
    char line[512], *words[4];
    int count;
    while ((count = command_read(line, sizeof line, words, 4)) > 0) {
        if (!strcmp(words[0], "open") && count == 3) {
            bench_open(&b, (uint32_t)atoi(words[2]));
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
