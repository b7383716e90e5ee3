/* search/clauses.c - the one form of a bool's lists.
 *
 * Scores are sums of floats in double that are rounded once a list, so it
 * matters which clauses are added in one list. The form is Lucene's: the same
 * clause several times is one clause with the boosts added; a disjunction
 * directly in a disjunction, and a conjunction in a conjunction, is one list
 * with it; `should` clauses that must all match are `must`.
 *
 * Invariant: equal nodes have equal hashes; `own` takes no part in either.
 * Threads: one search, one tree.
 * Owns: nothing.
 */
#include "search/weight.h"

/* ---- identity ---- */

static uint64_t bytes_hash(const void *bytes, size_t size, uint64_t seed) {
    return grb_hash(bytes ? bytes : "", bytes ? size : 0,
                    seed * 31 + size + (bytes == NULL));
}

static uint64_t number_hash(uint64_t v, uint64_t seed) {
    return grb_hash(&v, sizeof v, seed);
}

static uint64_t own_mix(const grb_weight *w) {
    uint32_t bits;
    memcpy(&bits, &w->own, 4);
    return number_hash(bits, w->hash);
}

/* Order does not matter in a list: hashes are added. */
static uint64_t list_hash(const grb_weight_list *list) {
    uint64_t sum = list->count;
    for (uint32_t i = 0; i < list->count; i++) sum += own_mix(list->items[i]);
    return sum;
}

static uint64_t phrase_hash(const grb_weight *w, uint64_t h) {
    h = number_hash(w->as.phrase.slop, h);
    for (uint32_t i = 0; i < w->as.phrase.slot_count; i++) {
        const grb_phrase_slot *slot = &w->as.phrase.slots[i];
        h = number_hash((uint64_t)slot->place << 32 | slot->count, h);
    }
    for (uint32_t i = 0; i < w->as.phrase.term_count; i++)
        h = bytes_hash(w->as.phrase.terms[i].bytes, w->as.phrase.terms[i].size,
                       h);
    return h;
}

static uint64_t range_hash(const grb_byte_range *r, uint64_t h) {
    h = bytes_hash(r->lower, r->lower_size, h);
    h = bytes_hash(r->upper, r->upper_size, h);
    return number_hash((uint64_t)r->lower_out << 2 |
                           (uint64_t)r->upper_out << 1 | r->prefix,
                       h);
}

void grb_weight_identify(grb_weight *w) {
    uint64_t h = (uint64_t)w->kind << 32 | (w->field ? w->field->id + 1 : 0);
    uint32_t tie;
    switch (w->kind) {
    case GRB_WEIGHT_TERM:
        h = bytes_hash(w->as.term.bytes, w->as.term.size, h);
        break;
    case GRB_WEIGHT_KEY:
        h = number_hash(w->as.key.key.hash, h);
        break;
    case GRB_WEIGHT_PHRASE:
        h = phrase_hash(w, h);
        break;
    case GRB_WEIGHT_TERMS:
        h = range_hash(&w->as.range, h);
        break;
    case GRB_WEIGHT_COLUMN:
        h = number_hash((uint64_t)w->as.column.lower, h);
        h = number_hash((uint64_t)w->as.column.upper, h);
        break;
    case GRB_WEIGHT_BOOL:
        for (int i = 0; i < 4; i++)
            h = number_hash(list_hash(&w->as.list.lists[i]), h);
        h = number_hash(w->as.list.should_min, h);
        break;
    case GRB_WEIGHT_DISMAX:
        memcpy(&tie, &w->as.dismax.tie, 4);
        h = number_hash(tie, number_hash(list_hash(&w->as.dismax.queries), h));
        break;
    case GRB_WEIGHT_CONSTANT:
        h = number_hash(w->as.child->hash, h);
        break;
    default:
        break;
    }
    w->hash = h;
}

static bool bytes_equal(const void *a, size_t a_size, const void *b,
                        size_t b_size) {
    if (a_size != b_size || !a != !b) return false;
    return a_size == 0 || memcmp(a, b, a_size) == 0;
}

static bool weight_equal(const grb_weight *a, const grb_weight *b);

