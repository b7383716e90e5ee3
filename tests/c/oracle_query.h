/* oracle_query.h - the query trees of the recorded answers as queries. */
#ifndef ORACLE_QUERY_H
#define ORACLE_QUERY_H

#include "grebe/query.h"
#include "oracle.h"
#include <stdbool.h>

static grebe_query *oracle_tree(const json_t *tree);

static inline void oracle_must(grebe_status status, const grebe_error *err) {
    if (status == GREBE_OK) return;
    printf("a query could not be made: %s\n", err->message);
    exit(1);
}

/* A value of a tree: text, or a whole number. */
static inline bool oracle_value(const json_t *v, grebe_value *out) {
    memset(out, 0, sizeof *out);
    if (!v) return false;
    if (json_is_integer(v)) {
        out->kind = GREBE_INT;
        out->as.integer = json_integer_value(v);
        return true;
    }
    out->kind = GREBE_TEXT;
    out->as.text.bytes = json_string_value(v);
    out->as.text.size = json_string_length(v);
    return true;
}

static inline grebe_query *oracle_phrase(const json_t *p) {
    grebe_phrase_term terms[256];
    size_t count = 0, i;
    json_t *slot, *positions = json_object_get(p, "positions");
    grebe_query *q = NULL;
    grebe_error err;
    json_array_foreach(json_object_get(p, "terms"), i, slot) {
        size_t n = json_is_array(slot) ? json_array_size(slot) : 1;
        for (size_t k = 0; k < n; k++) {
            json_t *t = json_is_array(slot) ? json_array_get(slot, k) : slot;
            terms[count].bytes = json_string_value(t);
            terms[count].size = json_string_length(t);
            terms[count++].position = positions
                                          ? (uint32_t)json_integer_value(
                                                json_array_get(positions, i))
                                          : (uint32_t)i;
        }
    }
    oracle_must(grebe_query_phrase_terms(
                    oracle_text(p, "field", NULL), terms, count,
                    (uint32_t)json_integer_value(json_object_get(p, "slop")),
                    &q, &err),
                &err);
    return q;
}

static inline grebe_query *oracle_bool(const json_t *b) {
    static const struct {
        const char *name;
        grebe_occur occur;
    } lists[] = {{"must", GREBE_MUST},
                 {"should", GREBE_SHOULD},
                 {"must_not", GREBE_MUST_NOT},
                 {"filter", GREBE_FILTER}};
    grebe_clause *clauses =
        (grebe_clause *)calloc(GREBE_QUERY_CLAUSES_MAX, sizeof *clauses);
    size_t count = 0, i;
    bool broken = false;
    json_t *child;
    grebe_query *q = NULL;
    grebe_error err;
    for (int l = 0; l < 4; l++)
        json_array_foreach(json_object_get(b, lists[l].name), i, child) {
            clauses[count].occur = lists[l].occur;
            clauses[count].query = oracle_tree(child);
            broken |= !clauses[count++].query;
        }
    if (!broken)
        oracle_must(grebe_query_bool(
                        clauses, count,
                        (uint32_t)json_integer_value(json_object_get(b, "mm")),
                        &q, &err),
                    &err);
    for (i = 0; i < count; i++) grebe_query_release(clauses[i].query);
    free(clauses);
    return q;
}

static inline grebe_query *oracle_dismax(const json_t *d) {
    grebe_query *items[64], *q = NULL;
    size_t count = 0, i;
    bool broken = false;
    json_t *child;
    grebe_error err;
    json_array_foreach(json_object_get(d, "queries"), i, child) {
        items[count] = oracle_tree(child);
        broken |= !items[count++];
    }
    if (!broken)
        oracle_must(grebe_query_dismax(
                        items, count,
                        (float)json_number_value(json_object_get(d, "tie")),
                        &q, &err),
                    &err);
    for (i = 0; i < count; i++) grebe_query_release(items[i]);
    return q;
}

static inline grebe_query *oracle_range(const json_t *r) {
    grebe_value lower, upper;
    grebe_range range = {NULL, NULL, 0, 0};
    grebe_query *q = NULL;
    grebe_error err;
    range.lower_open = json_object_get(r, "gt") != NULL;
    range.upper_open = json_object_get(r, "lt") != NULL;
    if (oracle_value(json_object_get(r, range.lower_open ? "gt" : "gte"),
                     &lower))
        range.lower = &lower;
    if (oracle_value(json_object_get(r, range.upper_open ? "lt" : "lte"),
                     &upper))
        range.upper = &upper;
    oracle_must(
        grebe_query_range(oracle_text(r, "field", NULL), &range, &q, &err),
        &err);
    return q;
}

static inline grebe_query *oracle_wrap(const json_t *w, const char *key) {
    grebe_query *child = oracle_tree(json_object_get(w, "query")), *q = NULL;
    float by = (float)json_number_value(json_object_get(w, key));
    grebe_error err;
    if (!child) return NULL;
    oracle_must(strcmp(key, "boost") == 0
                    ? grebe_query_boost(child, by, &q, &err)
                    : grebe_query_constant(child, by, &q, &err),
                &err);
    grebe_query_release(child);
    return q;
}

/* NULL: the tree has a kind of query that there is not (fuzzy, wildcard,
 * regexp). */
static inline grebe_query *oracle_tree(const json_t *tree) {
    const char *kind = json_object_iter_key(json_object_iter((json_t *)tree));
    const json_t *body = json_object_get(tree, kind);
    const char *field = oracle_text(body, "field", NULL);
    grebe_value value;
    grebe_query *q = NULL;
    grebe_error err;
    grebe_status status = GREBE_OK;
    if (strcmp(kind, "bool") == 0) return oracle_bool(body);
    if (strcmp(kind, "phrase") == 0) return oracle_phrase(body);
    if (strcmp(kind, "dismax") == 0) return oracle_dismax(body);
    if (strcmp(kind, "range") == 0) return oracle_range(body);
    if (strcmp(kind, "boost") == 0) return oracle_wrap(body, "boost");
    if (strcmp(kind, "const") == 0) return oracle_wrap(body, "score");
    if (strcmp(kind, "all") == 0) {
        status = grebe_query_all(&q, &err);
    } else if (strcmp(kind, "none") == 0) {
        status = grebe_query_none(&q, &err);
    } else if (strcmp(kind, "term") == 0) {
        oracle_value(json_object_get(body, "value"), &value);
        status = grebe_query_term(field, &value, &q, &err);
    } else if (strcmp(kind, "prefix") == 0) {
        oracle_value(json_object_get(body, "value"), &value);
        status = grebe_query_prefix(field, value.as.text.bytes,
                                    value.as.text.size, &q, &err);
    }
    oracle_must(status, &err);
    return q;
}

#endif
