/* query/equal.c - are two trees the same, node by node?
 *
 * Invariant: equal trees find the same documents with the same scores; the
 *            reverse is not claimed.
 * Threads:   any; trees are immutable. Recursion is bounded by their depth.
 * Owns:      nothing.
 */
#include "query/tree.h"

static bool bytes_equal(const char *a, size_t a_size, const char *b,
                        size_t b_size) {
    return a_size == b_size && (a_size == 0 || memcmp(a, b, a_size) == 0);
}

static bool phrases_equal(const grebe_query *a, const grebe_query *b) {
    if (a->as.phrase.count != b->as.phrase.count ||
        a->as.phrase.slop != b->as.phrase.slop)
        return false;
    for (size_t i = 0; i < a->as.phrase.count; i++) {
        const grebe_phrase_term *x = &a->as.phrase.terms[i];
        const grebe_phrase_term *y = &b->as.phrase.terms[i];
        if (x->position != y->position ||
            !bytes_equal(x->bytes, x->size, y->bytes, y->size))
            return false;
    }
    return true;
}

static bool ranges_equal(const grebe_query *a, const grebe_query *b) {
    if (a->as.range.has_lower != b->as.range.has_lower ||
        a->as.range.has_upper != b->as.range.has_upper ||
        a->as.range.lower_open != b->as.range.lower_open ||
        a->as.range.upper_open != b->as.range.upper_open)
        return false;
    return (!a->as.range.has_lower ||
            grb_value_equal(&a->as.range.lower, &b->as.range.lower)) &&
           (!a->as.range.has_upper ||
            grb_value_equal(&a->as.range.upper, &b->as.range.upper));
}

static bool lists_equal(const grebe_query *a, const grebe_query *b) {
    if (a->as.list.count != b->as.list.count ||
        a->as.list.should_min != b->as.list.should_min ||
        a->as.list.tie != b->as.list.tie)
        return false;
    for (size_t i = 0; i < a->as.list.count; i++)
        if (a->as.list.clauses[i].occur != b->as.list.clauses[i].occur ||
            !grb_query_equal(a->as.list.clauses[i].query,
                             b->as.list.clauses[i].query))
            return false;
    return true;
}

bool grb_query_equal(const grebe_query *a, const grebe_query *b) {
    if (a == b) return true;
    if (a->type != b->type || !a->field != !b->field) return false;
    if (a->field && strcmp(a->field, b->field) != 0) return false;
    switch (a->type) {
    case GRB_QUERY_TERM:
        return grb_value_equal(&a->as.value, &b->as.value);
    case GRB_QUERY_MATCH:
    case GRB_QUERY_PHRASE:
    case GRB_QUERY_PREFIX:
        return a->as.text.op == b->as.text.op &&
               a->as.text.slop == b->as.text.slop &&
               bytes_equal(a->as.text.bytes, a->as.text.size, b->as.text.bytes,
                           b->as.text.size);
    case GRB_QUERY_PHRASE_TERMS:
        return phrases_equal(a, b);
    case GRB_QUERY_RANGE:
        return ranges_equal(a, b);
    case GRB_QUERY_BOOL:
    case GRB_QUERY_DISMAX:
        return lists_equal(a, b);
    case GRB_QUERY_BOOST:
    case GRB_QUERY_CONSTANT:
        return a->as.wrap.by == b->as.wrap.by &&
               grb_query_equal(a->as.wrap.query, b->as.wrap.query);
    default:
        return true;
    }
}
