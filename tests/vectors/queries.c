/* tests/vectors/queries.c - queries from JSON.
 *
 * A string is a text in the query language; an object is a node of the tree,
 * named by its first member: {"term": [field, value]} and so on.
 */
#include <stdlib.h>
#include <string.h>

#include "runner.h"

#define CLAUSES_MAX 5000

static const char *text_at(json_t *list, size_t i) {
    return json_string_value(json_array_get(list, i));
}

static size_t size_at(json_t *list, size_t i) {
    return json_string_length(json_array_get(list, i));
}

static grebe_operator op_of(json_t *json) {
    const char *op = json_string_value(json_object_get(json, "op"));
    return op && strcmp(op, "and") == 0 ? GREBE_AND : GREBE_OR;
}

/* "title^2" */
static void field_split(const char *text, char *name, size_t size,
                        grebe_query_field *out) {
    const char *mark = strchr(text, '^');
    snprintf(name, size, "%.*s", mark ? (int)(mark - text) : (int)strlen(text),
             text);
    out->name = name;
    out->boost = mark ? strtof(mark + 1, NULL) : 1.0f;
}

grebe_status query_build_for(world *w, grebe_schema *schema, json_t *step,
                             json_t *json, bool forgiving, grebe_query **out,
                             grebe_error *err) {
    grebe_query_field fields[16];
    char names[16][64];
    json_t *list = json_object_get(step, "fields"), *item;
    size_t i;
    *out = NULL;
    if (!json || json_is_null(json)) return GREBE_OK;
    if (!json_is_string(json))
        return query_build(w, schema, json, forgiving, out, err);
    grebe_parse_options options = {.fields = fields,
                                   .field_count = json_array_size(list),
                                   .op = op_of(step),
                                   .forgiving = forgiving};
    json_array_foreach(list, i, item) {
        field_split(json_string_value(item), names[i], sizeof names[i],
                    &fields[i]);
    }
    return grebe_query_parse(schema, json_string_value(json),
                             json_string_length(json), &options, out, err);
}

static grebe_status clauses_add(world *w, grebe_schema *schema, json_t *list,
                                grebe_occur occur, grebe_clause *clauses,
                                size_t *count, grebe_error *err) {
    json_t *item;
    size_t i;
    json_array_foreach(list, i, item) {
        grebe_clause *c = &clauses[(*count)++];
        c->occur = occur;
        grebe_status status =
            query_build(w, schema, item, false, &c->query, err);
        if (status) return status;
    }
    return GREBE_OK;
}

static grebe_status bool_build(world *w, grebe_schema *schema, json_t *how,
                               grebe_query **out, grebe_error *err) {
    static const char *const names[] = {"must", "should", "must_not",
                                        "filter"};
    grebe_clause *clauses = calloc(CLAUSES_MAX, sizeof *clauses);
    size_t count = 0;
    grebe_status status = GREBE_OK;
    for (int i = 0; i < 4 && !status; i++)
        status = clauses_add(w, schema, json_object_get(how, names[i]),
                             (grebe_occur)i, clauses, &count, err);
    if (!status)
        status = grebe_query_bool(
            clauses, count,
            (uint32_t)json_integer_value(json_object_get(how, "mm")), out,
            err);
    for (size_t i = 0; i < count; i++) grebe_query_release(clauses[i].query);
    free(clauses);
    return status;
}

static grebe_status range_build(json_t *how, grebe_query **out,
                                grebe_error *err) {
    json_t *gte = json_object_get(how, "gte"),
           *gt = json_object_get(how, "gt");
    json_t *lte = json_object_get(how, "lte"),
           *lt = json_object_get(how, "lt");
    grebe_value lower, upper;
    char *rooms[2];
    grebe_range range = {.lower_open = gt != NULL, .upper_open = lt != NULL};
    if (value_read(gte ? gte : gt, 0, &lower, &rooms[0])) range.lower = &lower;
    if (value_read(lte ? lte : lt, 0, &upper, &rooms[1])) range.upper = &upper;
    grebe_status status = grebe_query_range(
        json_string_value(json_object_get(how, "field")), &range, out, err);
    free(rooms[0]);
    free(rooms[1]);
    return status;
}

