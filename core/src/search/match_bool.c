/* search/match_bool.c - conjunction, disjunction, negation in one operator.
 *
 * The rarest required clause leads; every further one is asked only for what
 * is left. Clauses that only score are looked up for the survivors. How many
 * clauses of `should` match is counted in bit planes, 64 documents at once.
 *
 * Invariant: a document's sums are complete if it is in the result; what was
 * added for documents that fell out later is never read.
 * Threads: one search.
 * Owns: nothing.
 */
#include "search/match_bool.h"

/* ---- counting in planes ---- */

static void planes_count(uint64_t (*planes)[GRB_WINDOW_WORDS],
                         const uint64_t *bits) {
    for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++) {
        uint64_t carry = bits[i];
        for (uint32_t p = 0; carry && p < GRB_PLANES; p++) {
            uint64_t both = planes[p][i] & carry;
            planes[p][i] ^= carry;
            carry = both;
        }
    }
}

/* Leaves the bits whose count is at least `min`. */
static void planes_limit(uint64_t (*planes)[GRB_WINDOW_WORDS], uint32_t min,
                         uint64_t *bits) {
    for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++) {
        uint64_t more = 0, equal = bits[i];
        for (uint32_t p = GRB_PLANES; equal && p-- > 0;) {
            if (min >> p & 1) {
                equal &= planes[p][i];
            } else {
                more |= equal & planes[p][i];
                equal &= ~planes[p][i];
            }
        }
        bits[i] &= more | equal;
    }
}

/* ---- evaluation ---- */

static grebe_status clause_eval(grb_matcher *m, uint32_t base,
                                const grb_within *within, uint64_t *bits,
                                grb_sum *sum, bool *any, grebe_error *err) {
    return sum ? grb_matcher_add(m, base, within, bits, sum, any, err)
               : m->ops->eval(m, base, within, bits, NULL, any, err);
}

/* Documents that match all required clauses, into `bits`. */
static grebe_status required_eval(bool_matcher *b, uint32_t base,
                                  const grb_within *within, uint64_t *bits,
                                  grb_sum *sum, bool *any, grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint64_t *next = b->frame->bits[1];
    grb_within left;
    for (uint32_t i = 0; i < b->required_count; i++) {
        grb_sum *to = sum && b->adds[i] ? sum : NULL;
        bool some = false;
        if (i == 0) {
            GRB_TRY(clause_eval(b->required[0], base, within, bits, to, &some,
                                err));
        } else {
            left.bits = bits;
            left.count = grb_bits_count(bits);
            grb_bits_zero(next);
            GRB_TRY(clause_eval(b->required[i], base, &left, next, to, &some,
                                err));
            for (uint32_t w = 0; w < GRB_WINDOW_WORDS; w++) bits[w] &= next[w];
        }
        if (!some) goto done;
    }
    *any = true;
done:
    return status;
}

/* Documents that match enough of `should`, into `bits` (cleared). */
static grebe_status should_eval(bool_matcher *b, uint32_t base,
                                const grb_within *within, uint64_t *bits,
                                grb_sum *sum, bool *any, grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint64_t *one = b->frame->bits[1];
    bool count = b->should_min > 1;
    if (count)
        memset(b->frame->planes, 0, GRB_PLANES * sizeof *b->frame->planes);
    for (uint32_t i = 0; i < b->should_count; i++) {
        grb_matcher *m = b->should[i];
        bool some = false;
        /* `add` joins bits; eval and counting need bits of their own. */
        if (sum && !count) {
            GRB_TRY(grb_matcher_add(m, base, within, bits, sum, any, err));
            continue;
        }
        grb_bits_zero(one);
        GRB_TRY(clause_eval(m, base, within, one, sum, &some, err));
        if (!some) continue;
        *any = true;
        if (count) planes_count(b->frame->planes, one);
        for (uint32_t w = 0; w < GRB_WINDOW_WORDS; w++) bits[w] |= one[w];
    }
    if (count && *any) {
        planes_limit(b->frame->planes, b->should_min, bits);
        *any = grb_bits_any(bits);
    }
done:
    return status;
}

grebe_status grb_bool_excluded(bool_matcher *b, uint32_t base, uint64_t *bits,
                               bool *any, grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint64_t *out = b->frame->bits[1];
    for (uint32_t i = 0; i < b->excluded_count; i++) {
        grb_within left = {bits, grb_bits_count(bits)};
        bool some = false;
        if (left.count == 0) break;
        grb_bits_zero(out);
        GRB_TRY(
            clause_eval(b->excluded[i], base, &left, out, NULL, &some, err));
        if (!some) continue;
        for (uint32_t w = 0; w < GRB_WINDOW_WORDS; w++) bits[w] &= ~out[w];
    }
    *any = grb_bits_any(bits);
done:
    return status;
}

