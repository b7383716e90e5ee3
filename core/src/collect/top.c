/* collect/top.c - the best documents by score.
 *
 * A search looks at far more scores than it keeps. The scan compares blocks
 * of 64 scores with the worst one kept, held in a register, and enters the
 * heap only for scores above it. Where windows arrive in insertion order a
 * later equal score never displaces an earlier one: `>` is the whole rule for
 * ties. In a leaf of another order equal scores are let in to be compared.
 *
 * Invariant: see grb_top. Memory follows the matches, never the limit asked.
 * Threads: one search, one thread.
 * Owns: the places, where they outgrow the arena.
 */
#include <math.h>

#include "collect/collect.h"

/* Pages up to here come from the search's arena at once. */
#define TOP_ARENA_MAX 256u
#define TOP_RUN 24u /* runs that insertion sorts before merging */
/* Pages up to here are kept in order instead of as a heap: cheaper for so few,
 * and nothing is left to sort. */
#define TOP_ORDERED_MAX 16u
/* Matches of a window from which whole blocks of scores are compared. */
#define TOP_DENSE 768u

static bool place_before(const grb_place *a, const grb_place *b) {
    if (a->score != b->score) return a->score > b->score;
    if (a->leaf != b->leaf) return a->leaf < b->leaf;
    return a->order < b->order;
}

grebe_status grb_top_init(grb_top *t, grb_search_context *c,
                          const grebe_allocator *a, size_t keep,
                          const grb_after *after, grebe_error *err) {
    memset(t, 0, sizeof *t);
    t->allocator = a;
    t->keep = keep;
    t->after = after;
    size_t first = GRB_MIN(keep, TOP_ARENA_MAX);
    if (first == 0) return GREBE_OK;
    t->items = grb_arena_alloc(c->arena, first * sizeof *t->items);
    if (!t->items) return grb_error_memory(err, first * sizeof *t->items);
    t->capacity = first;
    return GREBE_OK;
}

void grb_top_deinit(grb_top *t) {
    if (t->owned)
        grb_free(t->allocator, t->items, t->capacity * sizeof *t->items);
    t->items = NULL;
    t->owned = false;
}

static grebe_status top_grow(grb_top *t, grebe_error *err) {
    size_t capacity = GRB_MIN(t->keep, t->capacity * 2);
    size_t size = capacity * sizeof *t->items;
    grb_place *items;
    if (t->owned) {
        items = grb_resize(t->allocator, t->items,
                           t->capacity * sizeof *t->items, size);
    } else {
        items = grb_alloc(t->allocator, size);
        if (items) memcpy(items, t->items, t->count * sizeof *items);
    }
    if (!items) return grb_error_memory(err, size);
    t->items = items;
    t->capacity = capacity;
    t->owned = true;
    return GREBE_OK;
}

static void top_sift(grb_place *items, size_t count, size_t at) {
    grb_place moved = items[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count) break;
        if (child + 1 < count &&
            place_before(&items[child], &items[child + 1]))
            child++;
        if (!place_before(&moved, &items[child])) break;
        items[at] = items[child];
        at = child;
    }
    items[at] = moved;
}

/* Puts a place in its order; of a full page the last one goes. */
static void top_insert(grb_top *t, const grb_place *place) {
    size_t at = t->count;
    if (at == t->keep)
        at--;
    else
        t->count++;
    for (; at > 0 && place_before(place, &t->items[at - 1]); at--)
        t->items[at] = t->items[at - 1];
    t->items[at] = *place;
}

/* The last place of a full page. */
static const grb_place *top_last(const grb_top *t) {
    return &t->items[t->keep <= TOP_ORDERED_MAX ? t->count - 1 : 0];
}

bool grb_top_loose(const grb_top *t) {
    return t->order.scattered && t->count == t->keep &&
           top_last(t)->leaf == t->leaf_ord;
}

/* The greatest score that no longer enters a full page. */
static float top_worst(const grb_top *t) {
    float worst = top_last(t)->score;
    return grb_top_loose(t) ? nextafterf(worst, GRB_FLOOR_NONE) : worst;
}

