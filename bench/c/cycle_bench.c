/* bench/c/cycle_bench.c - W1, W2, W3b, W10 and W12 of Grebe in C.
 *
 * Reads commands and answers each with a line of JSON (bench/workers.py is
 * the other end), so that its blocks can take turns with other engines':
 *
 *   open cycle SHAPE BASE BATCH soft|hard FOLDER|-    W1, W2
 *   open term RANK                                    W12
 *   open reset DOCS                                   W3b
 *   open opening FOLDER|-                             W10
 *   open ingest SHAPE DOCS                            W4
 *   block N                 one block of N turns
 *   answers                 what the engine found, to compare
 *   close
 *
 * A cycle is the upsert of BATCH new keys, a commit and a search for the last
 * key; filling the documents counts, making their text does not.
 */
#include "bench.h"

#include "grebe/grebe.h"

typedef struct bench {
    grebe_schema *schema;
    grebe_index *index;
    grebe_document *document;
    grebe_query *query;
    grebe_snapshot *pin;
    grebe_error err;
    shape form;
    random64 random;
    sync_floor floor;
    const char *folder;
    uint64_t next;
    size_t batch;
    int hard;
} bench;

static void must(grebe_status status, const grebe_error *err) {
    if (status != GREBE_OK) fail(grebe_status_word(status), err->message);
}

static void field_add(bench *b, const char *name, grebe_kind kind,
                      uint32_t flags) {
    grebe_field f = {.name = name, .kind = kind, .flags = flags};
    must(grebe_schema_add(b->schema, &f, &b->err), &b->err);
}

/* As bindings/python makes them: key, keyword and int have columns. */
static void index_open(bench *b, const char *shape_name, const char *path) {
    char name[8];
    const uint32_t both = GREBE_STORED | GREBE_INDEXED;
    b->form = shape_of(shape_name);
    must(grebe_schema_new(&b->schema, &b->err), &b->err);
    field_add(b, "key", GREBE_KEYWORD, both | GREBE_KEY | GREBE_COLUMN);
    for (uint32_t i = 0; i < b->form.texts; i++) {
        snprintf(name, sizeof name, "t%u", i);
        field_add(b, name, GREBE_TEXT, both);
    }
    for (uint32_t i = 0; i < b->form.keywords; i++) {
        snprintf(name, sizeof name, "s%u", i);
        field_add(b, name, GREBE_KEYWORD, both | GREBE_COLUMN);
    }
    for (uint32_t i = 0; i < b->form.ints; i++) {
        snprintf(name, sizeof name, "n%u", i);
        field_add(b, name, GREBE_INT, both | GREBE_COLUMN);
    }
    must(grebe_index_open(path, b->schema, NULL, &b->index, &b->err), &b->err);
    must(grebe_document_new(b->schema, &b->document, &b->err), &b->err);
}

static void upsert(bench *b, const shape_doc *d) {
    grebe_document *to = b->document;
    const shape *s = &b->form;
    uint32_t field = 0;
    grebe_document_clear(to);
    must(grebe_document_add_text(to, field++, d->key, strlen(d->key), &b->err),
         &b->err);
    for (uint32_t i = 0; i < s->texts; i++)
        must(grebe_document_add_text(to, field++, d->text[i], s->words * 7 - 1,
                                     &b->err),
             &b->err);
    for (uint32_t i = 0; i < s->keywords; i++)
        must(grebe_document_add_text(to, field++, d->keyword[i], 6, &b->err),
             &b->err);
    for (uint32_t i = 0; i < s->ints; i++)
        must(grebe_document_add_int(to, field++, d->number[i], &b->err),
             &b->err);
    must(grebe_index_add(b->index, to, 1, &b->err), &b->err);
}

static void commit(bench *b, grebe_commit_kind kind) {
    must(grebe_index_commit(b->index, kind, NULL, &b->err), &b->err);
}