/* `must` and `should` are rounded apart, then the two floats are added. */
void grb_bool_round(const bool_matcher *b, const uint64_t *bits,
                    const uint64_t *optional, float *scores) {
    const double *must = b->must_adds ? b->frame->must : NULL;
    const double *should = b->frame->should;
    for (uint32_t w = 0; w < GRB_WINDOW_WORDS; w++) {
        uint64_t also = optional ? optional[w] : 0;
        for (uint64_t word = bits[w]; word; word &= word - 1) {
            uint32_t i = w * 64 + (uint32_t)grb_ctz64(word);
            float score = must ? (float)must[i] : 0.0f;
            if (also >> (i & 63) & 1) score = score + (float)should[i];
            scores[i] = score;
        }
    }
}

/* Clauses of `should` for what the required ones left. */
grebe_status grb_bool_beside(bool_matcher *b, uint32_t base, uint64_t *bits,
                             uint64_t *optional, grb_sum *sum, bool *any,
                             grebe_error *err) {
    grb_within left = {bits, grb_bits_count(bits)};
    grebe_status status;
    bool some = false;
    grb_bits_zero(optional);
    GRB_TRY(should_eval(b, base, &left, optional, sum, &some, err));
    if (b->should_min == 0) goto done;
    for (uint32_t w = 0; w < GRB_WINDOW_WORDS; w++) bits[w] &= optional[w];
    *any = some;
done:
    return status;
}

static grebe_status bool_eval(grb_matcher *m, uint32_t base,
                              const grb_within *within, uint64_t *bits,
                              float *scores, bool *any, grebe_error *err) {
    bool_matcher *b = (bool_matcher *)m;
    grb_sum must, should;
    grb_sum *must_sum = scores && b->must_adds ? &must : NULL;
    grb_sum *should_sum = scores && b->should_adds ? &should : NULL;
    uint64_t *optional = NULL;
    grebe_status status;
    bool some = false;
    if (scores && m->floor >= 0 && b->order &&
        (b->required_count || b->should_min <= 1))
        return grb_bool_above(b, base, within, bits, scores, any, err);
    if (b->floored) grb_bool_unfloor(b);
    if (must_sum) grb_sum_begin(must_sum, b->frame->must);
    if (should_sum) grb_sum_begin(should_sum, b->frame->should);
    if (b->required_count) {
        GRB_TRY(required_eval(b, base, within, bits, must_sum, &some, err));
        if (some && b->should_count && (b->should_min || should_sum)) {
            optional = b->frame->bits[2];
            GRB_TRY(grb_bool_beside(b, base, bits, optional, should_sum, &some,
                                    err));
        }
    } else {
        GRB_TRY(should_eval(b, base, within, bits, should_sum, &some, err));
        optional = bits;
    }
    if (some && b->excluded_count)
        GRB_TRY(grb_bool_excluded(b, base, bits, &some, err));
    if (!some) {
        grb_bits_zero(bits);
        goto done;
    }
    *any = true;
    if (scores) grb_bool_round(b, bits, should_sum ? optional : NULL, scores);
done:
    return status;
}

/* Skips to a window in which every required clause may match. */
static grebe_status required_next(bool_matcher *b, uint32_t min_doc,
                                  uint32_t *doc, grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint32_t at = min_doc, i = 0;
    while (i < b->required_count) {
        uint32_t next;
        grb_matcher *m = b->required[i];
        GRB_TRY(m->ops->next(m, at, &next, err));
        if (next == GRB_NO_DOC) {
            at = GRB_NO_DOC;
            break;
        }
        i = i > 0 && next / GRB_WINDOW != at / GRB_WINDOW ? 0 : i + 1;
        at = next;
    }
    *doc = at;
done:
    return status;
}

static grebe_status bool_next(grb_matcher *m, uint32_t min_doc, uint32_t *doc,
                              grebe_error *err) {
    bool_matcher *b = (bool_matcher *)m;
    grebe_status status = GREBE_OK;
    uint32_t least = GRB_NO_DOC;
    if (b->required_count) return required_next(b, min_doc, doc, err);
    for (uint32_t i = 0; i < b->should_count && least > min_doc; i++) {
        uint32_t next;
        GRB_TRY(b->should[i]->ops->next(b->should[i], min_doc, &next, err));
        least = GRB_MIN(least, next);
    }
    *doc = least;
done:
    return status;
}

/* ---- opening ---- */

static grebe_status list_open(grb_leaf_run *run, const grb_weight_list *list,
                              grb_matcher_opener *opener, uint32_t depth,
                              grb_matcher **items, uint32_t *count,
                              grebe_error *err) {
    grebe_status status = GREBE_OK;
    for (uint32_t i = 0; i < list->count; i++) {
        GRB_TRY(opener(run, list->items[i], depth + 1, &items[*count], err));
        *count += items[*count] != NULL;
    }
done:
    return status;
}