static grebe_status term_build(json_t *how, grebe_query **out,
                               grebe_error *err) {
    grebe_value value;
    char *room;
    if (!value_read(json_array_get(how, 1), 0, &value, &room)) abort();
    grebe_status status = grebe_query_term(text_at(how, 0), &value, out, err);
    free(room);
    return status;
}

/* boost and constant: [query, number]. */
static grebe_status wrap_build(world *w, grebe_schema *schema, json_t *how,
                               bool boost, grebe_query **out,
                               grebe_error *err) {
    grebe_query *inner;
    grebe_status status =
        query_build(w, schema, json_array_get(how, 0), false, &inner, err);
    grebe_value number;
    char *room;
    if (status) return status;
    value_read(json_array_get(how, 1), GREBE_DOUBLE, &number, &room);
    status =
        boost ? grebe_query_boost(inner, (float)number.as.number, out, err)
              : grebe_query_constant(inner, (float)number.as.number, out, err);
    grebe_query_release(inner);
    return status;
}

/* dismax: [[queries], tie]. */
static grebe_status dismax_build(world *w, grebe_schema *schema, json_t *how,
                                 grebe_query **out, grebe_error *err) {
    grebe_query *parts[64] = {0};
    json_t *list = json_array_get(how, 0), *item;
    size_t i, count = json_array_size(list);
    grebe_status status = GREBE_OK;
    json_array_foreach(list, i, item) {
        if (!status)
            status = query_build(w, schema, item, false, &parts[i], err);
    }
    float tie = (float)json_number_value(json_array_get(how, 1));
    if (!status) status = grebe_query_dismax(parts, count, tie, out, err);
    for (i = 0; i < count; i++) grebe_query_release(parts[i]);
    return status;
}

grebe_status query_build(world *w, grebe_schema *schema, json_t *json,
                         bool forgiving, grebe_query **out, grebe_error *err) {
    *out = NULL;
    if (json_is_string(json))
        return query_build_for(w, schema, NULL, json, forgiving, out, err);
    void *member = json_object_iter(json);
    const char *name = json_object_iter_key(member);
    json_t *how = json_object_iter_value(member);
    if (strcmp(name, "all") == 0) return grebe_query_all(out, err);
    if (strcmp(name, "none") == 0) return grebe_query_none(out, err);
    if (strcmp(name, "term") == 0) return term_build(how, out, err);
    if (strcmp(name, "match") == 0)
        return grebe_query_match(text_at(how, 0), text_at(how, 1),
                                 size_at(how, 1), op_of(json), out, err);
    if (strcmp(name, "phrase") == 0)
        return grebe_query_phrase(
            text_at(how, 0), text_at(how, 1), size_at(how, 1),
            (uint32_t)json_integer_value(json_object_get(json, "slop")), out,
            err);
    if (strcmp(name, "prefix") == 0)
        return grebe_query_prefix(text_at(how, 0), text_at(how, 1),
                                  size_at(how, 1), out, err);
    if (strcmp(name, "range") == 0) return range_build(how, out, err);
    if (strcmp(name, "exists") == 0)
        return grebe_query_exists(json_string_value(how), out, err);
    if (strcmp(name, "bool") == 0) return bool_build(w, schema, how, out, err);
    if (strcmp(name, "boost") == 0)
        return wrap_build(w, schema, how, true, out, err);
    if (strcmp(name, "constant") == 0)
        return wrap_build(w, schema, how, false, out, err);
    if (strcmp(name, "dismax") == 0)
        return dismax_build(w, schema, how, out, err);
    vector_fail(w, "no query node \"%s\"", name);
    return grebe_query_none(out, err);
}