/* Lists of equal hash and length: each of one is somewhere in the other. */
static bool list_equal(const grb_weight_list *a, const grb_weight_list *b) {
    if (a->count != b->count) return false;
    for (uint32_t i = 0; i < a->count; i++) {
        const grb_weight *x = a->items[i];
        bool found = false;
        for (uint32_t k = 0; k < b->count && !found; k++) {
            const grb_weight *y = b->items[(i + k) % b->count];
            found =
                x->hash == y->hash && x->own == y->own && weight_equal(x, y);
        }
        if (!found) return false;
    }
    return true;
}

static bool phrase_equal(const grb_weight *a, const grb_weight *b) {
    if (a->as.phrase.slop != b->as.phrase.slop ||
        a->as.phrase.slot_count != b->as.phrase.slot_count ||
        a->as.phrase.term_count != b->as.phrase.term_count ||
        memcmp(a->as.phrase.slots, b->as.phrase.slots,
               a->as.phrase.slot_count * sizeof *a->as.phrase.slots) != 0)
        return false;
    for (uint32_t i = 0; i < a->as.phrase.term_count; i++) {
        const grb_bound_term *x = &a->as.phrase.terms[i];
        const grb_bound_term *y = &b->as.phrase.terms[i];
        if (!bytes_equal(x->bytes, x->size, y->bytes, y->size)) return false;
    }
    return true;
}

static bool range_equal(const grb_byte_range *a, const grb_byte_range *b) {
    return a->lower_out == b->lower_out && a->upper_out == b->upper_out &&
           a->prefix == b->prefix &&
           bytes_equal(a->lower, a->lower_size, b->lower, b->lower_size) &&
           bytes_equal(a->upper, a->upper_size, b->upper, b->upper_size);
}

static bool bool_equal(const grb_weight *a, const grb_weight *b) {
    for (int i = 0; i < 4; i++)
        if (!list_equal(&a->as.list.lists[i], &b->as.list.lists[i]))
            return false;
    return a->as.list.should_min == b->as.list.should_min;
}

/* The same query but for `own`. As deep as the query, see rewrite.c. */
static bool weight_equal(const grb_weight *a, const grb_weight *b) {
    if (a->hash != b->hash || a->kind != b->kind || a->field != b->field)
        return false;
    switch (a->kind) {
    case GRB_WEIGHT_TERM:
        return bytes_equal(a->as.term.bytes, a->as.term.size, b->as.term.bytes,
                           b->as.term.size);
    case GRB_WEIGHT_KEY:
        return bytes_equal(a->as.key.key.bytes, a->as.key.key.size,
                           b->as.key.key.bytes, b->as.key.key.size);
    case GRB_WEIGHT_PHRASE:
        return phrase_equal(a, b);
    case GRB_WEIGHT_TERMS:
        return range_equal(&a->as.range, &b->as.range);
    case GRB_WEIGHT_COLUMN:
        return a->as.column.lower == b->as.column.lower &&
               a->as.column.upper == b->as.column.upper;
    case GRB_WEIGHT_BOOL:
        return bool_equal(a, b);
    case GRB_WEIGHT_DISMAX:
        return a->as.dismax.tie == b->as.dismax.tie &&
               list_equal(&a->as.dismax.queries, &b->as.dismax.queries);
    case GRB_WEIGHT_CONSTANT:
        return weight_equal(a->as.child, b->as.child);
    default:
        return true;
    }
}

/* ---- lists ---- */

/* Merges equal clauses, keeping the place of the first: boosts are added (in
 * double, rounded once) if `add`. */
static grebe_status list_merge(grb_search_context *c, grb_weight_list *list,
                               bool add, grebe_error *err) {
    uint32_t size = 4, kept = 0, *slots;
    double *sums;
    if (list->count < 2) return GREBE_OK;
    while (size < list->count * 2) size *= 2;
    slots = grb_arena_zero(c->arena, size * sizeof *slots);
    sums = grb_arena_alloc(c->arena, list->count * sizeof *sums);
    if (!slots || !sums) return grb_error_memory(err, size * sizeof *slots);
    for (uint32_t i = 0; i < list->count; i++) {
        grb_weight *w = list->items[i];
        uint32_t at = (uint32_t)w->hash & (size - 1);
        while (slots[at] && !weight_equal(list->items[slots[at] - 1], w))
            at = (at + 1) & (size - 1);
        if (slots[at]) {
            sums[slots[at] - 1] += (double)w->own;
        } else {
            list->items[kept] = w;
            sums[kept] = (double)w->own;
            slots[at] = ++kept;
        }
    }
    for (uint32_t i = 0; add && i < kept; i++)
        list->items[i]->own = (float)sums[i];
    list->count = kept;
    return GREBE_OK;
}

