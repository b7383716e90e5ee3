/* collect/ranked.c - the best documents by columns.
 *
 * Numbers compare across segments, ordinals of keywords do not. Without
 * keyword keys one heap serves the whole search. With them each leaf has a
 * heap of its own, compared by ranks; at its end the bytes of the few that
 * were kept are resolved and merged with those of the leaves before.
 * A window is first asked for its extremes: one that cannot enter a full heap
 * is never decoded. Of a window the first key is looked at for each match,
 * the others only for matches that the first one lets in.
 *
 * Invariant: `pool` and `merged` hold at most `keep` items; words of `pool`
 * compare among themselves.
 * Threads: one search, one thread.
 * Owns: items and the bytes of their keywords.
 */
#include "collect/collect.h"
#include "segment/column_window.h"

grebe_status grb_ranked_init(grb_ranked *r, grb_search_context *c,
                             const grebe_allocator *a,
                             const grb_sort_plan *plan, size_t keep,
                             const grb_after *after, grebe_error *err) {
    memset(r, 0, sizeof *r);
    r->context = c;
    r->plan = plan;
    r->after = after;
    r->keep = keep;
    grb_arena_init(&r->bytes, a, 0);
    grb_items_init(&r->pool, a, plan);
    grb_items_init(&r->merged, a, plan);
    grb_items_init(&r->spare, a, plan);
    return GREBE_OK;
}

void grb_ranked_deinit(grb_ranked *r) {
    grb_arena_deinit(&r->bytes);
    grb_items_deinit(&r->pool);
    grb_items_deinit(&r->merged);
    grb_items_deinit(&r->spare);
}

/* Ordinals in the order of their ranks; ranks may have gaps where a growing
 * segment has newer values. */
static grebe_status source_invert(grb_ranked *r, grb_ranked_source *s,
                                  grebe_error *err) {
    uint32_t count = s->column->ord_count, greatest = 0, used = 0;
    for (uint32_t ord = 0; ord < count; ord++)
        greatest = GRB_MAX(greatest, s->ranks[ord]);
    size_t size = ((size_t)greatest + 1) * sizeof *s->by_rank;
    s->by_rank = grb_arena_alloc(r->context->arena, size);
    if (!s->by_rank) return grb_error_memory(err, size);
    memset(s->by_rank, 0xff, size);
    for (uint32_t ord = 0; ord < count; ord++) s->by_rank[s->ranks[ord]] = ord;
    for (uint32_t rank = 0; rank <= greatest; rank++)
        if (s->by_rank[rank] != UINT32_MAX)
            s->by_rank[used++] = s->by_rank[rank];
    return GREBE_OK;
}

/* Turns a keyword cell that has bytes into this leaf's words: twice its rank,
 * or, where the leaf lacks it, the odd number before the next greater. */
static grebe_status cell_localise(grb_ranked *r, grb_ranked_source *s,
                                  const grb_sort_key *key, grb_sort_cell *cell,
                                  grebe_error *err) {
    grebe_status status = GREBE_OK;
    if (cell->state != GRB_CELL_VALUE || !s->column) return GREBE_OK;
    uint32_t low = 0, high = s->column->ord_count, count = high;
    bool equal = false;
    if (count == 0) return GREBE_OK;
    if (s->ranks && !s->by_rank) GRB_TRY(source_invert(r, s, err));
    while (low < high && !equal) {
        uint32_t middle = low + (high - low) / 2, size;
        uint32_t ord = s->by_rank ? s->by_rank[middle] : middle;
        const uint8_t *bytes;
        GRB_TRY(s->column->ord_bytes(s->column, ord, &bytes, &size, err));
        uint32_t least = GRB_MIN(size, cell->size);
        int order = least ? memcmp(bytes, cell->bytes, least) : 0;
        if (order == 0) order = (size > cell->size) - (size < cell->size);
        equal = order == 0;
        if (order < 0)
            low = middle + 1;
        else if (order > 0)
            high = middle;
        else
            low = middle;
    }
    uint32_t at = GRB_MIN(low, count - 1);
    int64_t word = 2 * (int64_t)(s->ranks ? s->ranks[s->by_rank[at]] : at);
    word += equal ? 0 : low == count ? 1 : -1;
    cell->word = key->desc ? ~word : word;
done:
    return status;
}

