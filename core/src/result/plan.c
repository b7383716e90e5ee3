/* result/plan.c - the plan of a search, kept with its hits.
 *
 * The search's arena is used again for the next one, so texts and operators
 * are copied; names of methods are constants.
 *
 * Invariant: immutable once the hits are handed out.
 * Threads: any, once handed out. Owns: nothing; all lies in the hits' arena.
 */
#include "search/plan.h"

#include "result/result.h"

typedef struct grb_plan_page {
    grebe_plan_step step;
    grebe_plan_operator *operators;
} grb_plan_page;

static const char *text_take(grb_arena *arena, const char *text,
                             bool *failed) {
    const char *copy = grb_arena_copy(arena, text, strlen(text) + 1);
    *failed |= !copy;
    return copy;
}

static void step_take(grb_arena *arena, const grb_plan_step *from,
                      grb_plan_page *to, bool *failed) {
    uint64_t count = from->shown.operator_count, n = 0;
    to->step = from->shown;
    to->step.pass_reason = text_take(arena, from->shown.pass_reason, failed);
    to->step.reason = text_take(arena, from->shown.reason, failed);
    to->operators =
        grb_arena_zero(arena, (size_t)count * sizeof *to->operators + 1);
    *failed |= !to->operators;
    for (const grb_plan_operator *o = from->operators; o && !*failed;
         o = o->next) {
        to->operators[n] = o->shown;
        to->operators[n++].field = text_take(arena, o->shown.field, failed);
    }
}

grebe_status grb_hits_plan_take(grebe_hits *hits, const grb_plan *plan,
                                grebe_error *err) {
    size_t size = (size_t)plan->count * sizeof *hits->plan, n = 0;
    bool failed = plan->failed;
    hits->plan = grb_arena_zero(&hits->arena, size + 1);
    failed |= !hits->plan;
    for (const grb_plan_step *s = plan->first; s && !failed; s = s->next)
        step_take(&hits->arena, s, &hits->plan[n++], &failed);
    if (failed) return grb_error_memory(err, size);
    hits->plan_count = n;
    return GREBE_OK;
}

grebe_status grb_hits_plan_read(const grebe_hits *hits, uint64_t i,
                                grebe_plan_step *out, grebe_error *err) {
    if (i >= hits->plan_count)
        return grb_error(err, GREBE_ARGUMENT, "plan: step %llu of %zu",
                         (unsigned long long)i, hits->plan_count);
    *out = hits->plan[i].step;
    return GREBE_OK;
}

grebe_status grb_hits_plan_operator_read(const grebe_hits *hits, uint64_t i,
                                         uint64_t j, grebe_plan_operator *out,
                                         grebe_error *err) {
    grebe_plan_step step = {.operator_count = 0};
    grebe_status status = grb_hits_plan_read(hits, i, &step, err);
    if (status != GREBE_OK) return status;
    if (j >= step.operator_count)
        return grb_error(err, GREBE_ARGUMENT, "plan: operator %llu of %llu",
                         (unsigned long long)j,
                         (unsigned long long)step.operator_count);
    *out = hits->plan[i].operators[j];
    return GREBE_OK;
}
