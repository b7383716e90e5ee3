/* collect/run.c - one pass over all matches, or the best places and the total
 * apart.
 *
 * Of a large result few places are kept. Where nothing else asks for every
 * match, one pass looks for these and leaves out what cannot enter the page,
 * and the total comes from statistics or from bits without scores.
 *
 * Invariant: the answer is the same either way.
 * Threads: one search, one thread.
 * Owns: nothing.
 */
#include "collect/collect.h"
#include "search/plan.h"

/* Up to so many matches one pass over all is cheaper than two; under filters,
 * of lists of clauses, where the best come without adding up the scores of
 * all, a quarter of them. */
#define PRUNE_MIN 8192u

/* What a search looks for. */
typedef struct sought {
    const grb_weight *main;
    const grb_weight *const *filters;
    size_t filter_count;
} sought;

/* The share of all documents that passes the filters, if passing them twice
 * costs little; else -1. */
static double filters_share(const grb_collector *c, const sought *s) {
    double share = 1;
    for (size_t i = 0; i < s->filter_count && share >= 0; i++) {
        double one = grb_filter_ready(c->context, s->filters[i]);
        share = one < 0 ? -1 : share * one;
    }
    return share;
}

/* Whether to look for the best places alone and to count apart, and why. */
typedef struct choice {
    bool prunes;
    const char *why;
    uint64_t matches, least; /* by which it was chosen; least 0: by neither */
} choice;

/* By cost: two passes pay if there are about so many matches. */
static choice costs_choose(const grb_collector *c, const sought *s,
                           uint64_t postings, bool countable) {
    double share = countable ? filters_share(c, s) : -1;
    bool lists = s->filter_count && !grb_weight_is_term(s->main);
    choice made = {.why = "counting apart would cost as much as this"};
    if (share < 0) return made;
    made.matches = (uint64_t)((double)postings * share);
    made.least = lists ? PRUNE_MIN / 4 : PRUNE_MIN;
    made.prunes = made.matches >= made.least;
    made.why = made.prunes ? "many matches" : "few matches";
    return made;
}

static choice run_choose(const grb_collector *c, const sought *s) {
    const grb_collect_request *r = &c->request;
    uint32_t off = c->context->off;
    bool countable = true;
    if (!s->main || r->constant)
        return (choice){.why = "all scores are equal"};
    if (!c->by_score) return (choice){.why = "the order is not by score"};
    if (r->keep == 0) return (choice){.why = "no places are wanted"};
    if (off & GRB_OFF_PRUNING) return (choice){.why = "switched off"};
    uint64_t postings = grb_weight_postings(s->main, &countable);
    if (off & GRB_OFF_COSTS) return (choice){true, "whatever it costs", 0, 0};
    /* Facets need a look at every match, but not at its score. */
    if (r->facet_count == 0) {
        if (s->filter_count == 0 && grb_weight_counted(c->context, s->main))
            return (choice){true, "the total is known", 0, 0};
        if (r->total_max != GREBE_TOTAL_EXACT && r->total_max < postings / 8)
            return (choice){true, "the total is bounded", 0, 0};
    }
    return costs_choose(c, s, postings, countable);
}

/* Says in a plan what was chosen. */
static void plan_choice(const grb_collector *c, const choice *made) {
    const char *pass = made->prunes || c->apart ? "places" : "all";
    if (c->apart)
        grb_plan_pass(c->context, pass, "sorted, and the total is known");
    else if (made->least == 0)
        grb_plan_pass(c->context, pass, "%s", made->why);
    else
        grb_plan_pass(c->context, pass,
                      "%s: about %llu, counting apart pays from %llu on",
                      made->why, (unsigned long long)made->matches,
                      (unsigned long long)made->least);
}

/* Whether the total of a sorted page is known without its windows. */
static bool run_apart(const grb_collector *c, const sought *s) {
    return c->visitor.skips && s->main && s->filter_count == 0 &&
           !(c->context->off & GRB_OFF_COLUMNS) &&
           grb_weight_counted(c->context, s->main);
}

static grebe_status facets_leaf(void *context, uint32_t leaf_ord,
                                const grb_leaf *leaf, grebe_error *err) {
    grb_collector *c = context;
    return grb_facets_leaf(c->facets, c->request.facet_count, leaf, err);
}

static grebe_status facets_window(void *context, const grb_match_window *w,
                                  grebe_error *err) {
    grb_collector *c = context;
    c->total += w->count;
    return grb_facets_window(c->facets, c->request.facet_count, w, err);
}

/* The best places, and then facets and the total without scores. */
static grebe_status run_faceted(grb_collector *c, const sought *s,
                                grebe_error *err) {
    grebe_status status;
    grb_visitor facets = {
        .context = c, .leaf = facets_leaf, .window = facets_window};
    c->best_alone = true;
    GRB_TRY(grb_search_run(c->context, s->main, s->filters, s->filter_count,
                           true, &c->visitor, err));
    c->total = 0;
    c->counted = true;
    grb_plan_pass(c->context, "facets", "apart from the places");
    GRB_TRY(grb_search_run(c->context, s->main, s->filters, s->filter_count,
                           false, &facets, err));
done:
    return status;
}

grebe_status grb_collector_run(grb_collector *c, const grb_weight *main,
                               const grb_weight *const *filters,
                               size_t filter_count, grebe_error *err) {
    const grb_collect_request *r = &c->request;
    const sought s = {main, filters, filter_count};
    bool scored = main && r->plan->scored && r->keep > 0;
    grebe_status status;
    /* The number of all documents is known without looking. */
    if (r->total_known && r->keep == 0 && r->facet_count == 0) return GREBE_OK;
    if (r->keep == 0 && r->facet_count == 0) {
        grb_plan_pass(c->context, "total", "nothing else is wanted");
        return grb_search_count(
            c->context, main, filters, filter_count,
            r->total_max == GREBE_TOTAL_EXACT ? UINT64_MAX : r->total_max,
            &c->total, err);
    }
    c->apart = run_apart(c, &s);
    choice made = run_choose(c, &s);
    c->visitor.prune = made.prunes;
    plan_choice(c, &made);
    c->in_order |= c->by_score && main && grb_weight_constant(main) &&
                   !(c->context->off & GRB_OFF_PRUNING);
    if (c->visitor.prune && r->facet_count > 0) return run_faceted(c, &s, err);
    if (r->facet_count > 0) c->visitor.list = NULL;
    if (!c->apart && !c->visitor.prune)
        return grb_search_run(c->context, main, filters, filter_count, scored,
                              &c->visitor, err);
    /* From here on `total` counts what was offered: never more than all. */
    uint64_t total = 0, most = UINT64_MAX;
    GRB_TRY(grb_search_run(c->context, main, filters, filter_count, scored,
                           &c->visitor, err));
    if (r->total_max != GREBE_TOTAL_EXACT)
        most = GRB_MAX(r->total_max, r->keep + c->top.passed);
    grb_plan_pass(c->context, "total", "apart from the places");
    status = grb_search_count(c->context, main, filters, filter_count, most,
                              &total, err);
    c->total = GRB_MAX(c->total, total);
    c->counted = true;
done:
    return status;
}
