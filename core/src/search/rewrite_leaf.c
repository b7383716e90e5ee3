/* search/rewrite_leaf.c - leaves of a query are bound to fields.
 *
 * Names become fields, values are checked against the field's kind, texts are
 * analysed. What a leaf asks for decides where it is looked up: postings, key
 * tables, all terms of a range, or a column.
 *
 * Invariant: bytes that a node points at are the query's, which outlives the
 * search, or copies in the arena.
 * Threads: one search, one tree.
 * Owns: nothing.
 */
#include "search/weight.h"

static grebe_status field_bind(grb_search_context *c, const char *name,
                               const grb_field **out, grebe_error *err) {
    const grebe_schema *schema = c->schema;
    size_t size = strlen(name);
    uint32_t id = grebe_schema_find(schema, name, size);
    grebe_status status;
    if (id == GREBE_NO_FIELD) {
        const char *near = grb_schema_nearest(schema, name, size);
        status =
            near ? grb_error(err, GREBE_SCHEMA,
                             "no field \"%.100s\"; the nearest is "
                             "\"%.100s\"",
                             name, near)
                 : grb_error(err, GREBE_SCHEMA, "no field \"%.100s\"", name);
        grb_error_field(err, name);
        return status;
    }
    *out = &schema->fields[id];
    if (!((*out)->flags & (GREBE_INDEXED | GREBE_KEY))) {
        status = grb_error(err, GREBE_SCHEMA,
                           "field \"%.100s\" is not indexed", name);
        grb_error_field(err, name);
        return status;
    }
    return GREBE_OK;
}

/* A value in the kind of a field. */
typedef struct bound_value {
    grebe_value value;
    int64_t rest; /* of a day, see grb_date_rest */
} bound_value;

/* A date is taken as a document takes it: milliseconds, or ISO 8601 text. */
static bool date_bind(const grebe_value *value, bound_value *out) {
    out->value.kind = GREBE_DATETIME;
    if (value->kind == GREBE_INT) return true;
    if (!grb_kind_is_text(value->kind)) return false;
    out->rest = grb_date_rest(value->as.text.size);
    return grb_date_parse(value->as.text.bytes, value->as.text.size,
                          &out->value.as.integer);
}

/* A value in the field's kind: text for text and keyword, whole numbers also
 * for doubles, dates as milliseconds or ISO 8601 text. */
static grebe_status value_bind(const grb_field *field,
                               const grebe_value *value, bound_value *out,
                               grebe_error *err) {
    grebe_status status;
    out->value = *value;
    out->rest = 0;
    if (field->kind == value->kind) return GREBE_OK;
    if (grb_kind_is_text(field->kind) && grb_kind_is_text(value->kind))
        return GREBE_OK;
    if (field->kind == GREBE_DOUBLE && value->kind == GREBE_INT) {
        out->value.kind = GREBE_DOUBLE;
        out->value.as.number = (double)value->as.integer;
        return GREBE_OK;
    }
    if (field->kind == GREBE_DATETIME && date_bind(value, out))
        return GREBE_OK;
    status = grb_error(
        err, GREBE_SCHEMA, "field \"%.100s\" holds %s, the query has %s",
        field->name, grb_kind_name(field->kind), grb_kind_name(value->kind));
    grb_error_field(err, field->name);
    return status;
}

static grebe_status key_node(grb_search_context *c, const grb_field *field,
                             const grebe_value *value, grb_weight **out,
                             grebe_error *err) {
    grb_weight *w = grb_weight_make(c, GRB_WEIGHT_KEY, field);
    uint8_t scratch[8];
    if (!w) return grb_error_memory(err, sizeof *w);
    *out = w;
    if (field->kind == GREBE_INT) {
        uint64_t bits = (uint64_t)value->as.integer ^ (uint64_t)1 << 63;
        for (int i = 0; i < 8; i++)
            scratch[i] = (uint8_t)(bits >> (56 - 8 * i));
        w->as.key.key.bytes = grb_arena_copy(c->arena, scratch, 8);
        w->as.key.key.size = 8;
        if (!w->as.key.key.bytes) return grb_error_memory(err, 8);
    } else {
        if (value->as.text.size > GREBE_TERM_SIZE_MAX) {
            w->kind = GRB_WEIGHT_NONE;
            return GREBE_OK;
        }
        w->as.key.key.bytes = (const uint8_t *)value->as.text.bytes;
        w->as.key.key.size = (uint32_t)value->as.text.size;
    }
    w->as.key.key.hash = grb_hash(w->as.key.key.bytes, w->as.key.key.size, 0);
    return GREBE_OK;
}

