/* rooms: base doc analysis segment invert memseg snapshot query search api */
/* Every ranked answer of the oracle's `scores`, but those with fuzzy, wildcard
 * or regexp clauses: hits, order, totals, scores equal to the bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "memseg/memseg.h"
#include "oracle_query.h"
#include "search_fixture.h"

typedef struct collection {
    fixture f;
    char **ids; /* by document of the whole collection */
    uint32_t count, per_leaf;
    grb_bm25 bm25;
    grb_pool *pool; /* NULL: model segments */
    grb_segment *memory;
    grb_inverted *inverted;
    grebe_document *document;
} collection;

/* ---- over a memory segment ---- */

static void memory_open(collection *c) {
    grebe_error err;
    oracle_must(grb_pool_new(&grb_allocator_malloc, &c->pool, &err), &err);
    oracle_must(grb_memseg_new(c->pool, c->f.schema, &c->memory, &err), &err);
    oracle_must(grb_inverted_new(&grb_allocator_malloc, &c->inverted, &err),
                &err);
    oracle_must(grebe_document_new(c->f.schema, &c->document, &err), &err);
}

static void memory_add(collection *c, const char *text) {
    grebe_error err;
    uint32_t doc;
    grebe_document_clear(c->document);
    oracle_must(
        grebe_document_add_text(c->document, 0, text, strlen(text), &err),
        &err);
    oracle_must(grb_inverted_build(c->inverted, c->document, false, &err),
                &err);
    oracle_must(
        grb_memseg_append(c->memory, c->inverted, c->count, &doc, &err), &err);
}

static void memory_seal(collection *c) {
    fixture *f = &c->f;
    f->list = calloc(1, sizeof *f->list + sizeof(grb_leaf));
    assert_non_null(f->list);
    f->list->count = 1;
    f->list->leaves[0].segment = c->memory;
    grb_memseg_bounds(c->memory, &f->list->leaves[0].bounds);
    f->snapshot.list = f->list;
    f->snapshot.schema = f->schema;
    f->snapshot.epoch = 1;
}

static void memory_close(collection *c) {
    if (!c->pool) return;
    grb_totals_release(c->f.list->leaves[0].bounds.totals);
    grb_inverted_free(c->inverted);
    grebe_document_free(c->document);
    grb_segment_release(c->memory);
    grb_pool_release(c->pool);
}

/* ---- over model segments ---- */

static void document_add(collection *c, grb_tokens *tokens, const char *text) {
    fixture *f = &c->f;
    grebe_error err;
    if (c->count % c->per_leaf == 0)
        model_field(fixture_leaf(f, f->leaf_count % 2 ? 100 : 256), 0,
                    GREBE_TEXT, false);
    model_segment *m = f->leaves[f->leaf_count - 1];
    model_doc(m, c->count);
    assert_int_equal(grb_analyze(f->schema->fields[0].analyzer, text,
                                 strlen(text), tokens, &err),
                     GREBE_OK);
    for (uint32_t i = 0; i < tokens->count; i++)
        model_token(m, 0, tokens->items[i].bytes, tokens->items[i].size,
                    tokens->items[i].position);
}

static void collection_open(collection *c, const json_t *line,
                            uint32_t leaves) {
    bool memory = leaves == 0;
    char name[256];
    const char *analyzer = oracle_text(line, "analyzer", NULL);
    uint32_t total =
        (uint32_t)json_integer_value(json_object_get(line, "docs"));
    grb_tokens tokens;
    memset(c, 0, sizeof *c);
    fixture_init(&c->f);
    fixture_field(&c->f, "body", GREBE_TEXT, GREBE_INDEXED, analyzer);
    c->per_leaf = memory ? total : (total + leaves - 1) / leaves;
    if (memory) memory_open(c);
    c->ids = calloc(total, sizeof *c->ids);
    c->bm25.k1 = (float)json_number_value(json_object_get(line, "k1"));
    c->bm25.b = (float)json_number_value(json_object_get(line, "b"));
    snprintf(name, sizeof name, "data/relevance/%s/docs.jsonl.gz",
             oracle_text(line, "collection", NULL));
    oracle *docs = oracle_open(name);
    assert_non_null(docs);
    grb_tokens_init(&tokens, &grb_allocator_malloc);
    for (json_t *d; (d = oracle_next(docs)); json_decref(d)) {
        const char *title = oracle_text(d, "title", NULL);
        const char *text = oracle_text(d, "text", NULL);
        char *all = malloc(strlen(title) + strlen(text) + 2);
        sprintf(all, "%s%s%s", title, *title && *text ? " " : "", text);
        if (memory)
            memory_add(c, all);
        else
            document_add(c, &tokens, all);
        c->ids[c->count++] = strdup(oracle_text(d, "id", NULL));
        free(all);
    }
    oracle_close(docs);
    grb_tokens_deinit(&tokens);
    assert_int_equal(c->count, total);
    if (memory)
        memory_seal(c);
    else
        fixture_seal(&c->f);
}

