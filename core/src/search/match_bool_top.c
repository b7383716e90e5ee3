/* search/match_bool_top.c - lists of clauses where only the best are wanted.
 *
 * Of a window each clause tells the greatest score it can give (bounds). From
 * these follows, a window anew, which clauses of a disjunction cannot lift a
 * document above the floor even together: they are looked up for documents
 * alone that others brought near it, and after each clause those that cannot
 * get there any more are dropped (the idea is that of MAXSCORE, H. Turtle and
 * J. Flood 1995, by windows). A conjunction and what is beside it are dropped
 * from in the same way, its rarest clause first.
 *
 * Invariant: sums and bounds are doubles of floats, bounds rounded up, so
 * that no document above the floor is dropped; the sums of those that stay are
 * complete.
 * Threads: one search.
 * Owns: nothing.
 */
#include <math.h>

#include "search/kernel.h"
#include "search/match_bool.h"

/* For what rounding may add to a sum of doubles, and of floats. */
#define UP_DOUBLE (1.0 + 1e-14)
#define DOWN_FLOAT (1.0 - 1e-6)

grebe_status grb_bool_top_make(bool_matcher *b, grebe_error *err) {
    grb_arena *arena = b->m.run->c->arena;
    uint32_t required = b->required_count, should = b->should_count;
    size_t size = (should + 1) * sizeof *b->rest;
    b->rest = grb_arena_alloc(arena, size);
    b->must_rest = grb_arena_alloc(arena, (required + 1) * sizeof(double));
    b->must_bounds = grb_arena_alloc(arena, (required + 1) * sizeof(float));
    b->should_bounds = grb_arena_alloc(arena, (should + 1) * sizeof(float));
    b->order = grb_arena_alloc(arena, (should + 1) * sizeof *b->order);
    b->bounds_base = 1;
    if (!b->rest || !b->must_rest || !b->must_bounds || !b->should_bounds ||
        !b->order)
        return grb_error_memory(err, size);
    for (uint32_t i = 0; i < should; i++) b->order[i] = i;
    return GREBE_OK;
}

void grb_bool_unfloor(bool_matcher *b) {
    for (uint32_t i = 0; i < b->required_count; i++)
        b->required[i]->floor = GRB_FLOOR_NONE;
    for (uint32_t i = 0; i < b->should_count; i++)
        b->should[i]->floor = GRB_FLOOR_NONE;
    b->floored = false;
}

/* The greatest float that is not above v. */
static float floor_of(double v) {
    float f = (float)v;
    if (!(v >= 0)) return GRB_FLOOR_NONE;
    return (double)f > v ? nextafterf(f, GRB_FLOOR_NONE) : f;
}

/* ---- bounds ---- */

/* Sums of the required clauses' bounds; *none: one of them has no document. */
static grebe_status must_bound(bool_matcher *b, uint32_t base, uint32_t *last,
                               double *sum, bool *none, grebe_error *err) {
    grebe_status status = GREBE_OK;
    *sum = 0;
    for (uint32_t i = 0; i < b->required_count; i++) {
        uint32_t to;
        float *bound = &b->must_bounds[i];
        *bound = 0;
        if (!b->adds[i]) continue;
        GRB_TRY(grb_matcher_bound(b->required[i], base, &to, bound, err));
        if (*bound < 0) {
            *last = to;
            *none = true;
            goto done;
        }
        *last = GRB_MIN(*last, to);
    }
    b->must_rest[b->required_count] = 0;
    for (uint32_t i = b->required_count; i-- > 0;)
        b->must_rest[i] =
            (b->must_rest[i + 1] + (double)b->must_bounds[i]) * UP_DOUBLE;
    *sum = b->must_rest[0];
done:
    return status;
}

static grebe_status should_bound(bool_matcher *b, uint32_t base,
                                 uint32_t *last, double *sum, bool *none,
                                 grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint32_t without = 0;
    *sum = 0;
    for (uint32_t i = 0; i < b->should_count; i++) {
        uint32_t to;
        float *bound = &b->should_bounds[i];
        *bound = 0;
        if (!b->should_adds) continue;
        GRB_TRY(grb_matcher_bound(b->should[i], base, &to, bound, err));
        *last = GRB_MIN(*last, to);
        without += *bound < 0;
        *bound = GRB_MAX(*bound, 0.0f);
        *sum += (double)*bound;
    }
    *none |= without && b->should_count - without < b->should_min;
done:
    return status;
}

