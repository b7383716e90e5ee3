/* search/run.c - a query under filters over all leaves of a snapshot.
 *
 * A leaf's matchers are asked in the order of how many documents they match,
 * each only for what the ones before left; what is then alive is handed to the
 * visitor, a window at a time, in insertion order.
 *
 * Invariant: a visitor sees no empty window and no dead document.
 * Threads: one search.
 * Owns: nothing.
 */
#include "search/match_bool.h"
#include "search/plan.h"

/* A query with kept filters is looked at document by document if at most one
 * in so many of the leaf's matches it. */
#define SIEVE_SPARSE 64u

#define PLAN_NONE "nothing in this segment matches"

/* The matchers of one leaf, rarest first. */
typedef struct crew {
    grb_matcher **items;
    uint32_t count;
    uint32_t main; /* place of the one that scores; count: none */
} crew;

static grebe_status crew_make(grb_search_context *c, crew *k,
                              size_t filter_count, grebe_error *err) {
    size_t size = (filter_count + 1) * sizeof *k->items;
    k->items = grb_arena_alloc(c->arena, size);
    return k->items ? GREBE_OK : grb_error_memory(err, size);
}

static void crew_add(crew *k, grb_matcher *m, bool is_main) {
    uint32_t at = k->count++;
    for (; at && grb_matcher_rank(k->items[at - 1]) > grb_matcher_rank(m);
         at--) {
        k->items[at] = k->items[at - 1];
        if (k->main == at - 1) k->main = at;
    }
    k->items[at] = m;
    if (is_main) k->main = at;
}

/* Opens main and filters; `none`: no document of the leaf can match. */
static grebe_status crew_open(crew *k, grb_leaf_run *run,
                              const grb_weight *main,
                              const grb_weight *const *filters,
                              size_t filter_count, bool *none,
                              grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_matcher *m;
    k->count = 0;
    k->main = UINT32_MAX;
    *none = true;
    if (main) {
        GRB_TRY(grb_matcher_make(run, main, 0, &m, err));
        if (!m) goto done;
        crew_add(k, m, true);
    }
    for (size_t i = 0; i < filter_count; i++) {
        GRB_TRY(grb_match_filter(run, filters[i], 0, &m, err));
        if (!m) goto done;
        crew_add(k, m, false);
    }
    *none = false;
done:
    return status;
}

/* The first window >= *base in which all may match; false: none. */
static grebe_status crew_next(const crew *k, const grb_leaf_run *run,
                              uint32_t *base, bool *found, grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint32_t at = *base, i = 0;
    *found = false;
    while (i < k->count) {
        uint32_t doc;
        GRB_TRY(grb_matcher_next(k->items[i], at, &doc, err));
        if (doc == GRB_NO_DOC) goto done;
        i = i > 0 && doc / GRB_WINDOW != at / GRB_WINDOW ? 0 : i + 1;
        at = doc;
    }
    *base = at & ~(GRB_WINDOW - 1);
    *found = at < run->leaf.bounds.max_doc;
done:
    return status;
}

#define LIVE_SINGLY 8u /* matches that are asked for one by one */

/* Takes the dead out of `bits` and counts the rest: a few matches are looked
 * up one by one, for more the window's living are made. */
static uint32_t living_keep(const grb_leaf_run *run, uint32_t base,
                            uint64_t *bits) {
    uint64_t live[GRB_WINDOW_WORDS];
    const grb_leaf *leaf = &run->leaf;
    uint64_t epoch = run->c->snapshot->epoch;
    uint32_t size = grb_window_size(run, base);
    uint32_t count = grb_bits_count_to(bits, size);
    if (count > LIVE_SINGLY) {
        if (!grb_leaf_window(leaf, epoch, base, live)) return count;
        for (uint32_t w = 0; w < GRB_WINDOW_WORDS; w++) bits[w] &= live[w];
        return grb_bits_count_to(bits, size);
    }
    for (uint32_t w = 0, left = count; leaf->view && left; w++)
        for (uint64_t rest = bits[w]; rest; rest &= rest - 1, left--) {
            uint32_t at = w * 64 + (uint32_t)grb_ctz64(rest);
            if (!grb_view_dead(leaf->view, base + at, epoch)) continue;
            grb_bit_clear(bits, at);
            count--;
        }
    return count;
}

