/* rooms: base doc analysis segment snapshot query search api */
/* The oracle's `after_deletes`: segments with deleted and replaced documents,
 * and the same documents merged into one, hits and scores to the bit. Dead
 * documents count in the statistics until the merge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "oracle_query.h"
#include "search_fixture.h"

#define DOCS_MAX 20000

typedef struct entry {
    const char *id;
    char *text;
} entry;

typedef struct added {
    uint32_t id, text; /* places in the file */
    uint32_t leaf, doc;
    bool dead;
} added;

/* A collection's file and the history of one sequence. */
typedef struct history {
    entry docs[DOCS_MAX];
    uint32_t doc_count;
    added list[DOCS_MAX * 2];
    uint32_t count;
    fixture before, after;
} history;

static void file_read(history *h, const char *collection) {
    char name[256];
    snprintf(name, sizeof name, "data/relevance/%s/docs.jsonl.gz", collection);
    oracle *docs = oracle_open(name);
    assert_non_null(docs);
    for (json_t *d; (d = oracle_next(docs)); json_decref(d)) {
        const char *title = oracle_text(d, "title", NULL);
        const char *text = oracle_text(d, "text", NULL);
        entry *e = &h->docs[h->doc_count++];
        e->id = strdup(oracle_text(d, "id", NULL));
        e->text = malloc(strlen(title) + strlen(text) + 2);
        sprintf(e->text, "%s%s%s", title, *title && *text ? " " : "", text);
    }
    oracle_close(docs);
}

static uint32_t place_of(const history *h, const char *id) {
    for (uint32_t i = 0; i < h->doc_count; i++)
        if (strcmp(h->docs[i].id, id) == 0) return i;
    fail_msg("no document %s", id);
    return 0;
}

static void document_index(const history *h, fixture *f, model_segment *m,
                           uint32_t text) {
    grb_tokens tokens;
    const char *bytes = h->docs[text].text;
    grb_tokens_init(&tokens, &grb_allocator_malloc);
    model_doc(m, m->doc_count);
    assert_int_equal(grb_analyze(f->schema->fields[0].analyzer, bytes,
                                 strlen(bytes), &tokens, NULL),
                     GREBE_OK);
    for (uint32_t i = 0; i < tokens.count; i++)
        model_token(m, 0, tokens.items[i].bytes, tokens.items[i].size,
                    tokens.items[i].position);
    grb_tokens_deinit(&tokens);
}

static model_segment *leaf_new(fixture *f) {
    model_segment *m = fixture_leaf(f, 128);
    model_field(m, 0, GREBE_TEXT, false);
    return m;
}

static void history_add(history *h, model_segment *m, uint32_t id,
                        uint32_t text) {
    added *a = &h->list[h->count++];
    *a = (added){id, text, h->before.leaf_count - 1, m->doc_count, false};
    document_index(h, &h->before, m, text);
}

static void history_delete(history *h, uint32_t id) {
    for (uint32_t i = 0; i < h->count; i++)
        if (h->list[i].id == id) h->list[i].dead = true;
}

static void history_play(history *h, const json_t *ops) {
    model_segment *m = NULL;
    size_t i;
    json_t *op;
    json_array_foreach(ops, i, op) {
        const char *verb = json_string_value(json_array_get(op, 0));
        const json_t *first = json_array_get(op, 1);
        const json_t *second = json_array_get(op, 2);
        if (!m) m = leaf_new(&h->before);
        if (strcmp(verb, "add") == 0) {
            for (json_int_t d = json_integer_value(first);
                 d < json_integer_value(second); d++)
                history_add(h, m, (uint32_t)d, (uint32_t)d);
        } else if (strcmp(verb, "commit") == 0) {
            m = NULL;
        } else {
            uint32_t id = place_of(h, json_string_value(first));
            history_delete(h, id);
            if (second)
                history_add(h, m, id, place_of(h, json_string_value(second)));
        }
    }
}

/* Views for the dead, and the merged segment without them. */
static void history_seal(history *h) {
    model_segment *merged = leaf_new(&h->after);
    fixture_seal(&h->before);
    for (uint32_t l = 0; l < h->before.leaf_count; l++) {
        grb_view *v = grb_view_new(&grb_allocator_malloc, 0, NULL);
        assert_non_null(v);
        h->before.list->leaves[l].view = v;
    }
    for (uint32_t i = 0; i < h->count; i++) {
        added *a = &h->list[i];
        grb_view *v = h->before.list->leaves[a->leaf].view;
        if (a->dead) {
            assert_true(grb_view_reserve(v, a->doc));
            grb_view_kill(v, a->doc, 1);
        } else {
            document_index(h, &h->after, merged, a->text);
        }
    }
    fixture_seal(&h->after);
}

