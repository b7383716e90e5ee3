/* collect/collector.c - one visitor for everything a search collects.
 *
 * Each window of matches is counted, offered to the order and to the facets,
 * in that order, while it is in the cache.
 *
 * Invariant: what is collected does not depend on how documents are spread
 * over leaves and windows; a bounded total is cut to its bound for that.
 * Threads: one search, one thread.
 * Owns: top, ranked and facets.
 */
#include <math.h>

#include "collect/collect.h"

static grebe_status collector_leaf(void *context, uint32_t leaf_ord,
                                   const grb_leaf *leaf, grebe_error *err) {
    grb_collector *c = context;
    grebe_status status = GREBE_OK;
    if (c->by_score) {
        grb_top_leaf(&c->top, leaf_ord, leaf);
        c->visitor.floor = grb_top_floor(&c->top);
    } else {
        GRB_TRY(grb_ranked_leaf(c->ranked, leaf_ord, leaf, err));
    }
    if (!c->best_alone)
        GRB_TRY(grb_facets_leaf(c->facets, c->request.facet_count, leaf, err));
done:
    return status;
}

/* Whether nothing that can still come enters the page. */
static bool collector_full(const grb_collector *c) {
    bool loose =
        c->by_score ? grb_top_loose(&c->top) : grb_ranked_loose(c->ranked);
    return c->in_order && grb_collector_more(c) && !loose;
}

/* Whether nothing that could still come would change the answer. */
static bool collector_settled(const grb_collector *c) {
    if (c->request.facet_count > 0) return false;
    if (c->request.total_known) return collector_full(c);
    if (c->request.total_max == GREBE_TOTAL_EXACT ||
        c->total <= c->request.total_max)
        return false;
    if (c->request.keep == 0) return true;
    return collector_full(c);
}

/* Whether a window may be left out: its matches need not be counted, and none
 * can enter the page. */
static grebe_status collector_skips(void *context, uint32_t base, bool *skips,
                                    grebe_error *err) {
    grb_collector *c = context;
    const grb_collect_request *r = &c->request;
    *skips = false;
    if (!c->apart && !r->total_known &&
        (r->total_max == GREBE_TOTAL_EXACT || c->total <= r->total_max))
        return GREBE_OK;
    return grb_ranked_skips(c->ranked, base, skips, err);
}

static grebe_status collector_window(void *context, const grb_match_window *w,
                                     grebe_error *err) {
    grb_collector *c = context;
    grebe_status status = GREBE_OK;
    c->total += w->count;
    if (c->by_score) {
        GRB_TRY(grb_top_window(&c->top, w, err));
        c->visitor.floor = grb_top_floor(&c->top);
    } else {
        GRB_TRY(grb_ranked_window(c->ranked, w, err));
    }
    if (!c->best_alone)
        GRB_TRY(grb_facets_window(c->facets, c->request.facet_count, w, err));
    if (collector_settled(c)) c->visitor.stop = true;
done:
    return status;
}

static grebe_status collector_list(void *context, const grb_match_list *l,
                                   grebe_error *err) {
    grb_collector *c = context;
    grebe_status status = GREBE_OK;
    c->total += l->count;
    GRB_TRY(grb_top_list(&c->top, l, err));
    c->visitor.floor = grb_top_floor(&c->top);
    if (collector_settled(c)) c->visitor.stop = true;
done:
    return status;
}

static grebe_status facets_new(grb_collector *c, const grebe_allocator *a,
                               grebe_error *err) {
    size_t count = c->request.facet_count;
    if (count == 0) return GREBE_OK;
    c->facets = grb_arena_zero(c->context->arena, count * sizeof *c->facets);
    if (!c->facets) return grb_error_memory(err, count * sizeof *c->facets);
    for (size_t i = 0; i < count; i++) {
        grebe_status status = grb_facet_new(
            c->context, a, &c->request.facets[i], &c->facets[i], err);
        if (status != GREBE_OK) return status;
    }
    return GREBE_OK;
}

static grebe_status ranked_new(grb_collector *c, const grebe_allocator *a,
                               grebe_error *err) {
    c->ranked = grb_arena_alloc(c->context->arena, sizeof *c->ranked);
    if (!c->ranked) return grb_error_memory(err, sizeof *c->ranked);
    return grb_ranked_init(c->ranked, c->context, a, c->request.plan,
                           (size_t)c->request.keep, c->request.after, err);
}

grebe_status grb_collector_init(grb_collector *c, grb_search_context *context,
                                const grebe_allocator *a,
                                const grb_collect_request *request,
                                grebe_error *err) {
    grebe_status status;
    memset(c, 0, sizeof *c);
    c->visitor.context = c;
    c->visitor.leaf = collector_leaf;
    c->visitor.window = collector_window;
    c->context = context;
    c->request = *request;
    c->by_score = request->plan->plain;
    c->visitor.floor = GRB_FLOOR_NONE;
    if (c->by_score) c->visitor.list = collector_list;
    if (!c->by_score && request->facet_count == 0)
        c->visitor.skips = collector_skips;
    c->in_order = request->plan->count == 0 ||
                  (request->plan->plain && request->constant);
    if (c->by_score)
        GRB_TRY(grb_top_init(&c->top, context, a, (size_t)request->keep,
                             request->after, err));
    else
        GRB_TRY(ranked_new(c, a, err));
    GRB_TRY(facets_new(c, a, err));
done:
    return status;
}

void grb_collector_deinit(grb_collector *c) {
    if (c->by_score) grb_top_deinit(&c->top);
    if (c->ranked) grb_ranked_deinit(c->ranked);
    for (size_t i = 0; c->facets && i < c->request.facet_count; i++)
        grb_facet_free(c->facets[i]);
}

grebe_status grb_collector_finish(grb_collector *c, grebe_error *err) {
    return c->by_score ? grb_top_finish(&c->top, &c->context->budget, err)
                       : grb_ranked_finish(c->ranked, err);
}

size_t grb_collector_count(const grb_collector *c) {
    return c->by_score ? c->top.count : grb_ranked_items(c->ranked)->count;
}

static float word_score(const grb_sort_key *key, int64_t word) {
    int32_t bits = (int32_t)(key->desc ? ~word : word);
    float score;
    memcpy(&score, &bits, 4);
    return score;
}

void grb_collector_place(const grb_collector *c, size_t i, grb_place *out) {
    if (c->by_score) {
        *out = c->top.items[i];
        return;
    }
    const grb_sort_plan *plan = c->request.plan;
    const grb_item *item = grb_items_at(grb_ranked_items(c->ranked), i);
    out->leaf = item->leaf;
    out->doc = item->doc;
    out->score = NAN;
    for (uint32_t k = 0; k < plan->count; k++)
        if (plan->keys[k].source == GRB_SORT_SCORE)
            out->score = word_score(&plan->keys[k], item->cells[k].word);
}

void grb_collector_cells(const grb_collector *c, size_t i,
                         grb_sort_cell *out) {
    if (c->by_score) {
        int32_t bits;
        memcpy(&bits, &c->top.items[i].score, 4);
        *out =
            (grb_sort_cell){.word = ~(int64_t)bits, .state = GRB_CELL_VALUE};
        return;
    }
    const grb_item *item = grb_items_at(grb_ranked_items(c->ranked), i);
    memcpy(out, item->cells, c->request.plan->count * sizeof *out);
}

bool grb_collector_more(const grb_collector *c) {
    if (c->counted && c->by_score)
        return c->total > c->top.passed + c->top.count;
    return c->by_score ? c->top.more : c->ranked->more;
}