/* Rarest first; the flags move along. Equal costs keep their order. */
static void required_sort(bool_matcher *b) {
    for (uint32_t i = 1; i < b->required_count; i++) {
        grb_matcher *m = b->required[i];
        bool adds = b->adds[i];
        uint32_t k = i;
        uint64_t rank = grb_matcher_rank(m);
        for (; k && grb_matcher_rank(b->required[k - 1]) > rank; k--) {
            b->required[k] = b->required[k - 1];
            b->adds[k] = b->adds[k - 1];
        }
        b->required[k] = m;
        b->adds[k] = adds;
    }
}

static void cost_set(bool_matcher *b) {
    uint64_t cost = 0;
    for (uint32_t i = 0; i < b->should_count; i++) cost += b->should[i]->cost;
    if (b->required_count) cost = UINT64_MAX;
    for (uint32_t i = 0; i < b->required_count; i++)
        cost = GRB_MIN(cost, b->required[i]->cost);
    b->m.cost = GRB_MIN(cost, b->m.run->leaf.bounds.max_doc);
}

/* Opens the lists; `none` if nothing of the leaf can match. */
static grebe_status lists_open(bool_matcher *b, bool *none, grebe_error *err) {
    grb_leaf_run *run = b->m.run;
    const grb_weight *w = b->m.weight;
    const grb_weight_list *lists = w->as.list.lists;
    const grb_weight_list *must = &lists[GREBE_MUST];
    const grb_weight_list *filter = &lists[GREBE_FILTER];
    grebe_status status;
    uint32_t depth = b->m.depth, musts;
    *none = true;
    GRB_TRY(list_open(run, must, grb_matcher_make, depth, b->required,
                      &b->required_count, err));
    musts = b->required_count;
    if (musts < must->count) goto done;
    for (uint32_t i = 0; i < musts; i++) b->adds[i] = w->scored;
    GRB_TRY(list_open(run, filter, grb_match_filter, depth, b->required,
                      &b->required_count, err));
    if (b->required_count < musts + filter->count) goto done;
    b->must_adds = w->scored && musts;
    b->should_min = w->as.list.should_min;
    if (b->required_count == 0) b->should_min = GRB_MAX(b->should_min, 1);
    b->should_adds = w->scored;
    if (b->should_min || b->should_adds)
        GRB_TRY(list_open(run, &lists[GREBE_SHOULD], grb_matcher_make, depth,
                          b->should, &b->should_count, err));
    if (b->should_count < b->should_min) goto done;
    GRB_TRY(list_open(run, &lists[GREBE_MUST_NOT], grb_match_filter, depth,
                      b->excluded, &b->excluded_count, err));
    required_sort(b);
    cost_set(b);
    *none = false;
done:
    return status;
}

/* A single clause needs no operator around it: its score is the sum. */
static grb_matcher *bool_single(const bool_matcher *b) {
    if (b->excluded_count) return NULL;
    if (b->required_count == 0 && b->should_count == 1) return b->should[0];
    if (b->required_count == 1 && b->should_count == 0 &&
        (b->adds[0] || !b->m.weight->scored))
        return b->required[0];
    return NULL;
}

static const grb_matcher_ops bool_ops = {bool_next, bool_eval, NULL,
                                         grb_bool_bound};

bool grb_match_bool_is(const grb_matcher *m) {
    return m->ops == &bool_ops;
}

grebe_status grb_match_bool(grb_leaf_run *run, const grb_weight *w,
                            uint32_t depth, grb_matcher **out,
                            grebe_error *err) {
    const grb_weight_list *lists = w->as.list.lists;
    uint32_t required = lists[GREBE_MUST].count + lists[GREBE_FILTER].count;
    uint32_t total =
        required + lists[GREBE_SHOULD].count + lists[GREBE_MUST_NOT].count;
    grb_arena *arena = run->c->arena;
    grebe_status status;
    int parts = 0;
    bool none;
    bool_matcher *b =
        grb_matcher_alloc(run, w, depth, sizeof *b, &bool_ops, 0);
    grb_matcher **items = grb_arena_alloc(arena, (total + 3) * sizeof *items);
    bool *adds = grb_arena_zero(arena, required + 1);
    if (!b || !items || !adds)
        return grb_error_memory(err, total * sizeof *items);
    b->required = items;
    b->adds = adds;
    b->should = items + required + 1;
    b->excluded = b->should + lists[GREBE_SHOULD].count + 1;
    GRB_TRY(lists_open(b, &none, err));
    if (none || (*out = bool_single(b)) != NULL) goto done;
    if (b->must_adds) parts |= GRB_FRAME_MUST;
    if (b->should_adds && b->should_count) parts |= GRB_FRAME_SHOULD;
    if (b->should_min > 1) parts |= GRB_FRAME_PLANES;
    GRB_TRY(grb_frame_make(run->c, depth, parts, &b->frame, err));
    if (w->scored) GRB_TRY(grb_bool_top_make(b, err));
    *out = &b->m;
done:
    return status;
}
