/* rooms: base store doc analysis segment invert memseg snapshot merge query search commit collect result engine api */
/* The oracle's `random_ops` through the public calls, over memory and file
 * segments: at each scored search the scoring is fed with the recorded
 * statistics (ours differ while dead documents count, since a soft commit
 * makes no segment here), and hits, order and scores must be equal to the
 * bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine/engine.h"
#include "engine_case.h"
#include "oracle_query.h"
#include "search_fixture.h"

#define KEPT_MAX 64
enum { ID, V, BODY, KIND, N, FIELDS };

typedef struct kept {
    char name[32];
    grebe_searcher *searcher;
} kept;

/* A script's index and what its searches were compared with. */
typedef struct play {
    engine_case c; /* case_ok, path */
    uint64_t docs_max;
    kept kept[KEPT_MAX];
    int kept_count;
    grb_arena arena;
    fixture_hits hits;
    const json_t *stats; /* of the search that runs */
    const char *script;
    int searches, scores, unequal, wrong;
} play;

/* ---- the index ---- */

static grebe_schema *fields_make(void) {
    static const uint32_t plain = GREBE_STORED | GREBE_INDEXED | GREBE_COLUMN;
    const grebe_field fields[FIELDS] = {
        {.name = "id", .kind = GREBE_KEYWORD, .flags = plain | GREBE_KEY},
        {.name = "v", .kind = GREBE_INT, .flags = GREBE_STORED},
        {.name = "body",
         .kind = GREBE_TEXT,
         .flags = GREBE_STORED | GREBE_INDEXED},
        {.name = "kind", .kind = GREBE_KEYWORD, .flags = plain | GREBE_MANY},
        {.name = "n", .kind = GREBE_INT, .flags = plain}};
    grebe_schema *s = NULL;
    assert_int_equal(grebe_schema_new(&s, NULL), GREBE_OK);
    for (int i = 0; i < FIELDS; i++)
        assert_int_equal(grebe_schema_add(s, &fields[i], NULL), GREBE_OK);
    return s;
}

static void index_open(play *p) {
    grebe_open_options o = {.durability = GREBE_DURABILITY_NONE,
                            .docs_max = p->docs_max};
    case_ok(
        grebe_index_open(p->c.path, p->c.schema, &o, &p->c.index, &p->c.error),
        &p->c);
}

static void play_open(play *p, const char *script) {
    memset(&p->c, 0, sizeof p->c);
    p->script = script;
    p->kept_count = 0;
    p->c.where = CASE_FOLDER;
    p->c.schema = fields_make();
    strcpy(p->c.path, "/tmp/grebe-recorded-XXXXXX");
    assert_non_null(mkdtemp(p->c.path));
    index_open(p);
    case_ok(grebe_document_new(p->c.schema, &p->c.document, &p->c.error),
            &p->c);
    grb_arena_init(&p->arena, &grb_allocator_malloc, 0);
}

static void play_close(play *p) {
    for (int i = 0; i < p->kept_count; i++)
        grebe_searcher_release(p->kept[i].searcher);
    grb_arena_deinit(&p->arena);
    case_close(&p->c);
}

/* ---- operations ---- */

static void text_put(play *p, uint32_t field, const json_t *text) {
    case_ok(grebe_document_add_text(p->c.document, field,
                                    json_string_value(text),
                                    json_string_length(text), &p->c.error),
            &p->c);
}

static void document_add(play *p, const json_t *doc, int overwrite) {
    const json_t *body = json_object_get(doc, "body");
    const json_t *n = json_object_get(doc, "n");
    size_t i;
    json_t *kind;
    grebe_document_clear(p->c.document);
    text_put(p, ID, json_object_get(doc, "id"));
    case_ok(grebe_document_add_int(
                p->c.document, V,
                json_integer_value(json_object_get(doc, "v")), &p->c.error),
            &p->c);
    if (body) text_put(p, BODY, body);
    json_array_foreach(json_object_get(doc, "kind"), i, kind)
        text_put(p, KIND, kind);
    if (n)
        case_ok(grebe_document_add_int(p->c.document, N, json_integer_value(n),
                                       &p->c.error),
                &p->c);
    case_ok(grebe_index_add(p->c.index, p->c.document, overwrite, &p->c.error),
            &p->c);
}

