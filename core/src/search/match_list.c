/* search/match_list.c - conjunctions of terms without windows.
 *
 * Where the rarest required term is rare, windows cost more than its
 * documents. Its blocks are taken one by one as lists instead: each further
 * clause is looked up for what is left of the list, frequencies are decoded
 * for blocks that have a match alone, and scores are calculated at the end,
 * for the survivors. A phrase takes its candidates from here.
 *
 * Invariant: sums are made as match_bool.c makes them: floats added up in
 * double and rounded once, `must` and `should` apart.
 * Threads: one search.
 * Owns: nothing.
 */
#include "search/match_list.h"

#define LIST_PART 32u

/* ---- whether ---- */

bool grb_list_terms_only(grb_matcher *const *items, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (!grb_match_term_is(items[i])) return false;
    return true;
}

bool grb_bool_lists_can(const grb_matcher *m) {
    const bool_matcher *b = (const bool_matcher *)m;
    uint32_t total = b->required_count + b->should_count + b->excluded_count;
    return b->required_count > 0 && b->should_min == 0 &&
           total <= GRB_LIST_TERMS_MAX &&
           grb_list_terms_only(b->required, b->required_count) &&
           grb_list_terms_only(b->should, b->should_count) &&
           grb_list_terms_only(b->excluded, b->excluded_count) &&
           b->required[0]->cost * GRB_LIST_SPARSE <=
               m->run->leaf.bounds.max_doc;
}

/* ---- looking up ---- */

/* Where looking up in a bitmap stands. */
typedef struct seek {
    uint32_t at;   /* word */
    uint32_t rank; /* postings in the words before */
} seek;

static inline bool block_has(const grb_block *b, seek *s, uint32_t doc,
                             uint32_t *place) {
    if (doc < b->first) return false;
    *place = doc - b->first;
    if (b->kind == GRB_BLOCK_RUN) return true;
    uint32_t word = *place >> 6;
    uint64_t bits = b->words[word], bit = (uint64_t)1 << (*place & 63);
    for (; s->at < word; s->at++) s->rank += grb_popcount64(b->words[s->at]);
    *place = s->rank + grb_popcount64(bits & (bit - 1));
    return bits & bit;
}

grebe_status grb_list_freqs(term_matcher *t, grebe_error *err) {
    if (t->freqs || t->flat) return GREBE_OK;
    return t->postings->ops->freqs(t->postings, &t->freqs, err);
}

/* Which documents of the list, from `i` to `to` - 1, stand in the block, and
 * where in it. */
static uint32_t block_meet(const list_run *l, const grb_block *b, uint32_t i,
                           uint32_t to, uint32_t *found, uint32_t *places) {
    seek s = {0, 0};
    uint32_t n = 0;
    if (b->kind == GRB_BLOCK_DOCS)
        return grb_search_kernels_best.meet(b->docs, l->docs, i, to, found,
                                            places);
    for (; i < to; i++) {
        found[n] = i;
        n += block_has(b, &s, l->docs[i], &places[n]);
    }
    return n;
}

/* Looks a clause up for all documents of the list: writes those found (their
 * indexes in the list) and their frequencies. */
static grebe_status clause_find(list_run *l, const list_clause *c,
                                uint32_t *found, uint32_t *count,
                                grebe_error *err) {
    grebe_status status = GREBE_OK;
    term_matcher *t = c->term;
    const grb_block *b = &t->postings->block;
    uint32_t n = 0;
    for (uint32_t i = 0, to; i < l->count; i = to) {
        GRB_TRY(grb_term_reach(t, l->docs[i], err));
        if (b->kind == GRB_BLOCK_END) break;
        for (to = i + 1; to < l->count && l->docs[to] <= b->last;) to++;
        uint32_t some = block_meet(l, b, i, to, found + n, l->some_places);
        if (c->freqs && some) GRB_TRY(grb_list_freqs(t, err));
        for (uint32_t k = 0; c->freqs && k < some; k++)
            c->freqs[l->places[found[n + k]]] =
                t->flat ? 1 : t->freqs[l->some_places[k]];
        n += some;
    }
    *count = n;
done:
    return status;
}

