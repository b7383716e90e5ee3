/* search/match_other.c - all documents, constant scores, best of several.
 *
 * Small operators around others.
 *
 * Invariant: as in matcher.h.
 * Threads: one search.
 * Owns: nothing.
 */
#include "search/matcher.h"

/* ---- all ---- */

static grebe_status all_next(grb_matcher *m, uint32_t min_doc, uint32_t *doc,
                             grebe_error *err) {
    *doc = min_doc < m->run->leaf.bounds.max_doc ? min_doc : GRB_NO_DOC;
    return GREBE_OK;
}

static grebe_status all_eval(grb_matcher *m, uint32_t base,
                             const grb_within *within, uint64_t *bits,
                             float *scores, bool *any, grebe_error *err) {
    uint32_t size = grb_window_size(m->run, base);
    if (size == 0) return GREBE_OK;
    if (within)
        memcpy(bits, within->bits, GRB_WINDOW_WORDS * sizeof *bits);
    else
        grb_bits_fill(bits, 0, size);
    if (scores) grb_scores_fill(bits, scores, m->weight->boost);
    *any = true;
    return grb_budget_spend(&m->run->c->budget, size, err);
}

grebe_status grb_match_all(grb_leaf_run *run, const grb_weight *w,
                           uint32_t depth, grb_matcher **out,
                           grebe_error *err) {
    static const grb_matcher_ops ops = {all_next, all_eval, NULL, NULL};
    *out = grb_matcher_alloc(run, w, depth, sizeof **out, &ops,
                             run->leaf.bounds.max_doc);
    return *out ? GREBE_OK : grb_error_memory(err, sizeof **out);
}

/* ---- constant ---- */

typedef struct constant_matcher {
    grb_matcher m;
    grb_matcher *child;
} constant_matcher;

static grebe_status constant_next(grb_matcher *m, uint32_t min_doc,
                                  uint32_t *doc, grebe_error *err) {
    grb_matcher *child = ((constant_matcher *)m)->child;
    return child->ops->next(child, min_doc, doc, err);
}

static grebe_status constant_eval(grb_matcher *m, uint32_t base,
                                  const grb_within *within, uint64_t *bits,
                                  float *scores, bool *any, grebe_error *err) {
    grb_matcher *child = ((constant_matcher *)m)->child;
    bool some = false;
    grebe_status status =
        child->ops->eval(child, base, within, bits, NULL, &some, err);
    if (status || !some) return status;
    *any = true;
    if (scores) grb_scores_fill(bits, scores, m->weight->boost);
    return GREBE_OK;
}

grebe_status grb_match_constant(grb_leaf_run *run, const grb_weight *w,
                                uint32_t depth, grb_matcher **out,
                                grebe_error *err) {
    static const grb_matcher_ops ops = {constant_next, constant_eval, NULL,
                                        NULL};
    constant_matcher *m;
    grb_matcher *child;
    grebe_status status;
    GRB_TRY(grb_match_filter(run, w->as.child, depth + 1, &child, err));
    if (!child) goto done;
    m = grb_matcher_alloc(run, w, depth, sizeof *m, &ops, child->cost);
    if (!m) return grb_error_memory(err, sizeof *m);
    m->child = child;
    *out = &m->m;
done:
    return status;
}

/* ---- dismax ---- */

typedef struct dismax_matcher {
    grb_matcher m;
    grb_matcher **items;
    uint32_t count;
    grb_frame *frame;
} dismax_matcher;

static grebe_status dismax_next(grb_matcher *m, uint32_t min_doc,
                                uint32_t *doc, grebe_error *err) {
    dismax_matcher *d = (dismax_matcher *)m;
    grebe_status status = GREBE_OK;
    uint32_t least = GRB_NO_DOC;
    for (uint32_t i = 0; i < d->count && least > min_doc; i++) {
        uint32_t next;
        GRB_TRY(d->items[i]->ops->next(d->items[i], min_doc, &next, err));
        least = GRB_MIN(least, next);
    }
    *doc = least;
done:
    return status;
}

