/* search/matcher.h - how operators work together; private to the room.
 *
 * An operator has three functions, called once a window and never once a
 * document. Windows come in rising order.
 */
#ifndef GRB_SEARCH_MATCHER_H
#define GRB_SEARCH_MATCHER_H

#include "search/kernel.h"
#include "search/weight.h"

/* The documents of a window that matter; others need not be looked at. */
typedef struct grb_within {
    const uint64_t *bits; /* GRB_WINDOW_WORDS */
    uint32_t count;
} grb_within;

/* Scores added up in double. Nothing is cleared before: what has no bit in
 * `seen` holds rubbish and counts as 0. */
typedef struct grb_sum {
    double *values;                  /* GRB_WINDOW */
    uint64_t seen[GRB_WINDOW_WORDS]; /* sums that have begun */
} grb_sum;

typedef struct grb_matcher_ops {
    /* See grb_matcher_next. Documents of an earlier window are never asked
     * for again. */
    grebe_status (*next)(grb_matcher *m, uint32_t min_doc, uint32_t *doc,
                         grebe_error *err);
    /* Matches within `within` (NULL: all) of the window at `base`: bits are
     * set in `bits`, which the caller has cleared, and scores written there
     * (NULL: not wanted). `any` is set to true if there is one. */
    grebe_status (*eval)(grb_matcher *m, uint32_t base,
                         const grb_within *within, uint64_t *bits,
                         float *scores, bool *any, grebe_error *err);
    /* The same with scores added to `sum`; bits are added to `bits`. NULL:
     * matcher.c does it with eval. */
    grebe_status (*add)(grb_matcher *m, uint32_t base,
                        const grb_within *within, uint64_t *bits, grb_sum *sum,
                        bool *any, grebe_error *err);
    /* No match of the window at `base` or later, up to *last, has a score
     * above *bound (negative: there is none). `last` is the window's last
     * document or a later one. Decodes nothing. NULL: matcher.c does it with
     * the weight. */
    grebe_status (*bound)(grb_matcher *m, uint32_t base, uint32_t *last,
                          float *bound, grebe_error *err);
} grb_matcher_ops;

/* Length codes of the present window, shared by the terms of a field. */
typedef struct grb_lengths {
    struct grb_lengths *next;
    uint32_t field;
    const void *leaf; /* whose codes these are */
    uint32_t base;
    const uint8_t *codes; /* NULL: the field has none */
    uint8_t scratch[GRB_WINDOW];
} grb_lengths;

/* What the matchers of one leaf share. */
typedef struct grb_leaf_run {
    grb_search_context *c;
    grb_leaf leaf;
    uint32_t ord;
    struct grb_run_column *columns; /* those that were opened */
} grb_leaf_run;

/* The column of a field, opened once for all matchers of the leaf; *out NULL:
 * there is none. Nobody keeps a window while another may ask for one. */
grebe_status grb_run_column(grb_leaf_run *run, uint32_t field,
                            grb_column **out, grebe_error *err);

struct grb_matcher {
    const grb_matcher_ops *ops;
    grb_leaf_run *run;
    const grb_weight *weight;
    uint64_t cost;  /* about how many documents match */
    uint32_t depth; /* whose frame to use */
    float floor;    /* of the evaluations to come: matches whose score is not
                       above it may be left out; set by whoever asks */
};

/* Memory of an operator while it evaluates one window. A parent at depth d
 * uses frame d, its children frame d + 1, so that no two live uses meet and
 * all leaves share the frames. Parts are made when first asked for. */
typedef struct grb_frame {
    uint64_t bits[4][GRB_WINDOW_WORDS];
    uint64_t out_bits[GRB_WINDOW_WORDS]; /* of the add made from eval */
    float *out_scores;
    float *best;
    double *must, *should;
    uint64_t (*planes)[GRB_WINDOW_WORDS];
} grb_frame;

#define GRB_FRAMES (GREBE_QUERY_DEPTH_MAX + 8)
#define GRB_PLANES 13u /* counts up to GREBE_QUERY_CLAUSES_MAX */
struct grb_scratch {
    size_t window;      /* documents of the largest window, a multiple of 64 */
    grb_frame **frames; /* GRB_FRAMES; NULL: none made yet */
    grb_lengths *lengths;
};

enum {
    GRB_FRAME_BITS = 0,
    GRB_FRAME_OUT = 1,
    GRB_FRAME_MUST = 2,
    GRB_FRAME_SHOULD = 4,
    GRB_FRAME_BEST = 8,
    GRB_FRAME_PLANES = 16
};

