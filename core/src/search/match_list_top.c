/* search/match_list_top.c - what of a list may come above the floor.
 *
 * Before clauses are looked up for a block of the rarest term, its documents
 * are scored and those dropped that the other clauses cannot lift above the
 * floor: by the most that a term can give at all, then by what the block can
 * give that holds the document. What is left is looked up as ever.
 *
 * Invariant: bounds are rounded up, so that no document above the floor is
 * dropped.
 * Threads: one search.
 * Owns: nothing.
 */
#include "search/match_list.h"

/* For what rounding may take from a floor, or add to a sum of floats. */
#define DOWN (1.0 - 1e-6)

double grb_list_cut(const list_run *l) {
    return (double)l->visitor->floor * DOWN;
}

grebe_status grb_list_block(list_run *l, uint32_t doc, uint32_t *last,
                            bool *may, grebe_error *err) {
    grb_term_near near = {GRB_NO_DOC, 0.0f};
    const list_clause *lead = &l->required[0];
    grebe_status status = GREBE_OK;
    if (lead->freqs) GRB_TRY(grb_term_look(lead->term, doc, &near, err));
    *last = near.last;
    *may = (double)near.bound + lead->rest > grb_list_cut(l);
done:
    return status;
}

/* The rarest term: sets what each document has of it. */
static grebe_status lead_above(list_run *l, grebe_error *err) {
    const list_clause *lead = &l->required[0];
    term_matcher *t = lead->term;
    grebe_status status = GREBE_OK;
    uint32_t count = l->count;
    if (!lead->freqs || t->flat) {
        float score = lead->freqs ? t->flat_score : 0.0f;
        for (uint32_t i = 0; i < count; i++) l->most[i] = (double)score;
        goto done;
    }
    GRB_TRY(grb_list_freqs(t, err));
    uint32_t from = l->places[0];
    GRB_TRY(grb_term_weigh(t, l->docs, t->freqs + from, count, l->x, err));
    count = grb_search_kernels_best.above(
        l->places, l->x, count,
        grb_term_least(t->weight,
                       (float)((grb_list_cut(l) - lead->rest) * DOWN)),
        l->places, l->x);
    grb_search_kernels_best.score(l->x, count, t->weight);
    for (uint32_t i = 0; i < count; i++) {
        l->docs[i] = l->docs[l->places[i] - from];
        l->most[i] = (double)l->x[i];
    }
    l->count = count;
done:
    return status;
}

/* A further clause: adds what its blocks can give. */
static grebe_status clause_above(list_run *l, const list_clause *c,
                                 bool required, grebe_error *err) {
    grebe_status status = GREBE_OK;
    double cut = grb_list_cut(l) - c->rest;
    grb_term_near near = {0, -1.0f};
    uint32_t n = 0;
    for (uint32_t i = 0; c->bound > 0 && i < l->count; i++)
        l->most[i] += (double)c->bound;
    if (c->bound > 0) goto done;
    for (uint32_t i = 0; i < l->count; i++) {
        if (i == 0 || near.last < l->docs[i])
            GRB_TRY(grb_term_look(c->term, l->docs[i], &near, err));
        if (required && near.bound < 0) break;
        double most = l->most[i] + (double)GRB_MAX(near.bound, 0.0f);
        l->docs[n] = l->docs[i];
        l->places[n] = l->places[i];
        l->most[n] = most;
        n += most > cut;
    }
    l->count = n;
done:
    return status;
}

grebe_status grb_list_above(list_run *l, grebe_error *err) {
    grebe_status status;
    GRB_TRY(lead_above(l, err));
    for (uint32_t k = 1; l->count && k < l->required_count; k++)
        if (l->required[k].freqs)
            GRB_TRY(clause_above(l, &l->required[k], true, err));
    for (uint32_t k = 0; l->count && k < l->should_count; k++)
        GRB_TRY(clause_above(l, &l->should[k], false, err));
done:
    return status;
}