/* Takes a place whose score belongs among the best. */
static grebe_status top_push(grb_top *t, float score, uint32_t doc,
                             grebe_error *err) {
    grb_place place = {score, t->leaf_ord, doc,
                       grb_insertion_of(&t->order, doc)};
    if (t->count == t->keep) {
        t->more = true;
        if (!place_before(&place, top_last(t))) return GREBE_OK;
    }
    if (t->keep <= TOP_ORDERED_MAX) {
        top_insert(t, &place);
        return GREBE_OK;
    }
    if (t->count == t->keep) {
        t->items[0] = place;
        top_sift(t->items, t->count, 0);
        return GREBE_OK;
    }
    if (t->count == t->capacity) {
        grebe_status status = top_grow(t, err);
        if (status != GREBE_OK) return status;
    }
    t->items[t->count++] = place;
    if (t->count == t->keep)
        for (size_t i = t->count / 2; i-- > 0;)
            top_sift(t->items, t->count, i);
    return GREBE_OK;
}

void grb_top_leaf(grb_top *t, uint32_t leaf_ord, const grb_leaf *leaf) {
    t->leaf_ord = leaf_ord;
    grb_insertion_init(&t->order, leaf);
    t->after_order =
        t->after ? grb_insertion_after(&t->order, t->after->sequence) : 0;
}

/* Whether one of 64 scores is above the bound. Scores are never negative, so
 * their bits compare as integers do, which the compiler makes vectors of;
 * places without a match may only answer yes in vain. */
static bool block_above(const float *scores, int32_t bound) {
    int32_t above = 0;
    for (uint32_t i = 0; i < 64; i++) {
        int32_t bits;
        memcpy(&bits, &scores[i], 4);
        above |= bits > bound;
    }
    return above != 0;
}

/* The scan without a cursor. Below zero the bound lets everything in. */
static grebe_status window_scan(grb_top *t, const grb_match_window *w,
                                grebe_error *err) {
    float bound = t->count == t->keep ? top_worst(t) : -1.0f;
    bool dense = w->count >= TOP_DENSE;
    for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++) {
        uint64_t bits = w->bits[i];
        if (bits == 0) continue;
        const float *scores = w->scores + i * 64;
        if (dense && bound >= 0) {
            int32_t bound_bits;
            memcpy(&bound_bits, &bound, 4);
            if (!block_above(scores, bound_bits)) continue;
        }
        for (; bits; bits &= bits - 1) {
            int bit = grb_ctz64(bits);
            if (!(scores[bit] > bound)) continue;
            grebe_status status = top_push(
                t, scores[bit], w->base + i * 64 + (uint32_t)bit, err);
            if (status != GREBE_OK) return status;
            if (t->count == t->keep) bound = top_worst(t);
        }
    }
    return GREBE_OK;
}

static float after_score(const grb_after *after) {
    int32_t bits = (int32_t)~after->cells[0].word;
    float score;
    memcpy(&score, &bits, 4);
    return score;
}

/* One match behind a cursor or with a constant score. */
static grebe_status match_take(grb_top *t, float score, uint32_t doc,
                               grebe_error *err) {
    if (t->after) {
        float last = after_score(t->after);
        if (score > last ||
            (score == last &&
             grb_insertion_of(&t->order, doc) < t->after_order)) {
            t->passed++;
            return GREBE_OK;
        }
    }
    if (t->count < t->keep || score > top_worst(t))
        return top_push(t, score, doc, err);
    t->more = true;
    return GREBE_OK;
}

static grebe_status window_walk(grb_top *t, const grb_match_window *w,
                                grebe_error *err) {
    for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++) {
        for (uint64_t bits = w->bits[i]; bits; bits &= bits - 1) {
            uint32_t at = i * 64 + (uint32_t)grb_ctz64(bits);
            float score = w->scores ? w->scores[at] : 1.0f;
            grebe_status status = match_take(t, score, w->base + at, err);
            if (status != GREBE_OK) return status;
            if (t->more && !w->scores && !grb_top_loose(t)) return GREBE_OK;
        }
    }
    return GREBE_OK;
}