/* One exact term or value, or one whole day. */
static grebe_status term_node(grb_search_context *c, const grb_field *field,
                              const bound_value *bound, grb_weight **out,
                              grebe_error *err) {
    const grebe_value *value = &bound->value;
    grb_weight *w;
    if (field->id == c->schema->key)
        return key_node(c, field, value, out, err);
    if (grb_kind_is_number(field->kind)) {
        w = grb_weight_make(c, GRB_WEIGHT_COLUMN, field);
        if (!w) return grb_error_memory(err, sizeof *w);
        w->as.column.lower = grb_value_ordered(value);
        w->as.column.upper = w->as.column.lower + bound->rest;
        *out = w;
        return GREBE_OK;
    }
    w = grb_weight_make(c, GRB_WEIGHT_TERM, field);
    if (!w) return grb_error_memory(err, sizeof *w);
    if (value->as.text.size > GREBE_TERM_SIZE_MAX) w->kind = GRB_WEIGHT_NONE;
    w->as.term.bytes = value->as.text.bytes;
    w->as.term.size = (uint32_t)value->as.text.size;
    *out = w;
    return GREBE_OK;
}

static grebe_status text_term_node(grb_search_context *c,
                                   const grb_field *field, const char *bytes,
                                   size_t size, grb_weight **out,
                                   grebe_error *err) {
    bound_value bound = {.value.kind = GREBE_TEXT, .rest = 0};
    bound.value.as.text.bytes = bytes;
    bound.value.as.text.size = size;
    return term_node(c, field, &bound, out, err);
}

/* A whole text as one value of a field that is not text. */
static grebe_status whole_node(grb_search_context *c, const grb_field *field,
                               const grebe_query *q, grb_weight **out,
                               grebe_error *err) {
    const char *text = q->as.text.bytes;
    size_t size = q->as.text.size;
    bound_value bound = {.rest = 0};
    grebe_status status;
    if (grb_kind_is_text(field->kind))
        return text_term_node(c, field, text, size, out, err);
    if (grb_value_parse(field->kind, text, size, &bound.value)) {
        if (field->kind == GREBE_DATETIME) bound.rest = grb_date_rest(size);
        return term_node(c, field, &bound, out, err);
    }
    status = grb_error(
        err, GREBE_SCHEMA, "field \"%.100s\" holds %s, the query has \"%.*s\"",
        field->name, grb_kind_name(field->kind), (int)GRB_MIN(size, 60), text);
    grb_error_field(err, field->name);
    return status;
}

/* Terms in a row, grouped by position. Positions never fall. */
static grebe_status phrase_node(grb_search_context *c, const grb_field *field,
                                const grebe_phrase_term *terms, size_t count,
                                uint32_t slop, grb_weight **out,
                                grebe_error *err) {
    grb_weight *w = grb_weight_make(c, GRB_WEIGHT_PHRASE, field);
    grb_bound_term *bound =
        grb_arena_zero(c->arena, count * sizeof *bound + 1);
    grb_phrase_slot *slots =
        grb_arena_zero(c->arena, count * sizeof *slots + 1);
    uint32_t n = 0;
    if (!w || !bound || !slots)
        return grb_error_memory(err, count * sizeof *bound);
    for (size_t i = 0; i < count; i++) {
        uint32_t place = terms[i].position - terms[0].position;
        bound[i].bytes = terms[i].bytes;
        bound[i].size = (uint32_t)terms[i].size;
        if (n == 0 || slots[n - 1].place != place) {
            slots[n].place = place;
            slots[n].first = (uint32_t)i;
            n++;
        }
        slots[n - 1].count++;
    }
    w->as.phrase.terms = bound;
    w->as.phrase.term_count = (uint32_t)count;
    w->as.phrase.slots = slots;
    w->as.phrase.slot_count = n;
    w->as.phrase.slop = slop;
    *out = w;
    return GREBE_OK;
}

/* Terms as clauses of a bool that is not in any query. */
static grebe_status terms_bool(grb_search_context *c, const grb_field *field,
                               const grebe_phrase_term *terms, size_t count,
                               grebe_occur occur, grb_weight **out,
                               grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_weight *w = grb_weight_make(c, GRB_WEIGHT_BOOL, NULL);
    grb_weight_list *list;
    if (!w) return grb_error_memory(err, sizeof *w);
    list = &w->as.list.lists[occur];
    list->items = grb_arena_alloc(c->arena, count * sizeof(void *));
    if (!list->items) return grb_error_memory(err, count * sizeof(void *));
    for (size_t i = 0; i < count; i++) {
        grb_weight **item = &list->items[list->count++];
        GRB_TRY(text_term_node(c, field, terms[i].bytes, terms[i].size, item,
                               err));
        grb_weight_identify(*item);
    }
    status = grb_weight_clauses(c, w, out, err);
done:
    return status;
}

