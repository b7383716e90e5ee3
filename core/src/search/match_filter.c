/* search/match_filter.c - filters answered from what is kept with a segment.
 *
 * A filter does not score and knows nothing of the dead, so its documents in
 * an immutable segment stay the same. When one is used a second time it is
 * evaluated whole and kept; from then on a window of it is 64 words.
 *
 * Invariant: the kept set is what the filter's own operator would find. What
 * is not kept (for want of room or memory, or because it is not worth it)
 * is evaluated as ever.
 * Threads: one search; the cache is shared.
 * Owns: nothing; the context holds the sets until the search ends.
 */
#include "search/matcher.h"
#include "search/plan.h"

/* Filters that look at fewer documents than that are as fast without. */
#define WORK_LEAST 1024u

/* A filter of this search. */
struct grb_filter_use {
    grb_filter_use *next;
    const grb_weight *weight;
    bool named;        /* there is a leaf where it is worth keeping */
    grb_docset **sets; /* by leaf, held; NULL: it is used the first time */
    grb_filter_id id;
};

void grb_search_context_end(grb_search_context *c) {
    uint32_t count = grb_snapshot_leaf_count(c->snapshot);
    for (grb_filter_use *use = c->filter_uses; use; use = use->next)
        for (uint32_t i = 0; use->sets && i < count; i++)
            grb_docset_release(use->sets[i]);
    c->filter_uses = NULL;
}

/* ---- whether ---- */

/* About how many documents evaluating it in a leaf looks at. */
static uint64_t filter_work(const grb_weight *w, uint32_t ord,
                            uint32_t max_doc);

static uint64_t list_work(const grb_weight_list *list, uint32_t ord,
                          uint32_t max_doc) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < list->count; i++)
        sum += filter_work(list->items[i], ord, max_doc);
    return sum;
}

static uint64_t filter_work(const grb_weight *w, uint32_t ord,
                            uint32_t max_doc) {
    uint64_t sum = 0;
    switch (w->kind) {
    case GRB_WEIGHT_TERM:
        return w->as.term.leaves[ord].df;
    case GRB_WEIGHT_PHRASE:
        for (uint32_t i = 0; i < w->as.phrase.term_count; i++)
            sum += w->as.phrase.terms[i].leaves[ord].df;
        return sum;
    case GRB_WEIGHT_TERMS:
    case GRB_WEIGHT_COLUMN:
    case GRB_WEIGHT_LENGTH:
        return max_doc;
    case GRB_WEIGHT_BOOL:
        for (int i = 0; i < 4; i++)
            sum += list_work(&w->as.list.lists[i], ord, max_doc);
        return sum;
    case GRB_WEIGHT_DISMAX:
        return list_work(&w->as.dismax.queries, ord, max_doc);
    case GRB_WEIGHT_CONSTANT:
        return filter_work(w->as.child, ord, max_doc);
    default:
        return 0;
    }
}

/* Whether to keep its documents in a leaf. */
static bool leaf_worth(const grb_search_context *c, const grb_weight *w,
                       uint32_t ord, const grb_leaf *leaf) {
    if (leaf->segment->growing) return false;
    return (c->off & GRB_OFF_COSTS) ||
           filter_work(w, ord, leaf->bounds.max_doc) >= WORK_LEAST;
}

/* Gives a use its sets if it was used by searches before. */
static grebe_status sets_find(grb_search_context *c, grb_filter_use *use,
                              grebe_error *err) {
    uint32_t count = grb_snapshot_leaf_count(c->snapshot);
    bool worth = false;
    grb_leaf leaf;
    for (uint32_t i = 0; i < count && !worth; i++) {
        grb_snapshot_leaf(c->snapshot, i, &leaf);
        worth = leaf_worth(c, use->weight, i, &leaf);
    }
    use->named = worth && grb_weight_name(use->weight, c->arena, &use->id);
    if (!use->named || !grb_filter_cache_seen(c->filters, use->id.hash))
        return GREBE_OK;
    use->sets = grb_arena_zero(c->arena, count * sizeof(grb_docset *));
    if (!use->sets) return grb_error_memory(err, count * sizeof(void *));
    for (uint32_t i = 0; i < count; i++) {
        grb_snapshot_leaf(c->snapshot, i, &leaf);
        if (leaf_worth(c, use->weight, i, &leaf))
            use->sets[i] = grb_filter_cache_find(
                c->filters, leaf.segment, leaf.bounds.max_doc, &use->id);
    }
    return GREBE_OK;
}