grebe_status grb_top_window(grb_top *t, const grb_match_window *w,
                            grebe_error *err) {
    if (t->keep == 0) return GREBE_OK;
    if (t->after || !w->scores) {
        /* Equal scores: once one was left out, all later ones are. */
        if (t->more && !w->scores && !grb_top_loose(t)) return GREBE_OK;
        return window_walk(t, w, err);
    }
    if (t->count + w->count > t->keep) t->more = true;
    return window_scan(t, w, err);
}

grebe_status grb_top_list(grb_top *t, const grb_match_list *l,
                          grebe_error *err) {
    if (t->keep == 0) return GREBE_OK;
    if (t->after) {
        for (uint32_t i = 0; i < l->count; i++) {
            grebe_status status = match_take(t, l->scores[i], l->docs[i], err);
            if (status != GREBE_OK) return status;
        }
        return GREBE_OK;
    }
    float bound = grb_top_floor(t);
    if (t->count + l->count > t->keep) t->more = true;
    for (uint32_t i = 0; i < l->count; i++) {
        if (!(l->scores[i] > bound)) continue;
        grebe_status status = top_push(t, l->scores[i], l->docs[i], err);
        if (status != GREBE_OK) return status;
        bound = grb_top_floor(t);
    }
    return GREBE_OK;
}

/* Matches with the cursor's own score are counted as passed, or taken, one by
 * one: they stay above the floor. */
float grb_top_floor(const grb_top *t) {
    if (t->keep == 0 || t->count < t->keep) return GRB_FLOOR_NONE;
    float worst = top_worst(t);
    if (t->after && worst == after_score(t->after))
        return nextafterf(worst, GRB_FLOOR_NONE);
    return worst;
}

static void run_sort(grb_place *items, size_t count) {
    for (size_t i = 1; i < count; i++) {
        grb_place moved = items[i];
        size_t at = i;
        for (; at > 0 && place_before(&moved, &items[at - 1]); at--)
            items[at] = items[at - 1];
        items[at] = moved;
    }
}

static void run_merge(const grb_place *from, size_t middle, size_t end,
                      grb_place *to) {
    size_t a = 0, b = middle;
    while (a < middle && b < end)
        *to++ = place_before(&from[b], &from[a]) ? from[b++] : from[a++];
    memcpy(to, from + a, (middle - a) * sizeof *to);
    memcpy(to + (middle - a), from + b, (end - b) * sizeof *to);
}

/* Bottom-up merge sort between the items and a copy of the same size. */
static grebe_status top_merge(grb_top *t, grb_place *other, grb_budget *budget,
                              grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_place *from = t->items, *to = other;
    size_t done = 0;
    for (size_t at = 0; at < t->count; at += TOP_RUN) {
        size_t count = GRB_MIN(TOP_RUN, t->count - at);
        GRB_TRY(grb_budget_poll(budget, &done, count, err));
        run_sort(from + at, count);
    }
    for (size_t run = TOP_RUN; run < t->count; run *= 2) {
        for (size_t at = 0; at < t->count; at += 2 * run) {
            size_t end = GRB_MIN(2 * run, t->count - at);
            GRB_TRY(grb_budget_poll(budget, &done, end, err));
            run_merge(from + at, GRB_MIN(run, end), end, to + at);
        }
        grb_place *swap = from;
        from = to;
        to = swap;
    }
    if (from != t->items) memcpy(t->items, from, t->count * sizeof *from);
done:
    return status;
}

grebe_status grb_top_finish(grb_top *t, grb_budget *budget, grebe_error *err) {
    size_t sorted = 1;
    while (sorted < t->count &&
           place_before(&t->items[sorted - 1], &t->items[sorted]))
        sorted++;
    if (sorted >= t->count) return GREBE_OK;
    if (t->count <= TOP_RUN) {
        run_sort(t->items, t->count);
        return GREBE_OK;
    }
    size_t size = t->count * sizeof *t->items;
    grb_place *other = grb_alloc(t->allocator, size);
    if (!other) return grb_error_memory(err, size);
    grebe_status status = top_merge(t, other, budget, err);
    grb_free(t->allocator, other, size);
    return status;
}
