/* segment/column_window.c - what every column can do by its windows.
 *
 * Columns in files answer some questions from packed values or from their
 * order. Others, and every column whose part of that is turned off, are asked
 * here: by a window with all its values.
 *
 * Invariant: the answer does not depend on which of the two gives it.
 * Threads: one a column.
 * Owns: nothing.
 */
#include "segment/column_window.h"

/* Bits of 64 values; the loop has no branches so that it becomes vectors. */
static uint64_t values_test(const int64_t *values, uint32_t count,
                            int64_t lower, int64_t upper) {
    uint64_t word = 0;
    for (uint32_t i = 0; i < count; i++)
        word |= (uint64_t)((values[i] >= lower) & (values[i] <= upper)) << i;
    return word;
}

static bool many_test(const grb_column_window *w, uint32_t i, int64_t lower,
                      int64_t upper) {
    for (uint32_t k = w->offsets[i]; k < w->offsets[i + 1]; k++)
        if (w->values[k] >= lower && w->values[k] <= upper) return true;
    return false;
}

/* Those of `wanted` among documents 64 * at .. of the window. */
static uint64_t word_test(const grb_column_window *w, uint32_t at,
                          uint64_t wanted, int64_t lower, int64_t upper) {
    uint64_t word = 0;
    uint32_t count = GRB_MIN(w->count - at * 64, 64);
    if (!w->offsets)
        return wanted & values_test(w->values + at * 64, count, lower, upper);
    for (; wanted; wanted &= wanted - 1) {
        uint32_t i = at * 64 + (uint32_t)grb_ctz64(wanted);
        if (many_test(w, i, lower, upper)) word |= wanted & (~wanted + 1);
    }
    return word;
}

void grb_column_window_between(const grb_column_window *w, int64_t lower,
                               int64_t upper, uint64_t *bits) {
    bool whole = w->any && w->min >= lower && w->max <= upper;
    if (!w->any || w->max < lower || w->min > upper) {
        memset(bits, 0, GRB_WINDOW / 8);
        return;
    }
    for (uint32_t at = 0; at < GRB_WINDOW_WORDS; at++) {
        uint64_t wanted = bits[at];
        if (at * 64 >= w->count) wanted = 0;
        if (!w->all && wanted) wanted &= w->present[at];
        bits[at] =
            whole || !wanted ? wanted : word_test(w, at, wanted, lower, upper);
    }
}

grebe_status grb_column_between(grb_column *c, bool plain, uint32_t base,
                                int64_t lower, int64_t upper, uint64_t *bits,
                                grebe_error *err) {
    grb_column_window w;
    grebe_status status;
    if (c->between && !plain)
        return c->between(c, base, lower, upper, bits, err);
    status = c->window(c, base, true, &w, err);
    if (status == GREBE_OK) grb_column_window_between(&w, lower, upper, bits);
    return status;
}

grebe_status grb_column_pick(grb_column *c, bool plain, uint32_t base,
                             const uint64_t *bits, grb_column_window *out,
                             grebe_error *err) {
    if (c->pick && !plain) return c->pick(c, base, bits, out, err);
    return c->window(c, base, true, out, err);
}
