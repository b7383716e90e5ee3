/* search/bm25.h - BM25 as pure functions of the statistics.
 *
 * Every step is a 32-bit float operation in the written order, except where a
 * function says double; the same bits come out on every machine as long as
 * nothing is contracted into fused multiply-adds.
 */
#ifndef GRB_SEARCH_BM25_H
#define GRB_SEARCH_BM25_H

#include "base/base.h"

/* k1: how soon further occurrences stop to count; b: how much the length of
 * the document matters. */
typedef struct grb_bm25 {
    float k1, b;
} grb_bm25;
extern const grb_bm25 grb_bm25_default; /* 1.2 and 0.75 */

/* ln(1 + (N - df + 0.5) / (df + 0.5)) in double, rounded once. */
float grb_bm25_idf(uint64_t df, uint64_t doc_count);
/* Mean length of the documents that have the field, in double, rounded once;
 * 1 if no document has it. */
float grb_bm25_average(uint64_t term_total, uint64_t doc_count);

/* What a term frequency is multiplied with for a document of `length`. */
static inline float grb_bm25_inverse(const grb_bm25 *p, float length,
                                     float average) {
    return 1.0f / (p->k1 * ((1.0f - p->b) + p->b * length / average));
}

/* The inverses of all length codes up to that of `length_max`; those above get
 * the same as it. */
void grb_bm25_table(const grb_bm25 *p, float average, uint32_t length_max,
                    float inverse[256]);

/* `weight` = boost * idf. In this form the score never falls with tf nor
 * rises with the length, rounding included, so that block impacts are true
 * bounds. */
static inline float grb_bm25_score(float weight, float tf, float inverse) {
    return weight - weight / (1.0f + tf * inverse);
}

#endif