static grebe_status source_open(grb_ranked *r, uint32_t i,
                                const grb_leaf *leaf, grebe_error *err) {
    const grb_sort_key *key = &r->plan->keys[i];
    grb_ranked_source *s = &r->sources[i];
    memset(s, 0, sizeof *s);
    if (r->after) s->after = r->after->cells[i];
    if (key->source != GRB_SORT_COLUMN) {
        /* A cursor holds no document for `_order`: its sequence decides. */
        if (key->source == GRB_SORT_ORDER && r->after) {
            uint64_t sequence = r->after->sequence, place = r->order.first;
            if (r->order.scattered)
                place = sequence;
            else if (sequence > 0)
                place = grb_insertion_after(&r->order, sequence - 1);
            s->after.word = ~(int64_t)place;
            s->after.state = GRB_CELL_VALUE;
        }
        return GREBE_OK;
    }
    grebe_status status;
    GRB_TRY(leaf->segment->ops->column_open(leaf->segment, &leaf->bounds,
                                            key->field, r->context->arena,
                                            &s->column, err));
    if (!s->column || !key->keyword) return GREBE_OK;
    GRB_TRY(s->column->ord_ranks(s->column, &s->ranks, err));
    if (r->after) GRB_TRY(cell_localise(r, s, key, &s->after, err));
done:
    return status;
}

static grebe_status leaf_close(grb_ranked *r, grebe_error *err);

grebe_status grb_ranked_leaf(grb_ranked *r, uint32_t leaf_ord,
                             const grb_leaf *leaf, grebe_error *err) {
    grebe_status status = GREBE_OK;
    if (r->keep == 0) return GREBE_OK;
    if (r->plan->keyword) GRB_TRY(leaf_close(r, err));
    r->leaf_ord = leaf_ord;
    grb_insertion_init(&r->order, leaf);
    r->after_order =
        r->after ? grb_insertion_after(&r->order, r->after->sequence) : 0;
    for (uint32_t i = 0; i < r->plan->count; i++)
        GRB_TRY(source_open(r, i, leaf, err));
    if (!r->plan->keyword || r->merged.count < r->keep) return GREBE_OK;
    /* The worst of a full page bounds the first key of this leaf too. */
    r->bounded = true;
    r->bound = grb_items_at(&r->merged, r->keep - 1)->cells[0];
    if (r->plan->keys[0].keyword)
        GRB_TRY(cell_localise(r, &r->sources[0], &r->plan->keys[0], &r->bound,
                              err));
done:
    return status;
}

static void cell_missing(const grb_sort_key *key, grb_sort_cell *out) {
    out->state = key->missing_first ? GRB_CELL_FIRST : GRB_CELL_LAST;
    out->word = 0;
    out->size = 0;
}

/* Least or greatest of a document's values. */
static void cell_column(const grb_sort_key *key, const grb_ranked_source *s,
                        uint32_t at, grb_sort_cell *out) {
    const grb_column_window *w = &s->window;
    uint32_t from = at, to = at + 1;
    if (!s->column || !w->any || (!w->all && !grb_bit(w->present, at))) {
        cell_missing(key, out);
        return;
    }
    if (w->offsets) {
        from = w->offsets[at];
        to = w->offsets[at + 1];
    }
    out->state = GRB_CELL_VALUE;
    out->word = INT64_MAX;
    out->size = 0;
    if (from == to) cell_missing(key, out);
    for (uint32_t i = from; i < to; i++) {
        int64_t value = grb_column_value(w, i), word = value;
        if (key->keyword) {
            if ((uint64_t)value >= s->column->ord_count) continue;
            word = 2 * (int64_t)(s->ranks ? s->ranks[value] : (uint32_t)value);
        }
        if (key->desc) word = ~word;
        if (i > from && word >= out->word) continue;
        out->word = word;
        out->size = key->keyword ? (uint32_t)value : 0;
    }
}