static grebe_status clause_require(list_run *l, const list_clause *c,
                                   grebe_error *err) {
    uint32_t n = 0;
    grebe_status status = clause_find(l, c, l->some_at, &n, err);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = l->some_at[k];
        l->docs[k] = l->docs[i];
        l->places[k] = l->places[i];
    }
    l->count = n;
    return status;
}

static grebe_status clause_exclude(list_run *l, const list_clause *c,
                                   grebe_error *err) {
    uint32_t n = 0, found = 0, next = 0;
    grebe_status status = clause_find(l, c, l->some_at, &found, err);
    for (uint32_t i = 0; i < l->count; i++) {
        if (next < found && l->some_at[next] == i) {
            next++;
            continue;
        }
        l->docs[n] = l->docs[i];
        l->places[n++] = l->places[i];
    }
    l->count = n;
    return status;
}

static void dead_drop(list_run *l) {
    const grb_leaf *leaf = &l->run->leaf;
    uint64_t epoch = l->run->c->snapshot->epoch;
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        if (grb_view_dead(leaf->view, l->docs[i], epoch)) continue;
        l->docs[n] = l->docs[i];
        l->places[n++] = l->places[i];
    }
    l->count = n;
}

/* ---- scoring ---- */

/* Adds a clause's scores of the documents that it matches. */
static grebe_status clause_score(list_run *l, const list_clause *c,
                                 double *sums, bool *also, grebe_error *err) {
    grebe_status status = GREBE_OK;
    term_matcher *t = c->term;
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        uint32_t freq = c->freqs[l->places[i]];
        l->some_docs[n] = l->docs[i];
        l->some_freqs[n] = freq;
        l->some_at[n] = i;
        n += freq != 0;
    }
    if (n == 0) goto done;
    if (t->flat) {
        for (uint32_t k = 0; k < n; k++) l->x[k] = t->flat_score;
    } else {
        GRB_TRY(grb_term_weigh(t, l->some_docs, l->some_freqs, n, l->x, err));
        grb_search_kernels_best.score(l->x, n, t->weight);
    }
    for (uint32_t k = 0; k < n; k++) sums[l->some_at[k]] += (double)l->x[k];
    for (uint32_t k = 0; also && k < n; k++) also[l->some_at[k]] = true;
done:
    return status;
}

/* Frequencies of the block that the list came from, by place. */
static grebe_status lead_freqs(list_run *l, grebe_error *err) {
    const list_clause *c = &l->required[0];
    term_matcher *t = c->term;
    grebe_status status = GREBE_OK;
    if (!c->freqs) return GREBE_OK;
    GRB_TRY(grb_list_freqs(t, err));
    for (uint32_t i = 0; i < l->count; i++)
        c->freqs[l->places[i]] = t->flat ? 1 : t->freqs[l->places[i]];
done:
    return status;
}

static grebe_status optional_score(list_run *l, const list_clause *c,
                                   bool *also, grebe_error *err) {
    grebe_status status;
    uint32_t n;
    for (uint32_t i = 0; i < l->count; i++) c->freqs[l->places[i]] = 0;
    GRB_TRY(clause_find(l, c, l->some_at, &n, err));
    status = clause_score(l, c, l->should_sum, also, err);
done:
    return status;
}

static void sums_drop(list_run *l, double cut) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        double sum = l->should_sum[i];
        l->docs[n] = l->docs[i];
        l->places[n] = l->places[i];
        l->should_sum[n] = sum;
        n += sum > cut;
    }
    l->count = n;
}

/* A disjunction: one sum, rounded once. A clause is looked up for what it and
 * those behind it can still lift above the floor. */
