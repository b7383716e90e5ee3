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
#include "search/matcher.h"

/* A query with kept filters is looked at document by document if at most one
 * in so many of the leaf's matches it. */
#define SIEVE_SPARSE 64u

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
        bool found = true, sure;
        GRB_TRY(skips_pass(run, visitor, &at, err));
        GRB_TRY(floor_pass(k, visitor, &at, &sure, err));
        if (at >= max_doc) break;
        base = (uint32_t)at;
        if (!sure) GRB_TRY(crew_next(k, run, &base, &found, err));
        if (!found) break;
        if ((visitor->prune || visitor->skips) && base > at) {
            at = base;
            continue;
        }
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

/* A visitor in front of another: hands on what all filters have. */
typedef struct sieve {
    grb_visitor visitor;
    grb_visitor *to;
    const crew *crew;
} sieve;

static void sieve_follow(sieve *s) {
    s->visitor.stop = s->to->stop;
    s->visitor.prune = s->to->prune;
    s->visitor.floor = s->to->floor;
}

static bool crew_has(const crew *k, uint32_t doc) {
    for (uint32_t i = 0; i < k->count; i++)
        if (i != k->main &&
            !grb_docset_has(grb_match_filter_set(k->items[i]), doc))
            return false;
    return true;
}

static grebe_status sieve_list(void *context, const grb_match_list *l,
                               grebe_error *err) {
    sieve *s = context;
    uint32_t docs[GRB_BLOCK], n = 0;
    float scores[GRB_BLOCK];
    grebe_status status = GREBE_OK;
    for (uint32_t i = 0; i < l->count; i++) {
        if (!crew_has(s->crew, l->docs[i])) continue;
        if (l->scores) scores[n] = l->scores[i];
        docs[n++] = l->docs[i];
    }
    if (n) {
        grb_match_list out = {docs, l->scores ? scores : NULL, n};
        status = s->to->list(s->to->context, &out, err);
        sieve_follow(s);
    }
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

static grebe_status leaf_run(const crew *k, const grb_leaf_run *run,
                             bool scored, grb_visitor *visitor,
                             grebe_error *err) {
    if (!leaf_lists(k, run, scored, visitor))
        return leaf_windows(k, run, scored, visitor, err);
    grb_matcher *m = k->items[k->main];
    sieve s = {{.context = &s, .list = sieve_list}, visitor, k};
    if (k->count > 1) {
        sieve_follow(&s);
        visitor = &s.visitor;
    }
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
    for (uint32_t i = 0; i < count && !visitor->stop; i++) {
        grb_leaf_run *run = NULL;
        bool none;
        GRB_TRY(grb_leaf_run_make(c, i, &run, err));
        if (run->leaf.bounds.max_doc == 0) continue;
        GRB_TRY(crew_open(&k, run, main, filters, filter_count, &none, err));
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
    if (!term_counted(c, weight_reduce(w))) return false;
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

static grebe_status union_add(counter *n, grb_matcher *m, grebe_error *err) {
    uint64_t most = n->most - n->total, some;
    grebe_status status = grb_match_union_count(m, most, &some, err);
    n->total += some;
    n->visitor.stop = n->total > n->most;
    return status;
}

grebe_status grb_search_count(grb_search_context *c, const grb_weight *main,
                              const grb_weight *const *filters,
                              size_t filter_count, uint64_t most,
                              uint64_t *total, grebe_error *err) {
    grebe_status status = GREBE_OK;
    counter n = {.visitor = {.window = counter_window, .list = counter_list},
                 .most = most};
    crew k = {NULL, 0, UINT32_MAX};
    bool counts = !(c->off & GRB_OFF_COUNTS), known, none;
    n.visitor.context = &n;
    if (counts) main = weight_reduce(main);
    known = filter_count == 0 && term_counted(c, main);
    GRB_TRY(crew_make(c, &k, filter_count, err));
    for (uint32_t i = 0; i < grb_snapshot_leaf_count(c->snapshot); i++) {
        grb_leaf_run *run = NULL;
        grb_leaf leaf;
        if (n.visitor.stop) break;
        grb_snapshot_leaf(c->snapshot, i, &leaf);
        if (known && leaf_counted(c, &leaf)) {
            n.total += main->as.term.leaves[i].df;
            continue;
        }
        if (leaf.bounds.max_doc == 0) continue;
        GRB_TRY(grb_leaf_run_make(c, i, &run, err));
        GRB_TRY(crew_open(&k, run, main, filters, filter_count, &none, err));
        if (none) continue;
        if (counts && filter_count == 0 && grb_match_union_is(k.items[0]))
            GRB_TRY(union_add(&n, k.items[0], err));
        else
            GRB_TRY(leaf_run(&k, run, false, &n.visitor, err));
    }
done:
    *total = n.total;
    return status;
}
