/* query/leaf.c - a word, phrase, prefix or range becomes queries of fields.
 *
 * The field's kind decides: text is matched after analysis, keywords are
 * exact terms, numbers, truths and dates are read as values. A word without a
 * field goes to the default fields and takes the best of them.
 *
 * Invariant: *out is set only on success; `misfit` says that the one thing
 *            wrong was the text being no value of the field.
 * Threads:   as the parse.
 * Owns:      nothing beyond a call.
 */
#include "query/parser.h"

static grebe_status misfit_error(grb_parser *p, uint32_t at,
                                 const grb_field *field, const char *what,
                                 grebe_error *err) {
    p->misfit = true;
    grb_parser_error(p, GREBE_SYNTAX, at, err, "%s: '%s' is of kind %s", what,
                     field->name, grb_kind_name(field->kind));
    grb_error_field(err, field->name);
    return GREBE_SYNTAX;
}

/* The text of a token without quotes and escapes into `out`. */
static grebe_status token_text(grb_parser *p, grb_query_token token,
                               grb_buf *out, grebe_error *err) {
    uint32_t start = token.start, end = token.end;
    switch (token.type) {
    case GRB_TOKEN_QUOTED:
    case GRB_TOKEN_RANGE_QUOTED:
        start++, end--;
        break;
    case GRB_TOKEN_PREFIX:
        end--;
        break;
    case GRB_TOKEN_BARE:
        end = start + 1;
        break;
    default:
        break;
    }
    return grb_parser_unescape(p, start, end, out, err);
}

static grebe_status buf_value(const grb_buf *text, grebe_kind kind,
                              grebe_value *out) {
    out->kind = kind;
    out->as.text.bytes = text->size ? (const char *)text->bytes : "";
    out->as.text.size = text->size;
    return GREBE_OK;
}

/* A term longer than any index holds is refused where it stands; of several
 * default fields this one is left out. */
static grebe_status long_check(grb_parser *p, grb_query_token token,
                               size_t size, grebe_error *err) {
    if (size <= GREBE_TERM_SIZE_MAX) return GREBE_OK;
    p->misfit = true;
    return grb_parser_error(p, GREBE_LIMIT, token.start, err,
                            "a term is %zu bytes, the limit is %u", size,
                            GREBE_TERM_SIZE_MAX);
}

/* A date without a time is a whole day, at both ends of a range and alone. */
static int64_t day_rest(const grb_field *field, size_t size) {
    return field->kind == GREBE_DATETIME ? grb_date_rest(size) : 0;
}

static grebe_status day_leaf(const grb_field *field, const grebe_value *day,
                             int64_t rest, grebe_query **out,
                             grebe_error *err) {
    grebe_value end = *day;
    grebe_range range = {.lower = day, .upper = &end};
    end.as.integer += rest;
    return grb_query_range(field->name, &range, out, err);
}

/* Keyword, number, truth or date: one exact value. */
static grebe_status exact_leaf(grb_parser *p, const grb_leaf *leaf,
                               const grb_field *field, grebe_query **out,
                               grebe_error *err) {
    grebe_status status;
    grebe_value value;
    const char *bytes = p->text.size ? (const char *)p->text.bytes : "";
    if (field->kind == GREBE_KEYWORD) {
        GRB_TRY(long_check(p, leaf->token, p->text.size, err));
        GRB_TRY(buf_value(&p->text, GREBE_KEYWORD, &value));
    } else if (!grb_value_parse(field->kind, bytes, p->text.size, &value)) {
        return misfit_error(p, leaf->token.start, field,
                            field->kind == GREBE_DATETIME
                                ? "this is no ISO 8601 date with Z or offset"
                                : "this is no value of the field",
                            err);
    }
    int64_t rest = day_rest(field, p->text.size);
    if (rest) return day_leaf(field, &value, rest, out, err);
    GRB_TRY(grb_query_term(field->name, &value, out, err));
done:
    return status;
}

/* Lower case and the like, as the field's analyzer has it. */
static grebe_status bound_normalize(grb_parser *p, grb_query_token token,
                                    const grb_field *field, grb_buf *out,
                                    grebe_error *err) {
    grebe_status status;
    GRB_TRY(token_text(p, token, &p->text, err));
    grb_buf_clear(out);
    const char *bytes = p->text.size ? (const char *)p->text.bytes : "";
    if (field->kind == GREBE_TEXT && field->analyzer)
        grb_analyzer_normalize(field->analyzer, bytes, p->text.size, out);
    else
        grb_buf_put(out, bytes, p->text.size);
    if (out->failed) return grb_error_memory(err, out->size);
    GRB_TRY(long_check(p, token, out->size, err));
done:
    return status;
}

static grebe_status prefix_leaf(grb_parser *p, const grb_leaf *leaf,
                                const grb_field *field, grebe_query **out,
                                grebe_error *err) {
    grebe_status status;
    if (!grb_kind_is_text(field->kind))
        return misfit_error(p, leaf->token.start, field, "a prefix wants text",
                            err);
    GRB_TRY(bound_normalize(p, leaf->token, field, &p->lower, err));
    GRB_TRY(grb_query_prefix(field->name, (const char *)p->lower.bytes,
                             p->lower.size, out, err));
done:
    return status;
}