static void collection_close(collection *c) {
    if (!c->ids) return;
    for (uint32_t i = 0; i < c->count; i++) free(c->ids[i]);
    free(c->ids);
    memory_close(c);
    fixture_deinit(&c->f);
    c->ids = NULL;
}

/* Place of the best hit not before (score, place) of the one before. */
static size_t hits_best(const fixture_hits *h, const bool *taken) {
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < h->count; i++)
        if (!taken[i] && (best == SIZE_MAX || h->scores[i] > h->scores[best]))
            best = i;
    return best;
}

/* Number of differences, printed. */
static int answer_compare(collection *c, const json_t *line,
                          const grebe_query *q, fixture_hits *h) {
    const char *id = oracle_text(line, "id", NULL);
    json_int_t total = json_integer_value(json_object_get(line, "total"));
    grebe_error err;
    size_t i;
    json_t *hit;
    if (fixture_search(&c->f, q, &c->bm25, true, h, &err)) {
        printf("%s: %s\n", id, err.message);
        return 1;
    }
    if ((json_int_t)h->count != total) {
        printf("%s: %zu hits, not %lld\n", id, h->count, (long long)total);
        return 1;
    }
    bool *taken = calloc(h->count + 1, 1);
    int wrong = 0;
    json_array_foreach(json_object_get(line, "hits"), i, hit) {
        const char *want = json_string_value(json_array_get(hit, 0));
        float score = (float)json_number_value(json_array_get(hit, 1));
        size_t at = hits_best(h, taken);
        uint64_t place = h->places[at];
        const char *have =
            c->ids[(place >> 32) * c->per_leaf + (uint32_t)place];
        taken[at] = true;
        if (strcmp(want, have) == 0 && score == h->scores[at]) continue;
        printf("%s: rank %zu is %s %.9g, not %s %.9g\n", id, i, have,
               (double)h->scores[at], want, (double)score);
        wrong = 1;
        break;
    }
    free(taken);
    return wrong;
}

static grebe_query *terms_query(const json_t *terms) {
    grebe_clause clauses[1024];
    grebe_query *q = NULL;
    grebe_error err;
    size_t i;
    json_t *term;
    json_array_foreach(terms, i, term) {
        grebe_value value;
        oracle_value(term, &value);
        clauses[i].occur = GREBE_SHOULD;
        oracle_must(grebe_query_term("body", &value, &clauses[i].query, &err),
                    &err);
    }
    oracle_must(grebe_query_bool(clauses, json_array_size(terms), 0, &q, &err),
                &err);
    for (i = 0; i < json_array_size(terms); i++)
        grebe_query_release(clauses[i].query);
    return q;
}

static void scores_check(uint32_t leaves) {
    oracle *all = oracle_open("oracle/lucene/scores.jsonl.gz");
    collection c = {.ids = NULL};
    fixture_hits hits = {NULL, NULL, 0, 0};
    int wrong = 0, compared = 0, skipped = 0;
    if (!all) skip();
    for (json_t *line; (line = oracle_next(all)); json_decref(line)) {
        const json_t *tree = json_object_get(line, "query");
        const json_t *terms = json_object_get(line, "terms");
        grebe_query *q = NULL;
        if (strcmp(oracle_text(line, "kind", NULL), "index") == 0) {
            collection_close(&c);
            collection_open(&c, line, leaves);
        }
        if (terms) q = terms_query(terms);
        if (tree) q = oracle_tree(tree);
        if (!q) {
            skipped += tree != NULL;
            continue;
        }
        compared++;
        wrong += answer_compare(&c, line, q, &hits);
        grebe_query_release(q);
    }
    printf("%u leaves: %d compared, %d skipped, %d wrong\n", leaves, compared,
           skipped, wrong);
    collection_close(&c);
    fixture_hits_free(&hits);
    oracle_close(all);
    assert_int_equal(wrong, 0);
    assert_true(compared > 2000);
}

static void scores_equal_the_recorded_ones_to_the_bit(void **state) {
    scores_check(1);
}

static void scores_do_not_depend_on_the_number_of_segments(void **state) {
    scores_check(5);
}

static void scores_of_a_memory_segment_are_the_same(void **state) {
    scores_check(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_equal_the_recorded_ones_to_the_bit),
        cmocka_unit_test(scores_do_not_depend_on_the_number_of_segments),
        cmocka_unit_test(scores_of_a_memory_segment_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