/* Exact terms: nothing, one term, alternatives of one place, or a phrase. */
static grebe_status phrase_terms_node(grb_search_context *c,
                                      const grb_field *field,
                                      const grebe_phrase_term *terms,
                                      size_t count, uint32_t slop,
                                      grb_weight **out, grebe_error *err) {
    grebe_status status;
    if (count == 1)
        return text_term_node(c, field, terms[0].bytes, terms[0].size, out,
                              err);
    if (terms[0].position == terms[count - 1].position)
        return terms_bool(c, field, terms, count, GREBE_SHOULD, out, err);
    if (field->kind == GREBE_TEXT)
        return phrase_node(c, field, terms, count, slop, out, err);
    status = grb_error(err, GREBE_SCHEMA,
                       "field \"%.100s\" is not text and has no phrases",
                       field->name);
    grb_error_field(err, field->name);
    return status;
}

/* Tokens of a text as phrase terms in the arena. */
static grebe_status text_terms(grb_search_context *c, const grb_field *field,
                               const grebe_query *q, grebe_phrase_term **terms,
                               size_t *count, grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_tokens tokens;
    grb_tokens_init(&tokens, c->arena->allocator);
    GRB_TRY(grb_analyze(field->analyzer, q->as.text.bytes, q->as.text.size,
                        &tokens, err));
    *count = tokens.count;
    *terms = grb_arena_alloc(c->arena, tokens.count * sizeof **terms + 1);
    if (!*terms) {
        status = grb_error_memory(err, tokens.count * sizeof **terms);
        goto done;
    }
    for (uint32_t i = 0; i < tokens.count; i++) {
        const grb_token *token = &tokens.items[i];
        grebe_phrase_term *term = &(*terms)[i];
        term->bytes = grb_arena_copy(c->arena, token->bytes, token->size);
        term->size = token->size;
        term->position = token->position;
        if (!term->bytes) {
            status = grb_error_memory(err, token->size);
            goto done;
        }
    }
done:
    grb_tokens_deinit(&tokens);
    return status;
}

/* What a text was analysed to may be too much for a query. */
static grebe_status text_check(const grb_field *field, bool phrase,
                               size_t count, grebe_error *err) {
    size_t most = phrase ? GREBE_PHRASE_TERMS_MAX : GREBE_QUERY_CLAUSES_MAX;
    if (count <= most) return GREBE_OK;
    grb_error(err, GREBE_LIMIT, "a %s of %zu terms, the limit is %zu",
              phrase ? "phrase" : "text", count, most);
    grb_error_field(err, field->name);
    return GREBE_LIMIT;
}

/* MATCH and PHRASE. */
static grebe_status text_node(grb_search_context *c, const grb_field *field,
                              const grebe_query *q, grb_weight **out,
                              grebe_error *err) {
    grebe_status status = GREBE_OK;
    grebe_phrase_term *terms;
    size_t count;
    if (field->kind != GREBE_TEXT) return whole_node(c, field, q, out, err);
    GRB_TRY(text_terms(c, field, q, &terms, &count, err));
    GRB_TRY(text_check(field, q->type == GRB_QUERY_PHRASE, count, err));
    if (count == 0) {
        *out = grb_weight_make(c, GRB_WEIGHT_EMPTY, field);
        return *out ? GREBE_OK : grb_error_memory(err, sizeof **out);
    }
    if (q->type == GRB_QUERY_PHRASE)
        return phrase_terms_node(c, field, terms, count, q->as.text.slop, out,
                                 err);
    return terms_bool(c, field, terms, count,
                      q->as.text.op == GREBE_AND ? GREBE_MUST : GREBE_SHOULD,
                      out, err);
done:
    return status;
}

static grebe_status prefix_node(grb_search_context *c, const grb_field *field,
                                const grebe_query *q, grb_weight **out,
                                grebe_error *err) {
    grb_weight *w;
    if (!grb_kind_is_text(field->kind)) {
        grebe_status status = grb_error(
            err, GREBE_SCHEMA, "field \"%.100s\" holds %s and has no prefixes",
            field->name, grb_kind_name(field->kind));
        grb_error_field(err, field->name);
        return status;
    }
    w = grb_weight_make(c, GRB_WEIGHT_TERMS, field);
    if (!w) return grb_error_memory(err, sizeof *w);
    w->as.range.lower = q->as.text.bytes ? q->as.text.bytes : "";
    w->as.range.lower_size = q->as.text.size;
    w->as.range.prefix = true;
    *out = w;
    return GREBE_OK;
}

