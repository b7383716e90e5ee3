/* query/text.c - a query as text that reads back to it.
 *
 * What the language can say is written so that parsing gives an equal tree.
 * The rest is written as closely as it allows: a filter as a must clause with
 * boost 0, dis-max as "(a | b)", a constant as "(a)^=1", a number of should
 * clauses to match as "(a b)~2".
 *
 * Invariant: the buffer ends in NUL; `needed` counts what did not fit too.
 * Threads:   any; trees are immutable. Recursion is bounded by their depth.
 * Owns:      nothing.
 */
#include "query/parser.h"

typedef struct writer {
    char *out;
    size_t size, needed;
} writer;

static void put(writer *w, const char *bytes, size_t size) {
    if (w->needed < w->size) {
        size_t fits = GRB_MIN(size, w->size - w->needed);
        memcpy(w->out + w->needed, bytes, fits);
    }
    w->needed += size;
}

static void put_text(writer *w, const char *text) {
    put(w, text, strlen(text));
}

static void put_escaped(writer *w, const char *bytes, size_t size,
                        const char *special) {
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] && strchr(special, bytes[i])) put(w, "\\", 1);
        put(w, bytes + i, 1);
    }
}

static bool word_is_operator(const char *bytes, size_t size) {
    static const char *const words[] = {"AND", "OR", "NOT", "&&", "||"};
    for (size_t i = 0; i < GRB_COUNT(words); i++)
        if (strlen(words[i]) == size && memcmp(bytes, words[i], size) == 0)
            return true;
    return false;
}

/* One token of the language that says exactly these bytes; inside a word plus
 * and minus need no escape. */
static void put_word(writer *w, const char *bytes, size_t size) {
    if (word_is_operator(bytes, size)) put(w, "\\", 1);
    for (size_t i = 0; i < size; i++) {
        bool special = bytes[i] && strchr("!():^[]\"{}~*?\\/", bytes[i]);
        bool sign = i == 0 && (bytes[i] == '-' || bytes[i] == '+');
        if (special || sign ||
            grb_lexer_space(bytes, (uint32_t)size, (uint32_t)i))
            put(w, "\\", 1);
        put(w, bytes + i, 1);
    }
}

static void put_quoted(writer *w, const char *bytes, size_t size) {
    put(w, "\"", 1);
    put_escaped(w, bytes, size, "\"\\");
    put(w, "\"", 1);
}

static void put_field(writer *w, const char *field) {
    if (!field) return;
    put_word(w, field, strlen(field));
    put(w, ":", 1);
}

static void put_value(writer *w, const grebe_value *value) {
    char number[GRB_NUMBER_SIZE];
    if (grb_kind_is_number(value->kind))
        put(w, number, grb_value_print(value, number));
    else if (value->as.text.size == 0)
        put_text(w, "\"\"");
    else
        put_word(w, value->as.text.bytes, value->as.text.size);
}

/* In a range a quote behind a backslash may or may not end the bound, so a
 * backslash is written by its number. */
static void put_bound_quoted(writer *w, const char *bytes, size_t size) {
    put(w, "\"", 1);
    for (size_t i = 0; i < size; i++)
        if (bytes[i] == '\\')
            put_text(w, "\\u005c");
        else if (bytes[i] == '"')
            put_text(w, "\\\"");
        else
            put(w, bytes + i, 1);
    put(w, "\"", 1);
}

static void put_bound(writer *w, const grebe_value *value) {
    if (grb_kind_is_number(value->kind))
        put_value(w, value);
    else if (value->as.text.size == 0) /* quotes hold one byte at least */
        put_text(w, "*");
    else
        put_bound_quoted(w, value->as.text.bytes, value->as.text.size);
}

static void put_factor(writer *w, float by) {
    char number[GRB_NUMBER_SIZE];
    put(w, number, grb_factor_print(by, number));
}

static void put_count(writer *w, uint32_t count) {
    grebe_value value = {.kind = GREBE_INT, .as.integer = count};
    put(w, "~", 1);
    put_value(w, &value);
}

static void put_range(writer *w, const grebe_query *q) {
    put_field(w, q->field);
    put_text(w, q->as.range.lower_open ? "{" : "[");
    if (q->as.range.has_lower)
        put_bound(w, &q->as.range.lower);
    else
        put_text(w, "*");
    put_text(w, " TO ");
    if (q->as.range.has_upper)
        put_bound(w, &q->as.range.upper);
    else
        put_text(w, "*");
    put_text(w, q->as.range.upper_open ? "}" : "]");
}

/* Terms in a row; a "?" for each place left out, "/" between alternatives. */
static void put_phrase_terms(writer *w, const grebe_query *q) {
    put_field(w, q->field);
    put(w, "\"", 1);
    uint32_t place = q->as.phrase.count ? q->as.phrase.terms[0].position : 0;
    for (size_t i = 0; i < q->as.phrase.count; i++) {
        const grebe_phrase_term *term = &q->as.phrase.terms[i];
        if (i) put(w, term->position == place ? "/" : " ", 1);
        uint32_t gap = term->position > place ? term->position - place : 0;
        for (uint32_t k = 1; k < GRB_MIN(gap, 8u); k++) put_text(w, "? ");
        put_escaped(w, term->bytes, term->size, "\"\\");
        place = term->position;
    }
    put(w, "\"", 1);
    if (q->as.phrase.slop) put_count(w, q->as.phrase.slop);
}