/* Documents of one shape from a generator of their own, then one commit. */
static void fill(bench *b, size_t count, uint64_t seed) {
    random64 r = {seed};
    for (size_t i = 0; i < count; i++) {
        shape_doc d;
        shape_make(&b->form, b->next++, &r, &d);
        upsert(b, &d);
        free(d.bytes);
    }
    if (count) commit(b, GREBE_HARD);
}

static grebe_query *term_make(bench *b, const char *field, grebe_kind kind,
                              const char *text) {
    grebe_query *q;
    grebe_value v = {.kind = kind};
    v.as.text.bytes = text;
    v.as.text.size = strlen(text);
    must(grebe_query_term(field, &v, &q, &b->err), &b->err);
    return q;
}

static grebe_hits *search(bench *b, const grebe_query *q) {
    grebe_hits *hits;
    grebe_search_request r = {.query = q, .limit = 10};
    must(grebe_index_search(b->index, &r, &hits, &b->err), &b->err);
    return hits;
}

/* ---- W1, W2 ---- */

typedef struct cycle_times {
    uint64_t *whole, *commit, *find, *floor;
} cycle_times;

static void cycle(bench *b, const shape_doc *docs, cycle_times *t, size_t i) {
    const char *key = docs[b->batch - 1].key;
    uint64_t t0 = now_ns();
    for (size_t j = 0; j < b->batch; j++) upsert(b, &docs[j]);
    uint64_t t1 = now_ns();
    commit(b, b->hard ? GREBE_HARD : GREBE_SOFT);
    uint64_t t2 = now_ns();
    grebe_query *q = term_make(b, "key", GREBE_KEYWORD, key);
    grebe_hits *hits = search(b, q);
    uint64_t count = grebe_hits_count(hits);
    grebe_hits_release(hits);
    grebe_query_release(q);
    uint64_t t3 = now_ns();
    if (count != 1) fail(key, "was not found once");
    t->whole[i] = t3 - t0;
    t->commit[i] = t2 - t1;
    t->find[i] = t3 - t2;
    if (b->hard) t->floor[i] = floor_step(&b->floor);
}

static void cycles(bench *b, size_t n) {
    cycle_times t = {take(n * 8), take(n * 8), take(n * 8), take(n * 8)};
    shape_doc *docs = shape_batch(&b->form, b->next, n * b->batch, &b->random);
    b->next += n * b->batch;
    uint64_t cpu = cpu_ns(), bytes = io_bytes();
    for (size_t i = 0; i < n; i++) cycle(b, docs + i * b->batch, &t, i);
    cpu = cpu_ns() - cpu;
    bytes = io_bytes() - bytes - (b->hard ? 4096 * n : 0);
    printf("{\"cpu_ns\": %llu, \"bytes\": %llu, \"turns\": %zu, "
           "\"series\": {",
           (unsigned long long)cpu, (unsigned long long)bytes, n);
    series_put("cycle", t.whole, n, ", ");
    series_put("commit", t.commit, n, ", ");
    series_put("find", t.find, n, b->hard ? ", " : "");
    if (b->hard) series_put("floor", t.floor, n, "");
    printf("}}");
    answer_end();
    shape_batch_free(docs, n * b->batch);
    free(t.whole);
    free(t.commit);
    free(t.find);
    free(t.floor);
}

static void cycle_open(bench *b, char **words) {
    b->folder = strcmp(words[6], "-") ? strdup(words[6]) : NULL;
    b->batch = (size_t)atoi(words[4]);
    b->hard = !strcmp(words[5], "hard");
    b->random.state = 2;
    index_open(b, words[2], b->folder);
    shape asked = b->form;
    size_t base = (size_t)atoi(words[3]);
    if (base && *words[2] == 'C') fail("base", "is of shape B: not with C");
    b->form = shape_of("B");
    fill(b, base, 1);
    b->form = asked;
    if (b->hard) floor_open(&b->floor, b->folder);
}

/* ---- W12 ---- */

static void term_open(bench *b, char **words) {
    char word[8] = "";
    index_open(b, "B", NULL);
    fill(b, 1000, 1);
    word_put(word, (uint32_t)atoi(words[2]));
    b->query = term_make(b, "t0", GREBE_TEXT, word);
}