/* matcher.c */
grebe_status grb_frame_make(grb_search_context *c, uint32_t depth, int parts,
                            grb_frame **out, grebe_error *err);
grebe_status grb_lengths_make(grb_search_context *c, uint32_t field,
                              grb_lengths **out, grebe_error *err);
grebe_status grb_lengths_window(grb_lengths *l, const grb_leaf_run *run,
                                uint32_t base, grebe_error *err);
grebe_status grb_leaf_run_make(grb_search_context *c, uint32_t ord,
                               grb_leaf_run **out, grebe_error *err);
grebe_status grb_matcher_make(grb_leaf_run *run, const grb_weight *w,
                              uint32_t depth, grb_matcher **out,
                              grebe_error *err);
grebe_status grb_matcher_add(grb_matcher *m, uint32_t base,
                             const grb_within *within, uint64_t *bits,
                             grb_sum *sum, bool *any, grebe_error *err);
grebe_status grb_matcher_bound(grb_matcher *m, uint32_t base, uint32_t *last,
                               float *bound, grebe_error *err);
void *grb_matcher_alloc(grb_leaf_run *run, const grb_weight *w, uint32_t depth,
                        size_t size, const grb_matcher_ops *ops,
                        uint64_t cost);

/* Openers, one a kind of weight. *out NULL: nothing in this leaf. */
typedef grebe_status grb_matcher_opener(grb_leaf_run *run, const grb_weight *w,
                                        uint32_t depth, grb_matcher **out,
                                        grebe_error *err);
grb_matcher_opener grb_match_term, grb_match_bool, grb_match_dismax,
    grb_match_constant, grb_match_all, grb_match_phrase, grb_match_terms,
    grb_match_key, grb_match_column, grb_match_length;

/* match_filter.c: as grb_matcher_make, for what is asked for bits alone: from
 * what is kept with the segment if it is worth it. */
grb_matcher_opener grb_match_filter;
/* match_filter.c: the kept set that the operator reads; NULL: another one. */
const grb_docset *grb_match_filter_set(const grb_matcher *m);
/* identity.c: the name of a filter; false: what it matches depends on the
 * snapshot, or there is no memory. */
bool grb_weight_name(const grb_weight *w, grb_arena *arena,
                     grb_filter_id *out);

/* match_term.c, match_term_list.c: whether the matcher is one term's; its live
 * matches by blocks, those above the visitor's floor. */
bool grb_match_term_is(const grb_matcher *m);
grebe_status grb_match_term_lists(grb_matcher *m, grb_visitor *visitor,
                                  grebe_error *err);
/* match_list.c: whether a conjunction of terms, or a phrase, is so rare that
 * its matches are found best without windows; and these, alive, in lists. */
bool grb_match_lists_can(const grb_matcher *m);
grebe_status grb_match_lists(grb_matcher *m, bool scored, grb_visitor *visitor,
                             grebe_error *err);
bool grb_bool_lists_can(const grb_matcher *m);
grebe_status grb_bool_lists(grb_matcher *m, bool scored, grb_visitor *visitor,
                            grebe_error *err);
bool grb_match_bool_is(const grb_matcher *m);
/* match_list_any.c: of a disjunction of terms, what is above the visitor's
 * floor in the windows from *at on in which one term alone leads; *at becomes
 * the window behind them, or stays where it is. */
grebe_status grb_bool_any_lists(grb_matcher *m, grb_visitor *visitor,
                                uint64_t *at, grebe_error *err);
/* match_count.c: whether the matcher is a disjunction of terms; the number of
 * its live matches, or more than `most`. */
bool grb_match_union_is(const grb_matcher *m);
grebe_status grb_match_union_count(grb_matcher *m, uint64_t most,
                                   uint64_t *total, grebe_error *err);
bool grb_match_phrase_is(const grb_matcher *m);
/* match_phrase.c: the order in which matchers that must all match are asked,
 * least first: documents that match, and what each costs. */
uint64_t grb_matcher_rank(const grb_matcher *m);
bool grb_match_phrase_lists_can(const grb_matcher *m);
grebe_status grb_match_phrase_lists(grb_matcher *m, bool scored,
                                    grb_visitor *visitor, grebe_error *err);
/* match_phrase.c: the frequency of a phrase in one document. */
grebe_status grb_match_phrase_freq(grb_leaf_run *run, const grb_weight *w,
                                   uint32_t doc, float *freq,
                                   grebe_error *err);
/* match_column.c: documents of the leaf, dead ones too, that match a range of
 * numbers; `known` false: only a look at each value tells. */