static history *history_open(const json_t *line) {
    history *h = calloc(1, sizeof *h);
    assert_non_null(h);
    const char *analyzer = oracle_text(line, "analyzer", NULL);
    file_read(h, oracle_text(line, "collection", NULL));
    fixture_init(&h->before);
    fixture_init(&h->after);
    fixture_field(&h->before, "body", GREBE_TEXT, GREBE_INDEXED, analyzer);
    fixture_field(&h->after, "body", GREBE_TEXT, GREBE_INDEXED, analyzer);
    history_play(h, json_object_get(line, "ops"));
    history_seal(h);
    return h;
}

static void history_close(history *h) {
    if (!h) return;
    for (uint32_t i = 0; i < h->doc_count; i++) {
        free((char *)h->docs[i].id);
        free(h->docs[i].text);
    }
    fixture_deinit(&h->before);
    fixture_deinit(&h->after);
    free(h);
}

/* The id of a hit, by its place before or after the merge. */
static const char *hit_id(const history *h, uint64_t place, bool merged) {
    uint32_t live = 0;
    for (uint32_t i = 0; i < h->count; i++) {
        const added *a = &h->list[i];
        if (merged ? !a->dead && live == (uint32_t)place
                   : a->leaf == place >> 32 && a->doc == (uint32_t)place)
            return h->docs[a->id].id;
        live += !a->dead;
    }
    return "?";
}

static int answer_compare(history *h, const json_t *line, const grebe_query *q,
                          bool merged, fixture_hits *hits) {
    const json_t *want =
        json_object_get(line, merged ? "after_merge" : "before_merge");
    json_int_t total = json_integer_value(json_object_get(line, "total"));
    grebe_error err;
    size_t i;
    json_t *hit;
    oracle_must(fixture_search(merged ? &h->after : &h->before, q, NULL, true,
                               hits, &err),
                &err);
    if ((json_int_t)hits->count != total) {
        printf("%s: %zu hits\n", oracle_text(line, "id", NULL), hits->count);
        return 1;
    }
    json_array_foreach(want, i, hit) {
        size_t best = SIZE_MAX;
        for (size_t k = 0; k < hits->count; k++)
            if (hits->places[k] != UINT64_MAX &&
                (best == SIZE_MAX || hits->scores[k] > hits->scores[best]))
                best = k;
        const char *id = hit_id(h, hits->places[best], merged);
        float score = (float)json_number_value(json_array_get(hit, 1));
        if (strcmp(id, json_string_value(json_array_get(hit, 0))) != 0 ||
            score != hits->scores[best]) {
            printf("%s, rank %zu, merged %d: %s %.9g, not %.9g\n",
                   oracle_text(line, "id", NULL), i, merged, id,
                   (double)hits->scores[best], (double)score);
            return 1;
        }
        hits->places[best] = UINT64_MAX;
    }
    return 0;
}

static grebe_query *line_query(const json_t *line) {
    const json_t *terms = json_object_get(line, "terms");
    grebe_clause clauses[1024];
    grebe_query *q = NULL;
    grebe_error err;
    size_t i;
    json_t *term;
    if (!terms) return oracle_tree(json_object_get(line, "query"));
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

static void scores_after_deletes_and_merges_are_the_recorded(void **state) {
    oracle *all = oracle_open("oracle/lucene/after_deletes.jsonl.gz");
    fixture_hits hits = {NULL, NULL, 0, 0};
    history *h = NULL;
    int wrong = 0, compared = 0, skipped = 0;
    if (!all) skip();
    for (json_t *line; (line = oracle_next(all)); json_decref(line)) {
        if (strcmp(oracle_text(line, "kind", NULL), "sequence") == 0) {
            history_close(h);
            h = history_open(line);
        }
        if (!json_object_get(line, "id")) continue;
        grebe_query *q = line_query(line);
        if (!q) {
            skipped++;
            continue;
        }
        compared++;
        wrong += answer_compare(h, line, q, false, &hits);
        wrong += answer_compare(h, line, q, true, &hits);
        grebe_query_release(q);
    }
    printf("%d compared, %d skipped, %d wrong\n", compared, skipped, wrong);
    history_close(h);
    fixture_hits_free(&hits);
    oracle_close(all);
    assert_int_equal(wrong, 0);
    assert_true(compared > 700);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_after_deletes_and_merges_are_the_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
