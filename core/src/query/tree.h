/* query/tree.h - the query tree that parsers make and search binds. */
#ifndef GRB_QUERY_TREE_H
#define GRB_QUERY_TREE_H

#include "base/base.h"
#include "doc/doc.h"
#include "grebe/query.h"

typedef enum grb_query_type {
    GRB_QUERY_ALL,
    GRB_QUERY_NONE,
    GRB_QUERY_TERM,
    GRB_QUERY_MATCH,
    GRB_QUERY_PHRASE,
    GRB_QUERY_PHRASE_TERMS,
    GRB_QUERY_PREFIX,
    GRB_QUERY_RANGE,
    GRB_QUERY_EXISTS,
    GRB_QUERY_BOOL,
    GRB_QUERY_BOOST,
    GRB_QUERY_CONSTANT,
    GRB_QUERY_DISMAX
} grb_query_type;

typedef struct grb_query_clause {
    grebe_occur occur; /* bool only */
    grebe_query *query;
} grb_query_clause;

/* One node. Text values lie behind the node in its own allocation. */
struct grebe_query {
    _Atomic uint64_t refs;
    grb_query_type type;
    uint32_t depth;        /* 1 for a leaf */
    uint32_t clause_total; /* leaves below and including this node */
    size_t size;           /* bytes of the allocation */
    const char *field;     /* NULL for all, none, bool, boost, ... */
    union {
        grebe_value value; /* TERM */
        struct {
            const char *bytes;
            size_t size;
            grebe_operator op; /* MATCH */
            uint32_t slop;     /* PHRASE */
        } text;                /* MATCH, PHRASE, PREFIX */
        struct {
            const grebe_phrase_term *terms;
            size_t count;
            uint32_t slop;
        } phrase; /* PHRASE_TERMS */
        struct {
            grebe_value lower, upper;
            bool has_lower, has_upper, lower_open, upper_open;
        } range;
        struct {
            const grb_query_clause *clauses;
            size_t count;
            uint32_t should_min; /* BOOL */
            float tie;           /* DISMAX */
        } list;
        struct {
            grebe_query *query;
            float by;
        } wrap; /* BOOST, CONSTANT */
    } as;
};

/* The rooms' way to what grebe/query.h promises; arguments are not NULL. On
 * failure *out is untouched. */
grebe_status grb_query_all(grebe_query **out, grebe_error *err);
grebe_status grb_query_none(grebe_query **out, grebe_error *err);
grebe_status grb_query_term(const char *field, const grebe_value *value,
                            grebe_query **out, grebe_error *err);
grebe_status grb_query_match(const char *field, const char *text, size_t size,
                             grebe_operator op, grebe_query **out,
                             grebe_error *err);
grebe_status grb_query_phrase(const char *field, const char *text, size_t size,
                              uint32_t slop, grebe_query **out,
                              grebe_error *err);
grebe_status grb_query_phrase_terms(const char *field,
                                    const grebe_phrase_term *terms,
                                    size_t count, uint32_t slop,
                                    grebe_query **out, grebe_error *err);
grebe_status grb_query_prefix(const char *field, const char *bytes,
                              size_t size, grebe_query **out,
                              grebe_error *err);
grebe_status grb_query_range(const char *field, const grebe_range *range,
                             grebe_query **out, grebe_error *err);
grebe_status grb_query_exists(const char *field, grebe_query **out,
                              grebe_error *err);
grebe_status grb_query_bool(const grebe_clause *clauses, size_t count,
                            uint32_t should_min, grebe_query **out,
                            grebe_error *err);
grebe_status grb_query_boost(grebe_query *query, float by, grebe_query **out,
                             grebe_error *err);
grebe_status grb_query_constant(grebe_query *query, float score,
                                grebe_query **out, grebe_error *err);
grebe_status grb_query_dismax(grebe_query *const *queries, size_t count,
                              float tie, grebe_query **out, grebe_error *err);
grebe_query *grb_query_acquire(grebe_query *query);
void grb_query_release(grebe_query *query); /* NULL-safe */
/* The same tree, clause by clause in order. */
bool grb_query_equal(const grebe_query *a, const grebe_query *b);

/* A value of a number kind from its text (query/number.c): the one reading of
 * the language and of MATCH on such a field. False if it is none. */
bool grb_value_parse(grebe_kind kind, const char *text, size_t size,
                     grebe_value *out);

size_t grb_query_text(const grebe_query *query, char *buffer, size_t size);
grebe_status grb_query_parse(const grebe_schema *schema, const char *text,
                             size_t size, const grebe_parse_options *options,
                             grebe_query **out, grebe_error *err);

#endif
