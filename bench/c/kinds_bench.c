/* bench/c/kinds_bench.c - W8 in C: prefixes, ranges, sorts, facets, filters,
 * fetches and passages over stored documents with columns.
 *
 *   open kinds FILE DOCS FOLDER TERMS    TERMS: {"high": [...], "med": [...]},
 *                                        written by bench/corpora.py
 *   block N, answers, close
 */
#include "wiki.h"

#define TERMS_MAX 10
#define STEPS_MAX 400
#define GETS 500

typedef struct step {
    const char *name; /* steps of a name stand together */
    grebe_search_request request;
    grebe_query *query;
} step;

typedef struct bench {
    wiki_index wiki;
    char *high[TERMS_MAX], *med[TERMS_MAX];
    size_t highs, meds;
    step steps[STEPS_MAX];
    size_t count;
    grebe_query *seventh; /* the filter */
    random64 random;
} bench;

#define KEYWORD_FLAGS GREBE_INDEXED | GREBE_COLUMN
static const grebe_field extra[] = {
    {"f50", GREBE_KEYWORD, KEYWORD_FLAGS, NULL, NULL},
    {"f10k", GREBE_KEYWORD, KEYWORD_FLAGS, NULL, NULL},
    {"f1m", GREBE_KEYWORD, KEYWORD_FLAGS, NULL, NULL}};
static const uint64_t values[] = {50, 10000, 1000000};
#define EXTRA (sizeof extra / sizeof *extra)
#define FIRST_EXTRA 5

static void columns_fill(grebe_document *d, uint64_t number) {
    char text[24];
    for (uint32_t i = 0; i < EXTRA; i++) {
        int size =
            snprintf(text, sizeof text, "v%llu",
                     (unsigned long long)(mix64(number + 1) % values[i]));
        must(grebe_document_add_text(d, FIRST_EXTRA + i, text, (size_t)size,
                                     &wiki_err));
    }
}

/* ---- the searches ---- */

/* The strings of the array behind "name": [. */
static size_t terms_read(const char *text, const char *name, char **out) {
    const char *at = strstr(text, name);
    size_t count = 0;
    if (!at) fail(name, "not in the file of terms");
    at = strchr(at, '[') + 1;
    while (count < TERMS_MAX && *at != ']') {
        const char *begin = strchr(at, '"') + 1;
        size_t size = strcspn(begin, "\"");
        out[count++] = strndup(begin, size);
        at = begin + size + 1;
    }
    return count;
}

static step *step_add(bench *b, const char *name, grebe_query *q,
                      uint64_t limit, uint64_t total_max) {
    if (b->count == STEPS_MAX) fail("steps", "too many");
    step *s = &b->steps[b->count++];
    s->name = name;
    s->query = q;
    s->request = (grebe_search_request){
        .query = q, .limit = limit, .total_max = total_max};
    return s;
}

static grebe_query *body_term(const char *text) {
    return term_of("body", GREBE_TEXT, text, strlen(text));
}

static grebe_query *prefix_of(const char *text) {
    grebe_query *q;
    must(grebe_query_prefix("body", text, 3, &q, &wiki_err));
    return q;
}

static grebe_query *range_of(int64_t from) {
    grebe_query *q;
    grebe_value low = {.kind = GREBE_INT}, high = {.kind = GREBE_INT};
    grebe_range range = {.lower = &low, .upper = &high};
    low.as.integer = from;
    high.as.integer = from + 8639;
    must(grebe_query_range("time_sec", &range, &q, &wiki_err));
    return q;
}

static void facet_add(bench *b, const char *name, grebe_query *q,
                      uint32_t field) {
    static grebe_facet_request asked[EXTRA];
    asked[field] = (grebe_facet_request){.field = extra[field].name};
    step *s = step_add(b, name, q, 10, 10);
    s->request.facets = &asked[field];
    s->request.facet_count = 1;
}