/* The filter's use, made when it is first asked for; *out NULL: it is never to
 * be kept. One term's postings are about as fast as what could be kept. */
static grebe_status use_find(grb_search_context *c, const grb_weight *w,
                             grb_filter_use **out, grebe_error *err) {
    grb_filter_use *use = c->filter_uses;
    *out = NULL;
    if (!c->filters || (c->off & GRB_OFF_FILTERS) ||
        w->kind == GRB_WEIGHT_TERM)
        return GREBE_OK;
    while (use && use->weight != w) use = use->next;
    if (!use) {
        use = grb_arena_zero(c->arena, sizeof *use);
        if (!use) return grb_error_memory(err, sizeof *use);
        use->weight = w;
        use->next = c->filter_uses;
        c->filter_uses = use;
        grebe_status status = sets_find(c, use, err);
        if (status != GREBE_OK) return status;
    }
    if (use->named) *out = use;
    return GREBE_OK;
}

double grb_filter_ready(grb_search_context *c, const grb_weight *w) {
    uint32_t count = grb_snapshot_leaf_count(c->snapshot);
    uint64_t matches = 0, docs = 0;
    grb_filter_use *use = NULL;
    bool term = w->kind == GRB_WEIGHT_TERM;
    if (!term &&
        (use_find(c, w, &use, NULL) != GREBE_OK || !use || !use->sets))
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        grb_leaf leaf;
        grb_snapshot_leaf(c->snapshot, i, &leaf);
        docs += leaf.bounds.max_doc;
        if (term)
            matches += w->as.term.leaves[i].df;
        else if (use->sets[i])
            matches += use->sets[i]->count;
        else if (filter_work(w, i, leaf.bounds.max_doc) >= WORK_LEAST)
            return -1;
    }
    return docs ? (double)matches / (double)docs : 0;
}

/* ---- making ---- */

static grebe_status set_make(grb_leaf_run *run, const grb_weight *w,
                             uint32_t depth, grb_docset_maker *to,
                             grebe_error *err) {
    uint64_t bits[GRB_WINDOW_WORDS];
    uint32_t max_doc = run->leaf.bounds.max_doc, doc;
    grebe_status status;
    grb_matcher *m;
    GRB_TRY(grb_matcher_make(run, w, depth, &m, err));
    for (uint64_t at = 0; m && at < max_doc;) {
        bool some = false;
        GRB_TRY(grb_matcher_next(m, (uint32_t)at, &doc, err));
        if (doc == GRB_NO_DOC) break;
        uint32_t base = doc & ~(GRB_WINDOW - 1);
        grb_bits_zero(bits);
        GRB_TRY(m->ops->eval(m, base, NULL, bits, NULL, &some, err));
        if (some) grb_docset_add(to, base, bits, grb_bits_count(bits));
        at = (uint64_t)base + GRB_WINDOW;
    }
done:
    return status;
}

/* Evaluates the filter in the whole leaf and keeps it. Without memory for the
 * set there is none. */
static grebe_status set_build(grb_leaf_run *run, const grb_filter_use *use,
                              uint32_t depth, grb_docset **out,
                              grebe_error *err) {
    grb_search_context *c = run->c;
    grb_segment *s = run->leaf.segment;
    grb_docset_maker maker;
    grb_docset_begin(&maker, s->allocator, run->leaf.bounds.max_doc);
    grebe_status status = set_make(run, use->weight, depth, &maker, err);
    grb_docset *set = grb_docset_end(&maker);
    if (status != GREBE_OK) {
        grb_docset_release(set);
        return status;
    }
    if (set) grb_filter_cache_put(c->filters, s, &use->id, set);
    *out = set;
    return GREBE_OK;
}

