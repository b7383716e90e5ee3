/* search/plan.h - what a search chose and did, for whoever asked for it.
 *
 * Every call may be made with a context without a plan: then it does nothing.
 */
#ifndef GRB_SEARCH_PLAN_H
#define GRB_SEARCH_PLAN_H

#include "grebe/search.h"
#include "search/search.h"

typedef struct grb_plan_operator {
    struct grb_plan_operator *next;
    const grb_weight *weight;
    grebe_plan_operator shown;
} grb_plan_operator;

/* One pass over one segment. Texts and operators lie in the arena of the
 * search. */
typedef struct grb_plan_step {
    struct grb_plan_step *next;
    grb_plan_operator *operators, **operators_end;
    grebe_plan_step shown;
} grb_plan_step;

typedef struct grb_plan {
    grb_plan_step *first, **end;
    grb_plan_step *now; /* counts go here; NULL: no segment yet */
    const char *pass, *why;
    grb_search_context before; /* its counters, when `now` began */
    uint64_t count;
    bool failed; /* no memory: the plan is not whole */
} grb_plan;

void grb_plan_init(grb_plan *p);
/* The passes to come, and why there are these. */
void grb_plan_pass(grb_search_context *c, const char *pass, const char *format,
                   ...) __attribute__((format(printf, 3, 4)));
/* A segment's turn begins, and the one before ends. */
void grb_plan_leaf(grb_search_context *c, uint32_t ord, const grb_leaf *leaf);
void grb_plan_end(grb_search_context *c);
/* How the segment is looked at, and why. */
void grb_plan_method(grb_search_context *c, const char *method,
                     const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A filter that was opened for the segment, and what became of it. */
void grb_plan_filter(grb_search_context *c, const grb_weight *w,
                     const char *kept, uint64_t docs);
/* Puts an operator in front of those that are there. */
void grb_plan_front(grb_search_context *c, const grb_weight *w,
                    const char *role, uint64_t docs);
/* Matches were handed on. */
static inline void grb_plan_matched(grb_search_context *c, uint64_t count,
                                    bool scored) {
    if (!c->plan || !c->plan->now) return;
    c->plan->now->shown.matched += count;
    if (scored) c->plan->now->shown.scored += count;
}

#endif
