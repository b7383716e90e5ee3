/* search/match_term.c - one term's postings, a block at a time.
 *
 * A block becomes bits and, if scores are wanted, a list of documents and
 * frequencies that is scored in two straight loops: frequencies times the
 * inverse of the length, then the formula. Frequencies are decoded only for
 * blocks in which something is scored.
 *
 * Invariant: the cursor's block holds the first document that has not been
 * asked for; it never goes back.
 * Threads: one search.
 * Owns: nothing.
 */
#include "search/match_term.h"

/* If a block has at least so many postings for each document of interest,
 * these are searched for; else the block is walked. */
#define PROBE_RATIO 12u
/* So many sums of a word are added faster after all of it were begun. */
#define SUMS_DENSE 4u

/* Where a window's matches go. */
typedef struct term_sink {
    uint32_t base, end;
    const grb_within *within;
    uint64_t *bits;
    float *scores; /* NULL: not wanted, or `sum` */
    grb_sum *sum;
    bool above;  /* only what may be above the matcher's floor */
    float least; /* see grb_term_least */
    bool any;
} term_sink;

static inline bool sink_scores(const term_sink *s) {
    return s->scores || s->sum;
}

grebe_status grb_term_reach(term_matcher *t, uint32_t min_doc,
                            grebe_error *err) {
    grb_block *b = &t->postings->block;
    grb_search_context *c = t->m.run->c;
    grebe_status status;
    if (t->open && (b->kind == GRB_BLOCK_END || b->last >= min_doc))
        return GREBE_OK;
    t->open = true;
    t->freqs = NULL;
    GRB_TRY(t->postings->ops->next_block(t->postings, min_doc, err));
    c->blocks_decoded += b->kind != GRB_BLOCK_END;
    status = grb_budget_spend(&c->budget,
                              b->kind == GRB_BLOCK_END ? 1 : b->count, err);
done:
    return status;
}

/* Frequencies times inverses of up to GRB_BLOCK documents, in order. */
static void docs_weigh(const term_matcher *t, uint32_t base,
                       const uint32_t *docs, const uint32_t *freqs,
                       uint32_t count, float *out) {
    const uint8_t *codes = t->lengths->codes;
    const float *inverse = t->inverse;
    if (codes) {
        for (uint32_t i = 0; i < count; i++)
            out[i] = (float)(int32_t)freqs[i] * inverse[codes[docs[i] - base]];
    } else {
        for (uint32_t i = 0; i < count; i++)
            out[i] = (float)(int32_t)freqs[i] * inverse[1];
    }
}

/* `count` is not 0. */
static void scores_put(const term_sink *s, const uint32_t *docs,
                       const float *values, uint32_t count) {
    uint32_t base = s->base;
    if (s->scores) {
        for (uint32_t i = 0; i < count; i++)
            s->scores[docs[i] - base] = values[i];
        return;
    }
    uint32_t first = (docs[0] - base) >> 6;
    uint32_t last = (docs[count - 1] - base) >> 6;
    if (count < SUMS_DENSE * (last - first + 1)) {
        for (uint32_t i = 0; i < count; i++)
            grb_sum_add(s->sum, docs[i] - base, (double)values[i]);
        return;
    }
    for (uint32_t w = first; w <= last; w++) grb_sum_touch(s->sum, w);
    for (uint32_t i = 0; i < count; i++)
        s->sum->values[docs[i] - base] += (double)values[i];
}

/* Scores a list of at most GRB_BLOCK documents of the window. `freqs` may be
 * NULL if the matcher is flat. */
static grebe_status list_score(term_matcher *t, const term_sink *s,
                               const uint32_t *docs, const uint32_t *freqs,
                               uint32_t count, grebe_error *err) {
    float values[GRB_BLOCK];
    grebe_status status = GREBE_OK;
    if (count == 0) goto done;
    if (t->flat) {
        for (uint32_t i = 0; i < count; i++) values[i] = t->flat_score;
    } else {
        GRB_TRY(grb_lengths_window(t->lengths, t->m.run, s->base, err));
        docs_weigh(t, s->base, docs, freqs, count, values);
        grb_search_kernels_best.score(values, count, t->weight);
    }
    scores_put(s, docs, values, count);
done:
    return status;
}

/* The same with bits, for those alone whose score may be above the floor. */
static grebe_status list_above(term_matcher *t, term_sink *s,
                               const uint32_t *docs, const uint32_t *freqs,
                               uint32_t count, grebe_error *err) {
    uint32_t kept[GRB_BLOCK + 1];
    float values[GRB_BLOCK + 1];
    grebe_status status = GREBE_OK;
    GRB_TRY(grb_lengths_window(t->lengths, t->m.run, s->base, err));
    docs_weigh(t, s->base, docs, freqs, count, values);
    count = grb_search_kernels_best.above(docs, values, count, s->least, kept,
                                          values);
    if (count == 0) goto done;
    s->any = true;
    grb_search_kernels_best.score(values, count, t->weight);
    grb_bits_put(s->bits, s->base, kept, count);
    scores_put(s, kept, values, count);
done:
    return status;
}