static bool list_only(const grb_weight *w, grebe_occur occur) {
    if (w->kind != GRB_WEIGHT_BOOL || w->own != 1.0f) return false;
    for (int i = 0; i < 4; i++)
        if (w->as.list.lists[i].count && i != (int)occur) return false;
    return occur == GREBE_MUST || w->as.list.should_min <= 1;
}

/* Puts the clauses of bools of nothing but `occur` in their place. */
static grebe_status list_flatten(grb_search_context *c, grb_weight_list *list,
                                 grebe_occur occur, bool *changed,
                                 grebe_error *err) {
    uint32_t count = 0, at = 0;
    grb_weight **items;
    *changed = false;
    for (uint32_t i = 0; i < list->count; i++) {
        bool flat = list_only(list->items[i], occur);
        count += flat ? list->items[i]->as.list.lists[occur].count : 1;
        *changed |= flat;
    }
    if (!*changed) return GREBE_OK;
    items = grb_arena_alloc(c->arena, count * sizeof *items);
    if (!items) return grb_error_memory(err, count * sizeof *items);
    for (uint32_t i = 0; i < list->count; i++) {
        const grb_weight_list *inner = &list->items[i]->as.list.lists[occur];
        if (!list_only(list->items[i], occur)) {
            items[at++] = list->items[i];
            continue;
        }
        memcpy(items + at, inner->items, inner->count * sizeof *items);
        at += inner->count;
    }
    list->items = items;
    list->count = count;
    return GREBE_OK;
}

/* Merging and flattening until nothing changes: inner lists are in this form
 * already, so twice is enough. */
static grebe_status list_settle(grb_search_context *c, grb_weight_list *list,
                                grebe_occur occur, grebe_error *err) {
    grebe_status status;
    bool changed;
    do {
        GRB_TRY(list_merge(c, list, true, err));
        GRB_TRY(list_flatten(c, list, occur, &changed, err));
    } while (changed);
done:
    return status;
}

/* All `should` must match: they count as `must`. */
static grebe_status should_promote(grb_search_context *c,
                                   grb_weight_list *lists, grebe_error *err) {
    grb_weight_list *must = &lists[GREBE_MUST], *should = &lists[GREBE_SHOULD];
    uint32_t count = must->count + should->count;
    grb_weight **items = grb_arena_alloc(c->arena, count * sizeof *items);
    if (!items) return grb_error_memory(err, count * sizeof *items);
    if (must->count) memcpy(items, must->items, must->count * sizeof *items);
    memcpy(items + must->count, should->items, should->count * sizeof *items);
    must->items = items;
    must->count = count;
    should->count = 0;
    return GREBE_OK;
}

grebe_status grb_weight_clauses(grb_search_context *c, grb_weight *w,
                                grb_weight **out, grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_weight_list *lists = w->as.list.lists;
    grb_weight_list *must = &lists[GREBE_MUST], *should = &lists[GREBE_SHOULD];
    uint32_t *mm = &w->as.list.should_min;
    *out = w;
    if (*mm <= 1) GRB_TRY(list_settle(c, should, GREBE_SHOULD, err));
    if (*mm && *mm == should->count) {
        GRB_TRY(should_promote(c, lists, err));
        *mm = 0;
    }
    GRB_TRY(list_settle(c, must, GREBE_MUST, err));
    GRB_TRY(list_merge(c, &lists[GREBE_FILTER], false, err));
    GRB_TRY(list_merge(c, &lists[GREBE_MUST_NOT], false, err));
    if (*mm > should->count ||
        must->count + should->count + lists[GREBE_FILTER].count == 0) {
        w->kind = GRB_WEIGHT_NONE;
        goto done;
    }
    if (lists[GREBE_FILTER].count == 0 && lists[GREBE_MUST_NOT].count == 0 &&
        must->count + should->count == 1) {
        *out = must->count ? must->items[0] : should->items[0];
        (*out)->own = w->own * (*out)->own;
    }
done:
    return status;
}
