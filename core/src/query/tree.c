/* query/tree.c - the nodes of a query: made once, shared by counting.
 *
 * A node is one allocation: the struct, its array of children or terms, the
 * field's name, its texts. Children are held by reference, so a tree is as
 * often a graph; limits are therefore checked where a node is made, from the
 * sums its children carry, and nothing below can ever be too deep.
 *
 * Invariant: depth <= GREBE_QUERY_DEPTH_MAX and clause_total <=
 *            GREBE_QUERY_CLAUSES_MAX in every node, so walking a tree by
 *            recursion is bounded.
 * Threads:   nodes are immutable; the reference count is atomic.
 * Owns:      its texts; one reference to each child.
 */
#include "query/tree.h"

#include <math.h>

static const grebe_allocator *const allocator = &grb_allocator_malloc;

/* ---- making nodes ---- */

static size_t field_size(const char *field) {
    return field ? strlen(field) + 1 : 0;
}

/* A leaf with `extra` bytes behind node and field; *room is where they go. */
static grebe_status node_new(grb_query_type type, const char *field,
                             size_t array, size_t extra, grebe_query **out,
                             char **room, grebe_error *err) {
    size_t named = field_size(field);
    size_t size = sizeof(grebe_query) + array + named + extra;
    grebe_query *node = grb_alloc(allocator, size);
    if (!node) return grb_error_memory(err, size);
    memset(node, 0, sizeof *node);
    atomic_init(&node->refs, 1);
    node->type = type;
    node->depth = 1;
    node->clause_total = 1;
    node->size = size;
    char *at = (char *)(node + 1) + array;
    if (field) {
        node->field = memcpy(at, field, named);
        at += named;
    }
    if (room) *room = at;
    grb_handle_born();
    *out = node;
    return GREBE_OK;
}

/* Copies `size` bytes and a NUL to *room and moves it on. */
static const char *bytes_put(char **room, const char *bytes, size_t size) {
    char *copy = *room;
    if (size) memcpy(copy, bytes, size);
    copy[size] = 0;
    *room += size + 1;
    return copy;
}

static grebe_status size_check(size_t size, size_t limit, const char *what,
                               grebe_error *err) {
    if (size <= limit) return GREBE_OK;
    return grb_error(err, GREBE_LIMIT, "%s is %zu bytes, the limit is %zu",
                     what, size, limit);
}

static grebe_status utf8_check(const char *text, size_t size,
                               grebe_error *err) {
    size_t bad_at = 0;
    if (size == 0 || grb_utf8_valid(text, size, &bad_at)) return GREBE_OK;
    return grb_error(err, GREBE_ARGUMENT, "the text is not UTF-8 at byte %zu",
                     bad_at);
}

grebe_status grb_query_all(grebe_query **out, grebe_error *err) {
    return node_new(GRB_QUERY_ALL, NULL, 0, 0, out, NULL, err);
}

grebe_status grb_query_none(grebe_query **out, grebe_error *err) {
    return node_new(GRB_QUERY_NONE, NULL, 0, 0, out, NULL, err);
}

static bool value_has_bytes(const grebe_value *value) {
    return !grb_kind_is_number(value->kind);
}

static grebe_status value_check(const grebe_value *value, grebe_error *err) {
    if (value->kind < GREBE_TEXT || value->kind > GREBE_BYTES)
        return grb_error(err, GREBE_ARGUMENT, "a value has no kind %d",
                         (int)value->kind);
    if (value->kind == GREBE_DOUBLE && isnan(value->as.number))
        return grb_error(err, GREBE_ARGUMENT, "a value is not a number (NaN)");
    if (!value_has_bytes(value)) return GREBE_OK;
    if (!value->as.text.bytes && value->as.text.size)
        return grb_error(err, GREBE_ARGUMENT,
                         "a value has a size but no bytes");
    return size_check(value->as.text.size, GREBE_TERM_SIZE_MAX, "a term", err);
}

static size_t value_room(const grebe_value *value) {
    return value && value_has_bytes(value) ? value->as.text.size + 1 : 0;
}

