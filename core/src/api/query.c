/* api/query.c - grebe/query.h: arguments checked, room query called.
 *
 * Invariant: *out is NULL after a failed call.
 * Threads:   any.
 * Owns:      nothing.
 */
#include "query/tree.h"

/* Every constructor begins the same way: a place for the result, a field, and
 * the bytes that a size speaks of. */
static grebe_status out_check(grebe_query **out, grebe_error *err) {
    if (!out) return grb_error(err, GREBE_ARGUMENT, "out is NULL");
    *out = NULL;
    return GREBE_OK;
}

static grebe_status field_check(const char *field, grebe_query **out,
                                grebe_error *err) {
    grebe_status status = out_check(out, err);
    if (status != GREBE_OK) return status;
    if (!field) return grb_error(err, GREBE_ARGUMENT, "field is NULL");
    if (strlen(field) > GREBE_FIELD_NAME_MAX)
        return grb_error(err, GREBE_ARGUMENT,
                         "the field name is %zu bytes, the limit is %d",
                         strlen(field), GREBE_FIELD_NAME_MAX);
    return GREBE_OK;
}

static grebe_status bytes_check(const void *bytes, size_t size,
                                grebe_error *err) {
    if (bytes || size == 0) return GREBE_OK;
    return grb_error(err, GREBE_ARGUMENT, "%zu bytes are asked for at NULL",
                     size);
}

static grebe_status op_check(grebe_operator op, grebe_error *err) {
    if (op == GREBE_OR || op == GREBE_AND) return GREBE_OK;
    return grb_error(err, GREBE_ARGUMENT, "there is no operator %d", (int)op);
}

grebe_status grebe_query_all(grebe_query **out, grebe_error *err) {
    grebe_status status = out_check(out, err);
    return status == GREBE_OK ? grb_query_all(out, err) : status;
}

grebe_status grebe_query_none(grebe_query **out, grebe_error *err) {
    grebe_status status = out_check(out, err);
    return status == GREBE_OK ? grb_query_none(out, err) : status;
}

grebe_status grebe_query_term(const char *field, const grebe_value *value,
                              grebe_query **out, grebe_error *err) {
    grebe_status status;
    GRB_TRY(field_check(field, out, err));
    if (!value) return grb_error(err, GREBE_ARGUMENT, "value is NULL");
    GRB_TRY(grb_query_term(field, value, out, err));
done:
    return status;
}

grebe_status grebe_query_match(const char *field, const char *text,
                               size_t size, grebe_operator op,
                               grebe_query **out, grebe_error *err) {
    grebe_status status;
    GRB_TRY(field_check(field, out, err));
    GRB_TRY(bytes_check(text, size, err));
    GRB_TRY(op_check(op, err));
    GRB_TRY(grb_query_match(field, text, size, op, out, err));
done:
    return status;
}

grebe_status grebe_query_phrase(const char *field, const char *text,
                                size_t size, uint32_t slop, grebe_query **out,
                                grebe_error *err) {
    grebe_status status;
    GRB_TRY(field_check(field, out, err));
    GRB_TRY(bytes_check(text, size, err));
    GRB_TRY(grb_query_phrase(field, text, size, slop, out, err));
done:
    return status;
}

grebe_status grebe_query_phrase_terms(const char *field,
                                      const grebe_phrase_term *terms,
                                      size_t count, uint32_t slop,
                                      grebe_query **out, grebe_error *err) {
    grebe_status status;
    GRB_TRY(field_check(field, out, err));
    GRB_TRY(bytes_check(terms, count, err));
    GRB_TRY(grb_query_phrase_terms(field, terms, count, slop, out, err));
done:
    return status;
}

grebe_status grebe_query_prefix(const char *field, const char *bytes,
                                size_t size, grebe_query **out,
                                grebe_error *err) {
    grebe_status status;
    GRB_TRY(field_check(field, out, err));
    GRB_TRY(bytes_check(bytes, size, err));
    GRB_TRY(grb_query_prefix(field, bytes, size, out, err));
done:
    return status;
}