static grebe_status any_score(list_run *l, grebe_error *err) {
    grebe_status status;
    double rest = l->required[0].rest;
    memset(l->should_sum, 0, l->count * sizeof *l->should_sum);
    GRB_TRY(clause_score(l, &l->required[0], l->should_sum, NULL, err));
    for (uint32_t k = 0; k < l->should_count; k++) {
        sums_drop(l, grb_list_cut(l) - rest);
        if (l->count == 0) goto done;
        GRB_TRY(optional_score(l, &l->should[k], NULL, err));
        rest = l->should[k].rest;
    }
    for (uint32_t i = 0; i < l->count; i++) l->x[i] = (float)l->should_sum[i];
done:
    return status;
}

static grebe_status all_score(list_run *l, grebe_error *err) {
    grebe_status status = GREBE_OK;
    memset(l->must, 0, l->count * sizeof *l->must);
    memset(l->should_sum, 0, l->count * sizeof *l->should_sum);
    memset(l->also, 0, l->count * sizeof *l->also);
    for (uint32_t k = 0; k < l->required_count; k++)
        if (l->required[k].freqs)
            GRB_TRY(clause_score(l, &l->required[k], l->must, NULL, err));
    for (uint32_t k = 0; k < l->should_count; k++)
        GRB_TRY(optional_score(l, &l->should[k], l->also, err));
    for (uint32_t i = 0; i < l->count; i++) {
        float score = l->must_adds ? (float)l->must[i] : 0.0f;
        if (l->also[i]) score = score + (float)l->should_sum[i];
        l->x[i] = score;
    }
done:
    return status;
}

static grebe_status list_score(list_run *l, grebe_error *err) {
    grebe_status status = lead_freqs(l, err);
    if (status) return status;
    return l->any ? any_score(l, err) : all_score(l, err);
}

/* ---- the run ---- */

grebe_status grb_list_clauses(list_run *l, grb_matcher *const *items,
                              uint32_t count, const bool *adds,
                              list_clause **out, grebe_error *err) {
    grb_arena *arena = l->run->c->arena;
    list_clause *clauses =
        grb_arena_zero(arena, (count + 1) * sizeof *clauses);
    if (!clauses) return grb_error_memory(err, count * sizeof *clauses);
    for (uint32_t i = 0; i < count; i++) {
        clauses[i].term = (term_matcher *)items[i];
        if (!l->scored || !adds || !adds[i]) continue;
        clauses[i].freqs =
            grb_arena_alloc(arena, GRB_BLOCK * sizeof(uint32_t));
        if (!clauses[i].freqs) return grb_error_memory(err, GRB_BLOCK * 4);
    }
    *out = clauses;
    return GREBE_OK;
}