static void value_copy(grebe_value *to, const grebe_value *from, char **room) {
    *to = *from;
    if (value_has_bytes(from))
        to->as.text.bytes =
            bytes_put(room, from->as.text.bytes, from->as.text.size);
    else if (from->kind == GREBE_BOOL)
        to->as.boolean = from->as.boolean != 0;
}

grebe_status grb_query_term(const char *field, const grebe_value *value,
                            grebe_query **out, grebe_error *err) {
    grebe_status status;
    char *room = NULL;
    GRB_TRY(value_check(value, err));
    GRB_TRY(node_new(GRB_QUERY_TERM, field, 0, value_room(value), out, &room,
                     err));
    value_copy(&(*out)->as.value, value, &room);
done:
    return status;
}

static grebe_status text_new(grb_query_type type, const char *field,
                             const char *text, size_t size, grebe_query **out,
                             grebe_error *err) {
    char *room = NULL;
    grebe_status status = node_new(type, field, 0, size + 1, out, &room, err);
    if (status != GREBE_OK) return status;
    (*out)->as.text.bytes = bytes_put(&room, text, size);
    (*out)->as.text.size = size;
    return GREBE_OK;
}

grebe_status grb_query_match(const char *field, const char *text, size_t size,
                             grebe_operator op, grebe_query **out,
                             grebe_error *err) {
    grebe_status status;
    GRB_TRY(size_check(size, GREBE_QUERY_TEXT_MAX, "the text", err));
    GRB_TRY(utf8_check(text, size, err));
    GRB_TRY(text_new(GRB_QUERY_MATCH, field, text, size, out, err));
    (*out)->as.text.op = op;
done:
    return status;
}

static grebe_status slop_check(uint32_t slop, grebe_error *err) {
    if (slop <= GREBE_PHRASE_SLOP_MAX) return GREBE_OK;
    return grb_error(err, GREBE_LIMIT, "the slop is %u, the limit is %u", slop,
                     GREBE_PHRASE_SLOP_MAX);
}

grebe_status grb_query_phrase(const char *field, const char *text, size_t size,
                              uint32_t slop, grebe_query **out,
                              grebe_error *err) {
    grebe_status status;
    GRB_TRY(slop_check(slop, err));
    GRB_TRY(size_check(size, GREBE_QUERY_TEXT_MAX, "the phrase", err));
    GRB_TRY(utf8_check(text, size, err));
    GRB_TRY(text_new(GRB_QUERY_PHRASE, field, text, size, out, err));
    (*out)->as.text.slop = slop;
done:
    return status;
}

static grebe_status phrase_terms_check(const grebe_phrase_term *terms,
                                       size_t count, size_t *bytes,
                                       grebe_error *err) {
    *bytes = 0;
    if (count > GREBE_PHRASE_TERMS_MAX)
        return grb_error(err, GREBE_LIMIT,
                         "a phrase of %zu terms, the limit is %u", count,
                         GREBE_PHRASE_TERMS_MAX);
    for (size_t i = 0; i < count; i++) {
        if (i && terms[i].position < terms[i - 1].position)
            return grb_error(err, GREBE_ARGUMENT,
                             "the position of phrase term %zu falls", i);
        if (terms[i].position > INT32_MAX)
            return grb_error(err, GREBE_LIMIT,
                             "the position of phrase term %zu is %u, the "
                             "limit is %d",
                             i, terms[i].position, INT32_MAX);
        if (!terms[i].bytes && terms[i].size)
            return grb_error(err, GREBE_ARGUMENT,
                             "phrase term %zu has a size but no bytes", i);
        grebe_status status = size_check(terms[i].size, GREBE_TERM_SIZE_MAX,
                                         "a phrase term", err);
        if (status != GREBE_OK) return status;
        *bytes += terms[i].size + 1;
    }
    return GREBE_OK;
}

