/* collect/values.c - facet values joined across segments, and the best few.
 *
 * Ordinals mean nothing outside their segment, so values that were counted in
 * several are joined by what they are. A listing then keeps the wanted ones.
 *
 * Invariant: slots <= half full; items never exceed GRB_FACET_VALUES_MAX.
 * Threads: one search, one thread.
 * Owns: tables, the bytes in them, listings.
 */
#include "collect/values.h"

void grb_values_init(grb_values *v, const grebe_allocator *a) {
    memset(v, 0, sizeof *v);
    v->allocator = a;
    grb_arena_init(&v->bytes, a, 0);
}

void grb_values_deinit(grb_values *v) {
    grb_free(v->allocator, v->items, v->capacity * sizeof *v->items);
    grb_free(v->allocator, v->slots, v->slot_count * sizeof *v->slots);
    grb_arena_deinit(&v->bytes);
    grb_values_init(v, v->allocator);
}

grebe_status grb_values_full(grebe_error *err) {
    return grb_error(err, GREBE_LIMIT,
                     "facet: more different values than the limit of %u",
                     GRB_FACET_VALUES_MAX);
}

static uint64_t value_hash(const grb_counted *item) {
    if (item->bytes) return grb_hash(item->bytes, item->size, 0);
    /* Doubles of few digits differ in their upper bits alone. */
    uint64_t h = (uint64_t)item->word * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
    return h ^ h >> 32;
}

static bool value_same(const grb_counted *a, const grb_counted *b) {
    if (!a->bytes) return a->word == b->word;
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static void slot_fill(grb_values *v, uint64_t hash, size_t item) {
    size_t mask = v->slot_count - 1, at = hash & mask;
    while (v->slots[at]) at = (at + 1) & mask;
    v->slots[at] = (uint32_t)item + 1;
}

/* Room for one more item, in items and slots. */
static grebe_status values_grow(grb_values *v, grebe_error *err) {
    if (v->count >= GRB_FACET_VALUES_MAX) return grb_values_full(err);
    if (v->count == v->capacity) {
        size_t more = GRB_MAX(v->capacity * 2, 32);
        grb_counted *items =
            grb_resize(v->allocator, v->items, v->capacity * sizeof *items,
                       more * sizeof *items);
        if (!items) return grb_error_memory(err, more * sizeof *items);
        v->items = items;
        v->capacity = more;
    }
    if ((v->count + 1) * 2 <= v->slot_count) return GREBE_OK;
    size_t more = GRB_MAX(v->slot_count * 2, 64);
    uint32_t *slots = grb_alloc_zero(v->allocator, more * sizeof *slots);
    if (!slots) return grb_error_memory(err, more * sizeof *slots);
    grb_free(v->allocator, v->slots, v->slot_count * sizeof *slots);
    v->slots = slots;
    v->slot_count = more;
    for (size_t i = 0; i < v->count; i++)
        slot_fill(v, value_hash(&v->items[i]), i);
    return GREBE_OK;
}

static grb_counted *value_find(const grb_values *v, const grb_counted *like,
                               uint64_t hash) {
    if (v->slot_count == 0) return NULL;
    size_t mask = v->slot_count - 1;
    for (size_t at = hash & mask; v->slots[at]; at = (at + 1) & mask) {
        grb_counted *item = &v->items[v->slots[at] - 1];
        if (value_same(item, like)) return item;
    }
    return NULL;
}

static grb_counted *value_add(grb_values *v, const grb_counted *like,
                              uint64_t hash, grebe_error *err) {
    if (values_grow(v, err) != GREBE_OK) return NULL;
    grb_counted *item = &v->items[v->count];
    *item = *like;
    slot_fill(v, hash, v->count++);
    return item;
}

grb_counted *grb_values_number(grb_values *v, int64_t word, grebe_error *err) {
    grb_counted like = {.word = word};
    uint64_t hash = value_hash(&like);
    grb_counted *item = value_find(v, &like, hash);
    return item ? item : value_add(v, &like, hash, err);
}

grb_counted *grb_values_bytes(grb_values *v, const uint8_t *bytes,
                              uint32_t size, grebe_error *err) {
    grb_counted like = {.bytes = size ? bytes : (const uint8_t *)"",
                        .size = size};
    uint64_t hash = value_hash(&like);
    grb_counted *item = value_find(v, &like, hash);
    if (item) return item;
    if (size > 0) {
        like.bytes = grb_arena_copy(&v->bytes, bytes, size);
        if (!like.bytes) {
            grb_error_memory(err, size);
            return NULL;
        }
    }
    return value_add(v, &like, hash, err);
}

/* ---- listings ---- */

void grb_listing_init(grb_listing *l, const grebe_allocator *a,
                      grebe_facet_sort sort, uint64_t keep) {
    memset(l, 0, sizeof *l);
    l->allocator = a;
    l->by_value = sort == GREBE_FACET_BY_VALUE;
    l->keep = (size_t)GRB_MIN(keep, GRB_FACET_VALUES_MAX);
}

void grb_listing_deinit(grb_listing *l) {
    grb_free(l->allocator, l->items, l->capacity * sizeof *l->items);
    l->items = NULL;
    l->count = l->capacity = 0;
}

static bool counted_before(const grb_listing *l, const grb_counted *a,
                           const grb_counted *b) {
    if (!l->by_value && a->count != b->count) return a->count > b->count;
    if (!a->bytes || !b->bytes) return a->word < b->word;
    uint32_t least = GRB_MIN(a->size, b->size);
    int order = memcmp(a->bytes, b->bytes, least);
    return order ? order < 0 : a->size < b->size;
}

static void listing_sift(grb_listing *l, size_t count, size_t at) {
    grb_counted moved = l->items[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count) break;
        if (child + 1 < count &&
            counted_before(l, &l->items[child], &l->items[child + 1]))
            child++;
        if (!counted_before(l, &moved, &l->items[child])) break;
        l->items[at] = l->items[child];
        at = child;
    }
    l->items[at] = moved;
}

static void listing_heapify(grb_listing *l) {
    for (size_t i = l->count / 2; i-- > 0;) listing_sift(l, l->count, i);
}

grebe_status grb_listing_offer(grb_listing *l, const grb_counted *item,
                               grebe_error *err) {
    if (l->keep == 0) return GREBE_OK;
    if (l->count == l->keep) {
        if (!counted_before(l, item, &l->items[0])) return GREBE_OK;
        l->items[0] = *item;
        listing_sift(l, l->count, 0);
        return GREBE_OK;
    }
    if (l->count == l->capacity) {
        size_t more = GRB_MIN(l->keep, GRB_MAX(l->capacity * 2, 16));
        grb_counted *items =
            grb_resize(l->allocator, l->items, l->capacity * sizeof *items,
                       more * sizeof *items);
        if (!items) return grb_error_memory(err, more * sizeof *items);
        l->items = items;
        l->capacity = more;
    }
    l->items[l->count++] = *item;
    if (l->count == l->keep) listing_heapify(l);
    return GREBE_OK;
}

void grb_listing_sort(grb_listing *l) {
    listing_heapify(l);
    for (size_t left = l->count; left > 1; left--) {
        grb_counted worst = l->items[0];
        l->items[0] = l->items[left - 1];
        l->items[left - 1] = worst;
        listing_sift(l, left - 1, 0);
    }
}