/* The kept set, held by the context, or NULL; `state` says why. A search
 * whose work is bounded does none for others. */
static grebe_status set_find(grb_leaf_run *run, const grb_weight *w,
                             uint32_t depth, grb_docset **out,
                             const char **state, grebe_error *err) {
    grb_search_context *c = run->c;
    grb_filter_use *use = NULL;
    grebe_status status;
    *out = NULL;
    *state =
        !c->filters || (c->off & GRB_OFF_FILTERS) ? "off" : "not worth it";
    GRB_TRY(use_find(c, w, &use, err));
    if (!use || !leaf_worth(c, w, run->ord, &run->leaf)) goto done;
    *state = "first use";
    if (!use->sets) goto done;
    *state = "hit";
    if (!use->sets[run->ord] && c->budget.work_max == 0) {
        *state = "built";
        GRB_TRY(set_build(run, use, depth, &use->sets[run->ord], err));
    }
    *out = use->sets[run->ord];
    if (!*out) *state = "off";
done:
    return status;
}

/* ---- the operator ---- */

typedef struct set_matcher {
    grb_matcher m;
    const grb_docset *set;
} set_matcher;

static grebe_status set_next(grb_matcher *m, uint32_t min_doc, uint32_t *doc,
                             grebe_error *err) {
    *doc = grb_docset_next(((set_matcher *)m)->set, min_doc);
    return grb_budget_spend(&m->run->c->budget, 1, err);
}

static grebe_status set_eval(grb_matcher *m, uint32_t base,
                             const grb_within *within, uint64_t *bits,
                             float *scores, bool *any, grebe_error *err) {
    const grb_docset *set = ((set_matcher *)m)->set;
    if (base >= set->max_doc || grb_docset_take(set, base, bits) == 0)
        return GREBE_OK;
    if (within) {
        for (uint32_t w = 0; w < GRB_WINDOW_WORDS; w++)
            bits[w] &= within->bits[w];
        if (!grb_bits_any(bits)) return GREBE_OK;
    }
    *any = true;
    if (scores) grb_scores_fill(bits, scores, m->weight->boost);
    return grb_budget_spend(&m->run->c->budget, GRB_WINDOW_WORDS, err);
}

static const grb_matcher_ops set_ops = {set_next, set_eval, NULL, NULL};

const grb_docset *grb_match_filter_set(const grb_matcher *m) {
    return m->ops == &set_ops ? ((const set_matcher *)m)->set : NULL;
}

static grebe_status set_open(grb_leaf_run *run, const grb_weight *w,
                             uint32_t depth, const grb_docset *set,
                             grb_matcher **out, grebe_error *err) {
    set_matcher *m;
    *out = NULL;
    if (set->count == 0) return GREBE_OK;
    m = grb_matcher_alloc(run, w, depth, sizeof *m, &set_ops, set->count);
    if (!m) return grb_error_memory(err, sizeof *m);
    m->set = set;
    *out = &m->m;
    return GREBE_OK;
}

grebe_status grb_match_filter(grb_leaf_run *run, const grb_weight *w,
                              uint32_t depth, grb_matcher **out,
                              grebe_error *err) {
    grebe_status status;
    grb_docset *set = NULL;
    const char *state;
    GRB_TRY(set_find(run, w, depth, &set, &state, err));
    if (set)
        GRB_TRY(set_open(run, w, depth, set, out, err));
    else
        GRB_TRY(grb_matcher_make(run, w, depth, out, err));
    grb_plan_filter(run->c, w, state, *out ? (*out)->cost : 0);
done:
    return status;
}
