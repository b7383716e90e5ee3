/* tests/vectors/reading.c - verbs that look: searches, get, terms, analyze.
 *
 * What a search gave becomes JSON and is compared with what the step expects.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runner.h"

#define FILTERS_MAX 16
#define FACETS_MAX 16
#define SCORE_TOLERANCE 2e-6

/* A search as a step asks for it; holds what the request points at. */
typedef struct asked {
    grebe_search_request request;
    grebe_query *filters[FILTERS_MAX];
    grebe_query *query;
    grebe_schema *schema;
    grebe_facet_request facets[FACETS_MAX];
    grebe_highlight_request highlights[FACETS_MAX];
    char sort[256];
} asked;

static uint64_t count_of(json_t *how, const char *name, uint64_t other) {
    json_t *value = json_object_get(how, name);
    if (!value) return other;
    if (json_is_null(value)) return GREBE_LIMIT_ALL;
    return (uint64_t)json_integer_value(value);
}

static const char *text_of(json_t *how, const char *name) {
    return json_string_value(json_object_get(how, name));
}

/* The searcher of the step; to be released. */
static grebe_status searcher_of(world *w, json_t *step, grebe_searcher **out,
                                grebe_error *err) {
    named *thing = thing_of(w, step);
    json_t *since = json_object_get(step, "since");
    uint64_t number = 0;
    grebe_status status = GREBE_OK;
    if (thing->searcher) {
        *out = grebe_searcher_acquire(thing->searcher);
        return GREBE_OK;
    }
    if (since) {
        status = grebe_index_commit_number(thing->index, &number, err);
        number += (uint64_t)json_integer_value(since);
    }
    if (status) return status;
    return grebe_index_searcher(thing->index, number, out, err);
}

static void facets_read(asked *a, json_t *facets) {
    const char *field;
    json_t *how;
    a->request.facets = a->facets;
    json_object_foreach(facets, field, how) {
        grebe_facet_request *f = &a->facets[a->request.facet_count++];
        const char *sort = text_of(how, "sort");
        json_t *prefix = json_object_get(how, "prefix");
        f->field = field;
        f->limit = json_is_integer(how) ? (uint64_t)json_integer_value(how)
                                        : count_of(how, "limit", 10);
        if (json_is_null(how)) f->limit = GREBE_LIMIT_ALL;
        f->offset = count_of(how, "offset", 0);
        f->mincount = count_of(how, "mincount", 1);
        f->sort = sort && strcmp(sort, "value") == 0 ? GREBE_FACET_BY_VALUE
                                                     : GREBE_FACET_BY_COUNT;
        f->prefix = json_string_value(prefix);
        f->prefix_size = json_string_length(prefix);
        f->missing = json_is_true(json_object_get(how, "missing"));
    }
}

static void highlights_read(asked *a, json_t *list) {
    json_t *how;
    size_t i;
    a->request.highlights = a->highlights;
    a->request.highlight_count = json_array_size(list);
    json_array_foreach(list, i, how) {
        grebe_highlight_request *h = &a->highlights[i];
        h->field = json_is_string(how) ? json_string_value(how)
                                       : text_of(how, "field");
        h->pre = text_of(how, "pre");
        h->post = text_of(how, "post");
        h->size = (uint32_t)count_of(how, "size", 0);
        h->snippets = (uint32_t)count_of(how, "snippets", 0);
        h->encoder =
            text_of(how, "encoder") ? GREBE_ENCODE_HTML : GREBE_ENCODE_NONE;
    }
}

static grebe_status filters_build(world *w, asked *a, json_t *where,
                                  grebe_error *err) {
    json_t *item;
    size_t i;
    grebe_status status = GREBE_OK;
    if (where && !json_is_array(where)) {
        status = query_build(w, a->schema, where, false, &a->filters[0], err);
        a->request.filter_count = 1;
    }
    json_array_foreach(where, i, item) {
        if (status) break;
        status = query_build(w, a->schema, item, false, &a->filters[i], err);
        a->request.filter_count = i + 1;
    }
    a->request.filters = (const grebe_query *const *)a->filters;
    return status;
}

static void sort_read(asked *a, json_t *sort) {
    json_t *item;
    size_t i;
    if (json_is_string(sort))
        snprintf(a->sort, sizeof a->sort, "%s", json_string_value(sort));
    json_array_foreach(sort, i, item) {
        size_t at = strlen(a->sort);
        snprintf(a->sort + at, sizeof a->sort - at, "%s%s", i ? ", " : "",
                 json_string_value(item));
    }
    if (*a->sort) a->request.sort = a->sort;
}