static void query_delete(play *p, const json_t *tree) {
    grebe_query *q = oracle_tree(tree);
    assert_non_null(q);
    case_ok(grebe_index_delete_by_query(p->c.index, q, NULL, &p->c.error),
            &p->c);
    grebe_query_release(q);
}

static void index_reopen(play *p, bool commit) {
    case_ok(grebe_index_close(p->c.index, commit, &p->c.error), &p->c);
    grebe_index_free(p->c.index);
    index_open(p);
}

static void searcher_keep(play *p, const char *name) {
    assert_true(p->kept_count < KEPT_MAX);
    kept *k = &p->kept[p->kept_count++];
    snprintf(k->name, sizeof k->name, "%s", name);
    case_ok(grebe_index_searcher(p->c.index, 0, &k->searcher, &p->c.error),
            &p->c);
}

static void hard_commit(play *p, const json_t *op) {
    bool unseen = json_is_false(json_object_get(op, "open_searcher"));
    case_commit(&p->c, unseen ? GREBE_HARD_UNSEEN : GREBE_HARD);
}

/* ---- a scored search ---- */

static bool field_totals(void *context, const grb_field *field,
                         grb_field_totals *out) {
    const play *p = context;
    const json_t *from = json_object_get(p->stats, field->name);
    if (field->id == BODY) from = p->stats;
    if (!json_object_get(from, "doc_count")) return false;
    out->doc_count =
        (uint64_t)json_integer_value(json_object_get(from, "doc_count"));
    out->term_total = (uint64_t)json_integer_value(
        json_object_get(from, "sum_total_term_freq"));
    return true;
}

static bool term_df(void *context, const grb_field *field, const void *bytes,
                    size_t size, uint64_t *df) {
    const play *p = context;
    char name[256];
    snprintf(name, sizeof name, "%s:%.*s", field->name, (int)size,
             (const char *)bytes);
    const json_t *found =
        json_object_get(json_object_get(p->stats, "df"), name);
    if (!found) return false;
    *df = (uint64_t)json_integer_value(found);
    return true;
}

/* Hits in insertion order with the scores of the recorded statistics. */
static void scores_find(play *p, grebe_searcher *s, const grebe_query *q) {
    const grb_statistics statistics = {p, field_totals, term_df};
    grb_search_context c = {.snapshot = s->snapshot,
                            .schema = s->snapshot->schema,
                            .arena = &p->arena,
                            .statistics = &statistics};
    grb_visitor visitor = {.context = &p->hits, .window = fixture_window};
    grb_weight *w;
    grb_arena_reset(&p->arena);
    p->hits.count = 0;
    case_ok(grb_weight_new(&c, q, true, &w, &p->c.error), &p->c);
    case_ok(grb_search_run(&c, w, NULL, 0, true, &visitor, &p->c.error),
            &p->c);
}

/* The serial number of the i-th row. */
static json_int_t row_v(play *p, const grebe_hits *rows, uint64_t i) {
    grebe_value v = {.kind = GREBE_INT};
    uint32_t field = GREBE_NO_FIELD;
    case_ok(grebe_hits_document(rows, i, p->c.document, &p->c.error), &p->c);
    for (uint32_t k = 0; field != V; k++)
        case_ok(
            grebe_document_value(p->c.document, k, &field, &v, &p->c.error),
            &p->c);
    return v.as.integer;
}

/* Compares the hits with the recorded; `rows` are the same hits as found by a
 * public search in insertion order. */
static bool hits_equal(play *p, const json_t *want, const grebe_hits *rows) {
    size_t rank;
    json_t *hit;
    json_array_foreach(want, rank, hit) {
        size_t best = SIZE_MAX;
        for (size_t i = 0; i < p->hits.count; i++)
            if (p->hits.places[i] != UINT64_MAX &&
                (best == SIZE_MAX || p->hits.scores[i] > p->hits.scores[best]))
                best = i;
        if (best == SIZE_MAX) return false;
        p->hits.places[best] = UINT64_MAX;
        if (row_v(p, rows, best) != json_integer_value(json_array_get(hit, 1)))
            return false;
        if (json_array_size(hit) < 3) continue;
        p->scores++;
        if ((float)json_number_value(json_array_get(hit, 2)) !=
            p->hits.scores[best])
            return false;
    }
    return true;
}