grebe_status grb_query_phrase_terms(const char *field,
                                    const grebe_phrase_term *terms,
                                    size_t count, uint32_t slop,
                                    grebe_query **out, grebe_error *err) {
    grebe_status status;
    size_t bytes;
    char *room = NULL;
    GRB_TRY(slop_check(slop, err));
    GRB_TRY(phrase_terms_check(terms, count, &bytes, err));
    GRB_TRY(node_new(GRB_QUERY_PHRASE_TERMS, field, count * sizeof *terms,
                     bytes, out, &room, err));
    grebe_phrase_term *copies = (grebe_phrase_term *)(*out + 1);
    for (size_t i = 0; i < count; i++) {
        copies[i] = terms[i];
        copies[i].bytes = bytes_put(&room, terms[i].bytes, terms[i].size);
    }
    (*out)->as.phrase.terms = copies;
    (*out)->as.phrase.count = count;
    (*out)->as.phrase.slop = slop;
done:
    return status;
}

grebe_status grb_query_prefix(const char *field, const char *bytes,
                              size_t size, grebe_query **out,
                              grebe_error *err) {
    grebe_status status =
        size_check(size, GREBE_TERM_SIZE_MAX, "the prefix", err);
    if (status != GREBE_OK) return status;
    return text_new(GRB_QUERY_PREFIX, field, bytes, size, out, err);
}

grebe_status grb_query_range(const char *field, const grebe_range *range,
                             grebe_query **out, grebe_error *err) {
    grebe_status status;
    char *room = NULL;
    const grebe_value *lower = range->lower, *upper = range->upper;
    if (lower) GRB_TRY(value_check(lower, err));
    if (upper) GRB_TRY(value_check(upper, err));
    GRB_TRY(node_new(GRB_QUERY_RANGE, field, 0,
                     value_room(lower) + value_room(upper), out, &room, err));
    grebe_query *node = *out;
    if (lower) value_copy(&node->as.range.lower, lower, &room);
    if (upper) value_copy(&node->as.range.upper, upper, &room);
    node->as.range.has_lower = lower != NULL;
    node->as.range.has_upper = upper != NULL;
    node->as.range.lower_open = lower && range->lower_open;
    node->as.range.upper_open = upper && range->upper_open;
done:
    return status;
}

grebe_status grb_query_exists(const char *field, grebe_query **out,
                              grebe_error *err) {
    return node_new(GRB_QUERY_EXISTS, field, 0, 0, out, NULL, err);
}

/* ---- nodes with children ---- */

/* Sums of children, grown one by one so that nothing wraps. */
typedef struct sums {
    uint32_t depth;
    uint64_t clauses;
} sums;

static void child_count(sums *all, const grebe_query *child) {
    all->depth = GRB_MAX(all->depth, child->depth);
    all->clauses += child->clause_total;
}

static grebe_status sums_check(const sums *all, grebe_error *err) {
    if (all->depth + 1 > GREBE_QUERY_DEPTH_MAX)
        return grb_error(err, GREBE_LIMIT,
                         "the query is %u levels deep, the limit is %u",
                         all->depth + 1, GREBE_QUERY_DEPTH_MAX);
    if (all->clauses > GREBE_QUERY_CLAUSES_MAX)
        return grb_error(
            err, GREBE_LIMIT, "the query has %llu clauses, the limit is %u",
            (unsigned long long)all->clauses, GREBE_QUERY_CLAUSES_MAX);
    return GREBE_OK;
}

static grebe_status count_check(size_t count, grebe_error *err) {
    if (count <= GREBE_QUERY_CLAUSES_MAX) return GREBE_OK;
    return grb_error(err, GREBE_LIMIT,
                     "a query of %zu clauses, the limit is %u", count,
                     GREBE_QUERY_CLAUSES_MAX);
}