static grebe_status asked_init(world *w, asked *a, grebe_searcher *searcher,
                               json_t *step, json_t *query, grebe_error *err) {
    bool strict = json_is_true(json_object_get(step, "strict"));
    memset(a, 0, sizeof *a);
    a->schema = grebe_searcher_schema(searcher);
    a->request.limit = count_of(step, "limit", 10);
    a->request.offset = count_of(step, "offset", 0);
    a->request.after = text_of(step, "after");
    a->request.total_max = count_of(step, "total_max", GREBE_TOTAL_EXACT);
    sort_read(a, json_object_get(step, "sort"));
    facets_read(a, json_object_get(step, "facets"));
    highlights_read(a, json_object_get(step, "highlight"));
    grebe_status status =
        query_build_for(w, a->schema, step, query, !strict, &a->query, err);
    a->request.query = a->query;
    if (status) return status;
    return filters_build(w, a, json_object_get(step, "where"), err);
}

static void asked_deinit(asked *a) {
    for (size_t i = 0; i < FILTERS_MAX; i++)
        grebe_query_release(a->filters[i]);
    grebe_query_release(a->query);
    grebe_schema_release(a->schema);
}

static json_t *ids_json(const grebe_hits *hits) {
    json_t *made = json_array();
    for (uint64_t i = 0; i < grebe_hits_count(hits); i++) {
        grebe_value key;
        if (grebe_hits_key(hits, i, &key, NULL)) return made;
        json_array_append_new(made, value_json(&key));
    }
    return made;
}

static json_t *scores_json(const grebe_hits *hits) {
    json_t *made = json_array();
    for (uint64_t i = 0; i < grebe_hits_count(hits); i++) {
        float score = grebe_hits_scores(hits)[i];
        json_array_append_new(made,
                              isnan(score) ? json_null() : json_real(score));
    }
    return made;
}

static json_t *docs_json(world *w, const asked *a, const grebe_hits *hits) {
    json_t *made = json_array();
    grebe_document *document;
    if (grebe_document_new(a->schema, &document, NULL)) return made;
    for (uint64_t i = 0; i < grebe_hits_count(hits); i++) {
        grebe_error err;
        if (grebe_hits_document(hits, i, document, &err))
            vector_fail(w, "hit %d: %s", (int)i, err.message);
        json_array_append_new(made, document_json(document));
    }
    grebe_document_free(document);
    return made;
}

static json_t *facet_json(const grebe_hits *hits, size_t facet) {
    json_t *made = json_array();
    for (uint64_t i = 0; i < grebe_hits_facet_size(hits, facet); i++) {
        grebe_value value;
        uint64_t count;
        grebe_hits_facet(hits, facet, i, &value, &count, NULL);
        json_array_append_new(
            made, json_pack("[oI]", value_json(&value), (json_int_t)count));
    }
    return made;
}

static json_t *passages_json(const grebe_hits *hits, size_t request) {
    json_t *made = json_array();
    for (uint64_t i = 0; i < grebe_hits_count(hits); i++) {
        json_t *list = json_array();
        uint32_t count = grebe_hits_passage_count(hits, i, request);
        for (uint32_t j = 0; j < count; j++) {
            size_t size;
            const char *text = grebe_hits_passage(hits, i, request, j, &size);
            json_array_append_new(list, json_stringn(text, size));
        }
        json_array_append_new(made, list);
    }
    return made;
}

static void parts_compare(world *w, json_t *step, const asked *a,
                          const grebe_hits *hits) {
    json_t *facets = json_object(), *missing = json_object();
    json_t *passages = json_object();
    for (size_t i = 0; i < a->request.facet_count; i++) {
        const char *field = a->facets[i].field;
        json_object_set_new(facets, field, facet_json(hits, i));
        if (a->facets[i].missing)
            json_object_set_new(
                missing, field,
                json_integer((json_int_t)grebe_hits_facet_missing(hits, i)));
    }
    for (size_t i = 0; i < a->request.highlight_count; i++)
        json_object_set_new(passages, a->highlights[i].field,
                            passages_json(hits, i));
    vector_subset(w, "facets", json_object_get(step, "counts"), facets);
    vector_subset(w, "missing", json_object_get(step, "missing"), missing);
    vector_subset(w, "passages", json_object_get(step, "passages"), passages);
}

static void hits_compare(world *w, json_t *step, const asked *a,
                         const grebe_hits *hits) {
    json_t *wanted;
    if ((wanted = json_object_get(step, "ids")))
        vector_same(w, "ids", wanted, ids_json(hits), 0);
    if ((wanted = json_object_get(step, "total")))
        vector_same(w, "total", wanted,
                    json_integer((json_int_t)grebe_hits_total(hits)), 0);
    if ((wanted = json_object_get(step, "exact")))
        vector_same(w, "exact", wanted,
                    json_boolean(grebe_hits_total_is_exact(hits)), 0);
    if ((wanted = json_object_get(step, "hits")))
        vector_same(w, "hits", wanted,
                    json_integer((json_int_t)grebe_hits_count(hits)), 0);
    if ((wanted = json_object_get(step, "scores")))
        vector_same(w, "scores", wanted, scores_json(hits), SCORE_TOLERANCE);
    if ((wanted = json_object_get(step, "docs")))
        vector_same(w, "docs", wanted, docs_json(w, a, hits), 0);
    if ((wanted = json_object_get(step, "cursor")))
        vector_same(w, "cursor", wanted,
                    json_boolean(grebe_hits_cursor(hits) != NULL), 0);
    parts_compare(w, step, a, hits);
}