static grebe_searcher *searcher_of(play *p, const json_t *op) {
    const char *on = oracle_text(op, "on", NULL);
    grebe_searcher *s = NULL;
    for (int i = 0; *on && i < p->kept_count; i++)
        if (strcmp(p->kept[i].name, on) == 0)
            return grebe_searcher_acquire(p->kept[i].searcher);
    assert_true(!*on);
    case_ok(grebe_index_searcher(p->c.index, 0, &s, &p->c.error), &p->c);
    return s;
}

static void scored_search(play *p, const json_t *op) {
    grebe_search_request all = {.limit = GREBE_LIMIT_ALL, .sort = "_order"};
    const json_t *want = json_object_get(op, "hits");
    json_int_t count = json_integer_value(json_object_get(op, "count"));
    grebe_hits *rows = NULL;
    grebe_query *q = oracle_tree(json_object_get(op, "query"));
    grebe_searcher *s = searcher_of(p, op);
    assert_non_null(q);
    all.query = q;
    p->stats = json_object_get(op, "stats");
    p->searches++;
    p->unequal += json_integer_value(json_object_get(p->stats, "max_doc")) !=
                  json_integer_value(json_object_get(p->stats, "num_docs"));
    case_ok(grebe_searcher_search(s, &all, &rows, &p->c.error), &p->c);
    scores_find(p, s, q);
    if ((json_int_t)p->hits.count != count ||
        (json_int_t)grebe_hits_count(rows) != count ||
        !hits_equal(p, want, rows)) {
        char *text = json_dumps(op, JSON_COMPACT);
        if (p->wrong++ < 5) printf("%s: %s\n", p->script, text);
        free(text);
    }
    grebe_hits_release(rows);
    grebe_searcher_release(s);
    grebe_query_release(q);
}

static void operation_run(play *p, const json_t *op) {
    const char *name = oracle_text(op, "op", NULL);
    if (strcmp(name, "add") == 0) {
        document_add(p, json_object_get(op, "doc"),
                     json_is_true(json_object_get(op, "overwrite")));
    } else if (strcmp(name, "update") == 0) {
        document_add(p, json_object_get(op, "doc"), 1);
    } else if (strcmp(name, "delete") == 0) {
        case_delete(&p->c, oracle_text(op, "id", NULL));
    } else if (strcmp(name, "delete_query") == 0) {
        query_delete(p, json_object_get(op, "query"));
    } else if (strcmp(name, "soft_commit") == 0) {
        case_commit(&p->c, GREBE_SOFT);
    } else if (strcmp(name, "hard_commit") == 0) {
        hard_commit(p, op);
    } else if (strcmp(name, "rollback") == 0) {
        case_ok(grebe_index_rollback(p->c.index, &p->c.error), &p->c);
    } else if (strcmp(name, "close_and_reopen") == 0) {
        index_reopen(p, json_is_true(json_object_get(op, "commit")));
    } else if (strcmp(name, "merge") == 0) {
        case_merge(&p->c);
    } else if (strcmp(name, "open_searcher") == 0) {
        searcher_keep(p, oracle_text(op, "as", NULL));
    } else if (strcmp(name, "search") == 0) {
        if (json_object_get(op, "stats")) scored_search(p, op);
    } else {
        fail_msg("no operation %s", name);
    }
}

static void scripts_play(uint64_t docs_max) {
    oracle *all = oracle_open("oracle/lucene/random_ops.jsonl.gz");
    play p = {.docs_max = docs_max};
    int scripts = 0;
    if (!all) skip();
    for (json_t *line; (line = oracle_next(all)); json_decref(line)) {
        size_t i;
        json_t *op;
        if (!json_object_get(line, "id")) continue;
        play_open(&p, oracle_text(line, "id", NULL));
        json_array_foreach(json_object_get(line, "ops"), i, op)
            operation_run(&p, op);
        play_close(&p);
        scripts++;
    }
    oracle_close(all);
    fixture_hits_free(&p.hits);
    printf("%d scripts, %d scored searches (%d with dead documents counted), "
           "%d scores, %d wrong\n",
           scripts, p.searches, p.unequal, p.scores, p.wrong);
    assert_int_equal(p.wrong, 0);
    assert_int_equal(scripts, 276);
    assert_true(p.searches > 2000 && p.unequal > 1000 && p.scores > 1000);
}

static void recorded_scores_over_one_growing_segment(void **state) {
    scripts_play(0);
}

static void recorded_scores_over_many_frozen_segments(void **state) {
    scripts_play(8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_scores_over_one_growing_segment),
        cmocka_unit_test(recorded_scores_over_many_frozen_segments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