/* Matches of one window that are alive, into `bits` (not cleared before). */
static grebe_status window_run(const crew *k, const grb_leaf_run *run,
                               uint32_t base, uint64_t *bits, float *scores,
                               uint32_t *count, grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint64_t next[GRB_WINDOW_WORDS];
    grb_within left = {bits, 0};
    *count = 0;
    grb_bits_zero(bits);
    if (k->count == 0) {
        grb_bits_fill(bits, 0, grb_window_size(run, base));
        if (scores) grb_scores_fill(bits, scores, 1.0f);
        GRB_TRY(grb_budget_spend(&run->c->budget, GRB_WINDOW_WORDS, err));
    }
    for (uint32_t i = 0; i < k->count; i++) {
        grb_matcher *m = k->items[i];
        float *to = i == k->main ? scores : NULL;
        uint64_t *out = i == 0 ? bits : next;
        bool some = false;
        if (i) {
            left.count = grb_bits_count(bits);
            grb_bits_zero(next);
        }
        GRB_TRY(m->ops->eval(m, base, i ? &left : NULL, out, to, &some, err));
        if (!some) goto done;
        if (i)
            for (uint32_t w = 0; w < GRB_WINDOW_WORDS; w++) bits[w] &= next[w];
    }
    if (k->count && k->main == UINT32_MAX && scores)
        grb_scores_fill(bits, scores, 1.0f);
    *count = living_keep(run, base, bits);
done:
    return status;
}

/* Sets the floor of what scores, and passes over windows in which nothing is
 * above it; `sure`: the window at *at need not be looked for any more. */
static grebe_status floor_pass(const crew *k, const grb_visitor *visitor,
                               uint64_t *at, bool *sure, grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint32_t last;
    float bound;
    *sure = false;
    if (!visitor->prune || visitor->floor < 0 || k->main == UINT32_MAX)
        return GREBE_OK;
    grb_matcher *m = k->items[k->main];
    m->floor = visitor->floor;
    while (*at < m->run->leaf.bounds.max_doc) {
        GRB_TRY(grb_matcher_bound(m, (uint32_t)*at, &last, &bound, err));
        *sure = k->count == 1 && m->ops->bound;
        if (bound > visitor->floor) break;
        *at = ((uint64_t)last + 1) & ~(uint64_t)(GRB_WINDOW - 1);
    }
done:
    return status;
}

/* Passes over windows that the visitor does not want. */
static grebe_status skips_pass(const grb_leaf_run *run,
                               const grb_visitor *visitor, uint64_t *at,
                               grebe_error *err) {
    grebe_status status = GREBE_OK;
    bool skips = visitor->skips != NULL;
    while (skips && *at < run->leaf.bounds.max_doc) {
        GRB_TRY(grb_budget_spend(&run->c->budget, 1, err));
        GRB_TRY(visitor->skips(visitor->context, (uint32_t)*at, &skips, err));
        if (skips) *at += GRB_WINDOW;
    }
done:
    return status;
}

/* Passes over windows that lists answer. */
static grebe_status lists_pass(const crew *k, const grb_leaf_run *run,
                               grb_visitor *visitor, uint64_t *at,
                               bool *passed, grebe_error *err) {
    uint64_t from = *at;
    grebe_status status = GREBE_OK;
    if (k->count == 1 && k->main == 0 && visitor->list && !visitor->skips &&
        !(run->c->off & GRB_OFF_LISTS) && grb_match_bool_is(k->items[0]))
        status = grb_bool_any_lists(k->items[0], visitor, at, err);
    *passed = *at > from;
    return status;
}