grebe_status grb_match_column_count(grb_leaf_run *run, const grb_weight *w,
                                    bool exact, bool *known, uint64_t *count,
                                    grebe_error *err);
/* match_terms.c: documents whose key bytes lie in a range. */
grebe_status grb_match_key_range(grb_leaf_run *run, const grb_weight *w,
                                 uint32_t depth, const grb_byte_range *range,
                                 grb_matcher **out, grebe_error *err);
/* match_terms.c: whether the bytes lie in the range; `behind`: they and all
 * greater ones lie behind it. */
bool grb_byte_range_has(const grb_byte_range *r, const uint8_t *bytes,
                        size_t size, bool *behind);

/* ---- windows ---- */

/* Clears 512 bytes by plain stores. A memset of this size becomes `rep stos`,
 * whose start alone costs more; the barrier keeps the pieces apart. */
static inline void grb_zero_512(void *bytes) {
    for (char *at = bytes, *end = at + 512; at < end; at += 64) {
        memset(at, 0, 64);
        __asm__ volatile("" : : : "memory");
    }
}

static inline void grb_bits_zero(uint64_t *bits) {
    grb_zero_512(bits);
}

/* Set bits of the first `size`; those behind are clear. */
static inline uint32_t grb_bits_count_to(const uint64_t *bits, uint32_t size) {
    return (uint32_t)grb_search_kernels_best.count(bits, (size + 63) / 64);
}

static inline uint32_t grb_bits_count(const uint64_t *bits) {
    return grb_bits_count_to(bits, GRB_WINDOW);
}

static inline bool grb_bits_any(const uint64_t *bits) {
    uint64_t all = 0;
    for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++) all |= bits[i];
    return all != 0;
}

/* First set bit >= i, GRB_WINDOW if there is none. */
static inline uint32_t grb_bits_next(const uint64_t *bits, uint32_t i) {
    uint32_t w = i >> 6;
    uint64_t word;
    if (i >= GRB_WINDOW) return GRB_WINDOW;
    word = bits[w] & (~(uint64_t)0 << (i & 63));
    while (!word) {
        if (++w == GRB_WINDOW_WORDS) return GRB_WINDOW;
        word = bits[w];
    }
    return w * 64 + (uint32_t)grb_ctz64(word);
}

/* Sets bits from .. to - 1. */
static inline void grb_bits_fill(uint64_t *bits, uint32_t from, uint32_t to) {
    for (; from < to && (from & 63); from++) grb_bit_set(bits, from);
    for (; from + 64 <= to; from += 64) bits[from >> 6] = ~(uint64_t)0;
    for (; from < to; from++) grb_bit_set(bits, from);
}

static inline void grb_sum_begin(grb_sum *sum, double *values) {
    sum->values = values;
    grb_bits_zero(sum->seen);
}

/* For a few sums of a word: no branch asks whether it is the first. */
static inline void grb_sum_add(grb_sum *sum, uint32_t i, double score) {
    uint64_t *seen = &sum->seen[i >> 6], bits;
    double before;
    memcpy(&bits, &sum->values[i], sizeof bits);
    bits &= 0 - (*seen >> (i & 63) & 1);
    memcpy(&before, &bits, sizeof before);
    sum->values[i] = before + score;
    *seen |= (uint64_t)1 << (i & 63);
}

/* For many: begins all sums of a word, to which may then be added plainly. */
static inline void grb_sum_touch(grb_sum *sum, uint32_t word) {
    double *values = sum->values + (size_t)word * 64, kept[64];
    uint64_t seen = sum->seen[word], bits;
    uint32_t n = 0;
    if (seen == ~(uint64_t)0) return;
    for (bits = seen; bits; bits &= bits - 1)
        kept[n++] = values[grb_ctz64(bits)];
    grb_zero_512(values);
    for (bits = seen, n = 0; bits; bits &= bits - 1)
        values[grb_ctz64(bits)] = kept[n++];
    sum->seen[word] = ~(uint64_t)0;
}

/* Documents of the window at `base` that the leaf has. */
static inline uint32_t grb_window_size(const grb_leaf_run *run,
                                       uint32_t base) {
    uint32_t max_doc = run->leaf.bounds.max_doc;
    return max_doc <= base ? 0 : GRB_MIN(max_doc - base, GRB_WINDOW);
}

/* Writes one score for every bit. */
static inline void grb_scores_fill(const uint64_t *bits, float *scores,
                                   float score) {
    for (uint32_t w = 0; w < GRB_WINDOW_WORDS; w++)
        for (uint64_t word = bits[w]; word; word &= word - 1)
            scores[w * 64 + (uint32_t)grb_ctz64(word)] = score;
}

#endif