static grebe_status freqs_need(term_matcher *t, const term_sink *s,
                               grebe_error *err) {
    if (t->freqs || t->flat || !sink_scores(s)) return GREBE_OK;
    return t->postings->ops->freqs(t->postings, &t->freqs, err);
}

/* Documents of a DOCS block that are within; returns how many, with their
 * places. */
static uint32_t docs_choose(const term_sink *s, const grb_block *b,
                            uint32_t i0, uint32_t i1, uint32_t *docs,
                            uint32_t *places) {
    const uint64_t *within = s->within->bits;
    uint32_t n = 0, span;
    uint64_t share; /* documents of interest here, if evenly spread */
    if (i0 == i1) return 0;
    span = b->docs[i1 - 1] - b->docs[i0] + 1;
    share = (uint64_t)s->within->count * span / GRB_WINDOW + 1;
    if (share * PROBE_RATIO > i1 - i0) {
        for (uint32_t i = i0; i < i1; i++) {
            docs[n] = b->docs[i];
            places[n] = i;
            n += (uint32_t)grb_bit(within, b->docs[i] - s->base);
        }
        return n;
    }
    for (uint32_t i = i0; i < i1;) {
        uint32_t doc = s->base + grb_bits_next(within, b->docs[i] - s->base);
        if (doc >= s->end) break;
        if (doc > b->docs[i1 - 1]) break;
        i = grb_docs_find(b->docs, i, doc);
        if (b->docs[i] == doc) {
            docs[n] = doc;
            places[n++] = i++;
        }
    }
    return n;
}

static grebe_status docs_take(term_matcher *t, term_sink *s, uint32_t from,
                              grebe_error *err) {
    const grb_block *b = &t->postings->block;
    uint32_t i0 =
        b->docs[0] >= from ? 0 : grb_docs_lower(b->docs, 0, b->count, from);
    uint32_t i1 = b->last < s->end
                      ? b->count
                      : grb_docs_lower(b->docs, i0, b->count, s->end);
    const uint32_t *docs = b->docs + i0, *freqs;
    uint32_t chosen[GRB_BLOCK + 1], places[GRB_BLOCK + 1], count = i1 - i0;
    grebe_status status = GREBE_OK;
    if (s->within) {
        count = docs_choose(s, b, i0, i1, chosen, places);
        docs = chosen;
    }
    if (count == 0) goto done;
    if (!s->above) {
        s->any = true;
        grb_bits_put(s->bits, s->base, docs, count);
    }
    if (!sink_scores(s)) goto done;
    GRB_TRY(freqs_need(t, s, err));
    freqs = t->flat ? NULL : t->freqs + i0;
    if (s->within && !t->flat) {
        for (uint32_t i = 0; i < count; i++) places[i] = t->freqs[places[i]];
        freqs = places;
    }
    status = s->above ? list_above(t, s, docs, freqs, count, err)
                      : list_score(t, s, docs, freqs, count, err);
done:
    return status;
}

/* Takes the documents set in `word` (which begins at `first`); the frequency
 * of the k-th set bit of `all` stands at rank + k. */
static grebe_status word_take(term_matcher *t, term_sink *s, uint64_t word,
                              uint64_t all, uint32_t first, uint32_t rank,
                              grebe_error *err) {
    uint32_t docs[64], freqs[64], n = 0;
    for (; word; word &= word - 1) {
        uint64_t below = (word & (~word + 1)) - 1;
        docs[n] = first + (uint32_t)grb_ctz64(word);
        if (!t->flat) freqs[n] = t->freqs[rank + grb_popcount64(all & below)];
        n++;
    }
    return s->above ? list_above(t, s, docs, freqs, n, err)
                    : list_score(t, s, docs, freqs, n, err);
}

static grebe_status bitmap_take(term_matcher *t, term_sink *s,
                                grebe_error *err) {
    const grb_block *b = &t->postings->block;
    uint32_t at = (b->first - s->base) >> 6, rank = 0;
    grebe_status status = GREBE_OK;
    GRB_TRY(freqs_need(t, s, err));
    for (uint32_t i = 0; i < b->word_count; i++, at++) {
        uint64_t all = b->words[i];
        uint64_t word = s->within ? all & s->within->bits[at] : all;
        if (word) {
            if (!s->above) {
                s->any = true;
                s->bits[at] |= word;
            }
            if (sink_scores(s))
                GRB_TRY(
                    word_take(t, s, word, all, s->base + at * 64, rank, err));
        }
        rank += grb_popcount64(all);
    }
done:
    return status;
}