static grebe_status leaf_windows(const crew *k, const grb_leaf_run *run,
                                 bool scored, grb_visitor *visitor,
                                 grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint64_t bits[GRB_WINDOW_WORDS];
    float scores[GRB_WINDOW];
    uint32_t max_doc = run->leaf.bounds.max_doc;
    grb_match_window out = {.leaf_ord = run->ord,
                            .leaf = &run->leaf,
                            .bits = bits,
                            .scores = scored ? scores : NULL};
    for (uint64_t at = 0; at < max_doc && !visitor->stop;) {
        uint32_t base;
        bool found = true, sure, passed;
        GRB_TRY(skips_pass(run, visitor, &at, err));
        GRB_TRY(floor_pass(k, visitor, &at, &sure, err));
        if (at >= max_doc) break;
        GRB_TRY(lists_pass(k, run, visitor, &at, &passed, err));
        if (passed) continue;
        base = (uint32_t)at;
        if (!sure) GRB_TRY(crew_next(k, run, &base, &found, err));
        if (!found) break;
        if ((visitor->prune || visitor->skips) && base > at) {
            at = base;
            continue;
        }
        run->c->windows++;
        GRB_TRY(window_run(k, run, base, bits, scored ? scores : NULL,
                           &out.count, err));
        out.base = base;
        if (out.count) GRB_TRY(visitor->window(visitor->context, &out, err));
        at = (uint64_t)base + GRB_WINDOW;
    }
done:
    return status;
}

static bool leaf_counted(const grb_search_context *c, const grb_leaf *leaf) {
    return !leaf->view || grb_view_clean(leaf->view, c->snapshot->epoch);
}

/* Dead documents are looked up one by one in lists. */
#define LIST_DEAD_MAX 1024u

/* ---- lists that pass kept filters ---- */

/* A visitor in front of another: hands on what all filters have, and counts
 * for a plan. */
typedef struct front {
    grb_visitor visitor;
    grb_visitor *to;
    grb_search_context *context;
    const crew *crew; /* whose filters lists have to pass; NULL: none */
} front;

static void front_follow(front *f) {
    f->visitor.stop = f->to->stop;
    f->visitor.prune = f->to->prune;
    f->visitor.floor = f->to->floor;
}

static grebe_status front_window(void *context, const grb_match_window *w,
                                 grebe_error *err) {
    front *f = context;
    grb_plan_matched(f->context, w->count, w->scores != NULL);
    grebe_status status = f->to->window(f->to->context, w, err);
    front_follow(f);
    return status;
}

static grebe_status front_skips(void *context, uint32_t base, bool *skips,
                                grebe_error *err) {
    front *f = context;
    return f->to->skips(f->to->context, base, skips, err);
}

static bool crew_has(const crew *k, uint32_t doc) {
    for (uint32_t i = 0; i < k->count; i++)
        if (i != k->main &&
            !grb_docset_has(grb_match_filter_set(k->items[i]), doc))
            return false;
    return true;
}

static grebe_status front_list(void *context, const grb_match_list *l,
                               grebe_error *err) {
    front *f = context;
    uint32_t docs[GRB_BLOCK], n = 0;
    float scores[GRB_BLOCK];
    grb_match_list out = *l;
    if (f->crew) {
        for (uint32_t i = 0; i < l->count; i++) {
            if (!crew_has(f->crew, l->docs[i])) continue;
            if (l->scores) scores[n] = l->scores[i];
            docs[n++] = l->docs[i];
        }
        out = (grb_match_list){docs, l->scores ? scores : NULL, n};
    }
    if (out.count == 0) return GREBE_OK;
    grb_plan_matched(f->context, out.count, out.scores != NULL);
    grebe_status status = f->to->list(f->to->context, &out, err);
    front_follow(f);
    return status;
}

/* Whether the one that scores is rare and all others are kept filters. */
static bool crew_sieves(const crew *k, const grb_leaf_run *run) {
    if (k->main >= k->count || k->count == 1) return false;
    for (uint32_t i = 0; i < k->count; i++)
        if (i != k->main && !grb_match_filter_set(k->items[i])) return false;
    return k->items[k->main]->cost * SIEVE_SPARSE <= run->leaf.bounds.max_doc;
}

