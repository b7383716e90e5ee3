/* search/match_count.c - how many documents have one of several terms.
 *
 * Where only the number is wanted, windows and what surrounds them cost more
 * than the postings. Each term's blocks are set as bits of a span of many
 * windows, one term behind the other, and the bits are counted.
 *
 * Invariant: the number is that of evaluating window by window.
 * Threads: one search.
 * Owns: nothing.
 */
#include "search/match_bool.h"
#include "search/match_term.h"

/* A span has so many documents, or where the count may end early one window
 * at first and then twice as many each time. */
#define SPAN_MAX (64u * GRB_WINDOW)

bool grb_match_union_is(const grb_matcher *m) {
    const bool_matcher *b = (const bool_matcher *)m;
    if (!grb_match_bool_is(m) || b->required_count || b->excluded_count ||
        b->should_min > 1)
        return false;
    for (uint32_t i = 0; i < b->should_count; i++)
        if (!grb_match_term_is(b->should[i])) return false;
    return true;
}

/* Sets the bits of the current block's documents of the span. */
static void block_mark(const grb_block *b, uint32_t base, uint32_t end,
                       uint64_t *bits) {
    if (b->kind == GRB_BLOCK_DOCS) {
        uint32_t from = grb_docs_lower(b->docs, 0, b->count, base);
        uint32_t to = b->last < end
                          ? b->count
                          : grb_docs_lower(b->docs, from, b->count, end);
        grb_bits_put(bits, base, b->docs + from, to - from);
    } else if (b->kind == GRB_BLOCK_BITMAP) {
        uint64_t *words = bits + ((b->first - base) >> 6);
        for (uint32_t i = 0; i < b->word_count; i++) words[i] |= b->words[i];
    } else {
        grb_bits_fill(bits, GRB_MAX(b->first, base) - base,
                      (b->last < end ? b->last + 1 : end) - base);
    }
}

static grebe_status term_mark(term_matcher *t, uint32_t base, uint32_t end,
                              uint64_t *bits, grebe_error *err) {
    const grb_block *b = &t->postings->block;
    grebe_status status;
    for (uint32_t from = base; from < end; from = b->last + 1) {
        GRB_TRY(grb_term_reach(t, from, err));
        if (b->kind == GRB_BLOCK_END || grb_block_first(b) >= end) break;
        block_mark(b, base, end, bits);
        if (b->last >= end) break;
    }
    status = GREBE_OK;
done:
    return status;
}

/* Leaves the living. */
static void span_living(const grb_leaf_run *run, uint32_t base, uint32_t end,
                        uint64_t *bits) {
    uint64_t live[GRB_WINDOW_WORDS];
    for (; base < end; base += GRB_WINDOW, bits += GRB_WINDOW_WORDS) {
        if (!grb_leaf_window(&run->leaf, run->c->snapshot->epoch, base, live))
            continue;
        for (uint32_t w = 0; w < GRB_WINDOW_WORDS; w++) bits[w] &= live[w];
    }
}

grebe_status grb_match_union_count(grb_matcher *m, uint64_t most,
                                   uint64_t *total, grebe_error *err) {
    const bool_matcher *b = (const bool_matcher *)m;
    uint64_t max_doc = m->run->leaf.bounds.max_doc;
    uint64_t *bits = grb_arena_alloc(m->run->c->arena, SPAN_MAX / 8);
    uint32_t span = most == UINT64_MAX ? SPAN_MAX : GRB_WINDOW;
    grebe_status status = GREBE_OK;
    *total = 0;
    if (!bits) return grb_error_memory(err, SPAN_MAX / 8);
    for (uint64_t at = 0; at < max_doc && *total <= most; at += span) {
        uint32_t base = (uint32_t)at;
        if (at > 0 && span < SPAN_MAX) span *= 2;
        uint32_t size = (uint32_t)GRB_MIN(max_doc - at, span);
        uint32_t windows = (size + GRB_WINDOW - 1) / GRB_WINDOW;
        memset(bits, 0, (size_t)windows * GRB_WINDOW / 8);
        for (uint32_t i = 0; i < b->should_count; i++)
            GRB_TRY(term_mark((term_matcher *)b->should[i], base, base + size,
                              bits, err));
        if (m->run->leaf.view) span_living(m->run, base, base + size, bits);
        *total +=
            grb_search_kernels_best.count(bits, windows * GRB_WINDOW_WORDS);
    }
done:
    return status;
}