/* Scores are the same to the bit in every layout, unless a segment that was
 * wholly dead has gone, or a merge has dropped dead documents. */
static void layouts_compare(world *w, json_t *step, const grebe_hits *hits) {
    named *thing = thing_of(w, step);
    json_int_t dead =
        (json_int_t)(thing->searcher ? thing->dead : index_dead(thing->index));
    size_t place = w->searches++;
    json_t *past = json_array_get(w->reference, place);
    if (!past) {
        json_array_append_new(w->reference,
                              json_pack("[Io]", dead, scores_json(hits)));
        return;
    }
    if (json_integer_value(json_array_get(past, 0)) != dead) return;
    vector_same(w, "scores beside the first layout", json_array_get(past, 1),
                scores_json(hits), 0);
}

/* {"page": n}: the pages by cursor make the one long page. */
static grebe_status pages_walk(world *w, grebe_searcher *searcher, asked *a,
                               json_t *step, grebe_error *err) {
    json_t *all, *walked = json_array();
    grebe_hits *hits;
    char cursor[4096];
    uint64_t size = count_of(step, "page", 1);
    a->request.limit = GREBE_LIMIT_ALL;
    a->request.facet_count = a->request.highlight_count = 0;
    grebe_status status =
        grebe_searcher_search(searcher, &a->request, &hits, err);
    if (status) return status;
    all = ids_json(hits);
    grebe_hits_release(hits);
    a->request.limit = size;
    for (size_t pages = 0; pages <= json_array_size(all); pages++) {
        status = grebe_searcher_search(searcher, &a->request, &hits, err);
        if (status) break;
        json_t *page = ids_json(hits);
        json_array_extend(walked, page);
        json_decref(page);
        const char *next = grebe_hits_cursor(hits);
        if (next) snprintf(cursor, sizeof cursor, "%s", next);
        a->request.after = cursor;
        grebe_hits_release(hits);
        if (!next) break;
    }
    vector_same(w, "pages", all, walked, 0);
    json_decref(all);
    return status;
}

static grebe_status search_run(world *w, json_t *step, json_t *argument,
                               grebe_error *err) {
    grebe_searcher *searcher;
    grebe_hits *hits = NULL;
    asked a;
    grebe_status status = searcher_of(w, step, &searcher, err);
    if (status) return status;
    status = asked_init(w, &a, searcher, step, argument, err);
    if (!status)
        status = grebe_searcher_search(searcher, &a.request, &hits, err);
    if (!status) {
        hits_compare(w, step, &a, hits);
        layouts_compare(w, step, hits);
        if (json_object_get(step, "page"))
            status = pages_walk(w, searcher, &a, step, err);
    }
    grebe_hits_release(hits);
    asked_deinit(&a);
    grebe_searcher_release(searcher);
    return status;
}

static grebe_status count_run(world *w, json_t *step, json_t *argument,
                              grebe_error *err) {
    grebe_searcher *searcher;
    grebe_hits *hits = NULL;
    asked a;
    grebe_status status = searcher_of(w, step, &searcher, err);
    if (status) return status;
    status = asked_init(w, &a, searcher, step, argument, err);
    a.request.limit = 0;
    if (!status)
        status = grebe_searcher_search(searcher, &a.request, &hits, err);
    if (!status)
        vector_same(w, "count", json_object_get(step, "is"),
                    json_integer((json_int_t)grebe_hits_total(hits)), 0);
    grebe_hits_release(hits);
    asked_deinit(&a);
    grebe_searcher_release(searcher);
    return status;
}

static grebe_status len_run(world *w, json_t *step, json_t *argument,
                            grebe_error *err) {
    named *thing = thing_of(w, step);
    uint64_t count = 0;
    grebe_status status = GREBE_OK;
    if (thing->searcher)
        count = grebe_searcher_count(thing->searcher);
    else
        status = grebe_index_count(thing->index, &count, err);
    if (!status)
        vector_same(w, "len", argument, json_integer((json_int_t)count), 0);
    return status;
}