static bool leaf_lists(const crew *k, const grb_leaf_run *run, bool scored,
                       const grb_visitor *visitor) {
    if (!visitor->list || (run->c->off & GRB_OFF_LISTS)) return false;
    if ((k->count != 1 || k->main != 0) && !crew_sieves(k, run)) return false;
    const grb_matcher *m = k->items[k->main];
    if (!grb_match_term_is(m)) return grb_match_lists_can(m);
    return scored && (visitor->prune || leaf_counted(run->c, &run->leaf) ||
                      m->cost <= LIST_DEAD_MAX);
}

/* ---- what was chosen ---- */

static const char *windows_method(const crew *k, bool scored,
                                  const grb_visitor *visitor) {
    if (!scored) return "bitmaps";
    if (!visitor->prune || k->main == UINT32_MAX) return "exhaustive";
    const grb_matcher *m = k->items[k->main];
    if (grb_match_term_is(m)) return "block-max term";
    if (!grb_match_bool_is(m)) return "bounds";
    return ((const bool_matcher *)m)->required_count ? "block-max and"
                                                     : "maxscore";
}

static void plan_lists(const crew *k, grb_search_context *c, uint32_t max_doc,
                       const grb_visitor *visitor) {
    const grb_matcher *m = k->items[k->main];
    unsigned long long cost = m->cost;
    if (k->count > 1)
        grb_plan_method(c, "list through filters",
                        "the query matches %llu of %u documents, at most 1 in "
                        "%u, and all filters are kept",
                        cost, max_doc, SIEVE_SPARSE);
    else if (!grb_match_term_is(m))
        grb_plan_method(c, "list",
                        "the rarest clause matches %llu of %u documents, at "
                        "most 1 in 12",
                        cost, max_doc);
    else
        grb_plan_method(c, visitor->prune ? "block-max term" : "term list",
                        "one term with %llu of %u documents: its blocks go to "
                        "the page as they are",
                        cost, max_doc);
}

/* Writes down what leaf_run is about to do. */
static void plan_leaf(const crew *k, const grb_leaf_run *run, bool scored,
                      const grb_visitor *visitor, bool lists) {
    grb_search_context *c = run->c;
    uint32_t max_doc = run->leaf.bounds.max_doc;
    for (uint32_t i = k->count; i-- > 0;)
        grb_plan_front(c, k->items[i]->weight,
                       i == k->main ? "query" : "filter", k->items[i]->cost);
    if (lists)
        plan_lists(k, c, max_doc, visitor);
    else if (k->count == 0)
        grb_plan_method(c, "exhaustive", "every document matches");
    else
        grb_plan_method(
            c, windows_method(k, scored, visitor),
            "by windows: about %llu of %u documents match what is asked first",
            (unsigned long long)k->items[0]->cost, max_doc);
}

static grebe_status leaf_run(const crew *k, const grb_leaf_run *run,
                             bool scored, grb_visitor *visitor,
                             grebe_error *err) {
    bool lists = leaf_lists(k, run, scored, visitor);
    bool sieves = lists && k->count > 1;
    front f = {{.context = &f,
                .window = front_window,
                .list = front_list,
                .skips = visitor->skips ? front_skips : NULL},
               visitor,
               run->c,
               sieves ? k : NULL};
    if (run->c->plan) plan_leaf(k, run, scored, visitor, lists);
    if (run->c->plan || sieves) {
        front_follow(&f);
        visitor = &f.visitor;
    }
    if (!lists) return leaf_windows(k, run, scored, visitor, err);
    grb_matcher *m = k->items[k->main];
    if (grb_match_term_is(m)) return grb_match_term_lists(m, visitor, err);
    return grb_match_lists(m, scored, visitor, err);
}