static void prefixes_add(bench *b, const char *name, uint64_t limit) {
    for (size_t i = 0; i < b->highs; i++)
        step_add(b, name, prefix_of(b->high[i]), limit, limit);
    for (size_t i = 0; i < b->meds; i++)
        step_add(b, name, prefix_of(b->med[i]), limit, limit);
}

static void ranges_add(bench *b, const char *name, uint64_t limit) {
    for (int64_t from = 0; from < 75000; from += 7500)
        step_add(b, name, range_of(from), limit, limit);
}

static void passages_add(bench *b) {
    static const grebe_highlight_request body = {.field = "body"};
    for (size_t i = 0; i < b->highs && i < b->meds; i++) {
        grebe_clause both[] = {{GREBE_MUST, body_term(b->high[i])},
                               {GREBE_MUST, body_term(b->med[i])}};
        grebe_query *q;
        must(grebe_query_bool(both, 2, 0, &q, &wiki_err));
        step *s = step_add(b, "ten passages", q, 10, 10);
        s->request.highlights = &body;
        s->request.highlight_count = 1;
        grebe_query_release(both[0].query);
        grebe_query_release(both[1].query);
    }
}

static void steps_add(bench *b) {
    static const char *const facets[][2] = {
        {"frequent term, facet of 50", "all, facet of 50"},
        {"frequent term, facet of 10,000", "all, facet of 10,000"},
        {"frequent term, facet of 1,000,000", "all, facet of 1,000,000"}};
    prefixes_add(b, "prefix, top 10", 10);
    prefixes_add(b, "prefix, count", 0);
    ranges_add(b, "range, count", 0);
    ranges_add(b, "range, top 10", 10);
    for (size_t i = 0; i < b->highs; i++)
        step_add(b, "frequent term by views, top 10", body_term(b->high[i]),
                 10, GREBE_TOTAL_EXACT)
            ->request.sort = "views desc";
    for (uint32_t f = 0; f < EXTRA; f++) {
        for (size_t i = 0; i < b->highs; i++)
            facet_add(b, facets[f][0], body_term(b->high[i]), f);
        facet_add(b, facets[f][1], NULL, f);
    }
    b->seventh = term_of("f50", GREBE_KEYWORD, "v7", 2);
    for (size_t i = 0; i < b->highs; i++) {
        step *s = step_add(b, "frequent term, filter, top 10",
                           body_term(b->high[i]), 10, GREBE_TOTAL_EXACT);
        s->request.filters = (const grebe_query *const *)&b->seventh;
        s->request.filter_count = 1;
    }
    passages_add(b);
}

static void bench_open(bench *b, char **words) {
    char terms[8192] = "";
    FILE *in = fopen(words[5], "r");
    if (!in || !fread(terms, 1, sizeof terms - 1, in))
        fail(words[5], "cannot be read");
    fclose(in);
    b->highs = terms_read(terms, "\"high\"", b->high);
    b->meds = terms_read(terms, "\"med\"", b->med);
    wiki_open(&b->wiki, "kinds", words[2], strdup(words[4]), extra, EXTRA);
    wiki_add(&b->wiki, strtoull(words[3], NULL, 10), columns_fill);
    wiki_commit(&b->wiki);
    wiki_merge(&b->wiki);
    steps_add(b);
    printf("{\"version\": \"%s\"}", grebe_version());
    answer_end();
}

/* ---- measuring ---- */

static void gets_put(bench *b) {
    uint64_t ns[GETS];
    b->random.state = 6;
    for (int i = 0; i < GETS; i++) {
        char key[24];
        int found;
        grebe_value v = {.kind = GREBE_KEYWORD};
        v.as.text.bytes = key;
        v.as.text.size =
            (size_t)snprintf(key, sizeof key, "w%u",
                             random_below(&b->random, (uint32_t)b->wiki.docs));
        uint64_t t = now_ns();
        must(grebe_index_get(b->wiki.index, &v, b->wiki.document, &found,
                             &wiki_err));
        ns[i] = now_ns() - t;
        if (!found) fail(key, "is missing");
    }
    series_put("get by key, stored fields", ns, GETS, "");
}