grebe_status grb_bool_bound(grb_matcher *m, uint32_t base, uint32_t *last,
                            float *bound, grebe_error *err) {
    bool_matcher *b = (bool_matcher *)m;
    grebe_status status = GREBE_OK;
    double must, should;
    bool none = false;
    *last = base + (GRB_WINDOW - 1);
    *bound = INFINITY;
    if (!b->order) return GREBE_OK;
    b->bounds_base = base;
    *last = UINT32_MAX;
    *bound = -1.0f;
    GRB_TRY(must_bound(b, base, last, &must, &none, err));
    if (none) {
        b->bounds_base = 1;
        goto done;
    }
    GRB_TRY(should_bound(b, base, last, &should, &none, err));
    if (!none)
        *bound = (float)(must * UP_DOUBLE) + (float)(should * UP_DOUBLE);
    /* Without clauses that score nothing was said about places. */
    if (*last == UINT32_MAX && *bound >= 0) *last = base + (GRB_WINDOW - 1);
done:
    return status;
}

/* Greatest bound first; few clauses change their places from window to
 * window. */
static void should_order(bool_matcher *b) {
    uint32_t *order = b->order, count = b->should_count;
    for (uint32_t i = 1; i < count; i++) {
        uint32_t moved = order[i], k = i;
        float bound = b->should_bounds[moved];
        for (; k && b->should_bounds[order[k - 1]] < bound; k--)
            order[k] = order[k - 1];
        order[k] = moved;
    }
    b->rest[count] = 0;
    for (uint32_t i = count; i-- > 0;)
        b->rest[i] =
            (b->rest[i + 1] + (double)b->should_bounds[order[i]]) * UP_DOUBLE;
}

/* ---- dropping ---- */

#define SUMS_FEW 6 /* of a word: looked at one by one */

/* Those of the sums of a word that are above the cut. */
static uint64_t word_above(const double *values, double cut, uint64_t word) {
    uint64_t above = 0;
    if (grb_popcount64(word) > SUMS_FEW)
        return word & grb_search_kernels_best.sums(values, cut);
    for (; word; word &= word - 1) {
        int bit = grb_ctz64(word);
        above |= (uint64_t)(values[bit] > cut) << bit;
    }
    return above;
}

/* Leaves the bits whose sums are above the cut; returns how many. */
static uint32_t sums_keep(const grb_sum *sum, double cut, uint64_t *bits) {
    uint32_t count = 0;
    for (uint32_t w = 0; w < GRB_WINDOW_WORDS; w++) {
        uint64_t word = bits[w], kept = cut < 0 ? word & ~sum->seen[w] : 0;
        if (!word) continue;
        kept |= word_above(sum->values + w * 64, cut, word & sum->seen[w]);
        bits[w] = kept;
        count += grb_popcount64(kept);
    }
    return count;
}

static double sum_at(const grb_sum *sum, uint32_t i) {
    return sum && grb_bit(sum->seen, i) ? sum->values[i] : 0.0;
}

/* The same of two sums together, of which one may be NULL. */
static uint32_t both_keep(const grb_sum *a, const grb_sum *c, double cut,
                          uint64_t *bits) {
    uint32_t count = 0;
    for (uint32_t w = 0; w < GRB_WINDOW_WORDS; w++) {
        for (uint64_t word = bits[w]; word; word &= word - 1) {
            uint32_t i = w * 64 + (uint32_t)grb_ctz64(word);
            if (sum_at(a, i) + sum_at(c, i) > cut)
                count++;
            else
                bits[w] ^= word & (~word + 1);
        }
    }
    return count;
}

/* ---- evaluation ---- */

/* What the clauses of should but the one at `place` of the order can add. */
static double others_bound(const bool_matcher *b, uint32_t place) {
    double sum = b->rest[place + 1];
    for (uint32_t i = 0; i < place; i++)
        sum += (double)b->should_bounds[b->order[i]];
    return sum * UP_DOUBLE;
}

/* should alone: those that bring documents, then those that are looked up. A
 * document is left out by any clause that gives it too little, whatever the
 * others give: then its sum stays incomplete, and as low. */
static grebe_status any_above(bool_matcher *b, uint32_t base,
                              const grb_within *within, uint64_t *bits,
                              grb_sum *sum, grebe_error *err) {
    grebe_status status = GREBE_OK;
    double floor = (double)b->m.floor;
    uint32_t bring = 0, i;
    bool some = false;
    should_order(b);
    while (bring < b->should_count && (float)b->rest[bring] > b->m.floor)
        bring++;
    for (i = 0; i < bring; i++) {
        grb_matcher *m = b->should[b->order[i]];
        m->floor = floor_of(floor - others_bound(b, i));
        GRB_TRY(grb_matcher_add(m, base, within, bits, sum, &some, err));
    }
    for (; some && i < b->should_count; i++) {
        grb_matcher *m = b->should[b->order[i]];
        grb_within left = {bits, sums_keep(sum, floor - b->rest[i], bits)};
        some = left.count > 0;
        if (!some || b->should_bounds[b->order[i]] <= 0) continue;
        m->floor = GRB_FLOOR_NONE;
        /* What it finds is of `bits` already. */
        GRB_TRY(grb_matcher_add(m, base, &left, bits, sum, &some, err));
    }
    if (some) sums_keep(sum, floor, bits);
done:
    return status;
}

