/* search/match_term_list.c - what a term's blocks can score, and its matches
 * without windows.
 *
 * Each block knows pairs of frequency and length by which every document of it
 * is bounded. A block that cannot reach the floor is passed over undecoded.
 * Where a query is one term, the blocks that are left go to the visitor as
 * they are, so that a rare term does not pay for windows.
 *
 * Invariant: a bound is calculated by the formula of scores on operands that
 * are at least as good, step by step; so it is never below a score.
 * Threads: one search.
 * Owns: nothing.
 */
#include "search/match_term.h"

static float impacts_bound(const term_matcher *t, const grb_block *b) {
    float most = 0.0f;
    if (t->flat) return t->flat_score;
    if (b->impact_count == 0) return t->weight;
    for (uint32_t i = 0; i < b->impact_count; i++) {
        const grb_impact *p = &b->impacts[i];
        float x = (float)(int32_t)p->tf * t->inverse[p->length];
        most = GRB_MAX(most, x);
    }
    return grb_term_score(t->weight, most);
}

/* Learns of the block with the first document >= min_doc. */
grebe_status grb_term_look(term_matcher *t, uint32_t min_doc,
                           grb_term_near *out, grebe_error *err) {
    grebe_status status;
    grb_block b;
    GRB_TRY(t->postings->ops->shallow(t->postings, min_doc, &b, err));
    out->last = b.last;
    out->bound = -1.0f;
    if (b.kind == GRB_BLOCK_END)
        out->last = GRB_NO_DOC;
    else
        out->bound = impacts_bound(t, &b);
    status = grb_budget_spend(&t->m.run->c->budget, 1, err);
done:
    return status;
}

/* Forgets blocks before `base`. */
static void near_drop(term_matcher *t, uint32_t base) {
    uint32_t gone = 0, left;
    while (gone < t->near_count && t->near[gone].last < base) gone++;
    left = t->near_count - gone;
    if (gone && left) memmove(t->near, t->near + gone, left * sizeof *t->near);
    if (left == 0 || base > t->near_from) t->near_from = base;
    t->near_count = left;
}

grebe_status grb_term_bound(grb_matcher *m, uint32_t base, uint32_t *last,
                            float *bound, grebe_error *err) {
    term_matcher *t = (term_matcher *)m;
    uint32_t end = base + (GRB_WINDOW - 1), at;
    grebe_status status = GREBE_OK;
    float most = -1.0f;
    near_drop(t, base);
    at = base;
    if (t->near_count) at = t->near[t->near_count - 1].last;
    if (t->near_count && at != GRB_NO_DOC) at++;
    while (at <= end && t->near_count < GRB_TERM_NEAR) {
        grb_term_near *near = &t->near[t->near_count];
        GRB_TRY(grb_term_look(t, at, near, err));
        t->near_count++;
        at = near->last == GRB_NO_DOC ? GRB_NO_DOC : near->last + 1;
    }
    for (uint32_t i = 0; i < t->near_count; i++)
        most = GRB_MAX(most, t->near[i].bound);
    if (at <= end) most = t->flat ? t->flat_score : t->weight;
    *last = t->near_count == 1 ? GRB_MAX(end, t->near[0].last) : end;
    *bound = most;
done:
    return status;
}

/* ---- lists ---- */

/* A block that is not a list as one. */
uint32_t grb_block_spread(const grb_block *b, uint32_t *docs) {
    uint32_t n = 0;
    if (b->kind == GRB_BLOCK_RUN) {
        for (; n < b->count; n++) docs[n] = b->first + n;
        return n;
    }
    for (uint32_t i = 0; i < b->word_count; i++)
        for (uint64_t word = b->words[i]; word; word &= word - 1)
            docs[n++] = b->first + i * 64 + (uint32_t)grb_ctz64(word);
    return n;
}

