/* search/match_list.h - conjunctions of terms in lists; private to their
 * files. */
#ifndef GRB_SEARCH_MATCH_LIST_H
#define GRB_SEARCH_MATCH_LIST_H

#include "search/match_bool.h"
#include "search/match_term.h"

/* The first term has at most one document in so many of the leaf's. */
#define GRB_LIST_SPARSE 12u
#define GRB_LIST_TERMS_MAX 32u

/* Frequencies of a term in the documents of the list, by their places in the
 * block of the first term; 0: not in it. */
typedef struct list_clause {
    term_matcher *term;
    uint32_t *freqs; /* NULL: does not score */
    double rest;     /* what the clauses behind can add to a score */
    float bound;     /* not 0: stands for those of its many blocks */
} list_clause;

typedef struct list_run {
    grb_visitor *visitor;
    grb_leaf_run *run;
    bool scored, dead, must_adds;
    bool any;           /* of a disjunction: all scores are one sum */
    uint32_t from, end; /* documents of the first term that are of interest */
    uint32_t required_count, should_count, excluded_count;
    list_clause *required, *should, *excluded;
    list_clause *terms; /* of a disjunction, in its order */
    uint32_t count;
    uint32_t docs[GRB_BLOCK + 1], places[GRB_BLOCK + 1];
    uint32_t some_docs[GRB_BLOCK + 1], some_freqs[GRB_BLOCK + 1];
    uint32_t some_at[GRB_BLOCK + 1], some_places[GRB_BLOCK + 1];
    float x[GRB_BLOCK + 1];
    double must[GRB_BLOCK + 1], should_sum[GRB_BLOCK + 1];
    double most[GRB_BLOCK + 1]; /* see grb_list_above */
    bool also[GRB_BLOCK + 1];   /* some optional clause matches */
} list_run;

/* match_list.c: the clause's frequencies of the block at hand, decoded at the
 * first call. */
grebe_status grb_list_freqs(term_matcher *t, grebe_error *err);

/* match_list.c: what the current block of the first term has. `first`: in
 * parts until there is a floor. */
grebe_status grb_list_block_run(list_run *l, bool first, grebe_error *err);
/* match_list.c: clauses of terms, with room for frequencies where `adds`. */
grebe_status grb_list_clauses(list_run *l, grb_matcher *const *items,
                              uint32_t count, const bool *adds,
                              list_clause **out, grebe_error *err);
/* match_list.c: whether all are terms. */
bool grb_list_terms_only(grb_matcher *const *items, uint32_t count);

/* match_list_top.c: whether the block of the rarest term with the first
 * document >= *doc may hold something above the floor; sets its last one. */
grebe_status grb_list_block(list_run *l, uint32_t doc, uint32_t *last,
                            bool *may, grebe_error *err);
/* match_list_top.c: sums that are not above it are dropped. */
double grb_list_cut(const list_run *l);
/* match_list_top.c: leaves the documents of the rarest term's block that may
 * come above the floor. */
grebe_status grb_list_above(list_run *l, grebe_error *err);

#endif