grebe_status grb_search_run(grb_search_context *c, const grb_weight *main,
                            const grb_weight *const *filters,
                            size_t filter_count, bool scored,
                            grb_visitor *visitor, grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint32_t count = grb_snapshot_leaf_count(c->snapshot);
    crew k = {NULL, 0, UINT32_MAX};
    GRB_TRY(crew_make(c, &k, filter_count, err));
    for (uint32_t i = 0; i < count; i++) {
        grb_leaf_run *run = NULL;
        bool none;
        if (visitor->stop && !c->plan) break;
        GRB_TRY(grb_leaf_run_make(c, i, &run, err));
        if (run->leaf.bounds.max_doc == 0) continue;
        grb_plan_leaf(c, i, &run->leaf);
        if (visitor->stop) continue;
        GRB_TRY(crew_open(&k, run, main, filters, filter_count, &none, err));
        if (none) grb_plan_method(c, "none", PLAN_NONE);
        if (none) continue;
        if (visitor->leaf)
            GRB_TRY(visitor->leaf(visitor->context, i, &run->leaf, err));
        GRB_TRY(leaf_run(&k, run, scored, visitor, err));
    }
done:
    return status;
}

/* ---- counting ---- */

/* `filters`: those that are kept are no work. */
static uint64_t list_postings(const grb_weight_list *list, bool filters,
                              bool *countable) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const grb_weight *w = list->items[i];
        bool can = true;
        sum += grb_weight_postings(w, &can);
        if (!can)
            *countable &= filters && grb_filter_ready(w->context, w) >= 0;
    }
    return sum;
}

uint64_t grb_weight_postings(const grb_weight *w, bool *countable) {
    uint64_t sum = 0;
    switch (w->kind) {
    case GRB_WEIGHT_TERM:
        return w->as.term.df;
    case GRB_WEIGHT_BOOL:
        for (int i = 0; i < 4; i++)
            sum += list_postings(&w->as.list.lists[i],
                                 i == GREBE_FILTER || i == GREBE_MUST_NOT,
                                 countable);
        return sum;
    case GRB_WEIGHT_DISMAX:
        return list_postings(&w->as.dismax.queries, false, countable);
    case GRB_WEIGHT_CONSTANT:
        return grb_weight_postings(w->as.child, countable);
    case GRB_WEIGHT_NONE:
        return 0;
    default:
        *countable = false;
        return 0;
    }
}

bool grb_weight_constant(const grb_weight *w) {
    switch (w->kind) {
    case GRB_WEIGHT_ALL:
    case GRB_WEIGHT_COLUMN:
    case GRB_WEIGHT_LENGTH:
    case GRB_WEIGHT_CONSTANT:
        return true;
    case GRB_WEIGHT_TERMS:
        return w->stats == NULL;
    default:
        return false;
    }
}

bool grb_weight_is_term(const grb_weight *w) {
    return w->kind == GRB_WEIGHT_TERM;
}

static bool term_counted(const grb_search_context *c, const grb_weight *w) {
    return w && w->kind == GRB_WEIGHT_TERM && !(c->off & GRB_OFF_COUNTS);
}

static bool column_counted(const grb_search_context *c, const grb_weight *w) {
    return w && w->kind == GRB_WEIGHT_COLUMN &&
           !(c->off & (GRB_OFF_COUNTS | GRB_OFF_COLUMNS));
}

/* The part of a query on which alone it depends what matches. */
static const grb_weight *weight_reduce(const grb_weight *w) {
    while (w) {
        if (w->kind == GRB_WEIGHT_CONSTANT) {
            w = w->as.child;
            continue;
        }
        if (w->kind != GRB_WEIGHT_BOOL) break;
        const grb_weight_list *lists = w->as.list.lists;
        const grb_weight_list *must = &lists[GREBE_MUST];
        const grb_weight_list *filter = &lists[GREBE_FILTER];
        if (lists[GREBE_MUST_NOT].count || w->as.list.should_min ||
            must->count + filter->count != 1)
            break;
        w = must->count ? must->items[0] : filter->items[0];
    }
    return w;
}

bool grb_weight_counted(const grb_search_context *c, const grb_weight *w) {
    w = weight_reduce(w);
    if (!term_counted(c, w) && !column_counted(c, w)) return false;
    for (uint32_t i = 0; i < grb_snapshot_leaf_count(c->snapshot); i++)
        if (!leaf_counted(c, &c->snapshot->list->leaves[i])) return false;
    return true;
}

