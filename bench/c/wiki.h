/* bench/c/wiki.h - an index of a made encyclopedia and the classes of queries
 * that are run on it, for the programs of W7, W8, W10, W11 and of growth.
 */
#ifndef WIKI_H
#define WIKI_H

#include "corpus.h"

#define QUERIES_MAX 2000
#define CLAUSES_MAX 32
#define RUNS 3
#define SLOW_NS 5000000u /* what takes longer is run twice */

static grebe_error wiki_err;

static void must(grebe_status status) {
    if (status != GREBE_OK) fail(grebe_status_word(status), wiki_err.message);
}

/* ---- the index ---- */

typedef struct wiki_index {
    corpus text;
    grebe_schema *schema;
    grebe_document *document;
    grebe_index *index;
    const char *folder;
    uint64_t docs;
} wiki_index;

BENCH_UNUSED static void index_open(wiki_index *w) {
    must(grebe_index_open(w->folder, w->schema, NULL, &w->index, &wiki_err));
}

BENCH_UNUSED static void index_close(wiki_index *w) {
    must(grebe_index_close(w->index, 0, &wiki_err));
    grebe_index_free(w->index);
    w->index = NULL;
}

BENCH_UNUSED static void wiki_commit(wiki_index *w) {
    must(grebe_index_commit(w->index, GREBE_HARD, NULL, &wiki_err));
}

/* `more` (may be NULL) adds to the document what the corpus lacks. */
typedef void wiki_more(grebe_document *d, uint64_t number);

/* Adds documents up to `docs` in all; returns nanoseconds of adding alone. */
BENCH_UNUSED static uint64_t wiki_add(wiki_index *w, uint64_t docs,
                                      wiki_more *more) {
    uint64_t spent = 0;
    while (w->docs < docs) {
        uint64_t left = docs - w->docs;
        if (!corpus_next(&w->text, left < CHUNK ? left : CHUNK))
            fail("corpus", "has fewer documents");
        uint64_t begin = now_ns();
        for (size_t n = 0; n < w->text.count; n++) {
            document_fill(&w->text, n, w->document);
            if (more) more(w->document, w->docs + n);
            must(grebe_index_add(w->index, w->document, 0, &wiki_err));
        }
        spent += now_ns() - begin;
        w->docs += w->text.count;
    }
    return spent;
}

BENCH_UNUSED static void wiki_merge(wiki_index *w) {
    must(grebe_index_merge(w->index, &wiki_err));
    wiki_commit(w);
}

/* `kind` is of corpus_open; `extra` are fields that `more` fills. */
BENCH_UNUSED static void wiki_open(wiki_index *w, const char *kind,
                                   const char *file, const char *folder,
                                   const grebe_field *extra, size_t count) {
    corpus_open(&w->text, kind, file);
    w->folder = folder;
    w->schema = schema_make(&w->text);
    for (size_t i = 0; i < count; i++)
        must(grebe_schema_add(w->schema, &extra[i], &wiki_err));
    w->docs = 0;
    index_open(w);
    must(grebe_document_new(w->schema, &w->document, &wiki_err));
}

BENCH_UNUSED static void wiki_close(wiki_index *w) {
    corpus_close(&w->text);
    grebe_document_free(w->document);
    grebe_index_free(w->index);
    grebe_schema_release(w->schema);
}

/* ---- queries: ["class", "text"] lines written by bench/corpora.py ---- */

typedef struct class_query {
    char kind[24];
    char *text;
    grebe_query *query;
} class_query;

typedef struct query_set {
    class_query all[QUERIES_MAX];
    size_t count;
} query_set;

/* An exact term, not analysed, as the other engines get them. */
BENCH_UNUSED static grebe_query *term_of(const char *field, grebe_kind kind,
                                         const char *text, size_t size) {
    grebe_query *q;
    grebe_value v = {.kind = kind};
    v.as.text.bytes = text;
    v.as.text.size = size;
    must(grebe_query_term(field, &v, &q, &wiki_err));
    return q;
}

/* The words between two quotes, and the slop behind them. */
static grebe_query *phrase_of(const char *at, size_t size) {
    grebe_phrase_term terms[CLAUSES_MAX];
    grebe_query *q;
    const char *end = at + size;
    uint32_t slop = end[1] == '~' ? (uint32_t)atoi(end + 2) : 0, count = 0;
    while (at < end && count < CLAUSES_MAX) {
        size_t n = strcspn(at, " \"");
        terms[count] = (grebe_phrase_term){at, n, count};
        count++;
        at += n + 1;
    }
    if (count == 1)
        return term_of("body", GREBE_TEXT, terms[0].bytes, terms[0].size);
    must(grebe_query_phrase_terms("body", terms, count, slop, &q, &wiki_err));
    return q;
}

/* One clause of the search-benchmark-game's syntax; returns its end. */
static const char *clause_of(const char *at, grebe_clause *out) {
    out->occur = *at == '+'   ? GREBE_MUST
                 : *at == '-' ? GREBE_MUST_NOT
                              : GREBE_SHOULD;
    at += out->occur != GREBE_SHOULD;
    if (*at == '"') {
        size_t size = strcspn(at + 1, "\"");
        out->query = phrase_of(at + 1, size);
        at += size + 2;
    } else {
        size_t size = strcspn(at, " ");
        out->query = term_of("body", GREBE_TEXT, at, size);
        at += size;
    }
    at += strcspn(at, " ");
    return at + strspn(at, " ");
}

