/* search/match_column.c - numbers in a range, documents with a value.
 *
 * A column is scanned a window at a time; the zone map (least and greatest
 * value of the window) decides most windows without looking at a value.
 *
 * Invariant: bounds are inside the range on both sides.
 * Threads: one search.
 * Owns: nothing.
 */
#include "search/matcher.h"
#include "segment/column_window.h"

typedef struct column_matcher {
    grb_matcher m;
    grb_column *column;
    int64_t lower, upper;
    bool any;
} column_matcher;

static bool zone_misses(const column_matcher *c, const grb_column_window *w) {
    return !w->any || (!c->any && (w->max < c->lower || w->min > c->upper));
}

static grebe_status column_next(grb_matcher *m, uint32_t min_doc,
                                uint32_t *doc, grebe_error *err) {
    column_matcher *c = (column_matcher *)m;
    uint32_t max_doc = m->run->leaf.bounds.max_doc;
    grebe_status status = GREBE_OK;
    *doc = GRB_NO_DOC;
    for (uint64_t base = min_doc & ~(GRB_WINDOW - 1); base < max_doc;
         base += GRB_WINDOW) {
        grb_column_window w;
        GRB_TRY(grb_budget_spend(&m->run->c->budget, 1, err));
        GRB_TRY(c->column->window(c->column, (uint32_t)base, false, &w, err));
        if (zone_misses(c, &w)) continue;
        *doc = GRB_MAX(min_doc, (uint32_t)base);
        break;
    }
done:
    return status;
}

static grebe_status column_eval(grb_matcher *m, uint32_t base,
                                const grb_within *within, uint64_t *bits,
                                float *scores, bool *any, grebe_error *err) {
    column_matcher *c = (column_matcher *)m;
    grb_column_window w;
    grebe_status status = GREBE_OK;
    bool plain = m->run->c->off & GRB_OFF_COLUMNS;
    uint32_t size = grb_window_size(m->run, base);
    if (size == 0) goto done;
    GRB_TRY(c->column->window(c->column, base, false, &w, err));
    if (zone_misses(c, &w)) goto done;
    GRB_TRY(grb_budget_spend(&m->run->c->budget, within ? within->count : size,
                             err));
    if (within)
        memcpy(bits, within->bits, GRB_WINDOW / 8);
    else
        grb_bits_fill(bits, 0, size);
    GRB_TRY(grb_column_between(c->column, plain, base,
                               c->any ? INT64_MIN : c->lower,
                               c->any ? INT64_MAX : c->upper, bits, err));
    if (!grb_bits_any(bits)) goto done;
    *any = true;
    if (scores) grb_scores_fill(bits, scores, m->weight->boost);
done:
    return status;
}

/* An ordered number as the bytes of an integer key. */
static const char *key_number(grb_arena *arena, int64_t v) {
    uint64_t bits = (uint64_t)v ^ (uint64_t)1 << 63;
    char bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = (char)(bits >> (56 - 8 * i));
    return grb_arena_copy(arena, bytes, sizeof bytes);
}

/* An integer key without a column: its bytes are in the order of numbers. */
static grebe_status key_numbers(grb_leaf_run *run, const grb_weight *w,
                                uint32_t depth, grb_matcher **out,
                                grebe_error *err) {
    grb_arena *arena = run->c->arena;
    grb_byte_range *r = grb_arena_zero(arena, sizeof *r);
    if (!r) return grb_error_memory(err, sizeof *r);
    r->lower = key_number(arena, w->as.column.lower);
    r->upper = key_number(arena, w->as.column.upper);
    r->lower_size = r->upper_size = 8;
    if (!r->lower || !r->upper) return grb_error_memory(err, 8);
    return grb_match_key_range(run, w, depth, r, out, err);
}

grebe_status grb_match_column_count(grb_leaf_run *run, const grb_weight *w,
                                    bool exact, bool *known, uint64_t *count,
                                    grebe_error *err) {
    grebe_status status;
    grb_column *column;
    *known = false;
    *count = 0;
    GRB_TRY(grb_run_column(run, w->field->id, &column, err));
    if (!column || !column->count || (run->c->off & GRB_OFF_COLUMNS))
        return GREBE_OK;
    *known = true;
    GRB_TRY(column->count(
        column, w->as.column.any ? INT64_MIN : w->as.column.lower,
        w->as.column.any ? INT64_MAX : w->as.column.upper, exact, count, err));
done:
    return status;
}

grebe_status grb_match_column(grb_leaf_run *run, const grb_weight *w,
                              uint32_t depth, grb_matcher **out,
                              grebe_error *err) {
    static const grb_matcher_ops ops = {column_next, column_eval, NULL, NULL};
    grebe_status status;
    grb_column *column;
    column_matcher *c;
    uint64_t cost;
    bool known;
    GRB_TRY(grb_run_column(run, w->field->id, &column, err));
    if (!column && grb_weight_is_key(w))
        return key_numbers(run, w, depth, out, err);
    if (!column) goto done;
    GRB_TRY(grb_match_column_count(run, w, false, &known, &cost, err));
    if (!known) cost = run->leaf.bounds.max_doc / 2;
    c = grb_matcher_alloc(run, w, depth, sizeof *c, &ops, cost + 1);
    if (!c) return grb_error_memory(err, sizeof *c);
    c->column = column;
    c->lower = w->as.column.lower;
    c->upper = w->as.column.upper;
    c->any = w->as.column.any;
    *out = &c->m;
done:
    return status;
}

/* ---- documents that have a length: exists on a text field ---- */

typedef struct length_matcher {
    grb_matcher m;
    grb_lengths *lengths;
} length_matcher;

static grebe_status length_next(grb_matcher *m, uint32_t min_doc,
                                uint32_t *doc, grebe_error *err) {
    *doc = min_doc < m->run->leaf.bounds.max_doc ? min_doc : GRB_NO_DOC;
    return GREBE_OK;
}

static grebe_status length_eval(grb_matcher *m, uint32_t base,
                                const grb_within *within, uint64_t *bits,
                                float *scores, bool *any, grebe_error *err) {
    length_matcher *l = (length_matcher *)m;
    uint32_t size = grb_window_size(m->run, base);
    const uint8_t *codes;
    grebe_status status = GREBE_OK;
    if (size == 0) goto done;
    GRB_TRY(grb_lengths_window(l->lengths, m->run, base, err));
    GRB_TRY(grb_budget_spend(&m->run->c->budget, size, err));
    codes = l->lengths->codes;
    if (!codes) goto done;
    for (uint32_t i = 0; i < size; i++)
        bits[i >> 6] |= (uint64_t)(codes[i] != 0) << (i & 63);
    if (within)
        for (uint32_t w = 0; w < GRB_WINDOW_WORDS; w++)
            bits[w] &= within->bits[w];
    if (!grb_bits_any(bits)) goto done;
    *any = true;
    if (scores) grb_scores_fill(bits, scores, m->weight->boost);
done:
    return status;
}

grebe_status grb_match_length(grb_leaf_run *run, const grb_weight *w,
                              uint32_t depth, grb_matcher **out,
                              grebe_error *err) {
    static const grb_matcher_ops ops = {length_next, length_eval, NULL, NULL};
    grebe_status status;
    length_matcher *l = grb_matcher_alloc(run, w, depth, sizeof *l, &ops,
                                          run->leaf.bounds.max_doc);
    if (!l) return grb_error_memory(err, sizeof *l);
    GRB_TRY(grb_lengths_make(run->c, w->field->id, &l->lengths, err));
    *out = &l->m;
done:
    return status;
}
