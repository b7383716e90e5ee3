/* search/plan.c - what a search chose and did, for whoever asked for it.
 *
 * Choices are written down where they are made; counts are the differences of
 * the search's counters between two segments.
 *
 * Invariant: nothing of an answer depends on a plan.
 * Threads: one search.
 * Owns: nothing; everything lies in the search's arena.
 */
#include "search/plan.h"

#include <stdarg.h>
#include <stdio.h>

#include "search/weight.h"

#define TEXT_MAX 240u

void grb_plan_init(grb_plan *p) {
    memset(p, 0, sizeof *p);
    p->end = &p->first;
    p->pass = "all";
    p->why = "";
}

static const char *text_make(grb_search_context *c, const char *format,
                             va_list rest) {
    char text[TEXT_MAX];
    vsnprintf(text, sizeof text, format, rest);
    const char *copy = grb_arena_copy(c->arena, text, strlen(text) + 1);
    if (!copy) c->plan->failed = true;
    return copy ? copy : "";
}

void grb_plan_pass(grb_search_context *c, const char *pass, const char *format,
                   ...) {
    if (!c->plan) return;
    grb_plan_end(c);
    va_list rest;
    va_start(rest, format);
    c->plan->why = text_make(c, format, rest);
    va_end(rest);
    c->plan->pass = pass;
}

void grb_plan_end(grb_search_context *c) {
    grb_plan *p = c->plan;
    if (!p || !p->now) return;
    grebe_plan_step *s = &p->now->shown;
    s->blocks = c->blocks_decoded - p->before.blocks_decoded;
    s->windows = c->windows - p->before.windows;
    s->positions = c->positions - p->before.positions;
    s->work = c->budget.work - p->before.budget.work;
    p->now = NULL;
}

void grb_plan_leaf(grb_search_context *c, uint32_t ord, const grb_leaf *leaf) {
    grb_plan *p = c->plan;
    if (!p) return;
    grb_plan_end(c);
    grb_plan_step *step = grb_arena_zero(c->arena, sizeof *step);
    if (!step) {
        p->failed = true;
        return;
    }
    step->operators_end = &step->operators;
    step->shown.pass = p->pass;
    step->shown.pass_reason = p->why;
    step->shown.method = "skipped";
    step->shown.reason = "nothing that comes later can enter the page";
    step->shown.segment = ord;
    step->shown.docs = leaf->bounds.max_doc;
    *p->end = step;
    p->end = &step->next;
    p->count++;
    p->now = step;
    p->before = *c;
}

void grb_plan_method(grb_search_context *c, const char *method,
                     const char *format, ...) {
    grb_plan *p = c->plan;
    if (!p || !p->now) return;
    va_list rest;
    va_start(rest, format);
    p->now->shown.reason = text_make(c, format, rest);
    va_end(rest);
    p->now->shown.method = method;
}

static const char *kind_name(const grb_weight *w) {
    static const char *const names[] = {
        [GRB_WEIGHT_NONE] = "none",     [GRB_WEIGHT_EMPTY] = "none",
        [GRB_WEIGHT_ALL] = "all",       [GRB_WEIGHT_TERM] = "term",
        [GRB_WEIGHT_KEY] = "key",       [GRB_WEIGHT_PHRASE] = "phrase",
        [GRB_WEIGHT_TERMS] = "terms",   [GRB_WEIGHT_COLUMN] = "range",
        [GRB_WEIGHT_LENGTH] = "exists", [GRB_WEIGHT_BOOL] = "bool",
        [GRB_WEIGHT_DISMAX] = "dismax", [GRB_WEIGHT_CONSTANT] = "constant",
    };
    return names[w->kind];
}

/* The step's operator of a weight, made if there is none. */
static grb_plan_operator *operator_of(grb_search_context *c,
                                      const grb_weight *w) {
    grb_plan *p = c->plan;
    grb_plan_operator *o = p->now->operators;
    while (o && o->weight != w) o = o->next;
    if (o) return o;
    o = grb_arena_zero(c->arena, sizeof *o);
    if (!o) {
        p->failed = true;
        return NULL;
    }
    o->weight = w;
    o->shown.kind = kind_name(w);
    o->shown.field = w->field ? w->field->name : "";
    o->shown.kept = "";
    *p->now->operators_end = o;
    p->now->operators_end = &o->next;
    p->now->shown.operator_count++;
    return o;
}

void grb_plan_filter(grb_search_context *c, const grb_weight *w,
                     const char *kept, uint64_t docs) {
    if (!c->plan || !c->plan->now) return;
    grb_plan_operator *o = operator_of(c, w);
    if (!o) return;
    o->shown.role = "filter";
    o->shown.kept = kept;
    o->shown.docs = docs;
}

void grb_plan_front(grb_search_context *c, const grb_weight *w,
                    const char *role, uint64_t docs) {
    if (!c->plan || !c->plan->now) return;
    grb_plan_step *s = c->plan->now;
    grb_plan_operator *o = operator_of(c, w), **at = &s->operators;
    if (!o) return;
    o->shown.role = role;
    o->shown.docs = docs;
    while (*at != o) at = &(*at)->next;
    *at = o->next;
    if (!o->next) s->operators_end = at;
    o->next = s->operators;
    if (!s->operators) s->operators_end = &o->next;
    s->operators = o;
}