/* {"get": key, "is": document or null} */
static grebe_status get_run(world *w, json_t *step, json_t *argument,
                            grebe_error *err) {
    named *thing = thing_of(w, step);
    grebe_document *document = NULL;
    grebe_schema *schema = NULL;
    grebe_value key;
    char *room;
    int found = 0;
    if (!value_read(argument, 0, &key, &room)) abort();
    grebe_status status = GREBE_OK;
    if (thing->searcher)
        schema = grebe_searcher_schema(thing->searcher);
    else
        status = grebe_index_schema(thing->index, &schema, err);
    if (!status) status = grebe_document_new(schema, &document, err);
    if (!status)
        status = thing->searcher ? grebe_searcher_get(thing->searcher, &key,
                                                      document, &found, err)
                                 : grebe_index_get(thing->index, &key,
                                                   document, &found, err);
    if (!status)
        vector_same(w, "get", json_object_get(step, "is"),
                    found ? document_json(document) : json_null(), 0);
    grebe_document_free(document);
    grebe_schema_release(schema);
    free(room);
    return status;
}

static grebe_status term_put(void *context, const char *bytes, size_t size,
                             uint64_t df) {
    json_array_append_new(context,
                          json_pack("[s%I]", bytes, size, (json_int_t)df));
    return GREBE_OK;
}

/* {"terms": [field, prefix, limit], "is": [[term, df], ...]} */
static grebe_status terms_run(world *w, json_t *step, json_t *argument,
                              grebe_error *err) {
    json_t *prefix = json_array_get(argument, 1), *got = json_array();
    grebe_status status = grebe_index_terms(
        thing_of(w, step)->index,
        json_string_value(json_array_get(argument, 0)),
        json_string_value(prefix), json_string_length(prefix),
        (uint64_t)json_integer_value(json_array_get(argument, 2)), term_put,
        got, err);
    if (status)
        json_decref(got);
    else
        vector_same(w, "terms", json_object_get(step, "is"), got, 0);
    return status;
}

static grebe_status token_put(void *context, const grebe_token *token) {
    json_array_append_new(context,
                          json_pack("[s%iii]", token->bytes, token->size,
                                    (int)token->position, (int)token->start,
                                    (int)token->end));
    return GREBE_OK;
}

/* {"analyze": [field, text], "is": [[term, position, start, end], ...]} */
static grebe_status analyze_run(world *w, json_t *step, json_t *argument,
                                grebe_error *err) {
    json_t *text = json_array_get(argument, 1), *got = json_array();
    grebe_status status =
        grebe_index_analyze(thing_of(w, step)->index,
                            json_string_value(json_array_get(argument, 0)),
                            json_string_value(text), json_string_length(text),
                            token_put, got, err);
    if (status)
        json_decref(got);
    else
        vector_same(w, "analyze", json_object_get(step, "is"), got, 0);
    return status;
}

/* {"explain": [key, query], "contains": [words]} */
static grebe_status explain_run(world *w, json_t *step, json_t *argument,
                                grebe_error *err) {
    grebe_searcher *searcher;
    grebe_value key;
    grebe_query *query = NULL;
    char *room, text[8192];
    json_t *word;
    size_t i;
    grebe_status status = searcher_of(w, step, &searcher, err);
    if (status) return status;
    if (!value_read(json_array_get(argument, 0), 0, &key, &room)) abort();
    grebe_schema *schema = grebe_searcher_schema(searcher);
    status = query_build(w, schema, json_array_get(argument, 1), false, &query,
                         err);
    if (!status)
        status = grebe_searcher_explain(searcher, query, &key, text,
                                        sizeof text, NULL, err);
    if (!status) {
        json_array_foreach(json_object_get(step, "contains"), i, word) {
            if (!strstr(text, json_string_value(word)))
                vector_fail(w, "explain lacks \"%s\": %s",
                            json_string_value(word), text);
        }
    }
    grebe_query_release(query);
    grebe_schema_release(schema);
    grebe_searcher_release(searcher);
    free(room);
    return status;
}

/* {"open_searcher": name, "uncommitted": true, "since": n} */
static grebe_status open_searcher_run(world *w, json_t *step, json_t *argument,
                                      grebe_error *err) {
    named *source = thing_of(w, step);
    grebe_searcher *made;
    uint64_t dead = index_dead(source->index);
    grebe_status status =
        json_is_true(json_object_get(step, "uncommitted"))
            ? grebe_index_searcher_uncommitted(source->index, &made, err)
            : searcher_of(w, step, &made, err);
    if (status) return status;
    named *thing = thing_make(w, json_string_value(argument));
    grebe_searcher_release(thing->searcher);
    thing->searcher = made;
    thing->dead = dead;
    return GREBE_OK;
}

const verb verbs_reading[] = {{"search", search_run},
                              {"count", count_run},
                              {"len", len_run},
                              {"get", get_run},
                              {"terms", terms_run},
                              {"analyze", analyze_run},
                              {"explain", explain_run},
                              {"open_searcher", open_searcher_run},
                              {NULL, NULL}};