/* The column's window with the values of its matches, read once. */
static grebe_status source_ready(const grb_ranked *r, grb_ranked_source *s,
                                 const grb_match_window *w, grebe_error *err) {
    if (s->ready || !s->column) return GREBE_OK;
    s->ready = true;
    return grb_column_pick(s->column, r->context->off & GRB_OFF_COLUMNS,
                           w->base, r->wanted, &s->window, err);
}

static grebe_status cell_fill(grb_ranked *r, uint32_t i,
                              const grb_match_window *w, uint32_t at,
                              grb_sort_cell *out, grebe_error *err) {
    const grb_sort_key *key = &r->plan->keys[i];
    out->bytes = NULL;
    if (key->source == GRB_SORT_COLUMN) {
        grebe_status status = source_ready(r, &r->sources[i], w, err);
        if (status == GREBE_OK) cell_column(key, &r->sources[i], at, out);
        return status;
    }
    out->state = GRB_CELL_VALUE;
    out->size = 0;
    if (key->source == GRB_SORT_SCORE) {
        float score = w->scores ? w->scores[at] : 1.0f;
        int32_t bits;
        memcpy(&bits, &score, 4);
        out->word = bits;
    } else {
        out->word = (int64_t)grb_insertion_of(&r->order, w->base + at);
    }
    if (key->desc) out->word = ~out->word;
    return GREBE_OK;
}

static int cell_compare(const grb_sort_cell *a, const grb_sort_cell *b) {
    if (a->state != b->state) return a->state < b->state ? -1 : 1;
    if (a->state != GRB_CELL_VALUE || a->word == b->word) return 0;
    return a->word < b->word ? -1 : 1;
}

/* Whether the item comes after the cursor. */
static bool item_after(const grb_ranked *r, const grb_item *item) {
    for (uint32_t i = 0; i < r->plan->count; i++) {
        int order = cell_compare(&item->cells[i], &r->sources[i].after);
        if (order != 0 || r->plan->keys[i].source == GRB_SORT_ORDER)
            return order > 0;
    }
    return item->order >= r->after_order;
}

/* What of the first key can still enter a full pool. */
static void pool_bound(grb_ranked *r) {
    r->bounded = r->plan->count > 0;
    if (!r->bounded) return;
    /* The bound of the leaves before may be the tighter one. */
    const grb_sort_cell *worst = &grb_items_at(&r->pool, 0)->cells[0];
    if (!r->plan->keyword || r->merged.count < r->keep ||
        cell_compare(worst, &r->bound) < 0)
        r->bound = *worst;
}

/* The pool becomes a heap when it first has one too many: where all are kept
 * it never does. */
static grebe_status pool_push(grb_ranked *r, const grb_item *item,
                              grebe_error *err) {
    grb_items *pool = &r->pool;
    if (pool->count < r->keep) {
        if (pool->count == pool->capacity) {
            size_t more = GRB_MAX(pool->capacity * 2, 16);
            grebe_status status =
                grb_items_reserve(pool, GRB_MIN(more, r->keep), err);
            if (status != GREBE_OK) return status;
        }
        grb_item_copy(grb_items_at(pool, pool->count++), item, pool->stride);
        return GREBE_OK;
    }
    r->more = true;
    if (!r->heaped) grb_items_heapify(pool);
    r->heaped = true;
    if (grb_item_compare(r->plan, item, grb_items_at(pool, 0), false) < 0) {
        grb_item_copy(grb_items_at(pool, 0), item, pool->stride);
        grb_items_sift(pool, 0);
    }
    pool_bound(r);
    return GREBE_OK;
}

/* What a document's first key may be for it to come behind the cursor and
 * before the bound: values from `lower` to `upper`, if `values`, or none at
 * all, if `missing`. */
typedef struct key_room {
    bool values, missing;
    int64_t lower, upper;
} key_room;

/* Words of the first key to values of its column: an interval stays one. */
static void room_values(const grb_sort_key *key, int64_t low, int64_t high,
                        key_room *out) {
    int64_t lower = key->desc ? ~high : low, upper = key->desc ? ~low : high;
    if (key->keyword) {
        /* Twice the ordinal, or an odd number between two of them. */
        lower = lower / 2 + (lower > 0 && lower % 2);
        upper = upper >= 0 ? upper / 2 : -1;
    }
    out->lower = lower;
    out->upper = upper;
    out->values &= lower <= upper;
}