/* What the steps of one window share. */
typedef struct window_best {
    uint32_t base;
    double cut; /* sums that are not above it are dropped */
    uint64_t *bits, *optional;
    grb_sum *must, *should; /* NULL: that side does not score */
} window_best;

/* Required clauses. `best->cut` is without what should may add. */
static grebe_status all_above(bool_matcher *b, const window_best *best,
                              const grb_within *within, double cut, bool *any,
                              grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint64_t *next = b->frame->bits[1], *bits = best->bits;
    grb_within left = {bits, 0};
    for (uint32_t i = 0; i < b->required_count; i++) {
        grb_matcher *m = b->required[i];
        uint64_t *out = i ? next : bits;
        bool some = false, adds = best->must && b->adds[i];
        if (i) grb_bits_zero(next);
        m->floor =
            i == 0 && adds ? floor_of(cut - b->must_rest[1]) : GRB_FLOOR_NONE;
        if (adds)
            GRB_TRY(grb_matcher_add(m, best->base, i ? &left : within, out,
                                    best->must, &some, err));
        else
            GRB_TRY(m->ops->eval(m, best->base, i ? &left : within, out, NULL,
                                 &some, err));
        if (!some) goto done;
        for (uint32_t w = 0; i && w < GRB_WINDOW_WORDS; w++) bits[w] &= out[w];
        left.count =
            best->must ? sums_keep(best->must, cut - b->must_rest[i + 1], bits)
                       : grb_bits_count(bits);
        if (left.count == 0) goto done;
    }
    *any = true;
done:
    return status;
}

/* Optional clauses beside required ones, for what can still get there. */
static grebe_status beside_above(bool_matcher *b, const window_best *best,
                                 bool *any, grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_bits_zero(best->optional);
    for (uint32_t i = 0; i < b->should_count; i++) {
        grb_matcher *m = b->should[b->order[i]];
        double cut = best->cut - b->rest[i];
        bool some = false;
        grb_within left = {
            best->bits, both_keep(best->must, best->should, cut, best->bits)};
        *any = left.count > 0;
        if (!*any) break;
        m->floor = GRB_FLOOR_NONE;
        GRB_TRY(grb_matcher_add(m, best->base, &left, best->optional,
                                best->should, &some, err));
    }
done:
    return status;
}

static grebe_status required_above(bool_matcher *b, window_best *best,
                                   const grb_within *within, bool *any,
                                   grebe_error *err) {
    grebe_status status;
    bool optional = b->should_count && (b->should_min || best->should);
    should_order(b);
    GRB_TRY(all_above(b, best, within, best->cut - b->rest[0], any, err));
    if (!*any || !optional) goto done;
    best->optional = b->frame->bits[2];
    if (b->should_min)
        status = grb_bool_beside(b, best->base, best->bits, best->optional,
                                 best->should, any, err);
    else
        status = beside_above(b, best, any, err);
done:
    return status;
}

grebe_status grb_bool_above(bool_matcher *b, uint32_t base,
                            const grb_within *within, uint64_t *bits,
                            float *scores, bool *any, grebe_error *err) {
    grb_sum must, should;
    window_best best = {
        .base = base, .bits = bits, .cut = (double)b->m.floor * DOWN_FLOAT};
    grebe_status status = GREBE_OK;
    bool some = false;
    grb_sum_begin(&must, b->frame->must);
    grb_sum_begin(&should, b->frame->should);
    if (b->must_adds) best.must = &must;
    if (b->should_adds && b->should_count) best.should = &should;
    if (b->bounds_base != base) {
        uint32_t last;
        float bound;
        GRB_TRY(grb_bool_bound(&b->m, base, &last, &bound, err));
        if (bound <= b->m.floor) goto done;
    }
    b->floored = true;
    if (b->required_count) {
        GRB_TRY(required_above(b, &best, within, &some, err));
    } else {
        GRB_TRY(any_above(b, base, within, bits, &should, err));
        some = grb_bits_any(bits);
        best.optional = bits;
    }
    if (some && b->excluded_count)
        GRB_TRY(grb_bool_excluded(b, base, bits, &some, err));
    if (!some) {
        grb_bits_zero(bits);
        goto done;
    }
    *any = true;
    grb_bool_round(b, bits, best.should ? best.optional : NULL, scores);
done:
    return status;
}