typedef struct counter {
    grb_visitor visitor;
    uint64_t total, most;
} counter;

static grebe_status counter_window(void *context, const grb_match_window *w,
                                   grebe_error *err) {
    counter *n = context;
    n->total += w->count;
    n->visitor.stop = n->total > n->most;
    return GREBE_OK;
}

static grebe_status counter_list(void *context, const grb_match_list *l,
                                 grebe_error *err) {
    counter *n = context;
    n->total += l->count;
    n->visitor.stop = n->total > n->most;
    return GREBE_OK;
}

static grebe_status union_add(counter *n, const crew *k,
                              const grb_leaf_run *run, grebe_error *err) {
    uint64_t most = n->most - n->total, some;
    grb_matcher *m = k->items[0];
    grb_plan_front(run->c, m->weight, "query", m->cost);
    grb_plan_method(run->c, "union bits", "terms of which any may match");
    grebe_status status = grb_match_union_count(m, most, &some, err);
    grb_plan_matched(run->c, some, false);
    n->total += some;
    n->visitor.stop = n->total > n->most;
    return status;
}

/* Adds the number of matches if it is that of one kept filter. */
static bool set_counted(const crew *k, const grb_leaf_run *run,
                        uint64_t *total) {
    const grb_docset *set =
        k->count == 1 ? grb_match_filter_set(k->items[0]) : NULL;
    if (!set || !leaf_counted(run->c, &run->leaf)) return false;
    *total += set->count;
    grb_plan_matched(run->c, set->count, false);
    grb_plan_front(run->c, k->items[0]->weight, "filter", set->count);
    grb_plan_method(run->c, "kept count",
                    "one filter that is kept, and nothing is dead");
    return true;
}

grebe_status grb_search_count(grb_search_context *c, const grb_weight *main,
                              const grb_weight *const *filters,
                              size_t filter_count, uint64_t most,
                              uint64_t *total, grebe_error *err) {
    grebe_status status = GREBE_OK;
    counter n = {.visitor = {.window = counter_window, .list = counter_list},
                 .most = most};
    crew k = {NULL, 0, UINT32_MAX};
    bool counts = !(c->off & GRB_OFF_COUNTS), known, none, seen;
    n.visitor.context = &n;
    if (counts) main = weight_reduce(main);
    known = filter_count == 0 && term_counted(c, main);
    GRB_TRY(crew_make(c, &k, filter_count, err));
    for (uint32_t i = 0; i < grb_snapshot_leaf_count(c->snapshot); i++) {
        grb_leaf_run *run = NULL;
        grb_leaf leaf;
        if (n.visitor.stop) break;
        grb_snapshot_leaf(c->snapshot, i, &leaf);
        if (leaf.bounds.max_doc == 0) continue;
        grb_plan_leaf(c, i, &leaf);
        if (known && leaf_counted(c, &leaf)) {
            n.total += main->as.term.leaves[i].df;
            grb_plan_matched(c, main->as.term.leaves[i].df, false);
            grb_plan_method(c, "df", "one term, and nothing is dead");
            continue;
        }
        GRB_TRY(grb_leaf_run_make(c, i, &run, err));
        if (filter_count == 0 && column_counted(c, main) &&
            leaf_counted(c, &leaf)) {
            uint64_t count;
            GRB_TRY(
                grb_match_column_count(run, main, true, &seen, &count, err));
            n.total += count;
            if (seen) continue;
        }
        GRB_TRY(crew_open(&k, run, main, filters, filter_count, &none, err));
        if (none)
            grb_plan_method(c, "none", PLAN_NONE);
        else if (counts && filter_count == 0 && grb_match_union_is(k.items[0]))
            GRB_TRY(union_add(&n, &k, run, err));
        else if (!set_counted(&k, run, &n.total))
            GRB_TRY(leaf_run(&k, run, false, &n.visitor, err));
    }
done:
    *total = n.total;
    return status;
}
