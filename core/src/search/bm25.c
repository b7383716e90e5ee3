/* search/bm25.c - statistics to weights and length tables.
 *
 * The parts of BM25 that are calculated once a term or once a field; the part
 * that is calculated once a posting is inline in bm25.h.
 *
 * Invariant: no value depends on anything but the arguments.
 * Threads: any.
 * Owns: the last tables of each thread.
 */
#include "search/bm25.h"

#include <math.h>

const grb_bm25 grb_bm25_default = {1.2f, 0.75f};

float grb_bm25_idf(uint64_t df, uint64_t doc_count) {
    double n = (double)GRB_MAX(df, doc_count), d = (double)df;
    return (float)log(1.0 + (n - d + 0.5) / (d + 0.5));
}

float grb_bm25_average(uint64_t term_total, uint64_t doc_count) {
    if (doc_count == 0 || term_total == 0) return 1.0f;
    return (float)((double)term_total / (double)doc_count);
}

/* Tables of the searches before, a thread's own: statistics change with a
 * commit, searches come in between. */
typedef struct kept_table {
    grb_bm25 p;
    float average;
    uint32_t end; /* 0: none */
    float inverse[256];
} kept_table;
static _Thread_local kept_table kept_tables[2];

static void table_make(const grb_bm25 *p, float average, uint32_t end,
                       float inverse[256]) {
    float k1 = p->k1, b = p->b, rest = 1.0f - b;
    for (uint32_t i = 0; i < end; i++) {
        float length = (float)(int32_t)grb_length_decode[i];
        inverse[i] = 1.0f / (k1 * (rest + b * length / average));
    }
    for (uint32_t i = end; i < 256; i++) inverse[i] = inverse[end - 1];
}

void grb_bm25_table(const grb_bm25 *p, float average, uint32_t length_max,
                    float inverse[256]) {
    uint32_t end = (uint32_t)(grb_length_encode(length_max) + 8) & ~7u, bits;
    memcpy(&bits, &average, sizeof bits);
    kept_table *kept = &kept_tables[(bits * 2654435769u) >> 31];
    if (kept->end != end || kept->average != average || kept->p.k1 != p->k1 ||
        kept->p.b != p->b) {
        table_make(p, average, end, kept->inverse);
        kept->p = *p;
        kept->average = average;
        kept->end = end;
    }
    memcpy(inverse, kept->inverse, sizeof kept->inverse);
}