static grebe_status list_new(grb_query_type type, size_t count,
                             const sums *all, grebe_query **out,
                             grb_query_clause **clauses, grebe_error *err) {
    grebe_status status = sums_check(all, err);
    if (status != GREBE_OK) return status;
    status = node_new(type, NULL, count * sizeof **clauses, 0, out, NULL, err);
    if (status != GREBE_OK) return status;
    grebe_query *node = *out;
    node->depth = all->depth + 1;
    node->clause_total = (uint32_t)GRB_MAX(all->clauses, 1);
    *clauses = (grb_query_clause *)(node + 1);
    node->as.list.clauses = *clauses;
    node->as.list.count = count;
    return GREBE_OK;
}

grebe_status grb_query_bool(const grebe_clause *clauses, size_t count,
                            uint32_t should_min, grebe_query **out,
                            grebe_error *err) {
    grebe_status status;
    grb_query_clause *copies;
    sums all = {0, 0};
    GRB_TRY(count_check(count, err));
    for (size_t i = 0; i < count; i++) child_count(&all, clauses[i].query);
    GRB_TRY(list_new(GRB_QUERY_BOOL, count, &all, out, &copies, err));
    for (size_t i = 0; i < count; i++) {
        copies[i].occur = clauses[i].occur;
        copies[i].query = grb_query_acquire(clauses[i].query);
    }
    (*out)->as.list.should_min = should_min;
done:
    return status;
}

grebe_status grb_query_dismax(grebe_query *const *queries, size_t count,
                              float tie, grebe_query **out, grebe_error *err) {
    grebe_status status;
    grb_query_clause *copies;
    sums all = {0, 0};
    if (!(tie >= 0 && tie <= 1))
        return grb_error(err, GREBE_ARGUMENT,
                         "the tie is %g, it lies between 0 and 1",
                         (double)tie);
    GRB_TRY(count_check(count, err));
    for (size_t i = 0; i < count; i++) child_count(&all, queries[i]);
    GRB_TRY(list_new(GRB_QUERY_DISMAX, count, &all, out, &copies, err));
    for (size_t i = 0; i < count; i++) {
        copies[i].occur = GREBE_SHOULD;
        copies[i].query = grb_query_acquire(queries[i]);
    }
    (*out)->as.list.tie = tie;
done:
    return status;
}

static grebe_status wrap_new(grb_query_type type, grebe_query *query, float by,
                             grebe_query **out, grebe_error *err) {
    grebe_status status;
    sums all = {0, 0};
    if (!(by >= 0 && isfinite(by)))
        return grb_error(err, GREBE_ARGUMENT,
                         "the factor or score is %g, it is finite and not "
                         "negative",
                         (double)by);
    child_count(&all, query);
    GRB_TRY(sums_check(&all, err));
    GRB_TRY(node_new(type, NULL, 0, 0, out, NULL, err));
    (*out)->depth = all.depth + 1;
    (*out)->clause_total = (uint32_t)all.clauses;
    (*out)->as.wrap.query = grb_query_acquire(query);
    (*out)->as.wrap.by = by;
done:
    return status;
}

grebe_status grb_query_boost(grebe_query *query, float by, grebe_query **out,
                             grebe_error *err) {
    return wrap_new(GRB_QUERY_BOOST, query, by, out, err);
}

grebe_status grb_query_constant(grebe_query *query, float score,
                                grebe_query **out, grebe_error *err) {
    return wrap_new(GRB_QUERY_CONSTANT, query, score, out, err);
}

/* ---- counting ---- */

grebe_query *grb_query_acquire(grebe_query *query) {
    atomic_fetch_add_explicit(&query->refs, 1, memory_order_relaxed);
    return query;
}

/* Recursion is bounded by GREBE_QUERY_DEPTH_MAX. */
void grb_query_release(grebe_query *query) {
    if (!query ||
        atomic_fetch_sub_explicit(&query->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (query->type == GRB_QUERY_BOOL || query->type == GRB_QUERY_DISMAX)
        for (size_t i = 0; i < query->as.list.count; i++)
            grb_query_release(query->as.list.clauses[i].query);
    else if (query->type == GRB_QUERY_BOOST ||
             query->type == GRB_QUERY_CONSTANT)
        grb_query_release(query->as.wrap.query);
    grb_free(allocator, query, query->size);
    grb_handle_died();
}