static key_room room_make(const grb_ranked *r) {
    const grb_sort_key *key = &r->plan->keys[0];
    const grb_sort_cell *after = &r->sources[0].after, *bound = &r->bound;
    key_room out = {.values = true, .missing = true};
    int64_t low = INT64_MIN, high = INT64_MAX;
    /* With one key, who comes later with the same value is behind. */
    bool alone = r->plan->count == 1 && !r->order.scattered;
    grb_sort_cell missing;
    cell_missing(key, &missing);
    if (r->bounded) {
        out.values = bound->state >= GRB_CELL_VALUE;
        out.missing = missing.state < bound->state + !alone;
        if (bound->state == GRB_CELL_VALUE) high = bound->word;
        if (alone && bound->state == GRB_CELL_VALUE) {
            out.values = high > INT64_MIN;
            high -= out.values;
        }
    }
    if (r->after) {
        out.values &= after->state <= GRB_CELL_VALUE;
        out.missing &= missing.state >= after->state;
        if (after->state == GRB_CELL_VALUE) low = after->word;
    }
    room_values(key, low, high, &out);
    return out;
}

/* Whether the first key decides by intervals of its column's values. */
static bool room_can(const grb_ranked *r) {
    const grb_sort_key *key = &r->plan->keys[0];
    const grb_ranked_source *s = &r->sources[0];
    if (r->plan->count == 0 || key->source != GRB_SORT_COLUMN ||
        (r->context->off & GRB_OFF_COLUMNS))
        return false;
    /* Of what the cursor leaves out nobody knows whether it was counted as
     * more to come, of several values not which is the key. */
    if (r->after &&
        ((r->bounded && !r->more) || (s->column && s->column->many)))
        return false;
    return (r->bounded || r->after) && !s->ranks;
}

/* Whether no document of a window can enter, by its extremes. */
static grebe_status room_misses(grb_ranked *r, const key_room *room,
                                uint32_t base, bool *misses,
                                grebe_error *err) {
    grb_ranked_source *s = &r->sources[0];
    bool values = room->values && s->column;
    *misses = !room->missing && !values;
    if (room->missing || !values) return GREBE_OK;
    grebe_status status =
        s->column->window(s->column, base, false, &s->window, err);
    *misses =
        status == GREBE_OK && (!s->window.any || s->window.max < room->lower ||
                               s->window.min > room->upper);
    return status;
}

/* Keeps of `wanted` what can enter; values are compared as they are packed. */
static grebe_status room_keep(grb_ranked *r, uint32_t base, grebe_error *err) {
    grebe_status status = GREBE_OK;
    key_room room = room_make(r);
    grb_column *column = r->sources[0].column;
    uint64_t having[GRB_WINDOW_WORDS] = {0};
    bool misses;
    GRB_TRY(room_misses(r, &room, base, &misses, err));
    if (misses) {
        memset(r->wanted, 0, sizeof r->wanted);
        return GREBE_OK;
    }
    if (room.missing && column) {
        memcpy(having, r->wanted, sizeof having);
        GRB_TRY(grb_column_between(column, false, base, INT64_MIN, INT64_MAX,
                                   having, err));
    }
    uint64_t missing[GRB_WINDOW_WORDS];
    for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++)
        missing[i] = room.missing ? r->wanted[i] & ~having[i] : 0;
    if (room.values && column)
        GRB_TRY(grb_column_between(column, false, base, room.lower, room.upper,
                                   r->wanted, err));
    else
        memset(r->wanted, 0, sizeof r->wanted);
    for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++) r->wanted[i] |= missing[i];
done:
    return status;
}

bool grb_ranked_loose(const grb_ranked *r) {
    return r->order.scattered;
}

grebe_status grb_ranked_skips(grb_ranked *r, uint32_t base, bool *skips,
                              grebe_error *err) {
    *skips = false;
    if (!r->more || !r->bounded || !room_can(r)) return GREBE_OK;
    key_room room = room_make(r);
    return room_misses(r, &room, base, skips, err);
}