BENCH_UNUSED static grebe_query *query_of(const char *text) {
    grebe_clause clauses[CLAUSES_MAX];
    grebe_query *q;
    size_t count = 0;
    while (*text && count < CLAUSES_MAX)
        text = clause_of(text, &clauses[count++]);
    if (count == 1) return clauses[0].query;
    must(grebe_query_bool(clauses, count, 0, &q, &wiki_err));
    while (count) grebe_query_release(clauses[--count].query);
    return q;
}

BENCH_UNUSED static void queries_read(query_set *set, const char *path) {
    FILE *in = fopen(path, "r");
    char line[4096];
    if (!in) fail(path, "cannot be read");
    for (set->count = 0;
         set->count < QUERIES_MAX && fgets(line, sizeof line, in);
         set->count++) {
        class_query *q = &set->all[set->count];
        size_t size = strcspn(line + 2, "\"");
        snprintf(q->kind, sizeof q->kind, "%.*s", (int)size, line + 2);
        char *text = line + 2 + size + 4; /* ", " and two quotes */
        text[string_cut(text)] = 0;
        q->text = strdup(text);
        q->query = query_of(text);
    }
    fclose(in);
}

BENCH_UNUSED static void queries_free(query_set *set) {
    for (; set->count; set->count--) {
        grebe_query_release(set->all[set->count - 1].query);
        free(set->all[set->count - 1].text);
    }
}

/* ---- running ---- */

typedef struct collecting {
    const char *name;
    uint64_t limit, total_max;
} collecting;

#define TOP_10 0
#define COUNT 4
#define MODES 5
static const collecting modes[MODES] = {
    {"TOP_10", 10, 10},
    {"TOP_100", 100, 100},
    {"TOP_1000", 1000, 1000},
    {"TOP_100_COUNT", 100, GREBE_TOTAL_EXACT},
    {"COUNT", 0, GREBE_TOTAL_EXACT}};

static int time_order(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

typedef struct searching {
    grebe_index *index;
    grebe_searcher *searcher; /* NULL: the index's newest */
} searching;

static uint64_t request_run(searching at, const grebe_search_request *r) {
    grebe_hits *hits;
    uint64_t t = now_ns();
    must(at.searcher ? grebe_searcher_search(at.searcher, r, &hits, &wiki_err)
                     : grebe_index_search(at.index, r, &hits, &wiki_err));
    grebe_hits_release(hits);
    return now_ns() - t;
}

/* The median of RUNS; of a slow search the better of two. */
BENCH_UNUSED static uint64_t request_time(searching at,
                                          const grebe_search_request *r) {
    uint64_t ns[RUNS];
    for (int i = 0; i < RUNS; i++) {
        ns[i] = request_run(at, r);
        if (i == 1 && ns[0] > SLOW_NS && ns[1] > SLOW_NS)
            return ns[0] < ns[1] ? ns[0] : ns[1];
    }
    qsort(ns, RUNS, sizeof *ns, time_order);
    return ns[RUNS / 2];
}

BENCH_UNUSED static grebe_search_request request_of(const class_query *q,
                                                    const collecting *how) {
    return (grebe_search_request){
        .query = q->query, .limit = how->limit, .total_max = how->total_max};
}

/* Series named "MODE class": a time of each query in each mode asked for. */
BENCH_UNUSED static void classes_put(searching at, const query_set *set,
                                     uint32_t asked) {
    uint64_t ns[QUERIES_MAX];
    const char *comma = "";
    for (int m = 0; m < MODES; m++) {
        if (!(asked & 1u << m)) continue;
        for (size_t begin = 0, end; begin < set->count; begin = end) {
            char name[64];
            const char *kind = set->all[begin].kind;
            for (end = begin;
                 end < set->count && !strcmp(set->all[end].kind, kind);
                 end++) {
                grebe_search_request r = request_of(&set->all[end], &modes[m]);
                ns[end - begin] = request_time(at, &r);
            }
            snprintf(name, sizeof name, "%s %s", modes[m].name, kind);
            printf("%s", comma);
            series_put(name, ns, end - begin, "");
            comma = ", ";
        }
    }
}

static void json_put(const char *text) {
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') putchar('\\');
        putchar(*text);
    }
    putchar('"');
}

static void top_put(searching at, const class_query *q) {
    grebe_search_request r = {.query = q->query, .limit = 10};
    grebe_hits *hits;
    must(grebe_index_search(at.index, &r, &hits, &wiki_err));
    json_put(q->text);
    printf(": [%llu", (unsigned long long)grebe_hits_total(hits));
    for (uint64_t i = 0; i < grebe_hits_count(hits); i++) {
        grebe_value key;
        must(grebe_hits_key(hits, i, &key, &wiki_err));
        printf(", [\"%.*s\", %.9g]", (int)key.as.text.size, key.as.text.bytes,
               (double)grebe_hits_scores(hits)[i]);
    }
    printf("]");
    grebe_hits_release(hits);
}

/* {"tops": {text: [total, [key, score], ...]}} */
BENCH_UNUSED static void tops_put(searching at, const query_set *set) {
    printf("{\"tops\": {");
    for (size_t i = 0; i < set->count; i++) {
        if (i) printf(", ");
        top_put(at, &set->all[i]);
    }
    printf("}}");
    answer_end();
}

#endif
