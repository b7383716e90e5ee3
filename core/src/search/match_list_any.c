/* search/match_list_any.c - disjunctions of terms while one of them leads.
 *
 * Once the floor is so high that over some windows the other terms together
 * stay below it, what is above has the one term that is left. Then its blocks
 * are taken as lists, as those of a required term, and the others are looked
 * up for what may get there: no bits, no sums by windows.
 *
 * Invariant: a range begins and ends at windows; what comes before it and
 * behind it is left to them.
 * Threads: one search.
 * Owns: nothing.
 */
#include <math.h>

#include "search/match_list.h"

/* Windows of a range: long enough for some blocks of a rare term. */
#define RANGE (8u * GRB_WINDOW)
/* For what rounding may add to a sum of doubles. */
#define UP (1.0 + 1e-14)

/* If a term has more blocks in a range the most it can give at all will do. */
#define RANGE_BLOCKS 12u

/* What a range of documents can give. */
typedef struct any_range {
    uint32_t base, end;
    uint32_t lead; /* the term of the greatest bound */
    float bounds[GRB_LIST_TERMS_MAX];
    bool dense[GRB_LIST_TERMS_MAX]; /* of more than RANGE_BLOCKS */
} any_range;

static bool any_can(const bool_matcher *b) {
    return b->required_count == 0 && b->excluded_count == 0 &&
           b->should_min <= 1 && b->should_adds && b->order &&
           b->should_count > 1 && b->should_count <= GRB_LIST_TERMS_MAX &&
           grb_list_terms_only(b->should, b->should_count);
}

/* The place of the greatest bound; *others: the rest of them, added. */
static uint32_t lead_of(const float *bounds, uint32_t count, double *others) {
    uint32_t lead = 0;
    *others = 0;
    for (uint32_t i = 1; i < count; i++)
        if (bounds[i] > bounds[lead]) lead = i;
    for (uint32_t i = 0; i < count; i++)
        if (i != lead && bounds[i] > 0) *others += (double)bounds[i];
    *others *= UP;
    return lead;
}

static grebe_status range_bound(term_matcher *t, const any_range *r,
                                float *bound, bool *dense, grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint64_t doc = r->base;
    *bound = -1.0f;
    for (uint32_t n = 0; n < RANGE_BLOCKS && doc < r->end; n++) {
        grb_term_near near;
        GRB_TRY(grb_term_look(t, (uint32_t)doc, &near, err));
        *bound = GRB_MAX(*bound, near.bound);
        doc = (uint64_t)near.last + 1;
    }
    *dense = doc < r->end;
    if (*dense) *bound = t->flat ? t->flat_score : t->weight;
done:
    return status;
}

/* Whether one term leads over the whole range; sets which. */
static grebe_status range_leads(const bool_matcher *b, any_range *r,
                                float floor, bool *leads, grebe_error *err) {
    grebe_status status = GREBE_OK;
    double others;
    *leads = false;
    for (uint32_t i = 0; i < b->should_count; i++)
        GRB_TRY(range_bound((term_matcher *)b->should[i], r, &r->bounds[i],
                            &r->dense[i], err));
    r->lead = lead_of(r->bounds, b->should_count, &others);
    *leads =
        (float)others <= floor && b->should[r->lead]->cost * GRB_LIST_SPARSE <=
                                      b->m.run->leaf.bounds.max_doc;
done:
    return status;
}

static grebe_status any_make(bool_matcher *b, grb_visitor *visitor,
                             grebe_error *err) {
    static const bool all[GRB_LIST_TERMS_MAX] = {
        true, true, true, true, true, true, true, true, true, true, true,
        true, true, true, true, true, true, true, true, true, true, true,
        true, true, true, true, true, true, true, true, true, true};
    grb_leaf_run *run = b->m.run;
    const grb_view *view = run->leaf.view;
    list_run *l = grb_arena_zero(run->c->arena, sizeof *l);
    grebe_status status;
    if (!l) return grb_error_memory(err, sizeof *l);
    l->visitor = visitor;
    l->run = run;
    l->scored = l->any = true;
    l->dead = view && !grb_view_clean(view, run->c->snapshot->epoch);
    GRB_TRY(
        grb_list_clauses(l, b->should, b->should_count, all, &l->terms, err));
    l->required_count = 1;
    l->should_count = b->should_count - 1;
    GRB_TRY(grb_list_clauses(l, b->should, 1, NULL, &l->required, err));
    GRB_TRY(grb_list_clauses(l, b->should + 1, l->should_count, NULL,
                             &l->should, err));
    b->lists = l;
done:
    return status;
}

/* The lead first, the others by their bounds, greatest first. */
static void clauses_order(list_run *l, const any_range *r) {
    uint32_t n = 0;
    double sum = 0;
    uint32_t places[GRB_LIST_TERMS_MAX];
    for (uint32_t i = 0; i <= l->should_count; i++) {
        uint32_t at = n;
        if (i == r->lead) continue;
        for (; at && r->bounds[places[at - 1]] < r->bounds[i]; at--)
            places[at] = places[at - 1];
        places[at] = i;
        n++;
    }
    while (n-- > 0) {
        l->should[n] = l->terms[places[n]];
        l->should[n].rest = sum;
        l->should[n].bound = r->dense[places[n]] ? r->bounds[places[n]] : 0.0f;
        sum = (sum + (double)GRB_MAX(r->bounds[places[n]], 0.0f)) * UP;
    }
    l->required[0] = l->terms[r->lead];
    l->required[0].rest = sum;
}

static grebe_status range_run(list_run *l, const any_range *r,
                              grebe_error *err) {
    grebe_status status = GREBE_OK;
    term_matcher *lead = l->required[0].term;
    const grb_block *block = &lead->postings->block;
    l->end = r->end;
    for (uint64_t at = r->base; at < r->end && !l->visitor->stop;) {
        uint32_t last;
        bool may;
        l->from = (uint32_t)at;
        GRB_TRY(grb_list_block(l, l->from, &last, &may, err));
        at = (uint64_t)last + 1;
        if (!may) continue;
        GRB_TRY(grb_term_reach(lead, l->from, err));
        if (block->kind == GRB_BLOCK_END) break;
        GRB_TRY(grb_list_block_run(l, false, err));
    }
done:
    return status;
}

grebe_status grb_bool_any_lists(grb_matcher *m, grb_visitor *visitor,
                                uint64_t *at, grebe_error *err) {
    bool_matcher *b = (bool_matcher *)m;
    uint32_t max_doc = m->run->leaf.bounds.max_doc;
    grebe_status status = GREBE_OK;
    any_range r = {.base = (uint32_t)*at};
    double others;
    bool leads;
    if (!visitor->prune || visitor->floor < 0 || *at < b->lists_from ||
        b->bounds_base != r.base || !any_can(b))
        return GREBE_OK;
    /* A look at the window tells whether a look at the range is worth it. */
    lead_of(b->should_bounds, b->should_count, &others);
    if ((float)others > visitor->floor) return GREBE_OK;
    r.end = (uint32_t)GRB_MIN(*at + RANGE, (uint64_t)max_doc);
    b->lists_from = r.end;
    GRB_TRY(range_leads(b, &r, visitor->floor, &leads, err));
    if (!leads) goto done;
    if (!b->lists) GRB_TRY(any_make(b, visitor, err));
    b->lists->visitor = visitor;
    clauses_order(b->lists, &r);
    GRB_TRY(range_run(b->lists, &r, err));
    *at = r.end;
done:
    return status;
}