static bool text_has_space(const char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (grb_lexer_space(bytes, (uint32_t)size, (uint32_t)i)) return true;
    return false;
}

/* Several words under AND: "title:(+old +man)"; all else is one token. */
static void put_match(writer *w, const grebe_query *q) {
    const char *bytes = q->as.text.bytes;
    uint32_t size = (uint32_t)q->as.text.size, at = 0, step;
    put_field(w, q->field);
    if (size == 0) {
        put_text(w, "\"\"");
        return;
    }
    if (q->as.text.op == GREBE_OR || !text_has_space(bytes, size)) {
        put_word(w, bytes, size);
        return;
    }
    put_text(w, "(");
    bool first = true;
    while (at < size) {
        while ((step = grb_lexer_space(bytes, size, at))) at += step;
        uint32_t from = at;
        while (at < size && !grb_lexer_space(bytes, size, at)) at++;
        if (at == from) continue;
        put_text(w, first ? "+" : " +");
        put_word(w, bytes + from, at - from);
        first = false;
    }
    put_text(w, first ? "\"\")" : ")");
}

static void put_leaf(writer *w, const grebe_query *q) {
    switch (q->type) {
    case GRB_QUERY_ALL:
        put_text(w, "*:*");
        break;
    case GRB_QUERY_NONE:
        put_text(w, "(-*:*)");
        break;
    case GRB_QUERY_TERM:
        put_field(w, q->field);
        put_value(w, &q->as.value);
        break;
    case GRB_QUERY_MATCH:
        put_match(w, q);
        break;
    case GRB_QUERY_PHRASE:
        put_field(w, q->field);
        put_quoted(w, q->as.text.bytes, q->as.text.size);
        if (q->as.text.slop) put_count(w, q->as.text.slop);
        break;
    case GRB_QUERY_PREFIX:
        put_field(w, q->field);
        put_word(w, q->as.text.bytes, q->as.text.size);
        put(w, "*", 1);
        break;
    case GRB_QUERY_RANGE:
        put_range(w, q);
        break;
    case GRB_QUERY_EXISTS:
        put_field(w, q->field);
        put(w, "*", 1);
        break;
    case GRB_QUERY_PHRASE_TERMS:
        put_phrase_terms(w, q);
        break;
    default:
        break;
    }
}

static void put_node(writer *w, const grebe_query *q, bool inner);

static void put_clauses(writer *w, const grebe_query *q) {
    bool dismax = q->type == GRB_QUERY_DISMAX;
    for (size_t i = 0; i < q->as.list.count; i++) {
        const grb_query_clause *clause = &q->as.list.clauses[i];
        bool filter = clause->occur == GREBE_FILTER;
        if (i) put_text(w, dismax ? " | " : " ");
        if (filter || clause->occur == GREBE_MUST) put(w, "+", 1);
        if (clause->occur == GREBE_MUST_NOT) put(w, "-", 1);
        if (filter) put(w, "(", 1);
        put_node(w, clause->query, !filter);
        if (filter) put_text(w, ")^0");
    }
}

static bool list_is_negative(const grebe_query *q) {
    for (size_t i = 0; i < q->as.list.count; i++)
        if (q->as.list.clauses[i].occur != GREBE_MUST_NOT) return false;
    return true;
}

/* `inner`: inside another node, where a list needs its parentheses. At the
 * top only a list that is all negative does: without, it would mean all but
 * its clauses. */
static void put_list(writer *w, const grebe_query *q, bool inner) {
    bool least = q->type == GRB_QUERY_BOOL && q->as.list.should_min > 1;
    bool tied = q->type == GRB_QUERY_DISMAX;
    if (q->as.list.count == 0) {
        put_text(w, "(-*:*)");
        return;
    }
    bool closed = inner || least || tied || list_is_negative(q);
    if (closed) put(w, "(", 1);
    put_clauses(w, q);
    if (closed) put(w, ")", 1);
    if (least) put_count(w, q->as.list.should_min);
    if (tied && q->as.list.tie > 0) {
        put(w, "~", 1);
        put_factor(w, q->as.list.tie);
    }
}

static bool wrap_needs_parentheses(const grebe_query *q) {
    return q->type == GRB_QUERY_BOOST || q->type == GRB_QUERY_CONSTANT;
}

static void put_wrap(writer *w, const grebe_query *q) {
    const grebe_query *child = q->as.wrap.query;
    bool closed = wrap_needs_parentheses(child);
    if (closed) put(w, "(", 1);
    put_node(w, child, true);
    if (closed) put(w, ")", 1);
    put_text(w, q->type == GRB_QUERY_BOOST ? "^" : "^=");
    put_factor(w, q->as.wrap.by);
}

static void put_node(writer *w, const grebe_query *q, bool inner) {
    switch (q->type) {
    case GRB_QUERY_BOOL:
    case GRB_QUERY_DISMAX:
        put_list(w, q, inner);
        break;
    case GRB_QUERY_BOOST:
    case GRB_QUERY_CONSTANT:
        put_wrap(w, q);
        break;
    default:
        put_leaf(w, q);
    }
}

size_t grb_query_text(const grebe_query *query, char *buffer, size_t size) {
    writer w = {buffer, size ? size - 1 : 0, 0};
    if (query->type != GRB_QUERY_NONE) put_node(&w, query, false);
    if (size) buffer[GRB_MIN(w.needed, w.size)] = 0;
    return w.needed;
}
