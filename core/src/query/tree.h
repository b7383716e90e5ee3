/* query/tree.h - the query tree that parsers make and search binds. */
#ifndef GRB_QUERY_TREE_H
#define GRB_QUERY_TREE_H

#include "base/base.h"
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
        grebe_value value;                 /* TERM */
        struct {
            const char *bytes;
            size_t size;
            grebe_operator op;             /* MATCH */
            uint32_t slop;                 /* PHRASE */
        } text;                            /* MATCH, PHRASE, PREFIX */
        struct {
            const grebe_phrase_term *terms;
            size_t count;
            uint32_t slop;
        } phrase;                          /* PHRASE_TERMS */
        struct {
            grebe_value lower, upper;
            bool has_lower, has_upper, lower_open, upper_open;
        } range;
        struct {
            const grb_query_clause *clauses;
            size_t count;
            uint32_t should_min;           /* BOOL */
            float tie;                     /* DISMAX */
        } list;
        struct {
            grebe_query *query;
            float by;
        } wrap;                            /* BOOST, CONSTANT */
    } as;
};

#endif