grebe_status grb_term_weigh(term_matcher *t, const uint32_t *docs,
                            const uint32_t *freqs, uint32_t count, float *x,
                            grebe_error *err) {
    grebe_status status = GREBE_OK;
    const float *inverse = t->inverse;
    for (uint32_t i = 0; i < count;) {
        uint32_t base = docs[i] & ~(GRB_WINDOW - 1), to = count;
        GRB_TRY(grb_lengths_window(t->lengths, t->m.run, base, err));
        const uint8_t *codes = t->lengths->codes;
        if (docs[count - 1] - base >= GRB_WINDOW)
            for (to = i + 1; docs[to] - base < GRB_WINDOW;) to++;
        for (; codes && i < to; i++)
            x[i] = (float)(int32_t)freqs[i] * inverse[codes[docs[i] - base]];
        for (; i < to; i++) x[i] = (float)(int32_t)freqs[i] * inverse[1];
    }
done:
    return status;
}

static uint32_t list_alive(const term_matcher *t, const uint32_t *docs,
                           uint32_t *kept, float *scores, uint32_t count) {
    const grb_leaf *leaf = &t->m.run->leaf;
    uint64_t epoch = t->m.run->c->snapshot->epoch;
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        float score = scores[i];
        if (grb_view_dead(leaf->view, docs[i], epoch)) continue;
        kept[n] = docs[i];
        scores[n++] = score;
    }
    return n;
}

/* Hands the current block to the visitor. */
static grebe_status block_list(term_matcher *t, grb_visitor *visitor,
                               bool dead, grebe_error *err) {
    const grb_block *b = &t->postings->block;
    uint32_t spread[GRB_BLOCK + 1], kept[GRB_BLOCK + 1], count = b->count;
    float scores[GRB_BLOCK + 1];
    const uint32_t *docs = b->docs;
    grebe_status status = GREBE_OK;
    if (b->kind != GRB_BLOCK_DOCS) {
        count = grb_block_spread(b, spread);
        docs = spread;
    }
    if (t->flat) {
        for (uint32_t i = 0; i < count; i++) scores[i] = t->flat_score;
    } else {
        GRB_TRY(t->postings->ops->freqs(t->postings, &t->freqs, err));
        GRB_TRY(grb_term_weigh(t, docs, t->freqs, count, scores, err));
        if (visitor->prune && visitor->floor >= 0) {
            float least = grb_term_least(t->weight, visitor->floor);
            count = grb_search_kernels_best.above(docs, scores, count, least,
                                                  kept, scores);
            docs = kept;
        }
        grb_search_kernels_best.score(scores, count, t->weight);
    }
    if (dead) {
        count = list_alive(t, docs, kept, scores, count);
        docs = kept;
    }
    if (count) {
        grb_match_list list = {docs, scores, count};
        status = visitor->list(visitor->context, &list, err);
    }
done:
    return status;
}

grebe_status grb_match_term_lists(grb_matcher *m, grb_visitor *visitor,
                                  grebe_error *err) {
    term_matcher *t = (term_matcher *)m;
    const grb_view *view = m->run->leaf.view;
    bool dead = view && !grb_view_clean(view, m->run->c->snapshot->epoch);
    uint64_t at = 0, max_doc = m->run->leaf.bounds.max_doc;
    grebe_status status = GREBE_OK;
    while (at < max_doc && !visitor->stop) {
        uint32_t doc = (uint32_t)at;
        if (visitor->prune && visitor->floor >= 0) {
            grb_term_near near;
            GRB_TRY(grb_term_look(t, doc, &near, err));
            at = (uint64_t)near.last + 1;
            if (near.bound <= visitor->floor) continue;
        }
        GRB_TRY(grb_term_reach(t, doc, err));
        if (t->postings->block.kind == GRB_BLOCK_END) break;
        GRB_TRY(block_list(t, visitor, dead, err));
        at = (uint64_t)t->postings->block.last + 1;
    }
done:
    return status;
}