static void term_answers(bench *b) {
    grebe_hits *hits = search(b, b->query);
    grebe_value key;
    printf("{\"total\": %llu, \"keys\": [",
           (unsigned long long)grebe_hits_total(hits));
    for (uint64_t i = 0; i < grebe_hits_count(hits); i++) {
        must(grebe_hits_key(hits, i, &key, &b->err), &b->err);
        printf("%s\"%.*s\"", i ? ", " : "", (int)key.as.text.size,
               key.as.text.bytes);
    }
    printf("]}");
    answer_end();
    grebe_hits_release(hits);
}

static uint64_t term_once(bench *b, int keys) {
    grebe_value key;
    uint64_t t = now_ns();
    grebe_hits *hits = search(b, b->query);
    uint64_t count = grebe_hits_count(hits);
    for (uint64_t i = 0; keys && i < count; i++)
        must(grebe_hits_key(hits, i, &key, &b->err), &b->err);
    grebe_hits_release(hits);
    t = now_ns() - t;
    if (!count) fail("term", "no hits");
    return t;
}

static void term_block(bench *b, size_t n) {
    uint64_t *plain = take(n * 8), *keys = take(n * 8), cpu = cpu_ns();
    for (size_t i = 0; i < n; i++) plain[i] = term_once(b, 0);
    cpu = cpu_ns() - cpu;
    for (size_t i = 0; i < n; i++) keys[i] = term_once(b, 1);
    printf("{\"cpu_ns\": %llu, \"turns\": %zu, \"series\": {",
           (unsigned long long)cpu, n);
    series_put("search", plain, n, ", ");
    series_put("with keys", keys, n, "}}");
    answer_end();
    free(plain);
    free(keys);
}

/* ---- W3b ---- */

static void reset_open(bench *b, char **words) {
    index_open(b, "A", NULL);
    fill(b, (size_t)atoi(words[2]), 1);
    b->random.state = 2;
    must(grebe_index_snapshot(b->index, &b->pin, &b->err), &b->err);
}

/* Three new documents, two replaced, a soft commit; then back. */
static void reset_block(bench *b, size_t n) {
    uint64_t *ns = take(n * 8), cpu = 0, live = 0, was = 0;
    must(grebe_index_count(b->index, &was, &b->err), &b->err);
    for (size_t i = 0; i < n; i++) {
        shape_doc *docs = shape_batch(&b->form, b->next, 5, &b->random);
        strcpy(docs[3].key, "k0");
        strcpy(docs[4].key, "k1");
        for (int j = 0; j < 5; j++) upsert(b, &docs[j]);
        commit(b, GREBE_SOFT);
        shape_batch_free(docs, 5);
        uint64_t c = cpu_ns(), t = now_ns();
        must(grebe_index_restore(b->index, b->pin, &b->err), &b->err);
        ns[i] = now_ns() - t;
        cpu += cpu_ns() - c;
        must(grebe_index_count(b->index, &live, &b->err), &b->err);
        if (live != was) fail("restore", "left documents behind");
    }
    printf("{\"cpu_ns\": %llu, \"turns\": %zu, \"series\": {",
           (unsigned long long)cpu, n);
    series_put("restore", ns, n, "}}");
    answer_end();
    free(ns);
}

/* ---- W10 ---- */

static void opening_open(bench *b, char **words) {
    b->folder = strcmp(words[2], "-") ? strdup(words[2]) : NULL;
    index_open(b, "B", b->folder);
    if (!b->folder) return;
    fill(b, 1, 1);
    must(grebe_index_close(b->index, 1, &b->err), &b->err);
}

