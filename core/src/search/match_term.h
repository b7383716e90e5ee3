/* search/match_term.h - the operator of one term; private to its files. */
#ifndef GRB_SEARCH_MATCH_TERM_H
#define GRB_SEARCH_MATCH_TERM_H

#include <math.h>

#include "search/kernel.h"
#include "search/matcher.h"

/* Blocks whose bounds are known, one behind the other from `near_from` on; a
 * window has no more of them, but where blocks are very small. */
#define GRB_TERM_NEAR 20u
typedef struct grb_term_near {
    uint32_t last; /* document; GRB_NO_DOC behind the last block */
    float bound;   /* of scores; negative: no documents */
} grb_term_near;

typedef struct term_matcher {
    grb_matcher m;
    grb_postings *postings;
    bool open;             /* a block has been asked for */
    bool flat;             /* no lengths or frequencies: one score for all */
    const uint32_t *freqs; /* of the block; NULL: not decoded yet */
    const float *inverse;
    float weight;
    float flat_score;
    grb_lengths *lengths;
    uint32_t near_from, near_count;
    grb_term_near near[GRB_TERM_NEAR];
} term_matcher;

/* match_term.c: makes the block with the first document >= min_doc current. */
grebe_status grb_term_reach(term_matcher *t, uint32_t min_doc,
                            grebe_error *err);
/* match_term_list.c: grb_matcher_ops.bound of a term. */
grebe_status grb_term_bound(grb_matcher *m, uint32_t base, uint32_t *last,
                            float *bound, grebe_error *err);

/* match_term_list.c: the block with the first document >= min_doc, not
 * decoded. */
grebe_status grb_term_look(term_matcher *t, uint32_t min_doc,
                           grb_term_near *out, grebe_error *err);
/* match_term_list.c: a block that is not a list as one; its length. */
uint32_t grb_block_spread(const grb_block *b, uint32_t *docs);
/* match_term_list.c: frequencies times inverses of rising documents; length
 * codes come a window at a time. */
grebe_status grb_term_weigh(term_matcher *t, const uint32_t *docs,
                            const uint32_t *freqs, uint32_t count, float *x,
                            grebe_error *err);

/* The block of `near` that holds the document, NULL if it is not known. */
static inline const grb_term_near *grb_term_near_find(const term_matcher *t,
                                                      uint32_t doc) {
    if (doc < t->near_from) return NULL;
    for (uint32_t i = 0; i < t->near_count; i++)
        if (doc <= t->near[i].last) return &t->near[i];
    return NULL;
}

/* First place of a document >= doc, searched from place `from` on; there is
 * one. Sixteen at once, of which the compiler makes vectors: what lies before
 * `from` is less as well, and what lies behind the last is not. */
static inline uint32_t grb_docs_find(const uint32_t *docs, uint32_t from,
                                     uint32_t doc) {
    const uint32_t *at = docs + (from & ~15u);
    uint32_t less = 0;
    while (at[15] < doc) at += 16;
    for (uint32_t i = 0; i < 16; i++) less += at[i] < doc;
    return (uint32_t)(at - docs) + less;
}

static inline uint32_t grb_block_first(const grb_block *b) {
    return b->kind == GRB_BLOCK_DOCS ? b->docs[0] : b->first;
}

/* First place of a document >= doc, searched by halves. */
static inline uint32_t grb_docs_lower(const uint32_t *docs, uint32_t from,
                                      uint32_t to, uint32_t doc) {
    while (from < to) {
        uint32_t mid = (from + to) / 2;
        if (docs[mid] < doc)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

/* Sets bits of rising documents, at four places of the list in turn: one store
 * to a word waits for the one before to the same word otherwise. */
static inline void grb_bits_put(uint64_t *bits, uint32_t base,
                                const uint32_t *docs, uint32_t count) {
    uint32_t part = count / 4;
    const uint32_t *b = docs + part, *c = b + part, *d = c + part;
    for (uint32_t i = 0; i < part; i++) {
        grb_bit_set(bits, docs[i] - base);
        grb_bit_set(bits, b[i] - base);
        grb_bit_set(bits, c[i] - base);
        grb_bit_set(bits, d[i] - base);
    }
    for (uint32_t i = part * 4; i < count; i++)
        grb_bit_set(bits, docs[i] - base);
}

/* The formula from tf times inverse on. */
static inline float grb_term_score(float weight, float x) {
    return weight - weight / (1.0f + x);
}

/* A value of tf times inverse up to which no score is above `floor`: the
 * score never falls with it, so that one look at the formula proves it. */
static inline float grb_term_least(float weight, float floor) {
    float x;
    if (floor < 0) return -1.0f;
    if (floor >= weight) return HUGE_VALF;
    x = floor / (weight - floor) * (1.0f - 1e-5f);
    return grb_term_score(weight, x) <= floor ? x : -1.0f;
}

#endif