static grebe_status run_take(term_matcher *t, term_sink *s, uint32_t from,
                             grebe_error *err) {
    const grb_block *b = &t->postings->block;
    uint32_t first = GRB_MAX(b->first, from);
    uint32_t end = b->last < s->end ? b->last + 1 : s->end;
    grebe_status status = GREBE_OK;
    GRB_TRY(freqs_need(t, s, err));
    for (uint32_t doc = first; doc < end;) {
        uint32_t at = (doc - s->base) >> 6, low = (doc - s->base) & 63;
        uint32_t stop = GRB_MIN(end, s->base + at * 64 + 64);
        uint64_t all = ~(uint64_t)0 << low;
        uint64_t word;
        if (stop - s->base - at * 64 < 64)
            all &= ((uint64_t)1 << (stop - s->base - at * 64)) - 1;
        word = s->within ? all & s->within->bits[at] : all;
        if (word) {
            if (!s->above) {
                s->any = true;
                s->bits[at] |= word;
            }
            if (sink_scores(s))
                GRB_TRY(word_take(t, s, word, all, s->base + at * 64,
                                  doc - b->first, err));
        }
        doc = stop;
    }
done:
    return status;
}

/* All blocks of the window, skipping to documents of interest. */
static grebe_status window_take(term_matcher *t, term_sink *s,
                                grebe_error *err) {
    const grb_block *b = &t->postings->block;
    grebe_status status = GREBE_OK;
    uint32_t from = s->base;
    if (sink_scores(s) && t->m.floor >= 0) {
        if (t->flat && t->flat_score <= t->m.floor) goto done;
        s->above = !t->flat;
        if (s->above) s->least = grb_term_least(t->weight, t->m.floor);
    }
    for (;;) {
        if (s->within)
            from = s->base + grb_bits_next(s->within->bits, from - s->base);
        if (from >= s->end) break;
        if (t->m.floor >= 0) {
            const grb_term_near *near = grb_term_near_find(t, from);
            if (near && near->bound <= t->m.floor) {
                if (near->last >= s->end) break;
                from = near->last + 1;
                continue;
            }
        }
        GRB_TRY(grb_term_reach(t, from, err));
        if (b->kind == GRB_BLOCK_END || grb_block_first(b) >= s->end) break;
        if (b->kind == GRB_BLOCK_DOCS)
            GRB_TRY(docs_take(t, s, from, err));
        else if (b->kind == GRB_BLOCK_BITMAP)
            GRB_TRY(bitmap_take(t, s, err));
        else
            GRB_TRY(run_take(t, s, from, err));
        if (b->last >= s->end) break;
        from = b->last + 1;
    }
done:
    return status;
}

static grebe_status term_eval(grb_matcher *m, uint32_t base,
                              const grb_within *within, uint64_t *bits,
                              float *scores, bool *any, grebe_error *err) {
    term_sink s = {.base = base,
                   .end = base + GRB_WINDOW,
                   .within = within,
                   .bits = bits,
                   .scores = scores};
    grebe_status status = window_take((term_matcher *)m, &s, err);
    *any |= s.any;
    return status;
}

static grebe_status term_add(grb_matcher *m, uint32_t base,
                             const grb_within *within, uint64_t *bits,
                             grb_sum *sum, bool *any, grebe_error *err) {
    term_sink s = {.base = base,
                   .end = base + GRB_WINDOW,
                   .within = within,
                   .bits = bits,
                   .sum = sum};
    grebe_status status = window_take((term_matcher *)m, &s, err);
    *any |= s.any;
    return status;
}

static grebe_status term_next(grb_matcher *m, uint32_t min_doc, uint32_t *doc,
                              grebe_error *err) {
    term_matcher *t = (term_matcher *)m;
    const grb_block *b = &t->postings->block;
    grebe_status status;
    GRB_TRY(grb_term_reach(t, min_doc, err));
    if (b->kind == GRB_BLOCK_END)
        *doc = GRB_NO_DOC;
    else if (b->kind == GRB_BLOCK_DOCS)
        *doc = b->docs[grb_docs_lower(b->docs, 0, b->count, min_doc)];
    else
        *doc = GRB_MAX(min_doc, b->first);
done:
    return status;
}

static const grb_matcher_ops term_ops = {term_next, term_eval, term_add,
                                         grb_term_bound};

bool grb_match_term_is(const grb_matcher *m) {
    return m->ops == &term_ops;
}

grebe_status grb_match_term(grb_leaf_run *run, const grb_weight *w,
                            uint32_t depth, grb_matcher **out,
                            grebe_error *err) {
    const grb_term *term = &w->as.term.leaves[run->ord];
    grb_segment *s = run->leaf.segment;
    grebe_status status = GREBE_OK;
    term_matcher *t;
    if (term->df == 0) return GREBE_OK;
    t = grb_matcher_alloc(run, w, depth, sizeof *t, &term_ops, term->df);
    if (!t) return grb_error_memory(err, sizeof *t);
    t->flat = w->field->kind != GREBE_TEXT;
    GRB_TRY(s->ops->postings_open(s, &run->leaf.bounds, term,
                                  w->scored && !t->flat ? GRB_POSTINGS_FREQS
                                                        : GRB_POSTINGS_DOCS,
                                  run->c->arena, &t->postings, err));
    if (w->scored) {
        t->weight = w->weight;
        t->inverse = w->stats->inverse;
        t->flat_score = grb_bm25_score(w->weight, 1.0f, t->inverse[1]);
        if (!t->flat)
            GRB_TRY(grb_lengths_make(run->c, w->field->id, &t->lengths, err));
    }
    *out = &t->m;
done:
    return status;
}
