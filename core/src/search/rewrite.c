/* search/rewrite.c - a query tree becomes a weight tree.
 *
 * Boosts are folded into the node below them, clauses that cannot match or
 * consist of stop words alone are taken out, and lists are given to clauses.c
 * to be merged. Leaves are bound to fields in rewrite_leaf.c.
 *
 * Invariant: no node of the result is shared, so `own` may be changed in
 * place; only the root is ever EMPTY.
 * Threads: one search, one tree.
 * Owns: nothing; nodes live in the context's arena.
 * The recursion is as deep as the query, at most GREBE_QUERY_DEPTH_MAX, which
 * is checked when a query is made.
 */
#include "search/weight.h"

grb_weight *grb_weight_make(grb_search_context *c, grb_weight_kind kind,
                            const grb_field *field) {
    grb_weight *w = grb_arena_zero(c->arena, sizeof *w);
    if (!w) return NULL;
    w->kind = kind;
    w->own = 1.0f;
    w->context = c;
    w->field = field;
    return w;
}

static bool weight_matches_nothing(const grb_weight *w) {
    return w->kind == GRB_WEIGHT_NONE || w->kind == GRB_WEIGHT_EMPTY;
}

static grebe_status bool_rewrite(grb_search_context *c, const grebe_query *q,
                                 grb_weight **out, grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_weight *w = grb_weight_make(c, GRB_WEIGHT_BOOL, NULL);
    grb_weight_list *lists;
    size_t count = q->as.list.count;
    uint32_t empty = 0;
    bool none = false;
    if (!w) return grb_error_memory(err, sizeof *w);
    lists = w->as.list.lists;
    for (int i = 0; i < 4; i++) {
        lists[i].items = grb_arena_alloc(c->arena, count * sizeof(void *) + 1);
        if (!lists[i].items) return grb_error_memory(err, count * 8);
    }
    for (size_t i = 0; i < count; i++) {
        grebe_occur occur = q->as.list.clauses[i].occur;
        grb_weight *child;
        GRB_TRY(
            grb_weight_rewrite(c, q->as.list.clauses[i].query, &child, err));
        if (child->kind == GRB_WEIGHT_EMPTY) {
            empty++;
        } else if (child->kind == GRB_WEIGHT_NONE) {
            none |= occur == GREBE_MUST || occur == GREBE_FILTER;
        } else {
            grb_weight_identify(child);
            lists[occur].items[lists[occur].count++] = child;
        }
    }
    w->as.list.should_min = q->as.list.should_min;
    if (none || (count && empty == count)) {
        w->kind = none ? GRB_WEIGHT_NONE : GRB_WEIGHT_EMPTY;
        *out = w;
        goto done;
    }
    status = grb_weight_clauses(c, w, out, err);
done:
    return status;
}

static grebe_status dismax_rewrite(grb_search_context *c, const grebe_query *q,
                                   grb_weight **out, grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_weight *w = grb_weight_make(c, GRB_WEIGHT_DISMAX, NULL);
    grb_weight_list *list;
    size_t count = q->as.list.count;
    uint32_t empty = 0;
    if (!w) return grb_error_memory(err, sizeof *w);
    list = &w->as.dismax.queries;
    list->items = grb_arena_alloc(c->arena, count * sizeof(void *) + 1);
    if (!list->items) return grb_error_memory(err, count * sizeof(void *));
    for (size_t i = 0; i < count; i++) {
        grb_weight *child;
        GRB_TRY(
            grb_weight_rewrite(c, q->as.list.clauses[i].query, &child, err));
        empty += child->kind == GRB_WEIGHT_EMPTY;
        if (weight_matches_nothing(child)) continue;
        grb_weight_identify(child);
        list->items[list->count++] = child;
    }
    w->as.dismax.tie = q->as.list.tie;
    if (list->count == 0)
        w->kind = count && empty == count ? GRB_WEIGHT_EMPTY : GRB_WEIGHT_NONE;
    *out = list->count == 1 ? list->items[0] : w;
done:
    return status;
}

static grebe_status constant_rewrite(grb_search_context *c,
                                     const grebe_query *q, grb_weight **out,
                                     grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_weight *child, *w;
    GRB_TRY(grb_weight_rewrite(c, q->as.wrap.query, &child, err));
    *out = child;
    if (weight_matches_nothing(child)) goto done;
    w = grb_weight_make(c, GRB_WEIGHT_CONSTANT, NULL);
    if (!w) {
        status = grb_error_memory(err, sizeof *w);
        goto done;
    }
    child->own = 1.0f;
    grb_weight_identify(child);
    w->own = q->as.wrap.by;
    w->as.child = child->kind == GRB_WEIGHT_CONSTANT ? child->as.child : child;
    *out = w;
done:
    return status;
}

grebe_status grb_weight_rewrite(grb_search_context *c,
                                const grebe_query *query, grb_weight **out,
                                grebe_error *err) {
    grebe_status status = GREBE_OK;
    switch (query->type) {
    case GRB_QUERY_BOOL:
        GRB_TRY(bool_rewrite(c, query, out, err));
        break;
    case GRB_QUERY_DISMAX:
        GRB_TRY(dismax_rewrite(c, query, out, err));
        break;
    case GRB_QUERY_CONSTANT:
        GRB_TRY(constant_rewrite(c, query, out, err));
        break;
    case GRB_QUERY_BOOST:
        GRB_TRY(grb_weight_rewrite(c, query->as.wrap.query, out, err));
        (*out)->own = query->as.wrap.by * (*out)->own;
        return GREBE_OK;
    default:
        GRB_TRY(grb_weight_leaf(c, query, out, err));
        break;
    }
done:
    return status;
}