/* Those of 64 matches whose first key is not behind the bound. */
static uint64_t word_survivors(const grb_ranked *r, uint32_t at,
                               uint64_t bits) {
    const grb_sort_key *key = &r->plan->keys[0];
    const grb_ranked_source *s = &r->sources[0];
    const grb_column_window *w = &s->window;
    uint64_t present = w->all ? bits : bits & w->present[at / 64];
    uint64_t kept = bits & ~present;
    grb_sort_cell missing;
    cell_missing(key, &missing);
    if (missing.state > r->bound.state) kept = 0;
    if (r->bound.state != GRB_CELL_VALUE)
        return r->bound.state == GRB_CELL_LAST ? kept | present : kept;
    int64_t flip = key->desc ? -1 : 0, bound = r->bound.word;
    if (!key->keyword) {
        for (; present; present &= present - 1) {
            int bit = grb_ctz64(present);
            int64_t value = grb_column_value(w, at + (uint32_t)bit);
            kept |= (uint64_t)((value ^ flip) <= bound) << bit;
        }
        return kept;
    }
    for (; present; present &= present - 1) {
        int bit = grb_ctz64(present);
        int64_t word = grb_column_value(w, at + (uint32_t)bit);
        if ((uint64_t)word >= s->column->ord_count) continue;
        if (s->ranks) word = s->ranks[word];
        kept |= (uint64_t)((word * 2 ^ flip) <= bound) << bit;
    }
    return kept;
}

/* A match that its first key lets in, and the whole item if so. */
static grebe_status match_take(grb_ranked *r, const grb_match_window *w,
                               uint32_t at, grb_item *item, grebe_error *err) {
    grebe_status status = GREBE_OK;
    item->doc = w->base + at;
    for (uint32_t k = 0; k < r->plan->count; k++) {
        GRB_TRY(cell_fill(r, k, w, at, &item->cells[k], err));
        if (k > 0 || !r->bounded || r->after) continue;
        if (cell_compare(&item->cells[0], &r->bound) <= 0) continue;
        r->more = true;
        return GREBE_OK;
    }
    item->order = grb_insertion_of(&r->order, item->doc);
    if (!r->after || item_after(r, item)) GRB_TRY(pool_push(r, item, err));
done:
    return status;
}

/* Makes `wanted` the matches that can still enter; false: none. */
static grebe_status wanted_make(grb_ranked *r, const grb_match_window *w,
                                bool *some, grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint64_t lost = 0, left = 0;
    /* In insertion order alone, whatever comes behind a full page is out. */
    if (r->plan->count == 0 && r->pool.count == r->keep &&
        !grb_ranked_loose(r)) {
        r->more = true;
        *some = false;
        return GREBE_OK;
    }
    *some = true;
    memcpy(r->wanted, w->bits, sizeof r->wanted);
    if (!room_can(r)) return GREBE_OK;
    GRB_TRY(room_keep(r, w->base, err));
    for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++) {
        lost |= r->wanted[i] ^ w->bits[i];
        left |= r->wanted[i];
    }
    /* Before a bound only the cursor leaves out, and that is no more to come.
     */
    if (r->bounded && lost) r->more = true;
    *some = left != 0;
done:
    return status;
}

grebe_status grb_ranked_window(grb_ranked *r, const grb_match_window *w,
                               grebe_error *err) {
    _Alignas(grb_item) char
        space[sizeof(grb_item) + GRB_SORT_KEYS_MAX * sizeof(grb_sort_cell)];
    grb_item *item = (grb_item *)space;
    grebe_status status = GREBE_OK;
    bool some = false;
    if (r->keep == 0) return GREBE_OK;
    for (uint32_t i = 0; i < r->plan->count; i++) r->sources[i].ready = false;
    GRB_TRY(wanted_make(r, w, &some, err));
    if (!some) return GREBE_OK;
    if (r->plan->count > 0) GRB_TRY(source_ready(r, &r->sources[0], w, err));
    bool fast = r->plan->count > 0 && r->sources[0].column && !r->after &&
                r->sources[0].window.any && !r->sources[0].window.offsets;
    item->leaf = r->leaf_ord;
    for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++) {
        uint64_t bits = r->wanted[i];
        if (fast && r->bounded && bits) {
            bits = word_survivors(r, i * 64, bits);
            r->more |= bits != r->wanted[i];
        }
        for (; bits; bits &= bits - 1)
            GRB_TRY(match_take(r, w, i * 64 + (uint32_t)grb_ctz64(bits), item,
                               err));
    }