static void opening_block(bench *b, size_t n) {
    uint64_t *ns = take(n * 8), *first = take(n * 8), cpu = cpu_ns();
    grebe_query *q = term_make(b, "key", GREBE_KEYWORD, "k0");
    grebe_index *kept = b->index;
    for (size_t i = 0; i < n; i++) {
        uint64_t t0 = now_ns(), t1 = 0, t2 = 0;
        must(grebe_index_open(b->folder, b->schema, NULL, &b->index, &b->err),
             &b->err);
        if (b->folder) {
            t1 = now_ns();
            grebe_hits *hits = search(b, q);
            if (grebe_hits_count(hits) != 1) fail("k0", "not found");
            grebe_hits_release(hits);
            t2 = now_ns();
        }
        must(grebe_index_close(b->index, 0, &b->err), &b->err);
        grebe_index_free(b->index);
        ns[i] = now_ns() - t0 - (t2 - t1);
        first[i] = t2 - t1;
    }
    b->index = kept;
    cpu = cpu_ns() - cpu;
    printf("{\"cpu_ns\": %llu, \"turns\": %zu, \"series\": {",
           (unsigned long long)cpu, n);
    series_put("open and close", ns, n, b->folder ? ", " : "}}");
    if (b->folder) series_put("first search", first, n, "}}");
    answer_end();
    grebe_query_release(q);
    free(ns);
    free(first);
}

/* ---- W4 ---- */

static void ingest_open(bench *b, char **words) {
    index_open(b, words[2], NULL);
    b->batch = (size_t)atoi(words[3]);
    b->random.state = 1;
}

/* A turn: a new index, all documents, one commit. */
static void ingest_block(bench *b, size_t n) {
    uint64_t *ns = take(n * 8), *cpu = take(n * 8), live = 0;
    shape_doc *docs = shape_batch(&b->form, 0, b->batch, &b->random);
    for (size_t i = 0; i < n; i++) {
        grebe_index_free(b->index);
        must(grebe_index_open(NULL, b->schema, NULL, &b->index, &b->err),
             &b->err);
        uint64_t c = cpu_ns(), t = now_ns();
        for (size_t j = 0; j < b->batch; j++) upsert(b, &docs[j]);
        commit(b, GREBE_HARD);
        ns[i] = now_ns() - t;
        cpu[i] = cpu_ns() - c;
        must(grebe_index_count(b->index, &live, &b->err), &b->err);
        if (live != b->batch) fail("ingest", "documents are missing");
    }
    printf("{\"turns\": %zu, \"docs\": %zu, \"series\": {", n, n * b->batch);
    series_put("ingest", ns, n, ", ");
    series_put("cpu", cpu, n, "}}");
    answer_end();
    shape_batch_free(docs, b->batch);
    free(ns);
    free(cpu);
}

/* ---- commands ---- */

static void bench_close(bench *b) {
    grebe_snapshot_free(b->pin);
    grebe_query_release(b->query);
    grebe_document_free(b->document);
    grebe_index_free(b->index);
    grebe_schema_release(b->schema);
}

int main(void) {
    static bench b;
    char line[8192], *words[8], kind[16] = "";
    int count;
    while ((count = command_read(line, sizeof line, words, 8)) > 0) {
        size_t n = count > 1 ? (size_t)atoi(words[1]) : 0;
        if (!strcmp(words[0], "open") && count > 2) {
            snprintf(kind, sizeof kind, "%s", words[1]);
            if (!strcmp(kind, "cycle") && count == 7)
                cycle_open(&b, words);
            else if (!strcmp(kind, "term"))
                term_open(&b, words);
            else if (!strcmp(kind, "reset"))
                reset_open(&b, words);
            else if (!strcmp(kind, "opening"))
                opening_open(&b, words);
            else if (!strcmp(kind, "ingest"))
                ingest_open(&b, words);
            else
                fail("open", kind);
            printf("{\"version\": \"%s\"}", grebe_version());
            answer_end();
        } else if (!strcmp(words[0], "block")) {
            if (*kind == 'c')
                cycles(&b, n);
            else if (*kind == 't')
                term_block(&b, n);
            else if (*kind == 'r')
                reset_block(&b, n);
            else if (*kind == 'i')
                ingest_block(&b, n);
            else
                opening_block(&b, n);
        } else if (!strcmp(words[0], "answers") && *kind == 't') {
            term_answers(&b);
        } else {
            fail("command", words[0]);
        }
    }
    bench_close(&b);
    return 0;
}