/* Takes one clause's scores into best and sum. */
static void dismax_take(dismax_matcher *d, const uint64_t *one,
                        const float *scores, uint64_t *bits) {
    double *sum = d->frame->must;
    float *best = d->frame->best;
    for (uint32_t w = 0; w < GRB_WINDOW_WORDS; w++) {
        for (uint64_t word = one[w]; word; word &= word - 1) {
            uint32_t i = w * 64 + (uint32_t)grb_ctz64(word);
            if (!grb_bit(bits, i)) {
                best[i] = scores[i];
                sum[i] = (double)scores[i];
                continue;
            }
            best[i] = GRB_MAX(best[i], scores[i]);
            sum[i] += (double)scores[i];
        }
        bits[w] |= one[w];
    }
}

static void dismax_round(const dismax_matcher *d, const uint64_t *bits,
                         float *scores) {
    double tie = (double)d->m.weight->as.dismax.tie;
    for (uint32_t w = 0; w < GRB_WINDOW_WORDS; w++) {
        for (uint64_t word = bits[w]; word; word &= word - 1) {
            uint32_t i = w * 64 + (uint32_t)grb_ctz64(word);
            double best = (double)d->frame->best[i];
            scores[i] = (float)(best + (d->frame->must[i] - best) * tie);
        }
    }
}

static grebe_status dismax_eval(grb_matcher *m, uint32_t base,
                                const grb_within *within, uint64_t *bits,
                                float *scores, bool *any, grebe_error *err) {
    dismax_matcher *d = (dismax_matcher *)m;
    uint64_t *one = d->frame->bits[0];
    grebe_status status = GREBE_OK;
    for (uint32_t i = 0; i < d->count; i++) {
        bool some = false;
        grb_bits_zero(one);
        GRB_TRY(d->items[i]->ops->eval(d->items[i], base, within, one,
                                       scores ? d->frame->out_scores : NULL,
                                       &some, err));
        if (!some) continue;
        *any = true;
        if (scores)
            dismax_take(d, one, d->frame->out_scores, bits);
        else
            for (uint32_t w = 0; w < GRB_WINDOW_WORDS; w++) bits[w] |= one[w];
    }
    if (scores) dismax_round(d, bits, scores);
done:
    return status;
}

/* A tie breaker is at most 1, so that no score is above the sum of all. */
static grebe_status dismax_bound(grb_matcher *m, uint32_t base, uint32_t *last,
                                 float *bound, grebe_error *err) {
    dismax_matcher *d = (dismax_matcher *)m;
    float tie = m->weight->as.dismax.tie;
    grebe_status status = GREBE_OK;
    double best = -1, sum = 0;
    *last = UINT32_MAX;
    for (uint32_t i = 0; i < d->count; i++) {
        uint32_t to;
        GRB_TRY(grb_matcher_bound(d->items[i], base, &to, bound, err));
        *last = GRB_MIN(*last, to);
        best = GRB_MAX(best, (double)*bound);
        sum += GRB_MAX((double)*bound, 0.0);
    }
    *bound = (float)best;
    if (tie > 0 && best >= 0)
        *bound = (float)(GRB_MAX(sum, sum * (double)tie) * (1.0 + 1e-6));
done:
    return status;
}

grebe_status grb_match_dismax(grb_leaf_run *run, const grb_weight *w,
                              uint32_t depth, grb_matcher **out,
                              grebe_error *err) {
    static const grb_matcher_ops ops = {dismax_next, dismax_eval, NULL,
                                        dismax_bound};
    const grb_weight_list *list = &w->as.dismax.queries;
    grebe_status status = GREBE_OK;
    uint64_t cost = 0;
    dismax_matcher *d = grb_matcher_alloc(run, w, depth, sizeof *d, &ops, 0);
    if (!d) return grb_error_memory(err, sizeof *d);
    d->items = grb_arena_alloc(run->c->arena, list->count * sizeof *d->items);
    if (!d->items) return grb_error_memory(err, list->count * sizeof(void *));
    for (uint32_t i = 0; i < list->count; i++) {
        grb_matcher **item = &d->items[d->count];
        GRB_TRY(grb_matcher_make(run, list->items[i], depth + 1, item, err));
        if (!*item) continue;
        cost += (*item)->cost;
        d->count++;
    }
    d->m.cost = GRB_MIN(cost, run->leaf.bounds.max_doc);
    if (d->count == 0) goto done;
    GRB_TRY(grb_frame_make(
        run->c, depth,
        w->scored ? GRB_FRAME_OUT | GRB_FRAME_BEST | GRB_FRAME_MUST : 0,
        &d->frame, err));
    *out = &d->m;
done:
    return status;
}