done:
    return status;
}

/* Gives the keyword cells of a leaf's sorted items their bytes; neighbours
 * with the same ordinal share them. */
static grebe_status pool_resolve(grb_ranked *r, uint32_t i, grebe_error *err) {
    const grb_sort_cell *before = NULL;
    uint32_t before_ord = 0;
    size_t done = 0;
    grb_column *column = r->sources[i].column;
    for (size_t at = 0; at < r->pool.count; at++) {
        grb_sort_cell *cell = &grb_items_at(&r->pool, at)->cells[i];
        grebe_status status =
            grb_budget_poll(&r->context->budget, &done, 1, err);
        if (status != GREBE_OK) return status;
        if (cell->state != GRB_CELL_VALUE) continue;
        uint32_t ord = cell->size;
        if (before && before_ord == ord) {
            cell->bytes = before->bytes;
            cell->size = before->size;
        } else {
            const uint8_t *bytes;
            uint32_t size;
            status = column->ord_bytes(column, ord, &bytes, &size, err);
            if (status != GREBE_OK) return status;
            cell->bytes = grb_arena_copy(
                &r->bytes, size ? (const void *)bytes : "", size ? size : 1);
            if (!cell->bytes) return grb_error_memory(err, size);
            cell->size = size;
        }
        before = cell;
        before_ord = ord;
    }
    return GREBE_OK;
}

/* Merges the leaf's items with those of the leaves before; both in order. */
static grebe_status pool_merge(grb_ranked *r, grebe_error *err) {
    size_t count = GRB_MIN(r->merged.count + r->pool.count, r->keep);
    if (r->merged.count + r->pool.count > count) r->more = true;
    grebe_status status = grb_items_reserve(&r->spare, count, err);
    if (status != GREBE_OK) return status;
    size_t a = 0, b = 0, done = 0;
    for (size_t i = 0; i < count; i++) {
        status = grb_budget_poll(&r->context->budget, &done, 1, err);
        if (status != GREBE_OK) return status;
        bool old = b == r->pool.count;
        if (!old && a < r->merged.count)
            old = grb_item_compare(r->plan, grb_items_at(&r->merged, a),
                                   grb_items_at(&r->pool, b), true) < 0;
        memcpy(grb_items_at(&r->spare, i),
               old ? grb_items_at(&r->merged, a++)
                   : grb_items_at(&r->pool, b++),
               r->spare.stride);
    }
    r->spare.count = count;
    grb_items swap = r->merged;
    r->merged = r->spare;
    r->spare = swap;
    r->pool.count = 0;
    return GREBE_OK;
}

/* Ends a leaf of a plan with keywords. */
static grebe_status leaf_close(grb_ranked *r, grebe_error *err) {
    grebe_status status = GREBE_OK;
    r->bounded = r->heaped = false;
    if (r->pool.count == 0) return GREBE_OK;
    GRB_TRY(grb_items_sort(&r->pool, &r->context->budget, err));
    for (uint32_t i = 0; i < r->plan->count; i++)
        if (r->plan->keys[i].keyword) GRB_TRY(pool_resolve(r, i, err));
    GRB_TRY(pool_merge(r, err));
done:
    return status;
}

grebe_status grb_ranked_finish(grb_ranked *r, grebe_error *err) {
    return r->plan->keyword
               ? leaf_close(r, err)
               : grb_items_sort(&r->pool, &r->context->budget, err);
}

const grb_items *grb_ranked_items(const grb_ranked *r) {
    return r->plan->keyword ? &r->merged : &r->pool;
}