/* Stored fields of ten hits. */
static uint64_t fetch_time(bench *b, const char *text) {
    grebe_hits *hits;
    grebe_query *q = body_term(text);
    grebe_search_request r = {.query = q, .limit = 10, .total_max = 10};
    must(grebe_index_search(b->wiki.index, &r, &hits, &wiki_err));
    uint64_t t = now_ns();
    for (uint64_t i = 0; i < grebe_hits_count(hits); i++)
        must(grebe_hits_document(hits, i, b->wiki.document, &wiki_err));
    t = now_ns() - t;
    grebe_hits_release(hits);
    grebe_query_release(q);
    return t;
}

static void fetches_put(bench *b) {
    uint64_t ns[TERMS_MAX];
    for (size_t i = 0; i < b->highs; i++) ns[i] = fetch_time(b, b->high[i]);
    series_put("stored fields of ten hits", ns, b->highs, ", ");
}

static size_t steps_of(const bench *b, size_t begin) {
    size_t end = begin;
    while (end < b->count && b->steps[end].name == b->steps[begin].name) end++;
    return end;
}

static void block(bench *b, size_t n) {
    uint64_t ns[STEPS_MAX], cpu = cpu_ns();
    printf("{\"series\": {");
    for (size_t begin = 0, end; begin < b->count; begin = end) {
        end = steps_of(b, begin);
        for (size_t i = begin; i < end; i++)
            ns[i - begin] = request_time((searching){b->wiki.index, NULL},
                                         &b->steps[i].request);
        series_put(b->steps[begin].name, ns, end - begin, ", ");
    }
    fetches_put(b);
    gets_put(b);
    printf("}, \"cpu_ns\": %llu, \"turns\": %zu}",
           (unsigned long long)(cpu_ns() - cpu), n);
    answer_end();
}

/* The exact total, the sum of the ten largest facet counts, or the hits. */
static uint64_t found(bench *b, const step *s) {
    grebe_hits *hits;
    uint64_t sum = 0, count;
    must(grebe_index_search(b->wiki.index, &s->request, &hits, &wiki_err));
    if (s->request.facet_count) {
        for (uint64_t i = 0; i < grebe_hits_facet_size(hits, 0); i++) {
            must(grebe_hits_facet(hits, 0, i, NULL, &count, &wiki_err));
            sum += count;
        }
    } else {
        sum = s->request.total_max == GREBE_TOTAL_EXACT
                  ? grebe_hits_total(hits)
                  : grebe_hits_count(hits);
    }
    grebe_hits_release(hits);
    return sum;
}

static void answers(bench *b) {
    printf("{");
    for (size_t begin = 0, end; begin < b->count; begin = end) {
        end = steps_of(b, begin);
        printf("%s\"%s\": [", begin ? ", " : "", b->steps[begin].name);
        for (size_t i = begin; i < end; i++)
            printf("%s%llu", i > begin ? ", " : "",
                   (unsigned long long)found(b, &b->steps[i]));
        printf("]");
    }
    printf("}");
    answer_end();
}

int main(void) {
    static bench b;
    char line[8192], *words[8];
    int count;
    while ((count = command_read(line, sizeof line, words, 8)) > 0) {
        if (!strcmp(words[0], "open") && count == 6) {
            bench_open(&b, words);
        } else if (!strcmp(words[0], "block") && b.count) {
            block(&b, (size_t)atoi(words[1]));
        } else if (!strcmp(words[0], "answers") && b.count) {
            answers(&b);
        } else {
            fail("command", words[0]);
        }
    }
    while (b.count) grebe_query_release(b.steps[--b.count].query);
    grebe_query_release(b.seventh);
    wiki_close(&b.wiki);
    return 0;
}