grebe_status grebe_query_range(const char *field, const grebe_range *range,
                               grebe_query **out, grebe_error *err) {
    grebe_status status;
    GRB_TRY(field_check(field, out, err));
    if (!range) return grb_error(err, GREBE_ARGUMENT, "range is NULL");
    GRB_TRY(grb_query_range(field, range, out, err));
done:
    return status;
}

grebe_status grebe_query_exists(const char *field, grebe_query **out,
                                grebe_error *err) {
    grebe_status status = field_check(field, out, err);
    return status == GREBE_OK ? grb_query_exists(field, out, err) : status;
}

grebe_status grebe_query_bool(const grebe_clause *clauses, size_t count,
                              uint32_t should_min, grebe_query **out,
                              grebe_error *err) {
    grebe_status status;
    GRB_TRY(out_check(out, err));
    GRB_TRY(bytes_check(clauses, count, err));
    for (size_t i = 0; i < count; i++)
        if (!clauses[i].query || (unsigned)clauses[i].occur > GREBE_FILTER)
            return grb_error(err, GREBE_ARGUMENT,
                             "clause %zu has no query or no such occur", i);
    GRB_TRY(grb_query_bool(clauses, count, should_min, out, err));
done:
    return status;
}

static grebe_status child_check(const grebe_query *query, grebe_query **out,
                                grebe_error *err) {
    grebe_status status = out_check(out, err);
    if (status != GREBE_OK) return status;
    if (!query) return grb_error(err, GREBE_ARGUMENT, "query is NULL");
    return GREBE_OK;
}

grebe_status grebe_query_boost(grebe_query *query, float by, grebe_query **out,
                               grebe_error *err) {
    grebe_status status = child_check(query, out, err);
    return status == GREBE_OK ? grb_query_boost(query, by, out, err) : status;
}

grebe_status grebe_query_constant(grebe_query *query, float score,
                                  grebe_query **out, grebe_error *err) {
    grebe_status status = child_check(query, out, err);
    return status == GREBE_OK ? grb_query_constant(query, score, out, err)
                              : status;
}

grebe_status grebe_query_dismax(grebe_query *const *queries, size_t count,
                                float tie, grebe_query **out,
                                grebe_error *err) {
    grebe_status status;
    GRB_TRY(out_check(out, err));
    GRB_TRY(bytes_check(queries, count, err));
    for (size_t i = 0; i < count; i++)
        if (!queries[i])
            return grb_error(err, GREBE_ARGUMENT, "query %zu is NULL", i);
    GRB_TRY(grb_query_dismax(queries, count, tie, out, err));
done:
    return status;
}

static grebe_status options_check(const grebe_parse_options *options,
                                  grebe_error *err) {
    grebe_status status;
    if (!options) return GREBE_OK;
    GRB_TRY(op_check(options->op, err));
    GRB_TRY(bytes_check(options->fields, options->field_count, err));
    for (size_t i = 0; i < options->field_count; i++)
        if (!options->fields[i].name)
            return grb_error(err, GREBE_ARGUMENT, "field %zu has no name", i);
done:
    return status;
}

grebe_status grebe_query_parse(const grebe_schema *schema, const char *text,
                               size_t size, const grebe_parse_options *options,
                               grebe_query **out, grebe_error *err) {
    grebe_status status;
    GRB_TRY(out_check(out, err));
    if (!schema) return grb_error(err, GREBE_ARGUMENT, "schema is NULL");
    GRB_TRY(bytes_check(text, size, err));
    GRB_TRY(options_check(options, err));
    GRB_TRY(
        grb_query_parse(schema, text ? text : "", size, options, out, err));
done:
    return status;
}

size_t grebe_query_text(const grebe_query *query, char *buffer, size_t size) {
    if (!buffer) size = 0;
    if (query) return grb_query_text(query, buffer, size);
    if (size) buffer[0] = 0;
    return 0;
}

grebe_query *grebe_query_acquire(grebe_query *query) {
    return query ? grb_query_acquire(query) : NULL;
}

void grebe_query_release(grebe_query *query) {
    grb_query_release(query);
}