static grebe_status run_make(list_run *l, const bool_matcher *b,
                             grebe_error *err) {
    static const bool all[GRB_LIST_TERMS_MAX] = {
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    grebe_status status;
    l->required_count = b->required_count;
    l->should_count = l->scored && b->should_adds ? b->should_count : 0;
    l->excluded_count = b->excluded_count;
    l->must_adds = b->must_adds;
    GRB_TRY(grb_list_clauses(l, b->required, b->required_count, b->adds,
                             &l->required, err));
    GRB_TRY(
        grb_list_clauses(l, b->should, l->should_count, all, &l->should, err));
    status = grb_list_clauses(l, b->excluded, b->excluded_count, NULL,
                              &l->excluded, err);
done:
    return status;
}

/* What clauses can add to a score, from the last to the second. */
static void rests_set(list_run *l) {
    double sum = 0;
    for (uint32_t i = l->should_count; i-- > 0;) {
        l->should[i].rest = sum;
        sum += (double)l->should[i].term->weight;
    }
    for (uint32_t i = l->required_count; i-- > 0;) {
        l->required[i].rest = sum;
        if (l->required[i].freqs) sum += (double)l->required[i].term->weight;
    }
}

static inline bool list_floored(const list_run *l) {
    return l->scored && l->visitor->prune && l->visitor->floor >= 0;
}

/* Of the documents in the list those that all clauses let pass. */
static grebe_status list_pass(list_run *l, grebe_error *err) {
    grebe_status status = GREBE_OK;
    if (list_floored(l)) GRB_TRY(grb_list_above(l, err));
    for (uint32_t k = 1; l->count && k < l->required_count; k++)
        GRB_TRY(clause_require(l, &l->required[k], err));
    for (uint32_t k = 0; l->count && k < l->excluded_count; k++)
        GRB_TRY(clause_exclude(l, &l->excluded[k], err));
    if (l->dead) dead_drop(l);
    if (l->count == 0) goto done;
    if (l->scored) GRB_TRY(list_score(l, err));
    if (l->count == 0) goto done;
    grb_match_list list = {l->docs, l->scored ? l->x : NULL, l->count};
    status = l->visitor->list(l->visitor->context, &list, err);
done:
    return status;
}

/* The first one goes in parts until there is a floor, so
 * that a short page costs no look-ups for a whole block. */
grebe_status grb_list_block_run(list_run *l, bool first, grebe_error *err) {
    const grb_block *b = &l->required[0].term->postings->block;
    bool parts = first && l->scored && l->visitor->prune;
    grebe_status status = GREBE_OK;
    uint32_t spread[GRB_BLOCK + 1], count = b->count;
    const uint32_t *docs = b->docs;
    if (b->kind != GRB_BLOCK_DOCS) {
        count = grb_block_spread(b, spread);
        docs = spread;
    }
    count = grb_docs_lower(docs, 0, count, l->end);
    uint32_t from = grb_docs_lower(docs, 0, count, l->from);
    for (uint32_t to; from < count && !l->visitor->stop; from = to) {
        to = count;
        if (parts && !list_floored(l)) to = GRB_MIN(count, from + LIST_PART);
        l->count = to - from;
        for (uint32_t i = from; i < to; i++) {
            l->docs[i - from] = docs[i];
            l->places[i - from] = i;
        }
        GRB_TRY(list_pass(l, err));
    }
done:
    return status;
}

grebe_status grb_bool_lists(grb_matcher *m, bool scored, grb_visitor *visitor,
                            grebe_error *err) {
    const grb_view *view = m->run->leaf.view;
    uint64_t at = 0, max_doc = m->run->leaf.bounds.max_doc;
    list_run *l = grb_arena_alloc(m->run->c->arena, sizeof *l);
    grebe_status status;
    if (!l) return grb_error_memory(err, sizeof *l);
    l->visitor = visitor;
    l->run = m->run;
    l->scored = scored;
    l->any = false;
    l->from = 0;
    l->end = GRB_NO_DOC;
    l->dead = view && !grb_view_clean(view, m->run->c->snapshot->epoch);
    GRB_TRY(run_make(l, (bool_matcher *)m, err));
    term_matcher *lead = l->required[0].term;
    rests_set(l);
    while (at < max_doc && !visitor->stop) {
        uint32_t doc = (uint32_t)at;
        if (list_floored(l)) {
            uint32_t last;
            bool may;
            GRB_TRY(grb_list_block(l, doc, &last, &may, err));
            at = (uint64_t)last + 1;
            if (!may) continue;
        }
        GRB_TRY(grb_term_reach(lead, doc, err));
        if (lead->postings->block.kind == GRB_BLOCK_END) break;
        at = (uint64_t)lead->postings->block.last + 1;
        GRB_TRY(grb_list_block_run(l, doc == 0, err));
    }
done:
    return status;
}

/* ---- which ---- */

bool grb_match_lists_can(const grb_matcher *m) {
    return grb_match_bool_is(m)     ? grb_bool_lists_can(m)
           : grb_match_phrase_is(m) ? grb_match_phrase_lists_can(m)
                                    : false;
}

grebe_status grb_match_lists(grb_matcher *m, bool scored, grb_visitor *visitor,
                             grebe_error *err) {
    return grb_match_bool_is(m)
               ? grb_bool_lists(m, scored, visitor, err)
               : grb_match_phrase_lists(m, scored, visitor, err);
}