/* `day_end`: of a date without a time its last millisecond is meant. */
static grebe_status bound_read(grb_parser *p, grb_query_token token,
                               const grb_field *field, bool day_end,
                               grb_buf *room, grebe_value *out,
                               grebe_error *err) {
    grebe_status status;
    GRB_TRY(bound_normalize(p, token, field, room, err));
    if (grb_kind_is_text(field->kind))
        return buf_value(room, field->kind, out);
    if (!grb_value_parse(field->kind,
                         room->size ? (const char *)room->bytes : "",
                         room->size, out))
        return misfit_error(p, token.start, field, "this is no bound", err);
    if (day_end) out->as.integer += day_rest(field, room->size);
done:
    return status;
}

static grebe_status range_leaf(grb_parser *p, const grb_leaf *leaf,
                               const grb_field *field, grebe_query **out,
                               grebe_error *err) {
    grebe_status status;
    grebe_value lower, upper;
    grebe_range range = {.lower_open = leaf->lower_open,
                         .upper_open = leaf->upper_open};
    if (leaf->lower.type != GRB_TOKEN_END) {
        GRB_TRY(bound_read(p, leaf->lower, field, leaf->lower_open, &p->lower,
                           &lower, err));
        range.lower = &lower;
    }
    if (leaf->upper.type != GRB_TOKEN_END) {
        GRB_TRY(bound_read(p, leaf->upper, field, !leaf->upper_open, &p->upper,
                           &upper, err));
        range.upper = &upper;
    }
    GRB_TRY(grb_query_range(field->name, &range, out, err));
done:
    return status;
}

static grebe_status text_leaf(grb_parser *p, const grb_leaf *leaf,
                              const grb_field *field, grebe_query **out,
                              grebe_error *err) {
    grebe_status status;
    GRB_TRY(token_text(p, leaf->token, &p->text, err));
    const char *bytes = p->text.size ? (const char *)p->text.bytes : "";
    if (field->kind != GREBE_TEXT) return exact_leaf(p, leaf, field, out, err);
    if (leaf->token.type == GRB_TOKEN_QUOTED)
        return grb_query_phrase(field->name, bytes, p->text.size, leaf->slop,
                                out, err);
    return grb_query_match(field->name, bytes, p->text.size, p->op, out, err);
done:
    return status;
}

static grebe_status field_leaf(grb_parser *p, const grb_leaf *leaf,
                               const grb_field *field, grebe_query **out,
                               grebe_error *err) {
    switch (leaf->token.type) {
    case GRB_TOKEN_STAR:
        return grb_query_exists(field->name, out, err);
    case GRB_TOKEN_PREFIX:
        return prefix_leaf(p, leaf, field, out, err);
    case GRB_TOKEN_RANGE_IN:
        return range_leaf(p, leaf, field, out, err);
    default:
        return text_leaf(p, leaf, field, out, err);
    }
}

/* The leaf in one default field, with its boost. */
static grebe_status target_leaf(grb_parser *p, const grb_leaf *leaf,
                                const grb_target *target, grebe_query **out,
                                grebe_error *err) {
    grebe_query *query = NULL;
    grebe_status status = field_leaf(p, leaf, target->field, &query, err);
    if (status != GREBE_OK) return status;
    if (target->boost == 1) {
        *out = query;
        return GREBE_OK;
    }
    status = grb_query_boost(query, target->boost, out, err);
    grb_query_release(query);
    return status;
}

static grebe_status targets_join(grebe_query **queries, size_t count,
                                 grebe_query **out, grebe_error *err) {
    if (count == 0) return grb_query_none(out, err);
    if (count > 1) return grb_query_dismax(queries, count, 0, out, err);
    *out = grb_query_acquire(queries[0]);
    return GREBE_OK;
}

grebe_status grb_parser_leaf(grb_parser *p, const grb_leaf *leaf,
                             const grb_field *field, grebe_query **out,
                             grebe_error *err) {
    grebe_status status = GREBE_OK;
    grebe_error why; /* a field left out is no error of the call */
    size_t count = 0, room = p->target_count * sizeof(grebe_query *);
    p->misfit = false;
    if (field) return field_leaf(p, leaf, field, out, err);
    if (p->target_count == 1)
        return target_leaf(p, leaf, p->targets, out, err);
    if (p->target_count == 0) return grb_query_none(out, err);
    grebe_query **queries = grb_alloc(p->text.allocator, room);
    if (!queries) return grb_error_memory(err, room);
    for (size_t i = 0; i < p->target_count; i++) {
        p->misfit = false;
        status = target_leaf(p, leaf, &p->targets[i], &queries[count], &why);
        if (status == GREBE_OK) {
            count++;
        } else if (!p->misfit) {
            if (err) *err = why;
            goto done;
        }
    }
    GRB_TRY(targets_join(queries, count, out, err));
done:
    while (count) grb_query_release(queries[--count]);
    grb_free(p->text.allocator, queries, room);
    return status;
}