/* Bounds as numbers, both inside; NONE if nothing lies between them. */
static void range_numbers(grb_weight *w, const grebe_query *q,
                          const bound_value *lower, const bound_value *upper) {
    int64_t from = INT64_MIN, to = INT64_MAX;
    bool none = false;
    if (q->as.range.has_lower) {
        from = grb_value_ordered(&lower->value);
        if (q->as.range.lower_open) {
            from += lower->rest;
            none |= from == INT64_MAX;
            from += from != INT64_MAX;
        }
    }
    if (q->as.range.has_upper) {
        to = grb_value_ordered(&upper->value);
        if (q->as.range.upper_open) {
            none |= to == INT64_MIN;
            to -= to != INT64_MIN;
        } else {
            to += upper->rest;
        }
    }
    if (none || from > to) w->kind = GRB_WEIGHT_NONE;
    w->as.column.lower = from;
    w->as.column.upper = to;
}

static grebe_status range_node(grb_search_context *c, const grb_field *field,
                               const grebe_query *q, grb_weight **out,
                               grebe_error *err) {
    grebe_status status = GREBE_OK;
    bool text = grb_kind_is_text(field->kind);
    bound_value lower, upper;
    grb_weight *w =
        grb_weight_make(c, text ? GRB_WEIGHT_TERMS : GRB_WEIGHT_COLUMN, field);
    if (!w) return grb_error_memory(err, sizeof *w);
    if (q->as.range.has_lower)
        GRB_TRY(value_bind(field, &q->as.range.lower, &lower, err));
    if (q->as.range.has_upper)
        GRB_TRY(value_bind(field, &q->as.range.upper, &upper, err));
    if (text) {
        if (q->as.range.has_lower) {
            w->as.range.lower = lower.value.as.text.bytes;
            w->as.range.lower_size = lower.value.as.text.size;
            w->as.range.lower_out = q->as.range.lower_open;
        }
        if (q->as.range.has_upper) {
            w->as.range.upper = upper.value.as.text.bytes;
            w->as.range.upper_size = upper.value.as.text.size;
            w->as.range.upper_out = q->as.range.upper_open;
        }
    } else {
        range_numbers(w, q, &lower, &upper);
    }
    *out = w;
done:
    return status;
}

static grebe_status exists_node(grb_search_context *c, const grb_field *field,
                                grb_weight **out, grebe_error *err) {
    grb_weight_kind kind = field->id == c->schema->key    ? GRB_WEIGHT_ALL
                           : field->kind == GREBE_TEXT    ? GRB_WEIGHT_LENGTH
                           : field->kind == GREBE_KEYWORD ? GRB_WEIGHT_TERMS
                                                          : GRB_WEIGHT_COLUMN;
    grb_weight *w = grb_weight_make(c, kind, field);
    if (!w) return grb_error_memory(err, sizeof *w);
    if (kind == GRB_WEIGHT_COLUMN) {
        w->as.column.any = true;
        w->as.column.lower = INT64_MIN;
        w->as.column.upper = INT64_MAX;
    }
    *out = w;
    return GREBE_OK;
}

grebe_status grb_weight_leaf(grb_search_context *c, const grebe_query *query,
                             grb_weight **out, grebe_error *err) {
    grebe_status status = GREBE_OK;
    const grb_field *field = NULL;
    bound_value value;
    if (query->type == GRB_QUERY_ALL || query->type == GRB_QUERY_NONE) {
        *out = grb_weight_make(
            c, query->type == GRB_QUERY_ALL ? GRB_WEIGHT_ALL : GRB_WEIGHT_NONE,
            NULL);
        return *out ? GREBE_OK : grb_error_memory(err, sizeof **out);
    }
    GRB_TRY(field_bind(c, query->field, &field, err));
    switch (query->type) {
    case GRB_QUERY_TERM:
        GRB_TRY(value_bind(field, &query->as.value, &value, err));
        return term_node(c, field, &value, out, err);
    case GRB_QUERY_MATCH:
    case GRB_QUERY_PHRASE:
        return text_node(c, field, query, out, err);
    case GRB_QUERY_PHRASE_TERMS:
        if (query->as.phrase.count)
            return phrase_terms_node(c, field, query->as.phrase.terms,
                                     query->as.phrase.count,
                                     query->as.phrase.slop, out, err);
        *out = grb_weight_make(c, GRB_WEIGHT_NONE, field);
        return *out ? GREBE_OK : grb_error_memory(err, sizeof **out);
    case GRB_QUERY_PREFIX:
        return prefix_node(c, field, query, out, err);
    case GRB_QUERY_RANGE:
        return range_node(c, field, query, out, err);
    case GRB_QUERY_EXISTS:
        return exists_node(c, field, out, err);
    default:
        return grb_error(err, GREBE_INTERNAL, "query node of unknown type");
    }
done:
    return status;
}
