/* search/match_bool.h - the operator of lists of clauses; private to its
 * files. */
#ifndef GRB_SEARCH_MATCH_BOOL_H
#define GRB_SEARCH_MATCH_BOOL_H

#include "search/matcher.h"

typedef struct bool_matcher {
    grb_matcher m;
    grb_matcher **required; /* rarest first */
    bool *adds;             /* which of them score */
    grb_matcher **should, **excluded;
    uint32_t required_count, should_count, excluded_count;
    uint32_t should_min; /* 0: should clauses are optional */
    bool must_adds, should_adds;
    grb_frame *frame;
    /* match_bool_top.c: of the window at `bounds_base` */
    uint32_t bounds_base; /* 1: of none */
    bool floored;         /* floors of clauses may be set */
    float *must_bounds, *should_bounds;
    uint32_t *order;   /* of should: greatest bound first */
    double *rest;      /* bounds of those from there on, added */
    double *must_rest; /* the same of required clauses, in their order */
    /* match_list_any.c */
    struct list_run *lists; /* NULL: not made yet */
    uint32_t lists_from;    /* not tried before this document */
} bool_matcher;

/* match_bool.c: takes out what excluded clauses match. */
grebe_status grb_bool_excluded(bool_matcher *b, uint32_t base, uint64_t *bits,
                               bool *any, grebe_error *err);
/* match_bool.c: those of `bits` that match enough of should. */
grebe_status grb_bool_beside(bool_matcher *b, uint32_t base, uint64_t *bits,
                             uint64_t *optional, grb_sum *sum, bool *any,
                             grebe_error *err);
/* match_bool.c: sums become scores. */
void grb_bool_round(const bool_matcher *b, const uint64_t *bits,
                    const uint64_t *optional, float *scores);

/* match_bool_top.c: room for bounds; grb_matcher_ops.bound; eval of what may
 * be above the floor, with scores. */
grebe_status grb_bool_top_make(bool_matcher *b, grebe_error *err);
grebe_status grb_bool_bound(grb_matcher *m, uint32_t base, uint32_t *last,
                            float *bound, grebe_error *err);
grebe_status grb_bool_above(bool_matcher *b, uint32_t base,
                            const grb_within *within, uint64_t *bits,
                            float *scores, bool *any, grebe_error *err);
/* Clears the floors of all clauses. */
void grb_bool_unfloor(bool_matcher *b);

#endif
